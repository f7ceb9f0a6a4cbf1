// SPDX-License-Identifier: Apache-2.0
#include "core/host/hook_host.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/base/shell_word.h"
#include "core/hooks/contract.h"

namespace agentd {
namespace {

constexpr std::uint64_t kScriptBytesMax = 64u << 20;

std::string canonical(const std::string& path) {
  std::error_code failed;
  const auto out = std::filesystem::canonical(path, failed);
  return failed ? path : out.string();
}

std::vector<std::uint32_t> event_ids(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> out;
  for (const std::string& name : names)
    if (const EventTraits* const event = find_event(name)) out.push_back(event->id);
  if (out.empty()) out.push_back(AGENTD_EVENT_BEFORE_TOOL_CALL);
  return out;
}

void add_event(std::vector<std::string>& names, std::uint32_t id) {
  const EventTraits* const event = find_event(id);
  if (event == nullptr) return;
  if (std::find(names.begin(), names.end(), event->name) == names.end())
    names.emplace_back(event->name);
}

template <typename Values>
bool contains(const Values& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

HookHost::HookHost(HookHostOptions options, ExternalEnvironment external)
    : options_(std::move(options)),
      clock_(external.clock),
      log_(external.log),
      natives_(
          [this] {
            PluginHostOptions native = options_.native;
            native.consent = [this](const HookFile& file, const std::string& digest) {
              return agree_native(file, digest);
            };
            return native;
          }(),
          external.tokens, external.services, external.clock, external.log),
      externals_(std::move(external)) {}

HookHost::~HookHost() { shutdown(); }

void HookHost::problem(const std::string& path, const std::string& name, std::string message) {
  message = one_line(message, 2000);
  log_.write(LogLevel::kWarning, "hooks", message);
  problems_.push_back({path, name, std::move(message)});
}

// ---- trust

TrustStore* HookHost::trust() {
  if (options_.trust_file.empty()) return nullptr;
  if (!trust_opened_) {
    trust_opened_ = true;
    auto opened = TrustStore::open(options_.trust_file, options_.native.user, clock_);
    if (opened)
      trust_ = std::move(*opened);
    else
      problem(options_.trust_file, "", trust_problem_ = opened.error().message);
  }
  return trust_ ? &*trust_ : nullptr;
}

Result<TrustEntry> HookHost::entry_of(const HookFile& file, const std::string& digest) {
  TrustEntry out;
  out.name = file.name;
  out.path = canonical(file.path);
  out.digest = digest;
  if (file.precedence == Precedence::kProject) {
    AGENTD_TRY(out.repository, TrustStore::repository_key(options_.project_root));
  }
  return out;
}

Result<void> HookHost::agree(const TrustEntry& asked, Precedence precedence) {
  // The system's own directories need no file: who may write there may do anything.
  TrustStore* const store = precedence == Precedence::kSystem ? nullptr : trust();
  // Nothing is written yet: what turns out not to load is not agreed to.
  ConsentRules rules = options_.consent;
  rules.record = false;
  const Consent given = consent(store, asked, precedence, rules);
  if (!given.runs) return Error{Code::kDenied, asked.path + " does not run: " + given.why_not};
  return {};
}

// The bytes of a hook that has loaded, in the user's own directory or trusted there before.
Result<void> HookHost::keep(const TrustEntry& entry) {
  if (trust() == nullptr || !options_.consent.record) return {};
  const TrustEntry* const known = trust()->find(entry.path);
  if (known != nullptr && known->digest == entry.digest && known->guard == entry.guard &&
      known->events == entry.events)
    return {};
  if (loading_ && options_.records_later)
    unrecorded_.push_back(entry);
  else
    record(entry);
  return {};
}

void HookHost::record_new() {
  for (const TrustEntry& each : std::exchange(unrecorded_, {})) record(each);
}

// It is in the user's own directory: where nothing can be written it runs all the same, and each run sees it for the
// first time.
void HookHost::record(const TrustEntry& entry) {
  const TrustEntry* const known = trust()->find(entry.path);
  const bool is_new = known == nullptr || known->digest != entry.digest;
  if (auto kept = trust()->record(entry); !kept)
    problem(options_.trust_file, "",
            "the hook " + entry.name + " runs, and whether its file changes is not watched: " + kept.error().message +
                "; make that place writable, or put the hook where the system's lie");
  else if (is_new)
    notes_.push_back("new hook " + entry.name +
                     (entry.name == entry.path ? " (sha256 " : " (" + entry.path + ", sha256 ") +
                     entry.digest.substr(0, 12) +
                     "): it lies in your own directory and runs from now on");
}

Result<void> HookHost::agree_native(const HookFile& file, const std::string& digest) {
  if (file.precedence == Precedence::kSystem) return {};
  AGENTD_TRY(const TrustEntry asked, entry_of(file, digest));
  return agree(asked, file.precedence);
}

// Keeps what a hook subscribes to, so that it is missed when it is gone.
Result<void> HookHost::remember(TrustEntry entry, const std::vector<HookDefinition>& hooks) {
  for (const HookDefinition& hook : hooks) {
    add_event(entry.events, hook.event);
    entry.guard = entry.guard || is_guard(hook);
  }
  entry.trusted_ms = clock_.wall_ms();
  return keep(entry);
}

void HookHost::remember_native(const Plugin& plugin, const std::string& path) {
  std::vector<HookDefinition> rows;
  bool guards = false;
  for (const Subscription& row : plugin.subscriptions()) {
    HookDefinition each;
    each.event = row.event;
    each.guard = row.on_failure == FailurePolicy::kClosed;
    guards = guards || each.guard;
    rows.push_back(std::move(each));
  }
  // Of the system's only guards are kept: so that one is missed when its file is gone.
  if (plugin.precedence() == Precedence::kSystem && !guards) return;
  TrustEntry entry;
  entry.name = plugin.identity().name;
  entry.path = path;
  entry.digest = plugin.identity().bytes_digest;
  if (plugin.precedence() == Precedence::kProject) {
    auto key = TrustStore::repository_key(options_.project_root);
    if (key) entry.repository = std::move(*key);
  }
  if (auto kept = remember(std::move(entry), rows); !kept)
    problem(plugin.path(), plugin.identity().name, kept.error().message);
}

// ---- loading

void HookHost::load_all() {
  loading_ = true;
  if (!options_.trust_file.empty()) trust_watch_.add(options_.trust_file);
  natives_.load_all();
  for (const HookProblem& each : natives_.problems())
    if (!is_adapted(each, options_.adapted)) problems_.push_back(each);
  for (const auto& plugin : natives_.plugins()) {
    const std::string path = canonical(plugin->path());
    owners_.emplace(plugin->identity().name, path);
    if (plugin->precedence() == Precedence::kSystem) system_.insert(plugin->identity().name);
    remember_native(*plugin, path);
  }
  for (HookFile& file : natives_.take_others()) load_external(file);
  for (const AdaptedSource& source : options_.adapted) {
    const auto loaded = load_settings(source);
    if (loaded) continue;
    problem(source.path, "", loaded.error().message);
    problems_.back().unreadable = is_unreadable(source, loaded.error());
  }
  add_missing_guards();
  check_guards(true);
  loading_ = false;
}

void HookHost::load_external(HookFile& file) {
  const auto settings = options_.settings.find(file.name);
  const bool enabled = settings != options_.settings.end() && settings->second.enabled
                           ? *settings->second.enabled
                           : file.on_by_default;
  if (!enabled) {
    off_.insert(file.name);  // by the user: not missing
    return;
  }
  const auto loaded = load_file(file);
  if (loaded) return;
  problem(file.path, file.name, loaded.error().message);
  problems_.back().unreadable = is_unreadable(file, loaded.error());
}

// A file that cannot be read, and means to be a guard as far as one can see.
bool HookHost::says_guard(const HookFile& file, std::string_view bytes) const {
  const auto found = options_.settings.find(file.name);
  if (found != options_.settings.end() && found->second.on_failure)
    return *found->second.on_failure == FailurePolicy::kClosed;
  if (file.kind != HookKind::kDeclarative) return false;
  return bytes.find("guard: true") != std::string_view::npos ||
         bytes.find("on_failure: closed") != std::string_view::npos;
}

Result<void> HookHost::load_file(HookFile& file) {
  AGENTD_TRY(const std::string bytes, read_fd(file.fd.get(), kScriptBytesMax, file.path));
  file.fd.reset();
  AGENTD_TRY(TrustEntry asked, entry_of(file, hex(sha256(bytes))));
  if (auto own = claim(file.name, asked.path); !own) {
    if (says_guard(file, bytes)) wanted_guards_.emplace(asked.path, file.name);
    return own.error();
  }
  AGENTD_TRY_VOID(agree(asked, file.precedence));
  std::vector<std::string> events;
  if (const TrustEntry* const known = trust_ ? trust_->find(asked.path) : nullptr;
      known != nullptr && known->digest == asked.digest)
    events = known->events;
  const ProbeOptions probe{kControlTime, options_.native.private_copy_directory,
                           options_.project_root};
  auto loaded = file.kind == HookKind::kDeclarative
                    ? load_declarative(file, bytes)
                    : load_executable(file, bytes, events, probe, clock_, log_);
  if (!loaded) {
    if (says_guard(file, bytes)) wanted_guards_.emplace(asked.path, file.name);
    return loaded.error();
  }
  for (HookDefinition& hook : loaded->hooks) apply_settings(hook, file.name);
  if (file.precedence != Precedence::kSystem) {
    AGENTD_TRY_VOID(remember(asked, loaded->hooks));
  } else {
    system_.insert(file.name);
  }
  owners_[file.name] = asked.path;
  for (const HookDefinition& hook : loaded->hooks) owners_.emplace(hook.name, asked.path);
  take(std::move(*loaded), file.name);
  return {};
}

// A name stands for one file: "x" and "x.yaml" would be told apart by nobody.
Result<void> HookHost::claim(const std::string& name, const std::string& path) {
  const auto owner = owners_.find(name);
  if (owner == owners_.end() || owner->second == path) return {};
  return Error{Code::kConflict, path + " is not loaded: " + owner->second + " has the same name '" +
                                    name + "': rename one of the two"};
}

Result<void> HookHost::load_settings(const AdaptedSource& source) {
  AGENTD_TRY(LoadedHooks loaded, load_adapted(source, options_.native.user));
  for (std::string& each : loaded.problems) problem(source.path, "", std::move(each));
  TrustEntry asked;
  asked.path = canonical(source.path);
  asked.name = asked.path;
  asked.digest = loaded.bytes.digest;
  if (source.precedence == Precedence::kProject) {
    AGENTD_TRY(asked.repository, TrustStore::repository_key(options_.project_root));
  }
  AGENTD_TRY_VOID(agree(asked, source.precedence));
  for (HookDefinition& hook : loaded.hooks) apply_settings(hook, hook.name);
  AGENTD_TRY_VOID(remember(asked, loaded.hooks));
  if (!owners_.emplace(asked.name, asked.path).second)
    return Error{Code::kConflict,
                 source.path + " is adapted twice: take one of the two out of hooks.adapt"};
  for (const HookDefinition& hook : loaded.hooks) owners_.emplace(hook.name, asked.path);
  if (!is_allowed(asked.path))
    std::erase_if(loaded.hooks, [this](const HookDefinition& hook) { return !is_allowed(hook.name); });
  take(std::move(loaded), asked.name);
  return {};
}

// What the user's config says beats what the hook says of itself; what it says of one hook of a file beats what it
// says of the file.
void HookHost::apply_settings(HookDefinition& hook, const std::string& file) const {
  bool said = false;
  for (const std::string& name : {file, hook.name}) {
    const auto found = options_.settings.find(name);
    if (found == options_.settings.end()) continue;
    const HookSettings& settings = found->second;
    if (settings.on_failure) hook.on_failure = settings.on_failure;
    said = said || settings.on_failure;
    if (settings.shadow) hook.shadow = *settings.shadow;
    if (settings.priority) hook.priority = *settings.priority;
    if (settings.timeout) hook.timeout = settings.timeout;
  }
  if (!said && (contains(options_.guards, hook.name) || contains(options_.guards, file)))
    hook.on_failure = FailurePolicy::kClosed;
}

bool HookHost::is_off(const std::string& name) const {
  const auto found = options_.settings.find(name);
  if (found != options_.settings.end() && found->second.enabled && !*found->second.enabled)
    return true;
  const auto& globs = options_.native.disable;
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  });
}

bool HookHost::is_allowed(const std::string& name) const {
  const auto& globs = options_.native.allow;
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

// A hook of a guarded file that is switched off by its own name is missed like the file.
void HookHost::take(LoadedHooks loaded, const std::string& file) {
  for (HookDefinition& hook : loaded.hooks) {
    const bool off = is_off(hook.name);
    if (off && hook.name != file && contains(options_.guards, file))
      block(hook, "hooks.guards names its file " + file + ", and hooks.disable or hooks." + hook.name +
                      ".enabled keeps it from blocking: take it out of one of them");
    if (!off) externals_.add(std::move(hook), loaded.bytes);
  }
}

// ---- guards that are not there

std::string HookHost::why_missing(const std::string& name, const std::string& path) const {
  const std::string directory = path.substr(0, path.rfind('/'));
  for (const HookProblem& each : problems_) {
    const bool of_directory = each.name.empty() && !path.empty() && each.path == directory;
    if (each.name == name || each.path == name || of_directory) return each.message;
  }
  struct stat info {};
  if (!path.empty() && ::stat(path.c_str(), &info) == 0)
    return path +
           " is there and is no hook any more: give it back its executable bit (chmod +x) or its "
           "name";
  // Where another hook has its name, only its path says which is meant.
  return "it is not there any more: put it back, or take it out of the guards with " +
         shell_command("agentd hooks untrust",
                       owners_.contains(name) && !path.empty() ? path : name);
}

void HookHost::miss_guard(const std::string& name, const std::string& identity,
                          const std::vector<std::string>& events, std::string why) {
  if (!missed_.insert(identity).second) return;
  problem("", name, "the guard '" + name + "' blocks what it guards: " + why);
  externals_.add_missing_guard(name, identity, Precedence::kUser, event_ids(events),
                               std::move(why));
}

void HookHost::block(const HookDefinition& guard, std::string why) {
  std::vector<std::string> events;
  add_event(events, guard.event);
  miss_guard(guard.name, guard.name, events, std::move(why));
}

bool HookHost::is_loaded_from(const std::string& path) const {
  return std::any_of(owners_.begin(), owners_.end(),
                     [&](const auto& each) { return each.second == path; });
}

// A guard is its file, not its name: another hook that is called the same does not stand in for it.
// But the system's own may lie somewhere else after an update, and the user may put his own in its
// place.
bool HookHost::is_here(const TrustEntry& guard) const {
  if (off_.contains(guard.name) || is_loaded_from(guard.path)) return true;
  if (!owners_.contains(guard.name)) return false;
  if (system_.contains(guard.name)) return true;
  const auto& directories = options_.native.directories;
  return std::any_of(directories.begin(), directories.end(), [&](const HookDirectory& each) {
    return each.precedence == Precedence::kSystem &&
           guard.path.starts_with(canonical(each.path) + "/");
  });
}

void HookHost::add_missing_guards() {
  for (const PluginHost::BrokenGuard& each : natives_.broken_guards())
    miss_guard(each.name, each.name, each.events, each.why);
  for (const auto& [path, name] : wanted_guards_)
    if (!is_loaded_from(path)) miss_guard(name, path, {}, why_missing(name, path));
  // Without the store nobody knows which guards there were.
  if (!options_.trust_file.empty() && trust() == nullptr)
    miss_guard("trust", "trust", {}, "which guards there are cannot be told: " + trust_problem_);
  const std::vector<std::string>& off = natives_.disabled();
  off_.insert(off.begin(), off.end());
  std::vector<TrustEntry> known;
  if (TrustStore* const store = options_.trust_file.empty() ? nullptr : trust())
    known = store->entries();
  const auto here = TrustStore::repository_key(options_.project_root);
  for (const TrustEntry& entry : known) {
    if (!entry.guard || is_here(entry) || missed_.contains(entry.name)) continue;
    if (!entry.repository.empty() && (!here || entry.repository != *here)) continue;
    miss_guard(entry.name, entry.path, entry.events, why_missing(entry.name, entry.path));
  }
  for (const std::string& name : options_.guards)
    if (!acts(name) || is_in_shadow(name)) miss_named_guard(name, known);
  // Who says what happens when a hook fails means the file that is there and does not run, unless he has
  // switched it off.
  for (const auto& [name, settings] : options_.settings)
    if (settings.on_failure == FailurePolicy::kClosed && !acts(name) && !is_switched_off(name) &&
        !path_of_problem(name).empty())
      miss_named_guard(name, known);
}

// What the configuration takes for a guard and nothing of which can block is a mistake: it guards nothing.
// `stops`: no run begins with it; else what it was to guard is blocked.
void HookHost::check_guards(bool stops) {
  const std::vector<Subscription> rows = subscriptions();
  const auto check = [&](const std::string& name, const std::string& place) {
    bool any = false, shadow = false, hears = false, guards = false, keeps = true;
    for (const Subscription& row : rows) {
      if (row.name != name && !row.name.starts_with(name + ".")) continue;
      const EventTraits* const event = find_event(row.event);
      const bool bites = event != nullptr && fails_closed(*event);
      const bool heard = (row.flags & AGENTD_HOOK_OBSERVES) == 0;
      const bool closed = !row.shadow && row.on_failure == FailurePolicy::kClosed;
      guards = guards || (bites && heard && closed);
      keeps = keeps && (!bites || !heard || closed);
      any = true;
      shadow = shadow || row.shadow;
      hears = hears || heard;
    }
    if (!any || (guards && keeps)) return;
    if (!stops) return miss_guard(name, name, {}, "what it is now guards nothing: put back what it was, and " +
                                                      shell_command("agentd hooks trust", name));
    problem("", name, place + ": " + name + (guards ? " does not guard all that it could: " : " guards nothing: ") +
                          (shadow   ? "it runs in shadow, where nothing that it says counts"
                           : !hears ? "it only observes, and nothing that it says counts"
                                    : "it fails open, or listens only to events where nothing can be blocked") +
                          "; mend that, or take it out there");
    problems_.back().unreadable = true;
  };
  for (const std::string& name : options_.guards) check(name, "hooks.guards");
  for (const auto& [name, settings] : options_.settings)
    if (settings.on_failure == FailurePolicy::kClosed) check(name, "hooks." + name + ".on_failure: closed");
}

// Hooks of one file are called NAME, or NAME.1, NAME.2.
bool HookHost::acts(const std::string& name) const {
  if (!kind_of(name).empty()) return true;
  const auto all = externals_.definitions();
  return std::any_of(all.begin(), all.end(), [&](const HookDefinition* hook) {
    return hook->name.starts_with(name + ".");
  });
}

bool HookHost::is_in_shadow(const std::string& name) const {
  const auto found = options_.settings.find(name);
  return found != options_.settings.end() && found->second.shadow.value_or(false);
}

bool HookHost::is_switched_off(const std::string& name) const {
  return off_.contains(name) || is_off(name) || !is_allowed(name);
}

// Of a file that does not run its problem knows the path; empty: there is none of that name.
std::string HookHost::path_of_problem(const std::string& name) const {
  for (const HookProblem& each : problems_) {
    const std::string file = each.path.substr(each.path.rfind('/') + 1);
    if (!each.path.empty() && (each.name == name || file.substr(0, file.find('.')) == name))
      return canonical(each.path);
  }
  return {};
}

// `known`: of the trust store.
void HookHost::miss_named_guard(const std::string& name, const std::vector<TrustEntry>& known) {
  if (missed_.contains(name)) return;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const TrustEntry& entry) { return entry.name == name; });
  const std::string path = found == known.end() ? path_of_problem(name) : found->path;
  std::string why;
  if (is_switched_off(name) || is_in_shadow(name))
    why = "hooks.guards names it, and hooks.disable, hooks.allow, hooks." + name + ".enabled or hooks." + name +
          ".shadow keeps it from blocking: take it out of one of them";
  else if (found == known.end() && path.empty())
    why = no_hook_named(name);
  else
    why = why_missing(name, path);
  miss_guard(name, path.empty() ? name : path,
             found == known.end() ? std::vector<std::string>{} : found->events, std::move(why));
}

// Of a name in the configuration.
std::string HookHost::no_hook_named(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [each, path] : owners_) names.push_back(each);
  const std::string mean = did_you_mean(name, names);
  return "hooks.guards or hooks." + name + " names it, and no hook has that name" +
         (mean.empty() ? "; 'agentd hooks list' shows those that are there" : mean);
}

std::vector<Subscription> HookHost::subscriptions() const {
  std::vector<Subscription> out = natives_.subscriptions();
  for (Subscription& each : out) {
    const auto found = options_.settings.find(each.name);
    const bool said = found != options_.settings.end() && found->second.on_failure;
    if (!said && contains(options_.guards, each.name)) each.on_failure = FailurePolicy::kClosed;
    if (found == options_.settings.end()) continue;
    if (found->second.shadow) each.shadow = *found->second.shadow;
    if (found->second.priority) each.priority = *found->second.priority;
    each.timeout = found->second.timeout;
  }
  for (Subscription& each : externals_.subscriptions()) out.push_back(std::move(each));
  return out;
}

std::string_view HookHost::kind_of(std::string_view hook) const {
  for (const auto& plugin : natives_.plugins())
    if (plugin->identity().name == hook) return "native";
  for (const HookDefinition* const each : externals_.definitions())
    if (each->name == hook) return kind_name(*each);
  return {};
}

void HookHost::shutdown() {
  externals_.shutdown();
  natives_.shutdown();
}

}  // namespace agentd
