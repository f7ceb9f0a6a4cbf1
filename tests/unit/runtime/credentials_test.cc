// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

class StoredCredentials : public ::testing::Test {
 protected:
  void store(const std::string& provider, const std::string& place, const std::string& key) const {
    const auto done = store_credential(home_, {provider, place, key});
    ASSERT_TRUE(done) << done.error().message;
  }
  // Why the file is refused; empty = it is read.
  std::string refused() const {
    const auto loaded = Credentials::load(home_);
    return loaded ? std::string() : loaded.error().message;
  }

  testing::TempDir directory_;
  const std::string home_ = directory_.file("home/.agent"), file_ = Credentials::file(home_);
};

TEST_F(StoredCredentials, AreThereUntilTheyAreRemoved) {
  EXPECT_TRUE(Credentials::load(home_)->all().empty());
  EXPECT_FALSE(*remove_credential(home_, "groq"));
  store("groq", "api.groq.com", "gsk_0123456789abcdef");
  store("work", "llm.example:8443", "w1");
  store("groq", "other.example", "gsk_fedcba9876543210");
  const auto all = Credentials::load(home_);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->all().size(), 2u);
  ASSERT_NE(all->find("groq"), nullptr);
  EXPECT_EQ(all->find("groq")->key, "gsk_fedcba9876543210");
  EXPECT_EQ(all->find("groq")->place, "other.example");
  EXPECT_EQ(all->find("work")->key, "w1");
  EXPECT_EQ(all->find("gro"), nullptr);
  const auto gone = remove_credential(home_, "groq");
  ASSERT_TRUE(gone && *gone);
  EXPECT_EQ((*gone)->end, "...3210");
  EXPECT_EQ((*gone)->place, "other.example");
  EXPECT_EQ(Credentials::load(home_)->find("groq"), nullptr);
  EXPECT_TRUE(*remove_credential(home_, "work"));
  EXPECT_FALSE(std::filesystem::exists(file_));  // with the last one
}

TEST_F(StoredCredentials, LieInAFileOfTheirOwnerAlone) {
  const mode_t before = ::umask(0);
  store("groq", "api.groq.com", "gsk");
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(home_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(StoredCredentials, AreRefusedWhereOthersCouldReadOrReplaceThem) {
  store("groq", "api.groq.com", "gsk");
  for (const mode_t mode : {0644u, 0640u, 0604u, 0620u, 0601u}) {
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
    EXPECT_NE(refused().find("chmod 600 " + file_), std::string::npos) << mode << refused();
    // Nor is such a file replaced, as if nothing had been.
    EXPECT_FALSE(store_credential(home_, {"work", "w", "k"})) << mode;
    EXPECT_FALSE(remove_credential(home_, "groq")) << mode;
  }
  ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  EXPECT_EQ(refused(), "");
  for (const mode_t mode : {0770u, 0702u}) {
    ASSERT_EQ(::chmod(home_.c_str(), mode), 0);
    EXPECT_NE(refused().find("chmod go-w " + home_), std::string::npos) << mode << refused();
  }
  ASSERT_EQ(::chmod(home_.c_str(), 0755), 0);
  EXPECT_EQ(refused(), "");
}

TEST_F(StoredCredentials, AreNoLinkAndNoPipe) {
  store("groq", "api.groq.com", "gsk");
  std::filesystem::rename(file_, file_ + ".real");
  std::filesystem::create_symlink("credentials.real", file_);
  EXPECT_NE(refused().find("is a symbolic link"), std::string::npos) << refused();
  EXPECT_FALSE(store_credential(home_, {"work", "w", "k"}));
  EXPECT_TRUE(std::filesystem::is_symlink(file_));
  std::filesystem::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_NE(refused().find("is not a regular file"), std::string::npos) << refused();
}

TEST_F(StoredCredentials, OfAnotherUserAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "a file can be given to another user by root alone";
  store("groq", "api.groq.com", "gsk");
  ASSERT_EQ(::chown(file_.c_str(), 4711, 4711), 0);
  EXPECT_NE(refused().find("belongs to another user (uid 4711)"), std::string::npos) << refused();
  ASSERT_EQ(::chown(file_.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(home_.c_str(), 4711, 4711), 0);
  EXPECT_NE(refused().find("belongs to another user (uid 4711)"), std::string::npos) << refused();
}

TEST_F(StoredCredentials, ABrokenLineIsToldWithoutWhatStandsInIt) {
  store("groq", "api.groq.com", "gsk");
  for (const char* const line : {"gsk_canary", "groq\tgsk_canary", "groq\t\tgsk_canary", "groq\thost\tgsk_canary x",
                                 "groq\thost\tgsk_canary\tx", "\thost\tgsk_canary"}) {
    ASSERT_TRUE(write_file_atomically(file_, std::string("# head\n\n") + line + "\n", 0600));
    EXPECT_NE(refused().find(file_ + ":3: "), std::string::npos) << line << refused();
    EXPECT_EQ(refused().find("canary"), std::string::npos) << line;
  }
}

// Two processes that store at once lose nothing.
TEST_F(StoredCredentials, OfManyProcessesAreAllThere) {
  constexpr int kProcesses = 8, kEach = 10;
  for (int process = 0; process < kProcesses; ++process) {
    if (::fork() != 0) continue;
    bool good = true;
    for (int i = 0; i < kEach; ++i)
      good = good && store_credential(home_, {"p" + std::to_string(process * kEach + i), "h", "k"}).has_value();
    ::_exit(good ? 0 : 1);
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Credentials::load(home_)->all().size(), static_cast<std::size_t>(kProcesses * kEach));
}

// A copy of the process, in which a module is tried, has no key.
TEST_F(StoredCredentials, AreNotInACopyOfTheProcess) {
  store("groq", "api.groq.com", "gsk_canary");
  const auto all = Credentials::load(home_);
  ASSERT_TRUE(all);
  const std::string_view key = all->find("groq")->key;
  ASSERT_EQ(key, "gsk_canary");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(key.find_first_not_of('\0') == std::string_view::npos ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Keys, AreWhatCanBeSentInAHeader) {
  for (const char* const key : {"k", "sk-ant-api03-x_y-z", "AIza~!=+/"}) EXPECT_EQ(wrong_key(key), "") << key;
  for (const char* const key : {"", "a b", "a\tb", "a\nb", "sch\xc3\xb6n", "a\x7f"})
    EXPECT_NE(wrong_key(key), "") << key;
  EXPECT_NE(wrong_key(std::string(5000, 'k')), "");
  for (const char* const text : {"sk-x", "gsk_x", "AIzaSy", "xai-1", "0123456789abcdef0123"})
    EXPECT_TRUE(looks_like_key(text)) << text;
  for (const char* const text : {"groq", "my-own-provider-in-the-house", "openrouter/anthropic/claude-opus-5-5"})
    EXPECT_FALSE(looks_like_key(text)) << text;
  EXPECT_EQ(shown_end("0123456789abcdef"), "...cdef");
  EXPECT_EQ(shown_end("0123456789abcde"), "...");
}

}  // namespace
}  // namespace agentd
