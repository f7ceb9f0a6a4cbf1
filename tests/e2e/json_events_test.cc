// SPDX-License-Identifier: Apache-2.0
// json_events_test.cc - what `--json` prints is what docs/reference/json-events.md says, and how a run has ended
// stands in its last event and in the exit code.
#include <gtest/gtest.h>
#include <algorithm>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/e2e/hook_files.h"

namespace agentd::testing {
namespace {

using Members = std::map<std::string, bool>;  // name, whether it always stands there

// The tables of the page, by heading; those above the first heading under "".
std::map<std::string, Members> tables_of_page() {
  std::ifstream in(std::string(AGENTD_SOURCE_DIR) + "/docs/reference/json-events.md");
  std::map<std::string, Members> out;
  std::string line, heading;
  while (std::getline(in, line)) {
    if (line.starts_with("## `")) heading = line.substr(4, line.find('`', 4) - 4);
    if (line.starts_with("## Objects")) break;
    if (!line.starts_with("| `")) continue;
    const std::size_t type = line.find('|', 3);
    const bool optional = line.substr(type, line.find('|', type + 1) - type).find("optional") != std::string::npos;
    out[heading][line.substr(3, line.find('`', 3) - 3)] = !optional;
  }
  return out;
}

class JsonEvents : public HookFiles {
 protected:
  std::vector<JsonDocument> events(const std::string& script, std::vector<std::string> words, int code) {
    words.insert(words.begin(), {"run", "--json", "--script", program_.script(script)});
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    return json_lines(ran.out);
  }
  void is_documented(const JsonDocument& line) {
    const std::string type(line.root()["type"].string_or(""));
    ASSERT_TRUE(pages_.contains(type) || type == "turn_started") << type;
    Members all = pages_[type];
    if (type != "system") all.insert(pages_[""].begin(), pages_[""].end());
    for (std::size_t i = 0; i < line.root().size(); ++i) {
      const std::string name(line.root().key_at(i));
      EXPECT_TRUE(name == "type" || all.contains(name)) << type << " has " << name;
    }
    for (const auto& [name, always] : all)
      EXPECT_TRUE(!always || line.root()[name.c_str()].exists()) << type << " lacks " << name;
    seen_.insert(type);
  }

  // The last event but for those of the session's end.
  static JsonView end_of(const std::vector<JsonDocument>& lines) {
    for (const JsonDocument& line : lines)
      if (line.root()["type"].string_or("") == "run_ended") return line.root();
    ADD_FAILURE() << "no run_ended";
    return {};
  }

  std::map<std::string, Members> pages_ = tables_of_page();
  std::set<std::string> seen_;
};

TEST_F(JsonEvents, AreThoseOfThePage) {
  put("note.yaml", "on: before_tool_call\nmatcher: glob\ndo: {system_message: looked}\n");
  const auto lines = events(
      "turns:\n"
      "  - {thinking: hm, text: 'I look.', calls: [{name: glob, input: {pattern: '*.none'}}]}\n"
      "  - {calls: [{name: task, input: {prompt: count}}]}\n"
      "  - {text: 'none'}\n"
      "  - {text: 'There is none.'}\n"
      "  - {text: 'A summary.'}\n",
      {"--allow", "task", "look"}, 0);
  for (const JsonDocument& line : lines) is_documented(line);
  for (const char* const type : {"run_started", "user_message", "turn_started", "text_delta", "thinking_delta",
                                 "tool_call", "tool_result", "turn_ended", "hook_answer", "notice", "run_ended"})
    EXPECT_TRUE(seen_.contains(type)) << type;
}

TEST_F(JsonEvents, AListOfTasksIsAPlan) {
  const auto lines = events(
      "turns:\n"
      "  - {calls: [{name: todo_write, input: {todos: [{content: look, status: in_progress}]}}]}\n"
      "  - {calls: [{name: todo_write, input: {todos: [{content: look, status: done}]}}]}\n"
      "  - {text: done}\n",
      {"hi"}, 0);
  std::vector<std::string> plans;
  for (const JsonDocument& line : lines) {
    is_documented(line);
    if (line.root()["type"].string_or("") == "plan") plans.push_back(line.root()["entries"].text());
  }
  EXPECT_EQ(plans, std::vector<std::string>{R"([{"content":"look","status":"in_progress","priority":"medium"}])"});
}

TEST_F(JsonEvents, TheEndHasTheAnswerItsTimeAndItsCost) {
  const auto lines = events("turns:\n  - {text: hello, usage: {input: 10, output: 5}}\n", {"hi"}, 0);
  ASSERT_FALSE(lines.empty());
  const auto begin = std::find_if(lines.begin(), lines.end(), [](const JsonDocument& line) {
    return line.root()["type"].string_or("") == "run_started";
  });
  ASSERT_NE(begin, lines.end());
  EXPECT_EQ(begin->root()["events_version"].string_or(""), "1.4");
  const JsonView end = end_of(lines);
  EXPECT_EQ(end["outcome"].string_or(""), "stop");
  EXPECT_EQ(end["text"].string_or(""), "hello");
  EXPECT_GT(end["duration_us"].uint_or(0), 0u);
  EXPECT_EQ(end["usage"]["output_tokens"].uint_or(0), 5u);
  EXPECT_FALSE(end["reason"].exists());
}

TEST_F(JsonEvents, TheExitCodeSaysHowTheRunEnded) {
  const struct {
    const char *turn, *outcome, *text, *reason;
    int code;
  } ends[] = {
      {"{text: whole}", "stop", "whole", "", 0},
      {"{text: I will not, stop_reason: refusal}", "refused", "I will not", "the model declined to answer", 9},
      {"{text: half, stop_reason: max_tokens}", "cut", "half", "the answer was cut at the limit of", 10},
      {"{text: half, stop_reason: context_length}", "cut", "half", "the model's window is full", 10},
      {"{text: ' '}", "empty", " ", "the model ended its turn with an empty answer", 11},
      {"{error: {kind: auth, message: no such model}}", "error", "", "no such model", 5},
  };
  for (const auto& end : ends) {
    const auto lines = events("turns:\n  - " + std::string(end.turn) + "\n", {"hi"}, end.code);
    const JsonView last = end_of(lines);
    EXPECT_EQ(last["outcome"].string_or(""), end.outcome) << end.turn;
    EXPECT_EQ(last["text"].string_or("absent"), end.text) << end.turn;
    EXPECT_NE(last["reason"].string_or("").find(end.reason), std::string::npos)
        << end.turn << ": " << last["reason"].string_or("");
  }
}

TEST_F(JsonEvents, AValueOfASchemaIsJsonWhateverItsTextsHold) {
  const std::string schema = program_.file("schema.json", R"({"type":"object"})");
  const std::string script = program_.script(R"(- text: '{"a":"x\u202ey\u009bz\u0007"}')"
                                             "\n");
  const Finished ran = program_.run({"run", "--output-schema", schema, "--script", script, "hi"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto value = JsonDocument::parse(ran.out);
  ASSERT_TRUE(value) << ran.out;
  EXPECT_EQ(value->root()["a"].string_or(""), "x\u202ey\u009bz\a");
}

TEST_F(JsonEvents, ARunThatIsCutByItsTurnsSaysSo) {
  const auto lines = events("turns:\n  - {calls: [{name: glob, input: {pattern: '*.none'}}]}\n  - {text: done}\n",
                            {"--max-turns", "1", "hi"}, 8);
  EXPECT_EQ(end_of(lines)["outcome"].string_or(""), "max_turns");
  EXPECT_TRUE(end_of(lines)["reason"].string_or("").starts_with("the run was stopped after 1 turn"));
}

}  // namespace
}  // namespace agentd::testing
