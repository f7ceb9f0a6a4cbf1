// SPDX-License-Identifier: Apache-2.0
#pragma once
// metrics.h - what the daemon counts, as Prometheus reads it (text exposition format 0.0.4).
//
// Labels are names of hooks, tools, outcomes and models, never ids: beyond 200 names of a kind the rest is "other".
//
// Threading: thread-safe.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/agent/events.h"
#include "core/base/mutex.h"

namespace agentd::serve {

// Upper bounds of the buckets of hook latencies, microseconds.
inline constexpr std::array<std::uint64_t, 12> kLatencyBounds_us{
    10, 50, 100, 500, 1'000, 5'000, 10'000, 50'000, 100'000, 1'000'000, 5'000'000, 30'000'000};

class Metrics {
 public:
  void count(const RunEvent& event);
  void count_request(std::string_view route, unsigned status);
  // A run that could not be recorded.
  void count_store_failure();
  std::uint64_t store_failures() const;

  // Families of counters and histograms.
  std::string text() const;

 private:
  struct Histogram {
    std::array<std::uint64_t, kLatencyBounds_us.size()> below{};  // of each bucket alone
    std::uint64_t count = 0, sum_us = 0;
  };
  using Counters = std::map<std::string, std::uint64_t, std::less<>>;  // by the labels as they are printed
  static void add(Counters& to, std::string labels, std::uint64_t amount = 1);

  mutable Mutex mutex_;
  std::uint64_t store_failures_ GUARDED_BY(mutex_) = 0, turns_ GUARDED_BY(mutex_) = 0,
                                cost_nano_usd_ GUARDED_BY(mutex_) = 0;
  Counters runs_ GUARDED_BY(mutex_), tools_ GUARDED_BY(mutex_), tokens_ GUARDED_BY(mutex_),
      compactions_ GUARDED_BY(mutex_), failures_ GUARDED_BY(mutex_), requests_ GUARDED_BY(mutex_);
  std::map<std::string, Histogram, std::less<>> hooks_ GUARDED_BY(mutex_);
};

// One value of a family with its head: "# HELP name about", "# TYPE name gauge", "name value".
std::string gauge_text(std::string_view name, std::string_view about, double value);
// "key=\"value\"", the value escaped.
std::string label(std::string_view key, std::string_view value);

}  // namespace agentd::serve
