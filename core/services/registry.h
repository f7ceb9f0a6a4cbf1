// SPDX-License-Identifier: Apache-2.0
#pragma once
// registry.h - the services that plugins and agentd offer, by interface: who answers, who waits for whom.
//
// CLI, servers, the agent and plugins ask here and know no plugin. An interface has one provider: the one that the
// user's settings name (services.NAME), else the first by order, and a conflict is reported once. Where offers add up,
// all are used. No call fires an event.
//
// A call that would close a circle is refused at once: the registry keeps an edge from each waiting instance to the one
// that it waits for. Two edges of unrelated calls may look like a circle; that call is refused too, and may be
// repeated.
//
// Threading: thread-safe. No lock is held while an operation runs.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/services/service.h"

namespace agentd {

// The key below `services.` in the settings: "memory" for "agentd.memory/1", "org.example.time" for
// "org.example.time/2".
std::string service_key(std::string_view interface_id);

// Where a provider stands among the others.
struct ServicePlace {
  std::string id;              // of the plugin: org.example.hello
  std::string name;            // as in hooks.NAME; also orders providers of one rank
  std::uint32_t rank = 0;      // lower is earlier: the plugin's precedence
  std::string project_id;      // the only project that it serves; empty = all
  bool must_be_named = false;  // offers only interfaces for which the settings name it
};

struct ServiceRegistryOptions {
  std::map<std::string, std::string> chosen{};  // services.NAME: a plugin's id or name, or "core"; by service_key()
  // The project of an open conversation; empty = unknown. Called on any thread.
  std::function<std::string(agentd_conv)> project_of{};
};

class ServiceRegistry {
 public:
  // `clock` and `log` outlive it; `log` gets the conflicts.
  ServiceRegistry(const Clock& clock, Log& log, ServiceRegistryOptions options = {});
  ServiceRegistry(const ServiceRegistry&) = delete;
  ServiceRegistry& operator=(const ServiceRegistry&) = delete;

  // Adds a provider, instead of `replaced` if that is not null: every call finds one of the two.
  void add(std::shared_ptr<ServiceProvider> provider, ServicePlace place, const ServiceProvider* replaced = nullptr);
  // Removes it; calls that run in it finish, and hold it until then. An unknown one is ignored.
  void remove(const ServiceProvider& provider);
  // Offers an operation of agentd's own, which is before all plugins. Called before any other thread uses the registry.
  using Builtin = std::function<Result<std::string>(const ServiceRequest&)>;
  void offer_builtin(std::string interface_id, std::string operation, Builtin builtin);

  // Calls an operation and waits for its result, checked JSON of at most kServiceJsonMax bytes. AGENTD_E_UNSUPPORTED:
  // no provider offers it; AGENTD_E_BUSY: the call would wait for itself; AGENTD_E_ARG, AGENTD_E_TOO_BIG: the input;
  // AGENTD_E_CANCELLED, AGENTD_E_DEADLINE; AGENTD_E_INTERNAL: a result that is not JSON; else the provider's status.
  // Where offers add up, the first answers.
  ServiceAnswer call(ServiceRequest request);
  struct NamedAnswer {
    std::string provider;  // the plugin's id, or "core"
    ServiceAnswer answer;
  };
  // Calls every provider of the operation with the same input, in order; empty = there is none, or the input is
  // refused, which `refused` then says.
  std::vector<NamedAnswer> call_all(ServiceRequest request, ServiceError* refused = nullptr);

  // True if call() would find a provider.
  bool offers(std::string_view interface_id, std::string_view operation, std::string_view project_id = {}) const;
  // For people: every offer in order, with the one that is used.
  struct Offer {
    std::string interface_id, provider, project_id;
    std::vector<std::string> operations;
    bool used = false;  // always, where offers add up
  };
  std::vector<Offer> all() const;
  // One sentence for each interface that several offer and no setting decides, and for each setting that names no
  // provider.
  std::vector<std::string> conflicts() const;
  // The conflicts that this function has not returned yet.
  std::vector<std::string> take_conflicts();

 private:
  struct Entry {
    std::shared_ptr<ServiceProvider> provider;  // shared with calls that run in it
    ServicePlace place;
  };
  struct BuiltinEntry {
    std::string interface_id, operation;
    Builtin call;
  };
  // The provider that would answer a call.
  struct Target {
    std::string id;                             // the plugin's, or "core"
    std::shared_ptr<ServiceProvider> provider;  // null = `builtin` answers
    OfferedService service;
    const Builtin* builtin = nullptr;
  };
  struct Found {
    std::vector<Target> targets;
    std::string why_none;  // a sentence, if `targets` is empty
  };
  // An instance's claim to an interface.
  struct Candidate {
    const Entry* entry = nullptr;  // null = agentd itself
    std::vector<OfferedService> services;
    std::string id() const { return entry == nullptr ? std::string(kServiceCore) : entry->place.id; }
  };

  std::vector<Candidate> candidates(std::string_view interface_id, std::string_view project_id) const REQUIRES(mutex_);
  const Candidate* chosen_of(std::string_view interface_id, const std::vector<Candidate>& from) const;
  bool is_named(std::string_view interface_id, const Entry& entry) const;
  Found find(const ServiceRequest& request, bool all) const;
  void log_conflicts();
  std::set<std::pair<std::string, std::string>> interfaces() const REQUIRES(mutex_);
  std::vector<std::string> conflicts_now() const REQUIRES(mutex_);
  ServiceAnswer run(const Target& target, ServiceRequest request);
  // Adds the edge, or returns false if it would close a circle.
  bool begin_wait(const void* from, const void* to);
  void end_wait(const void* from, const void* to);

  const Clock& clock_;
  Log& log_;
  const ServiceRegistryOptions options_;
  mutable Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);  // in order
  std::vector<std::unique_ptr<const BuiltinEntry>> builtins_ GUARDED_BY(mutex_);
  std::set<std::string> logged_ GUARDED_BY(mutex_), taken_ GUARDED_BY(mutex_);  // conflicts
  // Never taken while mutex_ is held.
  Mutex waits_mutex_;
  std::multimap<const void*, const void*> waits_ GUARDED_BY(waits_mutex_);  // who waits for whom
};

}  // namespace agentd
