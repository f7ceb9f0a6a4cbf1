// SPDX-License-Identifier: Apache-2.0
#include "core/workers/line_log.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

}  // namespace

LineLog::LineLog(Log& log, const Clock& clock, std::string name) : log_(log), clock_(clock), name_(std::move(name)) {}

void LineLog::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    const std::size_t room = kLineBytesMax - line_.size();
    cut_ = cut_ || part.size() > room;
    line_.append(part.substr(0, room));
    if (end == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void LineLog::end_line() {
  const std::string text = one_line(line_, kLineBytesMax);
  const bool cut = std::exchange(cut_, false);
  line_.clear();
  if (is_blank(text)) return;
  const std::uint64_t now = clock_.monotonic_ns();
  if (now - second_ns_ >= kSecondNs) {
    tell_drops();
    second_ns_ = now;
    lines_ = 0;
  }
  if (lines_ == kLinesPerSecond) {
    ++dropped_;
    return;
  }
  ++lines_;
  log_.write(LogLevel::kInfo, name_, "worker output: " + text + (cut ? " [cut off]" : ""));
}

void LineLog::tell_drops() {
  if (dropped_ == 0) return;
  log_.write(LogLevel::kWarning, name_,
             std::to_string(dropped_) + " lines of worker output were dropped: it wrote more than " +
                 std::to_string(kLinesPerSecond) + " lines in a second");
  dropped_ = 0;
}

void LineLog::finish() {
  end_line();
  tell_drops();
}

}  // namespace agentd
