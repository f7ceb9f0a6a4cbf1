// SPDX-License-Identifier: Apache-2.0
#include "core/host/plugin_host.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/native/elf_note.h"
#include "core/workers/reach.h"

namespace agentd {
namespace {

bool opens_files(const Manifest& manifest) {
  return manifest.has_capability("files:read") || manifest.has_capability("files:write");
}

// Returns why the new version cannot use the state of the one before; empty = it does, or there is none.
std::string pass_state(Plugin& old, Plugin& next) {
  const auto state = old.save_state();
  const auto taken = !state   ? Result<void>(state.error())
                     : *state ? next.load_state(**state, old.identity().version)
                              : Result<void>();
  return taken ? std::string()
               : next.path() + " starts without the state of its earlier version: " + taken.error().message;
}

constexpr std::uint64_t kModuleBytesMax = 256u << 20;

Error of_file(const HookFile& file, const std::string& predicate) {
  return {Code::kInvalid, file.path + " " + predicate};
}

// A module's manifest, and the reason why it cannot be loaded here.
struct Judged {
  Manifest manifest;
  std::string obstacle;  // a sentence; empty = none
};

// Reads the manifest in the module's bytes, or in the sidecar if the bytes have none.
Result<Manifest> read_manifest(const HookFile& file, const ModuleScan& scan) {
  if (!scan.manifest && !file.sidecar_problem.empty()) return Error{Code::kDenied, file.sidecar_problem};
  if (!scan.manifest && file.sidecar.empty())
    return of_file(file, "has no manifest: rebuild it with AGENTD_HOOK or ship " +
                             file.name.substr(file.name.rfind('/') + 1) + ".hook.json next to it");
  auto manifest = parse_manifest(scan.manifest ? *scan.manifest : file.sidecar);
  if (!manifest) return of_file(file, "has a " + manifest.error().message);
  return manifest;
}

Result<Judged> judge(const HookFile& file, const ModuleBytes& bytes) {
  const auto scan = scan_module(bytes);
  if (!scan) return of_file(file, scan.error().message);
  auto manifest = read_manifest(file, *scan);
  if (scan->obstacle.empty() && !manifest) return manifest.error();
  // Report unloadable modules before manifest errors.
  const std::string obstacle = scan->obstacle.empty() ? "" : of_file(file, scan->obstacle).message;
  if (!manifest) return Error{Code::kInvalid, obstacle};
  return Judged{std::move(*manifest), obstacle};
}

std::string not_native(HookKind kind) {
  return kind == HookKind::kDeclarative ? "is a declarative hook, which this version does not run: it is ignored"
                                        : "is an executable, which this version does not run as a hook: it is ignored";
}

bool is_enabled(const PluginHostOptions& options, const HookFile& file) {
  const auto config = options.plugins.find(file.name);
  if (config != options.plugins.end() && config->second.enabled) return *config->second.enabled;
  return file.on_by_default;
}

constexpr std::pair<Isolation, std::string_view> kIsolations[] = {
    {Isolation::kInProcess, "in-process"},
    {Isolation::kProcess, "process"},
    {Isolation::kProcessPerConversation, "process-per-conversation"}};

const PluginConfig& config_in(const PluginHostOptions& options, const std::string& name) {
  static const PluginConfig none;
  const auto found = options.plugins.find(name);
  return found == options.plugins.end() ? none : found->second;
}

// Mistakes in the configuration that prevent loading a module.
std::string config_problem(const PluginHostOptions& options, const HookFile& file) {
  const auto config = options.plugins.find(file.name);
  if (config == options.plugins.end()) return {};
  const auto json = JsonDocument::parse(config->second.config_json);
  if (json && json->root().is_object()) return {};
  return of_file(file, "is not loaded: hooks." + file.name + ".config must be a mapping").message;
}

void describe_file(const PluginHostOptions& options, HookFile& file, HookDescription& out) {
  if (file.kind != HookKind::kNative) {
    out.obstacle = file.path + " " + not_native(file.kind);
    return;
  }
  auto judged = judge(file, FileBytes(file.fd.get(), static_cast<std::uint64_t>(file.info.st_size)));
  if (!judged) {
    out.obstacle = judged.error().message;
    return;
  }
  // A module that cannot be loaded is still listed with its id and events.
  out.obstacle = judged->obstacle.empty() ? obstacle_of(judged->manifest, host_offer()) : judged->obstacle;
  if (out.ok() && !is_enabled(options, file)) out.obstacle = "off: set hooks." + file.name + ".enabled";
  if (out.ok())
    if (std::string problem = config_problem(options, file); !problem.empty()) out.obstacle = std::move(problem);
  out.isolation = isolation_of(options, file, judged->manifest);
  if (out.ok() && out.isolation != Isolation::kInProcess) {
    const std::string why = no_worker(options.worker, file);
    if (!why.empty()) out.obstacle = why;
  }
  const PluginConfig& config = config_in(options, file.name);
  const Grants grants = grants_for(config, file.precedence, file.bundled, judged->manifest);
  out.lacks = not_granted(file.name, file.precedence, judged->manifest, grants, config, options.grant_settings);
  out.manifest = std::move(judged->manifest);
}

}  // namespace

std::string_view name_of(Isolation isolation) {
  for (const auto& [each, name] : kIsolations)
    if (each == isolation) return name;
  return {};
}

std::optional<Isolation> isolation_of(std::string_view name) {
  for (const auto& [isolation, each] : kIsolations)
    if (each == name) return isolation;
  return std::nullopt;
}

Isolation isolation_of(const PluginHostOptions& options, const HookFile& file, const Manifest& manifest) {
  const auto config = options.plugins.find(file.name);
  if (config != options.plugins.end() && config->second.isolation) return *config->second.isolation;
  if (file.bundled) return Isolation::kInProcess;
  // A plugin does not choose its isolation, but it may ask for more.
  const bool asks_for_more = isolation_of(manifest.isolation) == Isolation::kProcessPerConversation;
  return options.isolation == Isolation::kProcess && asks_for_more ? Isolation::kProcessPerConversation
                                                                   : options.isolation;
}

std::vector<HookDescription> describe_hooks(const PluginHostOptions& options) {
  HookScan scan = scan_hook_directories(options.directories, options.disable, options.user, options.allow);
  std::vector<HookDescription> out;
  for (HookFile& file : scan.files) {
    HookDescription each{file.name, file.path, file.kind, file.precedence, {}, {}, "", {}};
    describe_file(options, file, each);
    each.obstacle = one_line(each.obstacle, 2000);
    out.push_back(std::move(each));
  }
  for (const HookProblem& problem : scan.problems)
    out.push_back({problem.name, problem.path, HookKind::kNative, Precedence::kUser, {}, {}, problem.message, {}});
  for (const auto* const off : {&scan.disabled, &scan.not_allowed})
    for (const HookName& each : *off)
      out.push_back({each.name, "", HookKind::kNative, each.precedence, {}, {}, "disabled", {}});
  return out;
}

PluginHost::PluginHost(PluginHostOptions options, TokenTable& tokens, Services& services, const Clock& clock, Log& log)
    : options_(std::move(options)),
      environment_{tokens, services, clock, log, options_.private_copy_directory, {}, nullptr, options_.registry},
      tools_([this] { return plugins(); }, clock, [this](const Plugin& plugin) { return why_denied(plugin); }) {
  if (!options_.record_directory.empty()) records_ = std::make_shared<WorkerRecords>(options_.record_directory);
}

PluginHost::~PluginHost() {
  shutdown();
  if (options_.shared != nullptr) options_.shared->leave(this);
}

bool PluginHost::is_on(const HookFile& file) const { return is_enabled(options_, file); }

void PluginHost::problem(const HookFile& file, std::string message) {
  message = one_line(message, 2000);
  told_[file.path] = message;
  environment_.log.write(LogLevel::kWarning, "host", message);
  problems_.push_back({file.path, file.name, std::move(message)});
}

const PluginConfig& PluginHost::config_of(const std::string& name) const { return config_in(options_, name); }

NotGranted PluginHost::lacks_of(const std::string& name, Precedence precedence, const Manifest& manifest,
                                const Grants& grants) const {
  return not_granted(name, precedence, manifest, grants, config_of(name), options_.grant_settings);
}

// A failed call of a tool may be for want of a grant, which the plugin itself cannot name.
std::string PluginHost::why_denied(const Plugin& plugin) const {
  const NotGranted lacks = lacks_of(plugin.identity().name, plugin.precedence(), plugin.manifest(), plugin.grants());
  return lacks.any() && !lacks.on_purpose ? "the plugin " + plugin.identity().name + " " + lacks.sentence()
                                          : std::string();
}

// Told once for each instance; a user who has set the grants on purpose knows.
void PluginHost::tell_grants(const Plugin& plugin, std::vector<HookProblem>& to) const {
  const std::string& name = plugin.identity().name;
  const NotGranted lacks = lacks_of(name, plugin.precedence(), plugin.manifest(), plugin.grants());
  if (!lacks.any()) return;
  std::string message = one_line(plugin.path() + " " + lacks.sentence(), 2000);
  environment_.log.write(lacks.on_purpose ? LogLevel::kInfo : LogLevel::kWarning, "host", message);
  if (!lacks.on_purpose) to.push_back({plugin.path(), name, std::move(message)});
}

PluginConfig PluginHost::config_for(const HookFile& file, const Manifest& manifest) const {
  constexpr std::string_view kNetwork = "network";
  PluginConfig out = config_of(file.name);
  const auto schema = JsonDocument::parse(manifest.config_schema.empty() ? "{}" : manifest.config_schema);
  const auto own = JsonDocument::parse(out.config_json), settings = JsonDocument::parse(options_.network_json);
  const bool takes = schema && schema->root()["properties"][kNetwork].exists();
  const bool has = !own || !own->root().is_object() || own->root()[kNetwork].exists();
  if (!takes || has || !settings || settings->root().size() == 0 || file.precedence == Precedence::kProject) return out;
  JsonWriter merged;
  merged.begin_object();
  for (std::size_t i = 0; i < own->root().size(); ++i) merged.key(own->root().key_at(i)).value(own->root().at(i));
  merged.key(kNetwork).value(settings->root()).end_object();
  out.config_json = std::string(merged.text());
  return out;
}

void PluginHost::open_roots() {
  if (!options_.roots.empty()) open_workspace_of_roots();
  if (options_.shared != nullptr) options_.shared->enter(this, workspace_);
}

void PluginHost::open_workspace_of_roots() {
  auto workspace = open_workspace(options_.roots, options_.kept, options_.hidden);
  if (!workspace) {
    environment_.log.write(LogLevel::kWarning, "host", workspace.error().message);
    problems_.push_back({options_.roots.front(), "", workspace.error().message});
    return;
  }
  workspace_ = std::move(*workspace);
  ext_tables_ = std::make_unique<ExtTables>(environment_.tokens, *workspace_, environment_.clock, options_.files,
                                            options_.secrets, options_.commands);
  environment_.interfaces.emplace_back(AGENTD_WORKSPACE_ID, ext_tables_->workspace());
  environment_.interfaces.emplace_back(AGENTD_PROCESS_ID, ext_tables_->process());
}

void PluginHost::open_quarantine() {
  if (options_.quarantine_directory.empty()) return;
  auto opened = Quarantine::open(options_.quarantine_directory, environment_.clock);
  std::vector<std::string> problems;
  if (opened) {
    quarantine_ = std::move(*opened);
    environment_.quarantine = quarantine_;
    problems = quarantine_->problems();
  } else {
    problems.push_back(opened.error().message);
  }
  for (std::string& message : problems) {
    environment_.log.write(LogLevel::kWarning, "host", message);
    problems_.push_back({options_.quarantine_directory, "", std::move(message)});
  }
}

// Modules that are still present are refused with their own message; this reports those that are gone, fixed or
// disabled.
void PluginHost::tell_crashes() {
  if (quarantine_ == nullptr) return;
  for (const QuarantineEntry& entry : quarantine_->crashed_before()) {
    const std::string sentence = one_line(sentence_of(entry), 2000);
    const bool told = std::any_of(problems_.begin(), problems_.end(),
                                  [&](const HookProblem& each) { return each.message == sentence; });
    if (told) continue;
    std::string message = one_line(entry.path, 1000) + " " + entry.why + ": those bytes are quarantined";
    environment_.log.write(LogLevel::kWarning, "host", message);
    problems_.push_back({entry.path, "", std::move(message)});
  }
}

void PluginHost::load_all() {
  AGENTD_ASSERT(plugins().empty());
  open_roots();
  open_quarantine();
  HookScan found = scan();
  for (const auto* const off : {&found.disabled, &found.not_allowed})
    for (const HookName& each : *off) disabled_.push_back(each.name);
  for (HookProblem& each : found.problems) {
    told_[each.path] = each.message;
    environment_.log.write(LogLevel::kWarning, "host", each.message);
    problems_.push_back(std::move(each));
  }
  // First everything that needs no dynamic linker, which serves one thread at a time while another thread may be
  // loading libcurl. A worker does not need it here and starts in the background.
  std::vector<Ready> later;
  std::vector<std::shared_ptr<Plugin>> loaded;
  std::set<std::string> ids;
  for (HookFile& file : found.files) {
    if (file.kind != HookKind::kNative) {
      others_.push_back(std::move(file));
      continue;
    }
    if (!is_on(file)) {
      disabled_.push_back(file.name);
      continue;
    }
    seen_[file.path] = file.info;
    auto ready = prepare(file);
    if (!ready) {
      problem(file, ready.error().message);
      continue;
    }
    ready->place = loaded.size();
    loaded.emplace_back();
    // The first module of an id is loaded, later ones are refused.
    const bool is_first = ids.insert(ready->manifest.id).second;
    if (is_first && isolation_of(options_, file, ready->manifest) != Isolation::kInProcess)
      load_ready(std::move(*ready), loaded);
    else
      later.push_back(std::move(*ready));
  }
  tell_crashes();
  for (Ready& each : later) load_ready(std::move(each), loaded);
  {
    const MutexLock lock(plugins_mutex_);
    std::copy_if(loaded.begin(), loaded.end(), std::back_inserter(plugins_),
                 [](const auto& plugin) { return plugin != nullptr; });
  }
  for (std::string& message : tools_.duplicates()) problems_.push_back({"", "", std::move(message)});
}

// Loads it and puts it in its place; a failure is noted.
void PluginHost::load_ready(Ready ready, std::vector<std::shared_ptr<Plugin>>& loaded) {
  const HookFile& file = *ready.file;
  const Manifest manifest = ready.manifest;
  const std::size_t place = ready.place;
  auto made = load_one(std::move(ready), loaded, nullptr);
  if (!made) {
    note_guard(file, manifest, made.error().message);
    problem(file, made.error().message);
    return;
  }
  if (!made->without_state.empty()) problem(file, made->without_state);
  tell_grants(*made->plugin, problems_);
  for (const std::string& note : made->plugin->notes())
    environment_.log.write(LogLevel::kInfo, file.name, file.path + ": " + note);
  loaded[place] = std::move(made->plugin);
}

void PluginHost::note_guard(const HookFile& file, const Manifest& manifest, const std::string& why) {
  const auto policy = config_of(file.name).on_failure;
  const bool guards =
      policy ? *policy == FailurePolicy::kClosed : manifest.has_capability("gate") || manifest.has_capability("redact");
  if (guards) broken_guards_.push_back({file.name, why, manifest.events});
}

Result<PluginHost::Ready> PluginHost::prepare(HookFile& file) {
  AGENTD_TRY(const std::string bytes, read_fd(file.fd.get(), kModuleBytesMax, file.path));
  file.fd.reset();
  AGENTD_TRY(const Judged judged, judge(file, MemoryBytes(bytes)));
  const Manifest& manifest = judged.manifest;
  auto ready = judged.obstacle.empty() ? prepare_module(file, bytes, manifest) : Error{Code::kInvalid, judged.obstacle};
  // A repository's module has no effect before it is trusted, not even as a guard.
  if (!ready && file.precedence != Precedence::kProject) note_guard(file, manifest, ready.error().message);
  return ready;
}

Result<PluginHost::Ready> PluginHost::prepare_module(HookFile& file, const std::string& bytes,
                                                     Manifest manifest) const {
  if (const std::string obstacle = obstacle_of(manifest, host_offer()); !obstacle.empty())
    return of_file(file, obstacle);
  if (std::string problem = config_problem(options_, file); !problem.empty())
    return Error{Code::kInvalid, std::move(problem)};
  AGENTD_TRY(Grants grants, grants_of(file, manifest));
  AGENTD_TRY(SealedFile sealed, seal(bytes, file.path, environment_.private_copy_directory, environment_.log));
  const std::string why_not = quarantine_ ? quarantine_->why_not(sealed.digest) : std::string();
  if (!why_not.empty()) {
    discard(sealed);
    return Error{Code::kDenied, why_not};
  }
  if (options_.consent) {
    if (auto given = options_.consent(file, sealed.digest); !given) {
      discard(sealed);
      return given.error();
    }
  }
  if (const std::string warning = capability_warning(manifest); !warning.empty())
    environment_.log.write(LogLevel::kWarning, file.name, one_line(file.path + " " + warning, 2000));
  return Ready{&file, std::move(manifest), std::move(grants), std::move(sealed), 0};
}

bool PluginHost::is_shared(Precedence precedence, const Manifest& manifest, Isolation isolation) const {
  const bool one_projects = isolation != Isolation::kInProcess && opens_files(manifest);
  return options_.shared != nullptr && precedence != Precedence::kProject && !one_projects;
}

bool PluginHost::is_shared(const Plugin& plugin) const {
  return is_shared(plugin.precedence(), plugin.manifest(), plugin.isolation());
}

PluginEnvironment PluginHost::environment_of(Precedence precedence, bool shared) const {
  const bool of_project = precedence == Precedence::kProject && options_.of_project != nullptr;
  PluginEnvironment out{environment_.tokens,
                        of_project ? *options_.of_project : environment_.services,
                        environment_.clock,
                        environment_.log,
                        environment_.private_copy_directory,
                        environment_.interfaces,
                        environment_.quarantine,
                        environment_.registry,
                        precedence == Precedence::kProject ? options_.project_id : std::string()};
  if (shared && ext_tables_) out.interfaces = options_.shared->interfaces();
  return out;
}

Result<PluginHost::Made> PluginHost::load_one(Ready ready, const std::vector<std::shared_ptr<Plugin>>& others,
                                              Plugin* old) {
  const HookFile& file = *ready.file;
  for (const auto& other : others) {
    if (!other || other->identity().id != ready.manifest.id) continue;
    discard(ready.sealed);
    return of_file(file, "has the same id " + ready.manifest.id + " as " + other->path() +
                             ", which is loaded: disable one of the two");
  }
  if (!is_shared(file.precedence, ready.manifest, isolation_of(options_, file, ready.manifest))) {
    AGENTD_TRY(Made own, start(std::move(ready), old));
    offer(own.plugin, old);
    return own;
  }
  // A host that sees the change later finds the new version, which has the state.
  Made out;
  bool made_here = false;
  const std::string digest = ready.sealed.digest;
  auto plugin = options_.shared->get(file, digest, [&](Plugin* earlier) -> Result<std::shared_ptr<Plugin>> {
    made_here = true;
    AGENTD_TRY(out, start(std::move(ready), earlier != nullptr ? earlier : old));
    return out.plugin;
  });
  if (!made_here) discard(ready.sealed);
  if (!plugin) return plugin.error();
  out.plugin = std::move(*plugin);
  return out;
}

void PluginHost::offer(const std::shared_ptr<Plugin>& plugin, const Plugin* old) const {
  if (options_.registry == nullptr) return;
  const std::string project = options_.shared == nullptr ? std::string() : options_.project_id;
  options_.registry->add(plugin, service_place(*plugin, project), old);
}

void PluginHost::withdraw(const Plugin& plugin) const {
  if (options_.registry != nullptr) options_.registry->remove(plugin);
}

Result<PluginHost::Made> PluginHost::start(Ready ready, Plugin* old) {
  const HookFile& file = *ready.file;
  const Isolation isolation = isolation_of(options_, file, ready.manifest);
  const PluginEnvironment environment =
      environment_of(file.precedence, is_shared(file.precedence, ready.manifest, isolation));
  const PluginConfig config = config_for(file, ready.manifest);
  const NotGranted lacks = lacks_of(file.name, file.precedence, ready.manifest, ready.grants);
  // create() may have refused for want of a grant.
  const auto explained = [&lacks](const Error& why) {
    return Error{why.code, why.message + (lacks.any() && !lacks.on_purpose ? "; it " + lacks.sentence() : "")};
  };
  Made out;
  if (isolation != Isolation::kInProcess) {
    if (!supervisor_)
      supervisor_ = options_.shared != nullptr
                        ? options_.shared->supervisor()
                        : std::make_shared<WorkerSupervisor>(environment_.log, environment_.clock);
    std::vector<std::string> roots;
    if (opens_files(ready.manifest)) roots = roots_without(options_.roots, options_.home);
    auto made = WorkerPlugin::load(
        file, std::move(ready.sealed), std::move(ready.manifest), std::move(ready.grants), config, environment,
        {supervisor_, options_.worker, isolation, std::move(roots), records_, options_.expected});
    if (!made) return explained(made.error());
    out.plugin = std::move(*made);
  } else {
    auto made = NativePlugin::load(file, std::move(ready.sealed), std::move(ready.manifest), std::move(ready.grants),
                                   config, environment);
    if (!made) return explained(made.error());
    out.plugin = std::move(*made);
  }
  if (old != nullptr) out.without_state = pass_state(*old, *out.plugin);
  return out;
}

Result<Grants> PluginHost::grants_of(const HookFile& file, const Manifest& manifest) const {
  Grants out = grants_for(config_of(file.name), file.precedence, file.bundled, manifest);
  if (const NotGranted lacks = lacks_of(file.name, file.precedence, manifest, out); lacks.required)
    return of_file(file, lacks.sentence());
  for (const std::string& id : manifest.required) {
    if ((id == AGENTD_WORKSPACE_ID || id == AGENTD_PROCESS_ID) && !ext_tables_)
      return of_file(file, "requires " + id + ", which needs a workspace: start agentd in a directory");
  }
  return out;
}

std::vector<Subscription> PluginHost::subscriptions() const {
  std::vector<Subscription> out;
  for (const auto& plugin : plugins())
    for (Subscription& each : plugin->subscriptions()) out.push_back(std::move(each));
  return out;
}

void PluginHost::shutdown() {
  std::vector<std::shared_ptr<Plugin>> own = plugins();
  std::erase_if(own, [this](const auto& plugin) { return is_shared(*plugin); });
  for (const auto& each : own) withdraw(*each);
  end_plugins(own, options_.shared == nullptr ? supervisor_.get() : nullptr, environment_.log);
}

}  // namespace agentd
