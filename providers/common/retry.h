// SPDX-License-Identifier: Apache-2.0
#pragma once
// retry.h - decides when a failed request is repeated, and how long to wait before.
//
// Bounded and polite: a provider that asks for time gets it, up to a limit. An error that a repetition cannot fix (key,
// spend limit, a bad request) is never retried, and no request is retried after its answer began.
//
// Threading: values are immutable; Retrier is thread-safe when its parts are.

#include <functional>
#include <optional>

#include "core/base/clock.h"
#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

struct RetryPolicy {
  std::uint32_t retries = 2;
  Milliseconds first_delay{500};  // doubles with each retry
  Milliseconds delay_max{8'000};
  Milliseconds retry_after_max{60'000};  // the longest wait that a provider can request
};

// The wait that the response requests: retry-after-ms, retry-after in seconds or as an HTTP date (RFC 9110, section
// 10.2.3). Absent for invalid values and past dates.
std::optional<Milliseconds> retry_after_of(const HttpResponse& response, std::int64_t wall_ms);

// True for 408, 409, 429 and 5xx.
bool retryable_status(int status);

// The outcome of one attempt for the loop below.
struct Attempt {
  ModelResult result;
  bool again = false;  // a repetition may help; never after the answer began
};

class Retrier {
 public:
  // `random` gives numbers in [0, 1). References must outlive the retrier.
  Retrier(RetryPolicy policy, const Clock& clock, std::function<double()> random = {});

  // Calls `attempt` once and then at most `retries` times more. The error has the number of attempts. `sink` is
  // notified of each wait. A deadline that would pass during the wait ends the loop immediately, and so does a used-up
  // `budget`, which the error then mentions.
  ModelResult run(const std::function<Attempt()>& attempt, ModelSink& sink, const CancelToken& cancel,
                  Deadline deadline, RetryBudget* budget = nullptr) const;
  // The wait before retry number `retry` (0 = the first): the provider's request, up to the limit; otherwise
  // exponential, minus up to a random quarter.
  Milliseconds delay(std::uint32_t retry, const std::optional<Milliseconds>& asked) const;

 private:
  RetryPolicy policy_;
  const Clock& clock_;
  std::function<double()> random_;
};

}  // namespace agentd
