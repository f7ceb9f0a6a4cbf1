// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/server_parts.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"
#include "core/codec/json.h"

namespace agentd::mcp {
namespace {

// JSON with the members of each object in the order of their names.
void write_sorted(JsonWriter& out, JsonView value) {
  if (value.is_array()) {
    out.begin_array();
    for (std::size_t i = 0; i < value.size(); ++i) write_sorted(out, value.at(i));
    out.end_array();
    return;
  }
  if (!value.is_object()) {
    out.value(value);
    return;
  }
  std::vector<std::pair<std::string_view, JsonView>> members;
  for (std::size_t i = 0; i < value.size(); ++i) members.emplace_back(value.key_at(i), value.at(i));
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  out.begin_object();
  for (const auto& [name, member] : members) write_sorted(out.key(name), member);
  out.end_object();
}

void add_json(JsonWriter& out, std::string_view name, const std::string& json) {
  out.key(name);
  const auto document = JsonDocument::parse(json);
  if (document)
    write_sorted(out, document->root());
  else
    out.string(json);
}

}  // namespace

std::string Definition::digest() const {
  JsonWriter out;
  out.begin_object().member("name", name).member("title", title).member("description", description);
  add_json(out, "inputSchema", input_schema_json);
  add_json(out, "outputSchema", output_schema_json);
  add_json(out, "annotations", annotations_json);
  out.end_object();
  return hex(sha256(out.text()));
}

std::string_view name_of(ServerState state) {
  switch (state) {
    case ServerState::kNotStarted:
      return "not started";
    case ServerState::kStarting:
      return "starting";
    case ServerState::kReady:
      return "ready";
    case ServerState::kFailed:
      return "failed";
  }
  return "";
}

}  // namespace agentd::mcp
