// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipes.h - Markdown prompts with front matter. The `compact` recipe is the prompt of every compaction.
//
// Lookup: the directories in their order, then the embedded recipes. A broken file is an error with its place; the next
// one is not used instead. Only a compaction falls back to the embedded `compact`, with a warning, since a full context
// cannot wait.
//
// Threading: immutable after construction.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/compaction/compaction.h"
#include "core/recipes/hooks.h"

namespace agentd {

using RecipeValues = std::map<std::string, std::string>;

enum class RecipeSource : std::uint8_t { kEmbedded, kUser, kProject };
std::string_view name_of(RecipeSource source);  // "embedded"

struct RecipeArgument {
  std::string name, description;
  bool required = false;
  std::optional<std::string> standard;  // its value when none is given
};

struct Recipe {
  std::string name, description, body, path;  // path empty = embedded
  int body_line = 1;                          // the line where the body begins
  RecipeSource source = RecipeSource::kEmbedded;
  std::vector<std::string> allowed_tools;
  bool restricts_tools = false;               // allowed_tools is set, even if empty
  std::vector<std::string> allowed_commands;  // patterns; see commands.h
  bool restricts_commands = false;
  std::vector<RecipeArgument> arguments;  // declared ones in order, then those that only the text uses
  std::vector<RecipeHook> hooks;          // in order; see handlers.h

  // The file name for its error messages: its path, or NAME.md.
  std::string place() const { return path.empty() ? name + ".md" : path; }
  // True if the answer replaces the conversation.
  bool swaps_context() const;
};

// Parses one file's text and checks its template. kInvalid: file:line:column.
Result<Recipe> parse_recipe(std::string_view text, std::string_view path);

// Go-template subset: {{.name}}, {{default "x" .name}} and {{.name | default "x"}}; {{if}}, {{else if}}, {{else}} and
// {{end}} with eq, ne, not, and, or; {{- and -}} trim, {{/* comments */}} are removed.
// kInvalid: "NAME:LINE:COLUMN: what", lines counted from `first_line`.
Result<std::string> render_template(std::string_view body, const RecipeValues& values, std::string_view name,
                                    int first_line = 1);
// The names that the template uses, in order, without repeats. kInvalid as above.
Result<std::vector<std::string>> template_names(std::string_view body, std::string_view name, int first_line = 1);

// The values of the recipe's arguments: `given`, otherwise the defaults. kInvalid: a required one is missing, or the
// recipe does not know one; the message lists the arguments.
Result<RecipeValues> recipe_values(const Recipe& recipe, const RecipeValues& given);
// The text with its values and {{.conversation_id}} filled in.
Result<std::string> render_recipe(const Recipe& recipe, const RecipeValues& given, std::string_view conversation_id);

// A directory with recipes, NAME.md each.
struct RecipeDirectory {
  std::string path;
  RecipeSource source = RecipeSource::kUser;
  // False: its `compact` is ignored.
  bool compact = true;
  struct File {
    std::string text;
    std::string why_not{};  // why it may not be used, and what to do; empty = it may
    bool changed = false;   // it was usable before it changed: nothing replaces it
  };
  // Reads the file of that name in the directory; kNotFound. Empty: reads any regular file, without further checks.
  std::function<Result<File>(const std::string& file)> read{};
};

// One name and its recipe.
struct RecipeEntry {
  std::string name, path;  // path empty = embedded
  RecipeSource source = RecipeSource::kEmbedded;
  std::optional<Recipe> recipe;      // absent: it is unusable
  std::string problem;               // why it is unusable; empty when it is usable
  std::string text;                  // the file's bytes, as far as they could be read
  std::vector<std::string> shadows;  // what it overrides: paths, "embedded"
  std::vector<std::string> ignored;  // paths that are ignored: a project's compact
};

class RecipeBook final : public PromptSource {
 public:
  // `directories` in order of lookup.
  RecipeBook(std::vector<RecipeDirectory> directories, Log& log);

  // kNotFound lists the recipes; kInvalid: an invalid name, a broken file, or one that may not be used, with what to
  // do.
  Result<Recipe> find(std::string_view name) const;
  // All recipes, sorted by name; an entry has its own problem.
  std::vector<RecipeEntry> list() const;
  std::vector<std::string> names() const;
  // kNotFound, kInvalid as find(); an unusable recipe is an entry with a problem.
  Result<RecipeEntry> look(std::string_view name) const;

  Result<void> check_compaction_prompt() const override;
  Result<std::string> compaction_prompt(std::string_view conversation_id,
                                        const std::vector<std::string>& instructions) const override;
  Result<std::string> recipe_prompt(std::string_view name, const RecipeValues& values) const override;

 private:
  RecipeEntry entry_of(const std::string& name) const;
  const std::vector<RecipeDirectory> directories_;
  Log& log_;
};

}  // namespace agentd
