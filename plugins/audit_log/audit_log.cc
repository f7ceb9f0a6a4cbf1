// SPDX-License-Identifier: Apache-2.0
// audit_log: appends one JSON line per event to a file.
//
// config:
//   path       the file; absolute or ~/...; default $AGENTD_HOME/audit.jsonl or ~/.agent/audit.jsonl
//   events     which events; default all but model_delta, whose text is complete in after_model_call
//   bodies     true: texts and tool inputs too; default false, see line.h
//   max_bytes  of one line, 1,024 to 1,048,576; default 16,384
// It only observes and never fails a run: if a line cannot be written, the log says so once, and once more when writing
// works again.

#define AGENTD_TARGET_MINOR 1u  // record refused calls too

#include <agentd/hook.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/codec/json.h"
#include "plugins/audit_log/line.h"
#include "plugins/audit_log/sink.h"

namespace audit_log {
namespace {

using agentd::JsonView;

constexpr std::uint64_t kLineBytesMin = 1'024;
constexpr std::uint64_t kLineBytesMax = 1'048'576;
constexpr std::string_view kKeys = "path, events, bodies, max_bytes";

constexpr std::uint64_t bit(std::uint32_t event) { return std::uint64_t{1} << event; }
constexpr std::uint64_t kAllEvents =
#define AGENTD_EVENT_BIT(NAME, name, id, payload) bit(id) |
    AGENTD_EVENT_LIST(AGENTD_EVENT_BIT) 0;
#undef AGENTD_EVENT_BIT

struct Settings {
  std::string path;
  std::uint64_t events = kAllEvents & ~bit(AGENTD_EVENT_MODEL_DELTA);
  LineOptions line;
};

using Wrong = std::optional<std::string>;  // the message for the user

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Wrong read_path(JsonView value, Settings& out) {
  const std::string text(value.string_or(""));
  const std::string home = environment("HOME");
  if (text.starts_with("~/") && !home.empty()) {
    out.path = home + text.substr(1);
    return std::nullopt;
  }
  if (!text.starts_with('/') || text.ends_with('/'))
    return "path must be a file with an absolute path, or one that begins with ~/, not " + value.text();
  out.path = text;
  return std::nullopt;
}

std::uint64_t event_bit(std::string_view wanted) {
#define AGENTD_EVENT_NAME(NAME, name, id, payload) \
  if (wanted == #name) return bit(id);
  AGENTD_EVENT_LIST(AGENTD_EVENT_NAME)
#undef AGENTD_EVENT_NAME
  return 0;
}

Wrong read_events(JsonView value, Settings& out) {
  if (!value.is_array() || value.size() == 0) return "events must be a list of event names, not " + value.text();
  out.events = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::uint64_t one = event_bit(value.at(i).string_or(""));
    if (one == 0) return "events: " + value.at(i).text() + " is not the name of an event";
    out.events |= one;
  }
  return std::nullopt;
}

Wrong read_setting(std::string_view key, JsonView value, Settings& out) {
  if (key == "path") return read_path(value, out);
  if (key == "events") return read_events(value, out);
  if (key == "bodies") {
    if (!value.is_bool()) return "bodies must be true or false, not " + value.text();
    out.line.bodies = value.bool_or(false);
    return std::nullopt;
  }
  if (key == "max_bytes") {
    const std::uint64_t bytes = value.uint_or(0);
    if (bytes < kLineBytesMin || bytes > kLineBytesMax)
      return "max_bytes must be a whole number from 1024 to 1048576, not " + value.text();
    out.line.max_bytes = static_cast<std::size_t>(bytes);
    return std::nullopt;
  }
  return "unknown key " + std::string(key) + ": the keys are " + std::string(kKeys);
}

Wrong default_path(Settings& out) {
  const std::string agentd_home = environment("AGENTD_HOME");
  const std::string home = environment("HOME");
  if (agentd_home.starts_with('/')) {
    out.path = agentd_home + "/audit.jsonl";
  } else if (home.starts_with('/')) {
    out.path = home + "/.agent/audit.jsonl";
  } else {
    return "HOME is not set, so the audit log has no place: set path";
  }
  return std::nullopt;
}

Wrong read_settings(std::string_view json, Settings& out) {
  const auto parsed = agentd::JsonDocument::parse(json.empty() ? "{}" : json);
  if (!parsed) return "the config is not valid JSON: " + parsed.error().message;
  const JsonView root = parsed->root();
  if (!root.is_object() && !root.is_null()) return "the config must be an object with " + std::string(kKeys);
  for (std::size_t i = 0; root.is_object() && i < root.size(); ++i) {
    const std::string_view key = root.key_at(i);
    if (Wrong wrong = read_setting(key, root[key], out)) return wrong;
  }
  return out.path.empty() ? default_path(out) : std::nullopt;
}

long long wall_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

class AuditLog {
 public:
  static constexpr std::string_view hook_requires[] = {agentd::id::json};
  static constexpr unsigned hook_flags = AGENTD_HOOK_OBSERVES | AGENTD_HOOK_OPTIONAL;
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;

  explicit AuditLog(agentd::init& from) : AuditLog(from, Settings()) {}

#define AGENTD_EVENT_HANDLER(NAME, name, id, payload) \
  void on_##name(agentd::call& c) { note(c); }
  AGENTD_EVENT_LIST(AGENTD_EVENT_HANDLER)
#undef AGENTD_EVENT_HANDLER

 private:
  AuditLog(agentd::init& from, Settings settings)
      : settings_(configured(from, std::move(settings))), sink_(settings_.path) {}

  static Settings configured(agentd::init& from, Settings settings) {
    if (const Wrong wrong = read_settings(from.config_json(), settings)) from.refuse(*wrong);
    return settings;
  }

  void note(agentd::call& c) {
    if ((settings_.events & bit(static_cast<std::uint32_t>(c.event()))) == 0) return;
    const auto payload = c.json();
    if (!payload) {
      say_once(c, "the event has no JSON form: " + std::string(agentd::status_text(payload.status())));
      return;
    }
    std::string line = make_line(*payload, utc_time(wall_ms()), settings_.line);
    if (line.empty()) {
      say_once(c, "the event's JSON is not an object");
      return;
    }
    const auto wrote = sink_.append(std::move(line));
    if (!wrote) {
      say_once(c, wrote.error().message);
    } else if (broken_.exchange(false)) {
      c.log_info("the audit log is written again");
    }
  }

  void say_once(agentd::call& c, const std::string& what) {
    if (!broken_.exchange(true)) c.log_error("the audit log is missing events: " + what);
  }

  const Settings settings_;
  Sink sink_;
  std::atomic<bool> broken_{false};
};

}  // namespace
}  // namespace audit_log

using audit_log::AuditLog;
AGENTD_HOOK_MANIFEST(AuditLog, "agentd.audit_log", "1.0.0",
                     R"("license":"Apache-2.0","config_schema":{"type":"object","additionalProperties":false,)"
                     R"("properties":{"path":{"type":"string"},"events":{"type":"array","items":{"type":"string"}},)"
                     R"("bodies":{"type":"boolean","default":false},)"
                     R"("max_bytes":{"type":"integer","minimum":1024,"maximum":1048576,"default":16384}}})")
