// SPDX-License-Identifier: Apache-2.0
#include "core/workers/crash_book.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

std::uint64_t ns(Milliseconds time) { return static_cast<std::uint64_t>(time.count()) * 1'000'000u; }

// "60 s", "500 ms".
std::string span_text(Milliseconds time) {
  if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " s";
  return std::to_string(time.count()) + " ms";
}

}  // namespace

bool CrashBook::note(std::uint64_t at_ns, EndKind kind, std::string_view cause, std::size_t told) {
  if (kind == EndKind::kWanted) return false;
  const MutexLock lock(mutex_);
  ends_.push_back({at_ns, kind});
  std::erase_if(ends_, [&](const End& end) { return end.at_ns + ns(options_.crash_window) < at_ns; });
  const std::size_t crashes = count(EndKind::kCrash), hangs = count(EndKind::kHang);
  const std::size_t all = std::max(crashes + hangs, told);
  if (kind == EndKind::kCutShort || !set_aside_.empty() || all < options_.crashes_max) return false;
  set_aside_ = std::string(hangs == 0     ? "crashed"
                           : crashes == 0 ? "hung"
                                          : "crashed or hung") +
               " its worker " + counted(all, "time") + " in " + span_text(options_.crash_window) + " (" +
               std::string(cause) + ")";
  return true;
}

std::size_t CrashBook::count(EndKind kind) const {
  return static_cast<std::size_t>(
      std::count_if(ends_.begin(), ends_.end(), [&](const End& end) { return end.kind == kind; }));
}

std::string CrashBook::set_aside() const {
  const MutexLock lock(mutex_);
  return set_aside_;
}

std::uint64_t CrashBook::next_start_ns() const {
  const MutexLock lock(mutex_);
  const std::uint64_t now = clock_.monotonic_ns();
  const auto recent = std::count_if(ends_.begin(), ends_.end(),
                                    [&](const End& end) { return end.at_ns + ns(options_.crash_window) >= now; });
  if (recent < 2) return 0;
  Milliseconds pause = options_.first_pause;
  for (auto i = recent; i > 2 && pause < options_.pause_max; --i) pause *= 4;
  return ends_.back().at_ns + ns(std::min(pause, options_.pause_max));
}

}  // namespace agentd
