// SPDX-License-Identifier: Apache-2.0
#include "core/acp/tool_calls.h"

#include <algorithm>
#include <iterator>

#include "core/base/bytes.h"
#include "core/base/markdown.h"
#include "core/base/neutral.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kTitleBytes = 200;
constexpr std::size_t kTextBytesMax = 100'000;  // of a result that is shown

// The bundled tools. `subject`: the member of the input that the title is about.
struct Shape {
  std::string_view tool, kind, verb, subject;
  bool is_text = false;  // its result is Markdown
};
constexpr Shape kShapes[] = {
    {"bash", "execute", "", "command"},
    {"bash_output", "execute", "Output of command", "id"},
    {"kill_shell", "execute", "End command", "id"},
    {"read_file", "read", "Read", "path"},
    {"write_file", "edit", "Write", "path"},
    {"edit_file", "edit", "Edit", "path"},
    {"glob", "search", "Find", "pattern"},
    {"grep", "search", "Search", "pattern"},
    {"todo_write", "think", "Plan", ""},
    {"web_fetch", "fetch", "Fetch", "url"},
    {"task", "think", "Task", "description", true},
};
constexpr Shape kOther{"", "other", "", ""};

const Shape& shape_of(std::string_view tool) {
  const auto* const found =
      std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& each) { return each.tool == tool; });
  return found == std::end(kShapes) ? kOther : *found;
}

std::string text_of(JsonView value) {
  return value.is_string() ? std::string(value.string_or("")) : std::string(value.exists() ? value.text() : "");
}

std::string title_of(const Shape& shape, std::string_view tool, JsonView input, const CallPlace& place) {
  std::string out(shape.verb.empty() && shape.subject.empty() ? tool : shape.verb);
  if (const std::string subject = shape.subject.empty() ? "" : text_of(input[shape.subject]); !subject.empty())
    out += (out.empty() ? "" : " ") + subject;
  if (out.empty()) out = std::string(tool);
  if (!place.within.empty()) out = std::string(place.within) + ": " + out;
  return neutral_line(visible(out), kTitleBytes);
}

std::string absolute(std::string_view path, std::string_view start) {
  if (path.starts_with('/') || start.empty()) return std::string(path);
  return std::string(start) + "/" + std::string(path);
}

void write_text(JsonWriter& out, std::string_view text) {
  out.begin_object().member("type", "content").key("content").begin_object();
  out.member("type", "text").member("text", text).end_object().end_object();
}

void write_diff(JsonWriter& out, const std::string& path, JsonView before, JsonView after) {
  out.begin_object().member("type", "diff").member("path", path);
  if (before.is_string()) out.member("oldText", before.string_or(""));
  out.member("newText", after.string_or("")).end_object();
}

// The texts that a call changes.
void write_changes(JsonWriter& out, std::string_view tool, JsonView input, const CallPlace& place) {
  const std::string path = absolute(input["path"].string_or(""), place.start);
  if (tool == "write_file" && input["content"].is_string()) write_diff(out, path, {}, input["content"]);
  if (tool != "edit_file") return;
  if (input["new_string"].is_string()) write_diff(out, path, input["old_string"], input["new_string"]);
  const JsonView edits = input["edits"];
  for (std::size_t i = 0; i < edits.size(); ++i)
    write_diff(out, path, edits.at(i)["old_string"], edits.at(i)["new_string"]);
}

// The subject of a decision: the text of a command, else the input as it is.
std::string whole_input(std::string_view tool, JsonView input) {
  if (tool == "bash" && input["command"].is_string()) return fenced(visible(input["command"].string_or("")), "sh");
  return fenced(visible(input.text()), "json");
}

// Everything but what may be shown for a person's decision.
void write_head(JsonWriter& out, std::string_view tool, JsonView input, const CallPlace& place) {
  const Shape& shape = shape_of(tool);
  out.member("kind", shape.kind)
      .member("title", title_of(shape, tool, input, place))
      .member("name", neutral_line(tool, kTitleBytes));
  const std::string_view path = input["path"].string_or("");
  if (path.empty()) return;
  out.key("locations").begin_array().begin_object().member("path", absolute(path, place.start));
  if (const std::uint64_t line = input["offset"].uint_or(0); tool == "read_file" && line != 0)
    out.member("line", std::min<std::uint64_t>(line, 0xFFFFFFFFu));
  out.end_object().end_array();
}

}  // namespace

void write_call(JsonWriter& out, std::string_view tool, std::string_view input, const CallPlace& place) {
  const auto parsed = JsonDocument::parse(input);
  const JsonView root = parsed ? parsed->root() : JsonView();
  write_head(out, tool, root, place);
  out.key("content").begin_array();
  write_changes(out, tool, root, place);
  out.end_array();
  if (parsed) out.key("rawInput").raw(input);
}

void write_question(JsonWriter& out, std::string_view tool, std::string_view input, const CallPlace& place,
                    std::string_view reason) {
  const auto parsed = JsonDocument::parse(input);
  const JsonView root = parsed ? parsed->root() : JsonView();
  write_head(out, tool, root, place);
  out.key("content").begin_array();
  if (!reason.empty()) write_text(out, reason);
  write_changes(out, tool, root, place);
  write_text(out, whole_input(tool, root));
  out.end_array();
  if (parsed) out.key("rawInput").raw(input);
}

void write_result(JsonWriter& out, std::string_view tool, std::string_view input, const CallPlace& place,
                  std::string_view text) {
  const auto parsed = JsonDocument::parse(input);
  out.key("content").begin_array();
  if (parsed) write_changes(out, tool, parsed->root(), place);
  const std::string_view shown = utf8_prefix(text, kTextBytesMax);
  std::string whole = neutral(shown);
  if (shown.size() < text.size()) whole += "\n[... " + with_commas(text.size()) + " bytes in total]";
  if (!whole.empty()) write_text(out, shape_of(tool).is_text ? whole : fenced(whole, ""));
  out.end_array();
}

void write_terminal(JsonWriter& out, std::string_view terminal) {
  out.key("content").begin_array().begin_object().member("type", "terminal");
  out.member("terminalId", terminal).end_object().end_array();
}

}  // namespace agentd::acp
