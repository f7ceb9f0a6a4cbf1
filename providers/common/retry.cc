// SPDX-License-Identifier: Apache-2.0
#include "providers/common/retry.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <random>

namespace agentd {
namespace {

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !(value >= 0)) return std::nullopt;
  return value;
}

// A year exceeds every wait and keeps the arithmetic small.
Milliseconds milliseconds_of(double value) {
  return Milliseconds(static_cast<std::int64_t>(std::min(value, 365.0 * 86'400'000.0)));
}

std::optional<std::int64_t> http_date_ms(std::string_view text) {
  tm parts{};
  const std::string date(text);
  if (::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&parts)) * 1000;
}

double random_fraction() {
  std::random_device device;
  return std::uniform_real_distribution<double>(0.0, 1.0)(device);
}

}  // namespace

std::optional<Milliseconds> retry_after_of(const HttpResponse& response, std::int64_t wall_ms) {
  if (const auto ms = number_of(response.header("retry-after-ms"))) return milliseconds_of(*ms);
  const std::string_view text = response.header("retry-after");
  if (const auto seconds = number_of(text)) return milliseconds_of(*seconds * 1000);
  const auto date = http_date_ms(text);
  if (!date || *date <= wall_ms) return std::nullopt;
  return milliseconds_of(static_cast<double>(*date - wall_ms));
}

bool retryable_status(int status) {
  return status == 408 || status == 409 || status == 429 || (status >= 500 && status <= 599);
}

Retrier::Retrier(RetryPolicy policy, const Clock& clock, std::function<double()> random)
    : policy_(policy), clock_(clock), random_(random ? std::move(random) : std::function<double()>(random_fraction)) {}

Milliseconds Retrier::delay(std::uint32_t retry, const std::optional<Milliseconds>& asked) const {
  if (asked) return std::min(*asked, policy_.retry_after_max);
  const auto doubled = policy_.first_delay.count() << std::min(retry, 20u);
  const auto longest = static_cast<double>(std::min(doubled, policy_.delay_max.count()));
  return Milliseconds(static_cast<std::int64_t>(longest * (1.0 - 0.25 * random_())));
}

ModelResult Retrier::run(const std::function<Attempt()>& attempt, ModelSink& sink, const CancelToken& cancel,
                         Deadline deadline, RetryBudget* budget) const {
  for (std::uint32_t made = 1;; ++made) {
    Attempt one = attempt();
    if (one.result) return std::move(one.result);
    ModelError error = one.result.error();
    error.attempts = made;
    if (!one.again || made > policy_.retries || cancel.cancelled()) return error;
    const Milliseconds wait = delay(made - 1, error.retry_after);
    if (wait >= deadline.left(clock_)) return error;
    if (budget != nullptr && !budget->take()) {
      error.message += "; " + budget->used_up();
      return error;
    }
    sink.on_wait(wait, error);
    if (clock_.sleep(wait, cancel)) continue;
    error.kind = ModelErrorKind::kCancelled;
    error.message = "cancelled while waiting to try again after: " + error.message;
    return error;
  }
}

}  // namespace agentd
