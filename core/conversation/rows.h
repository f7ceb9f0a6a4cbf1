// SPDX-License-Identifier: Apache-2.0
#pragma once
// rows.h - a list of messages as contiguous rows in the shape of the plugin ABI.
//
// Invariants: 1. a row, once appended, is never edited; 2. text and rows never move or go away while a
// copy of the Rows lives (arenas only grow); 3. appending costs the bytes of the message, never of the
// list; 4. a list that must change is built anew and put in place of the old one.
// A text over kElideBytes appears as a prefix with ELIDED; the host itself reads the whole with
// full_text(), since the rest follows the prefix in memory.
//
// Copies share their memory; a copy may be appended to, too: the rows that it adds are its own.
//
// Threading: one thread appends to a list and its copies; copies made before an append may be read on any
// thread meanwhile.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/conversation/message.h"

namespace agentd {

// Memory that grows and never moves; freed as one.
class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Never null; `align` a power of two up to 64.
  void* allocate(std::size_t bytes, std::size_t align);
  agentd_str copy(std::string_view text);
  std::size_t bytes() const { return bytes_; }
  // Never 0, and no other arena of this process ever has it.
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

  // `blob_prefix` names the conversation and is put before ":seq:block" in the blob of an elided text.
  void append(const Message& message, std::uint64_t seq, std::int64_t time_ms, std::string_view blob_prefix = {});
  // Copies a row of another list, whole texts included.
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
  // The same for copies of a list, and for no other one: two lists of one lineage have the rows in common up
  // to the first whose blocks lie elsewhere. Never 0.
  std::uint64_t lineage() const { return arena_->number(); }
  // Index of the row with that sequence; size() when there is none. Rows are searched from the end.
  std::uint32_t index_of(std::uint64_t seq) const;

 private:
  agentd_message& grow();
  const agentd_block* copy_blocks(const Message& message, std::uint64_t seq, std::string_view prefix);

  // Shared with copies of this list, which may be read after this one is gone.
  std::shared_ptr<Arena> arena_;
  Count token_count_;
  agentd_message* rows_ = nullptr;
  std::uint32_t* used_ = nullptr;  // rows of the buffer that this list or a copy of it has written
  std::uint32_t count_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint64_t tokens_ = 0;
};

// Text of a row's block in the host: the whole of it, also when hooks see a prefix.
std::string_view full_text(const agentd_block& block);
inline std::string_view view_of(const agentd_str& text) { return {text.ptr == nullptr ? "" : text.ptr, text.len}; }
inline agentd_str to_abi(std::string_view text) { return {text.data(), text.size()}; }
const agentd_block* blocks_of(const agentd_message& row);
const agentd_message* messages_of(const agentd_list& list);
// The row as a value again.
Message to_message(const agentd_message& row);

}  // namespace agentd
