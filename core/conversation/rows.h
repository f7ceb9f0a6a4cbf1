// SPDX-License-Identifier: Apache-2.0
#pragma once
// rows.h - a list of messages as contiguous rows in the shape of the plugin ABI.
//
// Invariants: 1. an appended row never changes; 2. text and rows never move or disappear while a copy of the Rows lives
// (arenas only grow); 3. appending costs the bytes of the message, never of the list; 4. a list that must change is
// rebuilt and replaces the old one. A text over kElideBytes appears as a prefix with ELIDED; the host reads the
// complete text with full_text(), because the rest follows the prefix in memory.
//
// Copies share their memory. A copy may be appended to as well; its new rows are its own.
//
// Threading: one thread appends to a list and its copies; copies made before an append may be read on any thread at the
// same time.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/conversation/message.h"

namespace agentd {

// Memory that grows and never moves; freed as a whole.
class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Never null; `align` is a power of two up to 64.
  void* allocate(std::size_t bytes, std::size_t align);
  agentd_str copy(std::string_view text);
  std::size_t bytes() const { return bytes_; }
  // Never 0, and unique in this process.
  std::uint64_t number() const { return number_; }

 private:
  struct Chunk;
  Chunk* chunk_ = nullptr;
  std::size_t bytes_ = 0;
  const std::uint64_t number_;
};

class Rows {
 public:
  static constexpr std::size_t kElideBytes = 64 * 1024;
  // Estimates the tokens of a row while it is appended.
  using Count = std::function<std::uint64_t(const agentd_message&)>;

  explicit Rows(Count count = {});

  // `blob_prefix` names the conversation; ":seq:block" is appended to it in the blob of an elided text.
  void append(const Message& message, std::uint64_t seq, std::int64_t time_ms, std::string_view blob_prefix = {});
  // Copies a row of another list, complete texts included.
  void append_copy(const agentd_message& row);

  std::uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const agentd_message& operator[](std::size_t index) const { return rows_[index]; }
  const agentd_message* begin() const { return rows_; }
  const agentd_message* end() const { return rows_ + count_; }
  agentd_list list() const { return {rows_, count_, sizeof(agentd_message)}; }
  // The rows first..first+count as a list.
  agentd_list slice(std::uint32_t first, std::uint32_t count) const;
  // Sum of the rows' tokens.
  std::uint64_t tokens() const { return tokens_; }
  // Equal for copies of a list only. Two lists of one lineage share their rows up to the first whose blocks differ in
  // address. Never 0.
  std::uint64_t lineage() const { return arena_->number(); }
  // Index of the row with that sequence; size() when it is missing. Rows are searched from the end.
  std::uint32_t index_of(std::uint64_t seq) const;

 private:
  agentd_message& grow();
  const agentd_block* copy_blocks(const Message& message, std::uint64_t seq, std::string_view prefix);

  // Shared with copies of this list, which may outlive it.
  std::shared_ptr<Arena> arena_;
  Count token_count_;
  agentd_message* rows_ = nullptr;
  std::uint32_t* used_ = nullptr;  // rows of the buffer that this list or a copy has written
  std::uint32_t count_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint64_t tokens_ = 0;
};

// The complete text of a row's block, also when hooks see a prefix.
std::string_view full_text(const agentd_block& block);
inline std::string_view view_of(const agentd_str& text) { return {text.ptr == nullptr ? "" : text.ptr, text.len}; }
inline agentd_str to_abi(std::string_view text) { return {text.data(), text.size()}; }
const agentd_block* blocks_of(const agentd_message& row);
const agentd_message* messages_of(const agentd_list& list);
// The row converted back to a value.
Message to_message(const agentd_message& row);

}  // namespace agentd
