// SPDX-License-Identifier: Apache-2.0
// What goes over the wire when something went wrong before it: inputs that are no JSON, texts cut inside a
// character, two calls of one id, runs that were interrupted. The server refuses what the API refuses.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "tests/e2e/program.h"
#include "tests/support/anthropic_rules.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

Reply said(const std::string& text) {
  return Reply::stream(AnthropicWire().start().text({text}).finish("end_turn").bytes());
}

// Plays its replies in order, and refuses what the API refuses.
class StrictServer {
 public:
  explicit StrictServer(std::deque<Reply> replies)
      : replies_(std::move(replies)), server_([this](const RecordedRequest& request) {
          const std::string why = anthropic_refusal(request.body, rules);
          if (why.empty() && !replies_.empty()) {
            Reply next = std::move(replies_.front());
            replies_.pop_front();
            return next;
          }
          refused.push_back(why);
          return Reply::http(400, {{"content-type", "application/json"}},
                             anthropic_error_body("invalid_request_error", why));
        }) {}
  std::string url() const { return server_.url(); }
  std::string whole_body(std::size_t index) const { return server_.requests().at(index).body; }
  // The messages of a request.
  std::string body(std::size_t index) const {
    const std::string whole = whole_body(index);
    return whole.substr(whole.find("\"messages\":"));
  }
  std::size_t count() const { return server_.requests().size(); }
  std::vector<std::string> refused;
  AnthropicRules rules{};

 private:
  std::deque<Reply> replies_;
  LoopbackServer server_;
};

class Wire : public ::testing::Test {
 protected:
  Wire() {
    program_.set("ANTHROPIC_API_KEY=sk-test-123");
    program_.set("NO_PROXY=127.0.0.1");
  }
  static std::vector<std::string> words(const StrictServer& server, std::vector<std::string> more) {
    more.insert(more.end(),
                {"--set", "base_url=" + server.url(), "--set", "providers.anthropic.max_retries=0", "--allow", "*"});
    return more;
  }
  Finished run(const StrictServer& server, const std::vector<std::string>& more) {
    return program_.run(words(server, more));
  }
  // What the messages hold, a line each: "> " is the user's, "< " the model's.
  static std::string lines_of(const std::string& body) {
    const auto document = JsonDocument::parse("{" + body);
    std::string out;
    if (!document) return out;
    const JsonView messages = document->root()["messages"];
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const bool user = messages.at(i)["role"].string_or("") == "user";
      const JsonView content = messages.at(i)["content"];
      for (std::size_t b = 0; b < content.size(); ++b) {
        const std::string type(content.at(b)["type"].string_or(""));
        out += (user ? "> " : "< ") + (type == "text" ? std::string(content.at(b)["text"].string_or("")) : type) + "\n";
      }
    }
    return out;
  }
  Program program_;
};

// ---- a server that asks for time

TEST_F(Wire, AWaitForTheModelIsToldAlsoWhereNobodySeesAProgressLine) {
  const auto busy = [] {
    return Reply::http(429, {{"content-type", "application/json"}, {"retry-after-ms", "1200"}},
                       anthropic_error_body("rate_limit_error", "slow down"));
  };
  const auto ask = [&](const std::vector<std::string>& more) {
    StrictServer server({busy(), Reply::stream(AnthropicWire().start().text({"done"}).finish("end_turn").bytes())});
    std::vector<std::string> all{"run", "--set", "base_url=" + server.url(), "x"};
    all.insert(all.end(), more.begin(), more.end());
    Finished out = program_.run(all);
    EXPECT_EQ(out.code, 0) << out.err;
    return out;
  };
  const Finished plain = ask({});
  EXPECT_NE(plain.err.find("note: the model is called again in 1.2 s: anthropic"), std::string::npos) << plain.err;
  EXPECT_NE(plain.err.find("slow down"), std::string::npos) << plain.err;
  EXPECT_EQ(plain.out, "done\n");
  std::string told;
  for (const JsonDocument& line : json_lines(ask({"--json"}).out))
    if (line.root()["type"].string_or("") == "notice") told += line.root()["text"].string_or("");
  EXPECT_TRUE(told.starts_with("the model is called again in 1.2 s: anthropic")) << told;
}

// ---- inputs that are no JSON object

TEST_F(Wire, AnInputThatIsNoObjectIsToldToTheModelAndTheRunGoesOn) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> inputs{
      {{R"({"command": "touch made")"}, "is not a JSON object"},
      {{"touch made"}, "is not a JSON object"},
      {{R"(["touch made"])"}, "is not a JSON object"},
      {{R"({"command": "touch made"} {"command": "ls"})"}, "after its JSON object"},
      {{R"({"command": "touch made", "command": "ls"})"}, "has the key"},
  };
  for (const auto& [pieces, why] : inputs) {
    StrictServer server({Reply::stream(AnthropicWire()
                                           .start()
                                           .text({"I will."})
                                           .tool_use("toolu_1", "bash", pieces)
                                           .tool_use("toolu_2", "bash", {R"({"command":"echo 4711"})"})
                                           .finish("tool_use")
                                           .bytes()),
                         said("Once more, then.")});
    const Finished ran = run(server, {"run", "go"});
    ASSERT_EQ(ran.code, 0) << pieces[0] << "\n" << ran.err;
    EXPECT_TRUE(has(ran.out, "Once more, then.")) << ran.out;
    ASSERT_EQ(server.count(), 2u);
    EXPECT_TRUE(has(server.body(1), why)) << server.body(1);
    EXPECT_TRUE(has(server.body(1), "4711")) << "the other call ran";
    EXPECT_TRUE(server.refused.empty());
    EXPECT_FALSE(fs::exists(program_.project() + "/made")) << pieces[0];
  }
}

// ---- texts cut inside a character

TEST_F(Wire, ThinkingThatWasCutInsideAnEmojiGoesBackAsItWasSigned) {
  const auto delta = [](int index, const std::string& json) {
    return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + json + "}";
  };
  const auto block = [](int index, const std::string& json) {
    return R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" + json + "}";
  };
  AnthropicWire wire;
  wire.start()
      .event("content_block_start", block(0, R"({"type":"thinking","thinking":"","signature":""})"))
      .event("content_block_delta", delta(0, R"({"type":"thinking_delta","thinking":"so \ud83d"})"))
      .event("content_block_delta", delta(0, R"({"type":"thinking_delta","thinking":"\ude00 then"})"))
      .event("content_block_delta", delta(0, R"({"type":"signature_delta","signature":"claude/1"})"))
      .event("content_block_stop", R"({"type":"content_block_stop","index":0})")
      .event("content_block_start", block(1, R"({"type":"text","text":""})"))
      .event("content_block_delta", delta(1, R"({"type":"text_delta","text":"here \ud83d"})"))
      .event("content_block_delta", delta(1, R"({"type":"text_delta","text":"\udc4d it is"})"))
      .event("content_block_stop", R"({"type":"content_block_stop","index":1})")
      .event("content_block_start", block(2, R"({"type":"tool_use","id":"toolu_1","name":"bash","input":{}})"))
      .event("content_block_delta",
             delta(2, R"({"type":"input_json_delta","partial_json":"{\"command\":\"echo \ud83d"})"))
      .event("content_block_delta", delta(2, R"({"type":"input_json_delta","partial_json":"\udc4d\"}"})"))
      .event("content_block_stop", R"({"type":"content_block_stop","index":2})")
      .finish("tool_use");
  StrictServer server({Reply::stream(wire.bytes()), said("Done.")});
  const Finished ran = run(server, {"run", "go"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "here 👍 it is")) << ran.out;
  ASSERT_EQ(server.count(), 2u);
  EXPECT_TRUE(has(server.body(1), R"({"type":"thinking","thinking":"so 😀 then","signature":"claude/1"})"))
      << server.body(1);
  EXPECT_TRUE(has(server.body(1), R"("input":{"command":"echo 👍"})")) << server.body(1);
  EXPECT_FALSE(has(server.body(1), "\xEF\xBF\xBD")) << server.body(1);
}

// ---- calls of one id

Reply calls(const std::vector<std::pair<std::string, std::string>>& of) {
  AnthropicWire wire;
  wire.start();
  for (const auto& [id, command] : of) wire.tool_use(id, "bash", {R"({"command":")" + command + "\"}"});
  return Reply::stream(wire.finish("tool_use").bytes());
}

TEST_F(Wire, TwoCallsOfOneIdAreTwoCallsInRequestAndLog) {
  StrictServer server(
      {calls({{"toolu_1", "echo one"}, {"toolu_1", "echo two"}, {"toolu_1_2", "echo three"}}), said("Done.")});
  const Finished ran = run(server, {"run", "--json", "go"});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_EQ(server.refused, std::vector<std::string>{});
  ASSERT_EQ(server.count(), 2u);
  for (const char* const id : {"toolu_1", "toolu_1_2", "toolu_1_3"})
    EXPECT_TRUE(has(server.body(1), R"("tool_use_id":")" + std::string(id) + '"')) << server.body(1);
  // What the surface and the log say of each call is of that call.
  std::map<std::string, std::string> outputs;
  for (const JsonDocument& line : json_lines(ran.out))
    if (line.root()["type"].string_or("") == "tool_result")
      outputs[std::string(line.root()["call_id"].string_or(""))] =
          std::string(line.root()["output"].string_or(line.root()["text"].string_or("")));
  EXPECT_EQ(outputs.size(), 3u) << ran.out;
}

// Servers that count the calls of each answer from the beginning.
TEST_F(Wire, AnIdThatAnEarlierAnswerHadIsAnotherCallInRequestAndLog) {
  StrictServer server({calls({{"call_0", "echo one"}}), calls({{"call_0", "echo two"}}), said("Done."),
                       calls({{"call_0", "echo three"}}), said("Done again.")});
  ASSERT_EQ(run(server, {"run", "go"}).code, 0);
  const Finished ran = run(server, {"run", "--follow", "again"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.refused, std::vector<std::string>{});
  EXPECT_EQ(server.count(), 5u);
}

// ---- summaries by a recipe, and answers that are cut

// A gateway that takes tool blocks only beside tools.
TEST_F(Wire, ARecipeThatSummarisesToolCallsTakesTheToolsAlong) {
  StrictServer server({calls({{"toolu_1", "echo one"}}), said("Done."), said("The summary.")});
  server.rules.tools_beside_tool_blocks = true;
  ASSERT_EQ(run(server, {"run", "go"}).code, 0);
  const Finished done = run(server, {"run", "-r", "compact", "--follow"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(server.refused, std::vector<std::string>{});
  EXPECT_EQ(server.count(), 3u);
  EXPECT_TRUE(has(server.whole_body(2), R"("tool_choice":{"type":"none"})"));
  EXPECT_TRUE(has(lines_of(server.body(2)), "< tool_use\n> tool_result\n")) << server.body(2);
}

TEST_F(Wire, AProviderThatIsBusyInTheMiddleOfAnAnswerIsGivenTime) {
  StrictServer server(
      {Reply::stream(AnthropicWire().start().text({"Ha"}).error("overloaded_error", "Overloaded").bytes()),
       said("Whole.")});
  const Finished told = run(server, {"run", "go"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_TRUE(has(told.err, "the model is called again in 1 s")) << told.err;
  EXPECT_EQ(server.count(), 2u);
}

TEST_F(Wire, AnAnswerThatIsCutIsToldWithTheLimitThatWasSent) {
  StrictServer server({Reply::stream(AnthropicWire().start().text({"Half"}).finish("max_tokens").bytes())});
  const Finished ran = run(server, {"run", "go"});
  EXPECT_EQ(ran.code, 10) << ran.err;
  EXPECT_TRUE(has(server.whole_body(0), "\"max_tokens\":49152"));
  EXPECT_TRUE(has(ran.err, "was cut at the limit of 49,152 output tokens, including thinking")) << ran.err;
}

// ---- answers that are paused, and those that say nothing

Reply paused(const std::string& text) {
  AnthropicWire wire;
  wire.start();
  if (!text.empty()) wire.text({text});
  return Reply::stream(wire.finish("pause_turn").bytes());
}

TEST_F(Wire, AnAnswerThatItsProviderPausesGoesOn) {
  StrictServer server({paused("I search."), paused(""), said("Found."), said("Yes.")});
  const Finished ran = run(server, {"run", "go"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "I search.\nFound.\n");
  EXPECT_FALSE(has(ran.err, "warning")) << ran.err;
  ASSERT_EQ(server.count(), 3u);
  EXPECT_EQ(lines_of(server.body(1)), "> go\n< I search.\n> Continue.\n");
  EXPECT_EQ(lines_of(server.body(2)), "> go\n< I search.\n> Continue.\n");
  // Nobody has said that: the log and later requests have the answer alone.
  EXPECT_EQ(run(server, {"run", "--follow", "really"}).code, 0);
  EXPECT_EQ(lines_of(server.body(3)), "> go\n< I search.\n< Found.\n> really\n");
  EXPECT_EQ(server.refused, std::vector<std::string>{});
}

TEST_F(Wire, TheResultOfAPausedAnswerIsTheWholeOfIt) {
  StrictServer server({paused("One."), said("Two.")});
  EXPECT_EQ(run(server, {"run", "--result-only", "go"}).out, "One.\n\nTwo.\n");
}

TEST_F(Wire, AnAnswerThatIsPausedWithoutEndEndsTheRunAndIsTold) {
  StrictServer server(std::deque<Reply>(20, paused("and")));
  const Finished ran = run(server, {"run", "go"});
  EXPECT_EQ(ran.code, 10) << ran.err;
  EXPECT_EQ(server.count(), 8u);
  EXPECT_TRUE(has(ran.err,
                  "warning: the provider has paused the answer 8 times in a row, and the run stops here: "
                  "continue with --follow\n"))
      << ran.err;
  EXPECT_EQ(server.refused, std::vector<std::string>{});
}

TEST_F(Wire, AnAnswerThatSaysNothingIsTold) {
  const std::string told = "warning: the model ended its turn with an empty answer: try again with --follow\n";
  for (const bool blank : {false, true}) {
    AnthropicWire wire;
    wire.start();
    if (blank) wire.text({" \n\n"});
    StrictServer server({Reply::stream(wire.finish("end_turn").bytes()), said("Here.")});
    const Finished ran = run(server, {"run", "go"});
    EXPECT_EQ(ran.code, 11) << ran.err;
    EXPECT_TRUE(has(ran.err, told)) << ran.err;
    const Finished next = run(server, {"run", "--result-only", "--follow", "well"});
    EXPECT_EQ(next.out, "Here.\n");
    EXPECT_EQ(next.err, "");
    EXPECT_EQ(server.refused, std::vector<std::string>{});
  }
  // Behind tools as well, and for who reads nothing but the result.
  StrictServer server({calls({{"t1", "true"}}), Reply::stream(AnthropicWire().start().finish("end_turn").bytes())});
  const Finished ran = run(server, {"run", "--result-only", "go"});
  EXPECT_TRUE(has(ran.err, told)) << ran.err;
}

// ---- what no provider can mean

constexpr char kTouch[] = R"({"command":"touch made"})";

TEST_F(Wire, ACallOfAnAnswerThatEndedForAnUnknownReasonIsNotRun) {
  StrictServer server(
      {Reply::stream(AnthropicWire()
                         .start()
                         .text({"I begin."})
                         .tool_use("t1", "bash", {kTouch})
                         .finish("of_tomorrow\\u001b[2J")
                         .bytes()),
       said("Fine."),
       Reply::stream(AnthropicWire().start().tool_use("t1", "bash", {kTouch}).finish("tool_use").bytes()),
       said("Made.")});
  const Finished ran = run(server, {"run", "go"});
  EXPECT_EQ(ran.code, 10) << ran.err;
  EXPECT_FALSE(fs::exists(program_.project() + "/made"));
  EXPECT_TRUE(has(ran.out, "I begin.")) << ran.out;
  EXPECT_TRUE(has(ran.err, "ended the answer for an unknown reason, 'of_tomorrow")) << ran.err;
  EXPECT_TRUE(has(ran.err, "its tool calls are not run")) << ran.err;
  EXPECT_FALSE(has(ran.err, "\x1b[2J"));
  EXPECT_EQ(server.count(), 1u);
  EXPECT_EQ(run(server, {"run", "--follow", "and now"}).code, 0);
  // The same call behind a reason that is one runs.
  EXPECT_EQ(run(server, {"run", "--follow", "go"}).code, 0);
  EXPECT_TRUE(fs::exists(program_.project() + "/made"));
  EXPECT_TRUE(server.refused.empty());
}

TEST_F(Wire, FiguresThatNoAnswerCanHaveAreLeftOutAndTold) {
  for (const char* const usage :
       {R"({"input_tokens":18446744073709551615,"output_tokens":1})",
        R"({"input_tokens":9,"cache_read_input_tokens":18446744073709551610,"output_tokens":1})",
        R"({"input_tokens":9,"output_tokens":9223372036854775807})",
        R"({"input_tokens":9,"output_tokens":1,"output_tokens_details":{"thinking_tokens":1000000001}})"}) {
    StrictServer server({Reply::stream(AnthropicWire()
                                           .start(R"({"input_tokens":9,"output_tokens":1})")
                                           .text({"Fine."})
                                           .finish("end_turn", usage)
                                           .bytes()),
                         said("Yes.")});
    const Finished ran = run(server, {"run", "--json", "go"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    bool told = false;
    for (const JsonDocument& line : json_lines(ran.out)) {
      told = told || has(std::string(line.root()["text"].string_or("")), "tokens, which is impossible");
      if (line.root()["type"].string_or("") == "warning") continue;
      for (const char* const figure : {"1844674407370955", "9223372036854775807", "1000000001"})
        EXPECT_FALSE(has(line.root().text(), figure)) << ran.out;
    }
    EXPECT_TRUE(told) << ran.out;
    const Finished list = program_.run({"conversation", "list", "--all", "--limit", "1", "--json"});
    const auto newest = JsonDocument::parse(list.out.substr(0, list.out.find('\n')));
    ASSERT_TRUE(newest) << list.out;
    for (const char* const key : {"input", "output", "cache_read", "reasoning"})
      EXPECT_LT(newest->root()["usage"][key].uint_or(0), 1'000'000u) << list.out;
    EXPECT_EQ(run(server, {"run", "--follow", "and now"}).code, 0);
    EXPECT_TRUE(server.refused.empty());
  }
}

TEST_F(Wire, FiguresOfAScriptAreLookedAtAsWell) {
  const Finished ran = program_.run(
      {"run", "go", "--script", program_.script("- text: fine\n  usage: {input: 18446744073709551615, output: 2}\n")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.err, "18,446,744,073,709,551,615 tokens, which is impossible")) << ran.err;
}

// ---- what was interrupted

// Half an answer, and then nothing until the client goes away.
Reply half(const std::string& text) {
  std::string stream = AnthropicWire().start().text({text}).bytes();
  return Reply::stream(stream.substr(0, stream.rfind("event: content_block_stop"))).stall();
}

TEST_F(Wire, AnAnswerThatWasInterruptedIsMarkedForTheModel) {
  StrictServer server({half("Half of it"), said("Fine."), said("Yes.")});
  Running running = program_.start(words(server, {"run", "--json", "first"}));
  ASSERT_TRUE(running.wait_for_out("Half of it")) << running.err();
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  EXPECT_EQ(run(server, {"run", "--follow", "second"}).code, 0);
  EXPECT_EQ(lines_of(server.body(1)),
            "> first\n< Half of it\n> [interrupted: the answer above is not whole]\n> second\n");
  // It stays where it is: the provider's cache holds.
  EXPECT_EQ(run(server, {"run", "--follow", "third"}).code, 0);
  EXPECT_EQ(lines_of(server.body(2)),
            "> first\n< Half of it\n> [interrupted: the answer above is not whole]\n> second\n< Fine.\n"
            "> third\n");
  EXPECT_EQ(server.refused, std::vector<std::string>{});
  // And the log says nothing that nobody said.
  const Finished shown = program_.run({"conversation", "show", program_.newest()});
  EXPECT_TRUE(has(shown.out, "Half of it")) << shown.err;
  EXPECT_FALSE(has(shown.out, "[interrupted")) << shown.out;
}

TEST_F(Wire, AMessageThatWasNotAnsweredIsMarkedForTheModel) {
  StrictServer server(
      {Reply{}.stall(),
       Reply::http(403, {{"content-type", "application/json"}}, anthropic_error_body("permission_error", "no")),
       said("Fine.")});
  Running running = program_.start(words(server, {"run", "first"}));
  while (server.count() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  EXPECT_NE(run(server, {"run", "--follow", "second"}).code, 0);
  EXPECT_EQ(run(server, {"run", "--follow", "third"}).code, 0);
  EXPECT_EQ(lines_of(server.body(2)),
            "> first\n> [interrupted: the message above was not answered]\n> second\n"
            "> [interrupted by an error: the message above was not answered]\n> third\n");
  EXPECT_EQ(server.refused, std::vector<std::string>{});
}

TEST_F(Wire, ACallThatWasInterruptedIsMarkedBehindItsResult) {
  StrictServer server({calls({{"toolu_1", "sleep 600"}}), said("Fine.")});
  Running running = program_.start(words(server, {"run", "first"}));
  ASSERT_TRUE(running.wait_for_err("• bash"));
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  EXPECT_EQ(run(server, {"run", "--follow", "second"}).code, 0);
  EXPECT_EQ(lines_of(server.body(1)), "> first\n< tool_use\n> tool_result\n> [interrupted]\n> second\n");
  EXPECT_EQ(server.refused, std::vector<std::string>{});
}

TEST_F(Wire, AProgramThatWasKilledLeavesAMark) {
  StrictServer server({half("Half of it"), said("Fine.")});
  {
    Running running = program_.start(words(server, {"run", "--json", "first"}));
    ASSERT_TRUE(running.wait_for_out("Half of it")) << running.err();
    running.signal(SIGKILL);
    running.wait();
  }
  EXPECT_EQ(run(server, {"run", "--follow", "second"}).code, 0);
  EXPECT_EQ(lines_of(server.body(1)), "> first\n> [interrupted: the message above was not answered]\n> second\n");
}

// What the summary is made of has the mark, too.
TEST_F(Wire, ASummaryIsMadeOfWhatIsMarked) {
  StrictServer server({half("Half of it"), said("The summary.")});
  Running running = program_.start(words(server, {"run", "--json", "first"}));
  ASSERT_TRUE(running.wait_for_out("Half of it")) << running.err();
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  const Finished done = program_.run({"compact", "--follow", "--set", "base_url=" + server.url()});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(
      lines_of(server.body(1)).starts_with("> first\n< Half of it\n> [interrupted: the answer above is not whole]\n"))
      << server.body(1);
}

// A control: runs that ended by themselves leave none.
TEST_F(Wire, WhatWasAnsweredHasNoMark) {
  StrictServer server({calls({{"toolu_1", "echo a"}}), said("One."), calls({{"toolu_2", "echo b"}}), said("Three.")});
  ASSERT_EQ(run(server, {"run", "first"}).code, 0);
  run(server, {"run", "--follow", "--max-turns", "1", "second"});
  EXPECT_EQ(run(server, {"run", "--follow", "third"}).code, 0);
  EXPECT_FALSE(has(server.body(3), "[interrupted")) << server.body(3);
}

}  // namespace
}  // namespace agentd::testing
