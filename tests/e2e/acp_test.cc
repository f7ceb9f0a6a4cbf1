// SPDX-License-Identifier: Apache-2.0
// acp_test.cc - an editor and agentd: what each request does, what its person sees, and what a bad editor gets.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>

#include "core/base/file.h"
#include "tests/e2e/acp_client.h"
#include "tests/e2e/guide_page.h"
#include "tests/e2e/program.h"
#include "tests/support/dates.h"

namespace agentd::testing {
namespace {

std::string scripted_bash(const std::string& command) {
  return "- calls: [{name: bash, input: {command: '" + command + "'}}]\n";
}

class Acp : public ::testing::Test {
 protected:
  Acp() { program_.config("sandbox: {layer: 'off'}\n"); }
  std::unique_ptr<AcpClient> open(const std::string& script, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"--script", program_.script(script)};
    words.insert(words.end(), more.begin(), more.end());
    auto out = std::make_unique<AcpClient>(program_, words);
    out->initialize();
    return out;
  }
  bool made(const std::string& name) const { return exists(program_.project() + "/" + name); }
  std::string session_json(const std::string& id) const {
    return R"({"sessionId":")" + id + R"(","cwd":")" + program_.project() + R"(","mcpServers":[]})";
  }
  void hook(const std::string& name, const std::string& yaml) {
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    ASSERT_EQ(::chmod(program_.home().c_str(), 0700), 0);
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/" + name + ".yaml", yaml, 0600));
    program_.run({"hooks", "trust", name, "-y"});
  }

  Program program_;
};

// ---- the connection

TEST_F(Acp, NothingComesBeforeInitialize) {
  AcpClient editor(program_, {"--script", program_.script("- text: hello\n")});
  const RpcMessage early = editor.call("session/new", R"({"cwd":"/","mcpServers":[]})");
  EXPECT_EQ(early.fault.code, kRpcBadRequest);
  EXPECT_EQ(early.fault.message, "the first request must be initialize");
  const RpcMessage first = editor.call("initialize", R"({"protocolVersion":2,"clientCapabilities":{}})");
  EXPECT_EQ(first.result()["protocolVersion"].int_or(0), 1);
  EXPECT_EQ(first.result()["agentInfo"]["name"].string_or(""), "agentd");
  EXPECT_EQ(editor.call("initialize", R"({"protocolVersion":1})").fault.code, kRpcBadRequest);
}

TEST_F(Acp, WhatIsNoMessageIsRefusedAndTheNextOneIsRead) {
  const auto editor = open("- text: hello\n");
  editor->send("{\n");
  EXPECT_EQ(editor->next_fault().fault.code, kRpcNotJson);
  for (const char* const line : {"[]\n", "7\n",
                                 R"({"id":9,"method":"initialize"})"
                                 "\n",
                                 R"({"jsonrpc":"2.0","id":1.5,"method":"session/list","params":{}})"
                                 "\n",
                                 R"({"jsonrpc":"2.0","id":null,"method":"session/prompt","params":{"a":1,"a":2}})"
                                 "\n"}) {
    editor->send(line);
    if (std::string(line).find("\"id\":9") != std::string::npos)
      EXPECT_EQ(editor->wait(9).fault.code, kRpcBadRequest);
    else
      EXPECT_EQ(editor->next_fault().fault.code, kRpcBadRequest) << line;
  }
  const RpcFault guessed = editor->call("session/guess", "{}").fault;
  EXPECT_EQ(guessed.code, kRpcNoMethod);
  EXPECT_EQ(guessed.message, "Method not found: agentd has no 'session/guess'");
  EXPECT_EQ(editor->call("session/list", "[]").fault.code, kRpcBadParams);
  // Half a line at a time.
  editor->send(R"({"jsonrpc":"2.0","id":77,"meth)");
  editor->send("od\":\"session/list\",\"params\":{}}\n");
  EXPECT_EQ(editor->wait(77).kind, RpcMessage::Kind::kResult);
  // An id that is a text is answered with that text.
  editor->send(R"({"jsonrpc":"2.0","id":"77","method":"session/list","params":{}})"
               "\n");
  const RpcId text = *RpcId::read(JsonDocument::parse("\"77\"")->root());
  EXPECT_EQ(editor->wait(text).kind, RpcMessage::Kind::kResult);
}

TEST_F(Acp, WrongParametersAreRefusedWithASentence) {
  const auto editor = open("- text: hello\n");
  const std::string session = editor->new_session();
  const auto said = [&](std::string_view method, const std::string& params) {
    const RpcMessage answer = editor->call(method, params);
    return std::to_string(answer.fault.code) + " " + answer.fault.message;
  };
  EXPECT_EQ(said("session/new", R"({"cwd":"relative","mcpServers":[]})"), "-32602 'cwd' must be an absolute path");
  EXPECT_TRUE(said("session/new", R"({"cwd":"/no/such/place","mcpServers":[]})").starts_with("-32002 /no/such/place"));
  EXPECT_TRUE(
      said("session/load", session_json("01ARZ3NDEKTSV4RRFFQ69G5FAV")).starts_with("-32002 there is no session"));
  EXPECT_TRUE(
      said("session/prompt", R"({"sessionId":"nobody","prompt":[]})").starts_with("-32002 the session 'nobody'"));
  EXPECT_EQ(said("session/prompt", R"({"sessionId":")" + session + R"(","prompt":[]})"), "-32602 the prompt is empty");
  EXPECT_EQ(said("session/prompt", R"({"sessionId":")" + session + R"(","prompt":[{"type":"audio","data":""}]})"),
            "-32602 a content block must be text, image, resource or resource_link, not 'audio'");
  EXPECT_EQ(said("session/set_mode", R"({"sessionId":")" + session + R"(","modeId":"yolo"})"),
            "-32602 the option mode has no value 'yolo'; it has ask, accept_edits, plan, allow");
  EXPECT_EQ(said("session/set_config_option", R"({"sessionId":")" + session + R"(","configId":"colour","value":"x"})"),
            "-32602 there is no option 'colour'; there are mode, model and effort");
  EXPECT_EQ(editor->prompt(session, "go on"), "end_turn");
}

TEST_F(Acp, ATerminalIsToldWhatItIsFor) {
  const Finished ran = program_.on_terminal({"acp", "--script", program_.script("- text: hello\n")}, {});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(has(ran.out, "agentd chat")) << ran.out;
}

TEST_F(Acp, AMissingKeyIsAskedForOverTheProtocol) {
  AcpClient editor(program_, {"--provider", "anthropic"});
  editor.initialize();
  const RpcMessage answer = editor.call("session/new", R"({"cwd":"/","mcpServers":[]})");
  EXPECT_EQ(answer.fault.code, kRpcUnauthenticated);
  EXPECT_TRUE(has(answer.fault.message, "key")) << answer.fault.message;
}

TEST_F(Acp, StandardOutputIsForTheProtocolAlone) {
  program_.config("sandbox: {layer: 'off'}\nhooks: {isolation: in-process}\n");
  program_.drop_hook(AGENTD_TALKATIVE_HOOK);
  ASSERT_EQ(::chmod(program_.home().c_str(), 0700), 0);
  const auto editor = open("- text: hello\n");  // fails on a line that is no message
  EXPECT_EQ(editor->prompt(editor->new_session(), "hi"), "end_turn");
  EXPECT_TRUE(editor->program().wait_for_err("a line of a plugin"));
  EXPECT_TRUE(editor->program().wait_for_err("another one"));
  EXPECT_TRUE(editor->program().wait_for_err("a line of its child"));
}

// ---- prompts

TEST_F(Acp, APromptIsAnsweredWhenItsRunHasEndedAndItsPartsAreShown) {
  const auto editor = open(
      "- thinking: let me see\n  text: I look first\n  calls: [{name: bash, input: {command: echo seen}}]\n- text: all "
      "done\n");
  const std::string session = editor->new_session();
  EXPECT_EQ(editor->prompt(session, "look around"), "end_turn");
  EXPECT_EQ(editor->said("agent_thought_chunk"), "let me see");
  EXPECT_EQ(editor->said("agent_message_chunk"), "I look firstall done");
  EXPECT_TRUE(has(editor->said("tool_call_update"), "seen"));
  EXPECT_EQ(editor->count("user_message_chunk"), 0u);
  EXPECT_EQ(editor->count("session_info_update"), 1u);
  std::set<std::string> messages;
  for (const RpcMessage& each : editor->updates()) {
    const JsonView update = each.params()["update"];
    if (update["sessionUpdate"].string_or("") == "agent_message_chunk")
      messages.emplace(update["messageId"].string_or(""));
  }
  EXPECT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages.count(""), 0u);
}

TEST_F(Acp, OnlyAnOptionThatWasOfferedPermits) {
  const struct {
    std::string answer;
    bool runs;
  } rows[] = {
      {AcpClient::choose("allow"), true},
      {AcpClient::choose("reject"), false},
      {AcpClient::choose("allow_all"), false},
      {R"({"outcome":{"outcome":"cancelled"}})", false},
      {R"({"outcome":{"outcome":"cancelled","optionId":"allow"}})", false},
      {R"({"outcome":"allow"})", false},
      {"null", false},
      {R"({"optionId":"allow"})", false},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const std::string name = "made." + std::to_string(i);
    const auto editor = open(scripted_bash("touch " + name) + "- text: done\n");
    editor->on_request([&](const RpcMessage&) { return rows[i].answer; });
    EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "end_turn");
    EXPECT_EQ(made(name), rows[i].runs) << rows[i].answer;
    ASSERT_EQ(editor->requests().size(), 1u);
    EXPECT_EQ(editor->requests()[0].method, "session/request_permission");
  }
}

TEST_F(Acp, ACallIsPendingWhileItIsAskedAboutAndRunsOnceItIsAllowed) {
  const auto editor = open(scripted_bash("true") + "- text: done\n");
  std::size_t before = 0;
  editor->on_request([&](const RpcMessage& request) {
    before = editor->updates().size();
    EXPECT_EQ(request.params()["toolCall"]["status"].string_or(""), "pending");
    return AcpClient::choose("allow");
  });
  EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "end_turn");
  std::string statuses;
  for (std::size_t i = before; i < editor->updates().size(); ++i)
    if (const JsonView update = editor->updates()[i].params()["update"]; update["toolCallId"].exists())
      statuses += std::string(update["status"].string_or("")) + " ";
  EXPECT_EQ(statuses, "in_progress completed ");
}

TEST_F(Acp, AQuestionShowsEveryCharacterOfWhatWillRun) {
  const std::string zero_width = "\xE2\x80\x8B";
  const auto editor = open("- calls: [{name: bash, input: {command: \"true " + zero_width + "#" +
                           std::string(5'000, 'x') + "\\nrm -f precious\"}}]\n- text: done\n");
  editor->on_request([](const RpcMessage&) { return AcpClient::choose("reject"); });
  EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "end_turn");
  ASSERT_EQ(editor->requests().size(), 1u);
  const std::string shown(editor->requests()[0].params()["toolCall"]["content"].at(0)["content"]["text"].string_or(""));
  EXPECT_TRUE(has(shown, "\\u{200b}")) << shown;
  EXPECT_TRUE(has(shown, "rm -f precious")) << shown;
}

TEST_F(Acp, AnAnswerIsKeptForTheProjectAndHeldToIt) {
  const std::string script =
      scripted_bash("touch made.1") + scripted_bash("touch made.1") + scripted_bash("touch made.2") + "- text: done\n";
  const auto editor = open(script);
  editor->on_request(
      [&](const RpcMessage&) { return AcpClient::choose(editor->requests().size() == 1 ? "allow_always" : "reject"); });
  EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "end_turn");
  EXPECT_EQ(editor->requests().size(), 2u);  // the second call of the first command was not asked about
  EXPECT_TRUE(made("made.1"));
  EXPECT_FALSE(made("made.2"));
}

TEST_F(Acp, TheModeHoldsFromTheNextCallOn) {
  const auto editor = open(scripted_bash("touch made.1") + scripted_bash("touch made.2") + "- text: done\n");
  const std::string session = editor->new_session();
  int changed = 0;
  editor->on_request([&](const RpcMessage& request) {
    changed = editor->begin("session/set_mode", R"({"sessionId":")" + session + R"(","modeId":"allow"})");
    editor->answer(request.id, AcpClient::choose("allow"));
    return std::string();
  });
  EXPECT_EQ(editor->prompt(session, "go"), "end_turn");
  EXPECT_EQ(editor->wait(changed).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->requests().size(), 1u);
  EXPECT_TRUE(made("made.1") && made("made.2"));
  EXPECT_EQ(editor->count("config_option_update"), 1u);
}

TEST_F(Acp, HooksAreToldTheModeThatIsInForce) {
  const std::string heard = program_.directory().file("heard");
  hook("look", "on: PreToolUse\ndialect: claude\ncommand: \"cat >> " + heard + "; echo >> " + heard + "\"\n");
  const auto editor = open(scripted_bash("true") + "- text: done\n" + scripted_bash("true") + "- text: done\n" +
                           scripted_bash("true") + "- text: done\n");
  editor->on_request([](const RpcMessage&) { return AcpClient::choose("allow"); });
  const std::string session = editor->new_session(), other = editor->new_session();
  EXPECT_EQ(editor->prompt(session, "go"), "end_turn");
  editor->call("session/set_mode", R"({"sessionId":")" + session + R"(","modeId":"allow"})");
  EXPECT_EQ(editor->prompt(session, "go"), "end_turn");
  EXPECT_EQ(editor->prompt(other, "go"), "end_turn");
  std::vector<std::string> modes;
  for (const JsonDocument& each : json_lines(read_file(heard, 1u << 20).value_or("")))
    modes.emplace_back(each.root()["permission_mode"].string_or(""));
  EXPECT_EQ(modes, (std::vector<std::string>{"default", "bypassPermissions", "default"}));
}

TEST_F(Acp, ThePlanModeReadsOnly) {
  const auto editor = open(scripted_bash("touch made") + "- text: done\n");
  const std::string session = editor->new_session();
  const RpcMessage set = editor->call("session/set_config_option",
                                      R"({"sessionId":")" + session + R"(","configId":"mode","value":"plan"})");
  EXPECT_EQ(set.result()["configOptions"].at(0)["currentValue"].string_or(""), "plan");
  EXPECT_EQ(editor->count("current_mode_update"), 1u);
  EXPECT_EQ(editor->prompt(session, "go"), "end_turn");
  EXPECT_TRUE(editor->requests().empty());
  EXPECT_FALSE(made("made"));
}

TEST_F(Acp, AModelThatHasRetiredIsNotOffered) {
  ASSERT_TRUE(write_file_atomically(program_.home() + "/models.yaml",
                                    "models: [{pattern: played-old, provider: scripted, retires: " + utc_day(-1) +
                                        "}, {pattern: played-new, provider: scripted, retires: " + utc_day(2) + "}]\n",
                                    0600));
  const auto editor = open("- text: done\n");
  const auto choose = [&, session = editor->new_session()](const std::string& model) {
    return editor->call("session/set_config_option",
                        R"({"sessionId":")" + session + R"(","configId":"model","value":")" + model + R"("})");
  };
  const std::string why = choose("played-old").fault.message;
  EXPECT_TRUE(has(why, "has no value 'played-old'") && has(why, "played-new")) << why;
  EXPECT_EQ(choose("played-new").fault.message, "");
}

TEST_F(Acp, AVerdictOfAHookIsShown) {
  hook("guard",
       "on: before_tool_call\nwhen: tool.input.command matches 'made'\ndo: {action: block, reason: no files today}\n");
  const auto editor = open(scripted_bash("touch made") + "- text: done\n");
  EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "end_turn");
  EXPECT_FALSE(made("made"));
  EXPECT_TRUE(has(editor->said("tool_call_update"), "no files today")) << editor->said("tool_call_update");
  EXPECT_TRUE(has(editor->said("tool_call_update"), "guard"));
}

TEST_F(Acp, ABlockedPromptIsARefusalWithItsReason) {
  hook("guard", "on: user_message_send\ndo: {action: block, reason: not on Sundays}\n");
  const auto editor = open("- text: hello\n");
  EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "refusal");
  EXPECT_TRUE(has(editor->said("notice"), "not on Sundays")) << editor->said("notice");
}

TEST_F(Acp, AFailedRequestIsAFaultWithItsReason) {
  const auto editor = open("- error: {kind: invalid_request, message: the model is on leave}\n- text: hello\n");
  const std::string session = editor->new_session();
  const std::string stop = editor->prompt(session, "go");
  EXPECT_TRUE(stop.starts_with("fault -32603") && has(stop, "on leave")) << stop;
  EXPECT_EQ(editor->prompt(session, "again"), "end_turn");
}

// ---- several prompts

constexpr const char* kSlow = "- text: one two three four five six seven eight nine ten eleven\n  pace_ms: 200\n";

TEST_F(Acp, ASecondPromptIsAnsweredWhenItsOwnRunHasEnded) {
  const auto editor = open("- text: first\n  delay_ms: 300\n- text: second\n  expect: {contains: two}\n");
  const std::string session = editor->new_session();
  const int one = editor->begin_prompt(session, "one"), two = editor->begin_prompt(session, "two");
  EXPECT_EQ(editor->stop(one), "end_turn");
  EXPECT_EQ(editor->said("agent_message_chunk"), "first");
  EXPECT_EQ(editor->stop(two), "end_turn");
  EXPECT_EQ(editor->said("agent_message_chunk"), "firstsecond");
}

TEST_F(Acp, ASteeringPromptJoinsTheRunAndIsAnsweredWithItsStop) {
  const auto editor = open(scripted_bash("touch arrived; until test -e go; do sleep 0.01; done") +
                           "- text: as you say\n  expect: {contains: the other way}\n");
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "begin");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  const int steer = editor->begin_prompt(session, "the other way", R"({"agentd/steer":true})");
  ASSERT_TRUE(editor->call("session/list", "{}").result().exists());  // the message before was taken
  program_.file("go", "");
  EXPECT_EQ(editor->stop(run), "end_turn");
  EXPECT_EQ(editor->stop(steer), "end_turn");
  EXPECT_EQ(editor->said("agent_message_chunk"), "as you say");
}

TEST_F(Acp, ASteeringPromptWithoutARunIsAPrompt) {
  const auto editor = open("- text: hello\n");
  const std::string session = editor->new_session();
  EXPECT_EQ(editor->stop(editor->begin_prompt(session, "hi", R"({"agentd/steer":true})")), "end_turn");
  EXPECT_EQ(editor->said("agent_message_chunk"), "hello");
}

TEST_F(Acp, CancelAnswersEveryPromptThatWaits) {
  const auto editor = open(kSlow + std::string("- text: later\n"));
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "one"), queued = editor->begin_prompt(session, "two");
  ASSERT_TRUE(editor->until([&] { return editor->count("agent_message_chunk") > 0; }));
  const int steer = editor->begin_prompt(session, "three", R"({"agentd/steer":true})");
  editor->cancel(session);
  EXPECT_EQ(editor->stop(run), "cancelled");
  EXPECT_EQ(editor->stop(queued), "cancelled");
  EXPECT_EQ(editor->stop(steer), "cancelled");
  EXPECT_FALSE(has(editor->said("notice"), "cancel")) << editor->said("notice");
  EXPECT_EQ(editor->prompt(session, "go on"), "end_turn");
  EXPECT_TRUE(has(editor->said("agent_message_chunk"), "later"));
}

TEST_F(Acp, CancelEndsAToolAndAQuestion) {
  const auto editor = open(scripted_bash("touch arrived; sleep 60") + scripted_bash("touch made") + "- text: later\n");
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "one");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  editor->cancel(session);
  EXPECT_EQ(editor->stop(run), "cancelled");
  editor->on_request([](const RpcMessage&) { return std::string(); });  // the person thinks
  const int asked = editor->begin_prompt(session, "two");
  ASSERT_TRUE(editor->until([&] { return editor->requests().size() == 2; }));
  editor->cancel(session);
  EXPECT_EQ(editor->stop(asked), "cancelled");
  // A late answer permits nothing.
  editor->answer(editor->requests()[1].id, AcpClient::choose("allow"));
  EXPECT_EQ(editor->prompt(session, "three"), "end_turn");
  EXPECT_FALSE(made("made"));
}

TEST_F(Acp, ARequestIsCancelledByItsId) {
  const auto editor = open(kSlow + std::string("- text: later\n"));
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "one"), queued = editor->begin_prompt(session, "two");
  ASSERT_TRUE(editor->until([&] { return editor->count("agent_message_chunk") > 0; }));
  editor->notify("$/cancel_request", R"({"requestId":)" + std::to_string(run) + "}");
  EXPECT_EQ(editor->stop(run), "fault -32800: the request was cancelled");
  EXPECT_EQ(editor->stop(queued), "end_turn");
}

TEST_F(Acp, AFloodOfPromptsIsBounded) {
  const auto editor = open(scripted_bash("touch arrived; until test -e go; do sleep 0.01; done") + "- text: done\n");
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "one");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  std::vector<int> flood;
  for (int i = 0; i < 300; ++i) flood.push_back(editor->begin_prompt(session, "more"));
  EXPECT_TRUE(editor->stop(flood.back()).starts_with("fault -32603: too many prompts wait"));
  editor->cancel(session);
  EXPECT_EQ(editor->stop(run), "cancelled");
  std::size_t cancelled = 0;
  for (const int each : flood) cancelled += editor->stop(each) == "cancelled" ? 1u : 0u;
  EXPECT_GE(cancelled, 1u);
  EXPECT_LE(cancelled, 64u);
}

// ---- sessions

TEST_F(Acp, TwoSessionsWorkAtTheSameTime) {
  const auto editor =
      open(scripted_bash("touch arrived; until test -e go; do sleep 0.01; done") + "- text: quick\n- text: slow\n");
  const std::string slow = editor->new_session(), quick = editor->new_session();
  ASSERT_NE(slow, quick);
  const int waits = editor->begin_prompt(slow, "wait");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  EXPECT_EQ(editor->prompt(quick, "be quick"), "end_turn");
  program_.file("go", "");
  EXPECT_EQ(editor->stop(waits), "end_turn");
  for (const RpcMessage& each : editor->updates()) {
    if (each.params()["update"]["sessionUpdate"].string_or("") != "agent_message_chunk") continue;
    const bool is_quick = each.params()["update"]["content"]["text"].string_or("") == "quick";
    EXPECT_EQ(each.params()["sessionId"].string_or(""), is_quick ? quick : slow);
  }
}

TEST_F(Acp, ALoadedSessionIsToldAgainAndAResumedOneIsNot) {
  std::string session;
  {
    const auto editor = open(
        "- thinking: hmm\n  text: I look\n  calls: [{name: bash, input: {command: echo seen}}]\n"
        "- text: done\n- for: summary\n  text: a short summary\n");
    session = editor->new_session();
    EXPECT_EQ(editor->prompt(session, "look"), "end_turn");
    EXPECT_EQ(editor->prompt(session, "/compact"), "end_turn");
    EXPECT_TRUE(has(editor->said("compaction_summary_chunk"), "a short summary"));
  }
  const auto editor = open("- text: and on\n  expect: {contains: a short summary}\n");
  EXPECT_EQ(editor->call("session/resume", session_json(session)).kind, RpcMessage::Kind::kResult);
  ASSERT_TRUE(editor->until([&] { return editor->count("usage_update") == 1; }));
  EXPECT_EQ(editor->count("user_message_chunk") + editor->count("agent_message_chunk"), 0u);
  editor->forget();
  EXPECT_EQ(editor->call("session/load", session_json(session)).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->said("user_message_chunk"), "look");
  EXPECT_EQ(editor->said("agent_thought_chunk"), "hmm");
  EXPECT_EQ(editor->said("agent_message_chunk"), "I lookdone");
  EXPECT_EQ(editor->count("tool_call"), 1u);
  EXPECT_TRUE(has(editor->said("tool_call_update"), "seen"));
  EXPECT_TRUE(has(editor->said("compaction_summary_chunk"), "a short summary"));
  EXPECT_EQ(editor->prompt(session, "go on"), "end_turn");
}

TEST_F(Acp, SessionsAreListedClosedAndDeleted) {
  const auto editor = open("- text: hello\n- text: hello\n");
  const std::string one = editor->new_session(), two = editor->new_session();
  EXPECT_EQ(editor->prompt(one, "the first talk"), "end_turn");
  EXPECT_EQ(editor->prompt(two, "the second talk"), "end_turn");
  const auto listed = [&](const std::string& params) {
    const RpcMessage answer = editor->call("session/list", params);
    std::string out;
    for (std::size_t i = 0; i < answer.result()["sessions"].size(); ++i)
      out += std::string(answer.result()["sessions"].at(i)["title"].string_or("")) + "\n";
    return out;
  };
  EXPECT_EQ(listed("{}"), "the second talk\nthe first talk\n");
  EXPECT_EQ(listed(R"({"cwd":")" + program_.project() + "\"}"), "the second talk\nthe first talk\n");
  EXPECT_EQ(listed(R"({"cwd":"/usr"})"), "");
  const std::string first = R"({"sessionId":")" + one + "\"}";
  EXPECT_EQ(editor->call("session/close", first).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->call("session/close", first).fault.code, kRpcNotFound);
  EXPECT_TRUE(editor->prompt(one, "more").starts_with("fault -32002"));
  EXPECT_EQ(editor->call("session/delete", first).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->call("session/delete", first).fault.code, kRpcNotFound);
  EXPECT_EQ(listed("{}"), "the second talk\n");
}

TEST_F(Acp, TheSecondEditorOfAConversationIsToldWhoHasIt) {
  const auto first = open(scripted_bash("touch arrived; until test -e go; do sleep 0.01; done") + "- text: done\n");
  const std::string session = first->new_session();
  const int run = first->begin_prompt(session, "wait");
  ASSERT_TRUE(first->until([&] { return made("arrived"); }));
  {
    AcpClient second(program_, {"--script", program_.directory().write("other.yaml", "- text: mine\n")});
    second.initialize();
    const RpcMessage loaded = second.call("session/load", session_json(session));
    const std::string said =
        loaded.kind == RpcMessage::Kind::kFault ? loaded.fault.message : second.prompt(session, "me");
    EXPECT_TRUE(has(said, "in use") || has(said, "works in")) << said;
  }
  program_.file("go", "");
  EXPECT_EQ(first->stop(run), "end_turn");
}

TEST_F(Acp, WhatAKilledAgentHadAcknowledgedIsThereAgain) {
  std::string session;
  {
    const auto editor = open("- text: kept\n" + scripted_bash("touch arrived; sleep 60"));
    session = editor->new_session();
    EXPECT_EQ(editor->prompt(session, "one"), "end_turn");
    (void)editor->begin_prompt(session, "two");
    ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
    editor->kill();
  }
  const auto editor = open("- text: on\n");
  EXPECT_EQ(editor->call("session/load", session_json(session)).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->said("user_message_chunk"), "onetwo");
  EXPECT_EQ(editor->said("agent_message_chunk"), "kept");
  EXPECT_EQ(editor->prompt(session, "three"), "end_turn");
}

TEST_F(Acp, AQuestionOutlivesItsEditor) {
  std::string session;
  {
    const auto editor = open(scripted_bash("touch made"));
    editor->on_request([](const RpcMessage&) { return std::string(); });
    session = editor->new_session();
    (void)editor->begin_prompt(session, "go");
    ASSERT_TRUE(editor->until([&] { return editor->requests().size() == 1; }));
  }
  EXPECT_FALSE(made("made"));
  EXPECT_TRUE(has(program_.run({"approve", "--list"}).out, "touch made"));
  // Whoever closes an editor has not answered: the next one asks again, and the call runs once.
  const auto editor = open("- text: it ran\n  expect: {contains: go on}\n");
  EXPECT_EQ(editor->call("session/load", session_json(session)).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->prompt(session, "go on"), "end_turn");
  EXPECT_EQ(editor->requests().size(), 1u);
  EXPECT_TRUE(made("made"));
}

// ---- an editor that misbehaves, and ends

// A pipe that is full: the editor has stopped reading.
constexpr const char* kLong = "- text: \"";
std::string long_answer(const std::string& more) { return kLong + std::string(400'000, 'x') + "\"\n" + more; }

TEST_F(Acp, AnEditorThatDoesNotReadHoldsBackItsSessionAlone) {
  for (const int signal : {0, SIGTERM}) {
    auto editor = open(long_answer("- text: more\n"));
    const std::string session = editor->new_session();
    (void)editor->begin_prompt(session, "talk");
    ::usleep(500'000);  // nothing is read meanwhile
    if (signal != 0) editor->program().signal(signal);
    EXPECT_EQ(editor->close_without_reading(), signal == 0 ? 0 : 128 + signal);
  }
}

TEST_F(Acp, AnAnswerIsReadHoweverLateItIs) {
  const auto editor = open(long_answer("- text: more\n"));
  const std::string session = editor->new_session();
  const int id = editor->begin_prompt(session, "talk");
  ::usleep(300'000);
  EXPECT_EQ(editor->stop(id), "end_turn");
  EXPECT_EQ(editor->said("agent_message_chunk").size(), 400'000u);
}

TEST_F(Acp, TheEndOfTheEditorIsTheEndOfAHookOfTheBeginning) {
  hook("slow", "on: session_start\ncommand: sleep 20\n");
  const auto begin = std::chrono::steady_clock::now();
  {
    const auto editor = open("- text: hello\n");
    (void)editor->begin("session/new", R"({"cwd":")" + program_.project() + R"(","mcpServers":[]})");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(Acp, AQuestionThatIsAskedAgainKeepsWaitingWhenTheNextEditorGoes) {
  std::string session;
  const std::string script = scripted_bash("touch made") + "- text: it ran\n";
  {
    const auto editor = open(script);
    editor->on_request([](const RpcMessage&) { return std::string(); });
    session = editor->new_session();
    (void)editor->begin_prompt(session, "go");
    ASSERT_TRUE(editor->until([&] { return editor->requests().size() == 1; }));
  }
  for (int i = 0; i < 3; ++i) {
    const auto editor = open("- text: it was denied\n");
    editor->on_request([](const RpcMessage&) { return std::string(); });
    EXPECT_EQ(editor->call("session/load", session_json(session)).kind, RpcMessage::Kind::kResult);
    (void)editor->begin_prompt(session, "go on");
    ASSERT_TRUE(editor->until([&] { return editor->requests().size() == 1; }));
  }
  EXPECT_TRUE(has(program_.run({"approve", "--list"}).out, "touch made"));
  EXPECT_FALSE(has(program_.run({"conversation", "show", session}).out, "go on"));
}

// A hook leaves the second call to a person later on; a message that steers comes meanwhile.
TEST_F(Acp, AMessageThatComesTooLateAnswersNoQuestion) {
  hook("later", "on: before_tool_call\nwhen: tool.input.command matches 'deferred'\ndo: {permission: defer}\n");
  const auto editor = open(
      "- calls: [{name: bash, input: {command: 'touch arrived; until test -e go; do sleep 0.01; done'}}, {name: bash, "
      "input: {command: 'touch deferred'}}]\n- text: done\n- text: done\n");
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "begin");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  const int steer = editor->begin_prompt(session, "and more", R"({"agentd/steer":true})");
  ASSERT_TRUE(editor->call("session/list", "{}").result().exists());
  const std::size_t asked = editor->requests().size();
  program_.file("go", "");
  EXPECT_EQ(editor->stop(run), "end_turn");
  EXPECT_EQ(editor->stop(steer), "end_turn");
  EXPECT_EQ(editor->requests().size(), asked + 1);
  EXPECT_TRUE(made("deferred"));
}

TEST_F(Acp, ASteeringPromptIsTakenBackByItsId) {
  const auto editor = open(scripted_bash("touch arrived; until test -e go; do sleep 0.01; done") +
                           "- text: as it was\n  expect: {not_contains: the other way}\n");
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "begin");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  const int steer = editor->begin_prompt(session, "the other way", R"({"agentd/steer":true})");
  editor->notify("$/cancel_request", R"({"requestId":)" + std::to_string(steer) + "}");
  EXPECT_EQ(editor->stop(steer), "fault -32800: the request was cancelled");
  program_.file("go", "");
  EXPECT_EQ(editor->stop(run), "end_turn");
}

TEST_F(Acp, AnIdThatWaitsForItsAnswerIsNotTakenTwice) {
  const auto editor = open(scripted_bash("touch arrived; until test -e go; do sleep 0.01; done") + "- text: done\n");
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "one");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  editor->send(R"({"jsonrpc":"2.0","id":)" + std::to_string(run) +
               R"(,"method":"session/prompt","params":{"sessionId":")" + session +
               R"(","prompt":[{"type":"text","text":"two"}]}})" + "\n");
  EXPECT_EQ(editor->stop(run), "fault -32600: a request with this id waits for its answer already");
  editor->cancel(session);
}

TEST_F(Acp, AClosedSessionEndsItsPromptsHoweverManyWait) {
  const auto editor = open(scripted_bash("touch arrived; sleep 60") + "- text: done\n");
  const std::string session = editor->new_session();
  const int run = editor->begin_prompt(session, "one");
  ASSERT_TRUE(editor->until([&] { return made("arrived"); }));
  std::vector<int> more;
  for (int i = 0; i < 70; ++i) more.push_back(editor->begin_prompt(session, "more"));
  EXPECT_EQ(editor->call("session/close", R"({"sessionId":")" + session + "\"}").kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->stop(run), "cancelled");
  EXPECT_EQ(editor->stop(more.front()), "cancelled");
}

TEST_F(Acp, ABrokenAnswerToAQuestionIsNone) {
  for (const char* const answer : {R"("result":{"outcome":"x"},"error":{"code":1,"message":"m"})", R"("error":"no")",
                                   R"("result":{"a":1,"a":2})"}) {
    const auto editor = open(scripted_bash("touch made") + "- text: done\n");
    editor->on_request([&](const RpcMessage& request) {
      editor->send(R"({"jsonrpc":"2.0","id":)" + request.id.json() + "," + answer + "}\n");
      return std::string();
    });
    EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "end_turn") << answer;
    EXPECT_FALSE(made("made"));
  }
}

TEST_F(Acp, TextsOfStrangersAreNoMarkdown) {
  const auto editor =
      open(scripted_bash("echo \"![a](https://example.org/x.png) **bold**\"; exit 3") + "- text: done\n");
  EXPECT_EQ(editor->prompt(editor->new_session(), "go"), "end_turn");
  EXPECT_TRUE(editor->said("tool_call_update").starts_with("```")) << editor->said("tool_call_update");
}

TEST_F(Acp, TwoHundredSessionsAreOpenAtATime) {
  const auto editor = open("- text: hello\n");
  std::vector<int> opened;
  for (int i = 0; i < 201; ++i)
    opened.push_back(editor->begin("session/new", R"({"cwd":")" + program_.project() + R"(","mcpServers":[]})"));
  const int last = opened.back();
  opened.pop_back();
  EXPECT_EQ(editor->wait(last).fault.message, "too many sessions are open: close one first");
  const std::string one(editor->wait(opened.front()).result()["sessionId"].string_or(""));
  for (const int each : opened) EXPECT_EQ(editor->wait(each).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(editor->call("session/close", R"({"sessionId":")" + one + "\"}").kind, RpcMessage::Kind::kResult);
  EXPECT_NE(editor->new_session(), "too many sessions are open: close one first");
}

// ---- the guide

TEST_F(Acp, ItsGuideAndItsManifestNameThisProgram) {
  const auto names_it = [](JsonView agent, std::string_view command) {
    return agent["command"].string_or(agent["cmd"].string_or("")) == command && agent["args"].size() == 1 &&
           agent["args"].at(0).string_or("") == "acp";
  };
  const std::vector<Block> blocks = blocks_of_page(AGENTD_EDITORS_GUIDE, "json");
  EXPECT_EQ(blocks.size(), 2u);
  for (const Block& block : blocks) {
    const auto settings = JsonDocument::parse(block.text);
    ASSERT_TRUE(settings) << block.text;
    EXPECT_TRUE(names_it(settings->root()["agent_servers"]["agentd"], "agentd")) << block.text;
  }
  const auto entry = JsonDocument::parse(read_file(AGENTD_AGENT_ENTRY, 1u << 20).value_or(""));
  ASSERT_TRUE(entry);
  EXPECT_TRUE(names_it(entry->root()["distribution"]["binary"]["linux-x86_64"], "./agentd"));
  EXPECT_EQ(program_.run({"--version"}).out, "agentd " + std::string(entry->root()["version"].string_or("")) + "\n");
}

// ---- commands and content

TEST_F(Acp, CommandsOfThePersonAreDone) {
  const auto editor = open("- text: hello\n- text: hello again\n- for: summary\n  text: a summary\n");
  const std::string session = editor->new_session();
  ASSERT_TRUE(editor->until([&] { return editor->count("available_commands_update") == 1; }));
  EXPECT_EQ(editor->prompt(session, "/undo"), "end_turn");
  EXPECT_TRUE(editor->said("agent_message_chunk").starts_with("Nothing was undone"));
  EXPECT_EQ(editor->prompt(session, "hi"), "end_turn");
  editor->forget();
  EXPECT_EQ(editor->prompt(session, "/compact"), "end_turn");
  EXPECT_TRUE(editor->said("agent_message_chunk").starts_with("Compacted: "));
  EXPECT_GE(editor->count("compaction_update"), 2u);
  editor->forget();
  EXPECT_EQ(editor->prompt(session, "/undo"), "end_turn");
  EXPECT_TRUE(editor->said("agent_message_chunk").starts_with("Undid the last compaction"));
  editor->forget();
  EXPECT_EQ(editor->prompt(session, "/checkpoint before lunch"), "end_turn");
  EXPECT_TRUE(editor->said("agent_message_chunk").starts_with("Saved checkpoint "));
  editor->forget();
  EXPECT_EQ(editor->prompt(session, "/clear"), "end_turn");
  EXPECT_TRUE(editor->said("agent_message_chunk").starts_with("Started a new conversation"));
  // A path is no command.
  EXPECT_EQ(editor->prompt(session, "/etc/hosts is a file"), "end_turn");
  EXPECT_TRUE(has(editor->said("agent_message_chunk"), "hello again"));
}

TEST_F(Acp, ARecipeRunsByItsName) {
  ASSERT_TRUE(make_directories(program_.home() + "/recipes"));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/recipes/greet.md",
                                    "---\nname: greet\ndescription: greets somebody\n---\nGreet {{.who}} warmly.\n",
                                    0600));
  const auto editor = open("- text: hello\n  expect: {contains: [Greet Ada Lovelace warmly, and be brief]}\n");
  EXPECT_EQ(editor->prompt(editor->new_session(), "/greet who='Ada Lovelace' and be brief"), "end_turn");
}

TEST_F(Acp, LinksTextsAndImagesReachTheModel) {
  const auto editor =
      open("- text: seen\n  expect: {contains: [look at these, /src/main.c, 'file:///notes.txt', the notes]}\n");
  const std::string session = editor->new_session();
  const std::string png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const auto ask = [&](const std::string& image) {
    return editor->stop(editor->begin(
        "session/prompt", R"({"sessionId":")" + session +
                              R"(","prompt":[{"type":"text","text":"look at these"},)"
                              R"({"type":"resource_link","uri":"file:///src/main.c","name":"main.c"},)"
                              R"({"type":"resource","resource":{"uri":"file:///notes.txt","text":"the notes"}},)"
                              R"({"type":"image","mimeType":"image/png","data":")" +
                              image + "\"}]}"));
  };
  EXPECT_TRUE(has(ask("bm8gcGljdHVyZQ=="), "fault -32602")) << ask("bm8gcGljdHVyZQ==");
  EXPECT_EQ(ask(png), "end_turn");
}

}  // namespace
}  // namespace agentd::testing
