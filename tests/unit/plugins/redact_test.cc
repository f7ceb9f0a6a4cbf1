// SPDX-License-Identifier: Apache-2.0
#include "core/codec/yaml.h"
#include "core/scrub/rules.h"
#include "core/scrub/scrubber.h"
#include "tests/unit/plugins/plugin_fixture.h"
#include "tests/unit/scrub/canaries.h"

namespace agentd::testing {
namespace {

class Redact : public ::testing::Test {
 protected:
  Redact() : host_(load_plugin("redact")) {}
  ~Redact() override { EXPECT_EQ(host_.breaches(), std::vector<std::string>{}); }

  void create(const std::string& config = "{}") {
    const outcome got = host_.create(config);
    ASSERT_EQ(got.status, AGENTD_OK) << got.error;
  }
  static tool_event after(const std::string& content, bool success = true) {
    tool_event made;
    made.result = ran{.success = success, .content = content};
    return made;
  }
  std::string secret() { return canaries_.make("ghp_{a36}").secret; }

  Canaries canaries_{1};
  fake_host host_;
};

TEST_F(Redact, TakesASecretOutOfToolOutput) {
  create();
  const std::string token = secret();
  const outcome got = host_.after_tool_call(after("token is " + token + "."));
  EXPECT_EQ(got.status, AGENTD_OK);
  EXPECT_EQ(got.text(AGENTD_ACT_REPLACE_TEXT), "token is [redacted:github-token].");
}

TEST_F(Redact, TakesASecretOutOfAFailedCallAndWhatTheUserAndTheModelSay) {
  create();
  const std::string token = secret();
  EXPECT_EQ(host_.tool_call_failed(after("no: " + token, false)).text(AGENTD_ACT_REPLACE_TEXT),
            "no: [redacted:github-token]");
  EXPECT_EQ(host_.user_message_send({.text = "use " + token}).text(AGENTD_ACT_REPLACE_TEXT),
            "use [redacted:github-token]");
  EXPECT_EQ(host_.after_model_call({.text = "it is " + token}).text(AGENTD_ACT_REPLACE_TEXT),
            "it is [redacted:github-token]");
}

TEST_F(Redact, FailedCallWithoutContentIsJudgedByItsError) {
  create();
  tool_event event;
  event.result = ran{.success = false, .error = "bad key " + secret()};
  EXPECT_EQ(host_.tool_call_failed(event).text(AGENTD_ACT_REPLACE_TEXT), "bad key [redacted:github-token]");
}

TEST_F(Redact, HasNoOpinionOfATextWithoutSecrets) {
  create();
  EXPECT_TRUE(host_.after_tool_call(after("nothing here")).actions.empty());
  EXPECT_TRUE(host_.after_tool_call(after("")).actions.empty());
  EXPECT_TRUE(host_.user_message_send({.text = "what is a token?"}).actions.empty());
  EXPECT_TRUE(host_.log.empty());
}

TEST_F(Redact, EveryRowRedactsSoThatItFailsClosed) {
  create();
  const agentd_list rows = host_.plugin()->hooks;
  EXPECT_EQ(rows.count, 5u);
  for (std::uint32_t i = 0; i < rows.count; ++i)
    EXPECT_NE(static_cast<const agentd_hook*>(rows.first)[i].flags & AGENTD_HOOK_REDACTS, 0);
}

TEST_F(Redact, LogsCountsAndRulesAndNeverATextItself) {
  create();
  const std::string one = secret(), two = secret(), key = canaries_.make("AKIA{X16}").secret;
  host_.after_tool_call(after(one + " " + two + " " + key));
  ASSERT_EQ(host_.log.size(), 1u);
  EXPECT_EQ(host_.log[0].text, "redacted in the output of bash: aws-access-key 1, github-token 2");
}

TEST_F(Redact, KeepsToItsTargets) {
  create(R"({"targets":["user_text"]})");
  EXPECT_TRUE(host_.after_tool_call(after(secret())).actions.empty());
  EXPECT_TRUE(host_.after_model_call({.text = secret()}).actions.empty());
  EXPECT_TRUE(host_.user_message_send({.text = secret()}).has(AGENTD_ACT_REPLACE_TEXT));
}

TEST_F(Redact, LeavesTheInputOfAToolUnlessAsked) {
  const std::string input = R"({"path":"a","content":"key )" + secret() + "\"}";
  create();
  EXPECT_TRUE(host_.before_tool_call({.name = "write_file", .input_json = input}).actions.empty());
  create(R"({"targets":["tool_input"]})");
  EXPECT_EQ(host_.before_tool_call({.name = "write_file", .input_json = input}).text(AGENTD_ACT_REPLACE_TEXT),
            R"({"path":"a","content":"key [redacted:github-token]"})");
}

TEST_F(Redact, RewrittenInputStaysJson) {
  create(R"({"targets":["tool_input"],"extra":[{"id":"number","pattern":"4111[0-9]{12}"}]})");
  const outcome got =
      host_.before_tool_call({.input_json = R"({"card":4111111111111111,"list":["4111111111111111",true,null]})"});
  const std::string text = got.text(AGENTD_ACT_REPLACE_TEXT);
  const auto parsed = JsonDocument::parse(text);
  ASSERT_TRUE(parsed) << text;
  EXPECT_EQ(parsed->root()["list"].at(0).string_or(""), "[redacted:number]");
}

TEST_F(Redact, FindsByRulesOfTheUserAndNotByDisabledOnes) {
  create(R"({"rules":{"disable":["github-token"]},"extra":[{"id":"acme","pattern":"ACME-\\d{6}"}]})");
  EXPECT_EQ(host_.after_tool_call(after("ACME-123456 x")).text(AGENTD_ACT_REPLACE_TEXT), "[redacted:acme] x");
  EXPECT_TRUE(host_.after_tool_call(after(secret())).actions.empty());
}

TEST_F(Redact, RefusesAConfigThatMakesNoSense) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"targets":[]})", "targets must be a list of tool_output"},
      {R"({"targets":["output"]})", "targets[0]: \"output\" must be one of tool_output"},
      {R"({"rules":[]})", "rules must be an object with disable"},
      {R"({"rules":{"enable":[]}})", "unknown key rules.enable"},
      {R"({"rules":{"disable":"jwt"}})", "rules.disable must be a list"},
      {R"({"rules":{"disable":[7]}})", "rules.disable[0] must be a rule id"},
      {R"({"rules":{"disable":["nope"]}})", "no secret rule named 'nope'"},
      {R"({"extra":{}})", "extra must be a list"},
      {R"({"extra":[{"id":"x"}]})", "extra[0] must be an object with id and pattern"},
      {R"({"extra":["x"]})", "extra[0] must be an object with id and pattern"},
      {R"({"extra":[{"id":"x","pattern":"a","flags":"i"}]})", "extra[0]: unknown key flags"},
      {R"({"extra":[{"id":"x","pattern":"("}]})", "the pattern of the secret rule 'x'"},
      {R"({"extra":[{"id":"jwt","pattern":"a"}]})", "a secret rule named 'jwt' already exists"},
      {R"({"target":["user_text"]})", "unknown key target"},
      {R"([1])", "must be an object"},
      {R"({)", "not valid JSON"}};
  for (const auto& [config, sentence] : cases) {
    const outcome got = host_.create(config);
    EXPECT_EQ(got.status, AGENTD_E_ARG) << config;
    EXPECT_NE(got.error.find(sentence), std::string::npos) << config << ": " << got.error;
  }
}

// ---- docs/reference/plugins.md

std::string page() {
  std::ifstream in(std::string(AGENTD_SOURCE_DIR) + "/docs/reference/plugins.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(PluginsPage, EveryExampleIsAConfigThatItsPluginTakes) {
  const std::string text = page();
  int examples = 0;
  for (std::size_t at = 0; (at = text.find("```yaml\n", at)) != std::string::npos; ++examples) {
    at += 8;
    const auto parsed = parse_yaml(text.substr(at, text.find("```", at) - at), "plugins.md");
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_NE(parsed->find("hooks"), nullptr);
    for (const auto& [name, hook] : parsed->find("hooks")->members) {
      ASSERT_NE(hook.find("config"), nullptr) << name;
      fake_host host(load_plugin(name));
      const outcome got = host.create(hook.find("config")->json());
      EXPECT_EQ(got.status, AGENTD_OK) << name << ": " << got.error;
    }
  }
  EXPECT_EQ(examples, 2);
}

TEST(PluginsPage, NamesEveryRule) {
  const std::string text = page();
  for (const ScrubRuleSpec& rule : scrub_rules())
    EXPECT_NE(text.find("`" + std::string(rule.id) + "`"), std::string::npos) << rule.id;
}

}  // namespace
}  // namespace agentd::testing
