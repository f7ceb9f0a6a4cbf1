// SPDX-License-Identifier: Apache-2.0
// secrets_test.cc - canaries in what tools put out: the built program, a server that echoes what it gets, a hook that
// keeps what it is shown, and then a look into everything that is left. docs/guide/secrets.md, run.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_wire.h"
#include "tests/unit/scrub/canaries.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

// The length of an answer that repeats the request.
constexpr std::size_t kEchoBytes = 8'000;

class SecretsEverywhere : public ::testing::Test {
 protected:
  SecretsEverywhere() { program_.set("NO_PROXY=127.0.0.1"); }

  void SetUp() override {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      Canaries canaries(seed);
      std::string text = "first line\n";
      for (const CanaryForm& form : kCanaryForms) {
        const auto made = canaries.make(form.form);
        text += made.text + "\n";
        secrets_.push_back(made.secret);
        rules_.insert(std::string(form.rule));
      }
      const std::string key = canaries.key_lines(12);
      text += "-----BEGIN RSA PRIVATE KEY-----\n" + key + "-----END RSA PRIVATE KEY-----\nlast line\n";
      for (std::size_t at = 0; at + 64 < key.size(); at += 65) secrets_.push_back(key.substr(at, 64));
      program_.file("c" + std::to_string(seed) + ".txt", text);
    }
    named_ = Canaries(9).make("ghp_{a36}").secret;
    program_.file(named_ + ".txt", "");
    secrets_.push_back(named_);
  }

  // The calls that the model makes, one a request; then it repeats what it was given.
  struct Call {
    const char* name;
    std::string input;
  };
  std::vector<Call> calls() const {
    return {{"bash", R"({"command":"cat c1.txt"})"},
            {"bash", R"({"command":"cat c2.txt >&2; exit 3"})"},
            {"read_file", R"({"path":"c1.txt"})"},
            {"read_file", R"({"path":"c3.txt","offset":40})"},
            {"grep", R"({"pattern":".","path":"c3.txt","output_mode":"content","limit":5000})"},
            {"grep", R"({"pattern":"last","path":"c1.txt","output_mode":"content","context":50})"},
            {"glob", R"({"pattern":"*"})"},
            {"edit_file", R"({"path":"c1.txt","old_string":"first line","new_string":"changed line"})"},
            {"task", R"({"description":"look","prompt":"look at the second file"})"},
            {"bash", R"({"command":"cat c2.txt"})"}};  // the subagent's
  }
  Reply reply_to(const RecordedRequest& got) {
    const std::size_t number = requests_++;
    const std::vector<Call> all = calls();
    if (number < all.size())
      return Reply::chunked(
          {ChatWire().tool_call(0, "c", all[number].name, {all[number].input}).finish("tool_calls").bytes()});
    // The newest output of a tool and what follows it, or the text that is to be summarised.
    const std::size_t output = got.body.rfind("\"role\":\"tool\"");
    const std::string echo(utf8_prefix(got.body.substr(output == std::string::npos ? 0 : output), kEchoBytes));
    if (fails_)
      return Reply::http(400, {{"content-type", "application/json"}},
                         openai_error_body("invalid_request_error", "", "you sent " + echo));
    return Reply::chunked({ChatWire().text({echo}).finish("stop").bytes()});
  }

  // Everything that agentd does with it, with these settings.
  void do_all(const std::string& settings) {
    LoopbackServer server([this](const RecordedRequest& got) { return reply_to(got); });
    const std::string seen = program_.directory().file("seen"), audit = program_.directory().file("audit.jsonl");
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/spy",
                                      "#!/bin/bash\ncase \"$1\" in\n  hook) echo before_model_call after_model_call "
                                      "before_tool_call after_tool_call tool_call_failed subagent_stop agent_stop "
                                      "after_compaction notification ;;\n  *) { cat; env; } >> " +
                                          seen + " ;;\nesac\n",
                                      0755));
    program_.config(settings + "model: work/m\nprovider: work\nlog: {level: debug}\npermissions: {mode: allow}\n" +
                    "agents: {enabled: true}\nhooks:\n  trace: true\n  audit_log: {enabled: true, sandbox: off, " +
                    "config: {path: " + audit + "}}\nproviders: {work: {base_url: " + server.url() +
                    "/v1, max_retries: 0}}\n");
    const Finished ran = program_.run({"run", "look around", "--json", "--disable-auto-compact"});
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out.substr(0, 2'000);
    ASSERT_EQ(requests_, calls().size() + 2);  // the subagent's answer and the last one
    EXPECT_EQ(program_.run({"compact", "--follow"}).code, 0);
    fails_ = true;
    EXPECT_NE(program_.run({"run", "--follow", "once more", "--disable-auto-compact"}).code, 0);
    const std::string id = program_.newest();
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"conversation", "show", id, "--log"},
                                               {"conversation", "show", id},
                                               {"conversation", "list"},
                                               {"hooks", "trace"},
                                               {"store", "check"},
                                               {"store", "backup", program_.directory().file("backup")}})
      EXPECT_EQ(program_.run(words).code, 0) << words[0] << " " << words[1];
    fails_ = false;
    keep_and_take_up();
    // The server has seen the requests.
    std::string bodies;
    for (const RecordedRequest& got : server.requests()) bodies += got.body + "\n";
    program_.directory().write("requests", bodies);
  }

  // Checkpoints with the texts of their levels, memories, the index of the search, and exports.
  void keep_and_take_up() {
    const Finished saved = program_.run({"checkpoint", "save", "a place", "--json"});
    ASSERT_EQ(saved.code, 0) << saved.err;
    const auto lines = json_lines(saved.out);
    ASSERT_EQ(lines.size(), 1u) << saved.out;
    const std::string checkpoint(lines[0].root()["id"].string_or(""));
    const std::string id = program_.newest();
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"conversation", "search", "look"},
                                               {"conversation", "dump", id},
                                               {"memory", "add", "c3.txt"},
                                               {"memory", "list"},
                                               {"memory", "search", "last line"},
                                               {"memory", "export", program_.directory().file("memories")},
                                               {"checkpoint", "resume", checkpoint, "--level", "context"},
                                               {"checkpoint", "resume", checkpoint, "--level", "summary"},
                                               {"checkpoint", "show", checkpoint}}) {
      const Finished ran = program_.run(words);
      EXPECT_EQ(ran.code, 0) << words[0] << " " << words[1] << ": " << ran.err;
    }
    EXPECT_TRUE(exists(program_.home() + "/search.db"));
    EXPECT_FALSE(fs::is_empty(program_.directory().file("memories")));
  }

  // What stands in all files but those of the project, and that one.
  std::string everything(const std::string& but = {}) const {
    std::string out;
    for (const auto& entry : fs::recursive_directory_iterator(program_.directory().path())) {
      const std::string path = entry.path().string();
      if (!entry.is_regular_file() || path.starts_with(program_.project()) || path == but) continue;
      out += read_file(path, 1u << 30).value_or("") + "\n";
    }
    return out;
  }
  // The canaries whose first bytes stand there.
  std::set<std::string> found(std::size_t bytes) const {
    const std::string all = everything();
    std::set<std::string> out;
    for (const std::string& secret : secrets_)
      if (has(all, secret.substr(0, bytes))) out.insert(secret);
    return out;
  }

  Program program_;
  std::vector<std::string> secrets_;
  std::set<std::string> rules_;
  std::string named_;
  std::atomic<std::size_t> requests_ = 0;
  std::atomic<bool> fails_ = false;
};

// Requests, log, events, hooks, receipts, summary, errors, diagnostics, backup, checkpoints, memories, search.db,
// exports and the raw bytes of the store.
TEST_F(SecretsEverywhere, OfNoCanaryAnythingIsFoundBehindTheTools) {
  ASSERT_GE(secrets_.size(), 200u);
  ASSERT_GE(rules_.size(), 60u);
  do_all("");
  EXPECT_EQ(found(1'000), std::set<std::string>());
  // Not the beginning of one either.
  EXPECT_EQ(found(24), std::set<std::string>());
  // The file that was edited has its secrets.
  const auto edited = read_file(program_.project() + "/c1.txt", 1u << 20);
  ASSERT_TRUE(edited);
  EXPECT_TRUE(edited->starts_with("changed line\n"));
  EXPECT_TRUE(has(*edited, secrets_[0]));
  // The key of the placeholders is the owner's, and in no backup.
  const std::string path = program_.home() + "/secrets.key";
  const std::string key = read_file(path, 100).value_or("");
  EXPECT_EQ(key.size(), 32u);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(has(everything(path), key));
}

TEST_F(SecretsEverywhere, WithoutTheBorderEachOfThemIsFound) {
  do_all("secrets: {scrub: false}\n");
  std::size_t missing = 0;
  const std::set<std::string> seen = found(1'000);
  for (const std::string& secret : secrets_) {
    // As JSON writes it, a canary with a quotation mark or a backslash looks otherwise.
    if (secret.find_first_of("\"\\") == std::string::npos && !seen.contains(secret)) ++missing;
  }
  EXPECT_EQ(missing, 0u);
}

// ---- docs/guide/secrets.md

class GuideSecrets : public ::testing::Test {
 protected:
  Finished run(const std::string& script, const std::string& message = "x") {
    return program_.run({"run", message, "--allow", "*", "--json", "--set",
                         "scripted.record=" + program_.directory().file("requests"), "--script",
                         program_.script(script)});
  }
  std::string requests() const { return program_.directory().read("requests"); }
  static std::string placeholder_in(const std::string& text) {
    const std::size_t at = text.find("[secret:");
    return at == std::string::npos ? "none" : text.substr(at, text.find(']', at) + 1 - at);
  }
  // The settings that the page shows.
  static std::string settings() {
    const std::string page = read_file(AGENTD_SECRETS_GUIDE, 1u << 20).value_or("");
    const std::size_t begin = page.find("# ~/.agent/config.yaml");
    return begin == std::string::npos ? "" : page.substr(begin, page.find("```", begin) - begin);
  }
  static std::string read_env() { return "- calls: [{name: read_file, input: {path: .env}}]\n"; }

  Program program_;
  const std::string token_ = Canaries(12).make("ghp_{a36}").secret;
};

TEST_F(GuideSecrets, TheUserIsToldHowManyWereReplacedAndTheModelReadsAPlaceholder) {
  program_.file(".env", "API_TOKEN=" + token_ + "\n");
  const Finished ran = run("- calls: [{name: bash, input: {command: cat .env}}]\n- text: done\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "1 secret was replaced (github-token) in the output of bash")) << ran.out;
  EXPECT_TRUE(has(requests(), "API_TOKEN=[secret:github-token:")) << requests();
  EXPECT_TRUE(
      has(program_.run({"conversation", "show", program_.newest(), "--log"}).out, R"("scrubbed":{"github-token":1})"));
}

TEST_F(GuideSecrets, AFileWithASecretIsEditedAndAPlaceholderIsWrittenNowhereElse) {
  program_.file(".env", "API_TOKEN=" + token_ + "\nPORT=1\n");
  ASSERT_EQ(run(read_env() + "- text: done\n").code, 0);
  const std::string mark = placeholder_in(requests());
  ASSERT_TRUE(mark.starts_with("[secret:github-token:")) << requests();
  // Another process: the same home has the same placeholders.
  const Finished ran =
      run(read_env() + "- calls:\n  - {name: edit_file, input: {path: .env, old_string: \"API_TOKEN=" + mark +
          "\\nPORT=1\", new_string: \"TOKEN=" + mark + "\\nPORT=2\"}}\n" +
          "- calls:\n  - {name: write_file, input: {path: copy, content: \"" + mark + "\"}}\n" +
          "- calls:\n  - {name: bash, input: {command: \"echo '" + mark + "' > copy\"}}\n" +
          "- text: done\n  expect: {contains: [replaced 1 place in .env, the member content of write_file has, " +
          "the member command of bash has]}\n");
  EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
  EXPECT_EQ(read_file(program_.project() + "/.env", 1'000).value_or(""), "TOKEN=" + token_ + "\nPORT=2\n");
  EXPECT_FALSE(exists(program_.project() + "/copy"));
  EXPECT_FALSE(has(requests(), token_));
}

TEST_F(GuideSecrets, WhatTheUserWritesStaysUnlessTheSettingSaysOtherwise) {
  ASSERT_EQ(run("- text: done\n", "my token is " + token_).code, 0);
  EXPECT_TRUE(has(requests(), token_));
  EXPECT_TRUE(has(program_.run({"conversation", "show", program_.newest(), "--log"}).out, token_));
  // Elsewhere with the setting: a home of its own.
  program_.set_home(program_.directory().file("other"));
  program_.config("secrets: {scrub_input: true}\nlog: {level: debug}\n");
  fs::remove(program_.directory().file("requests"));
  const Finished ran = run("- text: done\n", "my token is " + token_);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(has(ran.out + ran.err, token_));
  EXPECT_TRUE(has(requests(), "my token is [secret:github-token:")) << requests();
  EXPECT_FALSE(has(requests(), token_));
  const Finished saved = program_.run({"checkpoint", "save", "before " + token_});
  ASSERT_EQ(saved.code, 0) << saved.err;
  EXPECT_TRUE(has(program_.run({"checkpoint", "list", "--json"}).out, "before [secret:github-token:"));
  for (const auto& entry : fs::recursive_directory_iterator(program_.home())) {
    const std::string path = entry.path().string();
    EXPECT_FALSE(entry.is_regular_file() && has(read_file(path, 1u << 30).value_or(""), token_)) << path;
  }
}

TEST_F(GuideSecrets, DoctorSaysWhetherTheyAreLookedFor) {
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "ok      keys and passwords in the output of tools get placeholders"));
  program_.config("secrets: {rules: [{id: badge, pattern: '('}]}\n");
  const Finished broken = program_.run({"doctor"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_TRUE(has(broken.out, "BROKEN  ")) << broken.out;
  EXPECT_TRUE(has(broken.out, "badge")) << broken.out;
}

TEST_F(GuideSecrets, ItsSettingsDoWhatTheySay) {
  program_.config(settings());
  const std::string jwt = Canaries(13).make("eyJhbGciOiJIUzI1NiJ9.eyJ{w60}.{w43}").secret;
  program_.file("a.txt", "BADGE-123456\npin is 4711\n" + jwt + "\n");
  const Finished ran = run("- calls: [{name: bash, input: {command: cat a.txt}}]\n- text: done\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(requests(), "[secret:badge:")) << requests();
  EXPECT_TRUE(has(requests(), "pin is [secret:pin:")) << requests();
  EXPECT_TRUE(has(requests(), jwt));
}

TEST_F(GuideSecrets, MistakesInTheSettingsAreTold) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"secrets: {disable: [nope]}\n", "no secret rule named 'nope' to disable"},
      {"secrets: {rules: {id: a}}\n", "secrets.rules must be a list of {id, pattern}"},
      {"secrets: {rules: [{id: a}]}\n", "secrets.rules[0] must be an object with id and pattern, both texts"},
      {"secrets: {rules: [{id: a, pattern: x, more: y}]}\n", "secrets.rules[0] has the unknown key more"},
      {"secrets: {rules: [{id: a, pattern: '('}]}\n", "the pattern of the secret rule 'a'"},
      {"secrets: {rules: [{id: jwt, pattern: x}]}\n", "a secret rule named 'jwt' already exists"}};
  for (const auto& [yaml, text] : mistakes) {
    program_.config(yaml);
    const Finished ran = run("- text: done\n");
    EXPECT_EQ(ran.code, 2) << yaml;
    EXPECT_TRUE(has(ran.err + ran.out, text)) << yaml << ran.err << ran.out;
    EXPECT_TRUE(has(ran.err + ran.out, "config.yaml:1")) << yaml << ran.err << ran.out;
  }
}

TEST_F(GuideSecrets, NoFileToolReadsTheKey) {
  program_.file(".env", "API_TOKEN=" + token_ + "\n");
  ASSERT_EQ(run(read_env() + "- text: done\n").code, 0);
  const std::string path = program_.home() + "/secrets.key";
  ASSERT_TRUE(exists(path));
  program_.config("workspace: {roots: [" + program_.directory().path() + "]}\n");
  const Finished ran = run("- calls: [{name: read_file, input: {path: " + path + "}}]\n- text: done\n" +
                           "  expect: {contains: [is outside of the workspace]}\n");
  EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
}

}  // namespace
}  // namespace agentd::testing
