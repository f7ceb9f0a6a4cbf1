// SPDX-License-Identifier: Apache-2.0
#include "core/host/worker/crash_book.h"

#include <algorithm>

namespace agentd {
namespace {

std::uint64_t ns(Milliseconds time) {
  return static_cast<std::uint64_t>(time.count()) * 1'000'000u;
}

// "60 s", "500 ms".
std::string span_text(Milliseconds time) {
  if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " s";
  return std::to_string(time.count()) + " ms";
}

}  // namespace

bool CrashBook::note(std::uint64_t at_ns, std::string_view cause) {
  const std::lock_guard lock(mutex_);
  ends_.push_back(at_ns);
  std::erase_if(ends_, [&](std::uint64_t end) { return end + ns(options_.crash_window) < at_ns; });
  if (!set_aside_.empty() || ends_.size() < options_.crashes_max) return false;
  set_aside_ = "crashed its worker " + std::to_string(ends_.size()) +
               (ends_.size() == 1 ? " time in " : " times in ") + span_text(options_.crash_window) +
               " (" + std::string(cause) + ")";
  return true;
}

std::string CrashBook::set_aside() const {
  const std::lock_guard lock(mutex_);
  return set_aside_;
}

std::uint64_t CrashBook::next_start_ns() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = clock_.monotonic_ns();
  const auto recent = std::count_if(ends_.begin(), ends_.end(), [&](std::uint64_t end) {
    return end + ns(options_.crash_window) >= now;
  });
  if (recent < 2) return 0;
  Milliseconds pause = options_.first_pause;
  for (auto i = recent; i > 2 && pause < options_.pause_max; --i) pause *= 4;
  return ends_.back() + ns(std::min(pause, options_.pause_max));
}

}  // namespace agentd
