// SPDX-License-Identifier: Apache-2.0
#pragma once
// resources.h - conversations and checkpoints as resources:
//
//   agentd://conversation/ID        as Markdown
//   agentd://conversation/ID/json   the messages as HTTP and `conversation show --format json` have them
//   agentd://checkpoint/ID          as JSON, with its texts
//
// They are the records of the log, from which secrets were taken when they were written (secrets.scrub).
//
// Threading: thread-safe, as the store.

#include <string>

#include "core/mcp/protocol.h"
#include "core/runtime/runtime.h"

namespace agentd::mcp {

// The conversation that an address names, or that has the checkpoint.
struct ResourcePlace {
  Ulid conversation;
  std::string checkpoint{};  // its id; empty: the conversation itself
};
// A resource that is there. `era`: one that is not has another code in each.
Result<ResourcePlace, Fault> find_resource(Runtime& runtime, Era era, std::string_view uri);

// The results of these methods, one object each. `project`: whose conversations are listed; empty = all.
Result<std::string, Fault> list_resources(Runtime& runtime, const std::string& project, JsonView params);
std::string list_templates();
Result<std::string, Fault> read_resource(Runtime& runtime, Era era, JsonView params);

}  // namespace agentd::mcp
