// SPDX-License-Identifier: Apache-2.0
#include "core/host/hook_host.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/shell_word.h"
#include "core/base/thread.h"
#include "core/codec/url.h"
#include "core/trust/quarantine.h"

namespace agentd {
namespace {

constexpr std::uint64_t kScriptBytesMax = 64u << 20;
constexpr std::size_t kProbesMax = 8;        // run in parallel
constexpr std::size_t kUnknownKeysTold = 3;  // named per file

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

void add_event(std::vector<std::string>& names, std::uint32_t id) {
  const EventTraits* const event = find_event(id);
  if (event == nullptr) return;
  if (std::find(names.begin(), names.end(), event->name) == names.end()) names.emplace_back(event->name);
}

bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

template <typename Values>
bool contains(const Values& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// "58 unknown keys are ignored ('color', 'icon', 'label' and others): 'agentd hooks list' names each"
std::string folded(const std::vector<UnknownKey>& keys) {
  std::vector<std::string> names;
  for (const UnknownKey& each : keys)
    if (const std::string name = "'" + one_line(each.key, 60) + "'"; !contains(names, name)) names.push_back(name);
  const bool more = names.size() > kUnknownKeysTold;
  if (more) names.resize(kUnknownKeysTold);
  return std::to_string(keys.size()) + " unknown keys are ignored (" + join(names, ", ") + (more ? " and others" : "") +
         "): 'agentd hooks list' names each";
}

// "runs from now on at agent_stop and offers the tool word_count".
std::string what_it_does(const std::vector<std::string>& events, const std::string& offers) {
  if (events.empty() && !offers.empty()) return offers;
  return "runs from now on at " + (events.empty() ? "no event" : join(events, ", ")) +
         (offers.empty() ? "" : " and " + offers);
}

std::string counted_names(const std::string& what, const std::vector<std::string>& names) {
  return names.empty() ? std::string() : "the " + what + (names.size() == 1 ? " " : "s ") + join(names, ", ");
}

// The tools and services of a plugin.
std::string offers_of(const Plugin& plugin) {
  std::vector<std::string> tools, services;
  for (const PluginTool& each : plugin.tools()) tools.push_back(each.tool.name);
  for (const OfferedService& each : plugin.services())
    if (std::find(services.begin(), services.end(), each.interface_id) == services.end())
      services.push_back(each.interface_id);
  const std::string of_tools = counted_names("tool", tools), of_services = counted_names("service", services);
  if (of_tools.empty() && of_services.empty()) return {};
  return "offers " + of_tools + (of_tools.empty() || of_services.empty() ? "" : " and ") + of_services;
}

// Interfaces that reach nothing outside of the call.
constexpr std::array<std::string_view, 3> kHarmlessInterfaces{AGENTD_JSON_ID, AGENTD_FIELD_ID, AGENTD_TASKS_ID};

// The hooks of one file as shown to the user: "yaml, runs programs with your rights"; empty if it has none.
std::string they_may(const std::vector<HookDefinition>& hooks) {
  if (hooks.empty()) return {};
  bool runs = false, outside = false;
  std::vector<std::string> servers;
  for (const HookDefinition& hook : hooks) {
    const auto url = hook.runs == HookRuns::kWebhook ? parse_http_url(hook.url) : Result<HttpUrl>(HttpUrl{});
    if (const std::string place = url ? url->place() : "a server"; !place.empty() && !contains(servers, place))
      servers.push_back(place);
    runs = runs || runs_program(hook);
    outside = outside || (runs_program(hook) && !hook.sandbox);
  }
  std::vector<std::string> out{std::string(kind_name(hooks[0]))};
  if (runs) out.emplace_back(outside ? "runs programs with your rights" : "runs programs in the sandbox");
  if (!servers.empty()) out.push_back("sends its input to " + join(servers, " and "));
  if (!runs && servers.empty()) out.emplace_back("runs nothing");
  return join(out, ", ");
}

}  // namespace

bool is_off(const HookHostOptions& options, const std::string& name) {
  const auto found = options.settings.find(name);
  if (found != options.settings.end() && found->second.enabled && !*found->second.enabled) return true;
  return matches_any(options.native.disable, name);
}

bool is_allowed(const HookHostOptions& options, const std::string& name) {
  return options.native.allow.empty() || matches_any(options.native.allow, name);
}

bool is_sandboxed(const HookHostOptions& options, const std::string& file, const std::string& name,
                  Precedence precedence, bool own_wish) {
  for (const std::string& each : {name, file})
    if (const auto found = options.settings.find(each); found != options.settings.end() && found->second.sandbox)
      return *found->second.sandbox;
  return own_wish || options.sandbox == SandboxedHooks::kAll ||
         (options.sandbox == SandboxedHooks::kProject && precedence == Precedence::kProject);
}

void apply_settings(const HookHostOptions& options, const std::string& file, HookDefinition& hook) {
  bool said = false;
  hook.file = file;
  hook.sandbox = is_sandboxed(options, file, hook.name, hook.precedence, hook.sandbox) && runs_program(hook);
  for (const std::string& name : {file, hook.name}) {
    const auto found = options.settings.find(name);
    if (found == options.settings.end()) continue;
    const HookSettings& settings = found->second;
    if (settings.on_failure) hook.on_failure = settings.on_failure;
    said = said || settings.on_failure;
    if (settings.shadow) hook.shadow = *settings.shadow;
    if (settings.priority) hook.priority = *settings.priority;
    if (settings.timeout) hook.timeout = settings.timeout;
  }
  if (!said && (contains(options.guards, hook.name) || contains(options.guards, file)))
    hook.on_failure = FailurePolicy::kClosed;
}

ProbeOptions probe_options(const HookHostOptions& options, const HookFile& file) {
  ProbeOptions out{kControlTime, options.native.private_copy_directory, options.project_root};
  out.sandbox = is_sandboxed(options, file.name, file.name, file.precedence, false);
  out.cages = options.cages;
  return out;
}

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
      externals_([&] {
        external.cage = options_.cages;
        return std::move(external);
      }()) {}

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
      problem(options_.trust_file, "", opened.error().message);
  }
  return trust_ ? &*trust_ : nullptr;
}

Result<TrustEntry> HookHost::entry_of(const HookFile& file, const std::string& digest) {
  TrustEntry out;
  out.name = file.name;
  out.path = canonical_path(file.path);
  out.digest = digest;
  if (file.precedence == Precedence::kProject) {
    AGENTD_TRY(out.repository, TrustStore::repository_key(options_.project_root));
  }
  return out;
}

Result<void> HookHost::agree(const TrustEntry& asked, Precedence precedence) {
  // The system's directories need no record: a user who can write there already controls the machine.
  TrustStore* const store = precedence == Precedence::kSystem ? nullptr : trust();
  // Nothing is written yet: a hook that fails to load is not recorded.
  ConsentRules rules = options_.consent;
  rules.record = false;
  const Consent given = consent(store, asked, precedence, rules);
  if (!given.runs) return Error{Code::kDenied, asked.path + " does not run, since " + given.why_not};
  return {};
}

// Records the bytes of a hook that has loaded, from the user's own directory or trusted before.
Result<void> HookHost::keep(const Seen& seen) {
  const TrustEntry& entry = seen.entry;
  if (trust() == nullptr || !options_.consent.record) return {};
  const TrustEntry* const known = trust()->find(entry.path);
  if (known != nullptr && known->digest == entry.digest && known->guard == entry.guard && known->events == entry.events)
    return {};
  if (loading_ && options_.records_later)
    unrecorded_.push_back(seen);
  else
    record(seen);
  return {};
}

void HookHost::record_new() {
  for (const Seen& each : std::exchange(unrecorded_, {})) record(each);
}

// The hook is in the user's own directory: if nothing can be written it runs nevertheless, and every run sees it as
// new.
void HookHost::record(const Seen& seen) {
  const TrustEntry& entry = seen.entry;
  const TrustEntry* const known = trust()->find(entry.path);
  const bool is_new = known == nullptr || known->digest != entry.digest;
  if (auto kept = trust()->record(entry); !kept)
    problem(options_.trust_file, "",
            "the hook " + entry.name + " runs, but changes of its file go unnoticed: " + kept.error().message +
                "; make that place writable, or move the hook to the system's directory");
  else if (is_new && seen.may.empty())
    notes_.push_back("the file " + entry.path + " (sha256 " + entry.digest.substr(0, 12) +
                     ") has no hook that agentd can run: 'agentd hooks contract' lists the events");
  else if (is_new)
    notes_.push_back("new hook " + entry.name +
                     (entry.name == entry.path ? " (sha256 " : " (" + entry.path + ", sha256 ") +
                     entry.digest.substr(0, 12) + ") " + what_it_does(entry.events, seen.offers) + ": " + seen.may +
                     (entry.guard ? "; it is a guard: if it fails, the event is blocked" : ""));
}

Result<void> HookHost::agree_native(const HookFile& file, const std::string& digest) {
  if (file.precedence == Precedence::kSystem) return {};
  AGENTD_TRY(const TrustEntry asked, entry_of(file, digest));
  return agree(asked, file.precedence);
}

// True if the configuration has on_failure: open for the hook.
bool HookHost::may_fail(const std::string& name) const {
  const auto found = options_.settings.find(name);
  return found != options_.settings.end() && found->second.on_failure == FailurePolicy::kOpen;
}

// Records a hook's events, so that it is missed when its file is gone.
Result<void> HookHost::remember(TrustEntry entry, const std::vector<HookDefinition>& hooks, std::string may,
                                std::string offers) {
  for (const HookDefinition& hook : hooks) {
    add_event(entry.events, hook.event);
    entry.guard = entry.guard || is_guard(hook);
  }
  // A guard that `on_failure: open` lets fail remains a guard in the trust store.
  const TrustEntry* const known = trust() == nullptr ? nullptr : trust()->find(entry.path);
  entry.guard = entry.guard || (known != nullptr && known->guard && may_fail(entry.name));
  entry.trusted_ms = clock_.wall_ms();
  return keep({std::move(entry), std::move(may), std::move(offers)});
}

std::string HookHost::native_may(const Plugin& plugin) const {
  std::vector<std::string> reach;
  for (const std::string& each : plugin.manifest().capabilities)
    if (each != "gate" && each != "redact") reach.push_back(each);
  const auto add = [&](const std::string& id) {
    if (!contains(reach, id)) reach.push_back(id);
  };
  const Grants& grants = plugin.grants();
  if (grants.compactor) add("agentd.compactor");
  if (grants.threads) add("agentd.threads");
  if (grants.store) add("agentd.store");
  for (const std::string& id : grants.interfaces)
    if (!contains(kHarmlessInterfaces, id)) add(id);
  const std::string uses = reach.empty() ? "" : " that may use " + join(reach, ", ");
  if (plugin.isolation() == Isolation::kInProcess) return "native, in agentd's own process with your rights" + uses;
  const auto found = options_.native.plugins.find(plugin.identity().name);
  const bool sandbox = found == options_.native.plugins.end() || found->second.sandbox;
  return std::string("native, in a process of its own ") + (sandbox ? "in a sandbox" : "without a sandbox") + uses;
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
  // Only guards are recorded of the system's hooks, so that one is missed when its file is gone.
  if (plugin.precedence() == Precedence::kSystem && !guards) return;
  TrustEntry entry;
  entry.name = plugin.identity().name;
  entry.path = path;
  entry.digest = plugin.identity().bytes_digest;
  if (plugin.precedence() == Precedence::kProject) {
    auto key = TrustStore::repository_key(options_.project_root);
    if (key) entry.repository = std::move(*key);
  }
  if (auto kept = remember(std::move(entry), rows, native_may(plugin), offers_of(plugin)); !kept)
    problem(plugin.path(), plugin.identity().name, kept.error().message);
}

// ---- loading

void HookHost::load_all() {
  loading_ = true;
  if (!options_.trust_file.empty()) {
    const MutexLock lock(reload_mutex_);
    trust_watch_.add(options_.trust_file);
  }
  natives_.load_all();
  for (const HookProblem& each : natives_.problems())
    if (!is_adapted(each, options_.adapted)) problems_.push_back(each);
  for (const auto& plugin : natives_.plugins()) {
    const std::string path = canonical_path(plugin->path());
    owners_.emplace(plugin->identity().name, path);
    if (plugin->precedence() == Precedence::kSystem) system_.insert(plugin->identity().name);
    remember_native(*plugin, path);
  }
  std::vector<HookFile> others = natives_.take_others();
  ask_programs(others);
  for (HookFile& file : others) load_external(file);
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

bool HookHost::is_enabled(const HookFile& file) const {
  const auto settings = options_.settings.find(file.name);
  return settings != options_.settings.end() && settings->second.enabled ? *settings->second.enabled
                                                                         : file.on_by_default;
}

// The events that the same bytes answered before.
std::vector<std::string> HookHost::known_events(const TrustEntry& asked) const {
  const TrustEntry* const known = trust_ ? trust_->find(asked.path) : nullptr;
  return known != nullptr && known->digest == asked.digest ? known->events : std::vector<std::string>();
}

std::string HookHost::set_aside(const TrustEntry& asked) const {
  return natives_.quarantine() == nullptr ? std::string() : natives_.quarantine()->why_not(asked.digest);
}

void HookHost::ask_programs(std::span<const HookFile> files) {
  struct Question {
    const HookFile* file;
    std::string bytes, digest;
    std::optional<Result<LoadedHooks>> answer{};
  };
  std::vector<Question> questions;
  std::set<std::string> names;
  for (const HookFile& file : files) {
    if (!is_enabled(file) || owners_.contains(file.name) || !names.insert(file.name).second) continue;
    if (file.kind != HookKind::kExecutable) continue;
    auto bytes = read_fd(file.fd.get(), kScriptBytesMax, file.path);
    const auto asked = bytes ? entry_of(file, hex(sha256(*bytes))) : Result<TrustEntry>(bytes.error());
    if (!asked || !agree(*asked, file.precedence) || !known_events(*asked).empty() || !set_aside(*asked).empty())
      continue;
    questions.push_back({&file, std::move(*bytes), asked->digest});
  }
  if (questions.size() < 2) return;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < questions.size(); i = next.fetch_add(1))
      questions[i].answer = load_executable(*questions[i].file, questions[i].bytes, {},
                                            probe_options(options_, *questions[i].file), clock_, log_);
  };
  {
    std::vector<Thread> threads;
    try {
      while (threads.size() + 1 < std::min(questions.size(), kProbesMax)) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads can be made: the existing ones and this one do the work.
    }
    work();
  }
  for (Question& each : questions) asked_.emplace(each.file->path, Asked{each.digest, std::move(*each.answer)});
}

// A program that hangs would cost its time at each start, so its bytes are quarantined.
Result<LoadedHooks> HookHost::load_program(const HookFile& file, const std::string& bytes, const TrustEntry& asked) {
  if (std::string why_not = set_aside(asked); !why_not.empty()) return Error{Code::kDenied, std::move(why_not)};
  const ProbeOptions probe = probe_options(options_, file);
  auto before = asked_.extract(file.path);
  auto loaded = !before.empty() && before.mapped().digest == asked.digest
                    ? std::move(before.mapped().answer)
                    : load_executable(file, bytes, known_events(asked), probe, clock_, log_);
  if (loaded || loaded.error().code != Code::kBusy || natives_.quarantine() == nullptr) return loaded;
  const auto kept = natives_.quarantine()->set_aside(
      {asked.name, asked.path, asked.digest,
       "did not answer within " + std::to_string(kControlTime.count() / 1000) + " s when asked for its events",
       clock_.wall_ms()});
  if (!kept) return loaded;
  return Error{Code::kDenied, loaded.error().message + "; it is quarantined: fix it, or run " +
                                  shell_command("agentd hooks release", asked.name)};
}

void HookHost::load_external(HookFile& file) {
  if (!is_enabled(file)) {
    off_.insert(file.name);  // disabled by the user: not missing
    return;
  }
  const auto loaded = load_file(file);
  if (loaded) return;
  problem(file.path, file.name, loaded.error().message);
  problems_.back().unreadable = is_unreadable(file, loaded.error()) || has_twin(file);
}

// True if another file of the directory has its name: which one was meant is unknown.
bool HookHost::has_twin(const HookFile& file) const {
  const auto owner = owners_.find(file.name);
  if (owner == owners_.end() || file.precedence == Precedence::kProject) return false;
  const std::string path = canonical_path(file.path);
  return owner->second != path && folder_of(owner->second) == folder_of(path);
}

// True if an unreadable file appears to be a guard.
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
  auto loaded = file.kind == HookKind::kDeclarative ? load_declarative(file, bytes) : load_program(file, bytes, asked);
  if (!loaded) {
    if (says_guard(file, bytes)) wanted_guards_.emplace(asked.path, file.name);
    return loaded.error();
  }
  for (HookDefinition& hook : loaded->hooks) apply_settings(options_, file.name, hook);
  if (file.precedence != Precedence::kSystem) {
    AGENTD_TRY_VOID(remember(asked, loaded->hooks, they_may(loaded->hooks)));
  } else {
    system_.insert(file.name);
  }
  owners_[file.name] = asked.path;
  for (const HookDefinition& hook : loaded->hooks) owners_.emplace(hook.name, asked.path);
  take(std::move(*loaded), file.name);
  return {};
}

// A name identifies one file: "x" and "x.yaml" would look the same to users.
Result<void> HookHost::claim(const std::string& name, const std::string& path) {
  const auto owner = owners_.find(name);
  if (owner == owners_.end() || owner->second == path) return {};
  return Error{Code::kConflict,
               path + " is not loaded: " + owner->second + " has the same name '" + name + "': rename one of the two"};
}

Result<void> HookHost::load_settings(const AdaptedSource& source) {
  AGENTD_TRY(LoadedHooks loaded, load_adapted(source, options_.native.user));
  const std::vector<SourceMistake>& mistakes = loaded.mistakes;
  const auto is_among = [](const auto& list, const std::string& sentence) {
    return std::any_of(list.begin(), list.end(), [&](const auto& each) { return each.sentence == sentence; });
  };
  const bool folds = loaded.unknown_keys.size() > 1;
  for (const std::string& each : loaded.problems)
    if (!is_among(mistakes, each) && !(folds && is_among(loaded.unknown_keys, each))) problem(source.path, "", each);
  if (folds) problem(source.path, "", source.path + ": " + folded(loaded.unknown_keys));
  TrustEntry asked;
  asked.path = canonical_path(source.path);
  asked.name = asked.path;
  asked.digest = loaded.bytes.digest;
  if (source.precedence == Precedence::kProject) {
    AGENTD_TRY(asked.repository, TrustStore::repository_key(options_.project_root));
  }
  // A project's settings have no effect before they are trusted; a mistake of the user's own is reported first.
  const bool foreign = source.precedence == Precedence::kProject;
  if (!foreign) tell_mistakes(source, mistakes);
  AGENTD_TRY_VOID(agree(asked, source.precedence));
  if (foreign) tell_mistakes(source, mistakes);
  for (HookDefinition& hook : loaded.hooks) apply_settings(options_, hook.name, hook);
  AGENTD_TRY_VOID(remember(asked, loaded.hooks, they_may(loaded.hooks)));
  if (!owners_.emplace(asked.name, asked.path).second)
    return Error{Code::kConflict, source.path + " is adapted twice: remove one of the two from hooks.adapt"};
  for (const HookDefinition& hook : loaded.hooks) owners_.emplace(hook.name, asked.path);
  if (!is_allowed(options_, asked.path))
    std::erase_if(loaded.hooks, [this](const HookDefinition& hook) { return !is_allowed(options_, hook.name); });
  take(std::move(loaded), asked.name);
  return {};
}

// No run begins with a mistake in the user's settings; a mistake in a project's blocks its events.
void HookHost::tell_mistakes(const AdaptedSource& source, const std::vector<SourceMistake>& mistakes) {
  for (const SourceMistake& each : mistakes) {
    if (is_off(options_, each.hook)) continue;
    if (!is_allowed(options_, each.hook) && !is_allowed(options_, canonical_path(source.path))) continue;
    const std::string remedy =
        each.sentence + "; correct it, or disable it with hooks.disable: [\"" + each.hook + "\"]";
    if (source.precedence == Precedence::kProject) {
      HookDefinition guard;
      guard.name = each.hook;
      guard.event = each.event;
      block(guard, remedy);
    } else {
      problem(source.path, each.hook, remedy);
      problems_.back().unreadable = true;
    }
  }
}

// A hook of a guarded file that is disabled by its own name is reported missing like the file.
void HookHost::take(LoadedHooks loaded, const std::string& file) {
  for (HookDefinition& hook : loaded.hooks) {
    const bool off = is_off(options_, hook.name);
    if (off && hook.name != file && contains(options_.guards, file))
      block(hook, "hooks.guards names its file " + file + ", and hooks.disable or hooks." + hook.name +
                      ".enabled keeps it from blocking: remove it from one of them");
    if (!off) externals_.add(std::move(hook), loaded.bytes);
  }
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
