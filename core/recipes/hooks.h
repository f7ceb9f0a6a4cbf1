// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks.h - `hooks:` in a recipe's front matter, checked when the recipe is read.
//
//   hooks:
//     turn_end:
//       handler: export_markdown   # or handlers: [external, validate_output, export_markdown]
//       once: true                 # true and run: once per run; conversation: once for ever
//       params: {path: notes.md}   # with several handlers: {export_markdown: {path: notes.md}}
//
// "external" is the place of all hooks outside the recipe; by default they come first.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/yaml.h"

namespace agentd {

enum class RecipeHandler : std::uint8_t {
  kSwapContext,         // the answer replaces the conversation
  kAppendContext,       // adds a text to the next request
  kExportMarkdown,      // writes the conversation to a file
  kValidateOutput,      // checks the answer against a schema
  kLogToolUsage,        // writes one line of JSON per tool call
  kValidateToolOutput,  // checks a tool's output against a schema
};
std::string_view name_of(RecipeHandler handler);

enum class RecipeOnce : std::uint8_t { kAlways, kRun, kConversation };

struct RecipeHook {
  std::uint32_t event = 0;  // AGENTD_EVENT_, as in the recipe
  RecipeHandler handler = RecipeHandler::kAppendContext;
  RecipeOnce once = RecipeOnce::kAlways;
  bool before_external = false;
  std::string place;  // FILE:LINE:COLUMN of the handler's name

  // Parameters, by handler.
  std::string text;                // append_context
  std::string path;                // export_markdown; a template with {{.conversation_id}}
  std::string schema_json;         // validate_output, validate_tool_output
  std::uint32_t retries = 2;       // validate_output: requested corrections
  std::vector<std::string> tools;  // validate_tool_output, log_tool_usage; empty = all
};

// `node` is the value of `hooks`. Returns them in running order. kInvalid: FILE:LINE:COLUMN and the mistake: an unknown
// event or handler, a handler at an event where it cannot act, a missing, unknown or wrong parameter.
Result<std::vector<RecipeHook>> read_recipe_hooks(const YamlNode& node, std::string_view path);

}  // namespace agentd
