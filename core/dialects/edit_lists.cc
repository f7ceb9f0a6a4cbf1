// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/edit_lists.h"

#include <array>
#include <utility>

#include "core/dialects/tool_names.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

constexpr std::string_view kTool = "edit_file";
constexpr std::array<std::string_view, 3> kView{"old_string", "new_string", "replace_all"};

// The dialect has lists of edits itself.
bool knows_lists(Dialect dialect) {
  for (const ToolRow& row : tools_of(dialect))
    if (row.canonical == kTool) return row.edit_list;
  return true;  // agentd's own names, or no such tool
}

bool any_replaces_all(JsonView edits) {
  for (std::size_t i = 0; i < edits.size(); ++i)
    if (edits.at(i)["replace_all"].bool_or(false)) return true;
  return false;
}

// The input with its view.
std::string with_view(JsonView payload) {
  const JsonView input = tool_input_of(payload);
  JsonWriter out;
  out.begin_object();
  for (std::size_t i = 0; i < input.size(); ++i) out.key(input.key_at(i)).value(input.at(i));
  for (const std::string_view key : {kView[0], kView[1]}) out.member(key, joined_edits(payload, key));
  out.member(kView[2], any_replaces_all(input["edits"])).end_object();
  return std::string(out.text());
}

bool is_as_shown(JsonView payload, std::string_view key, JsonView value) {
  if (key == kView[2])
    return value.is_bool() && value.bool_or(false) == any_replaces_all(tool_input_of(payload)["edits"]);
  return value.is_string() && value.string_or("") == joined_edits(payload, key);
}

}  // namespace

std::string joined_edits(JsonView payload, std::string_view key) {
  const JsonView edits = tool_input_of(payload)["edits"];
  std::string out;
  for (std::size_t i = 0; i < edits.size(); ++i) (out += i == 0 ? "" : "\n") += edits.at(i)[key].string_or("");
  return out;
}

std::string shown_input(Dialect dialect, JsonView payload, std::string_view cwd) {
  const std::string_view tool = tool_of(payload);
  if (!has_edit_list(payload) || knows_lists(dialect)) return foreign_input(dialect, tool, tool_input_of(payload), cwd);
  const auto viewed = JsonDocument::parse(with_view(payload));
  return foreign_input(dialect, tool, viewed ? viewed->root() : tool_input_of(payload), cwd);
}

Result<std::string> without_view(JsonView payload, std::string rewritten) {
  if (!has_edit_list(payload)) return rewritten;
  const auto parsed = JsonDocument::parse(rewritten);
  if (!parsed || !parsed->root().is_object()) return rewritten;
  const JsonView input = parsed->root();
  // One edit in place of the list is a whole input, unless it is that of the view, whose texts stand in no file.
  const bool keeps_list = input["edits"].exists() && !input["edits"].is_null();
  const bool is_one_edit = tool_input_of(payload)["edits"].size() == 1;
  JsonWriter out;
  out.begin_object();
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::string_view key = input.key_at(i);
    const bool in_view = key == kView[0] || key == kView[1] || key == kView[2];
    const bool shown = in_view && is_as_shown(payload, key, input.at(i));
    if (in_view && keeps_list && (shown || input.at(i).is_null())) continue;
    if ((in_view && keeps_list) || (shown && key != kView[2] && !is_one_edit))
      return Error{Code::kInvalid, "it rewrites a list of edits by '" + std::string(key) +
                                       "', which shows the texts of all of them: it must change them in 'edits'"};
    if (key != "edits" || keeps_list) out.key(key).value(input.at(i));
  }
  out.end_object();
  return std::string(out.text());
}

}  // namespace agentd
