// SPDX-License-Identifier: Apache-2.0
#pragma once
// request_histories.h - random histories as requests get them, for properties of what is written of
// them.
//
// Threading: thread-compatible.

#include <iterator>
#include <random>
#include <string>

#include "tests/support/model_fakes.h"

namespace agentd::testing {

inline constexpr const char* kBlanks[] = {"",     " ",        "\n\n",         "\t \r\n",        "\v\f",
                                          "\x1c", "\xC2\xA0", "\xE2\x80\x83", "\xE3\x80\x80\n", "\xE2\x80\xA8 "};

// A history as the agent leaves it: calls are followed by their results, everything else may be
// there or not, and any text may be blank.
class RequestHistory {
 public:
  explicit RequestHistory(std::uint32_t seed) : random_(seed) {}

  void fill(TestRequest& request) {
    const int turns = pick(6);
    for (int i = 0; i < turns; ++i) turn(request);
    request.user(text());
    if (pick(3) == 0) request.value().closing_text = closing_ = text();
    if (pick(3) == 0) request.value().system = text();
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string text() { return pick(2) == 0 ? kBlanks[pick(int{std::size(kBlanks)})] : "word"; }
  Block thinking() {
    Block out;
    out.kind = BlockKind::kThinking;
    out.text = text();
    if (pick(3) != 0) out.opaque = "sig";
    if (pick(4) == 0) out.name = "redacted";
    return out;
  }

  void turn(TestRequest& request) {
    for (int i = pick(3); i-- > 0;) request.user(text());
    Message answer, results;
    answer.role = Role::kAssistant;
    for (int i = pick(4); i-- > 0;) answer.blocks.push_back(pick(3) == 0 ? thinking() : Block::of_text(text()));
    for (int i = pick(3); i-- > 0;) {
      const std::string id = "t" + std::to_string(++calls_);
      answer.blocks.push_back(Block::tool_use(id, "bash", "{}"));
      Block result = Block::tool_result(id, text(), false);
      if (pick(3) == 0) result.parts = {Block::of_text(text()), Block::of_text(text())};
      results.blocks.push_back(std::move(result));
    }
    request.add(answer);
    if (!results.blocks.empty()) request.add(results);
  }

  std::mt19937 random_;
  std::string closing_;
  int calls_ = 0;
};

}  // namespace agentd::testing
