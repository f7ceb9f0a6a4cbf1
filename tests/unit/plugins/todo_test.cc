// SPDX-License-Identifier: Apache-2.0
// todo_write: the list of tasks, and what becomes of it after a compaction.
#include "tests/unit/plugins/tools_fixture.h"

namespace agentd::testing {
namespace {

class Todos : public Tools {
 protected:
  static std::string task(std::string_view content, std::string_view status) {
    return R"({"content":)" + quoted(content) + R"(,"status":")" + std::string(status) + "\"}";
  }
  static std::string list(const std::string& tasks) { return R"({"todos":[)" + tasks + "]}"; }
  // What the hook adds to the context after a compaction; empty = nothing.
  std::string reminder(std::uint16_t result = AGENTD_RESULT_APPLIED) {
    const outcome got = host_.after_compaction({.result = result});
    const auto* const added = got.find(AGENTD_ACT_INJECT_CONTEXT);
    return added == nullptr ? "" : added->text;
  }
};

TEST_F(Todos, AreThePlanOfTheResult) {
  const outcome got =
      host_.invoke("todo_write", list(task("read", "completed") + "," + task("write \"it\"", "in_progress") + "," +
                                      R"({"content":"test","status":"pending","priority":"high"})"));
  ASSERT_FALSE(got.tool_failed()) << got.output();
  EXPECT_EQ(got.output(), "the list has 3 tasks: 1 completed, 1 in progress, 1 pending");
  const auto* const end = got.find(AGENTD_ACT_TOOL_RESULT);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->structured_json, R"({"plan":[{"content":"read","status":"completed","priority":"medium"},)"
                                  R"({"content":"write \"it\"","status":"in_progress","priority":"medium"},)"
                                  R"({"content":"test","status":"pending","priority":"high"}]})");
  EXPECT_EQ(good("todo_write", list("")), "the list has 0 tasks: 0 completed, 0 in progress, 0 pending");
}

TEST_F(Todos, AreRefusedWhenTheyAreWrong) {
  std::string many;
  for (int i = 0; i < 101; ++i) many += (i == 0 ? "" : ",") + task("x", "pending");
  const std::pair<std::string, const char*> cases[] = {
      {"{}", "the key \"todos\" is missing"},
      {R"({"todos":"x"})", "\"todos\" must be a list"},
      {list("7"), "task 1: the input must be a JSON object"},
      {list(task("x", "pending") + "," + task("x", "done")),
       "task 2: \"status\" must be one of pending, in_progress, completed"},
      {list(R"({"content":"x"})"), "task 1: the key \"status\" is missing"},
      {list(task(" \n", "pending")), "task 1: \"content\" must not be blank"},
      {list(task(std::string(501, 'x'), "pending")), "at most 500 bytes"},
      {list(R"({"content":"x","status":"pending","priority":"urgent"})"), "\"priority\" must be one of"},
      {list(task("a", "in_progress") + "," + task("b", "in_progress")), "2 tasks are in_progress: at most one may be"},
      {list(many), "at most 100 tasks"}};
  good("todo_write", list(task("kept", "pending")));
  for (const auto& [input, sentence] : cases) {
    const std::string said = bad("todo_write", input);
    EXPECT_NE(said.find(sentence), std::string::npos) << input << ": " << said;
  }
  EXPECT_NE(reminder().find("- [pending] kept"), std::string::npos) << "a refused list changes nothing";
}

TEST_F(Todos, AreShownToTheModelAgainAfterACompaction) {
  EXPECT_EQ(reminder(), "");
  good("todo_write", list(task("one", "completed") + "," + task("two", "in_progress")));
  EXPECT_EQ(reminder(),
            "The task list of this conversation, which todo_write keeps:\n- [completed] one\n- [in_progress] two");
  EXPECT_EQ(reminder(AGENTD_RESULT_FAILED), "") << "the model still sees it";
  good("todo_write", list(task("one", "completed") + "," + task("two", "completed")));
  EXPECT_EQ(reminder(), "") << "nothing is left to do";
}

// As in a process that continues a conversation of another one.
TEST_F(Todos, OfAnEarlierProcessAreInTheLog) {
  stored_conversation stored;
  stored.id = host_.conversation.id;
  std::uint64_t seq = 0;
  const auto call = [&](const char* id, const std::string& input, bool fails) {
    stored.history.add(std::move(message_builder(AGENTD_ROLE_ASSISTANT).tool_use("todo_write", id, input).seq(++seq)));
    stored.history.add(std::move(message_builder(AGENTD_ROLE_USER).tool_result(id, "x", fails).seq(++seq)));
  };
  call("c1", list(task("old", "pending")), false);
  call("c2", list(task("new", "pending")), false);
  call("c3", list(task("failed", "pending")), true);
  call("c4", R"({"todos":"broken"})", true);
  host_.conversation.revision = stored.revision = seq;
  host_.store.conversations.push_back(std::move(stored));
  EXPECT_EQ(reminder(), "The task list of this conversation, which todo_write keeps:\n- [pending] new");
}

}  // namespace
}  // namespace agentd::testing
