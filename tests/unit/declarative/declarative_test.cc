// SPDX-License-Identifier: Apache-2.0
#include "core/declarative/declarative.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/codec/json.h"
#include "core/dialects/dialect.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

Result<std::vector<HookDefinition>> read(std::string_view text) {
  return read_declarative(text, "/h/x.yaml", "x", Precedence::kUser);
}

// The only hook of a file that has no mistake.
HookDefinition only(std::string_view text) {
  const auto hooks = read(text);
  EXPECT_TRUE(hooks) << (hooks ? "" : hooks.error().message);
  EXPECT_EQ(hooks ? hooks->size() : 0u, 1u);
  return hooks && !hooks->empty() ? hooks->front() : HookDefinition();
}

std::string mistake(std::string_view text) {
  const auto hooks = read(text);
  if (hooks) return "no mistake";
  EXPECT_EQ(hooks.error().code, Code::kInvalid);
  return hooks.error().message;
}

// Of a hook that has these lines beside a good `on` and `command`.
std::string mistake_beside_command(const std::string& lines) { return mistake("on: agent_stop\ncommand: x\n" + lines); }

constexpr std::string_view kSmartCompact = R"(on: agent_stop
when: usage.current_context_window / usage.max_context_window > 0.7
do: compact
)";

// ---- shapes

TEST(Declarative, LoadsSmartCompact) {
  const HookDefinition hook = only(kSmartCompact);
  EXPECT_EQ(hook.name, "x");
  EXPECT_EQ(hook.path, "/h/x.yaml");
  EXPECT_EQ(hook.line, 0);
  EXPECT_EQ(hook.precedence, Precedence::kUser);
  EXPECT_EQ(hook.dialect, Dialect::kAgentd);
  EXPECT_EQ(hook.event, AGENTD_EVENT_AGENT_STOP);
  EXPECT_EQ(hook.runs, HookRuns::kAction);
  EXPECT_EQ(hook.action_json, R"({"action":"compact"})");
  EXPECT_TRUE(hook.matcher.matches_all());
  const auto full = JsonDocument::parse(R"({"usage":{"current_context_window":71,"max_context_window":100}})");
  const auto empty = JsonDocument::parse(R"({"usage":{"current_context_window":70,"max_context_window":100}})");
  EXPECT_TRUE(*hook.when.holds(full->root()));
  EXPECT_FALSE(*hook.when.holds(empty->root()));
}

TEST(Declarative, ReadsEveryKey) {
  const HookDefinition hook = only(R"(
name: check
on: before_tool_call
matcher: bash|write_file
when: tool.input.command matches "^git"
command: ./check --fast
timeout: 1500ms
on_failure: closed
guard: true
priority: -5
shadow: true
strict_output: true
environment: {LEVEL: 3, MODE: strict}
working_directory: /srv
sandbox: true
enabled: true
)");
  EXPECT_EQ(hook.name, "x.check");
  EXPECT_TRUE(hook.matcher.matches("write_file") && !hook.matcher.matches("read_file"));
  EXPECT_EQ(hook.when.text(), "tool.input.command matches \"^git\"");
  EXPECT_EQ(hook.runs, HookRuns::kShell);
  EXPECT_EQ(hook.command, "./check --fast");
  EXPECT_EQ(hook.timeout, Milliseconds(1500));
  EXPECT_EQ(hook.on_failure, FailurePolicy::kClosed);
  EXPECT_TRUE(hook.guard && hook.shadow && hook.strict_output && hook.sandbox);
  EXPECT_EQ(hook.priority, -5);
  EXPECT_EQ(only("on: agent_stop\nonce: conversation\ncommand: x").once, HookOnce::kConversation);
  const std::vector<std::pair<std::string, std::string>> environment{{"LEVEL", "3"}, {"MODE", "strict"}};
  EXPECT_EQ(hook.environment, environment);
  EXPECT_EQ(hook.working_directory, "/srv");
  EXPECT_FALSE(hook.async || hook.observes);
}

TEST(Declarative, HasTheContractsDefaults) {
  const HookDefinition hook = only("on: turn_end\ncommand: x");
  EXPECT_FALSE(hook.timeout || hook.on_failure);
  EXPECT_FALSE(hook.guard || hook.async || hook.observes || hook.shadow || hook.strict_output || hook.sandbox);
  EXPECT_EQ(hook.priority, 0);
  EXPECT_EQ(hook.once, HookOnce::kAlways);
  EXPECT_TRUE(hook.when.empty() && hook.matcher.matches_all());
  EXPECT_TRUE(hook.foreign_event.empty());
}

TEST(Declarative, RunsAListWithoutAShell) {
  const HookDefinition hook = only("on: turn_end\ncommand: [/bin/echo, two words, 3]");
  EXPECT_EQ(hook.runs, HookRuns::kArgv);
  EXPECT_EQ(hook.argv, (std::vector<std::string>{"/bin/echo", "two words", "3"}));
}

TEST(Declarative, KeepsAnExtensionAlive) {
  const HookDefinition hook = only("on: tool.call\nextension: [./ext, --stdio]\nenvironment: {A: b}");
  EXPECT_EQ(hook.runs, HookRuns::kExtension);
  EXPECT_EQ(hook.dialect, Dialect::kKodelet);
  EXPECT_EQ(hook.event, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(hook.foreign_event, "tool.call");
  EXPECT_EQ(mistake("on: Stop\nextension: [a]\ndialect: claude"),
            "/h/x.yaml:3:10: an extension must have the dialect kodelet, not claude");
}

TEST(Declarative, PostsToAUrlWithTheAllowedVariables) {
  const HookDefinition hook = only(R"(
on: agent_stop
url: https://hooks.example.com/agent?v=1
headers:
  Authorization: Bearer ${HOOK_TOKEN}
  X-Team: 7
allowed_environment: [HOOK_TOKEN]
async: true
)");
  EXPECT_EQ(hook.runs, HookRuns::kWebhook);
  EXPECT_EQ(hook.url, "https://hooks.example.com/agent?v=1");
  ASSERT_EQ(hook.headers.size(), 2u);
  EXPECT_EQ(hook.headers[0].second, "Bearer ${HOOK_TOKEN}");
  EXPECT_EQ(hook.headers[1].second, "7");
  EXPECT_EQ(hook.allowed_environment, std::vector<std::string>{"HOOK_TOKEN"});
  EXPECT_TRUE(hook.async);
}

TEST(Declarative, ReadsSeveralHooksWithTheirNamesAndLines) {
  const auto hooks = read(R"(hooks:
  - on: agent_stop
    do: compact
  - name: audit
    on: turn_end
    command: log
  - on: turn_end
    enabled: false
    command: log
  - on: turn_end
    command: log2
)");
  ASSERT_TRUE(hooks) << hooks.error().message;
  ASSERT_EQ(hooks->size(), 3u);
  EXPECT_EQ(hooks->at(0).name, "x.1");
  EXPECT_EQ(hooks->at(0).line, 2);
  EXPECT_EQ(hooks->at(1).name, "x.audit");
  EXPECT_EQ(hooks->at(1).line, 4);
  EXPECT_EQ(hooks->at(2).name, "x.4");
}

TEST(Declarative, MakesOneDefinitionOfEachEvent) {
  const auto hooks = read("on: [before_tool_call, after_tool_call]\nmatcher: bash\ncommand: log");
  ASSERT_TRUE(hooks) << hooks.error().message;
  ASSERT_EQ(hooks->size(), 2u);
  EXPECT_EQ(hooks->at(0).name, "x.before_tool_call");
  EXPECT_EQ(hooks->at(0).event, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(hooks->at(1).name, "x.after_tool_call");
  EXPECT_EQ(hooks->at(1).event, AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_TRUE(hooks->at(1).matcher.matches("bash"));
  EXPECT_EQ(only("on: [turn_end]\ncommand: log").name, "x");
}

TEST(Declarative, LeavesOutWhatIsNotEnabledButReadsIt) {
  EXPECT_TRUE(read("on: agent_stop\ndo: compact\nenabled: false")->empty());
  EXPECT_EQ(mistake("on: agent_stop\ndo: compakt\nenabled: false").find("/h/x.yaml:2:5: 'do' must be"), 0u);
}

TEST(Declarative, CountsAGuardAndAPolicyApart) {
  EXPECT_EQ(only("on: before_tool_call\ncommand: x\nguard: true").on_failure, std::nullopt);
  EXPECT_EQ(only("on: before_tool_call\ncommand: x\non_failure: closed").on_failure, FailurePolicy::kClosed);
}

TEST(Declarative, ReadsOnce) {
  const std::string hook = "on: agent_stop\ncommand: x\nonce: ";
  EXPECT_EQ(only(hook + "true").once, HookOnce::kRun);
  EXPECT_EQ(only(hook + "run").once, HookOnce::kRun);
  EXPECT_EQ(only(hook + "false").once, HookOnce::kAlways);
  EXPECT_EQ(only(hook + "conversation").once, HookOnce::kConversation);
  EXPECT_EQ(mistake(hook + "session"), "/h/x.yaml:3:7: 'once' must be true, false, run or conversation, not 'session'");
}

TEST(Declarative, ReadsTimes) {
  const std::string hook = "on: agent_stop\ncommand: x\ntimeout: ";
  EXPECT_EQ(only(hook + "500ms").timeout, Milliseconds(500));
  EXPECT_EQ(only(hook + "5s").timeout, Milliseconds(5000));
  EXPECT_EQ(only(hook + "2m").timeout, Milliseconds(120'000));
  EXPECT_EQ(only(hook + "90").timeout, Milliseconds(90'000));
  EXPECT_EQ(only(hook + "0.5").timeout, Milliseconds(500));
  EXPECT_EQ(only(hook + "1.5m").timeout, Milliseconds(90'000));
  EXPECT_EQ(only("on: BeforeTool\ndialect: gemini\ncommand: x\ntimeout: 500").timeout, Milliseconds(500));
  EXPECT_EQ(only("on: BeforeTool\ndialect: gemini\ncommand: x\ntimeout: 5s").timeout, Milliseconds(5000));
  for (const char* const time :
       {"0", "-5", "5h", "s", "''", "1 s", "25h", "1441m", "nan", "inf", "1e99", "0.1ms", "[5]", "{s: 5}", "~", "5s5"})
    EXPECT_EQ(mistake(hook + time).find("/h/x.yaml:3:"), 0u) << time << ": " << mistake(hook + time);
  EXPECT_EQ(mistake(hook + "5h"),
            "/h/x.yaml:3:10: 'timeout' must be a time like 500ms, 5s or 2m, from 1ms to 24 hours, "
            "not '5h'");
}

// ---- dialects

TEST(Declarative, KnowsTheEventNamesOfADialect) {
  const HookDefinition hook = only("on: PreToolUse\ndialect: claude\nmatcher: Bash\nif: Bash(git *)\ncommand: x");
  EXPECT_EQ(hook.event, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(hook.foreign_event, "PreToolUse");
  EXPECT_EQ(hook.dialect, Dialect::kClaude);
  EXPECT_EQ(hook.if_rule, "Bash(git *)");
  EXPECT_EQ(only("on: pre_tool_use\ndialect: docker\ncommand: x").event, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(only("on: BeforeTool\ndialect: gemini\ncommand: x").event, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(only("on: before_tool_call\ndialect: kodelet\ncommand: x").event, AGENTD_EVENT_BEFORE_TOOL_CALL);
}

TEST(Declarative, MakesEveryEventThatADialectsNameStandsFor) {
  const auto hooks = read("on: agent_stop\ndialect: kodelet\ncommand: x");
  ASSERT_TRUE(hooks) << hooks.error().message;
  ASSERT_EQ(hooks->size(), 2u) << "Kodelet's name is that of subagents too";
  EXPECT_EQ(hooks->at(0).name, "x.agent_stop");
  EXPECT_EQ(hooks->at(1).name, "x.subagent_stop");
  EXPECT_EQ(hooks->at(1).foreign_event, "agent_stop");
}

TEST(Declarative, ReadsMatchersByTheRulesOfTheDialect) {
  const auto matcher = [](const std::string& dialect, const std::string& event, const std::string& text) {
    return only("on: " + event + "\ndialect: " + dialect + "\nmatcher: " + text + "\ncommand: x").matcher;
  };
  EXPECT_FALSE(matcher("claude", "PreToolUse", "Edit").matches("MultiEdit"));
  EXPECT_FALSE(matcher("docker", "pre_tool_use", "shell.*").matches("a shell"));
  EXPECT_TRUE(matcher("gemini", "BeforeTool", "write").matches("write_file"));
  EXPECT_FALSE(matcher("gemini", "SessionStart", "start").matches("startup"));
  EXPECT_TRUE(matcher("gemini", "SessionStart", "startup").matches("startup"));
}

TEST(Declarative, SaysWhatADialectDoesNotKnow) {
  EXPECT_EQ(mistake("on: PreToolUs\ndialect: claude\ncommand: x"),
            "/h/x.yaml:1:5: unknown event 'PreToolUs' of claude: did you mean 'PreToolUse'?");
  EXPECT_EQ(mistake("on: before_tool_call\ndialect: claude\ncommand: x"),
            "/h/x.yaml:1:5: claude calls the event 'before_tool_call' 'PreToolUse'");
  EXPECT_EQ(mistake("on: WorktreeCreate\ndialect: claude\ncommand: x"),
            "/h/x.yaml:1:5: claude's event 'WorktreeCreate' has no counterpart in agentd");
  EXPECT_EQ(mistake("on: PreToolUse\ncommand: x"), "/h/x.yaml:1:5: unknown event 'PreToolUse'");
  EXPECT_EQ(mistake("on: agent_stop\ncommand: x\ndialect: claud"),
            "/h/x.yaml:3:10: 'dialect' must be agentd, kodelet, claude, docker or gemini, not "
            "'claud': did you "
            "mean 'claude'?");
  EXPECT_EQ(mistake_beside_command("if: Bash(x)"), "/h/x.yaml:3:1: 'if' is only for the dialect claude; use 'when'");
  EXPECT_NE(mistake("on: PreToolUse\ndialect: claude\ncommand: x\nif: 'Bash('"), "no mistake");
}

// ---- do

TEST(Declarative, WritesTheCanonicalAnswer) {
  EXPECT_EQ(only("on: before_tool_call\ndo: block").action_json, R"({"action":"block"})");
  EXPECT_EQ(only("on: agent_stop\ndo: summary").action_json, R"({"action":"summary"})");
  EXPECT_EQ(only("on: agent_stop\ndo: none").action_json, R"({"action":"none"})");
  EXPECT_EQ(only("on: before_tool_call\ndo: {action: block, reason: 404}").action_json,
            R"({"action":"block","reason":"404"})");
  EXPECT_EQ(only("on: before_tool_call\ndo: {permission: deny, reason: no}").action_json,
            R"({"permission":"deny","reason":"no"})");
  EXPECT_EQ(only("on: before_tool_call\ndo: {input: {command: ls, n: 5, s: '5'}}").action_json,
            R"({"input":{"command":"ls","n":5,"s":"5"}})");
  EXPECT_EQ(only("on: agent_stop\ndo: {action: continue, message: go on}").action_json,
            R"({"action":"continue","message":"go on"})");
  EXPECT_EQ(only("on: agent_stop\ndo: {action: compact, strategy: tail, keep_tokens: 5000, model: m, "
                 "custom_instructions: keep names, messages: [then this, {role: user, content: 2}], then: "
                 "continue}")
                .action_json,
            R"({"action":"compact","strategy":"tail","keep_tokens":5000,"model":"m","custom_)"
            R"(instructions":"keep names","messages":[{"role":"user","content":"then this"},{"role":)"
            R"("user","content":"2"}],"then":"continue"})");
  EXPECT_EQ(only("on: agent_stop\ndo: {action: callback, callback: {recipe: review, args: {depth: 2}}}").action_json,
            R"({"action":"callback","callback":{"recipe":"review","args":{"depth":2}}})");
  EXPECT_EQ(only("on: agent_stop\ndo: {action: replace, replace_messages: [hello, {role: "
                 "assistant, content: "
                 "'7'}, {keep: {first: 3, last: 9}}]}")
                .action_json,
            R"({"action":"replace","replace_messages":[{"role":"user","content":"hello"},)"
            R"({"role":"assistant","content":"7"},{"keep":{"first":3,"last":9}}]})");
  EXPECT_EQ(only("on: before_model_call\ndo: {tools: {disable: [bash, write_file], enable: grep}}").action_json,
            R"({"tools":{"disable":["bash","write_file"],"enable":["grep"]}})");
}

TEST(Declarative, RefusesAnActionThatTheEventDoesNotTake) {
  EXPECT_EQ(mistake("on: before_tool_call\ndo: compact"),
            "/h/x.yaml:2:5: 'compact' is not allowed at before_tool_call: before_tool_call takes "
            "block, stop_run");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: block}"),
            "/h/x.yaml:2:14: 'block' is not allowed at agent_stop: agent_stop takes stop_run, continue, "
            "compact, summary, "
            "replace, callback");
  EXPECT_EQ(mistake("on: session_end\ndo: block"),
            "/h/x.yaml:2:5: 'block' is not allowed at session_end: session_end takes none of the "
            "actions");
  EXPECT_EQ(mistake("on: [before_tool_call, agent_stop]\ndo: block")
                .find("/h/x.yaml:2:5: 'block' is not allowed at "
                      "agent_stop"),
            0u);
  EXPECT_EQ(mistake("on: turn_end\ndo:\n  system_message: hi\n  input: {a: b}"),
            "/h/x.yaml:4:3: 'input' has no effect at turn_end");
  EXPECT_EQ(mistake("on: before_tool_call\ndo: {tools: {enable: [bash]}}"),
            "/h/x.yaml:2:6: 'tools' has no effect at before_tool_call");
  EXPECT_EQ(mistake("on: turn_end\ndo: {permission: allow}"), "/h/x.yaml:2:6: 'permission' has no effect at turn_end");
}

TEST(Declarative, RefusesAnAnswerThatSaysNothing) {
  EXPECT_EQ(mistake("on: agent_stop\ndo: {}"), "/h/x.yaml:2:5: 'do' is empty");
  EXPECT_EQ(mistake("on: agent_stop\ndo:"), "/h/x.yaml:2:1: 'do' must be a mapping, not empty");
  EXPECT_EQ(mistake("on: agent_stop\ndo: continue"),
            "/h/x.yaml:2:5: 'continue' alone is not enough: write 'action: continue' and 'message' below 'do'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: continue}"), "/h/x.yaml:2:14: 'action: continue' needs 'message'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: replace, messages: [a]}"),
            "/h/x.yaml:2:14: 'action: replace' needs 'replace_messages'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {message: go on}"),
            "/h/x.yaml:2:6: 'message' has no effect without 'action: continue'");
  EXPECT_EQ(mistake("on: before_tool_call\ndo: {reason: no}"),
            "/h/x.yaml:2:6: 'reason' has no effect without 'action: block', 'action: stop_run' "
            "or 'permission'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: none, strategy: tail}"),
            "/h/x.yaml:2:20: 'strategy' has no effect without 'action: compact'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: continue, message: a, messages: [b]}"),
            "/h/x.yaml:2:24: 'message' has no effect next to 'messages'");
}

TEST(Declarative, NamesWhatIsWrongInAnAnswer) {
  EXPECT_EQ(mistake("on: agent_stop\ndo: compct"),
            "/h/x.yaml:2:5: 'do' must be none, block, stop_run, continue, compact, summary, replace or "
            "callback, not 'compct': "
            "did you mean 'compact'?");
  EXPECT_EQ(mistake("on: before_tool_call\ndo: deny"),
            "/h/x.yaml:2:5: 'deny' is a permission: write 'permission: deny' below 'do'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: [compact]"), "/h/x.yaml:2:5: 'do' must be a mapping, not a list");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {acton: compact}"),
            "/h/x.yaml:2:6: unknown key 'acton' in 'do': did you mean 'action'?");
  EXPECT_EQ(mistake("on: before_tool_call\ndo: {permission: maybe}"),
            "/h/x.yaml:2:18: 'do.permission' must be allow, deny, ask or defer, not 'maybe'");
  EXPECT_EQ(mistake("on: before_tool_call\ndo: {input: ls}"), "/h/x.yaml:2:13: 'do.input' must be a mapping, not 'ls'");
  EXPECT_EQ(mistake("on: before_tool_call\ndo: {action: block, reason: [a]}"),
            "/h/x.yaml:2:29: 'do.reason' must be a text, not a list");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: compact, keep_tokens: many}"),
            "/h/x.yaml:2:36: 'do.keep_tokens' must be a whole number from 0 to 1000000000, not 'many'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: compact, messages: [{role: assistant, content: x}]}"),
            "/h/x.yaml:2:41: 'do.messages.role' must be user, not 'assistant'");
  EXPECT_EQ(mistake("on: before_model_call\ndo: {tools: {enabel: [a]}}"),
            "/h/x.yaml:2:14: unknown key 'enabel' in 'do.tools': did you mean 'enable'?");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: callback, callback: {args: {}}}"),
            "/h/x.yaml:2:34: 'do.callback' needs 'recipe'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: {action: replace, replace_messages: [{role: tool, content: x}]}"),
            "/h/x.yaml:2:5: 'do': replace_messages[0]: the role 'tool' is not user, assistant or "
            "summary");
  EXPECT_EQ(mistake("on: before_compaction\ndo: {summary: ' '}"), "/h/x.yaml:2:5: 'do': its summary is empty");
}

// Whatever loads is taken whole at every event; whatever the reader of answers would drop does not
// load.
TEST(Declarative, AgreesWithTheReaderOfAnswersOnWhatAnEventTakes) {
  const std::vector<std::pair<std::string, std::string>> answers{
      {"{action: block}", R"({"action":"block"})"},
      {"{action: continue, message: a}", R"({"action":"continue","message":"a"})"},
      {"{messages: [a]}", R"({"messages":["a"]})"},
      {"{action: compact}", R"({"action":"compact"})"},
      {"{action: compact, messages: [a]}", R"({"action":"compact","messages":["a"]})"},
      {"{action: summary, summary: a}", R"({"action":"summary","summary":"a"})"},
      {"{summary: a}", R"({"summary":"a"})"},
      {"{action: replace, replace_messages: [{role: user, content: a}]}",
       R"({"action":"replace","replace_messages":[{"role":"user","content":"a"}]})"},
      {"{action: callback, callback: {recipe: a}}", R"({"action":"callback","callback":{"recipe":"a"}})"},
      {"{message: a}", R"({"message":"a"})"},
      {"{input: {a: b}}", R"({"input":{"a":"b"}})"},
      {"{output: a}", R"({"output":"a"})"},
      {"{custom_instructions: a}", R"({"custom_instructions":"a"})"},
      {"{strategy: full}", R"({"strategy":"full"})"},
      {"{keep_tokens: 5}", R"({"keep_tokens":5})"},
      {"{model: a}", R"({"model":"a"})"},
      {"{additional_context: a}", R"({"additional_context":"a"})"},
      {"{system_message: a}", R"({"system_message":"a"})"},
      {"{permission: ask}", R"({"permission":"ask"})"},
      {"{permission: defer}", R"({"permission":"defer"})"},
      {"{tools: {enable: [a]}}", R"({"tools":{"enable":["a"]}})"},
      {"{then: stop}", R"({"then":"stop"})"}};
  int loaded = 0;
  for (const EventTraits& event : all_events())
    for (const auto& [yaml, json] : answers) {
      const std::string text = "on: " + std::string(event.name) + "\ndo: " + yaml;
      const auto document = JsonDocument::parse(json);
      const Verdict verdict = interpret_canonical(event.id, {}, document->root());
      const bool whole = !verdict.failed && verdict.warnings.empty() && !verdict.actions.empty();
      const auto hooks = read(text);
      EXPECT_EQ(hooks.has_value(), whole) << text << "\n" << (hooks ? "loaded" : hooks.error().message);
      loaded += hooks ? 1 : 0;
    }
  EXPECT_GT(loaded, 60);
}

// ---- mistakes

TEST(Declarative, NamesUnknownKeysWithTheNearestOne) {
  EXPECT_EQ(mistake("on: agent_stop\ncomand: x"), "/h/x.yaml:2:1: unknown key 'comand': did you mean 'command'?");
  EXPECT_EQ(mistake("hooks:\n  - on: agent_stop\n    command: x\n    timout: 5"),
            "/h/x.yaml:4:5: unknown key 'timout': did you mean 'timeout'?");
  EXPECT_EQ(mistake_beside_command("zzz: 1"), "/h/x.yaml:3:1: unknown key 'zzz'");
}

TEST(Declarative, NamesWrongTypes) {
  EXPECT_EQ(mistake_beside_command("guard: yes"), "/h/x.yaml:3:8: 'guard' must be true or false, not 'yes'");
  EXPECT_EQ(mistake_beside_command("guard: 'true'"), "/h/x.yaml:3:8: 'guard' must be true or false, not 'true'");
  EXPECT_EQ(mistake_beside_command("priority: high"),
            "/h/x.yaml:3:11: 'priority' must be a whole number from -32768 to 32767, not 'high'");
  EXPECT_EQ(mistake_beside_command("priority: 40000").find("/h/x.yaml:3:11: 'priority' must be"), 0u);
  EXPECT_EQ(mistake_beside_command("matcher: [bash]"), "/h/x.yaml:3:10: 'matcher' must be a text, not a list");
  EXPECT_EQ(mistake_beside_command("when:"), "/h/x.yaml:3:1: 'when' must be a text, not empty");
  EXPECT_EQ(mistake_beside_command("environment: [A]"), "/h/x.yaml:3:14: 'environment' must be a mapping, not a list");
  EXPECT_EQ(mistake_beside_command("environment: {A: [b]}"),
            "/h/x.yaml:3:18: 'environment.A' must be a text, not a list");
  EXPECT_EQ(mistake_beside_command("environment: {A-B: c}"), "/h/x.yaml:3:15: 'A-B' is not a variable name");
  EXPECT_EQ(mistake_beside_command("on_failure: close"),
            "/h/x.yaml:3:13: 'on_failure' must be open or closed, not 'close': did you mean 'closed'?");
  EXPECT_EQ(mistake("on: agent_stop\ncommand: [a, [b]]"),
            "/h/x.yaml:2:14: an element of 'command' must be a text, not a list");
  EXPECT_EQ(mistake("on: agent_stop\ncommand: []"), "/h/x.yaml:2:10: 'command' is an empty list");
  EXPECT_EQ(mistake("on: agent_stop\ncommand: ' '"), "/h/x.yaml:2:10: 'command' is empty");
  EXPECT_EQ(mistake_beside_command("name: a/b").find("/h/x.yaml:3:7: 'name' takes letters"), 0u);
  EXPECT_EQ(mistake_beside_command("working_directory: ''"), "/h/x.yaml:3:20: 'working_directory' is empty");
}

TEST(Declarative, NamesUnknownEvents) {
  EXPECT_EQ(mistake("on: agent_stopp\ndo: compact"),
            "/h/x.yaml:1:5: unknown event 'agent_stopp': did you mean 'agent_stop'?");
  EXPECT_EQ(mistake("on: [agent_stop, nothing_like_it]\ncommand: x"),
            "/h/x.yaml:1:18: unknown event 'nothing_like_it'");
  EXPECT_EQ(mistake("on: []\ncommand: x"), "/h/x.yaml:1:5: 'on' is an empty list");
  EXPECT_EQ(mistake("on: [turn_end, turn_end]\ncommand: x"), "/h/x.yaml:1:16: 'turn_end' is repeated in 'on'");
  EXPECT_EQ(mistake("on: {a: b}\ncommand: x"), "/h/x.yaml:1:5: 'on' must be a text, not a mapping");
}

TEST(Declarative, WantsExactlyOneThingToDo) {
  EXPECT_EQ(mistake("on: agent_stop\ndo: compact\nurl: http://localhost/"),
            "/h/x.yaml:3:1: 'do' and 'url' exclude each other: a hook has one of them");
  EXPECT_EQ(mistake("on: agent_stop"), "/h/x.yaml:1:1: a hook needs one of 'do', 'command', 'url' and 'extension'");
  EXPECT_EQ(mistake("do: compact"), "/h/x.yaml:1:1: a hook needs 'on': the event, or a list of events");
}

TEST(Declarative, RefusesKeysThatSayNothingBesideTheOthers) {
  EXPECT_EQ(mistake("on: agent_stop\ndo: compact\ntimeout: 5s"), "/h/x.yaml:3:1: 'timeout' has no effect next to 'do'");
  EXPECT_EQ(mistake("on: agent_stop\ndo: compact\nasync: true"), "/h/x.yaml:3:1: 'async' has no effect next to 'do'");
  EXPECT_EQ(mistake_beside_command("headers: {A: b}"), "/h/x.yaml:3:1: 'headers' has no effect next to 'command'");
  EXPECT_EQ(mistake_beside_command("guard: true\nasync: true"),
            "/h/x.yaml:4:1: the answer of an 'async' hook is ignored: it cannot be a guard or "
            "fail closed");
  EXPECT_EQ(mistake("on: before_tool_call\ncommand: x\nguard: true\non_failure: open"),
            "/h/x.yaml:4:1: a guard blocks when it fails, but 'on_failure: open' lets it pass: remove one of the two");
  EXPECT_EQ(mistake("on: [before_tool_call, agent_stop]\ncommand: x\non_failure: open\nguard: true"),
            "/h/x.yaml:3:1: a guard blocks when it fails, but 'on_failure: open' lets it pass: remove one of the two");
  EXPECT_EQ(mistake("on: before_tool_call\ncommand: x\nguard: false\non_failure: open"), "no mistake");
  EXPECT_EQ(mistake("on: before_tool_call\ncommand: x\nguard: true\non_failure: closed"), "no mistake");
  EXPECT_EQ(mistake_beside_command("observe: true\non_failure: closed"),
            "/h/x.yaml:3:1: the answer of an 'observe' hook is ignored: it cannot be a guard or "
            "fail closed");
}

TEST(Declarative, RefusesWebhooksThatCannotBeSent) {
  const auto webhook = [](const std::string& lines) { return mistake("on: agent_stop\n" + lines); };
  EXPECT_EQ(webhook("url: ftp://a"),
            "/h/x.yaml:2:6: 'ftp://a' is not a usable URL: it must begin with https:// or http://");
  EXPECT_EQ(webhook("url: http://a/${TOKEN}"), "/h/x.yaml:2:6: 'url' takes no ${NAME}: put secrets into 'headers'");
  EXPECT_EQ(webhook("url: http://a\nheaders: {X: 'a ${TOKEN}'}\nallowed_environment: [OTHER]"),
            "/h/x.yaml:3:14: the header 'X' uses TOKEN, which is not in allowed_environment");
  EXPECT_EQ(webhook("url: http://a\nheaders: {X: '${TOKEN'}"),
            "/h/x.yaml:3:14: the header 'X': '${' must be followed by the name of a variable and '}'");
  EXPECT_EQ(webhook("url: http://a\nheaders: {X Y: a}"), "/h/x.yaml:3:11: the header 'X Y' has an invalid name");
  EXPECT_EQ(webhook("url: http://a\nheaders: {Host: a}"),
            "/h/x.yaml:3:11: the header 'Host' belongs to the connection and cannot be set");
  EXPECT_EQ(webhook("url: http://a\nheaders: {X: \"a\\r\\nHost: b\"}"),
            "/h/x.yaml:3:11: the header 'X' has a line end or a zero byte");
  EXPECT_EQ(webhook("url: http://a\nallowed_environment: [A=B]"),
            "/h/x.yaml:3:22: 'allowed_environment' lists names of variables, 'A=B' is not one");
}

TEST(Declarative, RefusesFilesOfAnotherShape) {
  EXPECT_EQ(mistake("").find("/h/x.yaml:1:1: the file has no hook"), 0u);
  EXPECT_EQ(mistake("# nothing\n").find("/h/x.yaml:"), 0u);
  EXPECT_EQ(mistake("- on: a").find("/h/x.yaml:1:1: the file must be a mapping"), 0u);
  EXPECT_EQ(mistake("hooks: {PreToolUse: []}").find("/h/x.yaml:1:8: 'hooks' must be a list of hooks"), 0u);
  EXPECT_EQ(mistake("hooks: []"), "/h/x.yaml:1:8: 'hooks' is an empty list");
  EXPECT_EQ(mistake("hooks: [compact]").find("/h/x.yaml:1:9: a hook must be a mapping"), 0u);
  EXPECT_EQ(mistake("on: agent_stop\nhooks: [{on: agent_stop, do: compact}]"),
            "/h/x.yaml:1:1: 'on' must be in one of the hooks, not next to 'hooks'");
  EXPECT_EQ(mistake("a: [b").find("/h/x.yaml:"), 0u);
  EXPECT_EQ(mistake("on: agent_stop\ndo: compact\non: turn_end"), "/h/x.yaml:3:1: 'on' is repeated");
  EXPECT_EQ(mistake("hooks:\n  - {name: a, on: turn_end, command: x}\n  - {name: a, on: turn_end, "
                    "command: y}"),
            "/h/x.yaml:3:5: two hooks of this file have the name 'x.a'");
  EXPECT_EQ(mistake("on: \xff"), "/h/x.yaml:1:5: not valid UTF-8: save the file as UTF-8");
  EXPECT_EQ(mistake(std::string(300'000, '#')).find("/h/x.yaml:1:1: the file has more than"), 0u);
}

TEST(Declarative, DoesNotPassOverASecondDocument) {
  EXPECT_EQ(mistake("on: agent_stop\ndo: compact\n---\non: before_tool_call\ndo: block"),
            "/h/x.yaml:4:1: a second document begins here and would be ignored: write one "
            "document, without '---' in it");
  EXPECT_EQ(only("# a comment\n---\non: agent_stop\ndo: compact\n").name, "x");
  EXPECT_EQ(only("on: before_tool_call\ndo:\n  action: block\n  reason: |\n    a\n    ---\n    b\n").name, "x");
}

TEST(Declarative, UsesNothingOfAFileWithAMistake) {
  EXPECT_FALSE(read("hooks:\n  - {on: agent_stop, do: compact}\n  - {on: agent_stop, do: nothing}"));
}

// ---- places inside of texts

// The place of the '?' that no expression has must be where it stands in the file.
void expect_place(const std::string& text) {
  const std::size_t at = text.find('?');
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t begin = text.rfind('\n', at) + 1;
  const std::string place = "/h/x.yaml:" + std::to_string(line) + ":" + std::to_string(at - begin + 1) + ": ";
  EXPECT_EQ(mistake(text).substr(0, place.size()), place) << text << "\n" << mistake(text);
}

TEST(Declarative, NamesThePlaceInsideOfPlainText) {
  expect_place("on: agent_stop\nwhen: a and ? b\ndo: compact");
  expect_place("hooks:\n  - on: agent_stop\n    when:    a ?\n    do: compact");
  expect_place("{on: agent_stop, when: a ? b, do: compact}");
  expect_place("on: agent_stop\ndo: compact\nwhen: a and\n  b and\n\n  c ? d");
  expect_place("on: agent_stop\nwhen:\n  a ?\ndo: compact");
  expect_place("on: agent_stop\nwhen: !!str a ?\ndo: compact");
}

TEST(Declarative, NamesThePlaceInsideOfQuotedText) {
  expect_place("on: agent_stop\nwhen: \"a and ? b\"\ndo: compact");
  expect_place("on: agent_stop\nwhen: 'a and ? b'\ndo: compact");
  expect_place("on: agent_stop\nwhen: 'a == ''it'' and ? b'\ndo: compact");
  expect_place("on: agent_stop\nwhen: \"a == \\\"it\\\" and \\x61 == '\\u00e9' ? b\"\ndo: compact");
  expect_place("on: agent_stop\nwhen: \"a == '\\u00e9\\U0001F600' and ? b\"\ndo: compact");
  expect_place("on: agent_stop\nwhen: \"a and   \n  b and \\\n  ? b\"\ndo: compact");
}

TEST(Declarative, NamesThePlaceInsideOfBlocks) {
  expect_place("on: agent_stop\nwhen: |\n  a and ? b\ndo: compact");
  expect_place("on: agent_stop\nwhen: |-\n  a and\n    b and\n  c and ? d\ndo: compact");
  expect_place("on: agent_stop\nwhen: >\n  a and\n  b and ? c\ndo: compact");
  expect_place("on: agent_stop\nwhen: >-\n\n  a and\n\n\n  b and ? c\ndo: compact");
  expect_place("hooks:\n  - on: agent_stop\n    when: |\n\n      a and\n      ?\n    do: compact");
  expect_place("on: agent_stop\r\nwhen: |\r\n  a and\r\n  b ? c\r\ndo: compact");
}

TEST(Declarative, NamesAPathThatNoPayloadHas) {
  const auto at_stop = [](const std::string& when) {
    return mistake("on: agent_stop\nwhen: " + when + "\ndo: compact");
  };
  EXPECT_EQ(at_stop("usge.input_tokens > 1"), "/h/x.yaml:2:7: agent_stop has no 'usge': did you mean 'usage'?");
  EXPECT_EQ(at_stop("true and context.percnt > 1"),
            "/h/x.yaml:2:16: agent_stop has no 'context.percnt': did you mean 'context.percent'?");
  EXPECT_EQ(at_stop("messages[0].rol == 'x'"),
            "/h/x.yaml:2:7: agent_stop has no 'messages[0].rol': did you mean 'messages[0].role'?");
  EXPECT_EQ(at_stop("messages.role == 'x'"),
            "/h/x.yaml:2:7: agent_stop has a list in 'messages', whose elements are 'messages[0]' "
            "and so on");
  EXPECT_EQ(at_stop("context[0] > 1"), "/h/x.yaml:2:7: agent_stop has no list 'context' to index");
  EXPECT_EQ(at_stop("conv_id.x > 1"),
            "/h/x.yaml:2:7: agent_stop has no 'conv_id.x': 'agentd hooks contract agent_stop' lists "
            "what it has");
  // What only the runtime adds to what a program reads.
  EXPECT_NE(at_stop("hook.attempt > 1"), "no mistake");
  for (const char* const good : {"context.percent > 1 and turn_number > 0", "messages[0].content contains 'x'",
                                 "usage.max_context_window > 0", "agent.depth == 0 or project_id == 'x'"})
    EXPECT_EQ(at_stop(good), "no mistake") << good;
  EXPECT_EQ(mistake("on: [agent_stop, before_tool_call]\nwhen: tool.name == 'x'\ncommand: x"), "no mistake");
  EXPECT_EQ(mistake("on: before_tool_call\nwhen: tool.input.any.thing[3] == 'x'\ncommand: x"), "no mistake");
}

TEST(Declarative, NamesThePlaceOfABadMatcher) {
  EXPECT_EQ(
      mistake_beside_command("matcher: 'Bash('").find("/h/x.yaml:3:10: the matcher 'Bash(' is not a valid regular"),
      0u);
}

// ---- properties

TEST(Declarative, SurvivesRandomChangesOfGoodFiles) {
  std::mt19937 random(99);
  const std::string good = std::string(
                               "hooks:\n  - on: [before_tool_call, agent_stop]\n    when: |\n      messages[0].role "
                               "matches "
                               "'x'\n") +
                           "    command: [a, \"b\\u00e9\"]\n    timeout: 5s\n  - on: agent_stop\n    when: >-\n      "
                           "response\n\n      "
                           "> 'its'\n    do: {action: continue, messages: [a, {role: user, content: b}]}\n";
  ASSERT_TRUE(read(good)) << mistake(good);
  for (int i = 0; i < 4'000; ++i) {
    std::string text = good;
    for (std::size_t j = 1 + random() % 3; j > 0; --j) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = "\n :-|>[]{}'\"\\&*!?#,%a0\xff"[random() % 23];
          break;
        case 1:
          text.erase(at, 1 + random() % 4);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
      }
      if (text.empty()) text = " ";
    }
    const auto hooks = read(text);
    if (hooks) continue;
    ASSERT_EQ(hooks.error().message.find("/h/x.yaml:"), 0u) << hooks.error().message;
  }
}

}  // namespace
}  // namespace agentd
