// SPDX-License-Identifier: Apache-2.0
// store_test.cc - the program with a store that is damaged, full, read-only or in use, and the
// commands that look after it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/store/lmdb/clean_mark.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/e2e/program.h"
#include "tests/support/own_mounts.h"

namespace agentd::testing {
namespace {

constexpr std::size_t kPageBytes = 4096;

class StoreOfProgram : public ::testing::Test {
 protected:
  Finished run(const std::string& message) { return program_.run({"run", "--no-hooks", "--script", script_, message}); }
  Finished conversation(const std::string& command, const std::string& id) {
    return program_.run({"conversation", command, id});
  }
  void fill(int conversations) {
    for (int i = 0; i < conversations; ++i) ASSERT_EQ(run("message " + std::to_string(i)).code, 0);
  }
  std::string store() const { return program_.home() + "/store"; }
  std::string data() const { return *read_file(store() + "/data.mdb", 1u << 30); }
  void write(const std::string& bytes) const {
    std::ofstream(store() + "/data.mdb", std::ios::binary | std::ios::trunc) << bytes;
  }
  std::vector<std::string> ids() {
    std::vector<std::string> out;
    for (const JsonDocument& line :
         json_lines(program_.run({"conversation", "list", "--all", "--limit", "1000", "--json"}).out))
      out.emplace_back(line.root()["id"].string_or({}));
    return out;
  }

  Program program_;
  const std::string script_ = program_.script("- text: well\n");
};

// ---- the commands

TEST_F(StoreOfProgram, ACheckOfAWholeStoreFindsNothing) {
  fill(3);
  const Finished check = program_.run({"store", "check"});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_NE(check.out.find("3 conversations, 18 records"), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("no damage found"), std::string::npos);
  const auto lines = json_lines(program_.run({"store", "check", "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].root()["type"].string_or(""), "checked");
  EXPECT_EQ(lines[0].root()["findings"].uint_or(9), 0u);
  const Finished stats = program_.run({"store", "stats"});
  EXPECT_EQ(stats.code, 0);
  EXPECT_NE(stats.out.find(store()), std::string::npos);
}

// ---- receipts of hooks

// The store of a user whose conversation of long ago has old receipts, and one of today.
class ReceiptsOfProgram : public StoreOfProgram {
 protected:
  static constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;

  void SetUp() override {
    LmdbOptions options;
    options.directory = store();
    ASSERT_TRUE(make_directories(program_.home()));
    const auto opened = open_lmdb_store(options, clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    GenesisRecord genesis;
    genesis.conversation_id = id_.text();
    MessageRecord message;
    message.message = Message::of_text(Role::kUser, "long ago");
    ASSERT_TRUE((*opened)->append(id_, 0, {{write_genesis(genesis), write_message(message)}}));
    for (const std::int64_t days : {400, 100, 80, 0}) {
      HookReceipt receipt;
      receipt.event_id = id_.text();
      receipt.event = "agent_stop";
      receipt.hook = "guard_" + std::to_string(days);
      receipt.time_ms = clock_.wall_ms() - days * kDayMs;
      ASSERT_TRUE((*opened)->append_receipts(id_, {{receipt}}));
    }
  }
  std::uint64_t receipts() {
    const auto lines = json_lines(program_.run({"store", "stats", "--json"}).out);
    return lines.empty() ? UINT64_MAX : lines[0].root()["receipts"].uint_or(UINT64_MAX);
  }

  SystemClock clock_;
  const Ulid id_{{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
};

TEST_F(ReceiptsOfProgram, AreRemovedAfterNinetyDays) {
  EXPECT_EQ(receipts(), 4u);
  ASSERT_EQ(run("hello").code, 0);
  EXPECT_EQ(receipts(), 2u);
  const Finished stats = program_.run({"store", "stats"});
  EXPECT_TRUE(has(stats.out, "receipts       2, the oldest of ")) << stats.out;
  const Finished trace = program_.run({"hooks", "trace", "-c", id_.text()});
  EXPECT_EQ(trace.code, 0) << trace.err;
  EXPECT_TRUE(has(trace.out, "guard_80")) << trace.out;
  EXPECT_FALSE(has(trace.out, "guard_100")) << trace.out;
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
}

TEST_F(ReceiptsOfProgram, AreKeptAsLongAsTheSettingSays) {
  program_.config("receipts:\n  keep_days: 0\n");
  ASSERT_EQ(run("hello").code, 0);
  EXPECT_EQ(receipts(), 4u);
  program_.config("receipts:\n  keep_days: 200\n");
  ASSERT_EQ(run("hello").code, 0);
  EXPECT_EQ(receipts(), 3u);
  program_.config("receipts:\n  keep_days: -1\n");
  const Finished refused = run("hello");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused.err, "receipts.keep_days must be a whole number from 0 to 36500")) << refused.err;
  EXPECT_EQ(receipts(), 3u);
}

TEST_F(StoreOfProgram, CountsAgreeWithTheirNouns) {
  fill(1);
  EXPECT_TRUE(has(program_.run({"store", "check"}).out, ": 1 conversation, ")) << "check";
  EXPECT_TRUE(has(program_.run({"doctor"}).out, ", 1 conversation, ")) << "doctor";
}

TEST_F(StoreOfProgram, WithoutAStoreTheCommandsSaySo) {
  EXPECT_EQ(program_.run({"store", "check"}).code, 4);
  EXPECT_EQ(program_.run({"store", "stats"}).code, 4);
  EXPECT_EQ(program_.run({"store", "backup", program_.directory().file("b")}).code, 4);
  EXPECT_EQ(program_.run({"store", "salvage", program_.directory().file("s")}).code, 4);
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(StoreOfProgram, ABackupPutInItsPlaceIsTheStore) {
  fill(2);
  const auto before = ids();
  const std::string copy = program_.directory().file("copy");
  const Finished backup = program_.run({"store", "backup", copy});
  ASSERT_EQ(backup.code, 0) << backup.err;
  EXPECT_EQ(program_.run({"store", "backup", copy}).code, 2);  // never over something
  EXPECT_EQ(program_.run({"store", "check", copy}).code, 0);
  std::filesystem::remove_all(store());
  std::filesystem::rename(copy, store());
  EXPECT_EQ(ids(), before);
  EXPECT_EQ(run("go on").code, 0);
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
}

TEST_F(StoreOfProgram, AnExistingDirectoryIsAMistakeOfTheCallAndLeftAsItIs) {
  fill(1);
  const std::string there = program_.directory().file("there");
  ASSERT_TRUE(make_directories(there));
  ASSERT_TRUE(write_file_atomically(there + "/mine", "text", 0600));
  const std::string file = program_.directory().write("file", "text");
  for (const char* command : {"salvage", "backup"})
    for (const std::string& target : {there, file, store(), program_.home()}) {
      const Finished ended = program_.run({"store", command, target});
      EXPECT_EQ(ended.code, 2) << command << " " << target;
      EXPECT_EQ(ended.out, "") << command;
      EXPECT_EQ(ended.err, "agentd: " + target + " already exists: name a directory that does not\n");
    }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(there), {}), 1);
  EXPECT_EQ(program_.run({"store", "salvage", ""}).code, 2);
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
}

TEST_F(StoreOfProgram, DamageIsNamedRefusedAndSaved) {
  fill(6);
  const auto before = ids();
  std::string bytes = data();
  // One letter of what somebody said.
  const std::size_t at = bytes.rfind("message 3");
  ASSERT_NE(at, std::string::npos);
  for (std::size_t found = bytes.find("message 3"); found != std::string::npos;
       found = bytes.find("message 3", found + 1))
    bytes[found + 8] = '7';
  write(bytes);
  const Finished check = program_.run({"store", "check"});
  EXPECT_EQ(check.code, 6);
  EXPECT_NE(check.out.find("conversation " + before[2] + ", sequence"), std::string::npos) << check.out;
  EXPECT_NE(check.err.find("agentd store salvage"), std::string::npos);
  const std::string to = program_.directory().file("saved");
  const Finished salvage = program_.run({"store", "salvage", to});
  ASSERT_EQ(salvage.code, 0) << salvage.err;
  EXPECT_NE(salvage.out.find("conversation " + before[2]), std::string::npos) << salvage.out;
  std::filesystem::rename(store(), store() + ".old");
  std::filesystem::rename(to, store());
  for (const std::string& id : before) EXPECT_EQ(conversation("show", id).code, id == before[2] ? 4 : 0) << id;
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
  EXPECT_EQ(run("go on").code, 0);
}

// ---- damage that LMDB itself would die of

TEST_F(StoreOfProgram, NoDamageEndsTheProgramByASignal) {
  fill(4);
  const auto before = ids();
  const std::string whole = data();
  const char* const given = std::getenv("AGENTD_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    std::string bytes = whole;
    const std::size_t page = 2 + below(bytes.size() / kPageBytes - 2);
    for (int byte = 0; byte < 8; ++byte) bytes[page * kPageBytes + below(64)] = static_cast<char>(below(256));
    write(bytes);
    // Every other time the file says that it was closed well, so that LMDB meets the damage in the
    // program itself.
    if (i % 2 == 0) mark_clean(store(), *file_state(store()));
    for (const std::vector<std::string>& words : {std::vector<std::string>{"conversation", "list", "--all"},
                                                  {"conversation", "show", before[0]},
                                                  {"store", "check"}}) {
      const Finished ended = program_.run(words);
      EXPECT_TRUE(ended.code == 0 || ended.code == 4 || ended.code == 6)
          << words[1] << " ended with " << ended.code << ", AGENTD_SEED=" << seed << ": " << ended.err;
      if (ended.code != 6) continue;
      ++refused;
      EXPECT_NE(ended.err.find("agentd"), std::string::npos);
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_F(StoreOfProgram, AnEmptyFileIsNeverANewStore) {
  fill(1);
  write("");
  const Finished refused = run("hello");
  EXPECT_EQ(refused.code, 6);
  EXPECT_NE(refused.err.find("empty data.mdb"), std::string::npos) << refused.err;
  EXPECT_EQ(std::filesystem::file_size(store() + "/data.mdb"), 0u);
  write("fifteen bytes..");
  EXPECT_TRUE(has(run("hello").err, "15 bytes, which is not a store: move it away")) << run("hello").err;
}

// ---- several processes

TEST_F(StoreOfProgram, AChatThatIsOpenDoesNotMakeTheStoreLookDamaged) {
  fill(1);
  const std::string slow = program_.directory().write("slow.yaml", "- delay_ms: 3000\n  text: slow\n");
  Running other = program_.start({"run", "--no-hooks", "--script", slow, "wait"});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run("meanwhile").code, 0);
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
  EXPECT_EQ(program_.run({"store", "backup", program_.directory().file("b")}).code, 0);
  EXPECT_EQ(other.wait().code, 0);
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
}

// ---- a full disk, a disk that cannot be written

TEST_F(StoreOfProgram, OnAFullDiskConversationsCanBeDeleted) {
  ASSERT_TRUE(own_mounts());
  ASSERT_TRUE(make_directories(program_.home()));
  ASSERT_EQ(::mount("none", program_.home().c_str(), "tmpfs", 0, "size=8m"), 0);
  fill(3);
  {
    // Larger than anything that is left.
    const std::string filler = program_.home() + "/filler";
    const UniqueFd fd(::open(filler.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string page(kPageBytes, 'f');
    while (::write(fd.get(), page.data(), page.size()) > 0) continue;
  }
  const std::string large = program_.directory().write("large.yaml", "- text: \"" + std::string(900'000, 'l') + "\"\n");
  const Finished full = program_.run({"run", "--no-hooks", "--script", large, "hello"});
  EXPECT_EQ(full.code, 6) << full.err;
  EXPECT_NE(full.err.find("no space left on the disk"), std::string::npos) << full.err;
  const auto before = ids();
  ASSERT_GE(before.size(), 3u);
  for (std::size_t i = 1; i < before.size(); ++i)
    EXPECT_EQ(program_.run({"conversation", "delete", "--yes", before[i]}).code, 0) << before[i];
  EXPECT_EQ(ids(), std::vector<std::string>{before[0]});
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
  std::filesystem::remove(program_.home() + "/filler");
  EXPECT_EQ(run("again").code, 0);
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
}

void expect_no_space(const Finished& ended) {
  EXPECT_EQ(ended.code, 6) << ended.err;
  EXPECT_NE(ended.err.find("no space left on the disk"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("try again"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("damaged"), std::string::npos) << ended.err;
}

TEST_F(StoreOfProgram, ADiskTooSmallForANewStoreIsNamedEachTime) {
  ASSERT_TRUE(own_mounts());
  ASSERT_TRUE(make_directories(program_.home()));
  for (const char* size : {"size=4k", "size=20k", "size=36k", "size=44k"}) {
    ASSERT_EQ(::mount("none", program_.home().c_str(), "tmpfs", 0, size), 0);
    for (int i = 0; i < 2; ++i) expect_no_space(run("hello"));
    ASSERT_EQ(::umount(program_.home().c_str()), 0);
  }
}

TEST_F(StoreOfProgram, ABackupThatFindsNoRoomSaysWhatToDoAndLeavesNothing) {
  fill(3);
  ASSERT_TRUE(own_mounts());
  const std::string small = program_.directory().file("small");
  ASSERT_TRUE(make_directories(small));
  ASSERT_EQ(::mount("none", small.c_str(), "tmpfs", 0, "size=16k"), 0);
  expect_no_space(program_.run({"store", "backup", small + "/copy"}));
  EXPECT_FALSE(exists(small + "/copy"));
  ASSERT_EQ(::umount(small.c_str()), 0);
}

TEST_F(StoreOfProgram, AStoreWhoseLockFileFindsNoRoomIsNotCalledDamaged) {
  ASSERT_TRUE(own_mounts());
  ASSERT_TRUE(make_directories(program_.home()));
  ASSERT_EQ(::mount("none", program_.home().c_str(), "tmpfs", 0, "size=8m"), 0);
  fill(1);
  const auto before = ids();
  const auto fill_up = [&] {
    const std::string filler = program_.home() + "/filler";
    const UniqueFd fd(::open(filler.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::string page(kPageBytes, 'f');
    while (::write(fd.get(), page.data(), page.size()) > 0) continue;
  };
  const std::vector<std::vector<std::string>> reads{{"conversation", "list"}, {"store", "stats"}, {"store", "check"}};
  fill_up();
  for (const auto& words : reads) EXPECT_EQ(program_.run(words).code, 0) << words[1];
  std::filesystem::remove(store() + "/lock.mdb");
  fill_up();
  for (const auto& words : reads) expect_no_space(program_.run(words));
  expect_no_space(program_.run({"store", "salvage", program_.directory().file("saved")}));
  expect_no_space(run("hello"));
  const Finished doctor = program_.run({"doctor"});
  EXPECT_LT(doctor.code, 128);
  EXPECT_NE((doctor.out + doctor.err).find("no space left on the disk"), std::string::npos) << doctor.out;
  std::filesystem::remove(program_.home() + "/filler");
  EXPECT_EQ(ids(), before);
  EXPECT_EQ(program_.run({"store", "check"}).code, 0);
  // With the blocks that it has now, a full disk is no obstacle to any number of readers.
  struct stat info {};
  ASSERT_EQ(::stat((store() + "/lock.mdb").c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, info.st_size);
  fill_up();
  EXPECT_EQ(ids(), before);
}

TEST_F(StoreOfProgram, AReadOnlyStoreCanBeReadAndChecked) {
  fill(2);
  const auto before = ids();
  ASSERT_TRUE(own_mounts());
  const char* const home = program_.home().c_str();
  ASSERT_EQ(::mount(home, home, nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(::mount(nullptr, home, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_EQ(ids(), before);
  EXPECT_EQ(conversation("show", before[0]).code, 0);
  const Finished check = program_.run({"store", "check"});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_EQ(program_.run({"store", "stats"}).code, 0);
  EXPECT_EQ(program_.run({"store", "backup", program_.directory().file("b")}).code, 0);
  EXPECT_EQ(program_.run({"conversation", "delete", "--yes", before[0]}).code, 6);
  const Finished refused = run("hello");
  EXPECT_EQ(refused.code, 6);
  EXPECT_TRUE(has(refused.err, "Read-only file system") && has(refused.err, "use --no-save, or set AGENTD_HOME"))
      << refused.err;
  const Finished doctor = program_.run({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_TRUE(has(doctor.out, "is on a read-only file system") && has(doctor.out, "can be read only")) << doctor.out;
  EXPECT_FALSE(has(doctor.out, "chmod")) << doctor.out;
}

}  // namespace
}  // namespace agentd::testing
