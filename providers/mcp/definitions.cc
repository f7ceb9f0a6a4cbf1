// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/definitions.h"

#include <agentd/ext/tools.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "core/base/hash.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kToolsMax = 1'000, kPagesMax = 100;
constexpr std::size_t kToolNameMax = 256;       // of the server's own, bytes
constexpr std::size_t kTextMax = 64u << 10;     // a description
constexpr std::size_t kSchemaMax = 256u << 10;  // bytes
constexpr std::size_t kModelNameMax = 64;       // what all vendors take
constexpr std::size_t kDigits = 8;
constexpr Milliseconds kFreshMax{86'400'000};

// The fault of a tool, as the rest of a sentence that begins with it; empty = it can be one.
std::string wrong_tool(JsonView tool) {
  const std::string_view name = tool["name"].string_or("");
  if (name.size() > kToolNameMax) return "has a name that is too long";
  if (has_control_character(name)) return "has a name with a control character";
  const JsonView schema = tool["inputSchema"];
  if (!schema.is_object() || schema["type"].string_or("") != "object") return "has an input that is no object";
  if (schema["properties"].exists() && !schema["properties"].is_object())
    return "has an input whose properties are no object";
  if (tool["description"].string_or("").size() > kTextMax) return "has a description of more than 64 KiB";
  if (schema.text().size() > kSchemaMax) return "has a schema of more than 256 KiB";
  if (const auto fields = param_fields(schema); !fields) return fields.error().message;
  return {};
}

std::string json_or_none(JsonView value) { return value.is_object() ? value.text() : std::string(); }

void take_tool(Listing& out, std::set<std::string>& names, JsonView tool) {
  const std::string name(tool["name"].string_or(""));
  if (name.empty()) {
    ++out.nameless;
    return;
  }
  std::string fault = wrong_tool(tool);
  if (fault.empty() && !names.insert(name).second) fault = "is listed twice";
  if (!fault.empty()) {
    out.faults.push_back("the tool " + quoted_tool_name(name) + " is left out: it " + fault);
    return;
  }
  out.tools.push_back({name, std::string(tool["title"].string_or("")), std::string(tool["description"].string_or("")),
                       tool["inputSchema"].text(), json_or_none(tool["outputSchema"]),
                       json_or_none(tool["annotations"])});
}

bool fits(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string quoted_tool_name(std::string_view name) { return "'" + one_line(name, 80) + "'"; }

Result<Listing, Failure> list_tools(Connection& connection, const CancelToken& cancel, Deadline deadline) {
  Listing out;
  std::set<std::string> names, cursors;
  std::string cursor;
  for (std::size_t page = 0;; ++page) {
    if (page == kPagesMax) return Failure{Failure::Kind::kLost, "lists tools on more than 100 pages"};
    const Request request{"tools/list", [&](JsonWriter& params) { params.optional("cursor", cursor); }};
    auto answer = connection.ask(request, {cancel, deadline});
    if (!answer) return answer.error();
    const JsonView result = (*answer)->root()["result"], tools = result["tools"];
    if (!tools.is_array()) return Failure{Failure::Kind::kLost, "answered tools/list without a list of tools"};
    for (std::size_t i = 0; i < tools.size(); ++i) take_tool(out, names, tools.at(i));
    if (out.tools.size() + out.faults.size() + out.nameless > kToolsMax)
      return Failure{Failure::Kind::kLost, "lists more than 1,000 tools"};
    if (const JsonView fresh = result["ttlMs"]; fresh.is_number()) {
      const Milliseconds time(std::clamp<std::int64_t>(fresh.int_or(0), 0, kFreshMax.count()));
      out.fresh_for = out.fresh_for ? std::min(*out.fresh_for, time) : time;
    }
    cursor = std::string(result["nextCursor"].string_or(""));
    if (cursor.empty()) return out;
    if (!cursors.insert(cursor).second)
      return Failure{Failure::Kind::kLost, "lists its tools in a circle: a page names one that was read"};
  }
}

std::vector<std::string> names_of(const std::string& server, const std::vector<Definition>& tools,
                                  const std::vector<bool>& agreed) {
  const std::string prefix = "mcp__" + server + "__";
  const std::size_t room = kModelNameMax - prefix.size();
  std::map<std::string, std::size_t> takers;  // of a plain name, among the tools that are agreed to
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    std::string name = tools[i].name;
    for (char& c : name)
      if (!fits(c)) c = '_';
    if (agreed[i]) ++takers[name];
    plain.push_back(std::move(name));
  }
  std::set<std::string> taken;
  std::vector<std::string> out(tools.size());
  const auto name_one = [&](std::size_t i) {
    const bool own = plain[i] == tools[i].name;
    const bool alone = agreed[i] ? takers[plain[i]] == 1 : takers[plain[i]] == 0 && !taken.contains(plain[i]);
    std::string name = plain[i];
    if (name.size() > room || !(own || alone))
      name = name.substr(0, room - kDigits - 1) + "_" + hex(sha256(tools[i].name)).substr(0, kDigits);
    if (taken.insert(name).second) out[i] = prefix + name;
  };
  // Tools that have the name without a change come first, then the others; tools that are not agreed to are last.
  for (const bool yes : {true, false})
    for (const bool own : {true, false})
      for (std::size_t i = 0; i < tools.size(); ++i)
        if (agreed[i] == yes && (plain[i] == tools[i].name) == own) name_one(i);
  return out;
}

std::uint32_t flags_of(const std::string& annotations_json, bool trusted) {
  const auto document = JsonDocument::parse(trusted && !annotations_json.empty() ? annotations_json : "{}");
  const JsonView said = document ? document->root() : JsonView();
  const auto is = [&](std::string_view hint, bool otherwise) { return said[hint].bool_or(otherwise); };
  std::uint32_t out = 0;
  const bool reads = is("readOnlyHint", false);
  if (reads) out |= AGENTD_TOOL_READ_ONLY;
  if (reads || is("idempotentHint", false)) out |= AGENTD_TOOL_IDEMPOTENT;
  if (!reads && is("destructiveHint", true)) out |= AGENTD_TOOL_DESTRUCTIVE;
  if (is("openWorldHint", true)) out |= AGENTD_TOOL_OPEN_WORLD;
  return out;
}

}  // namespace agentd::mcp
