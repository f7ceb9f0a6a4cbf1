// SPDX-License-Identifier: Apache-2.0
#include "plugins/audit_log/line.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace audit_log {
namespace {

using agentd::JsonView;
using agentd::JsonWriter;

constexpr std::size_t kIdBytes = 256;  // longer than any real id or path

// Members that identify and never quote.
constexpr std::string_view kIds[] = {
    "id",          "event",      "conv_id",  "session_id",  "turn_id",       "cwd",
    "project_id",  "invoked_by", "type",     "recipe_name", "provider",      "model",
    "source",      "name",       "call_id",  "origin",      "stop_reason",   "trigger",
    "phase",       "strategy",   "method",   "result",      "outcome",       "code",
    "level",       "reason",     "agent_id", "agent_type",  "checkpoint_id", "boundary_id",
    "new_conv_id", "decision",   "run_id",   "event_id",    "subtype",       "new_conversation_id"};
// Objects and lists that contain such members and numbers.
constexpr std::string_view kContainers[] = {
    "agent",      "context",    "hook", "usage",   "usage_before", "usage_spent",      "tool",      "output",
    "tool_calls", "summarized", "kept", "request", "range",        "summarized_range", "kept_range"};

template <std::size_t N>
bool holds(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

class LineWriter {
 public:
  LineWriter(bool bodies, std::size_t text_max) : bodies_(bodies), text_max_(text_max) {}

  std::string write(JsonView root, std::string_view time, bool shortened) {
    out_.begin_object().member("time", time);
    members(root);
    if (shortened) out_.member("shortened", true);
    out_.end_object();
    return std::string(out_.text());
  }

 private:
  void members(JsonView object) {
    for (std::size_t i = 0; i < object.size(); ++i) {
      const std::string_view name = object.key_at(i);
      out_.key(name);
      value(name, object[name]);
    }
  }

  void value(std::string_view name, JsonView from) {
    if (from.is_string()) {
      text(name, from.string_or(""));
    } else if (from.is_object() && (bodies_ || holds(kContainers, name))) {
      out_.begin_object();
      members(from);
      out_.end_object();
    } else if (from.is_array() && (bodies_ || holds(kContainers, name))) {
      out_.begin_array();
      for (std::size_t i = 0; i < from.size(); ++i) value(name, from.at(i));
      out_.end_array();
    } else if (from.is_object() || from.is_array()) {
      size(from.text().size());
    } else {
      out_.value(from);
    }
  }

  void text(std::string_view name, std::string_view from) {
    const std::size_t most = std::min(text_max_, bodies_ ? text_max_ : kIdBytes);
    if (!bodies_ && !holds(kIds, name) && !from.empty()) {
      size(from.size());
    } else if (from.size() <= most) {
      out_.string(from);
    } else {
      const std::string_view kept = agentd::utf8_prefix(from, most);
      out_.string(std::string(kept) + "[... " + std::to_string(from.size() - kept.size()) + " bytes left out]");
    }
  }

  void size(std::size_t bytes) { out_.begin_object().member("bytes", static_cast<std::uint64_t>(bytes)).end_object(); }

  const bool bodies_;
  const std::size_t text_max_;
  JsonWriter out_;
};

// Short enough in any case: when, what and where.
std::string shortest_line(JsonView root, std::string_view time, std::size_t payload_bytes) {
  JsonWriter out;
  out.begin_object().member("time", time);
  for (const char* name : {"id", "event", "conv_id", "session_id"})
    out.member(name, agentd::utf8_prefix(root[name].string_or(""), 64));
  out.key("left_out").begin_object();
  out.member("bytes", static_cast<std::uint64_t>(payload_bytes)).end_object();
  out.member("shortened", true).end_object();
  return std::string(out.text());
}

}  // namespace

std::string make_line(std::string_view payload, std::string_view time, const LineOptions& options) {
  const auto parsed = agentd::JsonDocument::parse(payload);
  if (!parsed || !parsed->root().is_object()) return {};
  const JsonView root = parsed->root();
  if (options.bodies) {
    for (std::size_t text_max = options.max_bytes; text_max >= 32; text_max /= 4) {
      std::string line = LineWriter(true, text_max).write(root, time, text_max != options.max_bytes);
      if (line.size() <= options.max_bytes) return line;
    }
  }
  std::string line = LineWriter(false, kIdBytes).write(root, time, options.bodies);
  return line.size() <= options.max_bytes ? line : shortest_line(root, time, payload.size());
}

std::string utc_time(long long wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t bytes = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const int more = std::snprintf(text + bytes, sizeof text - bytes, ".%03dZ", static_cast<int>(wall_ms % 1000));
  return std::string(text, bytes + static_cast<std::size_t>(more));
}

}  // namespace audit_log
