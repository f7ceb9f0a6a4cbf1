// SPDX-License-Identifier: Apache-2.0
// The canonical answer object, and the protocol of hooks without a dialect.
#include <array>

#include "core/base/file.h"
#include "core/hooks/event.h"
#include "dialect_support.h"

namespace agentd {
namespace {

Verdict answer_at(std::uint32_t event, const std::string& json) {
  return interpret_canonical(event, any_payload(event).root(), parsed(json).root());
}

Verdict run_at(std::uint32_t event, const RawAnswer& answer) { return verdict_of(Dialect::kAgentd, event, answer); }

// ---- the object

struct OneAction {
  const char* json;
  std::uint32_t event;
  std::uint32_t kind;
  const char* text;
};

TEST(Canonical, EachKeyIsItsAction) {
  const std::array<OneAction, 25> table{{
      {R"({"action":"block","reason":"no"})", AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_ACT_BLOCK, "no"},
      {R"({"blocked":true,"reason":"no"})", AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_ACT_BLOCK, "no"},
      {R"({"action":"stop_run","reason":"no"})", AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_ACT_STOP_RUN, "no"},
      {R"({"action":"stop_run","reason":"no"})", AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_ACT_STOP_RUN, "no"},
      {R"({"message":"new"})", AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_ACT_REPLACE_TEXT, "new"},
      {R"({"message":""})", AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_ACT_REPLACE_TEXT, ""},
      {R"({"input":{"command":"ls"}})", AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_ACT_REPLACE_TEXT, R"({"command":"ls"})"},
      {R"({"input":"{ \"command\" : \"ls\" }"})", AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_ACT_REPLACE_TEXT,
       R"({"command":"ls"})"},
      {R"({"output":"clean"})", AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_ACT_REPLACE_TEXT, "clean"},
      {R"({"output":""})", AGENTD_EVENT_TOOL_CALL_FAILED, AGENTD_ACT_REPLACE_TEXT, ""},
      {R"({"output":{"content":"clean","success":true}})", AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_ACT_REPLACE_TEXT,
       "clean"},
      {R"({"output":"other"})", AGENTD_EVENT_AFTER_MODEL_CALL, AGENTD_ACT_REPLACE_TEXT, "other"},
      {R"({"action":"continue","messages":["go"]})", AGENTD_EVENT_AGENT_STOP, AGENTD_ACT_CONTINUE, "go"},
      {R"({"action":"continue","message":"go"})", AGENTD_EVENT_SUBAGENT_STOP, AGENTD_ACT_CONTINUE, "go"},
      {R"({"follow_up_messages":["go"]})", AGENTD_EVENT_AGENT_STOP, AGENTD_ACT_CONTINUE, "go"},
      {R"({"action":"summary"})", AGENTD_EVENT_AGENT_STOP, AGENTD_ACT_SUMMARY, ""},
      {R"({"action":"summary","summary":"s"})", AGENTD_EVENT_AGENT_STOP, AGENTD_ACT_SUMMARY, "s"},
      {R"({"summary":"s"})", AGENTD_EVENT_BEFORE_COMPACTION, AGENTD_ACT_SUMMARY, "s"},
      {R"({"action":"callback","callback":{"recipe":"tidy"}})", AGENTD_EVENT_AGENT_STOP, AGENTD_ACT_CALLBACK, "tidy"},
      {R"({"additional_context":"c"})", AGENTD_EVENT_SESSION_START, AGENTD_ACT_INJECT_CONTEXT, "c"},
      {R"({"system_message":"m"})", AGENTD_EVENT_AFTER_CLEAR, AGENTD_ACT_SYSTEM_MESSAGE, "m"},
      {R"({"permission":"ask","reason":"why"})", AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_ACT_PERMISSION, "why"},
      {R"({"tools":{"enable":["bash","grep"]}})", AGENTD_EVENT_BEFORE_MODEL_CALL, AGENTD_ACT_TOOLS_ENABLE, "bash,grep"},
      {R"({"tools":{"disable":["bash"]}})", AGENTD_EVENT_BEFORE_MODEL_CALL, AGENTD_ACT_TOOLS_DISABLE, "bash"},
      {R"({"model":"small"})", AGENTD_EVENT_BEFORE_MODEL_CALL, AGENTD_ACT_SET, "small"},
  }};
  for (const OneAction& row : table) {
    SCOPED_TRACE(row.json);
    const Verdict verdict = answer_at(row.event, row.json);
    const Action action = only_action(verdict);
    EXPECT_EQ(action.kind, row.kind);
    EXPECT_EQ(action.text, row.text);
    EXPECT_TRUE(verdict.warnings.empty()) << verdict.warnings[0];
  }
}

TEST(Canonical, ARewriteNamesTheTextOfItsEvent) {
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"input":{}})")).target, AGENTD_TEXT_TOOL_INPUT);
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_AFTER_TOOL_CALL, R"({"output":"x"})")).target, AGENTD_TEXT_TOOL_OUTPUT);
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_AFTER_MODEL_CALL, R"({"output":"x"})")).target, AGENTD_TEXT_RESPONSE);
}

TEST(Canonical, NothingAndNullAreNoOpinion) {
  for (const char* const json :
       {"{}", R"({"action":"none"})", R"({"message":null,"additional_context":null})", R"({"blocked":false})",
        R"({"follow_up_messages":[]})", R"({"additional_context":""})"}) {
    const Verdict verdict = answer_at(AGENTD_EVENT_AGENT_STOP, json);
    EXPECT_TRUE(verdict.actions.empty()) << json;
    EXPECT_FALSE(verdict.failed) << json;
    EXPECT_TRUE(verdict.warnings.empty()) << json;
  }
}

TEST(Canonical, CompactTakesItsOptionsAndThenTheMessages) {
  const Verdict verdict = answer_at(
      AGENTD_EVENT_AGENT_STOP, R"({"action":"compact","strategy":"users","keep_tokens":500,"model":"small",)"
                               R"("custom_instructions":"keep names","messages":["one","two"],"then":"continue"})");
  EXPECT_EQ(kinds_of(verdict),
            (std::vector<std::uint32_t>{AGENTD_ACT_COMPACT, AGENTD_ACT_CONTINUE, AGENTD_ACT_CONTINUE, AGENTD_ACT_SET}));
  EXPECT_EQ(verdict.actions[0].code, AGENTD_STRATEGY_USERS);
  EXPECT_EQ(verdict.actions[0].number, 500u);
  EXPECT_EQ(verdict.actions[0].model, "small");
  EXPECT_EQ(verdict.actions[0].text, "keep names");
  EXPECT_EQ(verdict.actions[2].text, "two");
  EXPECT_EQ(verdict.actions[3].target, AGENTD_KEY_THEN);
  EXPECT_EQ(verdict.actions[3].number, 1u);
  EXPECT_TRUE(verdict.warnings.empty());
}

TEST(Canonical, CompactAloneDoesNotGoOn) {
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_AGENT_STOP, R"({"action":"compact"})")).kind, AGENTD_ACT_COMPACT);
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_CONTEXT_THRESHOLD, R"({"action":"compact"})")).kind, AGENTD_ACT_COMPACT);
}

TEST(Canonical, ContinueWithoutAMessageGoesOnAllTheSame) {
  const Action action = only_action(answer_at(AGENTD_EVENT_AGENT_STOP, R"({"action":"continue"})"));
  EXPECT_EQ(action.kind, AGENTD_ACT_SET);
  EXPECT_EQ(action.target, AGENTD_KEY_THEN);
  EXPECT_EQ(action.number, 1u);
}

TEST(Canonical, MessagesBeatFollowUpMessages) {
  EXPECT_EQ(
      only_action(answer_at(AGENTD_EVENT_AGENT_STOP, R"({"messages":["new"],"follow_up_messages":["old"]})")).text,
      "new");
  // A list that is there and empty says "none", and the legacy key does not fill it.
  EXPECT_TRUE(answer_at(AGENTD_EVENT_AGENT_STOP, R"({"messages":[],"follow_up_messages":["old"]})").actions.empty());
}

TEST(Canonical, MessagesMayBeObjects) {
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_AGENT_STOP, R"({"messages":[{"role":"user","content":"go"}]})")).text,
            "go");
  EXPECT_TRUE(answer_at(AGENTD_EVENT_AGENT_STOP, R"({"messages":[{"role":"assistant","content":"go"}]})").failed);
}

TEST(Canonical, SettingsOfACompactionAreOneSetEach) {
  const Verdict verdict = answer_at(AGENTD_EVENT_BEFORE_COMPACTION,
                                    R"({"model":"m","custom_instructions":"i","strategy":"full","keep_tokens":9})");
  ASSERT_EQ(verdict.actions.size(), 4u);
  EXPECT_EQ(verdict.actions[0].target, AGENTD_KEY_MODEL);
  EXPECT_EQ(verdict.actions[1].text, "i");
  EXPECT_EQ(verdict.actions[2].number, AGENTD_STRATEGY_FULL);
  EXPECT_EQ(verdict.actions[3].number, 9u);
}

TEST(Canonical, PermissionTakesAWordOrAnObject) {
  const Action action = only_action(answer_at(AGENTD_EVENT_PERMISSION_REQUEST,
                                              R"({"permission":{"decision":"allow","reason":"ok","remember":true}})"));
  EXPECT_EQ(action.code, AGENTD_PERMISSION_ALLOW);
  EXPECT_EQ(action.text, "ok");
  EXPECT_EQ(action.remember, 1u);
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"permission":"deny"})")).code,
            AGENTD_PERMISSION_DENY);
  EXPECT_EQ(only_action(answer_at(AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"permission":"defer"})")).code,
            AGENTD_PERMISSION_DEFER);
}

// ---- replacements

TEST(Canonical, ReplaceTakesMessagesBlocksAndRanges) {
  const Verdict verdict =
      answer_at(AGENTD_EVENT_AGENT_STOP,
                R"({"action":"replace","replace_messages":[{"role":"user","content":"hi"},)"
                R"({"role":"assistant","content":[{"type":"text","text":"look"},)"
                R"({"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls"}}]},)"
                R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a.txt"}]},)"
                R"({"role":"user","summary":true,"content":"so far"},{"keep":{"first":4,"last":9}}]})");
  const Action action = only_action(verdict);
  ASSERT_EQ(action.parts.size(), 5u);
  EXPECT_EQ(action.parts[0].literal, Message::of_text(Role::kUser, "hi"));
  ASSERT_EQ(action.parts[1].literal.blocks.size(), 2u);
  EXPECT_EQ(action.parts[1].literal.blocks[1], Block::tool_use("c1", "bash", R"({"command":"ls"})"));
  EXPECT_EQ(action.parts[2].literal.blocks[0], Block::tool_result("c1", "a.txt", false));
  EXPECT_EQ(action.parts[3].literal.role, Role::kSummary);
  EXPECT_FALSE(action.parts[4].is_literal());
  EXPECT_EQ(action.parts[4].last, 9u);
}

TEST(Canonical, ReplaceUnderstandsWhatThePayloadShowed) {
  const Action action =
      only_action(answer_at(AGENTD_EVENT_BEFORE_COMPACTION,
                            R"({"action":"replace","replace_messages":[{"role":"assistant","content":"x","seq":7,)"
                            R"("interrupted":true,"blocks":[{"type":"thinking","text":"hm","signature":"s"},)"
                            R"({"type":"tool_use","call_id":"c","name":"n","input":{}}]}]})"));
  ASSERT_EQ(action.parts.size(), 1u);
  EXPECT_EQ(action.parts[0].literal.flags, AGENTD_MESSAGE_INTERRUPTED);
  EXPECT_EQ(action.parts[0].literal.blocks[0].kind, BlockKind::kThinking);
  EXPECT_EQ(action.parts[0].literal.blocks[0].opaque, "s");
}

TEST(Canonical, ReplaceIsOfTheRevisionThatThePayloadNames) {
  const std::string answer = R"({"action":"replace","replace_messages":[{"role":"user","content":"hi"}]})";
  const auto revision = [&](const std::string& payload) {
    return only_action(interpret_canonical(AGENTD_EVENT_AGENT_STOP, parsed(payload).root(), parsed(answer).root()))
        .base_revision;
  };
  EXPECT_EQ(revision(R"({"revision":42})"), 42u);
  EXPECT_EQ(revision("{}"), 0u);
}

TEST(Canonical, ABadReplacementIsNamedByItsPlace) {
  const std::array<std::pair<const char*, const char*>, 9> table{{
      {R"([{"role":"tool","content":"x"}])", "replace_messages[0]: the role 'tool'"},
      {R"([{"role":"user","content":"a"},{"role":"system","content":"x"}])", "replace_messages[1]"},
      {R"(["text"])", "must be an object"},
      {R"([{"role":"user"}])", "its content must be a text or a list"},
      {R"([{"role":"user","content":[]}])", "no content"},
      {R"([{"role":"user","content":[{"type":"tool_use","name":"x","input":{}}]}])", "call_id"},
      {R"([{"role":"user","content":[{"type":"video"}]}])", "'video'"},
      {R"([{"role":"user","content":"p","blocks":[{"type":"text","text":"p","elided":true}]}])", "elided"},
      {R"([{"keep":{"first":9,"last":4}}])", "keep needs first and last"},
  }};
  for (const auto& [list, part] : table) {
    const Verdict verdict =
        answer_at(AGENTD_EVENT_AGENT_STOP, std::string(R"({"action":"replace","replace_messages":)") + list + "}");
    EXPECT_TRUE(verdict.failed) << list;
    EXPECT_TRUE(contains(verdict.failure.text, part)) << verdict.failure.text;
    EXPECT_TRUE(verdict.actions.empty());
  }
}

// ---- what is wrong

TEST(Canonical, AWrongTypeOrWordIsAFailure) {
  const std::array<std::pair<const char*, const char*>, 16> table{{
      {R"({"action":"blok"})", "did you mean 'block'?"},
      {R"({"action":"explode"})", "must be none, block"},
      {R"({"action":7})", "'action' must be a text, not a number"},
      {R"({"reason":["x"]})", "'reason' must be a text, not a list"},
      {R"({"blocked":"yes"})", "'blocked' must be true or false, not a text"},
      {R"({"permission":"maybe"})", "'permission' must be allow, deny, ask or defer"},
      {R"({"permission":{"decision":"x"}})", "'permission' must be allow, deny, ask or defer"},
      {R"({"input":[1]})", "'input' must be an object"},
      {R"({"input":"no object"})", "'input' must be an object"},
      {R"({"then":"sleep"})", "'then' must be stop or continue"},
      {R"({"strategy":"magic"})", "'strategy' must be"},
      {R"({"keep_tokens":-4})", "'keep_tokens' must be a whole number"},
      {R"({"keep_tokens":"4"})", "'keep_tokens' must be a whole number"},
      {R"({"tools":["bash"]})", "'tools' must be an object, not a list"},
      {R"({"action":"replace"})", "needs the key 'replace_messages'"},
      {R"({"action":"callback","callback":{}})", "with a recipe"},
  }};
  for (const auto& [json, part] : table) {
    const Verdict verdict = answer_at(AGENTD_EVENT_BEFORE_TOOL_CALL, json);
    EXPECT_TRUE(verdict.failed) << json;
    EXPECT_TRUE(contains(verdict.failure.text, part)) << json << ": " << verdict.failure.text;
  }
}

TEST(Canonical, AnUnknownKeyIsBlamedWithTheNearestOne) {
  const Verdict verdict =
      answer_at(AGENTD_EVENT_AGENT_STOP, R"({"follow_up_mesages":["x"],"zzz":1,"tools":{"enabel":[]}})");
  EXPECT_FALSE(verdict.failed);
  EXPECT_TRUE(any_contains(verdict.warnings,
                           "'follow_up_mesages' was ignored: did you mean "
                           "'follow_up_messages'?"));
  EXPECT_TRUE(any_contains(verdict.warnings, "unknown key 'zzz' was ignored"));
  EXPECT_TRUE(any_contains(verdict.warnings,
                           "'tools.enabel' was ignored: did you mean "
                           "'tools.enable'?"));
}

TEST(Canonical, AKeyThatTheEventCannotUseIsAWarningAndIgnored) {
  const std::array<std::pair<const char*, std::uint32_t>, 11> table{{
      {R"({"action":"block"})", AGENTD_EVENT_AFTER_TOOL_CALL},
      {R"({"permission":"allow"})", AGENTD_EVENT_AGENT_STOP},
      {R"({"input":{}})", AGENTD_EVENT_AFTER_TOOL_CALL},
      {R"({"output":"x"})", AGENTD_EVENT_BEFORE_TOOL_CALL},
      {R"({"message":"x"})", AGENTD_EVENT_TURN_END},
      {R"({"action":"compact"})", AGENTD_EVENT_BEFORE_TOOL_CALL},
      {R"({"action":"continue"})", AGENTD_EVENT_BEFORE_TOOL_CALL},
      {R"({"then":"continue"})", AGENTD_EVENT_BEFORE_MODEL_CALL},
      {R"({"strategy":"full"})", AGENTD_EVENT_BEFORE_MODEL_CALL},
      {R"({"summary":"s"})", AGENTD_EVENT_AGENT_STOP},
      {R"({"replace_messages":[]})", AGENTD_EVENT_AGENT_STOP},
  }};
  for (const auto& [json, event] : table) {
    const Verdict verdict = answer_at(event, json);
    EXPECT_TRUE(verdict.actions.empty()) << json;
    EXPECT_FALSE(verdict.failed) << json << verdict.failure.text;
    EXPECT_EQ(verdict.warnings.size(), 1u) << json;
  }
}

TEST(Canonical, AnEmptySummaryReplacesNothing) {
  for (const char* const json : {R"({"summary":""})", R"({"action":"summary","summary":" \n"})"}) {
    const Verdict verdict = answer_at(AGENTD_EVENT_BEFORE_COMPACTION, json);
    EXPECT_TRUE(verdict.failed) << json;
    EXPECT_EQ(verdict.failure.text, "its summary is empty");
  }
}

TEST(Canonical, EveryActionOfEveryEventIsLegal) {
  // All keys at once: whatever the event, what comes out is what the table of events allows.
  const std::string all = R"({"reason":"r","message":"m","messages":["n"],"permission":"ask","model":"x",)"
                          R"("custom_instructions":"i","strategy":"full","keep_tokens":1,"then":"stop",)"
                          R"("tools":{"enable":["a"],"disable":["b"]},"additional_context":"c","system_message":"s",)"
                          R"("callback":{"recipe":"r"},"summary":"u","action":")";
  for (const EventTraits& event : all_events())
    for (const char* const action : {"none", "block", "continue", "compact", "summary", "callback"}) {
      const Verdict verdict = answer_at(event.id, all + action + "\"}");
      for (const Action& each : verdict.actions)
        EXPECT_TRUE(is_legal(event.id, each.kind)) << event.name << " " << action_name(each.kind);
    }
}

TEST(Canonical, AnAnswerMustBeAnObject) {
  EXPECT_EQ(answer_at(AGENTD_EVENT_AGENT_STOP, "[1]").failure.text, "the answer must be an object, not a list");
}

// ---- the protocol

TEST(Executable, EmptyOutputIsNoOpinion) {
  for (const char* const out : {"", " \n\t ", "\xef\xbb\xbf\n"}) {
    const Verdict verdict = run_at(AGENTD_EVENT_AGENT_STOP, exited(0, out));
    EXPECT_FALSE(verdict.failed);
    EXPECT_TRUE(verdict.actions.empty());
  }
}

TEST(Executable, ItsFailureIsToldByTheLineThatSaysWhatWentWrong) {
  const auto line = [](std::string_view error) {
    return run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(1, "", std::string(error))).failure.text;
  };
  EXPECT_EQ(line("Traceback (most recent call last):\n  File \"/x\", line 3, in <module>\n    f()\n"
                 "KeyError: 'path'\n"),
            "it exited with code 1: KeyError: 'path'");
  EXPECT_EQ(line("/h/x.js:3\nthrow new Error('no');\n^\n\nError: no\n    at Object.<anonymous> (/h/x.js:3:7)\n"
                 "    at node:internal/main:28:49\n\nNode.js v20.20.2\n"),
            "it exited with code 1: Error: no");
  EXPECT_EQ(line("   only this\n"), "it exited with code 1: only this");
  EXPECT_EQ(line("\n \n"), "it exited with code 1");
}

TEST(Executable, EveryCodeButZeroIsAFailureWhateverTheOutput) {
  for (const int code : {1, 2, 3, 126, 127}) {
    const Verdict verdict =
        run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(code, R"({"action":"block"})", "more\noops\n"));
    EXPECT_TRUE(verdict.failed);
    EXPECT_EQ(verdict.failure.text, "it exited with code " + std::to_string(code) + ": oops");
    EXPECT_TRUE(verdict.actions.empty());
  }
}

TEST(Executable, WhatIsNoSingleObjectHasItsOwnSentence) {
  const std::string nul("{\"action\":\0}", 12);
  const std::array<std::pair<std::string, const char*>, 9> table{{
      {"loading config\n{\"action\":\"block\"}", "text precedes the JSON object"},
      {"[hook] {\"blocked\":true}", "text precedes the JSON object"},
      {"{\"action\":\"block\"}\ndone", "text follows the JSON object"},
      {"{\"action\":\"none\"}\n{\"action\":\"block\"}", "two JSON objects"},
      {"{\"action\":\"blo", "ends in the middle of a JSON object"},
      {"{\"action\" \"block\"}", "not valid JSON"},
      {"hello", "must be one JSON object; it begins with 'hello'"},
      {"{\"reason\":\"\xc3\"}", "not valid UTF-8"},
      {nul, "a NUL byte at byte 10"},
  }};
  for (const auto& [out, part] : table) {
    const Verdict verdict = run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(0, out));
    EXPECT_TRUE(verdict.failed) << out;
    EXPECT_TRUE(contains(verdict.failure.text, part)) << out << ": " << verdict.failure.text;
  }
}

TEST(Executable, OutputOverTheCapIsAFailureEvenWhenItReads) {
  RawAnswer answer = exited(0, R"({"action":"none"})");
  answer.out_over_cap = true;
  const Verdict verdict = run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, answer);
  EXPECT_TRUE(contains(verdict.failure.text, "larger than the cap"));
}

TEST(Executable, TheWayItEndedIsTheFailure) {
  RawAnswer answer = exited(9, R"({"permission":"allow"})");
  answer.end = RawAnswer::End::kSignalled;
  EXPECT_EQ(run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, answer).failure.text, "it was killed by signal 9");
  answer.end = RawAnswer::End::kTimedOut;
  const Verdict late = run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, answer);
  EXPECT_TRUE(late.failed && late.timed_out);
  EXPECT_EQ(late.failure.text, "it did not answer before its deadline");
  answer.end = RawAnswer::End::kNotStarted;
  answer.problem = "starting guard: no such file";
  EXPECT_EQ(run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, answer).failure.text, "starting guard: no such file");
  EXPECT_FALSE(run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, answer).timed_out);
}

TEST(Executable, GetsTheCanonicalObjectUnchanged) {
  const JsonDocument payload = bash_payload();
  const HookDefinition hook = hook_for(Dialect::kAgentd, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(dialect_input(hook, payload.root(), {}), payload.root().text());
  EXPECT_EQ(first_subject(hook, payload.root()), "bash");
  EXPECT_TRUE(dialect_environment(hook, payload.root(), {}).empty());
}

// Programs that read JSON differ in which of two values they take.
TEST(Executable, AKeyThatComesTwiceIsNoAnswer) {
  for (const char* const text : {R"({"action":"none","action":"block"})", R"({"action":"block","action":"none"})",
                                 R"({"permission":"allow","input":{"command":"a","command":"b"}})"}) {
    const Verdict verdict = run_at(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(0, text));
    EXPECT_TRUE(verdict.failed) << text;
    EXPECT_TRUE(verdict.actions.empty()) << text;
    EXPECT_NE(verdict.failure.text.find("twice"), std::string::npos) << verdict.failure.text;
  }
}

// Where hooks removed the event's text, agentd says in its own words alone why a hook failed.
TEST(Executable, AFailureKnowsWhichOfItsWordsMayQuoteTheHook) {
  const auto own = [](const HookDefinition& hook, const RawAnswer& answer) {
    const JsonDocument payload = bash_payload();
    const FailureText failure = interpret(hook, payload.root(), answer).failure;
    const std::string text = without_quotes(failure.text, failure.own);
    return text.substr(0, text.find(" (its own words are left out"));
  };
  HookDefinition hook = hook_for(Dialect::kAgentd, AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(own(hook, exited(3, "", "s3cret\n")), "it exited with code 3");
  EXPECT_EQ(own(hook, exited(0, "s3cret")), "its output must be one JSON object");
  EXPECT_EQ(own(hook, exited(0, "{\"s3cret\": 1} more")), "it failed");
  RawAnswer answer = exited(0, "");
  answer.end = RawAnswer::End::kTimedOut;
  EXPECT_EQ(own(hook, answer), "it did not answer before its deadline");
  answer.end = RawAnswer::End::kNotStarted;
  answer.problem = "starting guard: no such file";
  EXPECT_EQ(own(hook, answer), "starting guard: no such file");
  hook.sandbox = true;  // its program may have written that
  EXPECT_EQ(own(hook, answer), "starting guard");
  hook.sandbox = false;
  hook.on_failure = FailurePolicy::kClosed;
  EXPECT_EQ(own(hook, exited(0, "{\"s3cret\": 1}")), "its output was not understood");
  hook.runs = HookRuns::kWebhook;
  answer = exited(0, "s3cret");
  answer.http_status = 503;
  EXPECT_EQ(own(hook, answer), "the webhook answered with status 503");
}

TEST(Executable, AGuardThatIsNotUnderstoodHasNotAgreed) {
  HookDefinition hook = hook_for(Dialect::kAgentd, AGENTD_EVENT_BEFORE_TOOL_CALL);
  const JsonDocument payload = bash_payload();
  const RawAnswer answer = exited(0, R"({"decision":"block"})");
  EXPECT_FALSE(interpret(hook, payload.root(), answer).failed);
  hook.on_failure = FailurePolicy::kClosed;
  const Verdict verdict = interpret(hook, payload.root(), answer);
  EXPECT_TRUE(verdict.failed);
  EXPECT_NE(verdict.failure.text.find("its output was not understood: "), std::string::npos) << verdict.failure.text;
  EXPECT_FALSE(interpret(hook, payload.root(), exited(0, "{}")).failed);
}

TEST(Executable, StrictOutputMakesAWarningAFailure) {
  HookDefinition hook = hook_for(Dialect::kAgentd, AGENTD_EVENT_BEFORE_TOOL_CALL);
  const RawAnswer answer = exited(0, R"({"action":"block","colour":"red"})");
  const JsonDocument payload = bash_payload();
  EXPECT_FALSE(interpret(hook, payload.root(), answer).failed);
  hook.strict_output = true;
  const Verdict strict = interpret(hook, payload.root(), answer);
  EXPECT_TRUE(strict.failed && strict.actions.empty());
  EXPECT_TRUE(contains(strict.failure.text, "'colour'"));
}

TEST(Webhook, OnlyA2xxAnswers) {
  HookDefinition hook = hook_for(Dialect::kAgentd, AGENTD_EVENT_BEFORE_TOOL_CALL);
  hook.runs = HookRuns::kWebhook;
  const JsonDocument payload = bash_payload();
  RawAnswer answer = exited(0, R"({"action":"block","reason":"no"})");
  answer.http_status = 200;
  EXPECT_EQ(only_action(interpret(hook, payload.root(), answer)).text, "no");
  answer.http_status = 204;
  answer.out.clear();
  EXPECT_FALSE(interpret(hook, payload.root(), answer).failed);
  answer.http_status = 503;
  answer.out = "overloaded\n";
  EXPECT_EQ(interpret(hook, payload.root(), answer).failure.text, "the webhook answered with status 503: overloaded");
  answer.http_status = 0;
  EXPECT_EQ(interpret(hook, payload.root(), answer).failure.text, "the webhook did not answer");
}

TEST(Dialects, AreFoundByName) {
  EXPECT_EQ(dialect_names(), "agentd, kodelet, claude, docker, gemini");
  for (const char* const name : {"agentd", "kodelet", "claude", "docker", "gemini"})
    EXPECT_EQ(name_of(*find_dialect(name)), name);
  EXPECT_FALSE(find_dialect("Claude"));
}

TEST(Dialects, AreAllOnThePageOfYamlHooks) {
  const auto page = read_file(AGENTD_SOURCE_DIR "/docs/reference/hooks-yaml.md", 1u << 20);
  ASSERT_TRUE(page) << page.error().message;
  std::string names;
  for (const Dialect each : all_dialects()) (names += names.empty() ? "`" : ", `").append(name_of(each)).append("`");
  EXPECT_NE(page->find("| `dialect` | all | " + names + " |"), std::string::npos) << names;
}

TEST(Dialects, EveryForeignNameOfAnEventComesBack) {
  for (const Dialect dialect : {Dialect::kAgentd, Dialect::kClaude})
    for (const EventTraits& event : all_events()) {
      const std::string_view name = foreign_event(dialect, event.id);
      if (name.empty()) continue;
      EXPECT_EQ(canonical_event(dialect, name), event.id) << name;
    }
  EXPECT_EQ(canonical_event(Dialect::kClaude, "before_tool_call"), 0u);
  EXPECT_EQ(canonical_event(Dialect::kAgentd, "before_tool_call"), AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(canonical_event(Dialect::kAgentd, "nothing"), 0u);
}

TEST(Dialects, AgentdHasNoSettingsOfItsOwnShape) {
  const auto read = read_settings(Dialect::kAgentd, "{}", "x.json", "x");
  ASSERT_FALSE(read);
  EXPECT_TRUE(contains(read.error().message, "x.json: the dialect agentd has no settings file"));
}

}  // namespace
}  // namespace agentd
