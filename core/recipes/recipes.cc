// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/recipes.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/nearest.h"
#include "core/recipes/embedded.h"

namespace agentd {
namespace {

constexpr std::uint64_t kRecipeBytesMax = 1u << 20;
constexpr std::size_t kFilesMax = 1024;  // in one directory
constexpr std::string_view kCompact = "compact";
constexpr std::string_view kSuffix = ".md";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Error no_name(std::string_view name) {
  return {Code::kInvalid, "'" + one_line(name, 100) + "' is not a valid recipe name"};
}

Result<RecipeDirectory::File> read_from(const RecipeDirectory& directory, const std::string& name) {
  const std::string file = name + std::string(kSuffix);
  if (directory.read) return directory.read(file);
  AGENTD_TRY(std::string text, read_file(directory.path + "/" + file, kRecipeBytesMax));
  return RecipeDirectory::File{std::move(text), {}};
}

// A `compact` recipe always compacts, even if the user's own does not say so.
void complete_compact(Recipe& recipe) {
  if (!recipe.swaps_context()) {
    RecipeHook hook;
    hook.event = AGENTD_EVENT_TURN_END;
    hook.handler = RecipeHandler::kSwapContext;
    hook.once = RecipeOnce::kRun;
    hook.place = recipe.place();
    recipe.hooks.push_back(std::move(hook));
  }
  recipe.restricts_tools = true;
  recipe.allowed_tools.clear();
}

Result<Recipe> parsed(const std::string& name, std::string_view text, const std::string& path, RecipeSource source) {
  AGENTD_TRY(Recipe out, parse_recipe(text, path.empty() ? name + std::string(kSuffix) : path));
  out.name = name;  // users name a recipe by its file
  out.path = path;
  out.source = source;
  if (name == kCompact) complete_compact(out);
  return out;
}

Result<Recipe> embedded_compact() {
  return parsed(std::string(kCompact), embedded_recipe(kCompact), {}, RecipeSource::kEmbedded);
}

void add_names(const RecipeDirectory& directory, std::set<std::string>& out) {
  std::error_code failed;
  std::filesystem::directory_iterator files(directory.path, failed);
  for (std::size_t count = 0; !failed && files != std::filesystem::directory_iterator() && count < kFilesMax;
       files.increment(failed), ++count) {
    std::string name = files->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    name.resize(name.size() - kSuffix.size());
    if (is_plain_name(name) && is_utf8(name)) out.insert(std::move(name));
  }
}

}  // namespace

std::string_view name_of(RecipeSource source) {
  switch (source) {
    case RecipeSource::kEmbedded:
      return "embedded";
    case RecipeSource::kUser:
      return "user";
    case RecipeSource::kProject:
      return "project";
  }
  return "embedded";
}

RecipeBook::RecipeBook(std::vector<RecipeDirectory> directories, Log& log)
    : directories_(std::move(directories)), log_(log) {}

// REQUIRES: a plain name. Without text and problem when no recipe has that name.
RecipeEntry RecipeBook::entry_of(const std::string& name) const {
  RecipeEntry out;
  out.name = name;
  bool found = false;
  const auto take = [&](const std::string& path, RecipeSource source, std::string text, std::string why_not) {
    found = true;
    out.path = path;
    out.source = source;
    out.text = std::move(text);
    out.problem = std::move(why_not);
    if (!out.problem.empty()) return;
    auto recipe = parsed(name, out.text, path, source);
    if (recipe)
      out.recipe = std::move(*recipe);
    else
      out.problem = recipe.error().message;
  };
  std::vector<std::tuple<std::string, RecipeSource, std::string, std::string>> waiting;
  for (const RecipeDirectory& directory : directories_) {
    const std::string path = directory.path + "/" + name + std::string(kSuffix);
    auto file = read_from(directory, name);
    if (!file && file.error().code == Code::kNotFound) continue;
    if (name == kCompact && !directory.compact) {
      out.ignored.push_back(path);
    } else if (found) {
      out.shadows.push_back(path);
    } else if (file && !file->why_not.empty() && !file->changed) {
      // An untrusted file overrides no other.
      out.ignored.push_back(path);
      waiting.emplace_back(path, directory.source, std::move(file->text), std::move(file->why_not));
    } else if (file) {
      take(path, directory.source, std::move(file->text), std::move(file->why_not));
    } else {
      take(path, directory.source, {}, file.error().message);
    }
  }
  const std::string_view embedded = embedded_recipe(name);
  if (!embedded.empty() && found) out.shadows.emplace_back(name_of(RecipeSource::kEmbedded));
  if (!embedded.empty() && !found) take({}, RecipeSource::kEmbedded, std::string(embedded), {});
  if (!found && !waiting.empty()) {
    auto& [path, source, text, why_not] = waiting.front();
    out.ignored.erase(out.ignored.begin());
    take(path, source, std::move(text), std::move(why_not));
  }
  return out;
}

Result<RecipeEntry> RecipeBook::look(std::string_view name) const {
  if (!is_plain_name(name)) return no_name(name);
  RecipeEntry out = entry_of(std::string(name));
  if (out.recipe || !out.problem.empty()) return out;
  const std::vector<std::string> all = names();
  std::string listed;
  for (const std::string& each : all) listed += (listed.empty() ? "" : ", ") + each;
  return Error{Code::kNotFound, "no recipe named '" + one_line(name, 100) + "'; recipes: " + one_line(listed, 1000) +
                                    did_you_mean(name, all)};
}

Result<Recipe> RecipeBook::find(std::string_view name) const {
  AGENTD_TRY(RecipeEntry entry, look(name));
  if (entry.recipe) return std::move(*entry.recipe);
  // A file that was read but may not be used is untrusted; any other is broken.
  return Error{Code::kInvalid, entry.problem};
}

std::vector<std::string> RecipeBook::names() const {
  std::set<std::string> out;
  for (const RecipeDirectory& directory : directories_) add_names(directory, out);
  for (const EmbeddedRecipe& recipe : embedded_recipes()) out.emplace(recipe.name);
  return {out.begin(), out.end()};
}

std::vector<RecipeEntry> RecipeBook::list() const {
  std::vector<RecipeEntry> out;
  for (const std::string& name : names()) {
    RecipeEntry entry = entry_of(name);
    if (entry.recipe || !entry.problem.empty()) out.push_back(std::move(entry));
  }
  return out;
}

Result<void> RecipeBook::check_compaction_prompt() const {
  AGENTD_TRY(const RecipeEntry entry, look(kCompact));
  if (!entry.recipe) return Error{Code::kInvalid, entry.problem};
  if (const auto text = render_recipe(*entry.recipe, {}, {}); !text) {
    const std::string& why = text.error().message;
    const bool named = entry.path.empty() || why.find(entry.path) != std::string::npos;
    return Error{Code::kInvalid, named ? why : entry.path + ": " + why};
  }
  return {};
}

Result<std::string> RecipeBook::compaction_prompt(std::string_view conversation_id,
                                                  const std::vector<std::string>& instructions) const {
  const auto recipe = find(kCompact);
  Result<std::string> prompt =
      recipe ? render_recipe(*recipe, {}, conversation_id) : Result<std::string>(recipe.error());
  if (!prompt) {
    log_.write(LogLevel::kWarning, "recipes", prompt.error().message + "; the embedded compact recipe is used");
    AGENTD_TRY(const Recipe embedded, embedded_compact());
    prompt = render_recipe(embedded, {}, conversation_id);
  }
  if (!prompt) return prompt;
  for (const std::string& more : instructions)
    if (!more.empty()) *prompt += "\n\nAdditional instructions: " + more;
  return prompt;
}

Result<std::string> RecipeBook::recipe_prompt(std::string_view name, const RecipeValues& values) const {
  AGENTD_TRY(const Recipe recipe, find(name));
  RecipeValues given = values;
  const auto id = given.extract("conversation_id");
  return render_recipe(recipe, given, id.empty() ? std::string() : id.mapped());
}

}  // namespace agentd
