// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/shape_tables.h"

#include <agentd/ext/tools.h>

#include <array>
#include <cstddef>

namespace agentd {
namespace shapes {
namespace {

using Member = Shape::Member;
using Kind = Shape::Kind;

constexpr Member text_at(std::size_t offset) { return {Kind::kText, static_cast<std::uint16_t>(offset), nullptr}; }
constexpr Member list_at(std::size_t offset, const Shape& of) {
  return {Kind::kList, static_cast<std::uint16_t>(offset), &of};
}
constexpr Member pointer_at(std::size_t offset, const Shape& of) {
  return {Kind::kPointer, static_cast<std::uint16_t>(offset), &of};
}

template <typename... Members>
constexpr std::array<Member, sizeof...(Members)> members(Members... each) {
  return {each...};
}

#define AGENTD_TEXT(member) text_at(offsetof(Record, member))
#define AGENTD_LIST(member, of) list_at(offsetof(Record, member), of)
#define AGENTD_POINTER(member, of) pointer_at(offsetof(Record, member), of)

constexpr Member kTextMembers[] = {text_at(0)};

}  // namespace

constinit const Shape text{"agentd_str", sizeof(agentd_str), false, kTextMembers};

#define AGENTD_SHAPE(name, ...)                     \
  namespace {                                       \
  namespace name##_members {                        \
    using Record = agentd_##name;                   \
    constexpr auto kMembers = members(__VA_ARGS__); \
  }                                                 \
  }                                                 \
  constinit const Shape name{"agentd_" #name, sizeof(agentd_##name), true, name##_members::kMembers};
AGENTD_SHAPE_LIST(AGENTD_SHAPE)
#undef AGENTD_SHAPE

}  // namespace shapes

const Shape& message_shape() { return shapes::message; }
const Shape& envelope_shape() { return shapes::envelope; }

namespace {

// By the name of the record, as the list of events has it.
constexpr const Shape* by_payload(std::string_view record) {
#define AGENTD_BY_NAME(name, ...) \
  if (record == "agentd_" #name) return &shapes::name;
  AGENTD_SHAPE_LIST(AGENTD_BY_NAME)
#undef AGENTD_BY_NAME
  return nullptr;
}

// By the id of the event; ids of the core are below 64.
constexpr std::array<const Shape*, 64> kEvents = [] {
  std::array<const Shape*, 64> made{};
#define AGENTD_EVENT_SHAPE(NAME, name, id, payload) made[id] = by_payload(#payload);
  AGENTD_EVENT_LIST(AGENTD_EVENT_SHAPE)
#undef AGENTD_EVENT_SHAPE
  return made;
}();
#define AGENTD_HAS_SHAPE(NAME, name, id, payload) \
  static_assert(kEvents[id] != nullptr, "an event's payload has no shape");
AGENTD_EVENT_LIST(AGENTD_HAS_SHAPE)
#undef AGENTD_HAS_SHAPE

}  // namespace

const Shape* payload_shape(std::uint32_t event) {
  if (event < kEvents.size()) return kEvents[event];
  if (event == AGENTD_EVENT_CREATE || event == AGENTD_EVENT_LOAD_STATE) return &shapes::create_info;
  if (event == AGENTD_EVENT_TOOL_INVOKE) return &shapes::tool_call;
  if (event == AGENTD_EVENT_SERVICE_CALL) return &shapes::service_call;
  return nullptr;
}

}  // namespace agentd
