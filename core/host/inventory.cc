// SPDX-License-Identifier: Apache-2.0
#include "core/host/inventory.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/shell_word.h"
#include "core/dialects/dialect.h"
#include "core/host/guard_check.h"
#include "core/trust/quarantine.h"
#include "core/trust/recipe_files.h"

namespace agentd {
namespace {

constexpr std::uint64_t kHookBytesMax = 256u << 20;
constexpr std::size_t kHeadBytes = 4096;  // longer than any interpreter line
constexpr const char* kNotAllowed = "off: no glob of hooks.allow matches it";

SourceKind source_kind(HookKind kind) {
  switch (kind) {
    case HookKind::kNative:
      return SourceKind::kNative;
    case HookKind::kDeclarative:
      return SourceKind::kYaml;
    case HookKind::kExecutable:
      return SourceKind::kExecutable;
  }
  return SourceKind::kNative;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const HookSettings& settings_of(const HookHostOptions& options, const std::string& name) {
  static const HookSettings none;
  const auto found = options.settings.find(name);
  return found == options.settings.end() ? none : found->second;
}

bool fails_closed(const HookDefinition& hook) {
  return hook.on_failure ? *hook.on_failure == FailurePolicy::kClosed : hook.guard;
}

void add_hooks(HookSource& out, std::vector<HookDefinition> hooks) {
  out.hooks = std::move(hooks);
  out.events.clear();
  for (const HookDefinition& hook : out.hooks) {
    const EventTraits* const event = find_event(hook.event);
    if (event != nullptr && !has_name(out.events, std::string(event->name))) out.events.emplace_back(event->name);
    out.guard = out.guard || fails_closed(hook);
  }
}

std::string off_text(const std::string& name) { return "off: set hooks." + name + ".enabled"; }

class Describer {
 public:
  Describer(const HookHostOptions& options, const Clock& clock) : options_(options) {
    looking_.record = false;
    looking_.dev = options.consent.dev;
    look_at_quarantine(clock);
    if (options.trust_file.empty()) return;
    auto store = TrustStore::open(options.trust_file, options.native.user, clock);
    if (store)
      trust_ = std::move(*store);
    else
      out_.problems.push_back({options.trust_file, "", one_line(store.error().message, 2000)});
  }

  Inventory run() {
    for (HookDescription& each : describe_hooks(options_.native)) manifests_.emplace(each.path, std::move(each));
    HookScan scan = scan_hook_directories(options_.native.directories, options_.native.disable, options_.native.user,
                                          options_.native.allow);
    for (HookFile& file : scan.files) add_file(file);
    refuse_namesakes();
    for (const AdaptedSource& source : options_.adapted) add_adapted(source);
    if (!options_.project_recipes.empty())
      for (const std::string& file : recipe_files(options_.project_recipes)) add_recipe(file);
    for (HookProblem& each : scan.problems)
      if (!is_adapted(each, options_.adapted)) add_problem(std::move(each));
    for (const HookName& each : scan.disabled) add_disabled(each, "disabled by hooks.disable");
    for (const HookName& each : scan.not_allowed) add_disabled(each, kNotAllowed);
    add_missing_guards();
    check_guards();
    for (HookSource& each : out_.sources) each.why_not = one_line(each.why_not, 2000);
    drop_repeats();
    return std::move(out_);
  }

  // Describes a file that may be parsed.
  static Result<void> parse(HookSource& out, const HookFile& file, const std::string& bytes) {
    if (file.kind != HookKind::kDeclarative) return {};
    AGENTD_TRY(LoadedHooks loaded, load_declarative(file, bytes));
    out.problems = std::move(loaded.problems);
    add_hooks(out, std::move(loaded.hooks));
    return {};
  }

 private:
  void add_file(HookFile& file) {
    HookSource out;
    out.name = file.name;
    out.path = file.path;
    out.kind = source_kind(file.kind);
    out.precedence = file.precedence;
    out.guard =
        has_name(options_.guards, file.name) || settings_of(options_, file.name).on_failure == FailurePolicy::kClosed;
    if (auto described = describe(out, file); !described) {
      set(out, HookState::kBroken, described.error().message);
      out.unreadable = is_unreadable(file, described.error());
    }
    out_.sources.push_back(std::move(out));
  }

  // As in the host: modules are loaded first, and a name belongs to the first file that has it.
  void refuse_namesakes() {
    std::map<std::string, std::string> owners;
    for (const bool native : {true, false})
      for (HookSource& each : out_.sources) {
        if (each.state != HookState::kOn || (each.kind == SourceKind::kNative) != native) continue;
        const auto [owner, own] = owners.emplace(each.name, each.path);
        if (own || native) continue;
        set(each, HookState::kBroken,
            each.path + " is not loaded: " + owner->second + " has the same name '" + each.name +
                "': rename one of the two");
        each.unreadable =
            each.precedence != Precedence::kProject &&
            std::filesystem::path(each.path).parent_path() == std::filesystem::path(owner->second).parent_path();
      }
  }

  static void set(HookSource& out, HookState state, std::string why_not) {
    out.state = state;
    out.why_not = std::move(why_not);
  }

  Result<void> describe(HookSource& out, HookFile& file) {
    const bool off =
        !settings_of(options_, file.name).enabled.value_or(is_enabled(file.name).value_or(file.on_by_default));
    if (off) set(out, HookState::kOff, off_text(file.name));
    std::string bytes;
    // The system's files may be large, and need no digest here.
    if (file.precedence != Precedence::kSystem || file.kind == HookKind::kDeclarative) {
      AGENTD_TRY(bytes, read_fd(file.fd.get(), kHookBytesMax, file.path));
    }
    AGENTD_TRY_VOID(
        judge(out, file.path, file.precedence, file.precedence == Precedence::kSystem ? "" : hex(sha256(bytes))));
    if (out.state == HookState::kWaits) return {};
    if (file.kind == HookKind::kNative) {
      AGENTD_TRY_VOID(describe_native(out));
      return describe_place(out, file);
    }
    if (file.kind == HookKind::kExecutable) {
      AGENTD_TRY_VOID(check_interpreter(file.path, bytes.empty() ? head_of(file) : bytes));
      AGENTD_TRY_VOID(describe_place(out, file));
    }
    return parse(out, file, bytes);
  }

  static std::string head_of(const HookFile& file) {
    char head[kHeadBytes];
    const ssize_t length = ::pread(file.fd.get(), head, sizeof head, 0);
    return {head, length > 0 ? static_cast<std::size_t>(length) : 0};
  }

  std::optional<bool> is_enabled(const std::string& name) const {
    const auto found = options_.native.plugins.find(name);
    return found == options_.native.plugins.end() ? std::nullopt : found->second.enabled;
  }

  Result<void> describe_native(HookSource& out) {
    const auto found = manifests_.find(out.path);
    if (found == manifests_.end()) return {};
    out.manifest = found->second.manifest;
    if (out.manifest) {
      out.isolation = name_of(found->second.isolation);
      out.events = out.manifest->events;
      out.guard = out.guard || out.manifest->has_capability("gate") || out.manifest->has_capability("redact");
    }
    if (out.state == HookState::kOn && !found->second.ok()) set(out, HookState::kBroken, found->second.obstacle);
    if (out.state != HookState::kOn) return {};
    if (found->second.lacks.required)
      set(out, HookState::kBroken, out.path + " " + found->second.lacks.sentence());
    else
      out.lacks = found->second.lacks;
    return {};
  }

  void look_at_quarantine(const Clock& clock) {
    const std::string& directory = options_.native.quarantine_directory;
    if (directory.empty()) return;
    auto opened = Quarantine::open(directory, clock, false);
    if (opened) {
      for (std::string& problem : (*opened)->problems())
        out_.problems.push_back({directory, "", one_line(problem, 2000)});
      quarantine_ = std::move(*opened);
      set_aside_ = quarantine_->entries();
    } else {
      out_.problems.push_back({directory, "", one_line(opened.error().message, 2000)});
    }
  }

  // Checks whether the bytes are quarantined, and whether an earlier module has the same id.
  Result<void> describe_place(HookSource& out, HookFile& file) {
    if (out.state != HookState::kOn) return {};
    // The system's large files are read only if there is an entry to compare with.
    const bool suspect = std::any_of(set_aside_.begin(), set_aside_.end(), [&](const auto& entry) {
      return entry.path == out.path || entry.digest == out.entry.digest;
    });
    if (suspect) {
      std::string digest = out.entry.digest;
      if (digest.empty()) {
        AGENTD_TRY(const std::string bytes, read_fd(file.fd.get(), kHookBytesMax, file.path));
        digest = hex(sha256(bytes));
      }
      if (const std::string why_not = quarantine_->why_not(digest); !why_not.empty())
        set(out, HookState::kSetAside, why_not);
    }
    if (out.state != HookState::kOn || !out.manifest) return {};
    const auto [first, is_first] = ids_.emplace(out.manifest->id, out.path);
    if (!is_first)
      set(out, HookState::kBroken,
          out.path + " has the same id " + out.manifest->id + " as " + first->second +
              ", which is loaded: disable one of the two");
    return {};
  }

  // Asks the trust store about the bytes; `digest` is empty for the system's.
  Result<void> judge(HookSource& out, const std::string& path, Precedence precedence, std::string digest) {
    out.entry.name = out.name;
    out.entry.path = canonical_path(path);
    out.entry.digest = std::move(digest);
    seen_.insert(out.entry.path);
    if (precedence == Precedence::kSystem) {
      out.trust = SourceTrust::kSystem;
      return {};
    }
    if (precedence == Precedence::kProject) {
      AGENTD_TRY(out.entry.repository, TrustStore::repository_key(options_.project_root));
    }
    if (const TrustEntry* const known = trust_ ? trust_->find(out.entry.path) : nullptr;
        known != nullptr && known->repository == out.entry.repository) {
      out.guard = out.guard || known->guard;
      out.events = known->events;
    }
    out.trust = trust_of(out.entry, precedence);
    const Consent given = consent(trust_ ? &*trust_ : nullptr, out.entry, precedence, looking_);
    if (!given.runs && out.state == HookState::kOn) set(out, HookState::kWaits, given.why_not);
    return {};
  }

  SourceTrust trust_of(const TrustEntry& entry, Precedence precedence) const {
    if (!trust_) return SourceTrust::kUnknown;
    switch (trust_->judge(entry)) {
      case Trust::kTrusted:
        return SourceTrust::kTrusted;
      case Trust::kChanged:
        return SourceTrust::kChanged;
      case Trust::kNew:
        return precedence == Precedence::kProject ? SourceTrust::kWaits : SourceTrust::kNew;
    }
    return SourceTrust::kNew;
  }

  void add_adapted(const AdaptedSource& source) {
    HookSource out;
    out.name = canonical_path(source.path);
    out.path = source.path;
    out.kind = SourceKind::kSettings;
    out.dialect = source.dialect;
    out.precedence = source.precedence;
    auto loaded = load_adapted(source, options_.native.user);
    if (loaded) {
      if (!loaded->hooks.empty()) out.dialect = loaded->hooks[0].dialect;
      out.problems = loaded->problems;
      (void)!judge(out, source.path, source.precedence, loaded->bytes.digest);
      add_hooks(out, std::move(loaded->hooks));
      add_mistakes(out, loaded->mistakes);
    } else {
      set(out, HookState::kBroken, loaded.error().message);
      out.unreadable = is_unreadable(source, loaded.error());
    }
    out_.sources.push_back(std::move(out));
  }

  void add_mistakes(HookSource& out, const std::vector<SourceMistake>& mistakes) const {
    for (const SourceMistake& each : mistakes) {
      const bool foreign = out.precedence == Precedence::kProject;
      if (is_off(options_, each.hook) || out.unreadable || (foreign && out.state != HookState::kOn)) continue;
      set(out, HookState::kBroken, each.sentence);
      out.unreadable = !foreign;
      out.guard = true;
    }
  }

  // A project's recipe is not a hook, but needs trust like one.
  void add_recipe(const std::string& file) {
    HookSource out;
    out.name = project_recipe_name(file);
    out.path = options_.project_recipes + "/" + file;
    out.kind = SourceKind::kRecipe;
    out.precedence = Precedence::kProject;
    const auto bytes = read_recipe_file(options_.project_recipes, file, options_.native.user);
    Result<void> judged =
        bytes ? judge(out, out.path, out.precedence, hex(sha256(*bytes))) : Result<void>(bytes.error());
    if (!judged) set(out, HookState::kBroken, judged.error().message);
    out_.sources.push_back(std::move(out));
  }

  void add_problem(HookProblem problem) {
    if (problem.name.empty()) return out_.problems.push_back(std::move(problem));
    HookSource out;
    out.name = problem.name;
    out.path = problem.path;
    out.kind = problem.no_hook ? SourceKind::kUnknown : kind_of_path(problem.path);
    out.entry.path = canonical_path(problem.path);
    if (out.name.rfind("project/", 0) == 0) out.precedence = Precedence::kProject;
    out.guard = has_name(options_.guards, out.name) || is_known_guard(out.entry.path);
    seen_.insert(out.entry.path);
    set(out, HookState::kBroken, std::move(problem.message));
    out_.sources.push_back(std::move(out));
  }

  // A problem of the trust store weighs more than the same one of a directory, and stays.
  void drop_repeats() {
    std::vector<HookProblem> all = std::exchange(out_.problems, {});
    std::stable_partition(all.begin(), all.end(),
                          [this](const HookProblem& each) { return each.path == options_.trust_file; });
    for (HookProblem& each : all)
      if (!is_among(each, out_.problems)) out_.problems.push_back(std::move(each));
  }

  static SourceKind kind_of_path(const std::string& path) {
    return source_kind(kind_by_name(path).value_or(HookKind::kExecutable));
  }

  bool is_known_guard(const std::string& path) const {
    const TrustEntry* const known = trust_ ? trust_->find(path) : nullptr;
    return known != nullptr && known->guard;
  }

  void add_disabled(const HookName& hook, std::string why_not) {
    HookSource out;
    out.name = hook.name;
    out.precedence = hook.precedence;
    set(out, HookState::kOff, std::move(why_not));
    out_.sources.push_back(std::move(out));
  }

  bool has(const std::string& name) const {
    return std::any_of(out_.sources.begin(), out_.sources.end(), [&](const HookSource& source) {
      return source.name == name || std::any_of(source.hooks.begin(), source.hooks.end(),
                                                [&](const HookDefinition& hook) { return hook.name == name; });
    });
  }

  void add_missing(const std::string& name, const std::string& path, const std::vector<std::string>& events) {
    if (path.empty() && has(name)) return;
    HookSource out;
    out.name = name;
    out.path = path;
    out.kind = path.empty() ? SourceKind::kUnknown : kind_of_path(path);
    out.events = events;
    out.guard = true;
    set(out, HookState::kMissing,
        "its file is missing, so its events are blocked: restore it, or remove it from the guards with " +
            shell_command("agentd hooks untrust", name));
    if (path.empty())
      out.why_not = "hooks.guards names it, but no such hook exists: restore it, or remove the name from hooks.guards";
    out_.sources.push_back(std::move(out));
  }

  void add_missing_guards() {
    const auto here = TrustStore::repository_key(options_.project_root);
    if (trust_)
      for (const TrustEntry& entry : trust_->entries()) {
        const bool foreign = !entry.repository.empty() && (!here || entry.repository != *here);
        if (entry.guard && !foreign && !seen_.contains(entry.path)) add_missing(entry.name, entry.path, entry.events);
      }
    for (const std::string& name : options_.guards) add_missing(name, "", {});
  }

  // As in the host, with what is known without running anything.
  void check_guards() {
    each_named_guard(options_, [this](const std::string& name, const std::string& place) {
      GuardCheck check;
      HookSource* found = nullptr;
      for (HookSource& source : out_.sources)
        if (source.state == HookState::kOn && add_to(check, source, name)) found = &source;
      const std::string mistake = check.mistake();
      if (mistake.empty()) return;
      set(*found, HookState::kBroken, place + ": " + name + mistake);
      found->unreadable = found->guard = true;
    });
  }

  bool add_to(GuardCheck& check, const HookSource& source, const std::string& name) const {
    bool any = false;
    for (HookDefinition hook : source.hooks) {
      if (hook.name != name && !hook.name.starts_with(name + ".")) continue;
      apply_settings(options_, source.name, hook);
      check.add(hook.event, !hook.observes && !hook.async, hook.shadow,
                is_guard(hook) ? FailurePolicy::kClosed : FailurePolicy::kOpen);
      any = true;
    }
    if (any || !source.hooks.empty() || source.name != name) return any;
    // The events of a module or program are known, and so is its configuration.
    const HookSettings& settings = settings_of(options_, name);
    for (const std::string& event : source.events)
      if (const EventTraits* const traits = find_event(event); traits != nullptr) {
        check.add(traits->id, true, settings.shadow.value_or(false),
                  settings.on_failure.value_or(FailurePolicy::kClosed));
        any = true;
      }
    return any;
  }

  const HookHostOptions& options_;
  std::optional<TrustStore> trust_;
  ConsentRules looking_;
  std::map<std::string, HookDescription> manifests_;  // by path
  std::map<std::string, std::string> ids_;            // ids of enabled modules, to their path
  std::unique_ptr<Quarantine> quarantine_;
  std::vector<QuarantineEntry> set_aside_;
  std::set<std::string> seen_;  // canonical paths
  Inventory out_;
};

std::string row_kind(const HookSource& source, const HookDefinition& hook) {
  return source.kind == SourceKind::kYaml && hook.runs == HookRuns::kWebhook ? "webhook" : kind_text(source);
}

HookRow row_of(const HookSource& source, const HookHostOptions& options) {
  HookRow out{source.name, kind_text(source), source.events,  std::nullopt,
              false,       source.state,      source.why_not, &source};
  const HookSettings& settings = settings_of(options, source.name);
  if (source.kind == SourceKind::kExecutable) out.priority = 0;
  if (settings.priority) out.priority = *settings.priority;
  out.shadow = settings.shadow.value_or(false);
  out.sandbox = source.kind == SourceKind::kExecutable &&
                is_sandboxed(options, source.name, source.name, source.precedence, false);
  return out;
}

}  // namespace

std::string_view name_of(SourceTrust trust) {
  constexpr std::string_view kNames[] = {"", "system", "trusted", "new", "changed", "waits", "unknown"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(SourceTrust::kUnknown) + 1);
  return kNames[static_cast<std::size_t>(trust)];
}

std::string kind_text(const HookSource& source) {
  switch (source.kind) {
    case SourceKind::kUnknown:
      return {};
    case SourceKind::kNative:
      return "native";
    case SourceKind::kExecutable:
      return "executable";
    case SourceKind::kYaml:
      return "yaml";
    case SourceKind::kSettings:
      return source.dialect ? std::string(name_of(*source.dialect)) : "settings";
    case SourceKind::kRecipe:
      return "recipe";
  }
  return {};
}

std::string_view name_of(HookState state) {
  switch (state) {
    case HookState::kOn:
      return "on";
    case HookState::kOff:
      return "off";
    case HookState::kWaits:
      return "waits";
    case HookState::kBroken:
      return "broken";
    case HookState::kMissing:
      return "missing";
    case HookState::kSetAside:
      return "set aside";
  }
  return "broken";
}

std::string_view name_of(Precedence precedence) {
  switch (precedence) {
    case Precedence::kSystem:
      return "system";
    case Precedence::kProject:
      return "project";
    case Precedence::kUser:
      return "user";
    case Precedence::kRecipe:
      return "recipe";
  }
  return "user";
}

Inventory describe_all(const HookHostOptions& options, const Clock& clock) { return Describer(options, clock).run(); }

std::vector<HookRow> rows_of(const HookSource& source, const HookHostOptions& options) {
  if (source.hooks.empty()) return {row_of(source, options)};
  std::vector<HookRow> out;
  for (const HookDefinition& hook : source.hooks) {
    HookRow row = row_of(source, options);
    const HookSettings& settings = settings_of(options, hook.name);
    const EventTraits* const event = find_event(hook.event);
    row.name = hook.name;
    row.kind = row_kind(source, hook);
    row.events = {std::string(event == nullptr ? hook.foreign_event : event->name)};
    row.priority = settings.priority ? *settings.priority : hook.priority;
    row.shadow = settings.shadow.value_or(hook.shadow);
    // The settings of another tool's file are those of its hooks.
    const std::string& file = source.kind == SourceKind::kSettings ? hook.name : source.name;
    row.sandbox = runs_program(hook) && is_sandboxed(options, file, hook.name, source.precedence, hook.sandbox);
    const bool off = is_off(options, hook.name);
    if (!is_allowed(options, hook.name) && !is_allowed(options, source.name) && row.state == HookState::kOn) {
      row.state = HookState::kOff;
      row.why_not = kNotAllowed;
    }
    if (off && row.state == HookState::kOn) {
      row.state = HookState::kOff;
      row.why_not = settings.enabled.value_or(true) ? "disabled by hooks.disable" : off_text(hook.name);
    }
    out.push_back(std::move(row));
  }
  return out;
}

const HookSource* find_source(const Inventory& inventory, std::string_view name_or_path) {
  const std::string path = canonical_path(std::string(name_or_path));
  for (const HookSource& source : inventory.sources)
    if (source.name == name_or_path || source.path == name_or_path ||
        (!source.entry.path.empty() && source.entry.path == path))
      return &source;
  for (const HookSource& source : inventory.sources)
    for (const HookDefinition& hook : source.hooks)
      if (hook.name == name_or_path) return &source;
  return nullptr;
}

namespace {

struct Opened {
  HookFile file;
  std::string bytes;
};

// Opens the file again and compares its digest. The system's files have none to compare.
Result<Opened> open_again(const HookSource& source, const HookHostOptions& options) {
  HookScan scan = scan_hook_directories(options.native.directories, options.native.disable, options.native.user,
                                        options.native.allow);
  for (HookFile& file : scan.files) {
    if (file.path != source.path) continue;
    AGENTD_TRY(std::string bytes, read_fd(file.fd.get(), kHookBytesMax, file.path));
    if (!source.entry.digest.empty() && hex(sha256(bytes)) != source.entry.digest)
      return Error{Code::kConflict, source.path + " was changed just now: check it again"};
    return Opened{std::move(file), std::move(bytes)};
  }
  return Error{Code::kNotFound, source.path + " is gone"};
}

Result<LoadedHooks> ask_program(const HookSource& source, const HookHostOptions& options, const Clock& clock,
                                Log& log) {
  AGENTD_TRY(const Opened opened, open_again(source, options));
  return load_executable(opened.file, opened.bytes, {}, probe_options(options, opened.file), clock, log);
}

}  // namespace

Result<HookSource> look_inside(const HookSource& source, const HookHostOptions& options, const Clock& clock, Log& log) {
  HookSource out = source;
  if (out.entry.digest.empty())
    return Error{Code::kInvalid, out.why_not.empty() ? out.name + " needs no trust" : out.why_not};
  out.entry.guard = out.guard;
  out.entry.events = out.events;
  // Other tools' settings and modules have been read completely.
  if (out.kind == SourceKind::kExecutable) {
    AGENTD_TRY(LoadedHooks loaded, ask_program(source, options, clock, log));
    add_hooks(out, std::move(loaded.hooks));
  } else if (out.kind == SourceKind::kYaml) {
    AGENTD_TRY(const Opened opened, open_again(source, options));
    AGENTD_TRY_VOID(Describer::parse(out, opened.file, opened.bytes));
  }
  out.entry.guard = out.guard;
  out.entry.events = out.events;
  return out;
}

void ask_programs(Inventory& inventory, const HookHostOptions& options, const Clock& clock, Log& log) {
  for (HookSource& source : inventory.sources) {
    if (source.kind != SourceKind::kExecutable || source.state != HookState::kOn) continue;
    const auto asked = ask_program(source, options, clock, log);
    if (asked) continue;
    source.state = HookState::kBroken;
    source.why_not = one_line(asked.error().message, 2000);
  }
}

}  // namespace agentd
