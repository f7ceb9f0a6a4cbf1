// SPDX-License-Identifier: Apache-2.0
#pragma once
// histories.h - a log of random messages for property tests: users, answers, parallel tool batches whose
// results are rows of their own, and records that carry no message.
//
// Threading: thread-compatible.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/conversation/record.h"
#include "core/conversation/view.h"
#include "core/tokens/tokens.h"

namespace agentd::testing {

inline Rows::Count simple_count() {
  return [](const agentd_message& row) { return SimpleEstimator().count_row(row); };
}

class RandomLog {
 public:
  explicit RandomLog(std::uint32_t seed) : random_(seed) {
    push(write_genesis({"01J9ZQ2V8M4T0C7X5R3N6K1B2D", {}, {}, "scripted", "m", {}, 0, {}}));
  }

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % (limit == 0 ? 1 : limit)); }
  std::string text() { return std::string(1 + below(200), static_cast<char>('a' + below(26))); }

  // The next piece of a dialogue: a user's turn, or an answer with up to five calls and their results.
  void step() {
    if (below(3) == 0) {
      push(write_message({Message::of_text(Role::kUser, text()), StopReason::kEndTurn, "user", {}}));
      return;
    }
    Message answer = Message::of_text(Role::kAssistant, text());
    const std::uint32_t calls = below(3) == 0 ? 0 : 1 + below(5);
    std::vector<std::string> ids;
    for (std::uint32_t i = 0; i < calls; ++i) {
      ids.push_back("call_" + std::to_string(++last_call_));
      answer.blocks.push_back(Block::tool_use(ids.back(), "bash", R"({"command":")" + text() + "\"}"));
    }
    push(write_message({answer, calls == 0 ? StopReason::kEndTurn : StopReason::kToolUse, {}, {}}));
    push(write_usage({{below(1000), below(100), 0, 0, 0, 0}, revision(), "turn"}));
    for (const std::string& id : ids) {
      push(write_tool_intent({id, "bash", "00", "effects", 1}));
      push(write_tool_result({id, "bash", text(), below(9) == 0 ? "error" : "ok", {}, 0, 5}));
    }
    if (calls != 0 && below(4) == 0) context();
  }
  void context() {
    Message message = Message::of_text(Role::kUser, text());
    message.flags = AGENTD_MESSAGE_CONTEXT;
    push(write_message({message, StopReason::kEndTurn, "hook", "some_hook"}));
  }

  // Appends a record and returns its sequence.
  std::uint64_t push(Record record) {
    StoredRecord stored;
    stored.seq = records_.size() + 1;
    stored.time_ms = 1'700'000'000'000 + static_cast<std::int64_t>(stored.seq);
    stored.record = std::move(record);
    records_.push_back(std::move(stored));
    return records_.size();
  }

  std::uint64_t revision() const { return records_.size(); }
  const std::vector<StoredRecord>& records() const { return records_; }
  std::vector<StoredRecord> from(std::uint64_t seq) const {
    return {records_.begin() + static_cast<std::ptrdiff_t>(seq == 0 ? 0 : seq - 1), records_.end()};
  }

 private:
  std::mt19937 random_;
  std::vector<StoredRecord> records_;
  std::uint64_t last_call_ = 0;
};

// Everything of a row that a request or a hook can see.
inline std::string fingerprint(const agentd_message& row) {
  const Message message = to_message(row);
  std::string out = std::to_string(row.seq) + "|" + std::to_string(row.time_ms) + "|" + std::to_string(row.role) + "|" +
                    std::to_string(row.flags) + "|" + std::to_string(row.tokens);
  for (std::uint32_t i = 0; i < row.blocks.count; ++i) {
    const agentd_block& block = blocks_of(row)[i];
    out += "\n" + std::to_string(block.kind) + "/" + std::to_string(block.flags) + "/" + std::string(full_text(block)) +
           "/" + std::string(view_of(block.name)) + "/" + std::string(view_of(block.call_id)) + "/" +
           std::string(view_of(block.json)) + "/" + std::string(view_of(block.opaque)) + "/" +
           std::string(view_of(block.blob));
  }
  return out;
}

inline std::vector<std::string> fingerprints(const Rows& rows) {
  std::vector<std::string> out;
  for (const agentd_message& row : rows) out.push_back(fingerprint(row));
  return out;
}

inline std::vector<std::uint64_t> sequences(const Rows& rows) {
  std::vector<std::uint64_t> out;
  for (const agentd_message& row : rows) out.push_back(row.seq);
  return out;
}

}  // namespace agentd::testing
