// SPDX-License-Identifier: Apache-2.0
// Whose file it is, and definitions as a YAML file of our own.
#include "core/declarative/declarative.h"
#include "dialect_support.h"

namespace agentd {
namespace {

// ---- guess_dialect

TEST(GuessDialect, ByTheFolder) {
  EXPECT_EQ(guess_dialect("/home/u/.claude/settings.json", "{}"), Dialect::kClaude);
  EXPECT_EQ(guess_dialect(".claude/settings.local.json", "{}"), Dialect::kClaude);
  EXPECT_EQ(guess_dialect("/home/u/.gemini/settings.json", "{}"), Dialect::kGemini);
}

TEST(GuessDialect, ByTheEvents) {
  EXPECT_EQ(guess_dialect("hooks.json", R"({"hooks":{"PreToolUse":[],"Notification":[]}})"), Dialect::kClaude);
  EXPECT_EQ(guess_dialect("hooks.json", R"({"hooks":{"BeforeTool":[],"Notification":[]}})"), Dialect::kGemini);
  EXPECT_EQ(guess_dialect("team.yaml", "agents:\n  root:\n    hooks:\n      pre_tool_use: []\n"), Dialect::kDocker);
  EXPECT_EQ(guess_dialect("team.yaml", "hooks:\n  tool_guard: []\n"), Dialect::kDocker);
  EXPECT_EQ(guess_dialect("team.json", R"({"hooks":{"tool_guard":[]}})"), Dialect::kDocker);
}

TEST(GuessDialect, NothingForWhatIsNobodys) {
  EXPECT_EQ(guess_dialect("a.yaml", "hooks:\n  - on: agent_stop\n    do: compact\n"), std::nullopt);
  EXPECT_EQ(guess_dialect("a.json", R"({"hooks":{}})"), std::nullopt);
  EXPECT_EQ(guess_dialect("a.json", "{"), std::nullopt);
  EXPECT_EQ(guess_dialect("a.txt", ""), std::nullopt);
  EXPECT_EQ(guess_dialect("claude.yaml", "agents:\n  root:\n    model: m\n"), std::nullopt);
}

// ---- write_declarative

std::vector<HookDefinition> again(const DefinitionSet& set) {
  const std::string yaml = write_declarative(set, "their.file");
  auto read = read_declarative(yaml, "imported.yaml", "imported", Precedence::kUser);
  EXPECT_TRUE(read) << (read ? "" : read.error().message) << "\n" << yaml;
  return read ? std::move(*read) : std::vector<HookDefinition>{};
}

// Everything but where it stands.
void expect_same(const HookDefinition& a, const HookDefinition& b) {
  EXPECT_EQ(a.dialect, b.dialect) << a.name;
  EXPECT_EQ(a.event, b.event) << a.name;
  EXPECT_EQ(a.foreign_event, b.foreign_event) << a.name;
  EXPECT_EQ(a.matcher.text(), b.matcher.text()) << a.name;
  EXPECT_EQ(a.matcher.matches_all(), b.matcher.matches_all()) << a.name;
  EXPECT_EQ(a.if_rule, b.if_rule) << a.name;
  EXPECT_EQ(a.when.text(), b.when.text()) << a.name;
  EXPECT_EQ(a.runs, b.runs) << a.name;
  EXPECT_EQ(a.command, b.command) << a.name;
  EXPECT_EQ(a.argv, b.argv) << a.name;
  EXPECT_EQ(a.url, b.url) << a.name;
  EXPECT_EQ(a.headers, b.headers) << a.name;
  EXPECT_EQ(a.allowed_environment, b.allowed_environment) << a.name;
  EXPECT_EQ(a.action_json, b.action_json) << a.name;
  EXPECT_EQ(a.environment, b.environment) << a.name;
  EXPECT_EQ(a.working_directory, b.working_directory) << a.name;
  EXPECT_EQ(a.timeout, b.timeout) << a.name;
  EXPECT_EQ(a.on_failure, b.on_failure) << a.name;
  EXPECT_EQ(a.guard, b.guard) << a.name;
  EXPECT_EQ(a.priority, b.priority) << a.name;
  EXPECT_EQ(a.once, b.once) << a.name;
  EXPECT_EQ(a.async, b.async) << a.name;
  EXPECT_EQ(a.observes, b.observes) << a.name;
  EXPECT_EQ(a.shadow, b.shadow) << a.name;
  EXPECT_EQ(a.strict_output, b.strict_output) << a.name;
  EXPECT_EQ(a.sandbox, b.sandbox) << a.name;
}

void expect_round_trip(const DefinitionSet& set) {
  const auto read = again(set);
  ASSERT_EQ(read.size(), set.hooks.size()) << write_declarative(set, "x");
  for (std::size_t i = 0; i < read.size(); ++i) expect_same(set.hooks[i], read[i]);
}

DefinitionSet settings(Dialect dialect, const std::string& text) {
  auto set = read_settings(dialect, text, "their.file", std::string(name_of(dialect)));
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return set ? std::move(*set) : DefinitionSet{};
}

TEST(WriteDeclarative, ADockerFileMeansTheSame) {
  const auto set = settings(Dialect::kDocker, R"(
agents:
  root:
    hooks:
      pre_tool_use:
        - matcher: "shell|write_.*"
          hooks:
            - type: command
              name: guard
              timeout: 10
              working_dir: sub
              strict_output: true
              env: {TOKEN: "${env.T}", "Q": "a \"b\" \\ c"}
              command: |
                INPUT=$(cat)
                  # indented
                echo "$INPUT" | jq -r '.tool_input.cmd // ""'

                exit 0
      post_tool_use: [{hooks: [{type: command, command: "echo\tdone: # no comment"}]}]
      user_prompt_submit: [{type: command, command: "true", on_error: block}]
  other:
    hooks:
      session_end: [{type: command, command: " leading\nand trailing  \n"}]
)");
  ASSERT_EQ(set.hooks.size(), 5u);
  expect_round_trip(set);
}

TEST(WriteDeclarative, ClaudeAndGeminiSettingsMeanTheSame) {
  const auto claude = settings(Dialect::kClaude, R"json({"hooks":{
    "PreToolUse":[{"matcher":"Edit|Write","hooks":[
       {"type":"command","command":"./a.sh","timeout":7,"sandbox":true,"if":"Edit(src/**)"},
       {"type":"command","command":"b","args":["x y","z"]}]}],
    "Stop":[{"hooks":[{"type":"command","command":"c","async":true}]}],
    "UserPromptSubmit":[{"hooks":[{"type":"http","url":"http://127.0.0.1:9/x",
       "headers":{"X-Key":"${KEY}"},"allowedEnvVars":["KEY"]}]}]}})json");
  EXPECT_GE(claude.hooks.size(), 4u);
  EXPECT_TRUE(claude.problems.empty()) << "sandbox is a key that agentd knows";
  EXPECT_TRUE(claude.hooks[0].sandbox);
  EXPECT_FALSE(claude.hooks[1].sandbox);
  expect_round_trip(claude);
  const auto gemini = settings(Dialect::kGemini, R"({"hooks":{
    "BeforeTool":[{"matcher":"run_.*","hooks":[{"type":"command","command":"g","timeout":1500,"sandbox":true}]}],
    "SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"s"}]}]}})");
  EXPECT_GE(gemini.hooks.size(), 2u);
  EXPECT_TRUE(gemini.problems.empty());
  EXPECT_TRUE(gemini.hooks[0].sandbox);
  expect_round_trip(gemini);
}

TEST(WriteDeclarative, EveryFieldIsCarried) {
  DefinitionSet set;
  HookDefinition hook;
  hook.name = "user/one";
  hook.event = AGENTD_EVENT_AGENT_STOP;
  hook.runs = HookRuns::kAction;
  hook.action_json = R"({"action":"compact"})";
  hook.when = *Expression::parse("context.percent > 70", "f", 1, 1);
  hook.once = HookOnce::kConversation;
  hook.priority = -7;
  hook.shadow = true;
  hook.on_failure = FailurePolicy::kOpen;
  set.hooks.push_back(hook);
  hook = {};
  hook.name = "user/two";
  hook.event = AGENTD_EVENT_TURN_END;
  hook.runs = HookRuns::kArgv;
  hook.argv = {"/bin/echo", "a 'b'\n", "${x}"};
  hook.timeout = Milliseconds(1500);
  hook.observes = true;
  hook.once = HookOnce::kRun;
  set.hooks.push_back(hook);
  hook = {};
  hook.name = "user/three";
  hook.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  hook.dialect = Dialect::kKodelet;
  hook.foreign_event = "tool.call";
  hook.runs = HookRuns::kExtension;
  hook.argv = {"node", "x.js"};
  hook.guard = true;
  set.hooks.push_back(hook);
  expect_round_trip(set);
}

TEST(WriteDeclarative, NamesStayApart) {
  DefinitionSet set;
  for (int i = 0; i < 3; ++i) {
    HookDefinition hook;
    hook.name = std::string("a/") + std::string(80, 'n') + " " + std::to_string(i);
    hook.event = AGENTD_EVENT_TURN_END;
    hook.command = "c" + std::to_string(i);
    set.hooks.push_back(hook);
  }
  expect_round_trip(set);
}

TEST(WriteDeclarative, WhatIsLeftOutStandsAtTheTop) {
  DefinitionSet set;
  set.problems = {"their.file:3: the first\nline", "their.file:4: the second"};
  HookDefinition lost;
  lost.name = "claude/Lost.1";
  lost.dialect = Dialect::kClaude;
  lost.event = AGENTD_EVENT_CONTEXT_THRESHOLD;  // that dialect has no such event
  lost.command = "c";
  set.hooks.push_back(lost);
  const std::string yaml = write_declarative(set, "their\nfile");
  EXPECT_EQ(yaml.find("hooks:\n"), std::string::npos);
  EXPECT_TRUE(contains(yaml, "claude/Lost.1 was left out"));
  EXPECT_TRUE(contains(yaml, "their.file:4: the second"));
  for (std::size_t at = 0; at < yaml.size(); at = yaml.find('\n', at) + 1) EXPECT_TRUE(yaml[at] == '#') << yaml;
}

}  // namespace
}  // namespace agentd
