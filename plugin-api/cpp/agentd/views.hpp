// SPDX-License-Identifier: Apache-2.0
#pragma once
// views.hpp - typed views over the records of the hook ABI: one class per record.
//
// A view is one pointer. It copies nothing, owns nothing and lives as long as its record. A view over NULL returns
// zeroes, empty texts and empty lists, so a chain of accessors needs no checks. Every list is walked by its stride,
// never by sizeof: a newer host may send longer records. All members of ABI 1.0 are present in every record of any
// minor version, so the accessors do not check `size`.
//
// This header is independent of the plugin side: the host reads rows through it as well.
//
// Threading: immutable values; a record may be read from several threads at once.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <agentd/hook_abi.h>
#include <agentd/json.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace agentd {

// Text of the ABI as C++ text. Absent text (ptr NULL) becomes an empty view.
[[nodiscard]] constexpr std::string_view as_view(agentd_str text) noexcept {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
}

// C++ text as text of the ABI; borrowed, not copied. A default-made view becomes absent text.
[[nodiscard]] constexpr agentd_str as_str(std::string_view text) noexcept {
  return agentd_str{text.data(), text.size()};
}

// The events by name: event::agent_stop is AGENTD_EVENT_AGENT_STOP. The host may send others.
enum class event : std::uint32_t {
#define AGENTD_EVENT_MEMBER(NAME, name, id, payload) name = (id),
  AGENTD_EVENT_LIST(AGENTD_EVENT_MEMBER)
#undef AGENTD_EVENT_MEMBER
};

// The name of a core event, "agent_stop"; empty for any other.
[[nodiscard]] constexpr std::string_view name_of(event value) noexcept {
  switch (value) {
#define AGENTD_EVENT_CASE(NAME, name, id, payload) \
  case event::name:                                \
    return #name;
    AGENTD_EVENT_LIST(AGENTD_EVENT_CASE)
#undef AGENTD_EVENT_CASE
  }
  return {};
}

// Reads a list element: as its view, or string_view for agentd_str.
template <typename View, typename Record>
struct list_element {
  static View read(const void* at) noexcept { return View(static_cast<const Record*>(at)); }
};
template <>
struct list_element<std::string_view, agentd_str> {
  static std::string_view read(const void* at) noexcept { return as_view(*static_cast<const agentd_str*>(at)); }
};

// A list as a range with random access: `for (message_view m : stop.messages())`, list[3], size().
template <typename View, typename Record>
class list_view {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;  // operator* makes a value
    using value_type = View;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = View;

    constexpr iterator() noexcept = default;
    constexpr iterator(agentd_list list, std::uint32_t index) noexcept : list_(list), index_(index) {}
    View operator*() const noexcept { return list_view(list_)[index_]; }
    View operator[](difference_type step) const noexcept { return *(*this + step); }
    iterator& operator++() noexcept { return *this += 1; }
    iterator& operator--() noexcept { return *this += -1; }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    iterator& operator+=(difference_type step) noexcept {
      index_ = static_cast<std::uint32_t>(static_cast<difference_type>(index_) + step);
      return *this;
    }
    friend iterator operator+(iterator it, difference_type step) noexcept { return it += step; }
    friend iterator operator-(iterator it, difference_type step) noexcept { return it += -step; }
    friend difference_type operator-(iterator a, iterator b) noexcept {
      return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
    }
    friend bool operator==(iterator a, iterator b) noexcept { return a.index_ == b.index_; }
    friend bool operator<(iterator a, iterator b) noexcept { return a.index_ < b.index_; }

   private:
    agentd_list list_{};
    std::uint32_t index_ = 0;
  };

  constexpr list_view() noexcept = default;
  constexpr explicit list_view(agentd_list list) noexcept : list_(list.first == nullptr ? agentd_list{} : list) {}

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return list_.count; }
  [[nodiscard]] constexpr bool empty() const noexcept { return list_.count == 0; }
  [[nodiscard]] iterator begin() const noexcept { return iterator(list_, 0); }
  [[nodiscard]] iterator end() const noexcept { return iterator(list_, list_.count); }
  // `index` < size().
  [[nodiscard]] View operator[](std::uint32_t index) const noexcept {
    const auto offset = static_cast<std::size_t>(index) * list_.stride;
    return list_element<View, Record>::read(static_cast<const char*>(list_.first) + offset);
  }
  // The first or last element, or an element over NULL if the list is empty.
  [[nodiscard]] View front() const noexcept { return empty() ? View() : (*this)[0]; }
  [[nodiscard]] View back() const noexcept { return empty() ? View() : (*this)[list_.count - 1]; }
  [[nodiscard]] constexpr agentd_list raw() const noexcept { return list_; }

 private:
  agentd_list list_{};
};

using text_list = list_view<std::string_view, agentd_str>;

// Common to all views: the pointer, and reading a member through it.
template <typename Record>
class record_view {
 public:
  using record_type = Record;

  constexpr record_view() noexcept = default;
  constexpr explicit record_view(const Record* record) noexcept : record_(record) {}
  constexpr explicit operator bool() const noexcept { return record_ != nullptr; }
  [[nodiscard]] constexpr const Record* raw() const noexcept { return record_; }
  // Any member by its pointer, also one without an accessor: view.get(&agentd_turn::flags). Zero if there is no record,
  // or if it comes from a host that is too old to have the member.
  template <typename T>
  [[nodiscard]] T get(T Record::*which) const noexcept {
    if (record_ == nullptr) return T{};
    if constexpr (requires { record_->size; }) {
      const auto* const end = reinterpret_cast<const char*>(&(record_->*which) + 1);
      if (end - reinterpret_cast<const char*>(record_) > static_cast<std::ptrdiff_t>(record_->size)) return T{};
    }
    return record_->*which;
  }

 protected:
  template <typename T>
  [[nodiscard]] constexpr T member(T Record::*which) const noexcept {
    return record_ == nullptr ? T{} : record_->*which;
  }
  [[nodiscard]] constexpr std::string_view text_of(agentd_str Record::*which) const noexcept {
    return as_view(member(which));
  }
  template <typename List>
  [[nodiscard]] constexpr List list_of(agentd_list Record::*which) const noexcept {
    return List(member(which));
  }
  template <typename T>
  [[nodiscard]] constexpr bool has_bit(T Record::*which, std::uint32_t bit) const noexcept {
    return (member(which) & bit) != 0;
  }

 private:
  const Record* record_ = nullptr;
};

// The three kinds of accessors; undefined again at the end of this header.
#define AGENTD_VIEW_BEGIN(view, record)     \
  class view : public record_view<record> { \
    using self = record;                    \
                                            \
   public:                                  \
    using record_view<record>::record_view;
#define AGENTD_VIEW_TEXT(name) \
  [[nodiscard]] constexpr std::string_view name() const noexcept { return text_of(&self::name); }
#define AGENTD_VIEW_VALUE(name) \
  [[nodiscard]] constexpr auto name() const noexcept { return member(&self::name); }
#define AGENTD_VIEW_LIST(name, list) \
  [[nodiscard]] constexpr list name() const noexcept { return list_of<list>(&self::name); }
#define AGENTD_VIEW_RECORD(name, view) \
  [[nodiscard]] constexpr view name() const noexcept { return view(member(&self::name)); }
#define AGENTD_VIEW_BIT(name, field, bit) \
  [[nodiscard]] constexpr bool name() const noexcept { return has_bit(&self::field, bit); }

// One line for each member.
// clang-format off

// ---- the envelope

AGENTD_VIEW_BEGIN(gauge_view, agentd_gauge)
AGENTD_VIEW_VALUE(source)
AGENTD_VIEW_VALUE(used)
AGENTD_VIEW_VALUE(limit)
AGENTD_VIEW_VALUE(compact_at)
AGENTD_VIEW_VALUE(force_at)
AGENTD_VIEW_VALUE(floor)
AGENTD_VIEW_VALUE(compactions)
// used / limit, from 0 to 1 and above; 0 when the limit is unknown.
[[nodiscard]] constexpr double fill() const noexcept {
  return limit() == 0 ? 0.0 : static_cast<double>(used()) / static_cast<double>(limit());
}
};

AGENTD_VIEW_BEGIN(usage_view, agentd_usage)
AGENTD_VIEW_VALUE(input)
AGENTD_VIEW_VALUE(output)
AGENTD_VIEW_VALUE(cache_read)
AGENTD_VIEW_VALUE(cache_write)
AGENTD_VIEW_VALUE(reasoning)
AGENTD_VIEW_VALUE(cost_nano_usd)
}
;

AGENTD_VIEW_BEGIN(envelope_view, agentd_envelope)
AGENTD_VIEW_VALUE(turn_number)
AGENTD_VIEW_TEXT(event_id)
AGENTD_VIEW_TEXT(conversation_id)
AGENTD_VIEW_TEXT(session_id)
AGENTD_VIEW_TEXT(run_id)
AGENTD_VIEW_TEXT(turn_id)
AGENTD_VIEW_TEXT(cwd)
AGENTD_VIEW_TEXT(project_id)
AGENTD_VIEW_TEXT(recipe)
AGENTD_VIEW_TEXT(provider)
AGENTD_VIEW_TEXT(model)
AGENTD_VIEW_TEXT(agent_id)
AGENTD_VIEW_TEXT(agent_type)
AGENTD_VIEW_VALUE(agent_depth)
AGENTD_VIEW_VALUE(invoked_by)
AGENTD_VIEW_VALUE(attempt)
AGENTD_VIEW_VALUE(revision)
AGENTD_VIEW_RECORD(context, gauge_view)
}
;

// ---- messages

class block_view;
using block_list = list_view<block_view, agentd_block>;

AGENTD_VIEW_BEGIN(block_view, agentd_block)
AGENTD_VIEW_VALUE(kind)
AGENTD_VIEW_VALUE(flags)
AGENTD_VIEW_TEXT(text)
AGENTD_VIEW_TEXT(name)
AGENTD_VIEW_TEXT(call_id)
AGENTD_VIEW_TEXT(json)
AGENTD_VIEW_TEXT(opaque)
AGENTD_VIEW_VALUE(full_len)
AGENTD_VIEW_TEXT(blob)
AGENTD_VIEW_BIT(is_error, flags, AGENTD_BLOCK_ERROR)
AGENTD_VIEW_BIT(is_elided, flags, AGENTD_BLOCK_ELIDED)
AGENTD_VIEW_BIT(is_pruned, flags, AGENTD_BLOCK_PRUNED)
[[nodiscard]] constexpr bool is_text() const noexcept { return kind() == AGENTD_BLOCK_TEXT; }
[[nodiscard]] constexpr bool is_thinking() const noexcept {
  return kind() == AGENTD_BLOCK_THINKING;
}
[[nodiscard]] constexpr bool is_tool_use() const noexcept {
  return kind() == AGENTD_BLOCK_TOOL_USE;
}
[[nodiscard]] constexpr bool is_tool_result() const noexcept {
  return kind() == AGENTD_BLOCK_TOOL_RESULT;
}
[[nodiscard]] constexpr bool is_image() const noexcept { return kind() == AGENTD_BLOCK_IMAGE; }
[[nodiscard]] constexpr bool is_document() const noexcept { return kind() == AGENTD_BLOCK_DOCUMENT; }
[[nodiscard]] block_list parts() const noexcept;
}
;
inline block_list block_view::parts() const noexcept { return block_list(member(&self::parts)); }

AGENTD_VIEW_BEGIN(message_view, agentd_message)
AGENTD_VIEW_VALUE(role)
AGENTD_VIEW_VALUE(flags)
AGENTD_VIEW_VALUE(seq)
AGENTD_VIEW_VALUE(time_ms)
AGENTD_VIEW_VALUE(tokens)
AGENTD_VIEW_LIST(blocks, block_list)
AGENTD_VIEW_BIT(is_interrupted, flags, AGENTD_MESSAGE_INTERRUPTED)
AGENTD_VIEW_BIT(is_context, flags, AGENTD_MESSAGE_CONTEXT)
[[nodiscard]] constexpr bool is_user() const noexcept { return role() == AGENTD_ROLE_USER; }
[[nodiscard]] constexpr bool is_assistant() const noexcept {
  return role() == AGENTD_ROLE_ASSISTANT;
}
[[nodiscard]] constexpr bool is_summary() const noexcept { return role() == AGENTD_ROLE_SUMMARY; }
// The text of all TEXT blocks, joined. A copy: for one block take blocks()[0].text().
[[nodiscard]] std::string text() const {
  std::string joined;
  for (block_view block : blocks()) {
    if (block.is_text()) joined.append(block.text());
  }
  return joined;
}
}
;
using message_list = list_view<message_view, agentd_message>;

// ---- payloads

AGENTD_VIEW_BEGIN(recollection_view, agentd_recollection)
AGENTD_VIEW_VALUE(confidence_permille)
AGENTD_VIEW_TEXT(id)
AGENTD_VIEW_TEXT(title)
AGENTD_VIEW_TEXT(text)
AGENTD_VIEW_VALUE(created_ms)
}
;
using recollection_list = list_view<recollection_view, agentd_recollection>;

AGENTD_VIEW_BEGIN(session_start_view, agentd_session_start)
AGENTD_VIEW_VALUE(source)
AGENTD_VIEW_RECORD(checkpoint, recollection_view)
AGENTD_VIEW_LIST(memories, recollection_list)
AGENTD_VIEW_TEXT(task)
}
;

AGENTD_VIEW_BEGIN(session_end_view, agentd_session_end)
AGENTD_VIEW_VALUE(outcome)
AGENTD_VIEW_TEXT(reason)
AGENTD_VIEW_TEXT(task)
AGENTD_VIEW_TEXT(approach)
AGENTD_VIEW_TEXT(notes)
AGENTD_VIEW_LIST(tags, text_list)
}
;

AGENTD_VIEW_BEGIN(user_message_view, agentd_user_message)
AGENTD_VIEW_VALUE(source)
AGENTD_VIEW_TEXT(text)
AGENTD_VIEW_LIST(images, block_list)
}
;

AGENTD_VIEW_BEGIN(turn_view, agentd_turn)
AGENTD_VIEW_VALUE(turn_number)
AGENTD_VIEW_VALUE(stop_reason)
AGENTD_VIEW_TEXT(response)
AGENTD_VIEW_LIST(tool_calls, block_list)
AGENTD_VIEW_RECORD(usage, usage_view)
AGENTD_VIEW_BIT(is_final, flags, AGENTD_TURN_FINAL)
}
;

AGENTD_VIEW_BEGIN(tool_info_view, agentd_tool_info)
AGENTD_VIEW_VALUE(flags)
AGENTD_VIEW_TEXT(name)
AGENTD_VIEW_TEXT(description)
AGENTD_VIEW_TEXT(origin)
}
;
using tool_info_list = list_view<tool_info_view, agentd_tool_info>;

AGENTD_VIEW_BEGIN(model_call_view, agentd_model_call)
AGENTD_VIEW_TEXT(model)
AGENTD_VIEW_VALUE(message_count)
AGENTD_VIEW_VALUE(max_output_tokens)
AGENTD_VIEW_RECORD(context, gauge_view)
AGENTD_VIEW_LIST(tools, tool_info_list)
AGENTD_VIEW_LIST(messages, message_list)
AGENTD_VIEW_TEXT(system)
}
;

AGENTD_VIEW_BEGIN(model_delta_view, agentd_model_delta)
AGENTD_VIEW_LIST(text, text_list)
}
;

AGENTD_VIEW_BEGIN(model_response_view, agentd_model_response)
AGENTD_VIEW_VALUE(stop_reason)
AGENTD_VIEW_TEXT(text)
AGENTD_VIEW_RECORD(message, message_view)
AGENTD_VIEW_RECORD(usage, usage_view)
AGENTD_VIEW_VALUE(duration_ns)
}
;

AGENTD_VIEW_BEGIN(tool_result_view, agentd_tool_result)
AGENTD_VIEW_TEXT(content)
AGENTD_VIEW_TEXT(structured_json)
AGENTD_VIEW_TEXT(error)
AGENTD_VIEW_TEXT(spill_path)
AGENTD_VIEW_LIST(blocks, block_list)
AGENTD_VIEW_VALUE(full_len)
AGENTD_VIEW_VALUE(duration_ns)
[[nodiscard]] constexpr bool success() const noexcept { return member(&self::success) != 0; }
}
;

AGENTD_VIEW_BEGIN(tool_view, agentd_tool_call)
AGENTD_VIEW_VALUE(flags)
AGENTD_VIEW_TEXT(name)
AGENTD_VIEW_TEXT(call_id)
AGENTD_VIEW_TEXT(input_json)
AGENTD_VIEW_TEXT(origin)
AGENTD_VIEW_TEXT(suggestions_json)
AGENTD_VIEW_VALUE(tool)
AGENTD_VIEW_RECORD(result, tool_result_view)
// The call's arguments: input().text("path"), input().integer("limit", 2000).
[[nodiscard]] json_view input() const noexcept { return json_view(input_json()); }
AGENTD_VIEW_BIT(is_denied, flags, AGENTD_TOOL_CALL_DENIED)
}
;

AGENTD_VIEW_BEGIN(stop_view, agentd_agent_stop)
AGENTD_VIEW_VALUE(continuation)
AGENTD_VIEW_VALUE(stop_reason)
AGENTD_VIEW_TEXT(response)
AGENTD_VIEW_RECORD(usage, usage_view)
AGENTD_VIEW_RECORD(context, gauge_view)
AGENTD_VIEW_VALUE(max_context_window)
AGENTD_VIEW_LIST(messages, message_list)
AGENTD_VIEW_BIT(hook_active, flags, AGENTD_AGENT_STOP_HOOK_ACTIVE)
// How full the context is, from 0 to 1 and above: used / limit of the gauge.
[[nodiscard]] constexpr double context_fill() const noexcept { return context().fill(); }
}
;

AGENTD_VIEW_BEGIN(threshold_view, agentd_context_threshold)
AGENTD_VIEW_VALUE(percent)
AGENTD_VIEW_VALUE(threshold)
AGENTD_VIEW_TEXT(checkpoint_id)
}
;

AGENTD_VIEW_BEGIN(before_compaction_view, agentd_before_compaction)
AGENTD_VIEW_VALUE(trigger)
AGENTD_VIEW_VALUE(reason)
AGENTD_VIEW_VALUE(phase)
AGENTD_VIEW_VALUE(strategy)
AGENTD_VIEW_VALUE(vetoes)
AGENTD_VIEW_VALUE(tokens)
AGENTD_VIEW_VALUE(limit)
AGENTD_VIEW_VALUE(keep_tokens)
AGENTD_VIEW_VALUE(floor_tokens)
AGENTD_VIEW_VALUE(summarized_first)
AGENTD_VIEW_VALUE(summarized_last)
AGENTD_VIEW_VALUE(kept_first)
AGENTD_VIEW_VALUE(kept_last)
AGENTD_VIEW_TEXT(model)
AGENTD_VIEW_TEXT(custom_instructions)
AGENTD_VIEW_RECORD(context, gauge_view)
AGENTD_VIEW_LIST(messages, message_list)
}
;

AGENTD_VIEW_BEGIN(after_compaction_view, agentd_after_compaction)
AGENTD_VIEW_VALUE(result)
AGENTD_VIEW_VALUE(method)
AGENTD_VIEW_RECORD(request, before_compaction_view)
AGENTD_VIEW_VALUE(pre_tokens)
AGENTD_VIEW_VALUE(post_tokens)
AGENTD_VIEW_VALUE(duration_ns)
AGENTD_VIEW_VALUE(boundary_seq)
AGENTD_VIEW_VALUE(revision)
AGENTD_VIEW_RECORD(usage_before, usage_view)
AGENTD_VIEW_RECORD(usage_spent, usage_view)
AGENTD_VIEW_TEXT(boundary_id)
AGENTD_VIEW_TEXT(summary)
AGENTD_VIEW_TEXT(error)
}
;

AGENTD_VIEW_BEGIN(clear_view, agentd_clear)
AGENTD_VIEW_TEXT(reason)
AGENTD_VIEW_TEXT(new_conversation_id)
AGENTD_VIEW_TEXT(checkpoint_id)
}
;

AGENTD_VIEW_BEGIN(subagent_view, agentd_subagent)
AGENTD_VIEW_VALUE(depth)
AGENTD_VIEW_TEXT(agent_id)
AGENTD_VIEW_TEXT(agent_type)
AGENTD_VIEW_TEXT(prompt)
}
;

AGENTD_VIEW_BEGIN(agent_error_view, agentd_agent_error)
AGENTD_VIEW_TEXT(code)
AGENTD_VIEW_TEXT(message)
AGENTD_VIEW_TEXT(phase)
[[nodiscard]] constexpr bool retryable() const noexcept { return member(&self::retryable) != 0; }
}
;

AGENTD_VIEW_BEGIN(notification_view, agentd_notification)
AGENTD_VIEW_VALUE(level)
AGENTD_VIEW_TEXT(text)
}
;

AGENTD_VIEW_BEGIN(create_info_view, agentd_create_info)
AGENTD_VIEW_VALUE(isolation)
AGENTD_VIEW_TEXT(config_json)
AGENTD_VIEW_TEXT(state)
AGENTD_VIEW_TEXT(previous_version)
}
;

// ---- results of services

AGENTD_VIEW_BEGIN(compact_result_view, agentd_compact_result)
AGENTD_VIEW_VALUE(outcome)
AGENTD_VIEW_VALUE(method)
AGENTD_VIEW_TEXT(summary)
AGENTD_VIEW_VALUE(pre_tokens)
AGENTD_VIEW_VALUE(post_tokens)
AGENTD_VIEW_VALUE(kept_first)
AGENTD_VIEW_VALUE(kept_last)
AGENTD_VIEW_VALUE(base_revision)
AGENTD_VIEW_RECORD(usage, usage_view)
}
;

AGENTD_VIEW_BEGIN(reply_view, agentd_reply)
AGENTD_VIEW_VALUE(stop_reason)
AGENTD_VIEW_TEXT(text)
AGENTD_VIEW_LIST(blocks, block_list)
AGENTD_VIEW_RECORD(usage, usage_view)
}
;

AGENTD_VIEW_BEGIN(kv_view, agentd_kv)
AGENTD_VIEW_TEXT(key)
AGENTD_VIEW_TEXT(value)
AGENTD_VIEW_VALUE(version)
}
;
using kv_list = list_view<kv_view, agentd_kv>;

AGENTD_VIEW_BEGIN(conv_info_view, agentd_conv_info)
AGENTD_VIEW_VALUE(flags)
AGENTD_VIEW_TEXT(conversation_id)
AGENTD_VIEW_TEXT(title)
AGENTD_VIEW_TEXT(project_id)
AGENTD_VIEW_TEXT(provider)
AGENTD_VIEW_TEXT(model)
AGENTD_VIEW_VALUE(created_ms)
AGENTD_VIEW_VALUE(updated_ms)
AGENTD_VIEW_VALUE(revision)
}
;
using conv_info_list = list_view<conv_info_view, agentd_conv_info>;

// clang-format on
#undef AGENTD_VIEW_BEGIN
#undef AGENTD_VIEW_TEXT
#undef AGENTD_VIEW_VALUE
#undef AGENTD_VIEW_LIST
#undef AGENTD_VIEW_RECORD
#undef AGENTD_VIEW_BIT

// The view of a payload record: view_of<agentd_turn> is turn_view; record_view for a record without a view of its own.
template <typename Record>
struct view_of_record {
  using type = record_view<Record>;
};
#define AGENTD_VIEW_OF(record, view) \
  template <>                        \
  struct view_of_record<record> {    \
    using type = view;               \
  };
AGENTD_VIEW_OF(agentd_session_start, session_start_view)
AGENTD_VIEW_OF(agentd_session_end, session_end_view)
AGENTD_VIEW_OF(agentd_user_message, user_message_view)
AGENTD_VIEW_OF(agentd_turn, turn_view)
AGENTD_VIEW_OF(agentd_model_call, model_call_view)
AGENTD_VIEW_OF(agentd_model_delta, model_delta_view)
AGENTD_VIEW_OF(agentd_model_response, model_response_view)
AGENTD_VIEW_OF(agentd_tool_call, tool_view)
AGENTD_VIEW_OF(agentd_agent_stop, stop_view)
AGENTD_VIEW_OF(agentd_context_threshold, threshold_view)
AGENTD_VIEW_OF(agentd_before_compaction, before_compaction_view)
AGENTD_VIEW_OF(agentd_after_compaction, after_compaction_view)
AGENTD_VIEW_OF(agentd_clear, clear_view)
AGENTD_VIEW_OF(agentd_subagent, subagent_view)
AGENTD_VIEW_OF(agentd_agent_error, agent_error_view)
AGENTD_VIEW_OF(agentd_notification, notification_view)
#undef AGENTD_VIEW_OF

template <typename Record>
using view_of = typename view_of_record<Record>::type;

#define AGENTD_EVENT_VIEW(NAME, name, id, payload) static_assert(sizeof(view_of<payload>) == sizeof(void*));
AGENTD_EVENT_LIST(AGENTD_EVENT_VIEW)
#undef AGENTD_EVENT_VIEW

}  // namespace agentd

#endif  // C++20
