// SPDX-License-Identifier: Apache-2.0
#include "providers/scripted/scripted.h"

#include <gtest/gtest.h>

#include "core/codec/json.h"
#include "providers/scripted/script.h"
#include "tests/support/model_fakes.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::RecordingSink;
using testing::TempDir;
using testing::TestRequest;

class ScriptedTest : public ::testing::Test {
 protected:
  TempDir dir_;
  SystemClock clock_;
  RecordingSink sink_;
  ScriptedOptions options_;

  std::unique_ptr<ModelProvider> open(std::string_view script, std::string_view name = "s.yaml") {
    options_.script_path = dir_.write(name, script);
    auto made = make_scripted_provider(options_, clock_);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }
  ModelResult ask(ModelProvider& provider, const std::string& purpose = "turn", std::string text = "hello") {
    TestRequest request;
    request.user(std::move(text)).value().purpose = purpose;
    return provider.complete(request.value(), sink_, {}, {});
  }
  std::string text_of(ModelProvider& provider, const std::string& purpose = "turn") {
    const auto result = ask(provider, purpose);
    return result ? result->message.text() : "error: " + result.error().message;
  }
};

TEST_F(ScriptedTest, PlaysItsTurnsInOrderAndThenSaysThatItIsOver) {
  const auto provider = open("- text: one\n- text: two\n");
  EXPECT_EQ(text_of(*provider), "one");
  EXPECT_EQ(text_of(*provider), "two");
  const auto result = ask(*provider);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kScript);
  EXPECT_EQ(result.error().message, dir_.file("s.yaml") +
                                        ": the script has no turn left for 'turn': it has 2 "
                                        "and this is request 3");
}

TEST_F(ScriptedTest, KeepsAQueueForEachPurpose) {
  const auto provider = open("turns:\n- text: t1\n- {for: summary, text: s1}\n- text: t2\n- {for: thread, text: h1}\n");
  EXPECT_EQ(text_of(*provider), "t1");
  EXPECT_EQ(text_of(*provider, "thread"), "h1");
  EXPECT_EQ(text_of(*provider, "summary"), "s1");
  EXPECT_EQ(text_of(*provider), "t2");
}

TEST_F(ScriptedTest, BeginsAgainWhereItRepeats) {
  const auto provider = open("repeat: true\nturns:\n- text: t1\n- {for: summary, text: s1}\n- text: t2\n");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(text_of(*provider), "t1");
    EXPECT_EQ(text_of(*provider), "t2");
    EXPECT_EQ(text_of(*provider, "summary"), "s1");
  }
  EXPECT_NE(text_of(*provider, "thread").find("no turn left for 'thread': it has 0"), std::string::npos);
  const auto once = open("repeat: false\nturns:\n- text: t1\n");
  EXPECT_EQ(text_of(*once), "t1");
  EXPECT_NE(text_of(*once).find("no turn left"), std::string::npos);
}

TEST_F(ScriptedTest, ReadsJsonLines) {
  const auto provider = open("{\"text\": \"\\ud83d\\ude00\"}\n\n{\"calls\": [{\"name\": \"ls\"}]}\n", "s.jsonl");
  EXPECT_EQ(text_of(*provider), "😀");
  const auto result = ask(*provider);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->message.blocks.at(0).json, "{}");
}

TEST_F(ScriptedTest, GivesInputsAsJsonAndTextInputsByteForByte) {
  const auto provider = open(
      "- calls:\n  - {name: a, input: {n: 5, s: '5', l: [true]}}\n  - {name: b, id: mine, input: '{ \"x\":  1 }'}\n");
  const auto result = ask(*provider);
  ASSERT_TRUE(result);
  const auto& blocks = result->message.blocks;
  EXPECT_EQ(blocks.at(0).json, R"({"n":5,"s":"5","l":[true]})");
  EXPECT_EQ(blocks.at(0).call_id, "call_1_1");
  EXPECT_EQ(blocks.at(1).json, R"({ "x":  1 })");
  EXPECT_EQ(blocks.at(1).call_id, "mine");
  EXPECT_EQ(result->stop_reason, StopReason::kToolUse);
}

TEST_F(ScriptedTest, ReportsUsageOnlyWhenTheScriptDoes) {
  const auto provider = open("- text: a\n- {text: b, usage: {input: 10, cache_read: 3}, stop_reason: max_tokens}\n");
  EXPECT_FALSE(ask(*provider)->usage.has_value());
  const auto second = ask(*provider);
  ASSERT_TRUE(second->usage.has_value());
  EXPECT_EQ(second->usage->prompt_tokens(), 13u);
  EXPECT_EQ(second->stop_reason, StopReason::kMaxTokens);
}

TEST_F(ScriptedTest, GoesOnInTheNextProcessWithAStateFile) {
  options_.state_path = dir_.file("state.json");
  const char* const script = "- text: one\n- {for: summary, text: sum}\n- text: two\n- {for: summary, text: sum2}\n";
  {
    const auto provider = open(script);
    EXPECT_EQ(text_of(*provider), "one");
    EXPECT_EQ(text_of(*provider, "summary"), "sum");
  }
  const auto provider = open(script);
  EXPECT_EQ(text_of(*provider), "two");
  EXPECT_EQ(text_of(*provider, "summary"), "sum2");
}

TEST_F(ScriptedTest, BeginsAtTheTurnThatIsAskedFor) {
  options_.start_turn = 1;
  EXPECT_EQ(text_of(*open("- text: one\n- text: two\n")), "two");
}

TEST_F(ScriptedTest, RefusesABrokenStateFile) {
  options_.state_path = dir_.write("state.json", "{oops");
  options_.script_path = dir_.write("s.yaml", "- text: one\n");
  const auto made = make_scripted_provider(options_, clock_);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("delete the file to start"), std::string::npos);
}

TEST_F(ScriptedTest, ChecksWhatTheRequestMustAndMustNotHold) {
  const auto provider = open(
      "- {text: a, expect: {contains: hello, not_contains: [bye]}}\n"
      "- text: b\n  expect:\n    contains: [needle]\n"
      "- text: c\n  expect: {not_contains: hello}\n");
  EXPECT_EQ(text_of(*provider), "a");
  EXPECT_EQ(text_of(*provider),
            "error: " + dir_.file("s.yaml") + ":2: the request does not contain 'needle', which this turn expects");
  const auto third = ask(*provider);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().kind, ModelErrorKind::kScript);
  EXPECT_EQ(third.error().message, dir_.file("s.yaml") + ":5: the request contains 'hello', which this turn forbids");
}

TEST_F(ScriptedTest, FindsTextsOfEveryPartOfTheRequestUnescaped) {
  const auto provider = open(
      "- text: a\n  expect:\n    contains: ['say \"hi\"', 'line\n\n      break', 'tool bash', 'call bash {\"x\":1}', "
      "out, "
      "'[summary]', closing words, rules]\n");
  Message call, result;
  call.role = Role::kAssistant;
  call.blocks = {Block::tool_use("t", "bash", R"({"x":1})")};
  result.blocks = {Block::tool_result("t", "out", false)};
  TestRequest request;
  request.user("say \"hi\"\nline\nbreak").add(call).add(result).add(Message::of_text(Role::kSummary, "s")).tool("bash");
  request.value().closing_text = "closing words";
  request.value().system = "rules";
  const auto answer = provider->complete(request.value(), sink_, {}, {});
  EXPECT_TRUE(answer) << answer.error().message;
}

TEST_F(ScriptedTest, RecordsEveryRequestAsOneLine) {
  options_.record_path = dir_.file("record.jsonl");
  const auto provider = open("- text: a\n- {for: summary, text: s}\n");
  EXPECT_TRUE(ask(*provider, "turn", "first\nline"));
  EXPECT_TRUE(ask(*provider, "summary", "second"));
  EXPECT_FALSE(ask(*provider, "turn", "past the end"));
  const std::string record = dir_.read("record.jsonl");
  std::vector<std::string> texts, purposes;
  std::size_t from = 0;
  while (from < record.size()) {
    const std::size_t end = record.find('\n', from);
    const auto line = JsonDocument::parse(record.substr(from, end - from));
    ASSERT_TRUE(line) << line.error().message;
    purposes.emplace_back(line->root()["for"].string_or(""));
    texts.emplace_back(line->root()["messages"].at(0)["blocks"].at(0)["text"].string_or(""));
    from = end + 1;
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"first\nline", "second", "past the end"}));
  EXPECT_EQ(purposes, (std::vector<std::string>{"turn", "summary", "turn"}));
}

TEST_F(ScriptedTest, FailsAsTheScriptSays) {
  const auto provider = open(
      "- error: {kind: overloaded, status: 529, message: 'all busy'}\n"
      "- {text: half, error: {kind: interrupted}}\n- text: fine\n");
  const auto first = ask(*provider);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ModelErrorKind::kOverloaded);
  EXPECT_EQ(first.error().message, "all busy");
  EXPECT_EQ(first.error().http_status, 529);
  EXPECT_TRUE(first.error().retryable);
  const auto second = ask(*provider);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().partial.text(), "half");
  EXPECT_EQ(text_of(*provider), "fine");
}

TEST_F(ScriptedTest, CancelledBetweenTwoPiecesItKeepsWhatWasSaid) {
  struct Impatient final : ModelSink {
    void on_text(std::string_view delta) override {
      text += delta;
      cancel.cancel(AGENTD_CANCEL_USER);
    }
    void on_thinking(std::string_view) override {}
    void on_tool_call(std::string_view, std::string_view) override {}
    void on_wait(Milliseconds, const ModelError&) override {}
    CancelToken cancel;
    std::string text;
  } sink;
  const auto provider = open("- text: " + std::string(60, 'a') + "\n  pace_ms: 1\n");
  TestRequest request;
  request.user("hello");
  const auto result = provider->complete(request.value(), sink, sink.cancel, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kCancelled);
  EXPECT_EQ(result.error().partial.text(), sink.text);
  EXPECT_EQ(sink.text, std::string(24, 'a'));
}

TEST_F(ScriptedTest, SaysThatThereIsNoScript) {
  options_.script_path = dir_.file("none.yaml");
  const auto made = make_scripted_provider(options_, clock_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kNotFound);
  EXPECT_NE(made.error().message.find("none.yaml"), std::string::npos);
}

struct BrokenScript {
  const char *text, *place, *what;
};

TEST(Script, NamesThePlaceOfEveryMistake) {
  const BrokenScript broken[] = {
      {"", "s.yaml:", "a script is a list of turns"},
      {"text: hello\n", "s.yaml:1:1", "'text' is not a key of a script"},
      {"repeat: often\nturns: [{text: a}]\n", "s.yaml:1:1", "'repeat' must be true or false"},
      {"[]\n", "s.yaml:1:1", "the script has no turns"},
      {"- text: ok\n- txt: hello\n", "s.yaml:2:3", "'txt' is not a key of a turn"},
      {"- text: [1]\n", "s.yaml:1:3", "'text' must be text"},
      {"- hello\n", "s.yaml:1:3", "a turn must be a mapping"},
      {"- for: turn\n", "s.yaml:1:3", "a turn needs text"},
      {"- text: a\n  for: lunch\n", "s.yaml:2:3", "'for' must be turn, summary or thread"},
      {"- calls: ls\n", "s.yaml:1:3", "'calls' must be a list"},
      {"- calls: [{input: {}}]\n", "s.yaml:1:11", "a call needs the name"},
      {"- calls: [{name: a, input: 5}]\n", "s.yaml:1:21", "'input' must be a mapping"},
      {"- calls: [{name: a, input: '{\"x\":'}]\n", "s.yaml:1:21", "'input' must be a mapping"},
      {"- calls: [{name: a, args: {}}]\n", "s.yaml:1:21", "'args' is not a key of a call"},
      {"- text: a\n  stop_reason: bored\n", "s.yaml:2:3", "'bored' is not a stop reason"},
      {"- error: boom\n", "s.yaml:1:3", "'error' must be a mapping"},
      {"- error: {kind: boom}\n", "s.yaml:1:11", "'boom' is not a kind of error; use auth, billing"},
      {"- error: {message: m}\n", "s.yaml:1:3", "an error needs its kind"},
      {"- text: a\n  usage: {inptu: 1}\n", "s.yaml:2:11", "'inptu' is not a key of usage"},
      {"- text: a\n  usage: {input: -1}\n", "s.yaml:2:11", "'input' must be a whole number"},
      {"- text: a\n  expect: {has: x}\n", "s.yaml:2:12", "'has' is not a key of expect"},
      {"- text: a\n  expect: {contains: {x: 1}}\n", "s.yaml:2:12", "'contains' must be text or a list"},
      {"- text: a\n  delay_ms: soon\n", "s.yaml:2:3", "'delay_ms' must be a whole number"},
      {"- text: a\n  pace_ms: -1\n", "s.yaml:2:3", "'pace_ms' must be a whole number"},
      {"- text: \"a", "s.yaml:1:", ""},
      {"- text: a\n  text: b\n", "s.yaml:2:3", "'text' is repeated"},
  };
  for (const BrokenScript& one : broken) {
    const auto script = parse_script(one.text, "s.yaml");
    ASSERT_FALSE(script) << one.text;
    EXPECT_EQ(script.error().code, Code::kInvalid);
    EXPECT_EQ(script.error().message.substr(0, std::string(one.place).size()), one.place)
        << one.text << script.error().message;
    EXPECT_NE(script.error().message.find(one.what), std::string::npos) << script.error().message;
  }
}

TEST(Script, NamesTheLineOfAMistakeInJsonLines) {
  const auto bad = parse_script("{\"text\":\"a\"}\n{\"text\":\n", "s.jsonl");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.substr(0, 12), "s.jsonl:2:1:");
  const auto wrong = parse_script("\n\n[1]\n", "s.jsonl");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.substr(0, 12), "s.jsonl:3:1:");
}

}  // namespace
}  // namespace agentd
