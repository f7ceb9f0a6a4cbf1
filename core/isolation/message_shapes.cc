// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/message_shapes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "core/isolation/flat.h"
#include "core/isolation/service_call.h"
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

const Shape* emit_shape(std::uint32_t kind) {
  switch (kind) {
#define AGENTD_EMIT_SHAPE(NAME, name, record, ...) \
  case AGENTD_ACT_##NAME:                          \
    return &Args<nullptr, &shapes::record>::kShape;
    AGENTD_ACTION_LIST(AGENTD_EMIT_SHAPE)
#undef AGENTD_EMIT_SHAPE
  }
  return &Args<nullptr, &shapes::action>::kShape;
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

// The elements of a list, by their names in the rows of the service tables.
namespace element {
constexpr const Shape* none = nullptr;
#define AGENTD_ELEMENT(name, ...) [[maybe_unused]] constexpr const Shape* name = &shapes::name;
AGENTD_SHAPE_LIST(AGENTD_ELEMENT)
#undef AGENTD_ELEMENT
}  // namespace element

struct Op {
  const Shape* args = nullptr;
  const Shape* reply = nullptr;
};

// False for no shape. An address that a sanitizer watches cannot be compared in a constant expression.
template <const Shape* Named>
constexpr bool kIsNamed = true;
template <>
constexpr bool kIsNamed<nullptr> = false;

template <typename Record>
constexpr const Shape* shape_of() {
  constexpr const Shape* kFound = shapes::kShapeOf<Record>;
  static_assert(std::is_void_v<Record> || kIsNamed<kFound>, "a record of the function is in no list of records");
  return kFound;
}

template <auto Slot, const Shape* In, const Shape* Out>
constexpr Op op_of() {
  using Signature = ServiceSignature<decltype(Slot)>;
  static_assert((Signature::kArgs.lists != 0) == kIsNamed<In> && (Signature::kReply.lists != 0) == kIsNamed<Out>,
                "the columns in and out of the function's row name the elements of its lists");
  constexpr const Shape* kFirst = shape_of<typename Signature::template Taken<0>>();
  constexpr const Shape* kSecond = shape_of<typename Signature::template Taken<1>>();
  return {&Args<In, kFirst, kSecond>::kShape, &Reply<Out, shape_of<typename Signature::Given>()>::kShape};
}

constexpr std::array<Op, kOpsEnd> all_ops() {
  std::array<Op, kOpsEnd> made{};
  const auto set = [&made](ServiceOp op, const Op& shapes) { made[static_cast<std::size_t>(op)] = shapes; };
  for (const ServiceOp op :
       {ServiceOp::kEmit, ServiceOp::kFail, ServiceOp::kLog, ServiceOp::kComplete, ServiceOp::kScopeOpen,
        ServiceOp::kScopeClose, ServiceOp::kToolsRemove, ServiceOp::kJsonPayload, ServiceOp::kFieldGet,
        ServiceOp::kProvideAdd, ServiceOp::kProvideRemove})
    set(op, {&Args<>::kShape, &Reply<>::kShape});
  set(ServiceOp::kToolsAdd, {&Args<&shapes::text>::kShape, &Reply<>::kShape});
#define AGENTD_OP(table, function, Name, in, out, ...) \
  set(ServiceOp::k##Name, op_of<&agentd_##table::function, element::in, element::out>());
  AGENTD_SERVICE_LIST(AGENTD_OP)
#undef AGENTD_OP
  return made;
}
constexpr std::array<Op, kOpsEnd> kOps = all_ops();

Error unknown_op(std::uint32_t op) {
  return {Code::kInvalid, "the worker asks for the unknown service " + std::to_string(op)};
}

}  // namespace

const Shape* args_shape(std::uint32_t op, std::uint32_t kind) {
  if (op == static_cast<std::uint32_t>(ServiceOp::kEmit)) return emit_shape(kind);
  return op < kOpsEnd ? kOps[op].args : nullptr;
}

const Shape* reply_shape(std::uint32_t op) { return op < kOpsEnd ? kOps[op].reply : nullptr; }

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
