// SPDX-License-Identifier: Apache-2.0
#pragma once
// service.h - a service operation, a call of it, and the instances that offer operations.
//
// Threading: values; a ServiceProvider is thread-safe.

#include <agentd/ext/draft/provide.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace agentd {

// Input and result of a call, in bytes of JSON.
constexpr std::size_t kServiceJsonMax = AGENTD_SERVICE_JSON_MAX;
// The time of a call whose row names none.
constexpr Milliseconds kServiceCallTime{30'000};
// The caller's and the provider's name for agentd itself.
inline constexpr std::string_view kServiceCore = "core";

// One operation that an instance offers. `fn` is for the instance's own use.
struct OfferedService {
  std::string interface_id, operation;
  std::uint32_t flags = 0;  // AGENTD_SERVICE_
  Milliseconds timeout{0};  // 0 = kServiceCallTime
  agentd_fn fn = nullptr;
  std::uint64_t tag = 0;
};

struct ServiceRequest {
  std::string_view interface_id, operation;
  std::string_view input_json;  // one JSON value
  std::string_view project_id{};
  std::string_view caller = kServiceCore;  // the calling plugin's id
  // The plugin instance that waits for the answer, as ServiceProvider::service_instance(); null = none does. A built-in
  // that calls on passes it on.
  const void* from = nullptr;
  agentd_conv conversation = 0;  // 0 = none
  CancelToken cancel{};
  Deadline deadline{};
};

struct ServiceError {
  agentd_status status = AGENTD_E_INTERNAL;  // never AGENTD_OK or AGENTD_PENDING
  std::string message;                       // one sentence
};
// The result's JSON.
using ServiceAnswer = Result<std::string, ServiceError>;

// An instance that offers operations: a plugin, wherever it runs.
class ServiceProvider {
 public:
  virtual ~ServiceProvider() = default;
  // Identifies the instance; a provider that calls services itself is the `from` of these calls.
  virtual const void* service_instance() const = 0;
  // The operations at this moment, in the order in which they were added.
  virtual std::vector<OfferedService> services() const = 0;
  // Runs one and waits for its end, at most until the request's deadline. An instance that takes one call at a time
  // waits for its turn as long. REQUIRES: a service of services(), now or earlier.
  virtual ServiceAnswer call_service(const OfferedService& service, const ServiceRequest& request) = 0;
};

// Counts the service calls inside an instance, so that it ends after them.
class ServiceGate {
 public:
  // Holds the gate open during its lifetime; false if it was closed before.
  class Use {
   public:
    explicit Use(ServiceGate& gate) : gate_(gate), entered_(gate.enter()) {}
    ~Use() {
      if (entered_) gate_.leave();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const { return entered_; }

   private:
    ServiceGate& gate_;
    const bool entered_;
  };

  // Refuses new calls and waits for the running ones; false if some still run after `grace`.
  bool close(const Clock& clock, Milliseconds grace);

 private:
  bool enter();
  void leave();

  Mutex mutex_;
  Condition left_;
  std::size_t inside_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

// Why a row cannot be offered, one sentence; empty = it can. It checks the names.
std::string service_name_problem(std::string_view interface_id, std::string_view operation);

}  // namespace agentd
