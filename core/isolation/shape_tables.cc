// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/shape_tables.h"

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>
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

// A record with its members, and one that has no address in it.
#define SHAPE(name, ...)                         \
  namespace {                                    \
  namespace name##_members {                     \
    using Record = agentd_##name;                \
    constexpr Member kMembers[] = {__VA_ARGS__}; \
  }                                              \
  }                                              \
  constinit const Shape name{"agentd_" #name, sizeof(agentd_##name), true, name##_members::kMembers};
#define PLAIN_SHAPE(name) constinit const Shape name{"agentd_" #name, sizeof(agentd_##name), true, {}};
#define TEXT(member) text_at(offsetof(Record, member))
#define LIST(member, of) list_at(offsetof(Record, member), of)
#define POINTER(member, of) pointer_at(offsetof(Record, member), of)

constexpr Member kTextMembers[] = {text_at(0)};

}  // namespace

constinit const Shape text{"agentd_str", sizeof(agentd_str), false, kTextMembers};

// ---- hook_abi.h, hook_events.h

SHAPE(create_info, TEXT(config_json), TEXT(state), TEXT(previous_version))
PLAIN_SHAPE(gauge)
PLAIN_SHAPE(usage)
SHAPE(envelope, TEXT(event_id), TEXT(conversation_id), TEXT(session_id), TEXT(run_id), TEXT(turn_id), TEXT(cwd),
      TEXT(project_id), TEXT(recipe), TEXT(provider), TEXT(model), TEXT(agent_id), TEXT(agent_type),
      POINTER(context, gauge))
SHAPE(block, TEXT(text), TEXT(name), TEXT(call_id), TEXT(json), TEXT(opaque), LIST(parts, block), TEXT(blob))
SHAPE(message, LIST(blocks, block))
SHAPE(recollection, TEXT(id), TEXT(title), TEXT(text))
SHAPE(session_start, POINTER(checkpoint, recollection), LIST(memories, recollection), TEXT(task))
SHAPE(session_end, TEXT(reason), TEXT(task), TEXT(approach), TEXT(notes), LIST(tags, text))
SHAPE(user_message, TEXT(text), LIST(images, block))
SHAPE(turn, TEXT(response), LIST(tool_calls, block), POINTER(usage, usage))
SHAPE(tool_info, TEXT(name), TEXT(description), TEXT(origin))
SHAPE(model_call, TEXT(model), POINTER(context, gauge), LIST(tools, tool_info), LIST(messages, message), TEXT(system))
SHAPE(model_delta, LIST(text, shapes::text))
SHAPE(model_response, TEXT(text), POINTER(message, message), POINTER(usage, usage))
SHAPE(tool_result, TEXT(content), TEXT(structured_json), TEXT(error), TEXT(spill_path), LIST(blocks, block))
SHAPE(tool_call, TEXT(name), TEXT(call_id), TEXT(input_json), TEXT(origin), TEXT(suggestions_json),
      POINTER(result, tool_result))
SHAPE(agent_stop, TEXT(response), POINTER(usage, usage), POINTER(context, gauge), LIST(messages, message))
SHAPE(context_threshold, TEXT(checkpoint_id))
SHAPE(before_compaction, TEXT(model), TEXT(custom_instructions), POINTER(context, gauge), LIST(messages, message))
SHAPE(after_compaction, POINTER(request, before_compaction), POINTER(usage_before, usage), POINTER(usage_spent, usage),
      TEXT(boundary_id), TEXT(summary), TEXT(error))
SHAPE(clear, TEXT(reason), TEXT(new_conversation_id))
SHAPE(subagent, TEXT(agent_id), TEXT(agent_type), TEXT(prompt))
SHAPE(agent_error, TEXT(code), TEXT(message), TEXT(phase))
SHAPE(notification, TEXT(text))

// ---- hook_actions.h

PLAIN_SHAPE(action)
SHAPE(act_text, TEXT(text))
SHAPE(act_compact, TEXT(model), TEXT(instructions))
SHAPE(part, POINTER(message, message))
SHAPE(act_replace, LIST(parts, part))
SHAPE(act_set, TEXT(text))
SHAPE(act_permission, TEXT(reason))
SHAPE(act_recipe, TEXT(name), TEXT(arguments_json))
SHAPE(act_tool_result, TEXT(structured_json), LIST(blocks, block))

// ---- hook_services.h, ext/

SHAPE(compact_options, TEXT(model), TEXT(instructions))
SHAPE(compact_source, LIST(messages, message))
SHAPE(compact_result, TEXT(summary), POINTER(usage, usage))
SHAPE(thread_options, TEXT(model), TEXT(system), LIST(history, message))
SHAPE(reply, TEXT(text), LIST(blocks, block), POINTER(usage, usage))
SHAPE(kv, TEXT(key), TEXT(value))
SHAPE(kv_op, TEXT(key), TEXT(value))
SHAPE(conv_info, TEXT(conversation_id), TEXT(title), TEXT(project_id), TEXT(provider), TEXT(model))
SHAPE(conv_query, TEXT(project_id), TEXT(text), TEXT(after))
SHAPE(file_entry, TEXT(path))
SHAPE(process_options, LIST(argv, text), TEXT(cwd), TEXT(input))
SHAPE(process_result, TEXT(output))

}  // namespace shapes

const Shape& text_shape() { return shapes::text; }
const Shape& message_shape() { return shapes::message; }
const Shape& block_shape() { return shapes::block; }
const Shape& envelope_shape() { return shapes::envelope; }

namespace {

// By the name of the record, as the list of events has it.
constexpr const Shape* by_payload(std::string_view record) {
#define AGENTD_BY_NAME(name) \
  if (record == "agentd_" #name) return &shapes::name;
  AGENTD_SHAPE_LIST(AGENTD_BY_NAME)
#undef AGENTD_BY_NAME
  return nullptr;
}

struct EventRow {
  std::uint32_t event;
  const Shape* shape;
};

constexpr EventRow kEvents[] = {
#define AGENTD_EVENT_SHAPE(NAME, name, id, payload) {id, by_payload(#payload)},
    AGENTD_EVENT_LIST(AGENTD_EVENT_SHAPE)
#undef AGENTD_EVENT_SHAPE
};
constexpr bool every_event_has_a_shape() {
  std::uint32_t next = 1;
  for (const EventRow& row : kEvents)
    if (row.event != next++ || row.shape == nullptr) return false;
  return true;
}
static_assert(every_event_has_a_shape(), "an event's payload has no shape, or ids have a gap");

#define AGENTD_ADDRESS(name) &shapes::name,
constexpr std::array kAll = {AGENTD_SHAPE_LIST(AGENTD_ADDRESS)};
#undef AGENTD_ADDRESS

}  // namespace

const Shape* payload_shape(std::uint32_t event) {
  if (event >= 1 && event <= std::size(kEvents)) return kEvents[event - 1].shape;
  if (event == AGENTD_EVENT_CREATE || event == AGENTD_EVENT_LOAD_STATE) return &shapes::create_info;
  if (event == AGENTD_EVENT_TOOL_INVOKE) return &shapes::tool_call;
  return nullptr;
}

const Shape& action_shape(std::uint32_t kind) {
  switch (kind) {
    case AGENTD_ACT_COMPACT:
      return shapes::act_compact;
    case AGENTD_ACT_REPLACE_MESSAGES:
      return shapes::act_replace;
    case AGENTD_ACT_SET:
      return shapes::act_set;
    case AGENTD_ACT_PERMISSION:
      return shapes::act_permission;
    case AGENTD_ACT_CALLBACK:
      return shapes::act_recipe;
    case AGENTD_ACT_TOOL_RESULT:
      return shapes::act_tool_result;
    case AGENTD_ACT_BLOCK:
    case AGENTD_ACT_CONTINUE:
    case AGENTD_ACT_SUMMARY:
    case AGENTD_ACT_REPLACE_TEXT:
    case AGENTD_ACT_INJECT_CONTEXT:
    case AGENTD_ACT_SYSTEM_MESSAGE:
    case AGENTD_ACT_TOOLS_ENABLE:
    case AGENTD_ACT_TOOLS_DISABLE:
    case AGENTD_ACT_STATE:
    case AGENTD_ACT_TOOL_OUTPUT:
    case AGENTD_ACT_STOP_RUN:
      return shapes::act_text;
    default:
      return shapes::action;
  }
}

std::span<const Shape* const> all_shapes() { return kAll; }

}  // namespace agentd
