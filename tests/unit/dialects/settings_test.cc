// SPDX-License-Identifier: Apache-2.0
// Whole settings files of Claude Code and Gemini CLI.
#include <array>

#include "core/dialects/json_places.h"
#include "dialect_support.h"

namespace agentd {
namespace {

DefinitionSet claude(const std::string& text) {
  auto set = read_settings(Dialect::kClaude, text, "s.json", "claude");
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return set ? std::move(*set) : DefinitionSet{};
}

DefinitionSet gemini(const std::string& text) {
  auto set = read_settings(Dialect::kGemini, text, "g.json", "gemini");
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return set ? std::move(*set) : DefinitionSet{};
}

// One handler of PreToolUse, with nothing else in the file.
DefinitionSet claude_handler(const std::string& handler) {
  return claude(R"({"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[)" + handler + "]}]}}");
}

constexpr const char* kWhole = R"j({
  "model": "opus",
  "permissions": {"allow": ["Bash(ls)"]},
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          {"type": "command", "command": "guard.sh", "timeout": 10},
          {"type": "command", "command": "log.sh", "async": true}
        ]
      },
      {"matcher": "mcp__.*", "hooks": [{"type": "command", "command": "mcp.sh"}]}
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "stop.sh", "once": true}]}],
    "Setup": [{"hooks": [{"type": "command", "command": "setup.sh"}]}],
    "PreTolUse": []
  }
})j";

TEST(ClaudeSettings, AreReadWithNamesLinesAndMatchers) {
  const DefinitionSet set = claude(kWhole);
  ASSERT_EQ(set.hooks.size(), 4u);
  EXPECT_EQ(set.hooks[0].name, "claude/PreToolUse.1");
  EXPECT_EQ(set.hooks[0].path, "s.json");
  EXPECT_EQ(set.hooks[0].line, 9);
  EXPECT_EQ(set.hooks[0].event, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(set.hooks[0].foreign_event, "PreToolUse");
  EXPECT_EQ(set.hooks[0].dialect, Dialect::kClaude);
  EXPECT_EQ(set.hooks[0].runs, HookRuns::kShell);
  EXPECT_EQ(set.hooks[0].command, "guard.sh");
  EXPECT_EQ(set.hooks[0].timeout, Milliseconds(10'000)) << "seconds";
  EXPECT_TRUE(set.hooks[0].matcher.matches("Write"));
  EXPECT_FALSE(set.hooks[0].matcher.matches("NotebookEdit"));
  EXPECT_EQ(set.hooks[1].name, "claude/PreToolUse.2");
  EXPECT_TRUE(set.hooks[1].async);
  EXPECT_FALSE(set.hooks[1].timeout);
  EXPECT_EQ(set.hooks[2].name, "claude/PreToolUse.3");
  EXPECT_TRUE(set.hooks[2].matcher.matches("mcp__git__log"));
  EXPECT_EQ(set.hooks[3].name, "claude/Stop.1");
  EXPECT_EQ(set.hooks[3].once, HookOnce::kConversation);
  EXPECT_TRUE(set.hooks[3].matcher.matches_all());
}

TEST(ClaudeSettings, SayWhatTheyLeaveOut) {
  const DefinitionSet set = claude(kWhole);
  ASSERT_EQ(set.problems.size(), 2u);
  EXPECT_EQ(set.problems[0], "s.json:16: agentd has no event like 'Setup'; its hooks are left out");
  EXPECT_EQ(set.problems[1], "s.json:17: unknown event 'PreTolUse': did you mean 'PreToolUse'?");
}

TEST(ClaudeSettings, EveryFieldOfACommandIsCarriedOver) {
  const DefinitionSet set =
      claude_handler(R"j({"type":"command","command":"x","timeout":1.5,"if":"Bash(git *)","onFailure":"block",)j"
                     R"("statusMessage":"Checking"})");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_TRUE(set.problems.empty()) << set.problems[0];
  EXPECT_EQ(set.hooks[0].timeout, Milliseconds(1'500));
  EXPECT_EQ(set.hooks[0].if_rule, "Bash(git *)");
  EXPECT_EQ(set.hooks[0].on_failure, FailurePolicy::kClosed);
  const DefinitionSet open = claude_handler(R"({"type":"command","command":"x"})");
  EXPECT_FALSE(open.hooks[0].on_failure);
  EXPECT_FALSE(open.hooks[0].guard);
}

TEST(ClaudeSettings, ArgumentsNeedNoShell) {
  const DefinitionSet plain = claude_handler(R"({"type":"command","command":"node","args":["a b.js","$x"]})");
  ASSERT_EQ(plain.hooks.size(), 1u);
  EXPECT_EQ(plain.hooks[0].runs, HookRuns::kArgv);
  EXPECT_EQ(plain.hooks[0].argv, (std::vector<std::string>{"node", "a b.js", "$x"}));
  const DefinitionSet folder =
      claude_handler(R"({"type":"command","command":"node","args":["${CLAUDE_PROJECT_DIR}/a b.js","it's $x"]})");
  EXPECT_EQ(folder.hooks[0].runs, HookRuns::kShell);
  EXPECT_EQ(folder.hooks[0].command, R"(exec 'node' ''"${CLAUDE_PROJECT_DIR}"'/a b.js' 'it'\''s $x')");
  const DefinitionSet bash = claude_handler(R"({"type":"command","command":"[[ a ]]","shell":"bash"})");
  EXPECT_EQ(bash.hooks[0].argv, (std::vector<std::string>{"bash", "-c", "[[ a ]]"}));
}

TEST(ClaudeSettings, AnHttpHandlerIsAWebhook) {
  const DefinitionSet set =
      claude_handler(R"({"type":"http","url":"http://localhost:1/h","headers":{"Authorization":"Bearer $TOKEN",)"
                     R"("X":"a ${Y} $ 5"},"allowedEnvVars":["TOKEN"]})");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_EQ(set.hooks[0].runs, HookRuns::kWebhook);
  EXPECT_EQ(set.hooks[0].url, "http://localhost:1/h");
  ASSERT_EQ(set.hooks[0].headers.size(), 2u);
  EXPECT_EQ(set.hooks[0].headers[0].second, "Bearer ${TOKEN}");
  EXPECT_EQ(set.hooks[0].headers[1].second, "a ${Y} $ 5");
  EXPECT_EQ(set.hooks[0].allowed_environment, std::vector<std::string>{"TOKEN"});
}

TEST(ClaudeSettings, WhatCannotBeCarriedOverIsSaid) {
  const std::array<std::pair<const char*, const char*>, 11> table{{
      {R"({"type":"prompt","prompt":"x"})", "of the type 'prompt' is not supported"},
      {R"({"type":"agent","prompt":"x"})", "of the type 'agent' is not supported"},
      {R"({"type":"mcp_tool","server":"s","tool":"t"})", "'mcp_tool' is not supported"},
      {R"({"type":"magic"})", "of the unknown type 'magic' is not supported"},
      {R"({"type":"command"})", "needs a command"},
      {R"({"type":"command","command":" "})", "needs a command"},
      {R"({"type":"command","command":7})", "'command' must be a text, not a number"},
      {R"({"type":"http"})", "needs a url"},
      {R"({"type":"command","command":"x","shell":"powershell"})", "'powershell' is not supported"},
      {R"("guard.sh")", "a handler must be an object, not a text"},
      {R"([])", "a handler must be an object, not a list"},
  }};
  for (const auto& [handler, part] : table) {
    const DefinitionSet set = claude_handler(handler);
    EXPECT_TRUE(set.hooks.empty()) << handler;
    EXPECT_TRUE(any_contains(set.problems, part)) << handler;
    EXPECT_TRUE(any_contains(set.problems, "s.json:1: ")) << handler;
  }
}

TEST(ClaudeSettings, ASlipInAHandlerKeepsTheHook) {
  const std::array<std::pair<const char*, const char*>, 6> table{{
      {R"({"type":"command","command":"x","timout":3})", "did you mean 'timeout'?"},
      {R"({"type":"command","command":"x","timeout":"3"})", "'timeout' must be a number above 0"},
      {R"({"type":"command","command":"x","timeout":-3})", "'timeout' must be a number above 0"},
      {R"({"type":"command","command":"x","onFailure":"explode"})", "must be continue or block"},
      {R"({"type":"command","command":"x","if":"Bash(git"})", "the hook is called for every use of its tools"},
      {R"({"type":"command","command":"x","asyncRewake":true})", "'asyncRewake' cannot wake"},
  }};
  for (const auto& [handler, part] : table) {
    const DefinitionSet set = claude_handler(handler);
    ASSERT_EQ(set.hooks.size(), 1u) << handler;
    EXPECT_TRUE(set.hooks[0].if_rule.empty());
    EXPECT_FALSE(set.hooks[0].timeout);
    EXPECT_TRUE(any_contains(set.problems, part)) << handler;
  }
}

TEST(ClaudeSettings, MalformedShapesAreNamedAndTheRestIsRead) {
  const std::array<std::pair<const char*, const char*>, 8> table{{
      {R"("hooks":[])", "'hooks' must be an object of events, not a list"},
      {R"("hooks":{"Stop":{}})", "'Stop' must be a list of groups, not an object"},
      {R"("hooks":{"Stop":null})", "'Stop' must be a list of groups, not null"},
      {R"("hooks":{"Stop":["x"]})", "a group of 'Stop' must be an object, not a text"},
      {R"("hooks":{"Stop":[{}]})", "needs a list 'hooks'"},
      {R"("hooks":{"Stop":[{"type":"command","command":"x"}]})", "must be in the list 'hooks'"},
      {R"("hooks":{"PreToolUse":[{"matcher":"(","hooks":[]}]})", "the matcher cannot be read"},
      {R"("hooks":{"PreToolUse":[{"matcher":["Bash"],"hooks":[]}]})", "'matcher' must be a text"},
  }};
  for (const auto& [member, part] : table) {
    const DefinitionSet set = claude("{" + std::string(member) + "}");
    EXPECT_TRUE(set.hooks.empty()) << member;
    EXPECT_TRUE(any_contains(set.problems, part)) << member << (set.problems.empty() ? "" : set.problems[0]);
  }
  const DefinitionSet both = claude(R"({"hooks":{"Stop":["x",{"hooks":[{"command":"y"}]}]}})");
  EXPECT_EQ(both.hooks.size(), 1u);
  EXPECT_EQ(both.problems.size(), 1u);
}

TEST(ClaudeSettings, WithoutHooksAreNone) {
  for (const char* const text : {"{}", R"({"hooks":{}})", R"({"hooks":null})",
                                 R"({"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}})"}) {
    const DefinitionSet set = claude(text);
    EXPECT_TRUE(set.hooks.empty() && set.problems.empty()) << text;
  }
}

TEST(ClaudeSettings, AFileThatIsNoJsonNamesThePlace) {
  const auto set = read_settings(Dialect::kClaude, "{\n  \"hooks\": {,}\n}", "s.json", "claude");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kInvalid);
  EXPECT_EQ(set.error().message.substr(0, 9), "s.json:2:") << set.error().message;
  EXPECT_FALSE(read_settings(Dialect::kClaude, "[]", "s.json", "claude"));
  EXPECT_FALSE(read_settings(Dialect::kClaude, "", "s.json", "claude"));
}

// ---- Gemini CLI

TEST(GeminiSettings, TimeoutsAreMilliseconds) {
  const DefinitionSet set =
      gemini(R"({"hooks":{"BeforeTool":[{"matcher":"write_file|replace","sequential":true,"hooks":)"
             R"([{"type":"command","command":"x","name":"n","description":"d","timeout":10000,)"
             R"("env":{"A":"b"}}]}]}})");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_TRUE(set.problems.empty()) << set.problems[0];
  EXPECT_EQ(set.hooks[0].timeout, Milliseconds(10'000));
  EXPECT_EQ(set.hooks[0].name, "gemini/BeforeTool.1");
  EXPECT_EQ(set.hooks[0].environment, (std::vector<std::pair<std::string, std::string>>{{"A", "b"}}));
  EXPECT_TRUE(set.hooks[0].matcher.matches("replace"));
  EXPECT_TRUE(set.hooks[0].matcher.matches("my_write_file_tool")) << "found anywhere";
}

TEST(GeminiSettings, LifecycleMatchersAreExact) {
  const DefinitionSet set = gemini(R"({"hooks":{"SessionStart":[{"matcher":"start","hooks":)"
                                   R"([{"type":"command","command":"x"}]}]}})");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_FALSE(set.hooks[0].matcher.matches("startup"));
  EXPECT_TRUE(set.hooks[0].matcher.matches("start"));
}

TEST(GeminiSettings, AfterToolHearsOfFailedToolsAsWell) {
  const DefinitionSet set = gemini(R"({"hooks":{"AfterTool":[{"hooks":[{"type":"command","command":"x"}]}]}})");
  ASSERT_EQ(set.hooks.size(), 2u);
  EXPECT_EQ(set.hooks[0].event, AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(set.hooks[1].event, AGENTD_EVENT_TOOL_CALL_FAILED);
  EXPECT_EQ(set.hooks[1].name, "gemini/AfterTool.1.failed");
  EXPECT_EQ(set.hooks[1].command, "x");
}

TEST(GeminiSettings, SwitchedOffHooksStayOff) {
  const std::string events = R"("BeforeTool":[{"hooks":[{"type":"command","command":"a","name":"one"},)"
                             R"({"type":"command","command":"b"},{"type":"command","command":"c"}]}])";
  const DefinitionSet old = gemini(R"({"hooks":{"disabled":["one"],"enabled":true,)" + events + "}}");
  EXPECT_EQ(old.hooks.size(), 2u);
  EXPECT_TRUE(old.problems.empty());
  const DefinitionSet config = gemini(R"({"hooksConfig":{"disabled":["b","one"]},"hooks":{)" + events + "}}");
  ASSERT_EQ(config.hooks.size(), 1u);
  EXPECT_EQ(config.hooks[0].command, "c");
  EXPECT_EQ(config.hooks[0].name, "gemini/BeforeTool.3") << "names do not move";
  EXPECT_TRUE(gemini(R"({"hooksConfig":{"enabled":false},"hooks":{)" + events + "}}").hooks.empty());
  EXPECT_TRUE(gemini(R"({"hooks":{"enabled":false,)" + events + "}}").hooks.empty());
}

TEST(GeminiSettings, FoldersInACommandAreQuoted) {
  const auto command = [](const std::string& text) {
    const DefinitionSet set = gemini(R"({"hooks":{"BeforeAgent":[{"hooks":[{"type":"command","command":)" +
                                     std::string(JsonWriter().string(text).text()) + "}]}]}}");
    return set.hooks.size() == 1 ? set.hooks[0].command : std::string();
  };
  EXPECT_EQ(command("$GEMINI_PROJECT_DIR/h.sh"), "\"$GEMINI_PROJECT_DIR\"/h.sh");
  EXPECT_EQ(command("sh ${CLAUDE_PROJECT_DIR}/h.sh"), "sh \"${CLAUDE_PROJECT_DIR}\"/h.sh");
  EXPECT_EQ(command("\"$GEMINI_CWD/h.sh\" '$GEMINI_CWD'"), "\"$GEMINI_CWD/h.sh\" '$GEMINI_CWD'");
  EXPECT_EQ(command("echo \\\"$GEMINI_CWD"), "echo \\\"\"$GEMINI_CWD\"");
}

TEST(GeminiSettings, MayHaveComments) {
  const DefinitionSet set = gemini(
      "// mine\n{\n  /* all\n of it */ \"hooks\": {\n    \"BeforeAgent\": [\n"
      "      {\"hooks\": [{\"type\": \"command\", \"command\": \"http://x // no, comment\"},]},\n"
      "    ],\n    \"Nonsense\": []\n  }\n}\n");
  ASSERT_EQ(set.hooks.size(), 1u);
  EXPECT_EQ(set.hooks[0].command, "http://x // no, comment");
  EXPECT_EQ(set.hooks[0].line, 6);
  ASSERT_EQ(set.problems.size(), 1u);
  EXPECT_EQ(set.problems[0], "g.json:8: unknown event 'Nonsense'");
}

TEST(GeminiSettings, OnlyCommandsAreCarriedOver) {
  const DefinitionSet set = gemini(R"({"hooks":{"BeforeAgent":[{"hooks":[{"type":"plugin"},{"type":"command"},)"
                                   R"({"type":"command","command":"x"}]}]}})");
  EXPECT_EQ(set.hooks.size(), 1u);
  EXPECT_TRUE(any_contains(set.problems, "of the type 'plugin' is not supported"));
  EXPECT_TRUE(any_contains(set.problems, "needs a command"));
}

TEST(JsonPlaces, KnowTheLineOfEveryValue) {
  const JsonPlaces places("{\"a\": [1,\n {\"b\\\"}\": \"x}\",\n \"c\": null}],\n\"d\": 2}");
  EXPECT_EQ(places.line("/a/0"), 1);
  EXPECT_EQ(places.line("/a/1/b\\\"}"), 2);
  EXPECT_EQ(places.line("/a/1/c"), 3);
  EXPECT_EQ(places.line("/d"), 4);
  EXPECT_EQ(places.line("/d/nothing/here"), 4);
  EXPECT_EQ(places.line("/none"), 1);
}

}  // namespace
}  // namespace agentd
