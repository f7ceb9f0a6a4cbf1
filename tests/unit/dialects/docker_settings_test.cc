// SPDX-License-Identifier: Apache-2.0
// The hooks of a docker-agent file as definitions.
#include "dialect_support.h"

namespace agentd {
namespace {

DefinitionSet read(const std::string& yaml) {
  auto set = read_settings(Dialect::kDocker, yaml, "agent.yaml", "docker");
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return set ? std::move(*set) : DefinitionSet{};
}

TEST(DockerSettings, AGroupIsADefinitionPerHandler) {
  const auto set = read(R"(
hooks:
  pre_tool_use:
    - matcher: "shell|edit_file"
      preempt_yolo: true
      hooks:
        - type: command
          name: no sudo!
          command: ./guard.sh
          timeout: 5
          working_dir: tools
          strict_output: true
          sandbox: true
          env:
            TOKEN: ${env.GUARD_TOKEN}
        - { type: command, command: ./log.sh }
)");
  EXPECT_TRUE(set.problems.empty());
  ASSERT_EQ(set.hooks.size(), 2u);
  const HookDefinition& hook = set.hooks[0];
  EXPECT_EQ(hook.name, "docker/pre_tool_use.1.no-sudo");
  EXPECT_EQ(hook.path, "agent.yaml");
  EXPECT_EQ(hook.line, 7);
  EXPECT_EQ(hook.event, static_cast<std::uint32_t>(AGENTD_EVENT_BEFORE_TOOL_CALL));
  EXPECT_EQ(hook.foreign_event, "pre_tool_use");
  EXPECT_EQ(hook.runs, HookRuns::kShell);
  EXPECT_EQ(hook.command, "./guard.sh");
  EXPECT_EQ(hook.timeout, Milliseconds(5000));
  EXPECT_EQ(hook.working_directory, "tools");
  EXPECT_TRUE(hook.strict_output);
  EXPECT_TRUE(hook.sandbox);
  EXPECT_FALSE(set.hooks[1].sandbox);
  ASSERT_EQ(hook.environment.size(), 1u);
  EXPECT_EQ(hook.environment[0].second, "${env.GUARD_TOKEN}") << "expanded at each fire, not here";
  EXPECT_TRUE(hook.matcher.matches("edit_file"));
  EXPECT_FALSE(hook.matcher.matches("my_edit_file")) << "over the whole name";
  EXPECT_EQ(set.hooks[1].timeout, Milliseconds(60'000));
}

TEST(DockerSettings, PhasesKeepTheirOrder) {
  const auto set = read(R"(
hooks:
  pre_tool_use: [{hooks: [{type: command, command: c}]}]
  tool_guard: [{hooks: [{type: command, command: b}]}]
  tool_input_transform: [{hooks: [{type: command, command: a}]}]
  before_compaction: [{type: command, command: e}]
  pre_compact: [{type: command, command: d}]
)");
  ASSERT_EQ(set.hooks.size(), 5u);
  EXPECT_GT(set.hooks[2].priority, set.hooks[1].priority);
  EXPECT_GT(set.hooks[1].priority, set.hooks[0].priority);
  EXPECT_GT(set.hooks[4].priority, set.hooks[3].priority);
}

TEST(DockerSettings, NamesSortInTheOrderOfTheFile) {
  std::string yaml = "hooks:\n  stop:\n";
  for (int i = 0; i < 12; ++i) yaml += "    - {type: command, command: c" + std::to_string(i) + "}\n";
  const auto set = read(yaml);
  ASSERT_EQ(set.hooks.size(), 12u);
  for (std::size_t i = 1; i < 12; ++i) EXPECT_LT(set.hooks[i - 1].name, set.hooks[i].name);
}

TEST(DockerSettings, ASourceOfTwoEventsIsTwoDefinitions) {
  const auto set = read("hooks:\n  post_tool_use: [{hooks: [{type: command, command: c}]}]\n");
  ASSERT_EQ(set.hooks.size(), 2u);
  EXPECT_EQ(set.hooks[0].event, static_cast<std::uint32_t>(AGENTD_EVENT_AFTER_TOOL_CALL));
  EXPECT_EQ(set.hooks[1].event, static_cast<std::uint32_t>(AGENTD_EVENT_TOOL_CALL_FAILED));
  EXPECT_NE(set.hooks[0].name, set.hooks[1].name);
}

TEST(DockerSettings, EqualHandlersAreOneThatMatchesWhatEitherDoes) {
  const auto set = read(R"(
hooks:
  tool_guard:
    - matcher: shell
      hooks: [{type: command, command: g, env: {}}]
    - matcher: write_.*
      hooks: [{command: g, type: command}, {type: command, command: g, timeout: 5}]
)");
  ASSERT_EQ(set.hooks.size(), 2u);
  EXPECT_TRUE(set.hooks[0].matcher.matches("shell"));
  EXPECT_TRUE(set.hooks[0].matcher.matches("write_file"));
  EXPECT_FALSE(set.hooks[0].matcher.matches("read_file"));
  EXPECT_FALSE(set.hooks[1].matcher.matches("shell"));
}

TEST(DockerSettings, AnEqualHandlerForAllToolsMatchesAll) {
  const auto set = read(R"(
hooks:
  tool_guard:
    - matcher: shell
      hooks: [{type: command, command: g}]
    - hooks: [{type: command, command: g}]
)");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_TRUE(set.hooks[0].matcher.matches_all());
}

TEST(DockerSettings, BuiltinsAndModelsAreProblemsWithTheirLine) {
  const auto set = read(R"(
hooks:
  tool_guard:
    - hooks:
        - type: model
          prompt: may it?
        - {type: builtin, command: redact_secrets}
        - {type: webhook, command: x}
        - {type: command}
)");
  EXPECT_TRUE(set.hooks.empty());
  ASSERT_EQ(set.problems.size(), 4u);
  EXPECT_TRUE(contains(set.problems[0], "agent.yaml:5: "));
  EXPECT_TRUE(contains(set.problems[0], "'model'"));
  EXPECT_TRUE(contains(set.problems[1], "agent.yaml:7: "));
  EXPECT_TRUE(contains(set.problems[1], "plugin redact"));
  EXPECT_TRUE(contains(set.problems[2], "'webhook'"));
  EXPECT_TRUE(contains(set.problems[3], "no command"));
}

TEST(DockerSettings, EventsWithoutACounterpartAreNamed) {
  const auto set = read("hooks:\n  worktree_create: [{type: command, command: c}]\n  pre_tool_us: []\n  on_error:\n");
  EXPECT_TRUE(set.hooks.empty());
  ASSERT_EQ(set.problems.size(), 2u);
  EXPECT_TRUE(contains(set.problems[0], "worktree"));
  EXPECT_TRUE(contains(set.problems[1], "did you mean 'pre_tool_use'"));
}

TEST(DockerSettings, AGuardWithABadMatcherIsAskedAboutEverything) {
  const auto set = read(R"(
hooks:
  tool_guard: [{matcher: "[", hooks: [{type: command, command: g}]}]
  post_tool_use: [{matcher: "[", hooks: [{type: command, command: l}]}]
)");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_TRUE(set.hooks[0].matcher.matches("anything"));
  EXPECT_EQ(set.problems.size(), 2u);
}

TEST(DockerSettings, UnknownKeysAndValuesAreReportedAndTheRestIsUsed) {
  const auto set = read(R"(
hooks:
  before_llm_call:
    - type: command
      command: c
      on_eror: block
      timeout: soon
  stop:
    - {type: command, command: s, on_error: never}
)");
  EXPECT_EQ(set.hooks.size(), 2u);
  EXPECT_TRUE(any_contains(set.problems, "did you mean 'on_error'"));
  EXPECT_TRUE(any_contains(set.problems, "'soon'"));
  EXPECT_TRUE(any_contains(set.problems, "'never'"));
  EXPECT_EQ(set.hooks[0].timeout, Milliseconds(60'000));
}

TEST(DockerSettings, AnAgentsHooksAreForThatAgent) {
  const auto set = read(R"(
agents:
  root:
    model: openai/gpt-4o
    hooks:
      tool_guard: [{hooks: [{type: command, command: r}]}]
  helper:
    hooks:
      tool_guard: [{hooks: [{type: command, command: h}]}]
)");
  ASSERT_EQ(set.hooks.size(), 2u);
  EXPECT_EQ(set.hooks[0].name, "docker/root.tool_guard.1");
  const auto asked = [&](std::size_t hook, const char* type) {
    const auto payload = parsed(std::string(R"({"agent":{"type":")") + type + "\"}}");
    const auto holds = set.hooks[hook].when.holds(payload.root());
    return holds && *holds;
  };
  EXPECT_TRUE(asked(0, "main"));
  EXPECT_TRUE(asked(0, "somebody")) << "who the file does not name is the root's";
  EXPECT_FALSE(asked(0, "helper"));
  EXPECT_TRUE(asked(1, "helper"));
  EXPECT_FALSE(asked(1, "main"));
}

TEST(DockerSettings, TheOnlyAgentsHooksAreForAll) {
  const auto set = read("agents:\n  root:\n    hooks:\n      stop: [{type: command, command: s}]\n");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_TRUE(set.hooks[0].when.empty());
}

TEST(DockerSettings, PromptsAndFollowUpsAreToldApartByTheirSource) {
  const auto set = read(
      "hooks:\n  user_prompt_submit: [{type: command, command: p}]\n"
      "  user_followup_submit: [{type: command, command: f}]\n");
  ASSERT_EQ(set.hooks.size(), 2u);
  const auto user = parsed(R"({"source":"user"})");
  const auto hook = parsed(R"({"source":"hook"})");
  EXPECT_TRUE(*set.hooks[0].when.holds(user.root()));
  EXPECT_FALSE(*set.hooks[0].when.holds(hook.root()));
  EXPECT_FALSE(*set.hooks[1].when.holds(user.root()));
  EXPECT_TRUE(*set.hooks[1].when.holds(hook.root()));
}

TEST(DockerSettings, AFileThatCannotBeReadSaysWhere) {
  const auto bad = read_settings(Dialect::kDocker, "hooks: [\n", "agent.yaml", "docker");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(contains(bad.error().message, "agent.yaml:"));
  const auto list = read_settings(Dialect::kDocker, "hooks:\n  - on: stop\n", "a.yaml", "docker");
  ASSERT_FALSE(list);
  EXPECT_TRUE(contains(list.error().message, "a.yaml:1:1: "));
}

TEST(DockerSettings, AFileWithoutHooksSaysSo) {
  const auto set = read("agents:\n  root:\n    model: m\n");
  EXPECT_TRUE(set.hooks.empty());
  EXPECT_EQ(set.problems.size(), 1u);
}

}  // namespace
}  // namespace agentd
