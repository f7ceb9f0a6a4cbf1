// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks.h - `hooks:` in the front matter of a recipe, checked when the recipe is read.
//
//   hooks:
//     turn_end:
//       handler: export_markdown          # or handlers: [external, validate_output,
//       export_markdown] once: true                        # true and run: once a run;
//       conversation: once for ever params: {path: notes.md}          # with several handlers:
//       {export_markdown: {path: notes.md}}
//
// "external" is the place of all hooks that are no recipe's; where it is not named they come first.
//
// Threading: values and pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/yaml.h"

namespace agentd {

enum class RecipeHandler : std::uint8_t {
  kSwapContext,         // the answer takes the place of the conversation
  kAppendContext,       // a text for the next request
  kExportMarkdown,      // the conversation as a file
  kValidateOutput,      // the answer against a schema
  kLogToolUsage,        // one line of JSON for each tool call
  kValidateToolOutput,  // a tool's output against a schema
};
std::string_view name_of(RecipeHandler handler);

enum class RecipeOnce : std::uint8_t { kAlways, kRun, kConversation };

struct RecipeHook {
  std::uint32_t event = 0;  // AGENTD_EVENT_, as the recipe says it
  RecipeHandler handler = RecipeHandler::kAppendContext;
  RecipeOnce once = RecipeOnce::kAlways;
  bool before_external = false;
  std::string place;  // FILE:LINE:COLUMN of the handler's name

  // Parameters, by handler.
  std::string text;                // append_context
  std::string path;                // export_markdown; a template with {{.conversation_id}}
  std::string schema_json;         // validate_output, validate_tool_output
  std::uint32_t retries = 2;       // validate_output: corrections that are asked for
  std::vector<std::string> tools;  // validate_tool_output, log_tool_usage; empty = all
};

// `node` is the value of `hooks`. In the order in which they run. kInvalid: FILE:LINE:COLUMN and
// what: an event or a handler that is not known, one at an event where it cannot act, a parameter
// that is missing, not known or of the wrong kind.
Result<std::vector<RecipeHook>> read_recipe_hooks(const YamlNode& node, std::string_view path);

}  // namespace agentd
