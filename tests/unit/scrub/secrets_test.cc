// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/secrets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/scrub/scrubbed_log.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/scrub/canaries.h"

namespace agentd {
namespace {

using testing::Canaries;
using testing::CanaryForm;
using testing::kCanaryForms;
using testing::TempDir;

std::unique_ptr<Secrets> secrets_with(std::string key, ScrubOptions rules = {}) {
  auto made = Secrets::make(std::move(rules), [key] { return Result<std::string>(key); });
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

class SecretsTest : public ::testing::Test {
 protected:
  Scrubbed scrub(std::string_view text) {
    auto out = secrets_->scrub(text);
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : Scrubbed{};
  }
  std::string wrong(std::string_view bytes, std::string_view edited) {
    const auto out = secrets_->restored(bytes, edited);
    EXPECT_FALSE(out) << *out;
    if (out) return {};
    EXPECT_EQ(out.error().code, Code::kInvalid);
    return out.error().message;
  }

  const std::unique_ptr<Secrets> secrets_ = secrets_with(std::string(32, 'k'));
  Canaries canaries_{31};
};

// ---- placeholders

TEST_F(SecretsTest, APlaceholderNamesTheKindAndHasTwelveDigits) {
  const std::string token = canaries_.make("ghp_{a36}").secret;
  const std::string text = scrub("x " + token + " y").text;
  const auto form = placeholder_form_at(text, 2);
  ASSERT_TRUE(form) << text;
  EXPECT_EQ(form->rule, "github-token");
  EXPECT_EQ(text, "x " + std::string(form->text) + " y");
  EXPECT_EQ(form->text.size(), std::string("[secret:github-token:1a2b3c4d-5e6f]").size());
}

TEST_F(SecretsTest, TheSameSecretHasTheSamePlaceholderUnderOneKeyOnly) {
  const std::string one = canaries_.make("ghp_{a36}").secret, two = canaries_.make("ghp_{a36}").secret;
  EXPECT_EQ(scrub(one).text, scrub(one).text);
  EXPECT_NE(scrub(one).text, scrub(two).text);
  EXPECT_EQ(scrub(one).text, secrets_with(std::string(32, 'k'))->scrub(one)->text);
  EXPECT_NE(scrub(one).text, secrets_with(std::string(32, 'q'))->scrub(one)->text);
}

TEST_F(SecretsTest, OwnPlaceholdersAreToldFromTextThatLooksLikeThem) {
  const std::string own = scrub(canaries_.make("ghp_{a36}").secret).text;
  EXPECT_EQ(secrets_->own_in("a [secret: b " + own + " c"), own);
  const std::string others = secrets_with(std::string(32, 'q'))->scrub(canaries_.make("ghp_{a36}").secret)->text;
  for (const std::string& text :
       {others, std::string("[secret:github-token:1a2b3c4d-5e6f]"), own.substr(0, own.size() - 1),
        std::string("[secret:"), std::string("[secret::1a2b3c4d-5e6f]"), std::string("[secret:x:1A2B3C4D-5e6f]")})
    EXPECT_EQ(secrets_->own_in(text), std::nullopt) << text;
}

TEST_F(SecretsTest, ScrubbingTwiceChangesNothingMore) {
  const auto plain = Scrubber::make();
  ASSERT_TRUE(plain);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    Canaries canaries(seed);
    for (const CanaryForm& form : kCanaryForms) {
      const std::string once = scrub(canaries.make(form.form).text).text;
      EXPECT_EQ(scrub(once).text, once);
      // Nor does a scrubber without the key, as the plugin redact is one.
      EXPECT_EQ(plain->scrub(once)->text, once);
    }
  }
}

TEST_F(SecretsTest, NothingCanHideInTheFormOfAPlaceholder) {
  const std::string token = canaries_.make("ghp_{a36}").secret;
  const std::string text = scrub("[secret:" + token + ":1a2b3c4d-5e6f]").text;
  EXPECT_EQ(text.find(token), std::string::npos) << text;
}

// ---- the key

TEST(SecretsKey, IsMadeOnceAndForTheOwnerAlone) {
  const TempDir directory;
  const std::string path = directory.file("home/secrets.key");
  std::vector<std::string> keys(8);
  std::vector<std::jthread> threads;
  for (std::string& key : keys) threads.emplace_back([&key, &path] { key = secrets_key(path).value_or(""); });
  threads.clear();
  EXPECT_EQ(keys[0].size(), 32u);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1u);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.file("home")), {}), 1);
  EXPECT_NE(new_secrets_key(), new_secrets_key());
}

TEST(SecretsKey, ThatIsNoneIsAnErrorAndTextsAreWithheld) {
  const TempDir directory;
  const std::string path = directory.write("secrets.key", "short");
  const auto key = secrets_key(path);
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, Code::kCorrupt);
  auto made = Secrets::make({}, [path] { return secrets_key(path); });
  ASSERT_TRUE(made);
  const std::string token = Canaries(3).make("ghp_{a36}").secret;
  const Secrets::Passed passed = (*made)->pass("x " + token);
  EXPECT_EQ(passed.text.find(token), std::string::npos);
  EXPECT_TRUE(passed.text.starts_with("[withheld, since agentd cannot look for secrets in it: ")) << passed.text;
  EXPECT_EQ((*made)->pass("without any").text, "without any");
  // A text that looks like a placeholder counts as one then.
  EXPECT_TRUE((*made)->own_in("[secret:github-token:1a2b3c4d-5e6f]"));
}

TEST(SecretsKey, IsNotReadWithoutASecret) {
  int asked = 0;
  auto made = Secrets::make({}, [&asked] {
    ++asked;
    return Result<std::string>(std::string(32, 'k'));
  });
  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->scrub("the password is checked by the server"));
  EXPECT_FALSE((*made)->own_in("[secret: nothing]"));
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE((*made)->scrub(Canaries(3).make("ghp_{a36}").secret));
  EXPECT_EQ(asked, 1);
}

// ---- the way back

TEST_F(SecretsTest, AnEditedViewGetsTheBytesOfTheFileBack) {
  for (const CanaryForm& form : kCanaryForms) {
    const auto made = canaries_.make(form.form);
    const std::string file = "first\n" + made.text + "\nlast\n";
    std::string view = scrub(file).text;
    ASSERT_EQ(view.find(made.secret), std::string::npos) << form.rule;
    view.replace(view.find("last"), 4, "changed");
    const auto back = secrets_->restored(file, view);
    ASSERT_TRUE(back) << form.rule << ": " << back.error().message;
    EXPECT_EQ(*back, "first\n" + made.text + "\nchanged\n");
  }
}

// Also where something that is none was taken for one.
TEST_F(SecretsTest, EveryFileOfThisSourceTreeCanStillBeEdited) {
  std::size_t with_findings = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(AGENTD_SOURCE_DIR "/tests")) {
    if (!entry.is_regular_file()) continue;
    const auto file = read_file(entry.path().string(), 16u << 20);
    ASSERT_TRUE(file) << file.error().message;
    const Scrubbed view = scrub(*file);
    if (view.findings.empty()) continue;
    ++with_findings;
    EXPECT_EQ(secrets_->restored(*file, view.text + "a line\n").value_or("failed"), *file + "a line\n") << entry.path();
    EXPECT_EQ(scrub(view.text).text, view.text) << entry.path();
  }
  EXPECT_GT(with_findings, 2u);
}

TEST_F(SecretsTest, AKeyOfManyLinesComesBackWhole) {
  const std::string key =
      "-----BEGIN RSA PRIVATE KEY-----\r\n" + canaries_.key_lines(20, "\r\n") + "-----END RSA PRIVATE KEY-----";
  const std::string file = "a: 1\r\nkey: |\r\n" + key + "\r\nb: 2\r\n";
  std::string view = scrub(file).text;
  EXPECT_LT(view.size(), 100u);
  view.replace(view.find("b: 2"), 4, "b: 3");
  EXPECT_EQ(secrets_->restored(file, view).value_or("failed"), "a: 1\r\nkey: |\r\n" + key + "\r\nb: 3\r\n");
}

TEST_F(SecretsTest, APlaceholderMayMoveOrGoWithinItsFile) {
  const std::string one = canaries_.make("ghp_{a36}").secret, two = canaries_.make("npm_{a36}").secret;
  const std::string file = one + "\n" + two + "\n";
  const std::string mark_one = scrub(one).text, mark_two = scrub(two).text;
  EXPECT_EQ(secrets_->restored(file, mark_two + "\n" + mark_one + "\n").value_or("failed"), two + "\n" + one + "\n");
  EXPECT_EQ(secrets_->restored(file, mark_two + "\n").value_or("failed"), two + "\n");
  EXPECT_EQ(secrets_->restored(file, "nothing\n").value_or("failed"), "nothing\n");
}

TEST_F(SecretsTest, APlaceholderOfAnotherFileIsRefused) {
  const std::string here = canaries_.make("ghp_{a36}").secret, there = canaries_.make("ghp_{a36}").secret;
  const std::string mark = scrub(there).text;
  EXPECT_EQ(wrong(here, scrub(here).text + mark), mark + " stands for no secret of this file");
  // One that nobody made is text.
  const std::string text = "[secret:github-token:1a2b3c4d-5e6f]";
  EXPECT_EQ(secrets_->restored(here, text).value_or("failed"), text);
}

TEST_F(SecretsTest, APlaceholderThatStandsInTheFileAsTextStays) {
  const std::string mark = scrub(canaries_.make("ghp_{a36}").secret).text;
  EXPECT_EQ(secrets_->restored("note: " + mark, "note 2: " + mark).value_or("failed"), "note 2: " + mark);
}

TEST_F(SecretsTest, APlaceholderThatCouldMeanTwoTextsIsRefused) {
  const std::string token = canaries_.make("ghp_{a36}").secret;
  const std::string mark = scrub(token).text;
  EXPECT_EQ(wrong(token + "\n" + mark + "\n", mark + "\n" + mark + "\nmore\n"),
            mark + " stands for two different texts of this file");
}

// A password is known by its name alone: without it the next reader would see it.
TEST_F(SecretsTest, AnEditThatWouldBringASecretIntoTheOpenIsRefused) {
  const std::string file = "password = \"hunter2Zq9x\"\n";
  const std::string view = scrub(file).text;
  const std::string mark = view.substr(view.find('['), view.find(']') + 1 - view.find('['));
  EXPECT_EQ(wrong(file, "note = " + mark + "\n"), mark + " would no longer be known as a secret where it stands now");
  EXPECT_EQ(secrets_->restored(file, "db_password = \"" + mark + "\"\n").value_or("failed"),
            "db_password = \"hunter2Zq9x\"\n");
}

// Nor a part of one: without its quotation marks a password is found up to the first "&" only.
TEST_F(SecretsTest, AnEditThatWouldShowAPartOfASecretIsRefused) {
  const std::string file = "password = \"abcDEF123&tailTail9\"\n";
  const std::string view = scrub(file).text;
  const std::string mark = view.substr(view.find('['), view.find(']') + 1 - view.find('['));
  ASSERT_EQ(view, "password = \"" + mark + "\"\n");
  EXPECT_EQ(wrong(file, "password=" + mark + "\n"), mark + " would no longer be known as a secret where it stands now");
  EXPECT_EQ(secrets_->restored(file, "password=\"" + mark + "\"\n").value_or("failed"),
            "password=\"abcDEF123&tailTail9\"\n");
}

// A look through the file for each of them would not end.
TEST_F(SecretsTest, AFileOfManySecretsIsEditedInLinearTime) {
  std::string file;
  for (int i = 0; i < 40'000; ++i) file += canaries_.make("ghp_{a36}").secret + " of somebody\n";
  const Scrubbed view = scrub(file);
  ASSERT_EQ(view.findings.size(), 40'000u);
  EXPECT_TRUE(secrets_->restored(file, view.text + "more\n").value_or("failed") == file + "more\n");
}

// ---- findings of others

class Fixed final : public ExtraScrubber {
 public:
  explicit Fixed(Result<std::vector<ScrubFinding>> found) : found_(std::move(found)) {}
  Result<std::vector<ScrubFinding>> find(std::string_view) const override { return found_; }

 private:
  const Result<std::vector<ScrubFinding>> found_;
};

TEST_F(SecretsTest, FindingsOfOthersAddUpWithThoseOfTheRules) {
  const std::string token = canaries_.make("ghp_{a36}").secret;
  const std::string text = "badge 12345 ü " + token;
  secrets_->set_extra({std::make_shared<Fixed>(std::vector<ScrubFinding>{{"badge", 6, 5},
                                                                         {"not an id", 13, 1},  // inside of ü
                                                                         {"badge", 900, 5}})});
  const Scrubbed got = scrub(text);
  EXPECT_EQ(got.counts(), (std::map<std::string, std::size_t>{{"badge", 1}, {"github-token", 1}, {"plugin", 1}}));
  EXPECT_TRUE(got.text.starts_with("badge [secret:badge:")) << got.text;
  EXPECT_EQ(got.text.find(token), std::string::npos);
  EXPECT_EQ(got.text.find("ü"), std::string::npos);
  // Its own placeholder is known again, though no rule has its name.
  EXPECT_TRUE(secrets_->own_in(got.text));
}

TEST_F(SecretsTest, WhatAnotherCouldNotLookThroughIsWithheld) {
  secrets_->set_extra({std::make_shared<Fixed>(Error{Code::kUnavailable, "the plugin is away"})});
  EXPECT_NE(secrets_->pass("harmless").text.find("the plugin is away"), std::string::npos);
  EXPECT_EQ(secrets_->pass("harmless").text.find("harmless"), std::string::npos);
  const std::string token = canaries_.make("ghp_{a36}").secret;
  secrets_->set_extra({std::make_shared<Fixed>(Error{Code::kUnavailable, "cannot read " + token})});
  EXPECT_EQ(secrets_->pass("x " + token).text.find(token), std::string::npos) << "the reason quotes it";
}

TEST_F(SecretsTest, CountsAreToldWithoutTheSecrets) {
  EXPECT_EQ(told_of({{"aws-access-key", 2}}), "2 secrets were replaced (aws-access-key ×2)");
  EXPECT_EQ(told_of({{"aws-access-key", 1}}), "1 secret was replaced (aws-access-key)");
  EXPECT_EQ(told_of({{"a", 1}, {"b", 3}}), "4 secrets were replaced (a, b ×3)");
}

// ---- the diagnostic log

TEST_F(SecretsTest, TheDiagnosticLogHasNone) {
  const TempDir directory;
  const std::string path = directory.file("agentd.log");
  const std::string token = canaries_.make("ghp_{a36}").secret;
  ScrubbedLog log(make_file_log(path, LogLevel::kDebug), *secrets_);
  log.write(LogLevel::kError, "tools", "it said " + token);
  const auto text = read_file(path, 1u << 20);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find(token), std::string::npos) << *text;
  EXPECT_NE(text->find("it said [secret:github-token:"), std::string::npos) << *text;
}

}  // namespace
}  // namespace agentd
