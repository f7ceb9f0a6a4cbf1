// SPDX-License-Identifier: Apache-2.0
#include "core/config/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

class ConfigTest : public ::testing::Test {
 protected:
  Result<Config> user(const std::string& text) {
    sources_.user_file = directory_.write("config.yaml", text);
    return Config::load(sources_);
  }
  std::string error(const std::string& text) {
    const auto config = user(text);
    if (config) return "no error";
    std::string message = config.error().message;
    const std::size_t at = message.find(directory_.path() + "/");
    if (at != std::string::npos) message.erase(at, directory_.path().size() + 1);
    return message;
  }
  void env(const std::string& name, const std::string& value) {
    sources_.environment = [name, value](const std::string& asked) {
      return asked == name ? std::optional<std::string>(value) : std::nullopt;
    };
  }

  TempDir directory_;
  ConfigSources sources_;
};

TEST_F(ConfigTest, AFileThatDoesNotExistLeavesTheDefaults) {
  sources_.user_file = directory_.file("none.yaml");
  const auto config = Config::load(sources_);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->text("provider"), "anthropic");
  EXPECT_DOUBLE_EQ(config->fraction("compaction.compact_at"), 0.8);
  EXPECT_TRUE(config->flag("compaction.auto"));
  EXPECT_FALSE(config->is_set("provider"));
}

TEST_F(ConfigTest, AFileThatAnybodyMayWriteIsNotRead) {
  ASSERT_EQ(error("permissions: {mode: allow}\n"), "no error");
  const std::string path = directory_.file("config.yaml");
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  const auto config = Config::load(sources_);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, path + " is writable by all users, so it is not read: chmod o-w " + path);
}

TEST_F(ConfigTest, AnEmptyFileIsFine) {
  EXPECT_EQ(error(""), "no error");
  EXPECT_EQ(error("# nothing\n"), "no error");
}

TEST_F(ConfigTest, AnUnknownKeyNamesFileLineColumnAndTheNearestKey) {
  EXPECT_EQ(error("provider: anthropic\ncompactions:\n  auto: true\n"),
            "config.yaml:2:1: unknown key 'compactions': did you mean 'compaction'?");
  EXPECT_EQ(error("compaction:\n  compat_at: 0.5\n"),
            "config.yaml:2:3: unknown key 'compat_at' in 'compaction': did you mean 'compact_at'?");
}

TEST_F(ConfigTest, AnUnknownKeyLikeNoOtherGetsNoSuggestion) {
  EXPECT_EQ(error("zebra: 1\n"), "config.yaml:1:1: unknown key 'zebra'");
}

TEST_F(ConfigTest, SectionsOfOtherAgentsAreNamedAndSayTheWay) {
  EXPECT_EQ(
      error("model: x\nmcpServers:\n  files: {command: npx}\n"),
      "config.yaml:2:1: 'mcpServers' is how other agents name servers of the Model Context Protocol: write them as "
      "'mcp: {servers: {NAME: ...}}', or add each with 'agentd mcp add' (docs/guide/mcp.md)");
  EXPECT_EQ(error("hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{type: command, command: ./x}]\n"),
            "config.yaml:2:3: 'PreToolUse' is how Claude Code configures hooks in its settings.json: keep them in such "
            "a file, and name it here with 'adapt: [\"claude:FILE\"]', or import them with 'agentd hooks import "
            "FILE'");
  EXPECT_TRUE(error("hooks: {BeforeTool: [{hooks: []}]}\n").find("adapt: [\"gemini:FILE\"]") != std::string::npos);
  EXPECT_TRUE(error("hooks: {agent_stop: [{command: x}]}\n").find("'on: agent_stop'") != std::string::npos);
  // A hook may have such a name.
  EXPECT_EQ(error("hooks: {PreToolUse: {shado: true}}\n"),
            "config.yaml:1:22: unknown key 'shado' in 'hooks.PreToolUse': did you mean 'shadow'?");
}

TEST_F(ConfigTest, ADottedKeyIsNotAnotherKeysPath) {
  EXPECT_EQ(error("compaction.auto: false\n").substr(0, 29), "config.yaml:1:1: unknown key ");
}

TEST_F(ConfigTest, WrongTypesAreToldWithTheirPlace) {
  EXPECT_EQ(error("compaction:\n  auto: maybe\n"),
            "config.yaml:2:3: compaction.auto must be true or false, not 'maybe'");
  EXPECT_EQ(error("max_output_tokens: many\n"),
            "config.yaml:1:1: max_output_tokens must be a whole number from 1, not 'many'");
  EXPECT_EQ(error("compaction: {compact_at: 1.5}\n"),
            "config.yaml:1:14: compaction.compact_at must be a number from 0.01 to 1, not '1.5'");
  EXPECT_EQ(error("provider: [a, b]\n"), "config.yaml:1:1: provider must be text, not 'a list'");
  EXPECT_EQ(error("compaction: 5\n"), "config.yaml:1:1: 'compaction' is a section with keys of its own");
  EXPECT_EQ(error("permissions: {allow: {bash: true}}\n"),
            "config.yaml:1:15: permissions.allow must be a list, not 'a section'");
}

TEST_F(ConfigTest, AQuotedNumberIsText) {
  EXPECT_EQ(error("max_turns: \"5\"\n"),
            "config.yaml:1:1: max_turns must be a whole number from 0 to 1000000, not '\"5\"'");
}

TEST_F(ConfigTest, AWrongChoiceNamesTheNearest) {
  EXPECT_EQ(error("permissions: {mode: alow}\n"),
            "config.yaml:1:15: permissions.mode must be one of ask, accept_edits, plan, allow, deny, not 'alow': did "
            "you mean 'allow'?");
}

TEST_F(ConfigTest, HooksRunInProcessesOfTheirOwnUnlessOneSaysOtherwise) {
  EXPECT_EQ(error("hooks: {isolation: proces}\n"),
            "config.yaml:1:9: hooks.isolation must be one of process, in-process, process-per-conversation, not "
            "'proces': did you mean 'process'?");
}

TEST_F(ConfigTest, BrokenYamlNamesItsPlace) {
  const std::string message = error("provider: anthropic\n  model: x: y\n");
  EXPECT_EQ(message.substr(0, 14), "config.yaml:2:") << message;
}

TEST_F(ConfigTest, AListAtTheTopIsNoConfiguration) {
  EXPECT_EQ(error("- a\n"), "config.yaml:1:1: a configuration must be a list of 'key: value' lines");
}

TEST_F(ConfigTest, ADirectoryInPlaceOfTheFileIsAnError) {
  sources_.user_file = directory_.path();
  const auto config = Config::load(sources_);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Code::kInvalid);
}

TEST_F(ConfigTest, LaterLayersWin) {
  sources_.system_file = directory_.write("system.yaml", "model: system\nmax_turns: 3\n");
  env("AGENTD_MODEL", "environment");
  auto config = user("model: user\n");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->text("model"), "environment");
  EXPECT_EQ(config->whole("max_turns"), 3u);
  sources_.flags.push_back({"model", "flag", "--model"});
  config = Config::load(sources_);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->text("model"), "flag");
  EXPECT_EQ(config->origin("model"), "--model");
  ASSERT_EQ(config->candidates("model").size(), 5u);
  EXPECT_EQ(config->candidates("model")[2].origin, directory_.file("config.yaml") + ":1");
}

TEST_F(ConfigTest, RulesOfTheSystemCannotBeTakenBackByTheUser) {
  sources_.system_file = directory_.write("system.yaml", "permissions: {deny: [bash]}\n");
  const auto config = user("permissions: {deny: [write_file]}\n");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->list("permissions.deny"), (std::vector<std::string>{"bash", "write_file"}));
}

TEST_F(ConfigTest, TheEnvironmentIsChecked) {
  env("AGENTD_COMPACTION_COMPACT_AT", "lots");
  const auto config = Config::load(sources_);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "AGENTD_COMPACTION_COMPACT_AT must be a number from 0.01 to 1, not 'lots'");
}

TEST_F(ConfigTest, ListsOfTheEnvironmentAreSplitAtCommas) {
  env("AGENTD_PERMISSIONS_ALLOW", "bash, read_*");
  const auto config = Config::load(sources_);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->list("permissions.allow"), (std::vector<std::string>{"bash", "read_*"}));
}

TEST_F(ConfigTest, ListOfAFlagMayBeWrittenAsInAFile) {
  const auto order = [&](const std::string& text) {
    sources_.flags = {{"hooks.order", text, "--set"}};
    const auto config = Config::load(sources_);
    return config ? config->list("hooks.order") : std::vector<std::string>{config.error().message};
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(order("a,b"), (List{"a", "b"}));
  EXPECT_EQ(order("[a, b]"), (List{"a", "b"}));
  EXPECT_EQ(order(" [\"*\", 'b, c' ] "), (List{"*", "b, c"}));
  EXPECT_EQ(order("[]"), List{});
  EXPECT_EQ(order(""), List{});
  EXPECT_EQ(order("[ab]*"), List{"[ab]*"});
  EXPECT_EQ(order("[ab]*, x[cd]"), (List{"[ab]*", "x[cd]"}));
  for (const char* const bad : {"[a, b", "a, b]", "[a, *]"})
    EXPECT_EQ(order(bad),
              List{std::string("hooks.order must be a list like 'a, *' or '[a, \"*\"]', not '") + bad + "'"});
  EXPECT_EQ(order("[[a], b]"), List{"hooks.order must be a list of plain texts"});
}

TEST_F(ConfigTest, HooksHaveSettingsOfTheirOwn) {
  const auto config = user(
      "hooks:\n  guardrail:\n    enabled: true\n    on_failure: closed\n    grant: [store]\n"
      "    config: {limit: 5, names: [a]}\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->hook_names(), std::vector<std::string>{"guardrail"});
  EXPECT_TRUE(config->flag("hooks.guardrail.enabled"));
  EXPECT_EQ(config->json("hooks.guardrail.config"), R"({"limit":5,"names":["a"]})");
}

TEST_F(ConfigTest, AHooksNameMayHaveDots) {
  const auto config = user("hooks: {guard.1: {shadow: true}, project/x.y: {timeout_ms: 5}}\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->hook_names(), (std::vector<std::string>{"guard.1", "project/x.y"}));
  EXPECT_TRUE(config->flag("hooks.guard.1.shadow"));
  EXPECT_EQ(config->whole("hooks.project/x.y.timeout_ms"), 5u);
  EXPECT_EQ(key_parts("hooks.guard.1.shadow"), (std::vector<std::string>{"hooks", "guard.1", "shadow"}));
  EXPECT_EQ(error("hooks: {guard.1: {shado: true}}\n"),
            "config.yaml:1:19: unknown key 'shado' in 'hooks.guard.1': did you mean 'shadow'?");
  EXPECT_FALSE(user("hooks: {guard.1: 5}\n"));
}

TEST_F(ConfigTest, APriorityMayBeNegative) {
  const auto config = user("hooks: {low: {priority: -20}}\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->integer("hooks.low.priority"), -20);
  EXPECT_EQ(error("hooks: {low: {priority: 40000}}\n"),
            "config.yaml:1:15: hooks.low.priority must be a whole number from -32768 to 32767, not "
            "'40000'");
  EXPECT_EQ(error("max_turns: -1\n"), "config.yaml:1:1: max_turns must be a whole number from 0 to 1000000, not '-1'");
}

TEST_F(ConfigTest, AHooksSettingWithATypoIsFound) {
  EXPECT_EQ(error("hooks: {guardrail: {enabld: true}}\n"),
            "config.yaml:1:21: unknown key 'enabld' in 'hooks.guardrail': did you mean 'enabled'?");
  EXPECT_EQ(error("hooks: {dirz: [/x]}\n"), "config.yaml:1:9: unknown key 'dirz' in 'hooks': did you mean 'dirs'?");
}

TEST_F(ConfigTest, ALadderThatFallsIsRefusedWithBothPlaces) {
  EXPECT_EQ(
      error("compaction: {force_at: 0.5}\n"),
      "compaction.force_at (0.5, config.yaml:1) is below compaction.compact_at (0.80, default): raise the first, or "
      "lower the second");
}

TEST_F(ConfigTest, AKeyInThePlaceOfItsVariablesNameIsRefusedAndNotShown) {
  for (const std::string key : {"sk-ant-api03-abc", "sk_live1", "AIzaSyAbc", "1ABC", "MY KEY"}) {
    const std::string said = error("providers: {work: {base_url: https://x, api_key_env: " + key + "}}\n");
    EXPECT_NE(said.find("config.yaml:1:41: providers.work.api_key_env must be the name of an environment variable"),
              std::string::npos)
        << said;
    EXPECT_EQ(said.find(key), std::string::npos) << said;
  }
  EXPECT_NE(error("providers: {anthropic: {api_key_env: sk-ant-1}}\n"), "no error");
  EXPECT_EQ(error("providers: {anthropic: {api_key_env: _MY_KEY2}, openai: {api_key_env: ''}}\n"), "no error");
}

TEST_F(ConfigTest, SetTakesAnyKeyAndNamesTheNearest) {
  sources_.flags.push_back({"compaction.comact_at", "0.5", "--set"});
  const auto config = Config::load(sources_);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "--set: unknown key 'compaction.comact_at': did you mean 'compaction.compact_at'?");
}

TEST(ConfigDisplay, HidesWhatMayBeASecret) {
  EXPECT_EQ(display(*find_key("base_url"), {"https://ann:pass@host/v1", {}, {}}), "\"https://***@host/v1\"");
  EXPECT_EQ(display(*find_key("secrets.rules"), {{}, {}, R"([{"id":"pin","pattern":"x"}])"}),
            R"([{"id":"pin","pattern":"x"}])");
  EXPECT_EQ(display(*find_key("hooks.x.config"), {{}, {}, R"({"token":"s3cret"})"}), "\"***\"");
}

TEST(ConfigKeys, EveryDefaultIsAValidValue) {
  for (const KeySpec& key : config_keys()) {
    const bool valid = key.standard.empty() || parse_value(key, key.name, key.standard).has_value();
    EXPECT_TRUE(valid) << key.name;
  }
}

}  // namespace
}  // namespace agentd
