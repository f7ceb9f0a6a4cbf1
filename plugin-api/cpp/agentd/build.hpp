// SPDX-License-Identifier: Apache-2.0
#pragma once
// build.hpp - builds messages and replacements piece by piece.
//
// A builder owns its text and lays out the C records on request, so that a plugin (and a test of a plugin) never fills
// `size`, `stride` or a pointer by hand.
//
// Threading: ordinary values; one thread at a time.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <agentd/views.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentd {

// An agentd_list over a vector of records.
template <typename Record>
[[nodiscard]] agentd_list as_list(const std::vector<Record>& rows) noexcept {
  return agentd_list{rows.empty() ? nullptr : rows.data(), static_cast<std::uint32_t>(rows.size()),
                     static_cast<std::uint32_t>(sizeof(Record))};
}

// A record with its size filled and everything else zero.
template <typename Record>
[[nodiscard]] constexpr Record sized() noexcept {
  Record record{};
  record.size = static_cast<std::uint32_t>(sizeof(Record));
  return record;
}

// One message. record() returns a reference that is valid until the builder changes, moves or ends.
class message_builder {
 public:
  explicit message_builder(std::uint16_t role = AGENTD_ROLE_USER) : role_(role) {}

  message_builder& text(std::string_view text) {
    block& added = add(AGENTD_BLOCK_TEXT);
    added.text = text;
    return *this;
  }
  message_builder& thinking(std::string_view text, std::string_view signature = {}) {
    block& added = add(AGENTD_BLOCK_THINKING);
    added.text = text;
    added.opaque = signature;
    return *this;
  }
  message_builder& tool_use(std::string_view name, std::string_view call_id, std::string_view input_json) {
    block& added = add(AGENTD_BLOCK_TOOL_USE);
    added.name = name;
    added.call_id = call_id;
    added.json = input_json;
    return *this;
  }
  message_builder& tool_result(std::string_view call_id, std::string_view text, bool is_error = false) {
    block& added = add(AGENTD_BLOCK_TOOL_RESULT);
    added.call_id = call_id;
    added.text = text;
    added.flags = is_error ? AGENTD_BLOCK_ERROR : 0;
    return *this;
  }
  message_builder& image(std::string_view media_type, std::string_view base64) {
    block& added = add(AGENTD_BLOCK_IMAGE);
    added.name = media_type;
    added.opaque = base64;
    return *this;
  }
  // A copy of any block, its parts included.
  message_builder& block_of(block_view from) {
    blocks_.push_back(copy_of(from));
    return *this;
  }
  message_builder& seq(std::uint64_t seq) {
    seq_ = seq;
    return *this;
  }
  message_builder& tokens(std::uint64_t tokens) {
    tokens_ = tokens;
    return *this;
  }
  message_builder& time_ms(std::int64_t time_ms) {
    time_ms_ = time_ms;
    return *this;
  }
  message_builder& flags(std::uint16_t flags) {
    flags_ = flags;
    return *this;
  }

  // A deep copy of another message.
  [[nodiscard]] static message_builder copy_of(message_view from) {
    message_builder made(from.role());
    made.seq(from.seq()).tokens(from.tokens()).time_ms(from.time_ms()).flags(from.flags());
    for (block_view each : from.blocks()) made.block_of(each);
    return made;
  }

  [[nodiscard]] const agentd_message& record() {
    rows_ = rows_of(blocks_);
    record_ = sized<agentd_message>();
    record_.role = role_;
    record_.flags = flags_;
    record_.seq = seq_;
    record_.time_ms = time_ms_;
    record_.tokens = tokens_;
    record_.blocks = as_list(rows_);
    return record_;
  }
  [[nodiscard]] agentd_list block_list_of() { return record().blocks; }

 private:
  struct block {
    std::uint16_t kind = 0;
    std::uint16_t flags = 0;
    std::string text, name, call_id, json, opaque, blob;
    std::uint64_t full_len = 0;
    std::vector<block> parts{};
    std::vector<agentd_block> part_rows{};
  };

  block& add(std::uint16_t kind) {
    blocks_.emplace_back();
    blocks_.back().kind = kind;
    return blocks_.back();
  }

  static block copy_of(block_view from) {
    block made;
    made.kind = from.kind();
    made.flags = from.flags();
    made.text = from.text();
    made.name = from.name();
    made.call_id = from.call_id();
    made.json = from.json();
    made.opaque = from.opaque();
    made.blob = from.blob();
    made.full_len = from.full_len();
    for (block_view part : from.parts()) made.parts.push_back(copy_of(part));
    return made;
  }

  static std::vector<agentd_block> rows_of(std::vector<block>& blocks) {
    std::vector<agentd_block> rows;
    rows.reserve(blocks.size());
    for (block& each : blocks) rows.push_back(row_of(each));
    return rows;
  }

  static agentd_block row_of(block& from) {
    from.part_rows = rows_of(from.parts);
    auto row = sized<agentd_block>();
    row.kind = from.kind;
    row.flags = from.flags;
    row.text = as_str(from.text);
    row.name = as_str(from.name);
    row.call_id = as_str(from.call_id);
    row.json = as_str(from.json);
    row.opaque = as_str(from.opaque);
    row.parts = as_list(from.part_rows);
    row.full_len = from.full_len == 0 ? from.text.size() : from.full_len;
    row.blob = as_str(from.blob);
    return row;
  }

  std::uint16_t role_;
  std::uint16_t flags_ = 0;
  std::uint64_t seq_ = 0;
  std::uint64_t tokens_ = 0;
  std::int64_t time_ms_ = 0;
  std::vector<block> blocks_;
  std::vector<agentd_block> rows_;
  agentd_message record_{};
};

[[nodiscard]] inline message_builder user_message(std::string_view text) {
  return std::move(message_builder(AGENTD_ROLE_USER).text(text));
}
[[nodiscard]] inline message_builder assistant_message(std::string_view text) {
  return std::move(message_builder(AGENTD_ROLE_ASSISTANT).text(text));
}
[[nodiscard]] inline message_builder summary_message(std::string_view text) {
  return std::move(message_builder(AGENTD_ROLE_SUMMARY).text(text));
}

// A history of several messages, for services that take one and for tests.
class history_builder {
 public:
  history_builder& add(message_builder message) {
    messages_.push_back(std::move(message));
    return *this;
  }
  [[nodiscard]] std::size_t size() const noexcept { return messages_.size(); }
  // Valid until the builder changes, moves or ends.
  [[nodiscard]] agentd_list records() {
    rows_.clear();
    for (message_builder& each : messages_) rows_.push_back(each.record());
    return as_list(rows_);
  }

 private:
  std::vector<message_builder> messages_;
  std::vector<agentd_message> rows_;
};

// The parts of REPLACE_MESSAGES: ranges that stay, and new messages between them.
class replacement {
 public:
  // `base_revision` is the revision that the parts were made from; 0 = the revision of the emitting call.
  explicit replacement(std::uint64_t base_revision = 0) : base_revision_(base_revision) {}

  // Keeps the view's messages first..last, by log sequence, both inclusive.
  replacement& keep(std::uint64_t first, std::uint64_t last) {
    parts_.push_back({AGENTD_PART_KEEP, first, last, 0});
    return *this;
  }
  replacement& keep(message_view message) { return keep(message.seq(), message.seq()); }
  replacement& add(message_builder message) {
    parts_.push_back({AGENTD_PART_LITERAL, 0, 0, literals_.size()});
    literals_.push_back(std::move(message));
    return *this;
  }
  replacement& user(std::string_view text) { return add(user_message(text)); }
  replacement& assistant(std::string_view text) { return add(assistant_message(text)); }
  replacement& summary(std::string_view text) { return add(summary_message(text)); }

  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  // Valid until the builder changes, moves or ends.
  [[nodiscard]] agentd_act_replace action(std::uint64_t call_revision) {
    rows_.clear();
    for (const part& each : parts_) rows_.push_back(row_of(each));
    agentd_act_replace made{};
    made.h = {static_cast<std::uint32_t>(sizeof(made)), AGENTD_ACT_REPLACE_MESSAGES, 0};
    made.base_revision = base_revision_ == 0 ? call_revision : base_revision_;
    made.parts = as_list(rows_);
    return made;
  }

 private:
  struct part {
    std::uint32_t kind;
    std::uint64_t first, last;
    std::size_t literal;
  };

  agentd_part row_of(const part& from) {
    auto row = sized<agentd_part>();
    row.kind = from.kind;
    row.first = from.first;
    row.last = from.last;
    row.message = from.kind == AGENTD_PART_LITERAL ? &literals_[from.literal].record() : nullptr;
    return row;
  }

  std::uint64_t base_revision_;
  std::vector<part> parts_;
  std::vector<message_builder> literals_;
  std::vector<agentd_part> rows_;
};

}  // namespace agentd

#endif  // C++20
