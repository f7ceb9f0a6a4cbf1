// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/actions.h"

#include "core/base/base64.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::uint32_t kListMax = 1'000'000;
constexpr std::uint32_t kRecordMax = 4096;
constexpr std::uint64_t kTextMax = 256ull << 20;

Error bad(std::string what) { return {Code::kInvalid, std::move(what)}; }

Result<std::string> copy_text(const agentd_str& from) {
  if (from.len > kTextMax) return bad("a text of " + std::to_string(from.len) + " bytes is over the limit");
  if (from.ptr == nullptr && from.len != 0) return bad("a text with a length has no memory");
  return to_utf8(view_of(from));
}

Result<void> check_list(const agentd_list& from, std::size_t least) {
  if (from.count == 0) return {};
  if (from.first == nullptr || from.stride < least || from.stride > kRecordMax || from.count > kListMax)
    return bad("a list has an impossible address, count or stride");
  return {};
}

template <typename T>
const T* element(const agentd_list& list, std::uint32_t index) {
  return reinterpret_cast<const T*>(static_cast<const char*>(list.first) +
                                    static_cast<std::size_t>(index) * list.stride);
}

Result<Block> copy_block(const agentd_block* raw, int depth) {
  if (raw->size < 8 || raw->size > kRecordMax) return bad("a block has an impossible size");
  const agentd_block from = normalised(raw);
  if (from.kind < AGENTD_BLOCK_TEXT || from.kind > AGENTD_BLOCK_DOCUMENT)
    return bad("a block has the unknown kind " + std::to_string(from.kind));
  Block out;
  out.kind = static_cast<BlockKind>(from.kind);
  out.flags = static_cast<std::uint16_t>(from.flags & AGENTD_BLOCK_ERROR);
  AGENTD_TRY(out.text, copy_text(from.text));
  AGENTD_TRY(out.name, copy_text(from.name));
  AGENTD_TRY(out.call_id, copy_text(from.call_id));
  AGENTD_TRY(out.json, copy_text(from.json));
  AGENTD_TRY(out.opaque, copy_text(from.opaque));
  // A value that is not base64 would be in every later request, and each provider refuses it.
  const bool media = out.kind == BlockKind::kImage || out.kind == BlockKind::kDocument;
  if (media && !is_base64(out.opaque)) return bad("the bytes of an image or a document are not base64");
  if (depth > 0) return out;
  AGENTD_TRY_VOID(check_list(from.parts, 8));
  for (std::uint32_t i = 0; i < from.parts.count; ++i) {
    AGENTD_TRY(Block part, copy_block(element<agentd_block>(from.parts, i), depth + 1));
    out.parts.push_back(std::move(part));
  }
  return out;
}

Result<Message> copy_message(const agentd_message* raw) {
  if (raw == nullptr || raw->size < 8 || raw->size > kRecordMax) return bad("a message has an impossible size");
  const agentd_message from = normalised(raw);
  if (from.role < AGENTD_ROLE_USER || from.role > AGENTD_ROLE_SUMMARY)
    return bad("a message has the unknown role " + std::to_string(from.role));
  Message out;
  out.role = static_cast<Role>(from.role);
  out.flags = static_cast<std::uint16_t>(from.flags & (AGENTD_MESSAGE_INTERRUPTED | AGENTD_MESSAGE_CONTEXT));
  AGENTD_TRY(out.blocks, copy_blocks(from.blocks));
  return out;
}

// Reads an action's record, one function per record.

Result<void> read(const agentd_act_text& from, Action& out) {
  out.target = from.target;
  AGENTD_TRY(out.text, copy_text(from.text));
  return {};
}

Result<void> read(const agentd_act_compact& from, Action& out) {
  out.code = from.strategy;
  out.number = from.keep_tokens;
  AGENTD_TRY(out.model, copy_text(from.model));
  AGENTD_TRY(out.text, copy_text(from.instructions));
  return {};
}

Result<void> read(const agentd_act_set& from, Action& out) {
  out.target = from.key;
  out.number = from.number;
  AGENTD_TRY(out.text, copy_text(from.text));
  return {};
}

Result<void> read(const agentd_act_permission& from, Action& out) {
  out.code = from.decision;
  out.remember = from.remember;
  if (out.code < AGENTD_PERMISSION_ALLOW || out.code > AGENTD_PERMISSION_DEFER)
    return bad("the permission " + std::to_string(out.code) + " does not exist");
  AGENTD_TRY(out.text, copy_text(from.reason));
  return {};
}

Result<void> read(const agentd_act_recipe& from, Action& out) {
  AGENTD_TRY(out.text, copy_text(from.name));
  AGENTD_TRY(out.json, copy_text(from.arguments_json));
  return {};
}

Result<void> read(const agentd_act_tool_result& from, Action& out) {
  out.code = from.is_error;
  AGENTD_TRY(out.json, copy_text(from.structured_json));
  AGENTD_TRY(out.blocks, copy_blocks(from.blocks));
  return {};
}

Result<ReplacePart> copy_part(const agentd_part& part) {
  ReplacePart copy;
  if (part.kind == AGENTD_PART_KEEP) {
    copy.first = part.first;
    copy.last = part.last;
    if (copy.first == 0 || copy.last < copy.first) return bad("a part keeps an empty range");
  } else if (part.kind == AGENTD_PART_LITERAL) {
    AGENTD_TRY(copy.literal, copy_message(part.message));
  } else {
    return bad("a part has the unknown kind " + std::to_string(part.kind));
  }
  return copy;
}

Result<void> read(const agentd_act_replace& from, Action& out) {
  out.base_revision = from.base_revision;
  AGENTD_TRY_VOID(check_list(from.parts, 24));
  for (std::uint32_t i = 0; i < from.parts.count; ++i) {
    AGENTD_TRY(ReplacePart part, copy_part(normalised(element<agentd_part>(from.parts, i))));
    out.parts.push_back(std::move(part));
  }
  return {};
}

template <typename Record>
Result<void> read_as(const agentd_action& from, Action& out) {
  if (from.size < sizeof(Record) || from.size > kRecordMax)
    return bad("an action of kind " + std::to_string(out.kind) + " has the impossible size " +
               std::to_string(from.size));
  return read(reinterpret_cast<const Record&>(from), out);
}

Result<void> read_action(const agentd_action& from, Action& out) {
  switch (out.kind) {
#define AGENTD_READ(NAME, name, record, ...) \
  case AGENTD_ACT_##NAME:                    \
    return read_as<agentd_##record>(from, out);
    AGENTD_ACTION_LIST(AGENTD_READ)
#undef AGENTD_READ
  }
  return bad("the action " + std::to_string(out.kind) + " is not known to this agentd");
}

}  // namespace

Result<std::vector<Block>> copy_blocks(const agentd_list& from) {
  AGENTD_TRY_VOID(check_list(from, 8));
  std::vector<Block> out;
  for (std::uint32_t i = 0; i < from.count; ++i) {
    AGENTD_TRY(Block block, copy_block(element<agentd_block>(from, i), 0));
    out.push_back(std::move(block));
  }
  return out;
}

Result<std::vector<Message>> copy_messages(const agentd_list& from) {
  AGENTD_TRY_VOID(check_list(from, 8));
  std::vector<Message> out;
  for (std::uint32_t i = 0; i < from.count; ++i) {
    AGENTD_TRY(Message message, copy_message(element<agentd_message>(from, i)));
    out.push_back(std::move(message));
  }
  return out;
}

Result<Action> copy_action(const agentd_action* from) {
  if (from == nullptr) return bad("emit() without an action");
  Action out;
  out.kind = from->kind;
  AGENTD_TRY_VOID(read_action(*from, out));
  return out;
}

}  // namespace agentd
