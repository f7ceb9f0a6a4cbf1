// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <set>

#include "core/agent/removed_texts.h"
#include "core/app/commands/bundled_tools.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/commands/mcp_shared.h"
#include "core/app/commands/sandbox_here.h"
#include "core/app/exit_codes.h"
#include "core/app/failure.h"
#include "core/base/bytes.h"
#include "core/base/log.h"
#include "core/base/shell_word.h"
#include "core/cage/layers.h"
#include "core/cage/path_list.h"
#include "core/cage/places.h"
#include "core/codec/json.h"
#include "core/config/permission_setup.h"
#include "core/dialects/known_names.h"
#include "core/net/curl_client.h"
#include "core/runtime/model_setup.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/runtime.h"
#include "core/runtime/secrets_setup.h"
#include "core/runtime/store_setup.h"
#include "core/runtime/version.h"
#include "core/search/sqlite_library.h"
#include "core/workplace/hook_names.h"

namespace agentd::app {
namespace {

constexpr Milliseconds kTrialTime{10'000};

enum class Verdict { kOk, kNote, kWarn, kBroken };

using Facts = std::vector<std::pair<std::string_view, std::string>>;

// Prints one finding a line, as text or as a JSON object, and remembers whether anything needed is broken.
class Report {
 public:
  Report(Output& out, bool json) : out_(out), json_(json) {
    if (!json_) out_.print("agentd " AGENTD_VERSION "\n\n");
  }

  void section(std::string_view name) {
    end_finding();
    if (!json_) out_.print((section_.empty() ? "" : "\n") + std::string(name) + "\n");
    section_ = name;
  }

  // `facts`: what the text says, for programs; empty values are omitted.
  void say(Verdict verdict, std::string_view text, const Facts& facts = {}) {
    if (verdict == Verdict::kBroken) broken_ = true;
    if (!json_) return out_.print("  " + mark(verdict) + "  " + neutral_line(text, 2000) + "\n");
    end_finding();
    finding_.emplace();
    finding_->begin_object().member("section", section_).member("verdict", name_of(verdict)).member("text", text);
    for (const auto& [name, value] : facts) finding_->optional(name, value);
  }
  // Advice on the line before.
  void advise(std::string_view text) {
    if (!json_) return out_.print("          → " + neutral_line(text, 2000) + "\n");
    if (finding_) finding_->optional("advice", text);
  }
  // True if something required is broken.
  bool end() {
    end_finding();
    if (!json_) out_.print(broken_ ? "\nSomething required is broken; see above.\n" : "\nEverything required works.\n");
    return broken_;
  }

 private:
  // Advice may follow a finding, so its object is printed with the next one.
  void end_finding() {
    if (!finding_) return;
    finding_->end_object();
    out_.print(std::string(finding_->text()) + "\n");
    finding_.reset();
  }
  static std::string_view name_of(Verdict verdict) {
    constexpr std::string_view kNames[] = {"ok", "note", "warning", "broken"};
    return kNames[static_cast<int>(verdict)];
  }
  std::string mark(Verdict verdict) const {
    switch (verdict) {
      case Verdict::kOk:
        return out_.styled("32", "ok    ");
      case Verdict::kNote:
        return "note  ";
      case Verdict::kWarn:
        return out_.styled("33", "warn  ");
      case Verdict::kBroken:
        return out_.styled("31", "BROKEN");
    }
    return "note  ";
  }

  Output& out_;
  const bool json_;
  bool broken_ = false;
  std::string section_;
  std::optional<JsonWriter> finding_;
};

std::string mode_text(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

// A missing directory that must exist is reported with the hooks.
void check_directory(Report& report, const std::string& path, bool holds_hooks, bool must_exist = false) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 && must_exist) return;
  if (::stat(path.c_str(), &info) != 0) return report.say(Verdict::kNote, path + " does not exist yet");
  if (!S_ISDIR(info.st_mode)) {
    report.say(Verdict::kBroken, path + " is not a directory");
    return report.advise("move it away");
  }
  if ((info.st_mode & 022) != 0) {
    report.say(holds_hooks ? Verdict::kBroken : Verdict::kWarn,
               path + " is writable by others (mode " + mode_text(info.st_mode) + ")");
    return report.advise("chmod go-w " + shell_word(path));
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    report.say(Verdict::kWarn, path + " belongs to another user");
    return report.advise("chown it, or set AGENTD_HOME to a directory of your own");
  }
  if (::access(path.c_str(), W_OK) != 0 && !holds_hooks) {
    const bool mount = errno == EROFS;
    report.say(Verdict::kBroken, path + (mount ? " is on a read-only file system" : " is not writable"));
    return report.advise(mount ? "set AGENTD_HOME to a directory on another one; until then, use 'agentd run --no-save'"
                               : "chmod u+w " + shell_word(path) + ", or set AGENTD_HOME");
  }
  report.say(Verdict::kOk, path + " (mode " + mode_text(info.st_mode) + ")");
}

// Messages that hooks removed and that earlier versions kept.
void check_removed_texts(Report& report, const Store& store) {
  const auto removed = removed_texts(store);
  if (!removed) return report.say(Verdict::kWarn, "receipts of hooks: " + removed.error().message);
  if (!removed->damaged.empty()) {
    report.say(Verdict::kWarn, counted(removed->damaged.size(), "conversation") + " could not be read, the first is " +
                                   removed->damaged.front().text());
    report.advise("agentd store check");
  }
  if (removed->found.empty()) return;
  std::set<Ulid> conversations;
  for (const RemovedText& each : removed->found) conversations.insert(each.conversation);
  report.say(Verdict::kWarn, counted(removed->found.size(), "receipt") + " of " +
                                 counted(conversations.size(), "conversation") + " keep" +
                                 (removed->found.size() == 1 ? "s" : "") +
                                 " a message as it was before a hook blocked or rewrote it");
  report.advise("agentd conversation erase --removed");
}

void check_own_store(Report& report, const App& app, const std::string& home) {
  const auto store = open_store(home, false, app.clock());
  if (!store && store.error().code == Code::kNotFound)
    return report.say(Verdict::kNote, "no store yet; the first run creates " + home + "/store");
  if (!store) {
    report.say(Verdict::kBroken, store.error().message);
    return report.advise("until it is fixed, use 'agentd run --no-save'");
  }
  const auto stats = (*store)->stats();
  if (!stats) return report.say(Verdict::kBroken, stats.error().message);
  for (const char* const part : {"", "/data.mdb"})
    if (const std::string path = home + "/store" + part; ::access(path.c_str(), W_OK) != 0) {
      const int why = errno;
      report.say(Verdict::kBroken,
                 "store " + stats->path + " can be read only: " + errno_error("writing to " + path, why).message);
      return report.advise("make it writable, or set AGENTD_HOME; until then, use 'agentd run --no-save'");
    }
  report.say(Verdict::kOk, "store " + stats->path + ", format " + std::to_string(stats->format) + ", " +
                               counted(stats->conversations, "conversation") + ", " + with_commas(stats->bytes) +
                               " bytes");
  check_removed_texts(report, **store);
}

void check_log(Report& report, const Config& config, const std::string& home) {
  const std::string file = log_file(config, home);
  if (file.empty()) return report.say(Verdict::kNote, "nothing is logged: log.level is off");
  const auto checked = check_log_file(file);
  report.say(checked ? Verdict::kOk : Verdict::kWarn,
             checked ? "log " + file + ", level " + config.text("log.level") : checked.error().message);
}

void check_configuration(Report& report, const App& app, const ConfigSources& sources) {
  for (const std::string& file : {sources.system_file, sources.user_file}) {
    const bool there = ::access(file.c_str(), F_OK) == 0;
    report.say(there ? Verdict::kOk : Verdict::kNote, file + (there ? "" : " does not exist; defaults apply"));
  }
  if (const auto cwd = app.directory(); !cwd)
    report.say(Verdict::kBroken, cwd.error().message);
  else if (::access((*cwd + "/.agent/config.yaml").c_str(), F_OK) == 0)
    report.say(Verdict::kNote, "./.agent/config.yaml is not read: a project cannot change settings");
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::string name = text.substr(0, text.find('='));
    if (name.rfind("AGENTD_", 0) != 0 || name == "AGENTD_HOME") continue;
    bool known = false;
    for (const KeySpec& key : config_keys()) known = known || environment_name(key) == name;
    report.say(known ? Verdict::kOk : Verdict::kWarn, name + (known ? " is set" : " is set, but no key has that name"));
  }
}

// The hooks of a file that run in the sandbox: none, all or some.
std::string sandbox_text(const HookSource& source, const HookHostOptions& options) {
  const std::vector<HookRow> rows = rows_of(source, options);
  const auto in = std::count_if(rows.begin(), rows.end(), [](const HookRow& row) { return row.sandbox; });
  if (in == 0) return {};
  return static_cast<std::size_t>(in) == rows.size() ? ", in the sandbox" : ", some of its hooks in the sandbox";
}

std::string hook_line(const HookSource& source, const HookHostOptions& options) {
  std::string out = source.name + ": " + kind_text(source);
  if (source.guard) out += ", guard";
  out += sandbox_text(source, options);
  if (source.trust == SourceTrust::kNew) out += ", new: its bytes are recorded at the next run";
  return out;
}

void check_hook(Report& report, const HookSource& source, const HookHostOptions& options) {
  const std::string why = source.name + ": " + source.why_not;
  switch (source.state) {
    case HookState::kOn:
      report.say(Verdict::kOk, hook_line(source, options));
      for (const std::string& problem : source.problems) report.say(Verdict::kNote, problem);
      if (source.lacks.any())
        report.say(source.lacks.on_purpose ? Verdict::kNote : Verdict::kWarn,
                   source.name + " " + source.lacks.sentence());
      return;
    case HookState::kOff:
      return report.say(Verdict::kNote, why);
    case HookState::kWaits:
    case HookState::kBroken:
    case HookState::kMissing:
    case HookState::kSetAside:
      if (source.unreadable) {
        report.say(Verdict::kBroken, why);
        return report.advise(
            "no run begins until it is fixed, disabled (hooks.NAME.enabled: false) or removed from hooks.adapt");
      }
      if (!source.blocks()) return report.say(Verdict::kWarn, why);
      report.say(Verdict::kBroken, "guard " + why);
      report.advise("until it runs, it blocks " + (source.events.empty() ? "every tool call" : joined(source.events)));
  }
}

// A hook that is to run in the sandbox does not run without one.
void check_sandboxed_hooks(Report& report, const App& app, const HooksHere& here, const Inventory& inventory) {
  const bool any = std::any_of(inventory.sources.begin(), inventory.sources.end(), [&](const HookSource& source) {
    return source.state == HookState::kOn && !sandbox_text(source, here.setup.options).empty();
  });
  if (!any) return;
  const cage::Layers& layers = cage::probe(cage_program(app.surroundings().executable));
  if (!cage_is_off(here.config) && cage_layer(here.config, layers)) return;
  report.say(Verdict::kBroken, "hooks that are to run in the sandbox do not run, since there is none: see below");
  report.advise("make one possible, or let a hook run outside with hooks.NAME.sandbox: off");
}

void check_tools_of_hooks(Report& report, const App& app, const HooksHere& here, const Inventory& inventory) {
  const bool others = may_have_other_tools(here, inventory);
  const std::vector<Tool> tools = bundled_tools(app, here, inventory);
  std::set<std::string> told;
  for (const HookSource& source : inventory.sources)
    if (source.manifest && source.state == HookState::kOn)
      for (const NameMistake& mistake : config_name_mistakes(here.config, source.name, *source.manifest, tools))
        if (told.insert(mistake.text).second)
          report.say(mistake.broken && !others ? Verdict::kBroken : Verdict::kWarn, mistake.text);
  for (const HookSource& source : inventory.sources)
    for (const HookDefinition& hook : source.hooks)
      for (const NameMistake& mistake : unknown_names(hook, tools))
        if (source.state == HookState::kOn && told.insert(mistake.text).second)
          report.say(mistake.broken && !others ? Verdict::kBroken : Verdict::kWarn, mistake.text);
  if (others && !told.empty()) report.advise("a run checks these names again with the tools of your own plugins");
}

void check_hooks(Report& report, const App& app, const HooksHere& here) {
  const HookSetup& setup = here.setup;
  // A project needs no hooks; problems of its directory are reported below.
  for (const HookDirectory& directory : setup.options.native.directories)
    if (directory.path != setup.bundled && directory.precedence != Precedence::kProject)
      check_directory(report, directory.path, true, !directory.setting.empty());
  if (setup.bundled.empty()) {
    report.say(Verdict::kWarn, "the bundled hooks were not found: the agent has no tools");
    report.advise("keep lib/agentd/hooks, or hooks, next to the program");
  } else {
    report.say(Verdict::kOk, setup.bundled + " (bundled)");
  }
  Inventory inventory = inventory_of(app, here);
  NullLog log;
  ask_programs(inventory, setup.options, app.clock(), log);
  for (const HookProblem& problem : inventory.problems)
    report.say(problem.path == setup.options.trust_file ? Verdict::kBroken : Verdict::kWarn, problem.message);
  for (const HookSource& source : inventory.sources) check_hook(report, source, setup.options);
  check_sandboxed_hooks(report, app, here, inventory);
  check_tools_of_hooks(report, app, here, inventory);
}

void check_names(Report& report, const App& app, const HooksHere& here) {
  for (const NameProblem& problem : hook_name_problems(here.config, inventory_of(app, here))) {
    const bool broken = problem.weight == NameProblem::Weight::kBroken;
    report.say(broken                                            ? Verdict::kBroken
               : problem.weight == NameProblem::Weight::kWarning ? Verdict::kWarn
                                                                 : Verdict::kNote,
               problem.text);
    if (broken) report.advise("no run begins until the name is corrected or the setting is removed");
  }
}

void check_permissions(Report& report, const App& app, const HooksHere& here) {
  const Inventory inventory = inventory_of(app, here);
  const std::vector<RuleProblem> problems =
      rule_problems(here.config, {"task"}, !may_have_other_tools(here, inventory));
  for (const RuleProblem& problem : problems)
    report.say(problem.broken ? Verdict::kBroken : Verdict::kWarn, problem.text);
  const std::vector<std::string> of_servers = mcp_rule_warnings(app, here.config, here.home, here.project);
  for (const std::string& text : of_servers) report.say(Verdict::kWarn, text);
  if (problems.empty() && of_servers.empty())
    report.say(Verdict::kOk, "mode " + here.config.text("permissions.mode") + ", " +
                                 std::to_string(here.config.list("permissions.allow").size()) + " rules that allow, " +
                                 std::to_string(here.config.list("permissions.ask").size()) + " that ask, " +
                                 std::to_string(here.config.list("permissions.deny").size()) + " that deny");
  if (const auto roots = check_roots(here.config); !roots) report.say(Verdict::kBroken, roots.error().message);
}

// The selected provider, and those that a setting names, must be complete; of the others, those with a key are
// listed.
void check_provider(Report& report, const Config& config, const ModelTable& table, const KeyRing& keys,
                    const std::string& name, bool needed) {
  const Verdict wrong = needed ? Verdict::kBroken : Verdict::kWarn;
  const auto setup = provider_setup(config, table, name);
  if (!setup) return report.say(wrong, setup.error().message);
  const auto key = keys.find(*setup);
  // Problems of the key file are reported once, separately.
  if (!key && key.error().code == Code::kInvalid) return report.say(wrong, key.error().message);
  const bool none = !key || !*key;
  if (none && !needed) return;
  if (none && setup->key_variable.empty())
    report.say(Verdict::kOk, name + ": needs no key");
  else if (none)
    report.say(Verdict::kBroken, name + ": " + setup->key_variable + " is not set, and no key is stored");
  else
    report.say(Verdict::kOk, name + ": " +
                                 (key->kind == KeySource::Kind::kFile ? "a key is stored for " + setup->place
                                                                      : key->variable + " is set") +
                                 " (not checked with the provider)");
  if (none && !setup->key_variable.empty())
    report.advise("run " + shell_command("agentd auth set", name) + ", or export " + setup->key_variable +
                  "=..., or, without a key, use --script FILE");
  const std::string variable = none ? std::string() : key->variable;
  report.say(Verdict::kNote,
             name + ": requests go to " + setup->place + " (" + setup->url_origin + "), " +
                 (none               ? "without a key"
                  : variable.empty() ? "with the stored key"
                                     : "with the key in " + variable),
             {{"provider", name},
              {"host", setup->place},
              {"address_from", setup->url_origin},
              {"key_from", none               ? "none"
                           : variable.empty() ? "file"
                                              : "environment"},
              {"variable", variable}});
}

void check_stored_keys(Report& report, const std::string& home) {
  const auto stored = Credentials::load(home);
  if (!stored) return report.say(Verdict::kBroken, stored.error().message);
  if (!stored->all().empty())
    report.say(Verdict::kOk,
               Credentials::file(home) + ": " + counted(stored->all().size(), "key") + " ('agentd auth list')");
}

void check_script(Report& report, const Config& config) {
  const std::string script = config.text("scripted.file");
  const bool readable = !script.empty() && ::access(script.c_str(), R_OK) == 0;
  report.say(readable ? Verdict::kOk : Verdict::kWarn,
             script.empty() ? "scripted: no file is set; give --script FILE"
                            : "scripted: " + script + (readable ? "" : " cannot be read"));
}

void check_providers(Report& report, const App& app, const Config& config, const ModelTable& table,
                     const std::string& home, const std::string& in_force) {
  check_stored_keys(report, home);
  const KeyRing keys(app.surroundings().environment, home);
  const std::set<std::string> names = provider_names(config);
  std::set<std::string> asked{in_force};
  if (in_force != kScripted)
    for (const auto& [setting, model] : models_beside(config, in_force)) asked.insert(route_of(model, names).provider);
  for (const std::string& name : names)
    if (name != kScripted) check_provider(report, config, table, keys, name, asked.contains(name));
  const bool needed = in_force != kScripted;
  const Result<std::string> library = http_library_version();
  report.say(library  ? Verdict::kOk
             : needed ? Verdict::kBroken
                      : Verdict::kWarn,
             library ? *library : library.error().message);
  if (!library) report.advise("install libcurl (Debian: apt install libcurl4)");
  if (!needed) check_script(report, config);
}

void check_model(Report& report, const App& app, const Config& config, const std::string& home) {
  const Result<ModelTable> table = load_model_table(home, config);
  if (!table) return report.say(Verdict::kBroken, table.error().message);
  const auto route = model_in_force(config, *table, app.clock().wall_ms());
  if (!route) return report.say(Verdict::kBroken, route.error().message);
  report.say(Verdict::kNote, "provider: " + route->provider + " (" + config.origin("provider") + ")");
  check_providers(report, app, config, *table, home, route->provider);
  for (const std::string& alias : config.model_aliases())
    if (table->knows(alias))
      report.say(Verdict::kNote, config.origin("models.aliases." + alias) + ": alias " + alias +
                                     " hides the model of the same name: " + real_model(config, alias, "") +
                                     " is used");
  const ModelInfo model = table->find(route->model);
  if (auto budget = budget_of(config, model); !budget) return report.say(Verdict::kBroken, budget.error().message);
  const std::vector<std::string> warnings = model_warnings(*table, config, *route, home, app.clock().wall_ms());
  for (const std::string& warning : warnings) report.say(Verdict::kWarn, warning);
  if (warnings.empty())
    report.say(Verdict::kNote, "model: " + route->model + " ('agentd models " + route->model + "' shows details)");
}

void check_secrets(Report& report, const Config& config) {
  if (!config.flag("secrets.scrub"))
    return report.say(Verdict::kWarn, "secrets.scrub is off: no secrets are looked for");
  const auto made = make_secrets(config, {});
  report.say(made ? Verdict::kOk : Verdict::kBroken,
             made ? std::string("keys and passwords in the output of tools get placeholders") : made.error().message);
}

void check_search(Report& report) {
  const auto library = SqliteLibrary::load();
  report.say(library ? Verdict::kOk : Verdict::kWarn,
             library ? std::string("SQLite: conversations can be searched") : library.error().message);
}

void check_layer(Report& report, cage::Layer layer, const cage::LayerState& state, bool used) {
  const std::string name(cage::name_of(layer));
  if (state.holds) return report.say(Verdict::kOk, name + ": " + state.facts + (used ? ", used for commands" : ""));
  report.say(Verdict::kNote, name + ": " + state.why);
  report.advise(state.cure);
}

void check_rights(Report& report, const Config& config) {
  const std::vector<std::string> network = config.list("sandbox.network");
  report.say(Verdict::kNote, "commands may write in the workspace roots, in a /tmp and a cache of their own" +
                                 std::string(config.list("sandbox.writable").empty()
                                                 ? ""
                                                 : ", and in " + joined(config.list("sandbox.writable"))));
  report.say(Verdict::kNote,
             "commands may read the system, toolchains and caches of package managers; no keys, and "
             "nothing else of your home ('agentd sandbox explain PATH')");
  if (config.flag("sandbox.local_sockets"))
    report.say(Verdict::kNote,
               "commands may use local sockets, and reach programs outside of the sandbox that listen in "
               "these directories (sandbox.local_sockets); not under Landlock alone");
  report.say(network == std::vector<std::string>{"all"} ? Verdict::kWarn : Verdict::kNote,
             network.empty() ? "commands have no network (sandbox.network)" : "commands may reach " + joined(network));
}

// Runs a command as the first one of a session in this directory.
Result<void> try_command(Report& report, const App& app, const SandboxHere& here) {
  AGENTD_TRY(const std::unique_ptr<cage::Cage> cage, open_cage(here));
  AGENTD_TRY(const CagedCommand command, cage->wrap({"/bin/true"}, here.cwd, clean_environment()));
  ProcessRequest request;
  request.argv = command.argv;
  request.cwd = here.cwd;
  request.environment = command.environment;
  for (const UniqueFd& each : command.descriptors) request.pass.push_back(each.get());
  AGENTD_TRY(const ProcessResult ran,
             run_process(request, app.clock(), CancelToken(), Deadline::after(app.clock(), kTrialTime)));
  for (const std::string& each : command.finish(ran.output, ran.exit_code).remarks) report.say(Verdict::kWarn, each);
  if (ran.exit_code == 0) return {};
  return Error{Code::kUnavailable, "a trial of one in this directory has failed: " + one_line(ran.output, 300)};
}

void check_commands(Report& report, const App& app, const Config& config) {
  const auto here = sandbox_here(app, config);
  const auto right = here ? try_command(report, app, *here) : Result<void>(here.error());
  if (!right) report.say(Verdict::kBroken, "commands are not run: " + right.error().message);
  if (!here || here->settings.user_home.empty()) return;
  for (const std::string& root : here->settings.roots)
    if (cage::is_below(cage::real_as_far(here->settings.user_home), cage::real_as_far(root)))
      return report.say(Verdict::kWarn, "the workspace " + root +
                                            " contains your home, where commands can read and change all but "
                                            "the known places of keys: work in a directory below");
}

void check_sandbox(Report& report, const App& app, const Config& config) {
  const cage::Layers& layers = cage::probe(cage_program(app.surroundings().executable));
  const bool off = cage_is_off(config);
  const auto layer = off ? Result<cage::Layer>(Error{}) : cage_layer(config, layers);
  if (off) {
    report.say(Verdict::kWarn, std::string(kCageOffText) + " (" + config.origin("sandbox.layer") + ")");
  } else if (!layer) {
    report.say(Verdict::kBroken, "commands are not run: no sandbox that sandbox.layer (" +
                                     config.text("sandbox.layer") + ") allows can be made");
  }
  for (const cage::Layer each : {cage::Layer::kBubblewrap, cage::Layer::kLandlock})
    check_layer(report, each, layers.of(each), layer && *layer == each);
  if (layer && *layer == cage::Layer::kLandlock)
    report.say(Verdict::kNote,
               "under Landlock alone a change of .git/hooks and its like is undone when the command has ended, not "
               "prevented; commands have no sockets but for the proxy");
  if (layer) {
    check_commands(report, app, config);
    check_rights(report, config);
  } else if (const auto right =
                 off ? Result<void>() : check_cage_settings(app.surroundings(), config, app.home().value_or(""));
             !right) {
    report.say(Verdict::kBroken, "commands are not run: " + right.error().message);
  }
  report.say(Verdict::kOk, "file tools cannot leave the workspace roots");
}

}  // namespace

int doctor_command(App& app, const Arguments& arguments) {
  Report report(app.out(), arguments.has("json"));
  report.section("Configuration");
  const Result<std::string> home = app.home();
  Result<ConfigSources> sources = config_sources(app.surroundings());
  if (!home || !sources) return app.fail(kExitFailure, home.error().message);
  check_configuration(report, app, *sources);
  Result<Config> config = app.config(arguments);
  if (!config) {
    report.say(Verdict::kBroken, config.error().message);
    report.advise("fix it; the rest of this report uses the defaults");
    config = Config::load({});
    if (!config) return app.fail(kExitFailure, config.error().message);
  }
  report.section("Home and store");
  check_directory(report, *home, false);
  check_own_store(report, app, *home);
  check_log(report, *config, *home);
  check_search(report);
  check_secrets(report, *config);
  report.section("Hooks");
  const HooksHere here = hooks_here(app, *config, *home);
  check_hooks(report, app, here);
  check_names(report, app, here);
  report.section("Permissions");
  check_permissions(report, app, here);
  report.section("Provider");
  check_model(report, app, *config, *home);
  report.section("Sandbox");
  check_sandbox(report, app, *config);
  return report.end() ? kExitFailure : kExitOk;
}

}  // namespace agentd::app
