// SPDX-License-Identifier: Apache-2.0
// docker-agent's hooks: what they read, what they answer, and what happens when they do not.
#include <array>

#include "dialect_support.h"

namespace agentd {
namespace {

HookDefinition docker_hook(std::string_view name) {
  HookDefinition hook = hook_for(Dialect::kDocker, canonical_event(Dialect::kDocker, name));
  hook.foreign_event = std::string(name);
  return hook;
}

Verdict docker_verdict(std::string_view name, const RawAnswer& answer, bool strict = false) {
  HookDefinition hook = docker_hook(name);
  hook.strict_output = strict;
  return interpret(hook, any_payload(hook.event).root(), answer);
}

Verdict says(std::string_view name, std::string output, bool strict = false) {
  return docker_verdict(name, exited(0, std::move(output)), strict);
}

JsonDocument seen_by(std::string_view name, JsonView payload) {
  return parsed(dialect_input(docker_hook(name), payload, {}));
}

// The first definition of one handler below one event.
HookDefinition defined(const std::string& event, const std::string& more) {
  const std::string yaml = "hooks:\n  " + event + ":\n    - type: command\n      command: guard\n" + more;
  auto set = read_settings(Dialect::kDocker, yaml, "agent.yaml", "docker");
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  EXPECT_FALSE(set->hooks.empty());
  return set->hooks.empty() ? HookDefinition{} : set->hooks[0];
}

// ---- the policy matrix

struct Break {
  const char* name;
  RawAnswer answer;
  bool timed_out;
};

std::vector<Break> breaks() {
  RawAnswer error, timeout;
  error.end = RawAnswer::End::kNotStarted;
  error.problem = "starting guard: no such file";
  timeout.end = RawAnswer::End::kTimedOut;
  timeout.out = R"({"hook_specific_output":{"permission_decision":"allow"}})";
  return {{"error", error, false},
          {"timeout", timeout, true},
          {"exit 1", exited(1, R"({"decision":"block"})", "oops"), false},
          {"exit 127", exited(127, "", "guard: not found"), false},
          {"cut JSON", exited(0, R"({"decision":)"), false},
          {"bad decision", exited(0, R"({"decision":"blok"})"), false},
          {"bad permission", exited(0, R"({"hook_specific_output":{"permission_decision":"alow"}})"), false}};
}

TEST(DockerPolicy, EveryFailureFollowsTheEventAndOnError) {
  for (const std::string event : {"pre_tool_use", "tool_guard", "tool_input_transform", "before_llm_call"})
    for (const std::string policy : {"", "warn", "ignore", "block"})
      for (const Break& broken : breaks()) {
        const HookDefinition hook = defined(event, policy.empty() ? "" : "      on_error: " + policy + "\n");
        const Verdict verdict = interpret(hook, any_payload(hook.event).root(), broken.answer);
        const std::string what = event + "/" + policy + "/" + broken.name;
        EXPECT_TRUE(verdict.failed) << what;
        EXPECT_FALSE(verdict.failure.text.empty()) << what;
        EXPECT_EQ(verdict.timed_out, broken.timed_out) << what;
        EXPECT_TRUE(verdict.actions.empty()) << what;
        const bool closed = event == "pre_tool_use" || event == "tool_guard" || policy == "block";
        EXPECT_EQ(hook.on_failure, closed ? FailurePolicy::kClosed : FailurePolicy::kOpen) << what;
      }
}

TEST(DockerPolicy, TheEventsThatFailClosedAreGuards) {
  EXPECT_TRUE(defined("tool_guard", "").guard);
  EXPECT_TRUE(defined("pre_tool_use", "      on_error: ignore\n").guard);
  EXPECT_FALSE(defined("tool_input_transform", "").guard);
  EXPECT_FALSE(defined("post_tool_use", "").guard);
}

TEST(DockerPolicy, BlockOnAnEventThatCannotBlockStaysOpen) {
  EXPECT_EQ(defined("turn_end", "      on_error: block\n").on_failure, FailurePolicy::kOpen);
}

// ---- exit codes

TEST(DockerExit, TwoBlocksWithTheReasonOfStandardError) {
  const Action action =
      only_action(docker_verdict("pre_tool_use", exited(2, R"({"decision":"approve"} rest)", " not here \n")));
  EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_BLOCK));
  EXPECT_EQ(action.text, "not here");
}

TEST(DockerExit, TwoWithNothingOnStandardErrorStillBlocks) {
  for (const char* event : {"tool_input_transform", "tool_guard", "pre_tool_use", "permission_request",
                            "user_prompt_submit", "before_llm_call", "pre_compact", "before_compaction"}) {
    const Action action = only_action(docker_verdict(event, exited(2)));
    EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_BLOCK)) << event;
    EXPECT_FALSE(action.text.empty()) << event;
  }
}

TEST(DockerExit, TwoWhereNothingCanBeBlockedIsAWarning) {
  for (const char* event : {"stop", "session_start", "turn_start", "tool_response_transform", "post_tool_use",
                            "turn_end", "notification"}) {
    const Verdict verdict = docker_verdict(event, exited(2, "", "no more"));
    EXPECT_FALSE(verdict.failed) << event;
    EXPECT_TRUE(verdict.actions.empty()) << event;
    EXPECT_TRUE(any_contains(verdict.warnings, "no more")) << event;
    EXPECT_TRUE(any_contains(verdict.warnings, event)) << event;
  }
}

TEST(DockerExit, DeathBySignalIsAFailureWhateverWasWritten) {
  RawAnswer answer = exited(9, R"({"hook_specific_output":{"permission_decision":"allow"}})");
  answer.end = RawAnswer::End::kSignalled;
  const Verdict verdict = docker_verdict("tool_guard", answer);
  EXPECT_TRUE(verdict.failed);
  EXPECT_TRUE(verdict.actions.empty());
}

// ---- standard output

TEST(DockerOutput, NothingIsNoOpinion) {
  for (const char* out : {"", " \n\t", "{}", "null_is_text_elsewhere"}) {
    const Verdict verdict = says("post_tool_use", out);
    EXPECT_FALSE(verdict.failed) << out;
    EXPECT_TRUE(verdict.actions.empty()) << out;
  }
}

TEST(DockerOutput, TextBehindTheObjectIsAnError) {
  for (const char* out : {"{} {}", "{} done", R"({"decision":"block"}{})"})
    EXPECT_TRUE(says("tool_input_transform", out).failed) << out;
}

TEST(DockerOutput, PlainTextIsContextWhereTheEventTakesIt) {
  EXPECT_EQ(only_action(says("session_start", "  be brief\n")).text, "be brief");
  EXPECT_EQ(only_action(says("user_prompt_submit", "be brief")).kind,
            static_cast<std::uint32_t>(AGENTD_ACT_INJECT_CONTEXT));
  EXPECT_EQ(only_action(says("turn_start", "be brief")).kind, static_cast<std::uint32_t>(AGENTD_ACT_INJECT_CONTEXT));
  EXPECT_TRUE(says("stop", "be brief").actions.empty());
}

TEST(DockerOutput, PlainTextOfPreCompactSteersTheSummary) {
  const Action action = only_action(says("pre_compact", "keep the file names"));
  EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_SET));
  EXPECT_EQ(action.target, static_cast<std::uint32_t>(AGENTD_KEY_CUSTOM_INSTRUCTIONS));
  EXPECT_EQ(action.text, "keep the file names");
}

TEST(DockerOutput, PlainTextOfAGuardIsNoVerdictAndSaysSo) {
  const Verdict verdict = says("tool_guard", "denied!");
  EXPECT_FALSE(verdict.failed);
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_TRUE(any_contains(verdict.warnings, "denied!"));
}

TEST(DockerOutput, AnAnswerBehindALogLineIsAFailureAndNotNoOpinion) {
  EXPECT_TRUE(says("tool_guard", "checking\n{\"decision\":\"block\"}").failed);
}

TEST(DockerOutput, BlockAndContinueBlock) {
  EXPECT_EQ(only_action(says("pre_tool_use", R"({"decision":"block","reason":"no"})")).text, "no");
  EXPECT_EQ(only_action(says("before_llm_call", R"({"continue":false,"stop_reason":"spent"})")).text, "spent");
  EXPECT_EQ(only_action(says("before_compaction", R"({"continue":false})")).kind,
            static_cast<std::uint32_t>(AGENTD_ACT_BLOCK));
  EXPECT_TRUE(says("pre_tool_use", R"({"continue":true,"stop_reason":"unused"})").actions.empty());
}

TEST(DockerOutput, ABlockWhereNothingCanBeBlockedIsAWarning) {
  for (const char* out : {R"({"decision":"block"})", R"({"continue":false})",
                          R"({"hook_specific_output":{"permission_decision":"deny"}})"}) {
    const Verdict verdict = says("stop", out);
    EXPECT_FALSE(verdict.failed) << out;
    EXPECT_TRUE(verdict.actions.empty()) << out;
    EXPECT_EQ(verdict.warnings.size(), 1u) << out;
  }
}

TEST(DockerOutput, ApproveIsNotAWordOfThisDialect) {
  EXPECT_TRUE(says("pre_tool_use", R"({"decision":"approve"})").failed);
}

TEST(DockerOutput, PermissionVerdicts) {
  const auto verdict = [](std::string_view event, const char* word) {
    return says(event, std::string(R"({"hook_specific_output":{"permission_decision":")") + word +
                           R"(","permission_decision_reason":"r"}})");
  };
  EXPECT_EQ(only_action(verdict("tool_guard", "deny")).code, AGENTD_PERMISSION_DENY);
  EXPECT_EQ(only_action(verdict("tool_guard", "deny")).text, "r");
  EXPECT_EQ(only_action(verdict("tool_guard", "ask")).code, AGENTD_PERMISSION_ASK);
  EXPECT_TRUE(verdict("tool_guard", "allow").actions.empty()) << "a guard never approves";
  EXPECT_EQ(only_action(verdict("pre_tool_use", "allow")).code, AGENTD_PERMISSION_ALLOW);
  EXPECT_EQ(only_action(verdict("permission_request", "allow")).code, AGENTD_PERMISSION_ALLOW);
  EXPECT_EQ(only_action(verdict("permission_request", "deny")).code, AGENTD_PERMISSION_DENY);
  EXPECT_TRUE(verdict("tool_input_transform", "deny").actions.empty());
  EXPECT_EQ(verdict("tool_input_transform", "deny").warnings.size(), 1u);
}

TEST(DockerOutput, BothSpellingsAreRead) {
  EXPECT_EQ(only_action(says("tool_guard", R"({"hookSpecificOutput":{"permissionDecision":"ask"}})")).code,
            AGENTD_PERMISSION_ASK);
}

TEST(DockerOutput, AWrongTypeIsAFailure) {
  for (const char* out : {R"({"decision":1})", R"({"continue":"false"})", R"({"hook_specific_output":[]})",
                          R"({"hook_specific_output":{"updated_input":"x"}})"})
    EXPECT_TRUE(says("pre_tool_use", out).failed) << out;
}

TEST(DockerOutput, UpdatedInputIsAPatchOverTheArguments) {
  const auto payload = tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "bash", R"({"command":"ls","description":"list"})");
  const HookDefinition hook = docker_hook("tool_input_transform");
  const Verdict verdict =
      interpret(hook, payload.root(), exited(0, R"({"hook_specific_output":{"updated_input":{"cmd":"ls -h"}}})"));
  const auto made = parsed(only_action(verdict).text);
  EXPECT_EQ(made.root()["command"].string_or(""), "ls -h");
  EXPECT_EQ(made.root()["description"].string_or(""), "list");
}

// Each hook of a chain sees what the one before it made, as the dispatcher shows it.
TEST(DockerOutput, PatchesChain) {
  std::string input = R"({"command":"ls","description":"list"})";
  for (const char* patch : {R"({"cmd":"ls -l"})", R"({"cwd":"/tmp"})"}) {
    const auto payload = tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "bash", input);
    const Verdict verdict =
        interpret(docker_hook("tool_input_transform"), payload.root(),
                  exited(0, std::string(R"({"hook_specific_output":{"updated_input":)") + patch + "}}"));
    input = only_action(verdict).text;
  }
  const auto made = parsed(input);
  EXPECT_EQ(made.root()["command"].string_or(""), "ls -l");
  EXPECT_EQ(made.root()["description"].string_or(""), "list");
  EXPECT_TRUE(contains(input, "/tmp"));
}

TEST(DockerOutput, AGuardCannotRewrite) {
  const Verdict verdict = says("tool_guard", R"({"hook_specific_output":{"updated_input":{"cmd":"x"}}})");
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_EQ(verdict.warnings.size(), 1u);
}

TEST(DockerOutput, TheResponseIsReplacedAndAnEmptyOneClearsIt) {
  for (const char* text : {"clean", ""}) {
    const Action action =
        only_action(says("tool_response_transform",
                         std::string(R"({"hook_specific_output":{"updated_tool_response":")") + text + "\"}}"));
    EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_REPLACE_TEXT));
    EXPECT_EQ(action.text, text);
  }
  EXPECT_TRUE(
      says("tool_response_transform", R"({"hook_specific_output":{"updated_tool_response":null}})").actions.empty());
}

TEST(DockerOutput, SummaryIsTheCompactionsOwn) {
  const Action action = only_action(says("before_compaction", R"({"hook_specific_output":{"summary":"all of it"}})"));
  EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_SUMMARY));
  EXPECT_EQ(action.text, "all of it");
  EXPECT_TRUE(says("before_compaction", R"({"hook_specific_output":{"summary":""}})").actions.empty());
  EXPECT_TRUE(says("pre_compact", R"({"hook_specific_output":{"summary":"s"}})").actions.empty());
}

TEST(DockerOutput, ContextsAndNoticesArriveTogether) {
  const Verdict verdict = says("session_start", R"({"system_message":"hello","hook_specific_output":{
      "additional_context":"one","instruction_context":[{"key":"k","content":"two"},
      {"key":"gone","content":"three","removed":true}]}})");
  ASSERT_EQ(verdict.actions.size(), 3u);
  EXPECT_EQ(verdict.actions[0].kind, static_cast<std::uint32_t>(AGENTD_ACT_SYSTEM_MESSAGE));
  EXPECT_EQ(verdict.actions[1].text, "one");
  EXPECT_EQ(verdict.actions[2].text, "two");
}

TEST(DockerOutput, MetadataIsIgnoredWithAWarning) {
  const Verdict verdict =
      says("tool_guard", R"({"hook_specific_output":{"permission_decision":"ask","metadata":{"a":"b"}}})");
  EXPECT_EQ(only_action(verdict).code, AGENTD_PERMISSION_ASK);
  EXPECT_TRUE(any_contains(verdict.warnings, "metadata"));
}

TEST(DockerOutput, AnUnknownKeyIsNamedWithItsNeighbour) {
  const Verdict verdict = says("pre_tool_use", R"({"hook_specific_output":{"updated_inpu":{}}})");
  EXPECT_FALSE(verdict.failed);
  EXPECT_TRUE(any_contains(verdict.warnings, "updated_input"));
}

// ---- strict_output

struct Strict {
  const char* event;
  const char* out;
  bool fails;
};

TEST(DockerStrict, WhatTheEventCannotUseIsAFailure) {
  const std::array<Strict, 21> table{{
      {"tool_guard", "context", true},
      {"session_start", "context", true},
      {"tool_guard", "", false},
      {"tool_guard", "{}", false},
      {"tool_guard", R"({"unknown_field":false})", true},
      {"tool_guard", R"({"hook_specific_output":{"updated_inpu":{}}})", true},
      {"tool_guard", "{} {}", true},
      {"tool_guard", "{} done", true},
      {"tool_guard", "[]", true},
      {"tool_guard", "null", true},
      {"tool_guard", R"({"hook_specific_output":{"hook_event_name":"stop"}})", true},
      {"tool_guard", R"({"hook_specific_output":{"hook_event_name":"tool_guard"}})", false},
      {"tool_guard", R"({"hook_specific_output":{"updated_input":{"cmd":"x"}}})", true},
      {"tool_guard", R"({"hook_specific_output":{"metadata":{"a":"b"}}})", false},
      {"tool_guard", R"({"suppress_output":true})", true},
      {"stop", R"({"continue":false})", true},
      {"stop", R"({"decision":"block"})", true},
      {"post_tool_use", R"({"hook_specific_output":{"additional_context":"c"}})", true},
      {"pre_compact", R"({"hook_specific_output":{"summary":"s"}})", true},
      {"before_compaction", R"({"hook_specific_output":{"summary":"s"}})", false},
      {"tool_response_transform", R"({"hook_specific_output":{"updated_tool_response":""}})", false},
  }};
  for (const Strict& each : table)
    EXPECT_EQ(says(each.event, each.out, true).failed, each.fails) << each.event << " " << each.out;
}

TEST(DockerStrict, WithoutItTheEventNameMayDiffer) {
  EXPECT_FALSE(says("session_start", R"({"hook_specific_output":{"hook_event_name":"turn_start"}})").failed);
}

// ---- standard input

TEST(DockerInput, AToolCallHasTheNamesOfDockerAgent) {
  const auto seen = seen_by("pre_tool_use", bash_payload("rm -rf /").root());
  EXPECT_EQ(seen.root()["hook_event_name"].string_or(""), "pre_tool_use");
  EXPECT_EQ(seen.root()["session_id"].string_or(""), "ses_1");
  EXPECT_EQ(seen.root()["cwd"].string_or(""), "/work/app");
  EXPECT_EQ(seen.root()["agent_name"].string_or(""), "root");
  EXPECT_EQ(seen.root()["model_id"].string_or(""), "anthropic/big");
  EXPECT_EQ(seen.root()["tool_name"].string_or(""), "shell");
  EXPECT_EQ(seen.root()["tool_use_id"].string_or(""), "call_1");
  EXPECT_EQ(seen.root()["tool_input"]["cmd"].string_or(""), "rm -rf /");
  EXPECT_FALSE(seen.root()["tool_input"]["command"].exists());
  EXPECT_FALSE(seen.root()["tool"].exists());
  EXPECT_FALSE(seen.root()["tool_response"].exists());
}

TEST(DockerInput, AToolsResultIsItsText) {
  const auto seen =
      seen_by("post_tool_use", tool_payload(AGENTD_EVENT_AFTER_TOOL_CALL, "bash", R"({"command":"ls"})", "a b").root());
  EXPECT_EQ(seen.root()["tool_response"].string_or(""), "a b");
  EXPECT_FALSE(seen.root()["tool_error"].exists());
  HookDefinition failed = docker_hook("post_tool_use");
  failed.event = AGENTD_EVENT_TOOL_CALL_FAILED;
  const auto other = parsed(dialect_input(
      failed, tool_payload(AGENTD_EVENT_TOOL_CALL_FAILED, "bash", R"({"command":"ls"})", "no", false).root(), {}));
  EXPECT_TRUE(other.root()["tool_error"].bool_or(false));
  EXPECT_EQ(other.root()["hook_event_name"].string_or(""), "post_tool_use");
}

TEST(DockerInput, ACompactionHasCountsAndAReason) {
  const auto seen = seen_by("before_compaction", compaction_payload().root());
  EXPECT_EQ(seen.root()["input_tokens"].uint_or(0), 9000u);
  EXPECT_EQ(seen.root()["context_limit"].uint_or(0), 10000u);
  EXPECT_EQ(seen.root()["compaction_reason"].string_or(""), "threshold");
  const auto manual = seen_by("before_compaction", compaction_payload(AGENTD_TRIGGER_MANUAL).root());
  EXPECT_EQ(manual.root()["compaction_reason"].string_or(""), "manual");
  const auto early = seen_by("pre_compact", compaction_payload().root());
  EXPECT_EQ(early.root()["source"].string_or(""), "auto");
  EXPECT_FALSE(early.root()["input_tokens"].exists());
}

TEST(DockerInput, PromptAndStopHaveTheirTexts) {
  EXPECT_EQ(seen_by("user_prompt_submit", message_payload("hi").root()).root()["prompt"].string_or(""), "hi");
  EXPECT_EQ(seen_by("stop", stop_payload("bye").root()).root()["stop_response"].string_or(""), "bye");
  EXPECT_EQ(seen_by("session_start", start_payload(AGENTD_SOURCE_CLEAR).root()).root()["source"].string_or(""),
            "clear");
}

TEST(DockerNames, EveryPhaseIsAnEventOfOurs) {
  EXPECT_EQ(canonical_event(Dialect::kDocker, "tool_guard"), static_cast<std::uint32_t>(AGENTD_EVENT_BEFORE_TOOL_CALL));
  EXPECT_EQ(canonical_event(Dialect::kDocker, "pre_compact"),
            static_cast<std::uint32_t>(AGENTD_EVENT_BEFORE_COMPACTION));
  EXPECT_EQ(canonical_event(Dialect::kDocker, "turn_start"),
            static_cast<std::uint32_t>(AGENTD_EVENT_BEFORE_MODEL_CALL));
  EXPECT_EQ(canonical_event(Dialect::kDocker, "worktree_create"), 0u);
  EXPECT_EQ(foreign_event(Dialect::kDocker, AGENTD_EVENT_BEFORE_TOOL_CALL), "pre_tool_use");
  EXPECT_EQ(foreign_event(Dialect::kDocker, AGENTD_EVENT_TOOL_CALL_FAILED), "post_tool_use");
  EXPECT_EQ(first_subject(docker_hook("tool_guard"), bash_payload().root()), "shell");
}

}  // namespace
}  // namespace agentd
