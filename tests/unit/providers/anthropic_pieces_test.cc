// SPDX-License-Identifier: Apache-2.0
// Texts that a stream brings in pieces: however they are split, the same text comes out.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "providers/anthropic/anthropic.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::AnthropicWire;
using testing::FakeHttpClient;
using testing::RecordingSink;
using testing::Sleepless;
using testing::TestRequest;

constexpr const char* kLone = "\xEF\xBF\xBD";  // U+FFFD

// The sink of one request, which receives only complete characters.
class WholeCharacters final : public ModelSink {
 public:
  std::string text, thinking;
  void on_text(std::string_view delta) override { take(text, delta); }
  void on_thinking(std::string_view delta) override { take(thinking, delta); }
  void on_tool_call(std::string_view, std::string_view) override {}
  void on_wait(Milliseconds, const ModelError&) override {}

 private:
  static void take(std::string& to, std::string_view delta) {
    EXPECT_TRUE(is_utf8(delta) && !delta.empty()) << delta;
    to += delta;
  }
};

// A JSON text of a server that escapes all non-ASCII characters: one element per UTF-16 unit.
std::vector<std::string> units_of(std::string_view text) {
  std::vector<std::string> out;
  const auto unit = [&](unsigned value) {
    char escaped[16];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", value);
    out.emplace_back(escaped);
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    unsigned point = length == 1 ? byte : byte & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) point = (point << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    if (point >= 0x10000) {
      unit(0xD800 + ((point - 0x10000) >> 10));
      unit(0xDC00 + ((point - 0x10000) & 0x3FF));
    } else {
      unit(point);
    }
    i += length;
  }
  return out;
}

struct Kind {
  const char *start, *delta, *key;
};
constexpr Kind kText{R"({"type":"text","text":""})", "text_delta", "text"};
constexpr Kind kThinking{R"({"type":"thinking","thinking":"","signature":"s"})", "thinking_delta", "thinking"};
constexpr Kind kInput{R"({"type":"tool_use","id":"t1","name":"bash","input":{}})", "input_json_delta", "partial_json"};

// A block whose deltas are these pieces, which are JSON texts without their quotes.
void add_block(AnthropicWire& wire, int index, const Kind& kind, const std::vector<std::string>& pieces) {
  const std::string at = R"(,"index":)" + std::to_string(index);
  wire.event("content_block_start",
             R"({"type":"content_block_start")" + at + R"(,"content_block":)" + kind.start + "}");
  for (const std::string& piece : pieces)
    wire.event("content_block_delta", R"({"type":"content_block_delta")" + at + R"(,"delta":{"type":")" + kind.delta +
                                          R"(",")" + kind.key + R"(":")" + piece + "\"}}");
  wire.event("content_block_stop", R"({"type":"content_block_stop")" + at + "}");
}

class AnthropicPieces : public ::testing::Test {
 protected:
  ModelResult ask(const std::string& stream) {
    http_.stream({stream});
    sink_ = {};
    AnthropicOptions options;
    options.api_key = "sk-test";
    TestRequest request;
    request.user("hello");
    const auto provider = make_anthropic_provider(options, http_, clock_);
    return provider->complete(request.value(), sink_, {}, {});
  }
  // One block of these pieces, followed by a text.
  Block read(const Kind& kind, const std::vector<std::string>& pieces) {
    AnthropicWire wire;
    wire.start();
    add_block(wire, 0, kind, pieces);
    add_block(wire, 1, kText, {"|"});
    const auto answer = ask(wire.finish("tool_use").bytes());
    EXPECT_TRUE(answer);
    return answer && !answer->message.blocks.empty() ? answer->message.blocks[0] : Block();
  }

  FakeHttpClient http_;
  Sleepless<SystemClock> clock_{waits_};
  std::vector<Milliseconds> waits_;
  WholeCharacters sink_;
};

// Two and three deltas, split between any two units: also inside a pair, and with empty pieces.
void for_all_cuts(const std::vector<std::string>& units,
                  const std::function<void(const std::vector<std::string>&)>& check) {
  const auto piece = [&](std::size_t from, std::size_t to) {
    std::string out;
    for (std::size_t i = from; i < to; ++i) out += units[i];
    return out;
  };
  for (std::size_t i = 0; i <= units.size(); ++i) {
    check({piece(0, i), piece(i, units.size())});
    for (std::size_t j = i; j <= units.size(); ++j) check({piece(0, i), piece(i, j), piece(j, units.size())});
  }
}

TEST_F(AnthropicPieces, ATextIsTheSameWhereverItIsCut) {
  const std::string text = "a😀é👩‍👧 世😀";
  for_all_cuts(units_of(text), [&](const std::vector<std::string>& pieces) {
    ASSERT_EQ(read(kText, pieces).text, text) << join(pieces, " + ");
    ASSERT_EQ(sink_.text, text + "|");
  });
}

TEST_F(AnthropicPieces, WhatWasThoughtIsTheSameWhereverItIsCut) {
  const std::string text = "😀 so 👍🏽";
  for_all_cuts(units_of(text), [&](const std::vector<std::string>& pieces) {
    ASSERT_EQ(read(kThinking, pieces).text, text) << join(pieces, " + ");
    ASSERT_EQ(sink_.thinking, text);
  });
}

TEST_F(AnthropicPieces, TheInputOfACallIsTheSameWhereverItIsCut) {
  const std::string input = R"({"c":"😀\"\ud83d\ude00"})";
  for_all_cuts(units_of(input), [&](const std::vector<std::string>& pieces) {
    ASSERT_EQ(read(kInput, pieces).json, input) << join(pieces, " + ");
  });
}

TEST_F(AnthropicPieces, ABlockMayBeginWithAHalf) {
  AnthropicWire wire;
  wire.start();
  add_block(wire, 0, {R"({"type":"text","text":"a\ud83d"})", "text_delta", "text"}, {R"(\ude00b)"});
  const auto answer = ask(wire.finish("end_turn").bytes());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->message.text(), "a😀b");
  EXPECT_EQ(sink_.text, "a😀b");
}

// A lone half is not a character, and becomes one replacement character.
TEST_F(AnthropicPieces, AHalfThatStaysAloneIsOneReplacementCharacter) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{R"(a\ud83d)"}, "a" + std::string(kLone)},
      {{R"(a\ud83d)", ""}, "a" + std::string(kLone)},
      {{R"(a\ud83d)", "b"}, "a" + std::string(kLone) + "b"},
      {{R"(a\ude00)", "b"}, "a" + std::string(kLone) + "b"},
      {{R"(\ude00\ud83d)", R"(\ude00)"}, std::string(kLone) + "😀"},
      {{R"(\ud83d)", R"(\ud83d)", R"(\ude00)"}, std::string(kLone) + "😀"},
      {{R"(\ud83d\n\ude00)"}, std::string(kLone) + "\n" + kLone},
      {{R"(\ud83d)", R"(\ufffd)"}, std::string(kLone) + kLone},
  };
  for (const auto& [pieces, text] : cases) {
    EXPECT_EQ(read(kText, pieces).text, text) << join(pieces, " + ");
    EXPECT_EQ(sink_.text, text + "|") << join(pieces, " + ");
    EXPECT_EQ(read(kThinking, pieces).text, text) << join(pieces, " + ");
  }
}

TEST_F(AnthropicPieces, HalvesOfTwoBlocksAreNoPair) {
  AnthropicWire wire;
  wire.start();
  add_block(wire, 0, kText, {R"(a\ud83d)"});
  add_block(wire, 1, kText, {R"(\ude00b)"});
  const auto answer = ask(wire.finish("end_turn").bytes());
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->message.blocks.size(), 2u);
  EXPECT_EQ(answer->message.blocks[0].text, "a" + std::string(kLone));
  EXPECT_EQ(answer->message.blocks[1].text, std::string(kLone) + "b");
}

// A half at the break is not a part of what arrived.
TEST_F(AnthropicPieces, AHalfAtABreakIsNoPartOfWhatArrived) {
  AnthropicWire wire;
  wire.start();
  wire.event("content_block_start",
             R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
  wire.event("content_block_delta",
             R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}})");
  const auto answer = ask(wire.bytes());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().partial.text(), "a");
}

// ---- inputs that are not a JSON object: the agent tells the model, and the run continues

TEST_F(AnthropicPieces, TheInputOfACallIsHandedOnAsItIs) {
  for (const char* const input : {R"({"a":)", "[1]", "rm -rf", R"({"a":1}{"a":2})", "null", " "}) {
    AnthropicWire wire;
    const auto answer = ask(wire.start().tool_use("t1", "bash", {input}).finish("tool_use").bytes());
    ASSERT_TRUE(answer) << input;
    ASSERT_EQ(answer->message.blocks.size(), 1u);
    EXPECT_EQ(answer->message.blocks[0].json, input);
    EXPECT_EQ(answer->stop_reason, StopReason::kToolUse);
  }
  AnthropicWire wire;
  const auto answer = ask(wire.start().tool_use("t1", "bash", {}).finish("tool_use").bytes());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->message.blocks[0].json, "{}");
}

}  // namespace
}  // namespace agentd
