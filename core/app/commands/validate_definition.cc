// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/validate_definition.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/app/commands/bundled_tools.h"
#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/dialects/known_names.h"
#include "core/host/loading.h"
#include "core/recipes/recipes.h"

namespace agentd::app {
namespace {

constexpr std::uint64_t kDefinitionBytesMax = 64u << 20;
constexpr std::size_t kShownFindingBytes = 1500;

enum class FileKind { kNone, kModule, kYaml, kRecipe, kSettings, kExecutable };

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kNone:
      return "no hook";
    case FileKind::kModule:
      return "module";
    case FileKind::kYaml:
      return "YAML hook";
    case FileKind::kRecipe:
      return "recipe";
    case FileKind::kSettings:
      return "settings of another tool";
    case FileKind::kExecutable:
      return "executable hook";
  }
  return {};
}

bool is_elf(const std::string& path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) ==
         "\x7f"
         "ELF";
}

// The kind of the file for a run; kNone: a run does not load it, for the reason `why_not`.
struct Judged {
  FileKind kind = FileKind::kNone;
  std::string why_not;
};

// As in the scan of a hooks directory. Recipes and other tools' settings are elsewhere; so may be a library that
// is not named .so yet.
Judged judge(const HooksHere& here, const std::string& path) {
  const std::string end = std::filesystem::path(path).extension().string();
  if (end == ".md") return {FileKind::kRecipe, {}};
  if (end == ".json") return {FileKind::kSettings, {}};
  const PluginHostOptions& options = here.setup.options.native;
  const HookDirectory* const directory = directory_of(options.directories, path);
  const auto by_name = kind_by_name(path);
  const bool module = by_name == HookKind::kNative;
  if (directory == nullptr && (module || (!by_name && is_elf(path)))) return {FileKind::kModule, {}};
  const auto kind = judge_hook_file(path, directory, options.user);
  if (by_name == HookKind::kDeclarative) return {FileKind::kYaml, kind ? "" : kind.error().message};
  if (module) return {FileKind::kModule, kind ? "" : kind.error().message};
  if (kind) return {FileKind::kExecutable, {}};
  return {FileKind::kNone, kind.error().message};
}

// Prints and counts the findings.
class Findings {
 public:
  Findings(Output& out, std::string path, std::string kind, bool json)
      : out_(out), path_(std::move(path)), kind_(std::move(kind)), json_(json) {}

  void set_kind(std::string kind) { kind_ = std::move(kind); }
  void hook(const std::string& name, std::uint32_t event, const std::string& what) {
    const EventTraits* const traits = find_event(event);
    const std::string at(traits == nullptr ? std::string_view() : traits->name);
    ++ok_;
    if (json_) return line("ok", what, name, at);
    shown(out_.styled("32", "ok      "), name + (at.empty() ? "" : ", " + at) + ": " + what);
  }
  void problem(bool broken, const std::string& text) {
    ++(broken ? failures_ : warnings_);
    if (json_) return line(broken ? "fail" : "warn", text, {}, {});
    shown(broken ? out_.styled("31", "FAIL    ") : out_.styled("33", "warn    "), text);
  }
  int end() {
    if (!json_)
      out_.print(neutral_line(path_, kShownFindingBytes) + ": " + kind_ + ", " + std::to_string(ok_) + " ok, " +
                 counted(warnings_, "warning") + ", " + counted(failures_, "failure") + "\n");
    return failures_ == 0 ? kExitOk : kExitFailure;
  }

 private:
  void shown(const std::string& mark, const std::string& text) {
    out_.print("  " + mark + neutral_line(text, kShownFindingBytes) + "\n");
  }
  void line(std::string_view result, std::string_view text, const std::string& hook, const std::string& event) {
    JsonWriter json;
    json.begin_object().member("result", result).member("kind", kind_);
    json.optional("hook", hook).optional("event", event);
    json.member("text", text).end_object();
    out_.print(std::string(json.text()) + "\n");
  }

  Output& out_;
  const std::string path_;
  std::string kind_;
  const bool json_;
  std::size_t ok_ = 0, warnings_ = 0, failures_ = 0;
};

Result<LoadedHooks> load(FileKind kind, const App& app, const HooksHere& here, const std::string& path) {
  const HookHostOptions& options = here.setup.options;
  if (kind == FileKind::kSettings) return load_adapted(parse_adapted(path), options.native.user);
  HookFile file;
  file.path = path;
  AGENTD_TRY(const std::string bytes, read_file(path, kDefinitionBytesMax));
  if (kind == FileKind::kYaml) {
    file.name = std::filesystem::path(path).stem().string();
    return load_declarative(file, bytes);
  }
  file.name = std::filesystem::path(path).filename().string();
  NullLog log;
  return load_executable(file, bytes, {}, probe_options(options, file), app.clock(), log);
}

void check_hooks(Findings& out, const App& app, const HooksHere& here, const LoadedHooks& loaded) {
  const Inventory inventory = inventory_of(app, here);
  const std::vector<Tool> tools = bundled_tools(app, here, inventory);
  const bool others = may_have_other_tools(here, inventory);
  for (const std::string& problem : loaded.problems) out.problem(false, problem);
  std::string told;  // a hook of several events has the same matcher for all of them
  for (const HookDefinition& hook : loaded.hooks) {
    bool broken = false;
    for (const NameMistake& mistake : unknown_names(hook, tools)) {
      const bool counts = mistake.broken && !others;
      if (mistake.text != told) out.problem(counts, mistake.text);
      broken = broken || counts;
      told = mistake.text;
    }
    if (!broken) out.hook(hook.name, hook.event, runs_text(hook));
  }
}

// The reason why a run does not load this file of a hooks directory; empty = it does.
std::string why_not_loaded(const App& app, const HooksHere& here, const std::string& path) {
  for (const HookSource& source : inventory_of(app, here).sources)
    if (source.path == path && source.state == HookState::kBroken) return source.why_not;
  return {};
}

void check_recipe(Findings& out, const std::string& path) {
  const auto text = read_file(path, kDefinitionBytesMax);
  const auto recipe = text ? parse_recipe(*text, path) : Result<Recipe>(text.error());
  if (!recipe) return out.problem(true, recipe.error().message);
  const std::string name = std::filesystem::path(path).stem().string();  // as users name it
  if (recipe->hooks.empty()) out.hook(name, 0, "no handlers");
  for (const RecipeHook& hook : recipe->hooks) out.hook(name, hook.event, std::string(agentd::name_of(hook.handler)));
}

}  // namespace

std::optional<int> validate_definition(App& app, const Arguments& arguments, const HooksHere& here,
                                       const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  Judged judged = judge(here, path);
  const FileKind kind = judged.kind;
  if (judged.why_not.empty() && kind != FileKind::kModule) judged.why_not = why_not_loaded(app, here, path);
  if (kind == FileKind::kModule && judged.why_not.empty()) return std::nullopt;
  for (const char* const option : {"rule", "isolation", "timeout", "config"})
    if (kind != FileKind::kNone && kind != FileKind::kModule && arguments.has(option))
      return app.fail(kExitUsage, "--" + std::string(option) + " is only for native hooks; " + path +
                                      " is not one: " + std::string(name_of(kind)));
  Findings out(app.out(), path, std::string(name_of(kind)), arguments.has("json"));
  if (!judged.why_not.empty()) {
    out.problem(true, judged.why_not);
    return out.end();
  }
  if (kind == FileKind::kRecipe) {
    check_recipe(out, path);
    return out.end();
  }
  const auto loaded = load(kind, app, here, path);
  if (!loaded) {
    out.problem(true, loaded.error().message);
    return out.end();
  }
  if (kind == FileKind::kSettings && !loaded->hooks.empty())
    out.set_kind("settings of " + std::string(agentd::name_of(loaded->hooks[0].dialect)));
  check_hooks(out, app, here, *loaded);
  return out.end();
}

}  // namespace agentd::app
