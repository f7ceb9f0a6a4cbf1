// SPDX-License-Identifier: Apache-2.0
// Claude Code: objects going out, exit codes and outputs coming back.
#include <array>

#include "dialect_support.h"

namespace agentd {
namespace {

constexpr Dialect kClaude = Dialect::kClaude;

Verdict answered(std::uint32_t event, int code, std::string out, std::string err = {}) {
  return verdict_of(kClaude, event, exited(code, std::move(out), std::move(err)));
}

JsonDocument sent(const JsonDocument& payload, std::uint32_t event, const DialectContext& context = {}) {
  return parsed(dialect_input(hook_for(kClaude, event), payload.root(), context));
}

std::vector<std::string> keys_of(JsonView object) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < object.size(); ++i) keys.emplace_back(object.key_at(i));
  return keys;
}

// ---- out

TEST(ClaudeInput, PreToolUseIsClaudesOwnObjectAndNothingElse) {
  const JsonDocument json = sent(bash_payload("git push"), AGENTD_EVENT_BEFORE_TOOL_CALL, {"/t.jsonl", "", "plan", ""});
  const std::vector<std::string> expected{"session_id",      "transcript_path", "cwd",        "permission_mode",
                                          "hook_event_name", "tool_name",       "tool_input", "tool_use_id"};
  EXPECT_EQ(keys_of(json.root()), expected);
  EXPECT_EQ(json.root()["session_id"].string_or(""), "ses_1");
  EXPECT_EQ(json.root()["transcript_path"].string_or(""), "/t.jsonl");
  EXPECT_EQ(json.root()["cwd"].string_or(""), "/work/app");
  EXPECT_EQ(json.root()["permission_mode"].string_or(""), "plan");
  EXPECT_EQ(json.root()["hook_event_name"].string_or(""), "PreToolUse");
  EXPECT_EQ(json.root()["tool_name"].string_or(""), "Bash");
  EXPECT_EQ(json.root()["tool_input"].text(), R"({"command":"git push"})");
  EXPECT_EQ(json.root()["tool_use_id"].string_or(""), "call_1");
}

TEST(ClaudeInput, AModeHasClaudesName) {
  for (const auto& [own, its] : std::vector<std::pair<std::string, std::string>>{{"ask", "default"},
                                                                                 {"accept_edits", "acceptEdits"},
                                                                                 {"plan", "plan"},
                                                                                 {"allow", "bypassPermissions"},
                                                                                 {"deny", "dontAsk"},
                                                                                 {"", "default"}})
    EXPECT_EQ(sent(bash_payload("ls"), AGENTD_EVENT_BEFORE_TOOL_CALL, {"", "", own, ""})
                  .root()["permission_mode"]
                  .string_or(""),
              its);
}

TEST(ClaudeInput, AFileToolHasFilePath) {
  const JsonDocument json =
      sent(tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "write_file", R"({"path":"/a","content":"x"})"),
           AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(json.root()["tool_name"].string_or(""), "Write");
  EXPECT_EQ(json.root()["tool_input"]["file_path"].string_or(""), "/a");
  EXPECT_FALSE(json.root()["tool_input"]["path"].exists());
  EXPECT_EQ(json.root()["permission_mode"].string_or(""), "default");
}

TEST(ClaudeInput, PathsAreAbsoluteAndPlain) {
  const auto key = [](const char* tool, const char* input, const char* name) {
    const JsonDocument json =
        sent(tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, tool, input), AGENTD_EVENT_BEFORE_TOOL_CALL);
    return std::string(json.root()["tool_input"][name].string_or("none"));
  };
  for (const char* const tool : {"read_file", "write_file", "edit_file", "multi_edit"})
    EXPECT_EQ(key(tool, R"({"path":"src//../a.c"})", "file_path"), "/work/app/a.c") << tool;
  for (const char* const tool : {"glob", "grep", "ls"})
    EXPECT_EQ(key(tool, R"({"path":"."})", "path"), "/work/app") << tool;
  EXPECT_EQ(key("notebook_edit", R"({"notebook_path":"n.ipynb"})", "notebook_path"), "/work/app/n.ipynb");
  EXPECT_EQ(key("glob", R"({"pattern":"*"})", "path"), "none");
  EXPECT_EQ(key("bash", R"({"command":"x","path":"a"})", "path"), "a");
  const JsonDocument after =
      sent(tool_payload(AGENTD_EVENT_AFTER_TOOL_CALL, "read_file", R"({"path":"a.c"})"), AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(after.root()["tool_response"]["file"]["filePath"].string_or(""), "/work/app/a.c");
}

TEST(ClaudeInput, PostToolUseHasAResponseObject) {
  const JsonDocument bash = sent(any_payload(AGENTD_EVENT_AFTER_TOOL_CALL), AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(bash.root()["hook_event_name"].string_or(""), "PostToolUse");
  EXPECT_EQ(bash.root()["tool_response"]["stdout"].string_or(""), "done");
  EXPECT_EQ(bash.root()["duration_ms"].int_or(0), 5);
  const JsonDocument edit =
      sent(tool_payload(AGENTD_EVENT_AFTER_TOOL_CALL, "edit_file", R"({"path":"/a"})"), AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(edit.root()["tool_response"]["filePath"].string_or(""), "/a");
  EXPECT_TRUE(edit.root()["tool_response"]["success"].bool_or(false));
}

TEST(ClaudeInput, ResponsesOfSearchesHaveTheKeysOfClaudesOwn) {
  const auto response = [](const char* tool, const char* input, const char* content) {
    const JsonDocument payload = tool_payload(AGENTD_EVENT_AFTER_TOOL_CALL, tool, input, content);
    return std::string(sent(payload, AGENTD_EVENT_AFTER_TOOL_CALL).root()["tool_response"].text());
  };
  EXPECT_EQ(response("glob", R"({"pattern":"*.c"})", "a.c\nsub/b.c\n"),
            R"({"durationMs":5,"filenames":["a.c","sub/b.c"],"numFiles":2,"truncated":false,"totalMatches":2,)"
            R"("countIsComplete":true})");
  EXPECT_EQ(response("glob", R"({"pattern":"*.c"})", "(no file matches)\n"),
            R"({"durationMs":5,"filenames":[],"numFiles":0,"truncated":false,"totalMatches":0,)"
            R"("countIsComplete":true})");
  EXPECT_EQ(response("glob", R"({"pattern":"*"})", "a.c\n[1,200 more files: narrow the pattern or the path]\n"),
            R"({"durationMs":5,"filenames":["a.c"],"numFiles":1,"truncated":true,"totalMatches":1201,)"
            R"("countIsComplete":true})");
  EXPECT_EQ(response("grep", R"({"pattern":"x"})", "a.c\nb.c\n"),
            R"({"mode":"files_with_matches","filenames":["a.c","b.c"],"numFiles":2,"totalFiles":2})");
  EXPECT_EQ(response("grep", R"({"pattern":"x","output_mode":"content"})", "a.c:1:x\na.c-2-y\n"),
            R"({"mode":"content","filenames":[],"content":"a.c:1:x\na.c-2-y","numFiles":0,"numLines":2,)"
            R"("totalLines":2})");
  EXPECT_EQ(response("grep", R"({"pattern":"x","output_mode":"count"})", "a.c:3\nb.c:4\n"),
            R"({"mode":"count","filenames":[],"content":"a.c:3\nb.c:4","numFiles":2,"numMatches":7})");
}

TEST(ClaudeInput, ResponsesOfFileToolsHaveTheKeysOfClaudesOwn) {
  const auto response = [](const char* tool, const char* input, const char* content) {
    const JsonDocument json =
        sent(tool_payload(AGENTD_EVENT_AFTER_TOOL_CALL, tool, input, content), AGENTD_EVENT_AFTER_TOOL_CALL);
    return json.root()["tool_response"].text();
  };
  EXPECT_EQ(response("bash", R"({"command":"x"})", "a\nb\n\n"),
            R"({"stdout":"a\nb","stderr":"","interrupted":false,"isImage":false})");
  EXPECT_EQ(response("read_file", R"({"path":"/a"})", "     1\tone\n     2\t\n"),
            R"({"type":"text","file":{"filePath":"/a","content":"one\n\n","numLines":3,"startLine":1,)"
            R"("totalLines":3}})");
  EXPECT_EQ(response("read_file", R"({"path":"/a","offset":9})", "     9\tnine"),
            R"({"type":"text","file":{"filePath":"/a","content":"nine","numLines":1,"startLine":9}})");
  EXPECT_EQ(response("read_file", R"({"path":"/a"})", "an image"),
            R"({"type":"text","file":{"filePath":"/a","content":"an image"}})");
  EXPECT_EQ(response("write_file", R"({"path":"/a","content":"new"})", "made /a: 3 bytes"),
            R"({"type":"create","filePath":"/a","content":"new","userModified":false,"success":true,)"
            R"("structuredPatch":[],"originalFile":null})");
  EXPECT_EQ(response("write_file", R"({"path":"/a","content":"new"})", "replaced /a: 3 bytes"),
            R"({"type":"update","filePath":"/a","content":"new","userModified":false,"success":true})");
  EXPECT_EQ(response("edit_file", R"({"path":"/a","old_string":"b","new_string":"c"})", "replaced 1 place"),
            R"({"filePath":"/a","oldString":"b","newString":"c","userModified":false,"replaceAll":false,)"
            R"("success":true,"content":"replaced 1 place"})");
}

TEST(ClaudeInput, AnExitCodeStandsBeforeWhatACommandSaid) {
  const auto error = [](const char* text) {
    const JsonDocument json =
        sent(tool_payload(AGENTD_EVENT_TOOL_CALL_FAILED, "bash", "{}", "", false, text), AGENTD_EVENT_TOOL_CALL_FAILED);
    return std::string(json.root()["error"].string_or("none"));
  };
  EXPECT_EQ(error("out\nerr\n[exit code 3]"), "Exit code 3\nout\nerr");
  EXPECT_EQ(error("[exit code 127]"), "Exit code 127");
  EXPECT_EQ(error("see [exit code 3]"), "see [exit code 3]");
  EXPECT_EQ(error("[exit code 3] and more"), "[exit code 3] and more");
  EXPECT_EQ(error("[exit code ]"), "[exit code ]");
}

TEST(ClaudeInput, AFailureHasItsError) {
  const JsonDocument json = sent(tool_payload(AGENTD_EVENT_TOOL_CALL_FAILED, "bash", "{}", "out", false, "exit code 1"),
                                 AGENTD_EVENT_TOOL_CALL_FAILED);
  EXPECT_EQ(json.root()["hook_event_name"].string_or(""), "PostToolUseFailure");
  EXPECT_EQ(json.root()["error"].string_or(""), "exit code 1");
  EXPECT_FALSE(json.root()["tool_response"].exists());
}

TEST(ClaudeInput, LifecycleEventsHaveTheirKeys) {
  const JsonDocument prompt = sent(message_payload("fix it"), AGENTD_EVENT_USER_MESSAGE_SEND);
  EXPECT_EQ(prompt.root()["prompt"].string_or(""), "fix it");
  const JsonDocument start = sent(start_payload(AGENTD_SOURCE_COMPACT), AGENTD_EVENT_SESSION_START);
  EXPECT_EQ(start.root()["source"].string_or(""), "compact");
  EXPECT_EQ(start.root()["model"].string_or(""), "big");
  const JsonDocument stop = sent(stop_payload("Done.", true), AGENTD_EVENT_AGENT_STOP);
  EXPECT_TRUE(stop.root()["stop_hook_active"].bool_or(false));
  EXPECT_EQ(stop.root()["last_assistant_message"].string_or(""), "Done.");
  const JsonDocument compact = sent(compaction_payload(), AGENTD_EVENT_BEFORE_COMPACTION);
  EXPECT_EQ(compact.root()["trigger"].string_or(""), "auto");
  EXPECT_TRUE(compact.root()["custom_instructions"].exists());
  EXPECT_TRUE(compact.root()["custom_instructions"].is_null());
  const JsonDocument manual = sent(compaction_payload(AGENTD_TRIGGER_MANUAL, "names"), AGENTD_EVENT_BEFORE_COMPACTION);
  EXPECT_EQ(manual.root()["custom_instructions"].string_or(""), "names");
}

TEST(ClaudeInput, TheMatcherSeesClaudesNames) {
  const auto subject = [](std::uint32_t event, const JsonDocument& payload) {
    return first_subject(hook_for(kClaude, event), payload.root());
  };
  EXPECT_EQ(subject(AGENTD_EVENT_BEFORE_TOOL_CALL, bash_payload()), "Bash");
  EXPECT_EQ(subject(AGENTD_EVENT_BEFORE_TOOL_CALL, tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "mcp__git__log", "{}")),
            "mcp__git__log");
  EXPECT_EQ(subject(AGENTD_EVENT_SESSION_START, start_payload()), "startup");
  EXPECT_EQ(subject(AGENTD_EVENT_BEFORE_COMPACTION, compaction_payload()), "auto");
  EXPECT_EQ(subject(AGENTD_EVENT_USER_MESSAGE_SEND, message_payload("x")), "");
  EXPECT_EQ(subject(AGENTD_EVENT_AGENT_STOP, stop_payload()), "");
}

TEST(ClaudeInput, WhatScriptsLookForIsInTheEnvironment) {
  const auto expected = [](const char* project) {
    return std::vector<std::string>{std::string("CLAUDE_PROJECT_DIR=") + project, "CLAUDECODE=1",
                                    "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_CHILD_SESSION=1",
                                    "CLAUDE_CODE_SESSION_ID=ses_1"};
  };
  const JsonDocument payload = bash_payload();
  const HookDefinition hook = hook_for(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(dialect_environment(hook, payload.root(), {"", "", "", "/repo"}), expected("/repo"));
  EXPECT_EQ(dialect_environment(hook, payload.root(), {}), expected("/work/app"));
}

// ---- exit codes

TEST(ClaudeExit, TwoBlocksWithStandardErrorAndIgnoresTheOutput) {
  for (const char* const out : {"", "{}", R"({"decision":"approve"})", "{\"broken", "text"}) {
    const Action action = only_action(answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 2, out, "no pushing\nplease\n"));
    EXPECT_EQ(action.kind, AGENTD_ACT_BLOCK) << out;
    EXPECT_EQ(action.text, "no pushing\nplease") << out;
  }
}

TEST(ClaudeExit, TwoWithNothingOnStandardErrorBlocks) {
  for (const std::uint32_t event : {AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_PERMISSION_REQUEST,
                                    AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_BEFORE_COMPACTION}) {
    const Action action = only_action(answered(event, 2, ""));
    EXPECT_EQ(action.kind, AGENTD_ACT_BLOCK);
    EXPECT_EQ(action.text, "the hook guard blocked it and gave no reason");
  }
}

TEST(ClaudeExit, TwoMeansWhatTheEventCanDo) {
  EXPECT_EQ(only_action(answered(AGENTD_EVENT_AGENT_STOP, 2, "", "tests fail")).kind, AGENTD_ACT_CONTINUE);
  EXPECT_EQ(only_action(answered(AGENTD_EVENT_SUBAGENT_STOP, 2, "")).kind, AGENTD_ACT_CONTINUE);
  const Action feedback = only_action(answered(AGENTD_EVENT_AFTER_TOOL_CALL, 2, "", "lint failed"));
  EXPECT_EQ(feedback.kind, AGENTD_ACT_INJECT_CONTEXT);
  EXPECT_EQ(feedback.text, "lint failed");
  const Verdict start = answered(AGENTD_EVENT_SESSION_START, 2, "", "no config");
  EXPECT_EQ(only_action(start).kind, AGENTD_ACT_SYSTEM_MESSAGE);
  EXPECT_TRUE(any_contains(start.warnings, "exit code 2 cannot stop anything at SessionStart"));
  const Verdict agent = answered(AGENTD_EVENT_SUBAGENT_START, 2, "", "no");
  EXPECT_EQ(only_action(agent).kind, AGENTD_ACT_SYSTEM_MESSAGE) << "Claude starts the agent";
  EXPECT_TRUE(answered(AGENTD_EVENT_AGENT_ERROR, 2, "", "x").actions.empty());
}

// A session begins there whatever its hooks say: Claude Code takes their context alone.
TEST(ClaudeAnswer, ContinueFalseEndsNoSessionAtItsStartAndIsTold) {
  const Verdict start =
      answered(AGENTD_EVENT_SESSION_START, 0, R"({"continue":false,"stopReason":"the budget is spent"})");
  const Action told = only_action(start);
  EXPECT_EQ(told.kind, AGENTD_ACT_SYSTEM_MESSAGE);
  EXPECT_EQ(told.text, "the budget is spent");
  EXPECT_TRUE(any_contains(start.warnings, "continue: false cannot stop anything at SessionStart"));
  const Verdict message =
      answered(AGENTD_EVENT_USER_MESSAGE_SEND, 0, R"({"continue":false,"stopReason":"the budget is spent"})");
  EXPECT_EQ(only_action(message).kind, AGENTD_ACT_STOP_RUN) << "the next event ends the run";
}

TEST(ClaudeExit, AnotherCodeIsAFailureAndNeverAnAnswer) {
  for (const int code : {1, 3, 126, 127}) {
    const Verdict verdict = answered(AGENTD_EVENT_BEFORE_TOOL_CALL, code,
                                     R"({"hookSpecificOutput":{"permissionDecision":"allow"}})", "command not found");
    EXPECT_TRUE(verdict.failed);
    EXPECT_TRUE(verdict.actions.empty());
    EXPECT_TRUE(contains(verdict.failure.text, "command not found"));
  }
}

// Seen of Claude Code itself: a hook that says no and then fails has said no.
TEST(ClaudeExit, AnotherCodeTakesNothingBackThatWasRefused) {
  const Verdict denied =
      answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 1,
               R"({"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no",)"
               R"("updatedInput":{"command":"x"}}})");
  EXPECT_FALSE(denied.failed);
  ASSERT_EQ(denied.actions.size(), 1u) << "what it changes does not stand";
  EXPECT_EQ(denied.actions[0].kind, AGENTD_ACT_BLOCK);
  EXPECT_EQ(denied.actions[0].text, "no");
  EXPECT_TRUE(any_contains(denied.warnings, "it exited with code 1"));
  const Verdict asks =
      answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 3, R"({"hookSpecificOutput":{"permissionDecision":"ask"}})");
  EXPECT_EQ(only_action(asks).code, AGENTD_PERMISSION_ASK);
  const Verdict stop = answered(AGENTD_EVENT_AGENT_STOP, 1, R"({"decision":"block","reason":"more"})");
  EXPECT_EQ(only_action(stop).kind, AGENTD_ACT_CONTINUE);
  EXPECT_TRUE(answered(AGENTD_EVENT_SESSION_START, 1, "some text").failed);
  EXPECT_TRUE(answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 1, R"({"decision":"block")").failed);
}

TEST(ClaudeExit, WhatAFailedHookHidesIsHiddenAndAGuardsFailureIsOne) {
  constexpr const char* kHides = R"({"hookSpecificOutput":{"updatedToolOutput":"[gone]"}})";
  HookDefinition hook = hook_for(kClaude, AGENTD_EVENT_AFTER_TOOL_CALL);
  const JsonDocument payload = any_payload(AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(only_action(interpret(hook, payload.root(), exited(1, kHides))).text, "[gone]");
  hook.on_failure = FailurePolicy::kClosed;
  EXPECT_TRUE(interpret(hook, payload.root(), exited(1, kHides)).failed);
}

TEST(ClaudeExit, ASignalIsAFailureWhateverWasWritten) {
  RawAnswer answer = exited(15, R"({"hookSpecificOutput":{"permissionDecision":"allow"}})");
  answer.end = RawAnswer::End::kSignalled;
  const Verdict verdict = verdict_of(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL, answer);
  EXPECT_TRUE(verdict.failed && verdict.actions.empty());
  EXPECT_EQ(verdict.failure.text, "it was killed by signal 15");
  answer.code = 2;  // an interrupt is no exit code 2
  EXPECT_EQ(verdict_of(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL, answer).failure.text, "it was killed by signal 2");
  answer.end = RawAnswer::End::kTimedOut;
  EXPECT_TRUE(verdict_of(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL, answer).timed_out);
}

// ---- output

TEST(ClaudeOutput, TextIsContextWhereClaudeTakesIt) {
  for (const std::uint32_t event :
       {AGENTD_EVENT_SESSION_START, AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_SUBAGENT_START}) {
    const Action action = only_action(answered(event, 0, "branch: main\n"));
    EXPECT_EQ(action.kind, AGENTD_ACT_INJECT_CONTEXT);
    EXPECT_EQ(action.text, "branch: main");
  }
  const Action more = only_action(answered(AGENTD_EVENT_BEFORE_COMPACTION, 0, "keep the plan"));
  EXPECT_EQ(more.target, AGENTD_KEY_CUSTOM_INSTRUCTIONS);
  EXPECT_EQ(more.text, "keep the plan");
}

TEST(ClaudeOutput, TextElsewhereIsNothing) {
  for (const std::uint32_t event :
       {AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_EVENT_AGENT_STOP}) {
    const Verdict verdict = answered(event, 0, "formatted 3 files");
    EXPECT_TRUE(verdict.actions.empty() && !verdict.failed && verdict.warnings.empty());
  }
}

TEST(ClaudeOutput, ALogLineBeforeADenyIsNoAllow) {
  const std::string deny = R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}})";
  const Verdict verdict = answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, "checking policy...\n" + deny + "\n");
  EXPECT_TRUE(verdict.failed);
  EXPECT_TRUE(contains(verdict.failure.text, "text precedes the JSON object")) << verdict.failure.text;
}

TEST(ClaudeOutput, JsonInContextIsContext) {
  const std::string text = "package.json:\n{\n  \"name\": \"app\"\n}";
  EXPECT_EQ(only_action(answered(AGENTD_EVENT_SESSION_START, 0, text)).text, text);
}

TEST(ClaudeOutput, BrokenOutputIsAFailure) {
  for (const char* const out : {"{\"decision\":\"blo", "{} {}", "{\"a\":\"\xff\"}"})
    EXPECT_TRUE(answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, out).failed) << out;
}

struct OneAnswer {
  std::uint32_t event;
  const char* json;
  std::uint32_t kind;
  const char* text;
};

TEST(ClaudeOutput, EachFieldIsItsAction) {
  const std::array<OneAnswer, 21> table{{
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"decision":"block","reason":"r"})", AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"decision":"approve","reason":"r"})", AGENTD_ACT_PERMISSION, "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"continue":false,"stopReason":"s"})", AGENTD_ACT_STOP_RUN, "s"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL,
       R"({"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}})", AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL,
       R"({"hook_specific_output":{"permission_decision":"deny",)"
       R"("permission_decision_reason":"r"}})",
       AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL,
       R"({"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"r"}})", AGENTD_ACT_PERMISSION,
       "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"hookSpecificOutput":{"updatedInput":{"command":"ls","timeout":9}}})",
       AGENTD_ACT_REPLACE_TEXT, R"({"command":"ls","timeout_ms":9})"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"hookSpecificOutput":{"additionalContext":"c"}})", AGENTD_ACT_INJECT_CONTEXT,
       "c"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"systemMessage":"m","suppressOutput":true})", AGENTD_ACT_SYSTEM_MESSAGE, "m"},
      {AGENTD_EVENT_PERMISSION_REQUEST,
       R"({"hookSpecificOutput":{"decision":{"behavior":"deny","message":"r","interrupt":true}}})", AGENTD_ACT_STOP_RUN,
       "r"},
      {AGENTD_EVENT_PERMISSION_REQUEST, R"({"hookSpecificOutput":{"decision":{"behavior":"allow"}}})",
       AGENTD_ACT_PERMISSION, ""},
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"decision":"block","reason":"r"})", AGENTD_ACT_INJECT_CONTEXT, "r"},
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"hookSpecificOutput":{"updatedToolOutput":"t"}})", AGENTD_ACT_REPLACE_TEXT,
       "t"},
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"hookSpecificOutput":{"updatedToolOutput":{"stdout":"a","stderr":"b"}}})",
       AGENTD_ACT_REPLACE_TEXT, "a\nb"},
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"hookSpecificOutput":{"updatedMCPToolOutput":[{"type":"text","text":"t"}]}})",
       AGENTD_ACT_REPLACE_TEXT, "t"},
      {AGENTD_EVENT_TOOL_CALL_FAILED, R"({"hookSpecificOutput":{"additionalContext":"c"}})", AGENTD_ACT_INJECT_CONTEXT,
       "c"},
      {AGENTD_EVENT_USER_MESSAGE_SEND, R"({"decision":"block","reason":"r"})", AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_AGENT_STOP, R"({"decision":"block","reason":"r"})", AGENTD_ACT_CONTINUE, "r"},
      {AGENTD_EVENT_SUBAGENT_STOP, R"({"decision":"block","reason":"r"})", AGENTD_ACT_CONTINUE, "r"},
      {AGENTD_EVENT_BEFORE_COMPACTION, R"({"decision":"block","reason":"r"})", AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_SESSION_START, R"({"hookSpecificOutput":{"sessionTitle":"t"}})", AGENTD_ACT_SET, "t"},
  }};
  for (const OneAnswer& row : table) {
    SCOPED_TRACE(row.json);
    const Verdict verdict = answered(row.event, 0, row.json);
    const Action action = only_action(verdict);
    EXPECT_EQ(action.kind, row.kind);
    EXPECT_EQ(action.text, row.text);
    EXPECT_TRUE(verdict.warnings.empty()) << verdict.warnings[0];
  }
}

TEST(ClaudeOutput, NothingToSayIsNoOpinion) {
  for (const char* const out : {"", "{}", R"({"continue":true,"suppressOutput":true})", R"({"reason":"unused"})",
                                R"({"systemMessage":null})", R"({"async":true,"asyncTimeout":30})"}) {
    const Verdict verdict = answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, out);
    EXPECT_TRUE(verdict.actions.empty() && !verdict.failed) << out;
    EXPECT_TRUE(verdict.warnings.empty()) << out;
  }
}

TEST(ClaudeOutput, ARewriteIsTheWholeInputInOurKeys) {
  const JsonDocument payload =
      tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "edit_file", R"({"path":"/a","old_string":"x","new_string":"y"})");
  const Verdict verdict =
      interpret(hook_for(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL), payload.root(),
                exited(0, R"({"hookSpecificOutput":{"updatedInput":{"file_path":"/b","old_string":"x"}}})"));
  EXPECT_EQ(only_action(verdict).text, R"({"path":"/b","old_string":"x"})");
}

TEST(ClaudeOutput, ContinueFalseBeatsTheDecision) {
  const Verdict stop = answered(AGENTD_EVENT_AGENT_STOP, 0,
                                R"({"continue":false,"stopReason":"enough","decision":"block","reason":"go on"})");
  EXPECT_EQ(only_action(stop).kind, AGENTD_ACT_STOP_RUN);
  EXPECT_EQ(only_action(stop).text, "enough");
  const Verdict tool =
      answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, R"({"continue":false,"decision":"approve","reason":"r"})");
  EXPECT_EQ(tool.actions[0].kind, AGENTD_ACT_STOP_RUN);
}

TEST(ClaudeOutput, ContinueFalseEndsTheRunWhereverThereIsOne) {
  for (const std::uint32_t event :
       {AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_EVENT_TOOL_CALL_FAILED,
        AGENTD_EVENT_PERMISSION_REQUEST, AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_AGENT_STOP,
        AGENTD_EVENT_SUBAGENT_START, AGENTD_EVENT_SUBAGENT_STOP, AGENTD_EVENT_BEFORE_COMPACTION}) {
    const Action action = only_action(answered(event, 0, R"({"continue":false,"stopReason":"s"})"));
    EXPECT_EQ(action.kind, AGENTD_ACT_STOP_RUN) << event;
    EXPECT_EQ(action.text, "s");
    EXPECT_EQ(only_action(answered(event, 0, R"({"continue":false})")).text,
              "the hook guard ended the run and gave no reason");
  }
}

TEST(ClaudeOutput, DeferLetsTheRunWait) {
  const Verdict verdict =
      answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, R"({"hookSpecificOutput":{"permissionDecision":"defer"}})");
  EXPECT_EQ(only_action(verdict).code, AGENTD_PERMISSION_DEFER);
  EXPECT_TRUE(verdict.warnings.empty());
}

TEST(ClaudeOutput, AnAllowOfAnotherInputIsNoAllow) {
  const Verdict verdict = answered(AGENTD_EVENT_PERMISSION_REQUEST, 0,
                                   R"({"hookSpecificOutput":{"decision":{"behavior":"allow",)"
                                   R"("updatedInput":{"command":"ls"}}}})");
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_TRUE(any_contains(verdict.warnings, "allow of another input"));
}

TEST(ClaudeOutput, AWrongWordOrTypeIsAFailure) {
  const std::array<std::pair<const char*, const char*>, 7> table{{
      {R"({"decision":"maybe"})", "'decision' must be approve or block"},
      {R"({"decision":true})", "'decision' must be a text"},
      {R"({"continue":"no"})", "'continue' must be true or false"},
      {R"({"hookSpecificOutput":"deny"})", "'hookSpecificOutput' must be an object"},
      {R"({"hookSpecificOutput":{"permissionDecision":"denied"}})",
       "'hookSpecificOutput.permissionDecision' must be allow, deny, ask or defer, not 'denied'"},
      {R"({"hookSpecificOutput":{"updatedInput":"ls"}})", "must be an object, not a text"},
      {R"({"hookSpecificOutput":{"decision":{"behavior":"maybe"}}})", "must be allow or deny"},
  }};
  for (const auto& [json, part] : table) {
    const Verdict verdict = answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, json);
    EXPECT_TRUE(verdict.failed && verdict.actions.empty()) << json;
    EXPECT_TRUE(contains(verdict.failure.text, part)) << verdict.failure.text;
  }
}

TEST(ClaudeOutput, DenyIsUnderstoodAsBlock) {
  EXPECT_EQ(only_action(answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, R"({"decision":"deny"})")).kind, AGENTD_ACT_BLOCK);
}

TEST(ClaudeOutput, WhatCannotBeHonouredIsAWarning) {
  const std::array<std::pair<std::uint32_t, const char*>, 7> table{{
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"permissionDecision":"deny"})"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"hookSpecificOutput":{"permisionDecision":"deny"}})"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"terminalSequence":"x"})"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"hookSpecificOutput":{"watchPaths":["x"]}})"},
      {AGENTD_EVENT_AGENT_STOP, R"({"hookSpecificOutput":{"permissionDecision":"ask"}})"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"hookSpecificOutput":{"updatedToolOutput":"x"}})"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"hookSpecificOutput":{"hookEventName":"Stop"}})"},
  }};
  for (const auto& [event, json] : table) {
    const Verdict verdict = answered(event, 0, json);
    EXPECT_TRUE(verdict.actions.empty()) << json;
    EXPECT_EQ(verdict.warnings.size(), 1u) << json;
  }
  EXPECT_TRUE(any_contains(answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, table[1].second).warnings,
                           "did you mean 'hookSpecificOutput.permissionDecision'?"));
}

TEST(ClaudeOutput, AWebhooksBodyIsReadAsExitZero) {
  HookDefinition hook = hook_for(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL);
  hook.runs = HookRuns::kWebhook;
  RawAnswer answer = exited(0, R"({"decision":"block","reason":"no"})");
  answer.http_status = 200;
  const JsonDocument payload = bash_payload();
  EXPECT_EQ(only_action(interpret(hook, payload.root(), answer)).text, "no");
  answer.http_status = 302;
  EXPECT_TRUE(interpret(hook, payload.root(), answer).failed);
}

// ---- if

struct OneRule {
  const char* rule;
  const char* tool;
  const char* input;
  bool holds;
};

TEST(ClaudeIf, RulesHoldForTheirCalls) {
  const std::array<OneRule, 41> table{{
      {"", "bash", R"({"command":"x"})", true},
      {"Bash", "bash", R"({"command":"x"})", true},
      {"Bash", "grep", R"({"pattern":"x"})", false},
      {"bash(git *)", "bash", R"({"command":"git log"})", true},
      {"Bash(git *)", "bash", R"({"command":"git push -f"})", true},
      {"Bash(git *)", "bash", R"({"command":"git"})", true},
      {"Bash(git *)", "bash", R"({"command":"gitk"})", false},
      {"Bash(git:*)", "bash", R"({"command":"git push"})", true},
      {"Bash(git:*)", "bash", R"({"command":"gitk"})", false},
      {"Bash(npm run test)", "bash", R"({"command":"npm run test"})", true},
      {"Bash(npm run test)", "bash", R"({"command":"npm run test:e2e"})", false},
      {"Bash(* --force*)", "bash", R"({"command":"git push --force origin"})", true},
      // Whatever part of the line the shell may run by itself.
      {"Bash(rm *)", "bash", R"({"command":"cd /tmp && rm -rf x"})", true},
      {"Bash(rm *)", "bash", R"({"command":"true; rm x"})", true},
      {"Bash(rm *)", "bash", R"({"command":"FOO=1 BAR=2 rm x"})", true},
      {"Bash(rm *)", "bash", R"j({"command":"echo $(rm x)"})j", true},
      {"Bash(rm *)", "bash", R"({"command":"! rm x | cat"})", true},
      {"Bash(rm *)", "bash", R"({"command":"echo rm"})", false},
      // A guard reads no command: it is asked.
      {"Bash(rm *)", "bash", R"({"cmd":"rm"})", true},
      {"Bash(rm *)", "bash", R"({"command":7})", true},
      {"Bash(rm *)", "bash", R"("half {")", true},
      {"Edit(src/**)", "edit_file", R"({"path":"/work/app/src/a/b.ts"})", true},
      {"Edit(src/**)", "edit_file", R"({"path":"src/a.ts"})", true},
      {"Edit(src/**)", "edit_file", R"({"path":"/work/app/lib/a.ts"})", false},
      {"Edit(src/**)", "edit_file", R"({"path":"lib/../src/a.ts"})", true},
      {"Edit(src/**)", "edit_file", R"({"path":"src/../lib/a.ts"})", false},
      {"Edit(src/**)", "write_file", R"({"path":"src/a.ts"})", true},
      {"Edit(src/**)", "read_file", R"({"path":"src/a.ts"})", false},
      {"Edit(*.ts)", "edit_file", R"({"path":"/work/app/src/deep/a.ts"})", true},
      {"Edit(*.ts)", "edit_file", R"({"path":"a.tsx"})", false},
      {"Edit(/src/*.ts)", "edit_file", R"({"path":"src/a.ts"})", true},
      {"Edit(/src/*.ts)", "edit_file", R"({"path":"src/b/a.ts"})", false},
      {"Read(//etc/**)", "read_file", R"({"path":"/etc/passwd"})", true},
      {"Read(//etc/**)", "read_file", R"({"path":"/work/etc/passwd"})", false},
      {"Read(~/.ssh/**)", "read_file", R"({"path":"/home/u/.ssh/id"})", true},
      {"Read(.env)", "grep", R"({"path":"config/.env"})", true},
      {"Read(secrets)", "read_file", R"({"path":"a/secrets/key"})", true},
      {"mcp__git", "mcp__git__push", "{}", true},
      {"mcp__git__*", "mcp__git__push", "{}", true},
      {"mcp__git__*", "mcp__github__push", "{}", false},
      {"WebFetch(domain:example.com)", "web_fetch", R"({"url":"https://a.example.com:8/x"})", true},
  }};
  for (const OneRule& row : table) {
    HookDefinition hook = hook_for(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL);
    hook.if_rule = row.rule;
    const JsonDocument payload = tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, row.tool, row.input);
    const auto holds = if_rule_holds(hook, payload.root());
    ASSERT_TRUE(holds) << row.rule << ": " << (holds ? "" : holds.error().message);
    EXPECT_EQ(*holds, row.holds) << row.rule << " " << row.input;
  }
}

TEST(ClaudeIf, ACommandIsSeenHoweverTheShellIsToldToRunIt) {
  HookDefinition hook = hook_for(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL);
  hook.if_rule = "Bash(touch *)";
  for (const char* const command :
       {"touch x", "touch\\tx", "if true; then touch x; fi", "time touch x", "nohup touch x", "exec touch x",
        "command touch x", "env A=1 touch x", "\\\"touch\\\" x", ">y touch x", "while :; do touch x; done",
        "sudo touch x", "a && 'touch' x", "bash -c 'touch x'"}) {
    const JsonDocument payload =
        tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "bash", R"({"command":")" + std::string(command) + "\"}");
    const auto holds = if_rule_holds(hook, payload.root());
    ASSERT_TRUE(holds) << command;
    EXPECT_TRUE(*holds) << command;
  }
  for (const char* const command : {"ls touch", "retouch x", "echo x"}) {
    const JsonDocument payload =
        tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "bash", R"({"command":")" + std::string(command) + "\"}");
    EXPECT_FALSE(*if_rule_holds(hook, payload.root())) << command;
  }
}

TEST(ClaudeIf, AnotherDomainIsAnother) {
  HookDefinition hook = hook_for(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL);
  hook.if_rule = "WebFetch(domain:example.com)";
  const JsonDocument payload =
      tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "web_fetch", R"({"url":"https://notexample.com/example.com"})");
  EXPECT_FALSE(*if_rule_holds(hook, payload.root()));
}

TEST(ClaudeIf, ARuleThatCannotBeReadSaysSo) {
  HookDefinition hook = hook_for(kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL);
  const JsonDocument payload = bash_payload();
  for (const char* const rule : {"Bash(git *", "(git *)", "Bash git", "Edit|Write", "Bash(x) y"}) {
    hook.if_rule = rule;
    const auto holds = if_rule_holds(hook, payload.root());
    ASSERT_FALSE(holds) << rule;
    EXPECT_EQ(holds.error().code, Code::kInvalid);
    EXPECT_TRUE(contains(holds.error().message, rule)) << holds.error().message;
  }
}

}  // namespace
}  // namespace agentd
