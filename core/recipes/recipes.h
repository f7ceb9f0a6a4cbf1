// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipes.h - Markdown prompts with front matter; the `compact` recipe is the source of every
// compaction's prompt.
//
// Lookup: the user's recipes directory, then the embedded ones. A broken file is an error with its place;
// a broken user's `compact` falls back to the embedded one, with a warning.
//
// Threading: immutable after construction.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/compaction/compaction.h"
#include "core/recipes/hooks.h"

namespace agentd {

struct Recipe {
  std::string name, description, body, path;  // path empty = embedded
  std::vector<std::string> allowed_tools;
  bool restricts_tools = false;  // allowed_tools was given, even if empty
  std::vector<RecipeHook> hooks;  // in order; see handlers.h
};

// One file's text. kInvalid says file:line:column.
Result<Recipe> parse_recipe(std::string_view text, std::string_view path);

// Go-template subset: {{.name}}, {{if .name}}...{{else}}...{{end}}, {{default "x" .name}}.
// kInvalid names the line of the template.
Result<std::string> render_template(std::string_view body,
                                    const std::map<std::string, std::string>& values,
                                    std::string_view name);

class RecipeBook final : public PromptSource {
 public:
  // `directories` in order of lookup.
  RecipeBook(std::vector<std::string> directories, Log& log);
  Result<Recipe> find(std::string_view name) const;  // kNotFound lists what there is
  Result<std::string> compaction_prompt(std::string_view conversation_id,
                                        const std::vector<std::string>& instructions) const override;
  Result<std::string> recipe_prompt(std::string_view name,
                                    const std::map<std::string, std::string>& values) const override;

 private:
  const std::vector<std::string> directories_;
  Log& log_;
};

}  // namespace agentd
