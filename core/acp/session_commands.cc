// SPDX-License-Identifier: Apache-2.0
#include "core/acp/session_commands.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/acp/faults.h"
#include "core/base/bytes.h"
#include "core/base/neutral.h"
#include "core/recipes/recipe_line.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kDescriptionBytes = 300;

struct Command {
  std::string_view name, description, hint;
};
constexpr Command kCommands[] = {
    {"compact", "replace the history with a summary", "instructions for the summary"},
    {"undo", "undo the last compaction", ""},
    {"checkpoint", "save a place to resume from", "a name"},
    {"clear", "start a new conversation", ""},
};

bool is_own(std::string_view name) {
  return std::any_of(std::begin(kCommands), std::end(kCommands),
                     [&](const Command& each) { return each.name == name; });
}

void write_command(JsonWriter& out, std::string_view name, std::string_view description, std::string_view hint) {
  out.begin_object().member("name", name).member("description", neutral_line(description, kDescriptionBytes));
  if (!hint.empty()) out.key("input").begin_object().member("hint", neutral_line(hint, kDescriptionBytes)).end_object();
  out.end_object();
}

// "k=... text": the arguments that it takes.
std::string hint_of(const Recipe& recipe) {
  std::string out;
  for (const RecipeArgument& each : recipe.arguments) out += each.name + "=... ";
  return out + "text";
}

std::string counts(std::uint64_t before, std::uint64_t after) {
  return counted(before, "message") + " became " + counted(after, "message");
}

}  // namespace

std::string commands_update(const Workplace& workplace) {
  JsonWriter out;
  out.begin_object().member("sessionUpdate", "available_commands_update").key("availableCommands").begin_array();
  for (const Command& each : kCommands) write_command(out, each.name, each.description, each.hint);
  for (const RecipeEntry& entry : workplace.recipes().list()) {
    if (!entry.recipe || is_own(entry.name)) continue;
    const std::string& about = entry.recipe->description;
    write_command(out, entry.name, about.empty() ? "the recipe " + entry.name : about, hint_of(*entry.recipe));
  }
  out.end_array().end_object();
  return std::string(out.text());
}

std::optional<SessionCommands::Done> SessionCommands::run(std::string_view text, const CancelToken& cancel) {
  const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
  const std::string name(text.substr(1, end - 1)), words(without_blanks(text.substr(end)));
  if (name == "compact") return compact(words, cancel);
  if (name == "undo") return undo(cancel);
  if (name == "checkpoint") return checkpoint(words);
  if (name == "clear") return clear(cancel);
  const std::vector<std::string> recipes = client_.workplace().recipes().names();
  if (std::find(recipes.begin(), recipes.end(), name) == recipes.end()) return std::nullopt;
  return recipe(name, words, cancel);
}

SessionCommands::Done SessionCommands::compact(const std::string& words, const CancelToken& cancel) {
  CompactOptions options;
  options.instructions = words;
  auto report = client_.session()->compact(options, false, cancel);
  updates_.end_run();
  if (!report) return report.error();
  if (report->changed())
    updates_.agent_text("Compacted: " + counts(report->messages_before, report->messages_after) + ".");
  else
    updates_.agent_text("Not compacted (" + std::string(result_name(report->outcome)) + ")" +
                        (report->text.empty() ? "" : ": " + neutral(report->text)) + ".");
  return RunReport{};
}

SessionCommands::Done SessionCommands::undo(const CancelToken& cancel) {
  const auto report = client_.session()->undo(false, cancel);
  if (!report && report.error().kind != RunError::Kind::kFailure) return report.error();
  updates_.agent_text(report ? "Undid the last compaction: " + counts(report->messages_before, report->messages_after) +
                                   "."
                             : "Nothing was undone: " + neutral(report.error().message) + ".");
  return RunReport{};
}

SessionCommands::Done SessionCommands::checkpoint(const std::string& name) {
  const auto saved = client_.session()->checkpoint(name);
  if (!saved && saved.error().kind != RunError::Kind::kUsage) return saved.error();
  updates_.agent_text(saved ? "Saved checkpoint " + *saved + "; resume it with: agentd checkpoint resume " + *saved
                            : "No checkpoint was saved: " + neutral(saved.error().message) + ".");
  return RunReport{};
}

// A person says so where the settings want one to.
SessionCommands::Done SessionCommands::clear(const CancelToken& cancel) {
  if (runtime_.config().flag("lifecycle.verify_before_clear") &&
      !asker_.agrees("clear", "Start a new conversation?", "Start it")) {
    if (cancel.cancelled()) return kCancelled;
    updates_.agent_text("Nothing was cleared.");
    return RunReport{};
  }
  const std::string before = client_.session()->conversation_id();
  if (const auto cleared = client_.clear(cancel); !cleared) return cleared.error();
  updates_.agent_text("Started a new conversation, " + client_.session()->conversation_id() + ". The old one is " +
                      before + ".");
  return RunReport{};
}

// Where a required argument is missing, an editor with forms is asked for all that were not given. False: the person
// gave none.
bool SessionCommands::fill(const std::string& name, RecipeValues& given) {
  const auto recipe = client_.workplace().recipes().find(name);
  if (!recipe || !updates_.abilities().forms) return true;
  std::vector<RecipeArgument> open;
  for (const RecipeArgument& each : recipe->arguments)
    if (given.count(each.name) == 0) open.push_back(each);
  if (std::none_of(open.begin(), open.end(), [](const RecipeArgument& each) { return each.required; })) return true;
  auto filled = asker_.fill("/" + name + " needs arguments", open);
  if (filled) given.merge(*filled);
  return filled.has_value();
}

// The recipe applies to this run only.
SessionCommands::Done SessionCommands::recipe(const std::string& name, const std::string& words,
                                              const CancelToken& cancel) {
  RecipeLine line = parse_recipe_line(words);
  if (!fill(name, line.arguments)) {
    if (cancel.cancelled()) return kCancelled;
    updates_.agent_text("/" + name + " was not run: the form with its arguments was not filled in.");
    return RunReport{};
  }
  if (auto used = client_.use_recipe(name, line.arguments); !used) return used.error();
  auto request = client_.recipe_run(line.words);
  Done done = request ? run_(*request) : Done(RunError{RunError::Kind::kUsage, request.error().message});
  if (const auto why = client_.recipe_failure()) updates_.notice(Updates::Severity::kError, *why);
  client_.drop_recipe();
  return done;
}

}  // namespace agentd::acp
