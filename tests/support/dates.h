// SPDX-License-Identifier: Apache-2.0
#pragma once
// dates.h - days for tests of the built program, which has the machine's date: counted from today, never written down.
//
// Threading: thread-safe functions.

#include <string>

#include "core/base/clock.h"

namespace agentd::testing {

// "2027-01-31", so many days after today in UTC.
inline std::string utc_day(int ahead) {
  return iso_time(SystemClock().wall_ms() + ahead * std::int64_t{86'400'000}).substr(0, 10);
}

}  // namespace agentd::testing
