// SPDX-License-Identifier: Apache-2.0
#include "core/serve/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "tests/support/temp_dir.h"

namespace agentd::serve {
namespace {

namespace fs = std::filesystem;

std::uint32_t mode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class TokensOfAHome : public ::testing::Test {
 protected:
  std::string add(const std::string& name, Scope scope) const {
    const auto token = Tokens::add(home_, name, scope, 1'700'000'000'123);
    EXPECT_TRUE(token) << token.error().message;
    return token.value_or("");
  }
  Scope scope_of_token(const std::string& token) const {
    const auto tokens = Tokens::load(home_);
    EXPECT_TRUE(tokens) << tokens.error().message;
    return tokens ? tokens->find(token).scope : Scope::kNone;
  }
  Error refused() const {
    const auto tokens = Tokens::load(home_);
    return tokens ? Error{Code::kInternal, "it was read"} : tokens.error();
  }
  std::set<std::string> names_in_home() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(home_)) out.insert(entry.path().filename().string());
    return out;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  testing::TempDir directory_;
  const std::string home_ = directory_.file("user/.agent");
  const std::string own_ = Tokens::own_file(home_), named_ = Tokens::named_file(home_);
};

TEST_F(TokensOfAHome, TheDaemonsOwnIsMadeOnceAndReadByItsClients) {
  EXPECT_EQ(Tokens::read_own(home_).error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(home_));
  ASSERT_TRUE(Tokens::load(home_));
  EXPECT_EQ(mode_of(own_), 0600u);
  EXPECT_EQ(mode_of(home_), 0700u);
  EXPECT_EQ(names_in_home(), (std::set<std::string>{"serve.token"}));
  const auto own = Tokens::read_own(home_);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->size(), 7u + 64u);
  EXPECT_EQ(own->substr(0, 7), "agentd_");
  EXPECT_EQ(own->find_first_not_of("0123456789abcdef", 7), std::string::npos);
  const auto found = Tokens::load(home_)->find(*own);
  EXPECT_EQ(found.scope, Scope::kAdmin);
  EXPECT_EQ(found.name, "agentd");
  EXPECT_EQ(*Tokens::read_own(home_), *own);
  // Without the file, another one is made, and the old one is of no use.
  fs::remove(own_);
  EXPECT_EQ(scope_of_token(*own), Scope::kNone);
  EXPECT_NE(*Tokens::read_own(home_), *own);
  EXPECT_EQ(scope_of_token(*Tokens::read_own(home_)), Scope::kAdmin);
}

TEST_F(TokensOfAHome, AreNoTwoAlike) {
  std::set<std::string> seen;
  for (int i = 0; i < 60; ++i) seen.insert(add("n" + std::to_string(i), Scope::kRead));
  EXPECT_EQ(seen.size(), 60u);
  // Every digit differs somewhere: none is fixed.
  for (std::size_t at = 7; at < 71; ++at) {
    std::set<char> digits;
    for (const std::string& token : seen) digits.insert(token[at]);
    EXPECT_GT(digits.size(), 4u) << at;
  }
}

TEST_F(TokensOfAHome, WithANameAreGoodForTheirScopeUntilTheyAreRemoved) {
  EXPECT_TRUE(Tokens::list(home_)->empty());
  EXPECT_EQ(Tokens::remove(home_, "ci").error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(home_));
  const std::string reader = add("dash-board", Scope::kRead), runner = add("ci", Scope::kRun);
  const std::string judge = add("phone_2", Scope::kApprove), boss = add("3.boss", Scope::kAdmin);
  EXPECT_EQ(mode_of(named_), 0600u);
  EXPECT_EQ(scope_of_token(reader), Scope::kRead);
  EXPECT_EQ(scope_of_token(runner), Scope::kRun);
  EXPECT_EQ(scope_of_token(judge), Scope::kApprove);
  EXPECT_EQ(scope_of_token(boss), Scope::kAdmin);
  EXPECT_EQ(Tokens::load(home_)->find(runner).name, "ci");
  const auto all = Tokens::list(home_);
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ((*all)[0].name, "dash-board");
  EXPECT_EQ((*all)[1].scope, Scope::kRun);
  EXPECT_EQ((*all)[3].created_ms, 1'700'000'000'123);
  // Of a token nothing but its sum is kept.
  const std::string kept = directory_.read("user/.agent/serve.tokens");
  EXPECT_TRUE(has(kept, hex(sha256(runner)))) << kept;
  EXPECT_FALSE(has(kept, runner.substr(7, 16))) << kept;
  EXPECT_EQ(Tokens::remove(home_, "ci")->scope, Scope::kRun);
  EXPECT_EQ(scope_of_token(runner), Scope::kNone);
  EXPECT_EQ(scope_of_token(reader), Scope::kRead);
  EXPECT_EQ(Tokens::remove(home_, "ci").error().code, Code::kNotFound);
  for (const char* name : {"dash-board", "phone_2", "3.boss"}) EXPECT_TRUE(Tokens::remove(home_, name)) << name;
  EXPECT_FALSE(fs::exists(named_));
  EXPECT_EQ(scope_of_token(reader), Scope::kNone);
}

TEST_F(TokensOfAHome, AreFoundWholeAndExactlyAlone) {
  const std::string token = add("ci", Scope::kRun);
  const Tokens tokens = *Tokens::load(home_);
  ASSERT_EQ(tokens.find(token).scope, Scope::kRun);
  std::string upper = token;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return c >= 'a' && c <= 'f' ? c - 32 : c; });
  std::vector<std::string> wrong{"",
                                 " ",
                                 token + "0",
                                 token + " ",
                                 " " + token,
                                 token.substr(0, 70),
                                 token.substr(7),
                                 upper,
                                 token + std::string(1, '\0'),
                                 hex(sha256(token)),
                                 std::string(100'000, 'a')};
  for (std::size_t at = 0; at < token.size(); ++at) {
    wrong.push_back(token);
    wrong.back()[at] = token[at] == '0' ? '1' : '0';
    wrong.push_back(token.substr(0, at));
  }
  for (const std::string& each : wrong) EXPECT_EQ(tokens.find(each).scope, Scope::kNone) << each.substr(0, 100);
  EXPECT_EQ(Tokens().find(token).scope, Scope::kNone);
}

TEST_F(TokensOfAHome, NamesAreCheckedAndUnique) {
  add("ci", Scope::kRead);
  EXPECT_EQ(Tokens::add(home_, "ci", Scope::kAdmin, 0).error().code, Code::kConflict);
  EXPECT_EQ((*Tokens::list(home_))[0].scope, Scope::kRead);
  add("CI", Scope::kRead);  // another name
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a/b"), std::string("-x"),
                                  std::string(".x"), std::string("_x"), std::string("agentd"), std::string("a\nb"),
                                  std::string("caf\xc3\xa9"), std::string("a\0b", 3), std::string(41, 'a')}) {
    const auto added = Tokens::add(home_, name, Scope::kRead, 0);
    ASSERT_FALSE(added) << name;
    EXPECT_EQ(added.error().code, Code::kInvalid) << name;
    EXPECT_TRUE(added.error().message.starts_with("the name ")) << added.error().message;
  }
  add(std::string(40, 'a'), Scope::kRead);
  EXPECT_EQ(Tokens::list(home_)->size(), 3u);
}

TEST_F(TokensOfAHome, AreBoundInNumber) {
  std::string lines;
  for (std::size_t i = 0; i < Tokens::kNamedMax; ++i)
    lines += R"({"name":"n)" + std::to_string(i) + R"(","scope":"read","sha256":")" + hex(sha256(std::to_string(i))) +
             "\",\"created_ms\":0}\n";
  ASSERT_TRUE(make_directories(home_));
  ASSERT_TRUE(write_file_atomically(named_, lines, 0600));
  EXPECT_EQ(scope_of_token("999"), Scope::kRead);
  const auto added = Tokens::add(home_, "more", Scope::kRead, 0);
  ASSERT_FALSE(added);
  EXPECT_TRUE(has(added.error().message, "1,000 tokens")) << added.error().message;
  ASSERT_TRUE(Tokens::remove(home_, "n500"));
  EXPECT_TRUE(Tokens::add(home_, "more", Scope::kRead, 0));
}

TEST_F(TokensOfAHome, FilesOpenToOthersAreRefused) {
  const std::string token = add("ci", Scope::kRead);
  ASSERT_TRUE(Tokens::load(home_));
  const std::string own = *Tokens::read_own(home_);
  for (const std::string& path : {own_, named_})
    for (const mode_t mode : {0604u, 0640u, 0660u, 0606u, 0601u, 0610u, 0620u, 0602u}) {
      ASSERT_EQ(::chmod(path.c_str(), mode), 0);
      EXPECT_EQ(refused().code, Code::kDenied) << path << mode;
      EXPECT_TRUE(has(refused().message, path + " is accessible to others")) << refused().message;
      EXPECT_EQ(Tokens::read_own(home_).has_value(), path == named_);
      EXPECT_EQ(Tokens::list(home_).has_value(), path == own_);
      EXPECT_EQ(Tokens::add(home_, "x", Scope::kRead, 0).has_value(), path == own_);
      EXPECT_EQ(Tokens::remove(home_, "x").has_value(), path == own_);
      ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    }
  // Nothing has changed.
  EXPECT_EQ(*Tokens::read_own(home_), own);
  EXPECT_EQ(scope_of_token(token), Scope::kRead);
}

TEST_F(TokensOfAHome, AHomeThatOthersMayWriteInIsRefused) {
  add("ci", Scope::kRead);
  for (const mode_t mode : {0720u, 0702u, 0777u, 01777u}) {
    ASSERT_EQ(::chmod(home_.c_str(), mode), 0);
    EXPECT_EQ(refused().code, Code::kDenied) << mode;
    EXPECT_TRUE(has(refused().message, "is writable by others")) << refused().message;
    EXPECT_EQ(Tokens::list(home_).error().code, Code::kDenied);
    EXPECT_EQ(Tokens::add(home_, "x", Scope::kRead, 0).error().code, Code::kDenied);
    EXPECT_EQ(Tokens::remove(home_, "ci").error().code, Code::kDenied);
  }
  EXPECT_FALSE(fs::exists(own_));
  ASSERT_EQ(::chmod(home_.c_str(), 0755), 0);
  EXPECT_TRUE(Tokens::load(home_));
}

TEST_F(TokensOfAHome, LinksAreRefusedAndNothingIsWrittenThroughThem) {
  add("ci", Scope::kRead);
  ASSERT_TRUE(Tokens::load(home_));
  for (const std::string& path : {own_, named_}) {
    const std::string elsewhere = directory_.file("elsewhere");
    fs::rename(path, elsewhere);
    fs::create_symlink(elsewhere, path);
    EXPECT_EQ(refused().code, Code::kDenied) << path;
    EXPECT_TRUE(has(refused().message, path + " is a symbolic link")) << refused().message;
    fs::remove(path);
    fs::rename(elsewhere, path);
    ASSERT_TRUE(Tokens::load(home_));
  }
  // A link to nothing is not followed to make the file.
  fs::remove(own_);
  fs::create_symlink(directory_.file("planted"), own_);
  EXPECT_EQ(refused().code, Code::kDenied);
  EXPECT_FALSE(fs::exists(directory_.file("planted")));
  fs::remove(own_);
  fs::create_symlink(directory_.file("planted"), own_ + ".new");
  EXPECT_TRUE(Tokens::load(home_));
  EXPECT_FALSE(fs::exists(directory_.file("planted")));
  EXPECT_FALSE(fs::is_symlink(own_));
  // A home that is a link.
  const std::string link = directory_.file("link");
  fs::create_symlink(home_, link);
  EXPECT_EQ(Tokens::load(link).error().code, Code::kDenied);
  EXPECT_TRUE(has(Tokens::load(link).error().message, link + " is a symbolic link"));
  EXPECT_EQ(Tokens::add(link, "x", Scope::kRead, 0).error().code, Code::kDenied);
  EXPECT_EQ(Tokens::list(link).error().code, Code::kDenied);
  EXPECT_TRUE(Tokens::load(home_));
}

TEST_F(TokensOfAHome, OtherKindsOfFilesAreRefused) {
  ASSERT_TRUE(make_directories(home_));
  ASSERT_EQ(::mkfifo(own_.c_str(), 0600), 0);
  EXPECT_EQ(refused().code, Code::kDenied);  // and nobody waits for a writer
  fs::remove(own_);
  fs::create_directory(own_);
  EXPECT_EQ(refused().code, Code::kDenied);
  fs::remove(own_);
  EXPECT_TRUE(Tokens::load(home_));
}

TEST_F(TokensOfAHome, FilesAndHomesOfAnotherUserAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  add("ci", Scope::kRead);
  ASSERT_TRUE(Tokens::load(home_));
  for (const std::string& path : {own_, named_, home_}) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_EQ(refused().code, Code::kDenied) << path;
    EXPECT_TRUE(has(refused().message, path + " belongs to another user (uid 65534)")) << refused().message;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
  EXPECT_TRUE(Tokens::load(home_));
}

// Another user of the machine reads nothing, even in a home that he may look into.
TEST_F(TokensOfAHome, AreNotReadByAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  add("ci", Scope::kRead);
  ASSERT_TRUE(Tokens::load(home_));
  for (const std::string& path : {directory_.path(), directory_.file("user"), home_})
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  const std::string open_to_all = home_ + "/open-to-all";
  ASSERT_TRUE(write_file_atomically(open_to_all, "x", 0644));
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(3);
    if (::access(open_to_all.c_str(), R_OK) != 0) ::_exit(4);
    const bool open = ::access(own_.c_str(), R_OK) == 0 || ::access(named_.c_str(), R_OK) == 0;
    const auto loaded = Tokens::load(home_);
    const auto read = Tokens::read_own(home_);
    const bool planted = ::access(home_.c_str(), W_OK) == 0;
    ::_exit(open || loaded || read || planted ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(TokensOfAHome, BrokenFilesAreRefusedWithoutAWordOfTheirs) {
  ASSERT_TRUE(make_directories(home_));
  const std::string good = "agentd_" + std::string(64, 'a');
  for (const std::string& text : {std::string(), std::string("\n"), std::string("canary"), good + "\n\n", good + "x",
                                  " " + good, good.substr(0, 70), "agentd_" + std::string(64, 'A'),
                                  good + std::string(1, '\0'), std::string((1u << 20) + 1, 'a')}) {
    ASSERT_TRUE(write_file_atomically(own_, text, 0600));
    EXPECT_EQ(refused().code, Code::kCorrupt) << text.substr(0, 80);
    EXPECT_FALSE(has(refused().message, "canary"));
  }
  for (const std::string& text : {good, good + "\n"}) {
    ASSERT_TRUE(write_file_atomically(own_, text, 0600));
    EXPECT_EQ(scope_of_token(good), Scope::kAdmin);
  }
  const std::string sum = hex(sha256("t"));
  const auto line = [](const std::string& name, const std::string& scope, const std::string& digest) {
    return R"({"name":")" + name + R"(","scope":")" + scope + R"(","sha256":")" + digest + R"(","created_ms":1})";
  };
  for (const std::string& text :
       {std::string("canary"), std::string("[]"), std::string("{}"), line("a b", "read", sum), line("", "read", sum),
        line("agentd", "read", sum), line("a", "none", sum), line("a", "canary", sum), line("a", "", sum),
        line("a", "read", sum.substr(1)), line("a", "read", sum + "0"), line("a", "read", "X" + sum.substr(1)),
        line("first", "read", sum), line("a", "read", sum) + line("b", "read", sum)}) {
    ASSERT_TRUE(write_file_atomically(named_, line("first", "run", sum) + "\n\n" + text + "\n", 0600));
    EXPECT_EQ(refused().code, Code::kCorrupt) << text;
    EXPECT_TRUE(has(refused().message, named_ + ":3: ")) << refused().message;
    EXPECT_FALSE(has(refused().message, "canary"));
  }
  ASSERT_TRUE(write_file_atomically(named_, line("first", "run", sum), 0600));
  EXPECT_EQ(scope_of_token("t"), Scope::kRun);
}

// Whoever starts first, all have the same token, and none reads half of it.
TEST_F(TokensOfAHome, ManyStartsAtOnceAgreeOnOneToken) {
  constexpr int kStarts = 16, kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    for (int start = 0; start < kStarts; ++start) {
      if (::fork() != 0) continue;
      ::close(ready[1]);
      char byte = 0;
      (void)!::read(ready[0], &byte, 1);  // all go when the parent closes its end
      const auto tokens = Tokens::load(home_);
      const auto own = Tokens::read_own(home_);
      const bool good = tokens && own && tokens->find(*own).scope == Scope::kAdmin;
      const std::string seen = directory_.file("seen." + std::to_string(start));
      ::_exit(good && write_file_atomically(seen, *own, 0600) ? 0 : 1);
    }
    ::close(ready[0]);
    ::close(ready[1]);
    for (int start = 0; start < kStarts; ++start) {
      int status = 0;
      ASSERT_GT(::wait(&status), 0);
      EXPECT_EQ(status, 0);
    }
    for (int start = 0; start < kStarts; ++start)
      EXPECT_EQ(directory_.read("seen." + std::to_string(start)), *Tokens::read_own(home_));
    EXPECT_EQ(names_in_home(), (std::set<std::string>{"serve.token"}));
    fs::remove(own_);
  }
}

TEST_F(TokensOfAHome, ManyProcessesThatAddLoseNothing) {
  constexpr int kProcesses = 8, kEach = 10;
  for (int process = 0; process < kProcesses; ++process) {
    if (::fork() != 0) continue;
    bool good = true;
    for (int i = 0; i < kEach; ++i) {
      const std::string name = "n" + std::to_string(process * kEach + i);
      good = good && Tokens::add(home_, name, Scope::kRead, 0) && Tokens::add(home_, name + ".gone", Scope::kRun, 0) &&
             Tokens::remove(home_, name + ".gone");
    }
    ::_exit(good ? 0 : 1);
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Tokens::list(home_)->size(), static_cast<std::size_t>(kProcesses * kEach));
}

// A process that died while it made the token has left half of it.
TEST_F(TokensOfAHome, AnUnfinishedTokenIsReplaced) {
  ASSERT_TRUE(make_directories(home_));
  ASSERT_TRUE(write_file_atomically(own_ + ".new", "agentd_0123", 0600));
  ASSERT_TRUE(Tokens::load(home_));
  EXPECT_EQ(Tokens::read_own(home_)->size(), 71u);
  EXPECT_EQ(names_in_home(), (std::set<std::string>{"serve.token"}));
}

TEST_F(TokensOfAHome, AChangeOfTheirFilesIsSeen) {
  const TokenFiles none = TokenFiles::of(home_);
  EXPECT_EQ(none, TokenFiles::of(home_));
  add("a", Scope::kRead);
  const TokenFiles one = TokenFiles::of(home_);
  EXPECT_NE(one, none);
  EXPECT_EQ(one, TokenFiles::of(home_));
  ASSERT_TRUE(Tokens::load(home_));
  const TokenFiles own = TokenFiles::of(home_);
  EXPECT_NE(own, one);
  ASSERT_TRUE(Tokens::load(home_));
  EXPECT_EQ(own, TokenFiles::of(home_));
  ASSERT_TRUE(Tokens::remove(home_, "a"));
  EXPECT_NE(own, TokenFiles::of(home_));
}

TEST(Scopes, AllowWhatTheySay) {
  using enum Scope;
  const std::vector<Scope> all{kNone, kRead, kRun, kApprove, kAdmin};
  //                             needs: none read run approve admin
  const std::vector<std::string> matrix{"10000", "11000", "11100", "11010", "11111"};
  for (std::size_t has = 0; has < all.size(); ++has)
    for (std::size_t needs = 0; needs < all.size(); ++needs)
      EXPECT_EQ(allows(all[has], all[needs]), matrix[has][needs] == '1') << name_of(all[has]) << name_of(all[needs]);
  for (const Scope scope : all) EXPECT_EQ(scope_of(name_of(scope)), scope);
  for (const char* name : {"", "Read", "reader", "rea", "all", "admin "}) EXPECT_EQ(scope_of(name), std::nullopt);
}

}  // namespace
}  // namespace agentd::serve
