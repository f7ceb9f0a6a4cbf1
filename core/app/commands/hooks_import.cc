// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "core/app/cli.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/config/rule_names.h"
#include "core/declarative/declarative.h"
#include "core/dialects/dialect.h"
#include "core/dialects/json_places.h"

namespace agentd::app {
namespace {

constexpr std::uint64_t kSettingsBytesMax = 4u << 20;
constexpr std::size_t kShownImportBytes = 2000;

// A text as YAML takes it whatever is in it.
std::string yaml_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string absolute_path(const App& app, const std::string& path) {
  const std::filesystem::path out(path);
  if (out.is_absolute()) return out.lexically_normal().string();
  return (std::filesystem::path(app.surroundings().cwd) / out).lexically_normal().string();
}

// agentd's tools that a name means. kInvalid: it has none like it.
Result<std::vector<std::string>> tools_here(const std::string& name) {
  std::vector<std::string> out = tools_of_rule(name);
  const std::string instead(instead_of(out.front()));
  std::erase_if(out, [](const std::string& tool) { return !instead_of(tool).empty(); });
  if (out.empty()) return Error{Code::kInvalid, "agentd has no tool like it: " + instead};
  return out;
}

std::string advice_on_excluded(const std::string& tool) {
  const auto tools = tools_here(tool);
  return tools ? "write permissions.deny: [" + join(*tools, ", ") + "] in config.yaml" : tools.error().message;
}

// The same rules in agentd's words, as items of YAML. kInvalid: why there are none.
Result<std::vector<std::string>> converted_rules(const std::string& rule) {
  AGENTD_TRY(RuleParts parts, rule_parts(rule));
  if (parts.argument && !tools_of_rule(parts.tool).empty() && tools_of_rule(parts.tool).front() != kCommandTool) {
    // There "//etc" is absolute and "/src" begins at the project.
    if (parts.argument->starts_with("//"))
      parts.argument->erase(0, 1);
    else if (parts.argument->starts_with('/'))
      parts.argument->insert(0, ".");
  }
  const std::string changed = parts.tool + (parts.argument ? "(" + *parts.argument + ")" : "");
  AGENTD_TRY_VOID(rules_of(changed, {}));
  AGENTD_TRY(const std::vector<std::string> tools, tools_here(parts.tool));
  std::vector<std::string> out;
  for (const std::string& tool : tools)
    out.push_back(parts.argument ? yaml_quoted(tool + "(" + *parts.argument + ")") : tool);
  return out;
}

// Permissions in the settings belong into config.yaml, which is not written here: each rule is reported with its
// equivalent.
void report_permissions(const std::string& text, std::vector<std::string>& problems) {
  const auto document = JsonDocument::parse(without_comments(text));
  if (!document || !document->root().is_object()) return;
  // Gemini CLI's lists of excluded tools.
  for (const JsonView excluded : {document->root()["tools"]["exclude"], document->root()["excludeTools"]})
    for (std::size_t i = 0; excluded.is_array() && i < excluded.size(); ++i)
      problems.push_back("tools.exclude '" + one_line(excluded.at(i).string_or({}), kShownImportBytes) +
                         "': " + advice_on_excluded(std::string(excluded.at(i).string_or({}))));
  const JsonView permissions = document->root()["permissions"];
  for (std::size_t i = 0; permissions.is_object() && i < permissions.size(); ++i) {
    const std::string list = "permissions." + std::string(permissions.key_at(i));
    const JsonView rules = permissions.at(i);
    if (list != "permissions.allow" && list != "permissions.deny" && list != "permissions.ask") {
      problems.push_back(list + ": agentd's own setting is permissions.mode (ask, accept_edits, plan, allow or deny)");
      continue;
    }
    for (std::size_t k = 0; rules.is_array() && k < rules.size(); ++k) {
      const std::string rule(rules.at(k).string_or({}));
      const std::string what = list + " '" + one_line(rule, kShownImportBytes) + "': ";
      const auto converted = converted_rules(rule);
      problems.push_back(what + (converted ? "write " + list + ": [" + join(*converted, ", ") + "] in config.yaml"
                                           : converted.error().message));
    }
  }
}

// The project that the settings belong to, by its .claude or .gemini directory or its git work tree; null = the
// user's own.
std::optional<Project> project_of(const App& app, const std::string& path, const std::string& home) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const bool of_tool = folder.filename() == ".claude" || folder.filename() == ".gemini";
  if (of_tool) folder = folder.parent_path();
  if (folder == app.surroundings().environment("HOME").value_or("")) return std::nullopt;
  Project project = find_project(folder.string());
  if (!of_tool && ::access((project.root + "/.git").c_str(), F_OK) != 0) return std::nullopt;
  if (precedence_of(path, project, home) != Precedence::kProject) return std::nullopt;
  return project;
}

struct Imported {
  Dialect dialect = Dialect::kClaude;
  DefinitionSet set;
  std::string yaml;
};

Result<Imported> import_file(const std::string& path, const std::string& dialect) {
  Imported out;
  AGENTD_TRY(const std::string text, read_file(path, kSettingsBytesMax));
  const auto found = dialect.empty() ? guess_dialect(path, text) : find_dialect(dialect);
  if (!found && dialect.empty())
    return Error{Code::kInvalid, path + ": unknown kind of settings; pass --dialect " +
                                     choices_sentence(join(settings_dialects(), "|"))};
  if (!found)
    return Error{Code::kInvalid, "--dialect must be " + dialect_names() + ", not '" + one_line(dialect, 60) + "'"};
  out.dialect = *found;
  AGENTD_TRY(out.set, read_settings(out.dialect, text, path, name_of(out.dialect)));
  out.yaml = write_declarative(out.set, path);
  report_permissions(text, out.set.problems);
  return out;
}

// Reads the generated text again, since agentd might refuse it. Returns the hooks with their new names.
Result<std::vector<HookDefinition>> check(const Imported& imported, const std::string& output, bool projects) {
  const std::string name = std::filesystem::path(output).stem().string();
  auto read = read_declarative(imported.yaml, output, (projects ? "project/" : "") + name, Precedence::kUser);
  if (!read) return read.error().with_context("the imported hooks are not valid");
  return read;
}

std::string json_of(const std::string& output, const std::vector<HookDefinition>& hooks, const Imported& imported,
                    bool used) {
  JsonWriter json;
  json.begin_object().member("file", output).member("used", used).key("hooks").begin_array();
  for (const HookDefinition& hook : hooks) {
    json.begin_object().member("name", hook.name).member("event", find_event(hook.event)->name);
    json.member("runs", runs_text(hook)).end_object();
  }
  json.end_array().key("not_carried_over").begin_array();
  for (const std::string& problem : imported.set.problems) json.string(problem);
  json.end_array().end_object();
  return std::string(json.text());
}

void say_problems(App& app, const Imported& imported) {
  app.out().flush();
  for (const std::string& problem : imported.set.problems)
    app.err().line("not imported: " + neutral_line(problem, kShownImportBytes));
  app.err().flush();
}

// A file in a hooks directory runs from now on: records the bytes just written.
Result<bool> record(App& app, const HooksHere& here, const std::string& output) {
  const Inventory inventory = inventory_of(app, here);
  const HookSource* const source = find_source(inventory, output);
  if (source == nullptr || source->trust == SourceTrust::kSystem) return source != nullptr;
  NullLog log;
  AGENTD_TRY(HookSource inside, look_inside(*source, here.setup.options, app.clock(), log));
  AGENTD_TRY(TrustStore store,
             TrustStore::open(here.setup.options.trust_file, here.setup.options.native.user, app.clock()));
  AGENTD_TRY_VOID(store.record(std::move(inside.entry)));
  return true;
}

Result<void> write(const std::string& output, const std::string& yaml, bool force) {
  struct stat info {};
  if (!force && ::lstat(output.c_str(), &info) == 0)
    return Error{Code::kInvalid, output + " already exists: replace it with --force, or use --output FILE"};
  AGENTD_TRY_VOID(make_directories(std::filesystem::path(output).parent_path().string()));
  return write_file_atomically(output, yaml, 0600);
}

}  // namespace

int hooks_import_command(App& app, const Arguments& arguments) {
  auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const std::string path = absolute_path(app, arguments.words()[0]);
  auto imported = import_file(path, arguments.value("dialect"));
  if (!imported && imported.error().code == Code::kNotFound)
    return app.fail(kExitNotFound,
                    imported.error().message + "; name a settings file, such as ~/.claude/settings.json");
  if (!imported) return app.fail(kExitUsage, imported.error().message);
  // In another project $CLAUDE_PROJECT_DIR would name missing scripts.
  const std::optional<Project> project = project_of(app, path, here->home);
  if (project) {
    here->project = *project;
    here->setup = hook_setup(app.surroundings(), here->config, here->home, *project, true);
  }
  const std::string standard = (project ? project->root + "/.agent" : here->home) + "/hooks/" +
                               std::string(name_of(imported->dialect)) + ".yaml";
  const std::string output = arguments.has("output") ? absolute_path(app, arguments.value("output")) : standard;
  const bool projects = precedence_of(output, here->project, here->home) == Precedence::kProject;
  if (imported->set.hooks.empty()) {
    say_problems(app, *imported);
    return app.fail(kExitFailure, path + " has no hook that can be imported");
  }
  const auto hooks = check(*imported, output, projects);
  if (!hooks) return app.fail(kExitFailure, hooks.error().message);
  if (arguments.has("dry-run")) {
    app.out().print(imported->yaml);
    say_problems(app, *imported);
    return kExitOk;
  }
  if (const auto wrote = write(output, imported->yaml, arguments.has("force")); !wrote)
    return app.fail(kExitFailure, wrote.error().message);
  const Result<bool> used = record(app, *here, output);
  if (!used) return app.fail(kExitFailure, used.error().message);
  if (arguments.has("json")) {
    app.out().print(json_of(output, *hooks, *imported, *used) + "\n");
    return kExitOk;
  }
  app.out().print("wrote " + counted(hooks->size(), "hook") + " to " + neutral_line(output, kShownImportBytes) + "\n");
  for (const HookDefinition& hook : *hooks)
    app.out().print("  " + neutral_line(hook.name + ": " + runs_text(hook), kShownImportBytes) + "\n");
  say_problems(app, *imported);
  app.out().print(*used && projects ? "They now run in " + neutral_line(here->project.root, kShownImportBytes) +
                                          "; 'agentd hooks list' shows them there\n"
                  : *used ? "They now run; 'agentd hooks list' shows them\n"
                          : "The file is not in a hooks directory; move it to " +
                                std::filesystem::path(standard).parent_path().string() + " to use it\n");
  return kExitOk;
}

}  // namespace agentd::app
