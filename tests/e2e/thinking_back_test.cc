// SPDX-License-Identifier: Apache-2.0
// thinking_back_test.cc - models that want their thinking back with each of their answers, in every later run, at
// whatever server: it refuses a request without. Between them a model that does not, compactions, and a fork.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_rules.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {
namespace {

constexpr const char* kThinks = "work/deepseek/deepseek-v4-flash";

class ThinkingBack : public ::testing::Test {
 protected:
  ThinkingBack() : server_([this](const RecordedRequest& got) { return answer(got); }) {
    program_.set("NO_PROXY=127.0.0.1");
    program_.config("model: " + std::string(kThinks) + "\nproviders: {work: {base_url: " + server_.url() +
                    "/v1, max_retries: 0}}\npermissions: {allow: [glob]}\n");
  }

  // "look ..." is answered by a call, its result and everything else by words; each answer thinks.
  Reply answer(const RecordedRequest& got) {
    const auto body = JsonDocument::parse(got.body);
    if (!body) return Reply::http(500, {}, "");
    const bool strict = body->root()["model"].string_or("").find("deepseek") != std::string_view::npos;
    if (const std::string why = chat_refusal(got.body, {.thinking_back = strict}); !why.empty()) {
      refusals_.push_back(why + "\n" + got.body);
      return Reply::http(400, {{"content-type", "application/json"}},
                         openai_error_body("invalid_request_error", "", why));
    }
    const JsonView messages = body->root()["messages"];
    const JsonView last = messages.at(messages.size() - 1);
    const std::string number = std::to_string(++answers_);
    ChatWire out;
    out.thinking({"thought " + number});
    if (last["role"].string_or("") == "user" && last["content"].string_or("").starts_with("look"))
      return Reply::chunked(
          {out.tool_call(0, "call" + number, "glob", {R"({"pattern":"*.none"})"}).finish("tool_calls").bytes()});
    return Reply::chunked({out.text({"answer " + number}).finish("stop").bytes()});
  }

  void run(std::vector<std::string> words, const std::string& model = kThinks) {
    words.insert(words.end(), {"--model", model});
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 0) << ran.err << (refusals_.empty() ? "" : refusals_.back());
  }
  // Of the last request.
  std::string thinking() const { return thinking_in(server_.requests().back().body); }

  Program program_;
  int answers_ = 0;
  std::vector<std::string> refusals_;
  LoopbackServer server_;
};

TEST_F(ThinkingBack, GoesWithEachAnswerOfAllRunsAndOfItsOwnModelAlone) {
  run({"run", "look here"});
  EXPECT_EQ(thinking(), "thought 1\n");
  run({"run", "--follow", "look there"});
  EXPECT_EQ(thinking(), "thought 1\nthought 2\nthought 3\n");
  // Another model of the same server gets none of it; what it thinks itself is no thinking of the first one.
  run({"run", "--follow", "look again"}, "work/house");
  EXPECT_EQ(thinking(), "-\n-\n-\n-\n-\n");
  run({"run", "--follow", "look once more"});
  EXPECT_EQ(thinking(), "thought 1\nthought 2\nthought 3\nthought 4\n\n\nthought 7\n");
  EXPECT_TRUE(refusals_.empty());
}

TEST_F(ThinkingBack, AConversationBegunWithAnotherModelGoesOn) {
  run({"run", "look here"}, "work/house");
  run({"run", "--follow", "and?"});
  EXPECT_EQ(thinking(), "\n\n");
  EXPECT_TRUE(refusals_.empty());
}

TEST_F(ThinkingBack, SummariesForksAndWhatACompactionKeepsHaveIt) {
  run({"run", "look here"});
  run({"run", "--follow", "look there"});
  // The model that summarises reads the history as it was sent.
  run({"compact", "--follow", "--strategy", "tail"});
  EXPECT_TRUE(has(thinking(), "thought 1\n")) << thinking();
  run({"run", "--follow", "look again"});
  const Finished forked = program_.run({"conversation", "fork", program_.newest(), "--json"});
  const auto line = JsonDocument::parse(forked.out);
  ASSERT_TRUE(line) << forked.out << forked.err;
  const std::string before = thinking();
  run({"run", "--resume", std::string(line->root()["id"].string_or("")), "and?"});
  EXPECT_TRUE(thinking().starts_with(before)) << before << "|" << thinking();
  run({"compact", "--follow"});
  EXPECT_TRUE(refusals_.empty());
}

TEST_F(ThinkingBack, TheUsersTableNamesOtherModelsAndLeavesOnesOut) {
  ASSERT_TRUE(write_file_atomically(program_.home() + "/models.yaml",
                                    "models:\n"
                                    "  - {pattern: house, thinking_back: true}\n"
                                    "  - {pattern: mimo, thinking_back: false}\n",
                                    0600));
  run({"run", "look here"}, "work/house-2");
  EXPECT_EQ(thinking(), "thought 1\n");
  run({"run", "look here"}, "work/mimo-v2.5");
  EXPECT_EQ(thinking(), "-\n");
  EXPECT_TRUE(has(program_.run({"models", "work/house-2"}).out, "goes back with each answer"));
  EXPECT_FALSE(has(program_.run({"models", "mimo-v2.5"}).out, "goes back with each answer"));
}

}  // namespace
}  // namespace agentd::testing
