// SPDX-License-Identifier: Apache-2.0
#pragma once
// definitions.h - the list of a server's tools, read and named.
//
// Threading: pure functions, but for the connection.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "providers/mcp/connection.h"
#include "providers/mcp/server_parts.h"

namespace agentd::mcp {

struct Listing {
  std::vector<Definition> tools;
  std::vector<std::string> faults{};        // of tools that were left out: sentences without the server
  std::size_t nameless = 0;                 // entries that are no tools, since they have no name
  std::optional<Milliseconds> fresh_for{};  // from 2026-07-28 on: how long it needs no further look
};

// All pages of tools/list: at most 1,000 tools on 100 pages. Names are unique, and a tool that cannot be one is left
// out.
Result<Listing, Failure> list_tools(Connection& connection, const CancelToken& cancel, Deadline deadline);

// A member of a tool's input that requests over HTTP repeat as a field (x-mcp-header).
struct ParamField {
  std::vector<std::string> path;
  std::string field;
};
// kInvalid, a sentence without its subject: the schema marks what cannot be a field.
Result<std::vector<ParamField>> param_fields(JsonView schema);
// The fields of a call. `arguments` is an object.
Fields fields_of(const std::vector<ParamField>& params, JsonView arguments);
// A text as the value of a field of HTTP: as it is, or in base64 with marks.
std::string field_value(std::string_view text);

// The names by which the model knows the tools of a server, in their order; empty: another tool has that name.
// `agreed`: whose names do not depend on those of the others.
std::vector<std::string> names_of(const std::string& server, const std::vector<Definition>& tools,
                                  const std::vector<bool>& agreed);

// The server's own name of a tool, for a sentence.
std::string quoted_tool_name(std::string_view name);

// AGENTD_TOOL_ of annotations. `trusted`: they are believed; else each tool may do everything.
std::uint32_t flags_of(const std::string& annotations_json, bool trusted);

}  // namespace agentd::mcp
