// SPDX-License-Identifier: Apache-2.0
#include "core/services/registry.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/hooks/services.h"

namespace agentd {
namespace {

// All offers of this interface are used.
bool adds_up(std::string_view interface_id) { return interface_id == "agentd.scrubber/1"; }

ServiceError no_such(std::string message) { return {AGENTD_E_UNSUPPORTED, std::move(message)}; }

std::string called(std::string_view interface_id, std::string_view operation) {
  return one_line(interface_id, AGENTD_SERVICE_NAME_MAX) + " " + one_line(operation, AGENTD_SERVICE_NAME_MAX);
}
std::string called(const ServiceRequest& request) { return called(request.interface_id, request.operation); }

std::string setting_of(std::string_view interface_id) { return "services." + service_key(interface_id); }

// Null = it is JSON of an acceptable size.
std::optional<ServiceError> wrong_json(std::string_view json, const std::string& what, agentd_status malformed) {
  if (json.size() > kServiceJsonMax)
    return ServiceError{AGENTD_E_TOO_BIG, what + " has " + std::to_string(json.size()) + " bytes, more than the " +
                                              std::to_string(kServiceJsonMax) + " that a service takes: shorten it"};
  if (auto parsed = JsonDocument::parse(json); !parsed)
    return ServiceError{malformed, what + " is not JSON: " + parsed.error().message};
  return std::nullopt;
}

std::optional<ServiceError> out_of_time(const ServiceRequest& request, const Clock& clock) {
  if (request.cancel.cancelled()) return ServiceError{AGENTD_E_CANCELLED, called(request) + " was cancelled"};
  if (request.deadline.passed(clock))
    return ServiceError{AGENTD_E_DEADLINE, called(request) + ": the caller's deadline has passed"};
  return std::nullopt;
}

}  // namespace

std::string service_key(std::string_view interface_id) {
  constexpr std::string_view kOurs = "agentd.";
  interface_id = interface_id.substr(0, interface_id.rfind('/'));
  if (interface_id.starts_with(kOurs)) interface_id.remove_prefix(kOurs.size());
  return std::string(interface_id);
}

ServiceRegistry::ServiceRegistry(const Clock& clock, Log& log, ServiceRegistryOptions options)
    : clock_(clock), log_(log), options_(std::move(options)) {}

// ---- offers

void ServiceRegistry::add(std::shared_ptr<ServiceProvider> provider, ServicePlace place,
                          const ServiceProvider* replaced) {
  std::vector<Entry> gone;  // ends outside of the lock
  {
    const MutexLock lock(mutex_);
    const auto is_gone = [&](const Entry& each) {
      return each.provider == provider || (replaced != nullptr && each.provider.get() == replaced);
    };
    const auto kept = std::stable_partition(entries_.begin(), entries_.end(), std::not_fn(is_gone));
    std::move(kept, entries_.end(), std::back_inserter(gone));
    entries_.erase(kept, entries_.end());
    const auto key = [](const ServicePlace& each) { return std::tie(each.rank, each.name, each.id); };
    const auto at = std::upper_bound(entries_.begin(), entries_.end(), place,
                                     [&](const auto& mine, const Entry& each) { return key(mine) < key(each.place); });
    entries_.insert(at, {std::move(provider), std::move(place)});
  }
  log_conflicts();
}

void ServiceRegistry::remove(const ServiceProvider& provider) {
  std::shared_ptr<ServiceProvider> gone;  // outlives the lock
  const MutexLock lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& each) { return each.provider.get() == &provider; });
  if (found == entries_.end()) return;
  gone = std::move(found->provider);
  entries_.erase(found);
}

void ServiceRegistry::offer_builtin(std::string interface_id, std::string operation, Builtin builtin) {
  AGENTD_ASSERT(service_name_problem(interface_id, operation).empty());
  const MutexLock lock(mutex_);
  builtins_.push_back(std::make_unique<const BuiltinEntry>(
      BuiltinEntry{std::move(interface_id), std::move(operation), std::move(builtin)}));
}

bool ServiceRegistry::is_named(std::string_view interface_id, const Entry& entry) const {
  const auto chosen = options_.chosen.find(service_key(interface_id));
  return chosen != options_.chosen.end() && (chosen->second == entry.place.id || chosen->second == entry.place.name);
}

std::vector<ServiceRegistry::Candidate> ServiceRegistry::candidates(std::string_view interface_id,
                                                                    std::string_view project_id) const {
  std::vector<Candidate> out;
  Candidate own;
  for (const auto& each : builtins_)
    if (each->interface_id == interface_id) own.services.push_back({each->interface_id, each->operation});
  if (!own.services.empty()) out.push_back(std::move(own));
  for (const Entry& entry : entries_) {
    if (!entry.place.project_id.empty() && entry.place.project_id != project_id) continue;
    if (entry.place.must_be_named && !is_named(interface_id, entry)) continue;
    Candidate each{&entry, entry.provider->services()};
    std::erase_if(each.services, [&](const OfferedService& row) { return row.interface_id != interface_id; });
    if (!each.services.empty()) out.push_back(std::move(each));
  }
  return out;
}

// Null: the settings name none of them.
const ServiceRegistry::Candidate* ServiceRegistry::chosen_of(std::string_view interface_id,
                                                             const std::vector<Candidate>& from) const {
  const auto chosen = options_.chosen.find(service_key(interface_id));
  if (chosen == options_.chosen.end()) return nullptr;
  for (const Candidate& each : from)
    if (each.entry == nullptr ? chosen->second == kServiceCore : is_named(interface_id, *each.entry)) return &each;
  return nullptr;
}

ServiceRegistry::Found ServiceRegistry::find(const ServiceRequest& request, bool all) const {
  const MutexLock lock(mutex_);
  const std::string interface = one_line(request.interface_id, AGENTD_SERVICE_NAME_MAX);
  std::vector<Candidate> from = candidates(request.interface_id, request.project_id);
  if (from.empty())
    return {{}, interface + " is unsupported here, since no plugin offers it: enable one that does (agentd --plugins)"};
  if (!all) {
    const auto said = options_.chosen.find(service_key(request.interface_id));
    const Candidate* const chosen = chosen_of(request.interface_id, from);
    if (chosen == nullptr && said != options_.chosen.end() && !adds_up(request.interface_id))
      return {{},
              interface + " is unsupported here, since " + setting_of(request.interface_id) + " names " +
                  one_line(said->second, 80) + ", which does not offer it: enable that plugin, or name " +
                  from[0].id()};
    if (chosen != nullptr) from = {*chosen};
    // An interface is not divided among providers: its data would be.
    if (!adds_up(request.interface_id)) from.resize(1);
  }
  Found out;
  for (const Candidate& each : from)
    for (const OfferedService& row : each.services) {
      if (row.operation != request.operation) continue;
      Target target{each.id(), each.entry == nullptr ? nullptr : each.entry->provider, row};
      for (const auto& builtin : builtins_)
        if (each.entry == nullptr && builtin->interface_id == row.interface_id && builtin->operation == row.operation)
          target.builtin = &builtin->call;
      out.targets.push_back(std::move(target));
      break;
    }
  if (out.targets.empty())
    out.why_none = called(request) + " is unsupported here, since " + from[0].id() + " offers " + interface +
                   " without that operation: update the plugin, or choose another with " +
                   setting_of(request.interface_id);
  return out;
}

bool ServiceRegistry::offers(std::string_view interface_id, std::string_view operation,
                             std::string_view project_id) const {
  ServiceRequest request;
  request.interface_id = interface_id;
  request.operation = operation;
  request.project_id = project_id;
  return !find(request, adds_up(interface_id)).targets.empty();
}

// ---- conflicts

// Each with each project in which it may have other providers.
std::set<std::pair<std::string, std::string>> ServiceRegistry::interfaces() const {
  std::set<std::string> projects{""};
  for (const Entry& entry : entries_) projects.insert(entry.place.project_id);
  std::set<std::pair<std::string, std::string>> out;
  for (const std::string& project : projects) {
    for (const auto& each : builtins_) out.emplace(each->interface_id, project);
    for (const Entry& entry : entries_)
      for (const OfferedService& row : entry.provider->services()) out.emplace(row.interface_id, project);
  }
  return out;
}

std::vector<std::string> ServiceRegistry::conflicts_now() const {
  std::vector<std::string> out;
  for (const auto& [interface, project] : interfaces()) {
    if (adds_up(interface)) continue;
    const std::vector<Candidate> from = candidates(interface, project);
    if (from.empty() || chosen_of(interface, from) != nullptr) continue;
    const auto said = options_.chosen.find(service_key(interface));
    std::string sentence;
    if (said != options_.chosen.end()) {
      sentence = setting_of(interface) + " names " + one_line(said->second, 80) + ", which does not offer " +
                 interface + ": enable that plugin, or name " + from[0].id();
    } else if (from.size() > 1) {
      std::vector<std::string> ids;
      for (const Candidate& each : from) ids.push_back(each.id());
      sentence = join(ids, " and ") + " offer " + interface + ", and " + ids[0] + " is used as the first: set " +
                 setting_of(interface) + " to the one that you want";
    }
    if (!sentence.empty() && std::find(out.begin(), out.end(), sentence) == out.end())
      out.push_back(std::move(sentence));
  }
  return out;
}

std::vector<std::string> ServiceRegistry::conflicts() const {
  const MutexLock lock(mutex_);
  return conflicts_now();
}

std::vector<std::string> ServiceRegistry::take_conflicts() {
  const MutexLock lock(mutex_);
  std::vector<std::string> out = conflicts_now();
  std::erase_if(out, [this](const std::string& each) REQUIRES(mutex_) { return !taken_.insert(each).second; });
  return out;
}

void ServiceRegistry::log_conflicts() {
  std::vector<std::string> fresh;
  {
    const MutexLock lock(mutex_);
    for (std::string& each : conflicts_now())
      if (logged_.insert(each).second) fresh.push_back(std::move(each));
  }
  for (const std::string& each : fresh) log_.write(LogLevel::kWarning, "services", each);
}

std::vector<ServiceRegistry::Offer> ServiceRegistry::all() const {
  const MutexLock lock(mutex_);
  std::vector<Offer> out;
  for (const auto& [interface, project] : interfaces()) {
    const std::vector<Candidate> from = candidates(interface, project);
    const Candidate* used = chosen_of(interface, from);
    if (used == nullptr && !from.empty() && !options_.chosen.contains(service_key(interface))) used = &from[0];
    for (const Candidate& each : from) {
      const std::string own = each.entry == nullptr ? std::string() : each.entry->place.project_id;
      if (own != project) continue;  // listed where it belongs
      Offer offer{interface, each.id(), own, {}, adds_up(interface) || &each == used};
      for (const OfferedService& row : each.services) offer.operations.push_back(row.operation);
      out.push_back(std::move(offer));
    }
  }
  return out;
}

// ---- calls

ServiceAnswer ServiceRegistry::call(ServiceRequest request) {
  std::string project;
  if (request.project_id.empty() && request.conversation != 0 && options_.project_of)
    request.project_id = project = options_.project_of(request.conversation);
  const Found found = find(request, false);
  if (found.targets.empty()) return no_such(found.why_none);
  if (auto wrong = wrong_json(request.input_json, "the input of " + called(request), AGENTD_E_ARG)) return *wrong;
  return run(found.targets.front(), request);
}

std::vector<ServiceRegistry::NamedAnswer> ServiceRegistry::call_all(ServiceRequest request, ServiceError* refused) {
  std::string project;
  if (request.project_id.empty() && request.conversation != 0 && options_.project_of)
    request.project_id = project = options_.project_of(request.conversation);
  const Found found = find(request, true);
  if (auto wrong = wrong_json(request.input_json, "the input of " + called(request), AGENTD_E_ARG)) {
    if (refused != nullptr) *refused = *wrong;
    return {};
  }
  std::vector<NamedAnswer> out;
  for (const Target& target : found.targets) out.push_back({target.id, run(target, request)});
  return out;
}

ServiceAnswer ServiceRegistry::run(const Target& target, ServiceRequest request) {
  if (auto late = out_of_time(request, clock_)) return *late;
  const Milliseconds time = target.service.timeout.count() == 0 ? kServiceCallTime : target.service.timeout;
  request.deadline.at_ns = std::min(request.deadline.at_ns, Deadline::after(clock_, time).at_ns);
  const auto ask = [&]() -> ServiceAnswer {
    if (target.builtin != nullptr) {
      auto made = (*target.builtin)(request);
      if (!made) return ServiceError{status_of(made.error().code), made.error().message};
      return std::move(*made);
    }
    const void* const to = target.provider->service_instance();
    if (request.from == nullptr) return target.provider->call_service(target.service, request);
    if (!begin_wait(request.from, to))
      return ServiceError{AGENTD_E_BUSY, called(request) + " is busy: " + target.id + " waits for " +
                                             one_line(request.caller, 80) + (request.from == to ? " itself" : "") +
                                             ", so this call would wait for itself; try again later"};
    ServiceAnswer answer = target.provider->call_service(target.service, request);
    end_wait(request.from, to);
    return answer;
  };
  ServiceAnswer answer = ask();
  if (!answer) return answer;
  if (auto wrong = wrong_json(*answer, "the result of " + called(request) + " by " + target.id, AGENTD_E_INTERNAL))
    return *wrong;
  return answer;
}

bool ServiceRegistry::begin_wait(const void* from, const void* to) {
  const MutexLock lock(waits_mutex_);
  // Everyone for whom `to` waits, directly or through others.
  std::vector<const void*> open{to};
  std::set<const void*> seen;
  while (!open.empty()) {
    const void* const at = open.back();
    open.pop_back();
    if (at == from) return false;
    if (!seen.insert(at).second) continue;
    for (auto [edge, end] = waits_.equal_range(at); edge != end; ++edge) open.push_back(edge->second);
  }
  waits_.emplace(from, to);
  return true;
}

void ServiceRegistry::end_wait(const void* from, const void* to) {
  const MutexLock lock(waits_mutex_);
  for (auto [edge, end] = waits_.equal_range(from); edge != end; ++edge)
    if (edge->second == to) {
      waits_.erase(edge);
      return;
    }
}

}  // namespace agentd
