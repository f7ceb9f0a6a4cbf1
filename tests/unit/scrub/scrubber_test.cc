// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/scrubber.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>
#include <tuple>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/regex.h"
#include "core/scrub/prefilter.h"
#include "core/scrub/rules.h"
#include "tests/unit/scrub/canaries.h"

namespace agentd {
namespace {

using testing::Canaries;
using testing::CanaryForm;
using testing::kCanaryForms;

const Scrubber& scrubber() {
  static const Scrubber* const made = [] {
    auto result = Scrubber::make();
    EXPECT_TRUE(result) << result.error().message;
    return new Scrubber(std::move(*result));
  }();
  return *made;
}

Scrubbed scrubbed(std::string_view text) {
  auto result = scrubber().scrub(text);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Scrubbed{};
}

// No eight consecutive bytes of the secret are left outside the marks.
bool is_gone(std::string_view secret, std::string text) {
  for (const ScrubRuleSpec& rule : scrub_rules()) {
    const std::string mark = "[redacted:" + std::string(rule.id) + "]";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) text.replace(at, mark.size(), "|");
  }
  for (std::size_t at = 0; at + 8 <= secret.size(); ++at)
    if (text.find(secret.substr(at, 8)) != std::string::npos) return false;
  return secret.size() >= 8 || text.find(secret) == std::string::npos;
}

TEST(Scrubber, EveryRuleHasACanaryAndThereAreManyFamilies) {
  std::set<std::string_view> tried{"private-key", "ssh-private-key", "pgp-private-key"};
  for (const CanaryForm& form : kCanaryForms) tried.insert(form.rule);
  std::set<std::string_view> ids;
  for (const ScrubRuleSpec& rule : scrub_rules()) ids.insert(rule.id);
  EXPECT_GE(ids.size(), 60u);
  for (const std::string_view id : ids) EXPECT_TRUE(tried.contains(id)) << id;
}

TEST(Scrubber, EveryExpressionCompilesAndEveryAnchorIsLongEnough) {
  ASSERT_TRUE(scrubber().prepare());
  for (const ScrubRuleSpec& rule : scrub_rules()) {
    const auto made = Regex::compile(rule.pattern);
    EXPECT_TRUE(made) << rule.id << ": " << made.error().message;
    std::string_view rest = rule.anchors;
    EXPECT_FALSE(rest.empty()) << rule.id;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      EXPECT_GE(word.size(), 3u) << rule.id << ": " << word;
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
  }
}

TEST(Scrubber, FindsEveryCanaryAndNamesItsRule) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    Canaries canaries(seed);
    for (const CanaryForm& form : kCanaryForms) {
      const auto made = canaries.make(form.form);
      const Scrubbed got = scrubbed("a line before\n" + made.text + "\nand one behind\n");
      EXPECT_TRUE(is_gone(made.secret, got.text)) << form.rule << ": " << got.text;
      EXPECT_EQ(got.counts().count(std::string(form.rule)), 1u) << form.rule << ": " << got.text;
      EXPECT_TRUE(got.text.starts_with("a line before\n")) << got.text;
      EXPECT_TRUE(got.text.ends_with("\nand one behind\n")) << got.text;
    }
  }
}

TEST(Scrubber, FindsEveryCanaryWhereverItStands) {
  const std::pair<std::string_view, std::string_view> places[] = {
      {"", ""},        {"text ", " more"}, {"value: ", ","}, {"(", ")"},          {"| ", " |"},
      {"äöü ", " ßß"}, {"x\\n", "\\nx"},   {"'", "'"},       {"   12\t", "\r\n"}, {"log: {\"m\":\"", "\"}"},
      {"<b>", "</b>"}, {"a\\t", "\\t"}};
  Canaries canaries(77);
  for (const CanaryForm& form : kCanaryForms) {
    for (const auto& [before, behind] : places) {
      const auto made = canaries.make(form.form);
      const std::string text = std::string(before) + made.text + std::string(behind);
      const Scrubbed got = scrubbed(text);
      EXPECT_TRUE(is_gone(made.secret, got.text)) << form.rule << ": " << text << " -> " << got.text;
    }
  }
}

TEST(Scrubber, ScrubbingTwiceChangesNothing) {
  Canaries canaries(5);
  std::string all, joined;
  for (const CanaryForm& form : kCanaryForms) {
    const auto made = canaries.make(form.form);
    const Scrubbed once = scrubbed(made.text);
    const Scrubbed twice = scrubbed(once.text);
    EXPECT_EQ(twice.text, once.text);
    EXPECT_TRUE(twice.findings.empty()) << form.rule << ": " << once.text;
    all += made.text + "\n";
    joined += made.text;
  }
  for (const std::string& text : {all, joined}) {
    const Scrubbed once = scrubbed(text);
    EXPECT_EQ(scrubbed(once.text).text, once.text);
  }
}

TEST(Scrubber, FindingsNameTheBytesOfTheTextAsItWas) {
  Canaries canaries(8);
  const auto made = canaries.make("ghp_{a36}");
  const auto other = canaries.make("glpat-{w20}");
  const std::string text = "ä " + made.text + " ü " + other.text;
  const Scrubbed got = scrubbed(text);
  ASSERT_EQ(got.findings.size(), 2u);
  EXPECT_EQ(got.findings[0].rule, "github-token");
  EXPECT_EQ(text.substr(got.findings[0].at, got.findings[0].length), made.secret);
  EXPECT_EQ(text.substr(got.findings[1].at, got.findings[1].length), other.secret);
  EXPECT_EQ(got.text, "ä [redacted:github-token] ü [redacted:gitlab-token]");
}

// ---- keys of many lines

TEST(Scrubber, PrivateKeysGoWholeInEveryForm) {
  Canaries canaries(10);
  const std::tuple<const char*, std::string, std::string> forms[] = {
      {"private-key", "-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----"},
      {"private-key", "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----"},
      {"private-key", "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n",
       "-----END EC PRIVATE KEY-----"},
      {"private-key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\r\n", "-----END ENCRYPTED PRIVATE KEY-----"},
      {"ssh-private-key", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "-----END OPENSSH PRIVATE KEY-----"},
      {"ssh-private-key", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\n",
       "---- END SSH2 ENCRYPTED PRIVATE KEY ----"},
      {"pgp-private-key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2 - x\n\n",
       "=aB3d\n-----END PGP PRIVATE KEY BLOCK-----"}};
  for (const auto& [rule, begin, end] : forms) {
    const std::string body = canaries.key_lines(25);
    const Scrubbed got = scrubbed("before\n" + begin + body + end + "\nbehind\n");
    EXPECT_TRUE(is_gone(body, got.text)) << rule << ": " << got.text;
    EXPECT_EQ(got.counts().count(rule), 1u) << rule << ": " << got.text;
    EXPECT_TRUE(got.text.starts_with("before\n")) << got.text;
    EXPECT_TRUE(got.text.ends_with("\nbehind\n")) << got.text;
  }
}

TEST(Scrubber, PrivateKeyOnOneLineOfJsonGoesWhole) {
  Canaries canaries(11);
  const std::string body = canaries.key_lines(25, "\\n");
  const Scrubbed account = scrubbed(R"({"type":"service_account","private_key": "-----BEGIN PRIVATE KEY-----\n)" +
                                    body + R"(-----END PRIVATE KEY-----\n","client_email":"a@b"})");
  EXPECT_EQ(account.text, R"({"type":"service_account","private_key": "[redacted:gcp-service-account]",)"
                          R"("client_email":"a@b"})");
  const Scrubbed other =
      scrubbed(R"({"k":"-----BEGIN EC PRIVATE KEY-----\n)" + body + R"(-----END EC PRIVATE KEY-----"})");
  EXPECT_EQ(other.text, R"({"k":"[redacted:private-key]"})");
}

TEST(Scrubber, PrivateKeyWhoseEndWasCutGoesAsFarAsItGoes) {
  Canaries canaries(12);
  const std::string body = canaries.key_lines(12);
  const Scrubbed got = scrubbed("-----BEGIN RSA PRIVATE KEY-----\n" + body + "\nThe output was cut here, see below.\n");
  EXPECT_TRUE(is_gone(body, got.text)) << got.text;
  EXPECT_TRUE(got.text.ends_with("The output was cut here, see below.\n")) << got.text;
}

TEST(Scrubber, PrivateKeyWithLineNumbersOrQuotationMarksGoes) {
  Canaries canaries(13);
  std::string numbered = "   1\t-----BEGIN RSA PRIVATE KEY-----\n", quoted = "> -----BEGIN RSA PRIVATE KEY-----\n";
  std::string bodies;
  for (int i = 0; i < 9; ++i) {
    const std::string line = canaries.key_lines(2);
    bodies = line.substr(0, 64);
    numbered += "   " + std::to_string(i + 2) + "\t" + bodies + "\n";
    quoted += "> " + bodies + "\n";
  }
  numbered += "  11\t-----END RSA PRIVATE KEY-----\n";
  quoted += "> -----END RSA PRIVATE KEY-----\n";
  EXPECT_TRUE(is_gone(bodies, scrubbed(numbered).text)) << scrubbed(numbered).text;
  EXPECT_TRUE(is_gone(bodies, scrubbed(quoted).text)) << scrubbed(quoted).text;
}

TEST(Scrubber, ProgramThatNamesTheMarksOfAKeyIsLeftAlone) {
  const std::string_view program =
      "if (text.find(\"-----BEGIN PRIVATE KEY-----\") != npos) {\n"
      "  // everything up to \"-----END PRIVATE KEY-----\" is the key, which stands in base64\n"
      "  return parse_private_key(text);\n}\n";
  EXPECT_EQ(scrubbed(program).text, program);
}

TEST(Scrubber, PublicKeysAndCertificatesStay) {
  Canaries canaries(14);
  const std::string text = "-----BEGIN CERTIFICATE-----\n" + canaries.key_lines(9) +
                           "-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\n" + canaries.key_lines(3) +
                           "-----END PUBLIC KEY-----\nssh-ed25519 " + canaries.key_lines(1);
  EXPECT_EQ(scrubbed(text).text, text);
}

// ---- text without secrets

TEST(Scrubber, OrdinaryTextStaysAsItIs) {
  const std::string_view texts[] = {"",
                                    "a",
                                    "ab",
                                    "The password is checked by the server; a token of 36 characters is made.",
                                    "std::string token = next_token(stream);",
                                    "const auto secret = config.get(\"client_secret_name\");",
                                    "password: ${DB_PASSWORD}",
                                    "password = os.environ[\"DB_PASSWORD1\"]",
                                    "token = \"your_token_1234\"",
                                    "api_key: <YOUR_API_KEY_1>",
                                    "api_key = \"changeme123\"",
                                    "secret_file = \"/run/secrets/db_password1\"",
                                    "secretName: my-app-secret-1",
                                    "std::uint64_t token: 64;",
                                    "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                                    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
                                    "id: 550e8400-e29b-41d4-a716-446655440000",
                                    "http://localhost:8080/foo@bar",
                                    "git@github.com:owner/repo.git and https://host:8443/x?y=a@b",
                                    "postgres://user:password@localhost/db",
                                    "postgres://${USER}:${PASSWORD}@localhost/db",
                                    "risk-assessment-of-a-very-long-title-with-many-words",
                                    "Authorization: Bearer <token>",
                                    "Bearer authentication is used",
                                    "class=\"sk-fading-circle\"",
                                    "AKIA is a prefix; ghp_ is another one, eyJ a third",
                                    "[redacted:github-token]",
                                    "password = \"[redacted:generic-secret]\""};
  for (const std::string_view text : texts) EXPECT_EQ(scrubbed(text).text, text);
}

TEST(Scrubber, AngleBracketInsideAPasswordDoesNotMakeItAPlaceholder) {
  EXPECT_EQ(scrubbed("postgres://user:pa<ss9!Word@host/db").text.find("pa<ss9"), std::string::npos);
  const std::string placeholder = "postgres://user:<password>@host/db";
  EXPECT_EQ(scrubbed(placeholder).text, placeholder);
}

// A part that looks like a placeholder does not make the complete value one.
TEST(Scrubber, SecretWithAPlaceholderInsideIsASecret) {
  for (const std::string secret : {"Kq9example7Zt2", "aB3...xY9qLm", "pw***9aKd2", "environ7Qz4tB", "x9{{Kd83hQ",
                                   "a$(9Kd83hQ", "{9Kd}83hQz", "%9Kd%83hQz"})
    EXPECT_EQ(scrubbed("postgres://user:" + secret + "@host/db").text.find(secret), std::string::npos) << secret;
}

TEST(Scrubber, HardlyALineOfThisSourceTreeIsTakenForASecret) {
  std::size_t lines = 0, findings = 0;
  for (const char* folder : {"core", "plugins", "providers", "plugin-api", "docs", "bench", "cmake", "tests"}) {
    const std::filesystem::path root = std::filesystem::path(AGENTD_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      // The tests of this room have secrets on purpose.
      if (!entry.is_regular_file() || entry.path().parent_path().filename() == "scrub") continue;
      const auto text = read_file(entry.path().string(), 16u << 20);
      ASSERT_TRUE(text) << text.error().message;
      lines += static_cast<std::size_t>(std::count(text->begin(), text->end(), '\n'));
      findings += scrubbed(*text).findings.size();
    }
  }
  EXPECT_GT(lines, 10'000u);
  EXPECT_LE(findings * 1000, lines) << findings << " in " << lines << " lines";
}

TEST(Scrubber, TextThatLooksLikeAMarkHidesNothing) {
  Canaries canaries(15);
  const auto made = canaries.make("ghp_{a36}");
  for (const std::string& text :
       {"[redacted:" + made.secret + "]", "[redacted:nothing " + made.secret + "]",
        "password = \"[redacted:jwt]" + canaries.make("{a20}").secret + "9\" " + made.secret}) {
    const Scrubbed got = scrubbed(text);
    EXPECT_TRUE(is_gone(made.secret, got.text)) << got.text;
    EXPECT_EQ(scrubbed(got.text).text, got.text);
  }
}

TEST(Scrubber, ValidUtf8StaysValidAndBytesThatAreNotStay) {
  Canaries canaries(16);
  const auto made = canaries.make("npm_{a36}");
  const Scrubbed got = scrubbed("日本語" + made.text + "日本語, password=\"pä55wörd-ß9x\"");
  EXPECT_TRUE(is_utf8(got.text));
  EXPECT_EQ(got.text, "日本語[redacted:npm-token]日本語, password=\"[redacted:generic-secret]\"");
  const std::string broken = "\xff\xfe " + made.text + " \x80";
  EXPECT_EQ(scrubbed(broken).text, "\xff\xfe [redacted:npm-token] \x80");
}

TEST(Scrubber, SecretLongerThanTheWindowGoesWhole) {
  Canaries canaries(17);
  const auto made = canaries.make("eyJhbGciOiJIUzI1NiJ9.eyJ{w60000}.{w43}");
  EXPECT_EQ(scrubbed("a " + made.text + " b").text, "a [redacted:jwt] b");
}

TEST(Scrubber, NulBytesHideNothing) {
  Canaries canaries(18);
  const auto made = canaries.make("dop_v1_{h64}");
  const std::string text = std::string("a\0b ", 4) + made.text + std::string("\0", 1);
  EXPECT_EQ(scrubbed(text).text, std::string("a\0b [redacted:digitalocean-token]\0", 34));
}

TEST(Scrubber, ManyAnchorsOnOneLineCostLinearTime) {
  // Ten times the text takes about ten times the regex work; a quadratic scan would not end.
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "-----BEGIN PRIVATE KEY-----password=eyJ://:";
  EXPECT_TRUE(scrubber().scrub(text));
  std::string slack, jwt;
  for (int i = 0; i < 200'000; ++i) slack += "xoxb-", jwt += "eyJ-";
  EXPECT_TRUE(scrubber().scrub(slack));
  EXPECT_TRUE(scrubber().scrub(jwt));
}

// Each token hides the next one, so that every pass finds as many as the one before.
TEST(Scrubber, ManySecretsBehindEachOtherCostLinearTime) {
  Canaries canaries(19);
  std::string row;
  for (int i = 0; i < 8; ++i) row += canaries.make("lin_api_{a40}").secret;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += row + "\n";
  const Scrubbed got = scrubbed(text);
  ASSERT_EQ(got.findings.size(), 160'000u);
  for (std::size_t i = 0; i < got.findings.size(); ++i) {
    ASSERT_EQ(got.findings[i].at, i / 8 * (row.size() + 1) + i % 8 * 48);
    ASSERT_EQ(got.findings[i].length, 48u);
  }
}

// ---- options

TEST(ScrubOptions, DisabledRuleFindsNothing) {
  Canaries canaries(20);
  const auto made = canaries.make("AKIA{X16}");
  auto less = Scrubber::make({.disable = {"aws-access-key"}, .extra = {}});
  ASSERT_TRUE(less);
  EXPECT_EQ(less->scrub(made.text)->text, made.text);
  EXPECT_EQ(scrubbed(made.text).text, "[redacted:aws-access-key]");
}

TEST(ScrubOptions, RuleOfTheUserFindsItsGroupOrItsMatch) {
  auto more = Scrubber::make({.disable = {}, .extra = {{"acme", "ACME-[0-9]{6}"}, {"badge", "badge ([0-9]+)"}}});
  ASSERT_TRUE(more) << more.error().message;
  const auto got = more->scrub("x ACME-123456 badge 77 badge 78");
  EXPECT_EQ(got->text, "x [redacted:acme] badge [redacted:badge] badge [redacted:badge]");
  EXPECT_EQ(got->counts().at("badge"), 2u);
  EXPECT_EQ(more->scrub(got->text)->text, got->text);
}

TEST(ScrubOptions, OverlappingFindingsAreOneSoThatNoPartStays) {
  auto more = Scrubber::make({.disable = {}, .extra = {{"a", "ACME-[0-9]+X"}, {"b", "[0-9]+XYZ"}}});
  ASSERT_TRUE(more);
  const auto got = more->scrub("<ACME-123XYZ>");
  EXPECT_EQ(got->text, "<[redacted:a]>");
  ASSERT_EQ(got->findings.size(), 1u);
  EXPECT_EQ(got->findings[0].at, 1u);
  EXPECT_EQ(got->findings[0].length, 11u);
}

TEST(ScrubOptions, SecretThatOnlyItsNeighbourHidGoesInTheSameCall) {
  Canaries canaries(21);
  const auto made = canaries.make("npm_{a36}");
  auto more = Scrubber::make({.disable = {}, .extra = {{"badge", "badge[0-9]+"}}});
  ASSERT_TRUE(more);
  // The token's last character must precede a character that is not a letter.
  const auto got = more->scrub("ä " + made.text + "badge77 z");
  EXPECT_EQ(got->text, "ä [redacted:npm-token][redacted:badge] z");
  ASSERT_EQ(got->findings.size(), 2u);
  EXPECT_EQ(got->findings[0].rule, "npm-token");
  EXPECT_EQ(got->findings[0].at, 3u);
  EXPECT_EQ(got->findings[0].length, 40u);
  EXPECT_EQ(got->findings[1].at, 43u);
  EXPECT_EQ(got->findings[1].length, 7u);
}

TEST(ScrubOptions, RuleOfTheUserThatMatchesItsOwnMarkEnds) {
  auto more = Scrubber::make({.disable = {}, .extra = {{"words", "[a-z]+"}, {"empty", "x*"}}});
  ASSERT_TRUE(more);
  const auto got = more->scrub("one two");
  EXPECT_EQ(got->text, "[redacted:words] [redacted:words]");
  EXPECT_EQ(more->scrub(got->text)->text, got->text);
}

TEST(ScrubOptions, MistakesAreTold) {
  const auto error = [](ScrubOptions options) {
    const auto made = Scrubber::make(std::move(options));
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(error({.disable = {"nope"}, .extra = {}}), "no secret rule named 'nope' to disable");
  EXPECT_EQ(error({.disable = {}, .extra = {{"a b", "x"}}}),
            "'a b' is not a valid id of a secret rule: use letters, digits, '-', '_' and '.'");
  EXPECT_EQ(error({.disable = {}, .extra = {{"jwt", "x"}}}), "a secret rule named 'jwt' already exists");
  EXPECT_EQ(error({.disable = {}, .extra = {{"x", "a"}, {"x", "b"}}}), "a secret rule named 'x' already exists");
  EXPECT_NE(error({.disable = {}, .extra = {{"x", "("}}}).find("the pattern of the secret rule 'x': "),
            std::string::npos);
}

TEST(Scrubber, ManyThreadsShareOne) {
  const auto made = Scrubber::make();
  ASSERT_TRUE(made);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Canaries canaries(100 + i);
      for (const CanaryForm& form : kCanaryForms) {
        const auto canary = canaries.make(form.form);
        const auto got = made->scrub(canary.text);
        if (!got || !is_gone(canary.secret, got->text)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// ---- the prefilter

TEST(Prefilter, FindsEveryLiteralAtEveryPlace) {
  Prefilter filter;
  const std::uint32_t exact = filter.add("AKIA", false);
  const std::uint32_t either = filter.add("Token", true);
  const std::uint32_t shortest = filter.add("eyJ", false);
  for (std::size_t before = 0; before < 9; ++before) {
    for (std::size_t behind = 0; behind < 9; ++behind) {
      const std::string left(before, '.'), right(behind, '.');
      const auto at = [&](std::string_view what) {
        const auto hits = filter.find(left + std::string(what) + right);
        return hits.size() == 1 && hits[0].at == before ? static_cast<int>(hits[0].literal) : -1;
      };
      EXPECT_EQ(at("AKIA"), static_cast<int>(exact));
      EXPECT_EQ(at("akia"), -1);
      EXPECT_EQ(at("tOkEn"), static_cast<int>(either));
      EXPECT_EQ(at("eyJ"), static_cast<int>(shortest));
    }
  }
}

TEST(Prefilter, HitsComeInOrderAndOverlapping) {
  Prefilter filter;
  filter.add("aaa", false);
  filter.add("aab", false);
  const auto hits = filter.find("aaaab");
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].at, 0u);
  EXPECT_EQ(hits[1].at, 1u);
  EXPECT_EQ(hits[2].at, 2u);
}

// ---- checks

TEST(ScrubChecks, EntropyIsInBitsForEachByte) {
  EXPECT_DOUBLE_EQ(entropy_of("aaaa"), 0);
  EXPECT_DOUBLE_EQ(entropy_of("abab"), 1);
  EXPECT_DOUBLE_EQ(entropy_of("abcdefgh"), 3);
}

TEST(ScrubChecks, ValueIsTold) {
  EXPECT_TRUE(passes(ScrubCheck::kValue, "hunter2-Zx91"));
  EXPECT_FALSE(passes(ScrubCheck::kValue, "correcthorsebattery")) << "no digit";
  EXPECT_FALSE(passes(ScrubCheck::kValue, "11111111a")) << "no entropy";
  EXPECT_FALSE(passes(ScrubCheck::kValue, "sha256_hex_of_it")) << "an identifier";
  EXPECT_FALSE(passes(ScrubCheck::kValue, "")) << "nothing";
}

}  // namespace
}  // namespace agentd
