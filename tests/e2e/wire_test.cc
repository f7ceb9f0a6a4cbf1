// SPDX-License-Identifier: Apache-2.0
// What goes over the wire when something went wrong before it: inputs that are no JSON, texts cut inside a
// character, two calls of one id, runs that were interrupted. The server refuses what the API refuses.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tests/e2e/program.h"
#include "tests/support/anthropic_rules.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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
  // The messages of a request.
  std::string body(std::size_t index) const {
    const std::string whole = server_.requests().at(index).body;
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
    more.insert(more.end(), {"--set", "base_url=" + server.url(), "--set",
                             "providers.anthropic.max_retries=0", "--allow", "*"});
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
        out += (user ? "> " : "< ") +
               (type == "text" ? std::string(content.at(b)["text"].string_or("")) : type) + "\n";
      }
    }
    return out;
  }
  Program program_;
};

// ---- inputs that are no JSON object

TEST_F(Wire, AnInputThatIsNoObjectIsToldToTheModelAndTheRunGoesOn) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> inputs{
      {{R"({"command": "touch made")"}, "is no JSON object"},
      {{"touch made"}, "is no JSON object"},
      {{R"(["touch made"])"}, "is no JSON object"},
      {{R"({"command": "touch made"} {"command": "ls"})"}, "behind its JSON object"},
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
    return R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" +
           json + "}";
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
      .event("content_block_start",
             block(2, R"({"type":"tool_use","id":"toolu_1","name":"bash","input":{}})"))
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

}  // namespace
}  // namespace agentd::testing
