// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/messages.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/isolation/flat.h"
#include "core/isolation/shape_tables.h"

namespace agentd {
namespace {

using Kind = Shape::Kind;

constexpr Shape::Member at(Kind kind, std::size_t offset, const Shape* of = nullptr) {
  return {kind, static_cast<std::uint16_t>(offset), of};
}

// Every address of the two records is a member of each shape, also for ops that do not use it: unused members cross as
// empty, so no address of the other process ever comes through.
template <const Shape* List = nullptr, const Shape* First = nullptr, const Shape* Second = nullptr>
struct Args {
  static constexpr Shape::Member kMembers[] = {
      at(Kind::kText, offsetof(ServiceArgs, text)),
      at(Kind::kText, offsetof(ServiceArgs, text) + sizeof(agentd_str)),
      at(Kind::kText, offsetof(ServiceArgs, text) + 2 * sizeof(agentd_str)),
      at(Kind::kList, offsetof(ServiceArgs, list), List),
      at(Kind::kPointer, offsetof(ServiceArgs, record), First),
      at(Kind::kPointer, offsetof(ServiceArgs, record) + sizeof(void*), Second),
  };
  static constexpr Shape kShape{"ServiceArgs", sizeof(ServiceArgs), false, kMembers};
};

template <const Shape* List = nullptr, const Shape* Record = nullptr>
struct Reply {
  static constexpr Shape::Member kMembers[] = {
      at(Kind::kText, offsetof(ServiceReply, text)),
      at(Kind::kList, offsetof(ServiceReply, list), List),
      at(Kind::kPointer, offsetof(ServiceReply, record), Record),
  };
  static constexpr Shape kShape{"ServiceReply", sizeof(ServiceReply), false, kMembers};
};

template <const Shape* Action>
const Shape* emit() {
  return &Args<nullptr, Action>::kShape;
}

const Shape* emit_shape(std::uint32_t kind) {
  const Shape* const action = &action_shape(kind);
  if (action == &shapes::act_text) return emit<&shapes::act_text>();
  if (action == &shapes::act_compact) return emit<&shapes::act_compact>();
  if (action == &shapes::act_replace) return emit<&shapes::act_replace>();
  if (action == &shapes::act_set) return emit<&shapes::act_set>();
  if (action == &shapes::act_permission) return emit<&shapes::act_permission>();
  if (action == &shapes::act_recipe) return emit<&shapes::act_recipe>();
  if (action == &shapes::act_tool_result) return emit<&shapes::act_tool_result>();
  return emit<&shapes::action>();
}

constexpr Shape::Member kBootArgsMembers[] = {
    at(Kind::kText, offsetof(BootArgs, name)),
    at(Kind::kList, offsetof(BootArgs, interfaces), &shapes::text),
    at(Kind::kList, offsetof(BootArgs, capabilities), &shapes::text),
    at(Kind::kList, offsetof(BootArgs, readable), &shapes::text),
    at(Kind::kList, offsetof(BootArgs, writable), &shapes::text),
};
constexpr Shape kBootArgs{"BootArgs", sizeof(BootArgs), false, kBootArgsMembers};
constexpr Shape kRowInfo{"RowInfo", sizeof(RowInfo), false, {}};
constexpr Shape::Member kBootReplyMembers[] = {
    at(Kind::kText, offsetof(BootReply, id)),
    at(Kind::kText, offsetof(BootReply, version)),
    at(Kind::kList, offsetof(BootReply, rows), &kRowInfo),
    at(Kind::kList, offsetof(BootReply, notes), &shapes::text),
    at(Kind::kText, offsetof(BootReply, sandbox)),
};
constexpr Shape kBootReply{"BootReply", sizeof(BootReply), false, kBootReplyMembers};

Error unknown_op(std::uint32_t op) {
  return {Code::kInvalid, "the worker asks for the unknown service " + std::to_string(op)};
}

}  // namespace

const Shape* args_shape(std::uint32_t op, std::uint32_t kind) {
  switch (static_cast<ServiceOp>(op)) {
    case ServiceOp::kNone:
      return nullptr;
    case ServiceOp::kEmit:
      return emit_shape(kind);
    case ServiceOp::kToolsAdd:
      return &Args<&shapes::text>::kShape;
    case ServiceOp::kCountMessages:
      return &Args<&shapes::message>::kShape;
    case ServiceOp::kPrompt:
    case ServiceOp::kRequest:
      return &Args<nullptr, &shapes::compact_options>::kShape;
    case ServiceOp::kCompact:
      return &Args<nullptr, &shapes::compact_source, &shapes::compact_options>::kShape;
    case ServiceOp::kThreadOpen:
      return &Args<nullptr, &shapes::thread_options>::kShape;
    case ServiceOp::kStoreCommit:
      return &Args<&shapes::kv_op>::kShape;
    case ServiceOp::kStoreConversations:
      return &Args<nullptr, &shapes::conv_query>::kShape;
    case ServiceOp::kProcessRun:
      return &Args<nullptr, &shapes::process_options>::kShape;
    case ServiceOp::kFail:
    case ServiceOp::kLog:
    case ServiceOp::kComplete:
    case ServiceOp::kScopeOpen:
    case ServiceOp::kScopeClose:
    case ServiceOp::kToolsRemove:
    case ServiceOp::kJsonPayload:
    case ServiceOp::kFieldGet:
    case ServiceOp::kCountText:
    case ServiceOp::kThreadSend:
    case ServiceOp::kThreadUsage:
    case ServiceOp::kThreadClose:
    case ServiceOp::kStoreGet:
    case ServiceOp::kStoreScan:
    case ServiceOp::kStoreMessages:
    case ServiceOp::kStoreReadBlob:
    case ServiceOp::kStoreChanges:
    case ServiceOp::kWorkspaceRead:
    case ServiceOp::kWorkspaceWrite:
    case ServiceOp::kWorkspaceReplace:
    case ServiceOp::kWorkspaceList:
      return &Args<>::kShape;
  }
  return nullptr;
}

const Shape* reply_shape(std::uint32_t op) {
  switch (static_cast<ServiceOp>(op)) {
    case ServiceOp::kNone:
      return nullptr;
    case ServiceOp::kCompact:
      return &Reply<nullptr, &shapes::compact_result>::kShape;
    case ServiceOp::kThreadSend:
      return &Reply<nullptr, &shapes::reply>::kShape;
    case ServiceOp::kThreadUsage:
      return &Reply<nullptr, &shapes::usage>::kShape;
    case ServiceOp::kStoreGet:
      return &Reply<nullptr, &shapes::kv>::kShape;
    case ServiceOp::kStoreScan:
      return &Reply<&shapes::kv>::kShape;
    case ServiceOp::kStoreConversations:
    case ServiceOp::kStoreChanges:
      return &Reply<&shapes::conv_info>::kShape;
    case ServiceOp::kStoreMessages:
      return &Reply<&shapes::message>::kShape;
    case ServiceOp::kWorkspaceList:
      return &Reply<&shapes::file_entry>::kShape;
    case ServiceOp::kProcessRun:
      return &Reply<nullptr, &shapes::process_result>::kShape;
    case ServiceOp::kEmit:
    case ServiceOp::kFail:
    case ServiceOp::kLog:
    case ServiceOp::kComplete:
    case ServiceOp::kScopeOpen:
    case ServiceOp::kScopeClose:
    case ServiceOp::kToolsAdd:
    case ServiceOp::kToolsRemove:
    case ServiceOp::kJsonPayload:
    case ServiceOp::kFieldGet:
    case ServiceOp::kCountText:
    case ServiceOp::kCountMessages:
    case ServiceOp::kPrompt:
    case ServiceOp::kRequest:
    case ServiceOp::kThreadOpen:
    case ServiceOp::kThreadClose:
    case ServiceOp::kStoreCommit:
    case ServiceOp::kStoreReadBlob:
    case ServiceOp::kWorkspaceRead:
    case ServiceOp::kWorkspaceWrite:
    case ServiceOp::kWorkspaceReplace:
      return &Reply<>::kShape;
  }
  return nullptr;
}

bool peek_args(std::string_view bytes, std::uint32_t& op, std::uint32_t& kind) {
  if (bytes.size() < sizeof(ServiceArgs)) return false;
  std::uint64_t number = 0;
  std::memcpy(&op, bytes.data() + offsetof(ServiceArgs, op), sizeof(op));
  std::memcpy(&number, bytes.data() + offsetof(ServiceArgs, number), sizeof(number));
  kind = static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX));
  return true;
}

Result<const ServiceArgs*> open_args(std::span<std::byte> bytes) {
  std::uint32_t op = 0, kind = 0;
  if (!peek_args({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, op, kind))
    return Error{Code::kInvalid, "the worker's request is too short"};
  const Shape* const shape = args_shape(op, kind);
  if (shape == nullptr) return unknown_op(op);
  AGENTD_TRY(const void* const record, relocate(*shape, bytes));
  const auto* const args = static_cast<const ServiceArgs*>(record);
  // The shape was chosen by the number; readers of the action go by its header.
  const auto* const action = static_cast<const agentd_action*>(args->record[0]);
  if (op == static_cast<std::uint32_t>(ServiceOp::kEmit) && action != nullptr && action->kind != args->number[0])
    return Error{Code::kInvalid, "the worker's action is not of the announced kind"};
  return args;
}

const Shape& boot_args_shape() { return kBootArgs; }
const Shape& boot_reply_shape() { return kBootReply; }

}  // namespace agentd
