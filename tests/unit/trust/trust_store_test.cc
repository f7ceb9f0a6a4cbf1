// SPDX-License-Identifier: Apache-2.0
#include "core/trust/trust_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

class Trusting : public ::testing::Test {
 protected:
  std::string file() const { return temp_.file("home/trust.json"); }
  TrustStore open() const {
    auto store = TrustStore::open(file(), ::geteuid(), clock_);
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : TrustStore();
  }
  Error refused() const {
    auto store = TrustStore::open(file(), ::geteuid(), clock_);
    EXPECT_FALSE(store);
    return store ? Error{} : store.error();
  }
  void put(const std::string& text) const {
    std::filesystem::create_directories(temp_.file("home"));
    temp_.write("home/trust.json", text);
  }
  static TrustEntry entry(const std::string& name, const std::string& bytes, const std::string& definition = {}) {
    TrustEntry out;
    out.name = name;
    out.path = "/hooks/" + name;
    out.digest = hex(sha256(bytes));
    if (!definition.empty()) out.definition = hex(sha256(definition));
    return out;
  }

  TempDir temp_;
  ManualClock clock_;
};

TEST_F(Trusting, NoFileIsAnEmptyStoreAndIsNotMade) {
  EXPECT_TRUE(open().entries().empty());
  EXPECT_FALSE(std::filesystem::exists(temp_.file("home")));
}

TEST_F(Trusting, WhatWasRecordedIsTrustedAfterReopening) {
  TrustEntry guard = entry("guard", "bytes", "on: before_tool_call");
  guard.guard = true;
  guard.events = {"before_tool_call", "agent_stop"};
  guard.repository = "/work 1000 5 77";
  TrustStore first = open();
  ASSERT_TRUE(first.record(guard));
  EXPECT_EQ(first.judge(guard), Trust::kTrusted);
  const TrustStore second = open();
  EXPECT_EQ(second.judge(guard), Trust::kTrusted);
  ASSERT_EQ(second.entries().size(), 1u);
  const TrustEntry& read = second.entries()[0];
  EXPECT_EQ(read.name, "guard");
  EXPECT_TRUE(read.guard);
  EXPECT_EQ(read.events, guard.events);
  EXPECT_EQ(read.repository, guard.repository);
  EXPECT_EQ(read.trusted_ms, clock_.wall_ms());
}

TEST_F(Trusting, OtherBytesOrAnotherDefinitionAreAChange) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "bytes", "definition")));
  EXPECT_EQ(store.judge(entry("a", "bytes", "definition")), Trust::kTrusted);
  EXPECT_EQ(store.judge(entry("a", "other", "definition")), Trust::kChanged);
  EXPECT_EQ(store.judge(entry("a", "bytes", "other")), Trust::kChanged);
  EXPECT_EQ(store.judge(entry("a", "bytes")), Trust::kChanged);
  EXPECT_EQ(store.judge(entry("b", "bytes", "definition")), Trust::kNew);
}

TEST_F(Trusting, RecordingAPathAgainReplacesItsEntry) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "old")));
  ASSERT_TRUE(store.record(entry("a", "new")));
  EXPECT_EQ(store.entries().size(), 1u);
  EXPECT_EQ(store.judge(entry("a", "old")), Trust::kChanged);
  EXPECT_EQ(open().entries().size(), 1u);
}

TEST_F(Trusting, TheFileIsForTheUserAlone) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "x")));
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0600u);
  ASSERT_EQ(::stat(temp_.file("home").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0700u);
}

TEST_F(Trusting, ForgettingGoesByNameAndByPath) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "x")));
  ASSERT_TRUE(store.record(entry("b", "x")));
  const auto by_name = store.forget("a");
  ASSERT_TRUE(by_name) << by_name.error().message;
  EXPECT_EQ(by_name->path, "/hooks/a");
  EXPECT_EQ(store.judge(entry("a", "x")), Trust::kNew);
  ASSERT_TRUE(store.forget("/hooks/b"));
  EXPECT_TRUE(open().entries().empty());
}

TEST_F(Trusting, ForgettingWhatIsNotThereListsWhatIs) {
  TrustStore store = open();
  EXPECT_EQ(store.forget("x").error().message, "no hook \"x\" is trusted: nothing is trusted yet");
  EXPECT_FALSE(std::filesystem::exists(temp_.file("home")));
  ASSERT_TRUE(store.record(entry("a", "x")));
  const auto gone = store.forget("x");
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  EXPECT_NE(gone.error().message.find("trusted are a"), std::string::npos) << gone.error().message;
}

TEST_F(Trusting, ANameThatTwoProjectsHaveIsNotGuessed) {
  TrustStore store = open();
  TrustEntry one = entry("project/guard", "x"), two = one;
  two.path = "/other/guard";
  ASSERT_TRUE(store.record(one));
  ASSERT_TRUE(store.record(two));
  EXPECT_EQ(store.forget("project/guard").error().code, Code::kConflict);
  EXPECT_EQ(store.entries().size(), 2u);
  EXPECT_TRUE(store.forget("/other/guard"));
}

TEST_F(Trusting, RecordRefusesWhatCannotBeFoundAgain) {
  TrustStore store = open();
  TrustEntry bad = entry("a", "x");
  bad.path = "relative";
  EXPECT_EQ(store.record(bad).error().code, Code::kInvalid);
  bad = entry("a", "x");
  bad.digest = "abc";
  EXPECT_EQ(store.record(bad).error().code, Code::kInvalid);
  bad = entry("a", "x");
  bad.path = "/hooks/\xff";
  EXPECT_NE(store.record(bad).error().message.find("not valid UTF-8"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

// ---- files that are none

TEST_F(Trusting, AFileOfGarbageIsCorruptAndSaysWhatToDo) {
  for (const char* text :
       {"", "{", "[]", "{}", "null", R"({"trust":1})", R"({"trust":1,"hooks":{}})", R"({"trust":"1","hooks":[]})",
        R"({"trust":1,"hooks":[7]})", R"({"trust":1,"hooks":[{"name":"a","path":"/a"}]})",
        R"({"trust":1,"hooks":[{"name":"a","path":"a","digest":"00"}]})", R"({"trust":1,"hooks":[{"name":7}]})",
        "\x00\x01\x02"}) {
    put(text);
    const Error error = refused();
    EXPECT_EQ(error.code, Code::kCorrupt) << text;
    EXPECT_NE(error.message.find("trust.json is not a trust store"), std::string::npos) << text;
    EXPECT_NE(error.message.find("move it away"), std::string::npos) << text;
  }
}

TEST_F(Trusting, ACorruptFileIsNotOverwritten) {
  TrustStore store = open();
  put("garbage");
  EXPECT_EQ(store.record(entry("a", "x")).error().code, Code::kCorrupt);
  EXPECT_EQ(temp_.read("home/trust.json"), "garbage");
}

TEST_F(Trusting, AFormatOfTheFutureIsNotGuessed) {
  put(R"({"trust":2,"hooks":[]})");
  EXPECT_NE(refused().message.find("update agentd"), std::string::npos) << refused().message;
}

TEST_F(Trusting, EntriesThatStandTwiceCountOnce) {
  const std::string one = R"({"name":"a","path":"/a","digest":")" + hex(sha256("x")) + R"("})";
  put(R"({"trust":1,"hooks":[)" + one + "," + one + "]}");
  EXPECT_EQ(open().entries().size(), 1u);
}

// ---- unsafe places

TEST_F(Trusting, AStoreThatOthersMayWriteIsRefused) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "x")));
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  EXPECT_EQ(refused().code, Code::kDenied);
  EXPECT_NE(refused().message.find("is world-writable"), std::string::npos) << refused().message;
  EXPECT_EQ(store.record(entry("b", "x")).error().code, Code::kDenied);
  ASSERT_EQ(::chmod(file().c_str(), 0620), 0);
  EXPECT_NE(refused().message.find("is group-writable"), std::string::npos);
}

TEST_F(Trusting, ADirectoryThatOthersMayWriteIsRefused) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "x")));
  ASSERT_EQ(::chmod(temp_.file("home").c_str(), 0777), 0);
  EXPECT_EQ(refused().code, Code::kDenied);
  EXPECT_EQ(store.record(entry("b", "x")).error().code, Code::kDenied);
}

TEST_F(Trusting, ASymbolicLinkInPlaceOfTheStoreIsRefused) {
  std::filesystem::create_directories(temp_.file("home"));
  temp_.write("elsewhere.json", R"({"trust":1,"hooks":[]})");
  std::filesystem::create_symlink(temp_.file("elsewhere.json"), file());
  EXPECT_NE(refused().message.find("is a symbolic link"), std::string::npos);
}

TEST_F(Trusting, ALinkInPlaceOfTheLockIsNotFollowed) {
  TrustStore store = open();
  std::filesystem::create_directories(temp_.file("home"));
  std::filesystem::create_symlink(temp_.file("victim"), file() + ".lock");
  EXPECT_FALSE(store.record(entry("a", "x")));
  EXPECT_FALSE(std::filesystem::exists(temp_.file("victim")));
}

TEST_F(Trusting, AnotherUsersStoreIsRefused) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "x")));
  if (::chown(file().c_str(), 12345, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs root to give a file away";
  EXPECT_NE(refused().message.find("belongs to uid 12345"), std::string::npos);
}

TEST_F(Trusting, ARelativePathIsRefused) {
  EXPECT_EQ(TrustStore::open("trust.json", ::geteuid(), clock_).error().code, Code::kInvalid);
}

// ---- many writers

constexpr int kWriters = 8, kEach = 12;

void write_many(const std::string& file, const Clock& clock, int writer) {
  for (int i = 0; i < kEach; ++i) {
    auto store = TrustStore::open(file, ::geteuid(), clock);
    AGENTD_ASSERT(store);
    TrustEntry entry;
    entry.name = std::to_string(writer) + "." + std::to_string(i);
    entry.path = "/hooks/" + entry.name;
    entry.digest = hex(sha256(entry.name));
    AGENTD_ASSERT(store->record(entry));
  }
}

TEST_F(Trusting, ThreadsThatWriteAtOnceLoseNothing) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) threads.emplace_back([this, i] { write_many(file(), clock_, i); });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(open().entries().size(), static_cast<std::size_t>(kWriters * kEach));
}

TEST_F(Trusting, ProcessesThatWriteAtOnceLoseNothing) {
  std::vector<pid_t> children;
  for (int i = 0; i < kWriters; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      write_many(file(), clock_, i);
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(open().entries().size(), static_cast<std::size_t>(kWriters * kEach));
}

TEST_F(Trusting, AnOldViewForgetsOnlyWhatItWasToldTo) {
  TrustStore store = open();
  ASSERT_TRUE(store.record(entry("a", "x")));
  TrustStore other = open();
  ASSERT_TRUE(store.record(entry("b", "x")));
  ASSERT_TRUE(other.forget("a"));
  ASSERT_EQ(open().entries().size(), 1u);
  EXPECT_EQ(open().entries()[0].name, "b");
}

// ---- repositories

TEST_F(Trusting, RepositoryKeyIsPathOwnerAndInode) {
  std::filesystem::create_directories(temp_.file("repo"));
  struct stat info {};
  ASSERT_EQ(::stat(temp_.file("repo").c_str(), &info), 0);
  const auto key = TrustStore::repository_key(temp_.file("repo"));
  ASSERT_TRUE(key);
  EXPECT_EQ(*key, std::filesystem::canonical(temp_.file("repo")).string() + " " + std::to_string(info.st_uid) + " " +
                      std::to_string(info.st_dev) + " " + std::to_string(info.st_ino));
  EXPECT_EQ(TrustStore::repository_key(temp_.file("none")).error().code, Code::kNotFound);
}

TEST_F(Trusting, NeitherANestedNorAMovedNorANewRepositoryInherits) {
  const auto key = [&](const std::string& name) {
    return TrustStore::repository_key(temp_.file(name)).value_or("none");
  };
  std::filesystem::create_directories(temp_.file("repo/nested"));
  TrustEntry asked = entry("project/guard", "x");
  asked.path = temp_.file("repo/.agent/hooks/guard");
  asked.repository = key("repo");
  TrustStore store = open();
  ASSERT_TRUE(store.record(asked));
  ASSERT_EQ(store.judge(asked), Trust::kTrusted);

  TrustEntry nested = asked;
  nested.repository = key("repo/nested");
  EXPECT_EQ(store.judge(nested), Trust::kNew);
  nested.path = temp_.file("repo/nested/.agent/hooks/guard");
  EXPECT_EQ(store.judge(nested), Trust::kNew);

  std::filesystem::rename(temp_.file("repo"), temp_.file("moved"));
  TrustEntry moved = asked;
  moved.repository = key("moved");
  moved.path = temp_.file("moved/.agent/hooks/guard");
  EXPECT_EQ(store.judge(moved), Trust::kNew);

  std::filesystem::create_directories(temp_.file("repo"));  // another directory of the same name
  TrustEntry again = asked;
  again.repository = key("repo");
  ASSERT_NE(again.repository, asked.repository);
  EXPECT_EQ(store.judge(again), Trust::kNew);
}

TEST_F(Trusting, ALinkToTheRepositoryIsTheRepository) {
  std::filesystem::create_directories(temp_.file("repo"));
  std::filesystem::create_symlink(temp_.file("repo"), temp_.file("link"));
  EXPECT_EQ(TrustStore::repository_key(temp_.file("repo")).value_or("a"),
            TrustStore::repository_key(temp_.file("link")).value_or("b"));
}

// ---- consent

class Consents : public Trusting {
 protected:
  Consent ask(const TrustEntry& asked, Precedence precedence, ConsentRules rules = {}) {
    return consent(&store_, asked, precedence, rules);
  }
  TrustStore store_ = open();
};

TEST_F(Consents, SystemHooksRunAndAreNotRecorded) {
  EXPECT_TRUE(ask(entry("a", "x"), Precedence::kSystem).runs);
  EXPECT_TRUE(consent(nullptr, entry("a", "x"), Precedence::kSystem, {}).runs);
  EXPECT_TRUE(store_.entries().empty());
}

TEST_F(Consents, TheUsersOwnHookIsRecordedAtFirstSightOnly) {
  const Consent first = ask(entry("a", "x"), Precedence::kUser);
  EXPECT_TRUE(first.runs && first.first_sight);
  const Consent second = ask(entry("a", "x"), Precedence::kUser);
  EXPECT_TRUE(second.runs);
  EXPECT_FALSE(second.first_sight);
  EXPECT_EQ(open().entries().size(), 1u);
}

TEST_F(Consents, TheUsersChangedHookWaits) {
  ask(entry("a", "x"), Precedence::kUser);
  const Consent changed = ask(entry("a", "y"), Precedence::kUser);
  EXPECT_FALSE(changed.runs);
  EXPECT_EQ(changed.why_not, "its bytes changed after it was trusted; 'agentd hooks trust a' trusts them");
  EXPECT_EQ(store_.judge(entry("a", "x")), Trust::kTrusted);  // the old one still counts
  const Consent definition = ask(entry("a", "x", "d"), Precedence::kUser);
  EXPECT_EQ(definition.why_not, "its list of events changed after it was trusted; 'agentd hooks trust a' trusts it");
}

TEST_F(Consents, ForAuthorsAChangedHookOfTheirOwnRuns) {
  ConsentRules dev;
  dev.dev = true;
  ask(entry("a", "x"), Precedence::kUser, dev);
  EXPECT_TRUE(ask(entry("a", "y"), Precedence::kUser, dev).runs);
  TrustEntry project = entry("project/a", "x");
  project.repository = "/w 0 1 2";
  EXPECT_FALSE(ask(project, Precedence::kProject, dev).runs);
}

TEST_F(Consents, AProjectsHookAlwaysWaits) {
  TrustEntry asked = entry("project/a", "x");
  asked.repository = "/w 0 1 2";
  const Consent waits = ask(asked, Precedence::kProject);
  EXPECT_FALSE(waits.runs);
  EXPECT_EQ(waits.why_not, "you have not trusted it yet; 'agentd hooks trust project/a' trusts it");
  EXPECT_TRUE(store_.entries().empty());
  ASSERT_TRUE(store_.record(asked));
  EXPECT_TRUE(ask(asked, Precedence::kProject).runs);
  asked.repository = "/w 0 1 3";
  EXPECT_FALSE(ask(asked, Precedence::kProject).runs);
}

TEST_F(Consents, WhatBelongsToARepositoryWaitsWhateverItsPlace) {
  TrustEntry asked = entry("a", "x");
  asked.repository = "/w 0 1 2";
  for (const Precedence precedence : {Precedence::kSystem, Precedence::kUser, Precedence::kRecipe})
    EXPECT_FALSE(ask(asked, precedence).runs);
}

TEST_F(Consents, LookingRecordsNothing) {
  ConsentRules looking;
  looking.record = false;
  const Consent seen = ask(entry("a", "x"), Precedence::kUser, looking);
  EXPECT_TRUE(seen.runs && seen.first_sight);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Consents, WithoutAStoreNoHookOfTheUserRuns) {
  for (const Precedence precedence : {Precedence::kUser, Precedence::kProject}) {
    const Consent none = consent(nullptr, entry("a", "x"), precedence, {});
    EXPECT_FALSE(none.runs);
    EXPECT_NE(none.why_not.find("agentd doctor"), std::string::npos);
  }
}

TEST_F(Consents, AHookThatCannotBeRecordedDoesNotRun) {
  std::filesystem::create_directories(temp_.file("home"));
  ASSERT_EQ(::chmod(temp_.file("home").c_str(), 0777), 0);
  const Consent refused = ask(entry("a", "x"), Precedence::kUser);
  EXPECT_FALSE(refused.runs);
  EXPECT_NE(refused.why_not.find("could not be recorded"), std::string::npos) << refused.why_not;
}

}  // namespace
}  // namespace agentd
