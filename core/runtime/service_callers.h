// SPDX-License-Identifier: Apache-2.0
#pragma once
// service_callers.h - where agentd itself asks for services of plugins: memories for a session's start, and secrets
// that core's own rules do not know.
//
// Threading: thread-safe, as the registry is.

#include <memory>

#include "core/agent/recollections.h"
#include "core/scrub/scrubber.h"
#include "core/services/registry.h"

namespace agentd {

// Lessons of "agentd.memory/1", operation prime. Without an offer there are none.
class ServiceRecollections final : public Recollections {
 public:
  // `registry` outlives it.
  explicit ServiceRecollections(ServiceRegistry& registry) : registry_(registry) {}
  // An answer in another form is an error that names the interface.
  Result<std::vector<Recollection>> prime(const PrimeRequest& request, const CancelToken& cancel,
                                          Deadline deadline) override;

 private:
  ServiceRegistry& registry_;
};

// Asks every offer of "agentd.scrubber/1", operation find: {text} -> {findings: [{at, length, rule}]}, in bytes of the
// text. An offer that fails, takes longer than two seconds or answers in another form is an error, since nothing is
// known of the text then. A text of more than 128 KiB is given in parts that overlap by 16 KiB, and bytes that are no
// UTF-8 as "?". The registry and the clock outlive it.
std::shared_ptr<const ExtraScrubber> service_scrubber(ServiceRegistry& registry, const Clock& clock);

}  // namespace agentd
