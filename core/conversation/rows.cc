// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/rows.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace agentd {

struct Arena::Chunk {
  Chunk* before = nullptr;
  std::size_t used = 0;
  std::size_t size = 0;
  // The bytes follow.
  char* data() { return reinterpret_cast<char*>(this + 1); }
};

namespace {
constexpr std::size_t kChunkFirst = 16 * 1024;
constexpr std::size_t kChunkMax = 1024 * 1024;
constexpr std::uint32_t kRowsFirst = 64;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}
}  // namespace

Arena::Arena() : number_(next_number()) {}

Arena::~Arena() {
  while (chunk_ != nullptr) {
    Chunk* const before = chunk_->before;
    std::free(chunk_);
    chunk_ = before;
  }
}

void* Arena::allocate(std::size_t bytes, std::size_t align) {
  AGENTD_ASSERT(align != 0 && align <= 64 && (align & (align - 1)) == 0 && bytes < SIZE_MAX / 4);
  if (chunk_ != nullptr) {
    const std::size_t base = reinterpret_cast<std::size_t>(chunk_->data()) + chunk_->used;
    const std::size_t pad = (align - base % align) % align;
    if (pad + bytes <= chunk_->size - chunk_->used) {
      chunk_->used += pad + bytes;
      bytes_ += bytes;
      return reinterpret_cast<void*>(base + pad);
    }
  }
  const std::size_t grown = chunk_ == nullptr ? kChunkFirst : std::min(chunk_->size * 2, kChunkMax);
  const std::size_t size = std::max(grown, bytes + align);
  void* const memory = std::malloc(sizeof(Chunk) + size);
  if (memory == nullptr) std::abort();
  chunk_ = new (memory) Chunk{chunk_, 0, size};
  return allocate(bytes, align);
}

agentd_str Arena::copy(std::string_view text) {
  if (text.empty()) return {"", 0};
  auto* const to = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(to, text.data(), text.size());
  return {to, text.size()};
}

Rows::Rows(Count count) : arena_(std::make_shared<Arena>()), token_count_(std::move(count)) {}

agentd_message& Rows::grow() {
  if (count_ == capacity_ || *used_ != count_) {
    // The old rows stay in place: a hook or a request may be reading them. A place that a copy of this list has written
    // belongs to the copy.
    const std::uint32_t wider = count_ < capacity_ ? capacity_ : std::max(capacity_ * 2, kRowsFirst);
    auto* const rows =
        static_cast<agentd_message*>(arena_->allocate(sizeof(agentd_message) * wider, alignof(agentd_message)));
    if (count_ != 0) std::memcpy(rows, rows_, sizeof(agentd_message) * count_);
    rows_ = rows;
    capacity_ = wider;
    used_ = static_cast<std::uint32_t*>(arena_->allocate(sizeof(std::uint32_t), alignof(std::uint32_t)));
    *used_ = count_;
  }
  ++*used_;
  return rows_[count_];
}

namespace {

// The hooks' view of a text: all of it, or a prefix and where to continue.
void set_text(agentd_block& block, agentd_str whole, std::string_view blob, Arena& arena) {
  block.text = whole;
  block.full_len = whole.len;
  if (whole.len <= Rows::kElideBytes) return;
  block.text.len = utf8_prefix(view_of(whole), Rows::kElideBytes).size();
  block.flags |= AGENTD_BLOCK_ELIDED;
  block.blob = arena.copy(blob);
}

agentd_block to_row(const Block& from, Arena& arena, std::string_view blob) {
  agentd_block block{};
  block.size = sizeof(agentd_block);
  block.kind = static_cast<std::uint16_t>(from.kind);
  block.flags = from.flags;
  block.name = arena.copy(from.name);
  block.call_id = arena.copy(from.call_id);
  block.json = arena.copy(from.json);
  block.opaque = arena.copy(from.opaque);
  set_text(block, arena.copy(from.text), blob, arena);
  return block;
}

}  // namespace

const agentd_block* Rows::copy_blocks(const Message& message, std::uint64_t seq, std::string_view prefix) {
  auto* const out =
      static_cast<agentd_block*>(arena_->allocate(sizeof(agentd_block) * message.blocks.size(), alignof(agentd_block)));
  for (std::size_t i = 0; i < message.blocks.size(); ++i) {
    const Block& from = message.blocks[i];
    const bool elided = from.text.size() > kElideBytes;
    const std::string blob =
        elided ? std::string(prefix) + ":" + std::to_string(seq) + ":" + std::to_string(i) : std::string();
    out[i] = to_row(from, *arena_, blob);
    if (from.parts.empty()) continue;
    auto* const parts =
        static_cast<agentd_block*>(arena_->allocate(sizeof(agentd_block) * from.parts.size(), alignof(agentd_block)));
    for (std::size_t p = 0; p < from.parts.size(); ++p) parts[p] = to_row(from.parts[p], *arena_, {});
    out[i].parts = {parts, static_cast<std::uint32_t>(from.parts.size()), sizeof(agentd_block)};
  }
  return out;
}

void Rows::append(const Message& message, std::uint64_t seq, std::int64_t time_ms, std::string_view blob_prefix) {
  agentd_message row{};
  row.size = sizeof(agentd_message);
  row.role = static_cast<std::uint16_t>(message.role);
  row.flags = message.flags;
  row.seq = seq;
  row.time_ms = time_ms;
  row.blocks = {copy_blocks(message, seq, blob_prefix), static_cast<std::uint32_t>(message.blocks.size()),
                sizeof(agentd_block)};
  row.tokens = token_count_ ? token_count_(row) : 0;
  tokens_ += row.tokens;
  grow() = row;
  ++count_;
}

void Rows::append_copy(const agentd_message& row) {
  std::string_view blob;
  for (std::uint32_t i = 0; i < row.blocks.count && blob.empty(); ++i) blob = view_of(blocks_of(row)[i].blob);
  append(to_message(row), row.seq, row.time_ms, blob.substr(0, blob.find(':')));
}

agentd_list Rows::slice(std::uint32_t first, std::uint32_t count) const {
  AGENTD_ASSERT(first <= count_ && count <= count_ - first);
  return {rows_ + first, count, sizeof(agentd_message)};
}

std::uint32_t Rows::index_of(std::uint64_t seq) const {
  for (std::uint32_t i = count_; i-- > 0;)
    if (rows_[i].seq == seq) return i;
  return count_;
}

std::string_view full_text(const agentd_block& block) {
  const bool elided = (block.flags & AGENTD_BLOCK_ELIDED) != 0;
  return elided ? std::string_view(block.text.ptr, block.full_len) : view_of(block.text);
}

const agentd_block* blocks_of(const agentd_message& row) { return static_cast<const agentd_block*>(row.blocks.first); }

const agentd_message* messages_of(const agentd_list& list) { return static_cast<const agentd_message*>(list.first); }

namespace {

Block to_block(const agentd_block& from) {
  Block block;
  block.kind = static_cast<BlockKind>(from.kind);
  block.flags = static_cast<std::uint16_t>(from.flags & ~AGENTD_BLOCK_ELIDED);
  block.text = std::string(full_text(from));
  block.name = std::string(view_of(from.name));
  block.call_id = std::string(view_of(from.call_id));
  block.json = std::string(view_of(from.json));
  block.opaque = std::string(view_of(from.opaque));
  const auto* const parts = static_cast<const agentd_block*>(from.parts.first);
  for (std::uint32_t i = 0; i < from.parts.count; ++i) block.parts.push_back(to_block(parts[i]));
  return block;
}

}  // namespace

Message to_message(const agentd_message& row) {
  Message message;
  message.role = static_cast<Role>(row.role);
  message.flags = row.flags;
  for (std::uint32_t i = 0; i < row.blocks.count; ++i) message.blocks.push_back(to_block(blocks_of(row)[i]));
  return message;
}

}  // namespace agentd
