// SPDX-License-Identifier: Apache-2.0
// hook_guards.cc - finds guards that are missing, or that could not block.
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "core/base/nearest.h"
#include "core/base/shell_word.h"
#include "core/host/guard_check.h"
#include "core/host/hook_host.h"

namespace agentd {
namespace {

std::vector<std::uint32_t> event_ids(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> out;
  for (const std::string& name : names)
    if (const EventTraits* const event = find_event(name)) out.push_back(event->id);
  if (out.empty()) out.push_back(AGENTD_EVENT_BEFORE_TOOL_CALL);
  return out;
}

}  // namespace

std::string HookHost::why_missing(const std::string& name, const std::string& path) const {
  const std::string directory = path.substr(0, path.rfind('/'));
  for (const HookProblem& each : problems_) {
    const bool of_directory = each.name.empty() && !path.empty() && each.path == directory;
    if (each.name == name || each.path == name || of_directory) return each.message;
  }
  struct stat info {};
  if (!path.empty() && ::stat(path.c_str(), &info) == 0)
    return path +
           " is no longer a hook: restore its executable bit (chmod +x) or its "
           "name";
  // If another hook has its name, only its path identifies it.
  return "its file is missing: restore it, or remove it from the guards with " +
         shell_command("agentd hooks untrust", owners_.contains(name) && !path.empty() ? path : name);
}

void HookHost::miss_guard(const std::string& name, const std::string& identity, const std::vector<std::string>& events,
                          std::string why) {
  if (!missed_.insert(identity).second) return;
  problem("", name, "the guard '" + name + "' is unavailable, so its events are blocked: " + why);
  externals_.add_missing_guard(name, identity, Precedence::kUser, event_ids(events), std::move(why));
}

// The problem of the trust store is told already, and is the line above.
void HookHost::miss_record() {
  const std::string name = options_.trust_file.substr(options_.trust_file.rfind('/') + 1);
  if (!missed_.insert(name).second) return;
  problem("", name,
          "tool calls are denied, since a hook that may be a guard was not loaded because of the line above; do what "
          "that line says, and start agentd again");
  externals_.add_missing_guard(name, name, Precedence::kUser, event_ids({}),
                               "a hook that may be a guard was not loaded; do what the warning at agentd's start says, "
                               "and start agentd again");
}

void HookHost::block(const HookDefinition& guard, std::string why) {
  const EventTraits* const event = find_event(guard.event);
  miss_guard(guard.name, guard.name, {event == nullptr ? std::string() : std::string(event->name)}, std::move(why));
}

bool HookHost::is_loaded_from(const std::string& path) const {
  return std::any_of(owners_.begin(), owners_.end(), [&](const auto& each) { return each.second == path; });
}

// A guard is identified by its file, not its name: another hook with the same name does not replace it. But an update
// may move the system's own hooks, and the user may replace one of these with his own.
bool HookHost::is_here(const TrustEntry& guard) const {
  if (off_.contains(guard.name) || is_loaded_from(guard.path)) return true;
  if (!owners_.contains(guard.name)) return false;
  if (system_.contains(guard.name)) return true;
  const auto& directories = options_.native.directories;
  return std::any_of(directories.begin(), directories.end(), [&](const HookDirectory& each) {
    return each.precedence == Precedence::kSystem && guard.path.starts_with(canonical_path(each.path) + "/");
  });
}

void HookHost::add_missing_guards() {
  for (const PluginHost::BrokenGuard& each : natives_.broken_guards())
    miss_guard(each.name, each.name, each.events, each.why);
  for (const auto& [path, name] : wanted_guards_)
    if (!is_loaded_from(path)) miss_guard(name, path, {}, why_missing(name, path));
  // Without the store the recorded guards are unknown.
  if (!options_.trust_file.empty() && trust() == nullptr) miss_record();
  const std::vector<std::string>& off = natives_.disabled();
  off_.insert(off.begin(), off.end());
  std::vector<TrustEntry> known;
  if (TrustStore* const store = options_.trust_file.empty() ? nullptr : trust()) known = store->entries();
  const auto here = TrustStore::repository_key(options_.project_root);
  for (const TrustEntry& entry : known) {
    if (!entry.guard || may_fail(entry.name) || is_here(entry) || missed_.contains(entry.name)) continue;
    if (!entry.repository.empty() && (!here || entry.repository != *here)) continue;
    miss_guard(entry.name, entry.path, entry.events, why_missing(entry.name, entry.path));
  }
  for (const std::string& name : options_.guards)
    if (!acts(name) || is_in_shadow(name)) miss_named_guard(name, known);
  // on_failure: closed also covers a file that does not run, unless the user has disabled it.
  for (const auto& [name, settings] : options_.settings)
    if (settings.on_failure == FailurePolicy::kClosed && !acts(name) && !is_switched_off(name) &&
        !path_of_problem(name).empty())
      miss_named_guard(name, known);
}

std::vector<std::string> HookHost::guards_kept_out() {
  std::map<std::string, std::string> out;  // what forgets the guard, by its name
  const auto here = TrustStore::repository_key(options_.project_root);
  if (TrustStore* const store = options_.trust_file.empty() ? nullptr : trust())
    for (const TrustEntry& entry : store->entries()) {
      const bool foreign = !entry.repository.empty() && (!here || entry.repository != *here);
      if (entry.guard && !foreign && is_switched_off(entry.name))
        out[entry.name] = "forget it with " + shell_command("agentd hooks untrust", entry.name);
    }
  for (const auto& [name, settings] : options_.settings)
    if (settings.on_failure == FailurePolicy::kClosed && is_switched_off(name))
      out[name] = "remove hooks." + name + ".on_failure";
  for (const std::string& name : options_.guards) out.erase(name);  // they block
  std::vector<std::string> sentences;
  for (const auto& [name, forget] : out) {
    const bool kept_out = is_off(options_, name) || !is_allowed(options_, name);
    sentences.push_back(
        "the guard " + name + " is off, since " +
        (kept_out ? "hooks.disable, hooks.allow or hooks." + name + ".enabled keeps it out" : "nothing enables it") +
        ", and no other guard replaces it; enable it, or " + forget);
  }
  return sentences;
}

// A configured guard that can block nothing is a mistake. `stops`: no run begins with it; otherwise its events are
// blocked.
void HookHost::check_guards(bool stops) {
  const std::vector<Subscription> rows = subscriptions();
  each_named_guard(options_, [&](const std::string& name, const std::string& place) {
    GuardCheck check;
    for (const Subscription& row : rows)
      if (row.name == name || row.name.starts_with(name + "."))
        check.add(row.event, (row.flags & AGENTD_HOOK_OBSERVES) == 0, row.shadow, row.on_failure);
    const std::string mistake = check.mistake();
    if (mistake.empty()) return;
    if (!stops)
      return miss_guard(
          name, name, {},
          "its new version guards nothing: restore the old one, and " + shell_command("agentd hooks trust", name));
    problem("", name, place + ": " + name + mistake);
    problems_.back().unreadable = true;
  });
  if (!stops) return;
  for (const HookDefinition* const hook : externals_.definitions())
    if (is_guard(*hook) && hook->shadow && !is_in_shadow(hook->name))
      problem(hook->path, hook->name,
              hook->path + ": the guard " + hook->name +
                  " runs in shadow mode and blocks nothing: remove shadow: true to let it guard");
}

// The hooks of one file are named NAME, or NAME.1, NAME.2.
bool HookHost::acts(const std::string& name) const {
  if (!kind_of(name).empty()) return true;
  const auto all = externals_.definitions();
  return std::any_of(all.begin(), all.end(),
                     [&](const HookDefinition* hook) { return hook->name.starts_with(name + "."); });
}

bool HookHost::is_in_shadow(const std::string& name) const {
  const auto found = options_.settings.find(name);
  return found != options_.settings.end() && found->second.shadow.value_or(false);
}

bool HookHost::is_switched_off(const std::string& name) const {
  return off_.contains(name) || is_off(options_, name) || !is_allowed(options_, name);
}

// The path of a file that does not run, from its problem; empty: no file of that name.
std::string HookHost::path_of_problem(const std::string& name) const {
  for (const HookProblem& each : problems_) {
    const std::string file = each.path.substr(each.path.rfind('/') + 1);
    if (!each.path.empty() && (each.name == name || file.substr(0, file.find('.')) == name))
      return canonical_path(each.path);
  }
  return {};
}

// `known`: entries of the trust store.
void HookHost::miss_named_guard(const std::string& name, const std::vector<TrustEntry>& known) {
  if (missed_.contains(name)) return;
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const TrustEntry& entry) { return entry.name == name; });
  const std::string path = found == known.end() ? path_of_problem(name) : found->path;
  std::string why;
  if (is_switched_off(name) || is_in_shadow(name))
    why = "hooks.guards names it, and hooks.disable, hooks.allow, hooks." + name + ".enabled or hooks." + name +
          ".shadow keeps it from blocking: remove it from one of them";
  else if (found == known.end() && path.empty())
    why = no_hook_named(name);
  else
    why = why_missing(name, path);
  miss_guard(name, path.empty() ? name : path, found == known.end() ? std::vector<std::string>{} : found->events,
             std::move(why));
}

// The message for a configured name that no hook has.
std::string HookHost::no_hook_named(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [each, path] : owners_) names.push_back(each);
  const std::string mean = did_you_mean(name, names);
  return "hooks.guards or hooks." + name + " names it, and no hook has that name" +
         (mean.empty() ? "; 'agentd hooks list' shows all hooks" : mean);
}

}  // namespace agentd
