// SPDX-License-Identifier: Apache-2.0
#include "providers/common/wire.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <map>
#include <set>
#include <unordered_set>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kNameMax = 64;
constexpr std::size_t kOwnIdDigits = 32;
constexpr std::array<std::string_view, 5> kNotAtTheTop{"oneOf", "anyOf", "allOf", "enum", "not"};

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }
bool begins_a_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_taken_by_all(JsonView schema, SchemaForm form) {
  return schema["type"].string_or("") == "object" &&
         (form == SchemaForm::kObject || schema["properties"].is_object()) &&
         std::none_of(kNotAtTheTop.begin(), kNotAtTheTop.end(),
                      [&](std::string_view word) { return schema[word].exists(); });
}

std::string made_acceptable(JsonView schema, SchemaForm form) {
  JsonWriter out;
  out.begin_object().member("type", "object");
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const std::string_view key = schema.key_at(i);
    const bool own = key == "type" || (key == "properties" && !schema.at(i).is_object()) ||
                     std::find(kNotAtTheTop.begin(), kNotAtTheTop.end(), key) != kNotAtTheTop.end();
    if (!own) out.key(key).value(schema.at(i));
  }
  if (form == SchemaForm::kProperties && !schema["properties"].is_object())
    out.key("properties").begin_object().end_object();
  out.end_object();
  return std::string(out.text());
}

bool is_known_media(const agentd_block& block) {
  const std::string_view type = view_of(block.name);
  if (block.kind == AGENTD_BLOCK_DOCUMENT) return type == "application/pdf";
  return type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp";
}

}  // namespace

bool is_text(const agentd_block& block) { return block.kind == AGENTD_BLOCK_TEXT && !is_blank(full_text(block)); }
bool is_media(const agentd_block& block) {
  return (block.kind == AGENTD_BLOCK_IMAGE || block.kind == AGENTD_BLOCK_DOCUMENT) && block.opaque.len != 0 &&
         is_known_media(block);
}
bool is_call(const agentd_block& block) { return block.kind == AGENTD_BLOCK_TOOL_USE; }
bool is_result(const agentd_block& block) { return block.kind == AGENTD_BLOCK_TOOL_RESULT; }

bool is_said(const agentd_message& row, const agentd_block& block) {
  const bool assistant = row.role == AGENTD_ROLE_ASSISTANT;
  return is_text(block) || (assistant ? is_call(block) : is_result(block) || is_media(block));
}

Result<std::string> wire_schema(const ToolSpec& tool, SchemaForm form) {
  if (tool.input_schema_json.empty()) return made_acceptable({}, form);
  const auto schema = JsonDocument::parse(tool.input_schema_json);
  if (!schema || !schema->root().is_object())
    return Error{Code::kInvalid, "the input schema of tool '" + one_line(tool.name, 80) + "' from " +
                                     one_line(tool.origin, 80) + " is not a JSON object"};
  return is_taken_by_all(schema->root(), form) ? tool.input_schema_json : made_acceptable(schema->root(), form);
}

std::string wire_name(std::string_view name) {
  std::string out(name.substr(0, kNameMax));
  if (out.empty()) return "unnamed";
  for (char& c : out)
    if (!is_name_character(c)) c = '_';
  if (!begins_a_name(out[0])) out = "_" + out.substr(0, kNameMax - 1);
  return out;
}

std::string wire_call_id(std::string_view id, std::size_t most) {
  if (!id.empty() && id.size() <= most && std::all_of(id.begin(), id.end(), is_name_character)) return std::string(id);
  return "call_" + hex(sha256(id)).substr(0, kOwnIdDigits);
}

bool CallIds::all_fit(std::span<const agentd_message> rows, const Form& form) const {
  std::unordered_set<std::string_view> calls;
  for (const agentd_message& row : rows)
    for (const agentd_block& block : block_span(row)) {
      const std::string_view id = view_of(block.call_id);
      if (is_call(block) && (form(id) != id || !calls.insert(id).second)) return false;
      if (is_result(block) && !calls.contains(id) && form(id) != id) return false;
    }
  return true;
}

CallIds::CallIds(std::span<const agentd_message> rows, const Form& form) {
  if (all_fit(rows, form)) return;
  std::set<std::string> taken;
  std::map<std::string, std::deque<std::string>, std::less<>> open;  // by the row's id, in order
  for (const agentd_message& row : rows)
    for (const agentd_block& block : block_span(row)) {
      const std::string id(view_of(block.call_id));
      if (is_call(block)) {
        std::string own = form(id);
        for (int i = 2; !taken.insert(own).second; ++i) own = form(id + "_" + std::to_string(i));
        open[id].push_back(own);
        ids_.emplace(&block, std::move(own));
      } else if (is_result(block)) {
        std::deque<std::string>& calls = open[id];
        ids_.emplace(&block, calls.empty() ? form(id) : calls.front());
        if (!calls.empty()) calls.pop_front();
      }
    }
}

std::string_view CallIds::of(const agentd_block& block) const {
  if (ids_.empty()) return view_of(block.call_id);
  const auto found = ids_.find(&block);
  AGENTD_ASSERT(found != ids_.end());
  return found->second;
}

std::string data_url(const agentd_block& media) {
  return "data:" + std::string(view_of(media.name)) + ";base64," + std::string(view_of(media.opaque));
}

std::string_view title_of(const agentd_block& document) {
  const std::string_view title = full_text(document);
  return title.empty() ? std::string_view("document") : title;
}

std::span<const agentd_block> block_span(const agentd_message& row) {
  return {static_cast<const agentd_block*>(row.blocks.first), row.blocks.count};
}

std::span<const agentd_block> part_span(const agentd_block& block) {
  return {static_cast<const agentd_block*>(block.parts.first), block.parts.count};
}

std::vector<WireGroup> group_rows(std::span<const agentd_message> rows, const WireFilter& sendable) {
  std::vector<WireGroup> groups;
  for (const agentd_message& row : rows) {
    const auto blocks = block_span(row);
    const auto says = [&](const agentd_block& block) { return sendable(row, block); };
    if (std::none_of(blocks.begin(), blocks.end(), says)) continue;
    const bool assistant = row.role == AGENTD_ROLE_ASSISTANT;
    if (groups.empty() || groups.back().assistant != assistant) groups.push_back({assistant, {}});
    groups.back().rows.push_back(&row);
  }
  return groups;
}

}  // namespace agentd
