// SPDX-License-Identifier: Apache-2.0
#pragma once
// line.h - formats one audit line from an event's payload.
//
// An audit log tells who did what and when; it must not become a second copy of everybody's secrets. By default only
// identifying fields are copied: ids, names, numbers, fixed words. Any other text, object or list is replaced by its
// size, {"bytes":N}; the conversation log has it under the same conv_id and call_id. A new payload field is therefore
// left out until it is listed here.
//
// Threading: pure functions.

#include <cstddef>
#include <string>
#include <string_view>

namespace audit_log {

struct LineOptions {
  bool bodies = false;            // copy texts and inputs too
  std::size_t max_bytes = 16384;  // of the line without its newline
};

// The payload as one line of JSON, with a first member "time"; never longer than max_bytes, which is at least 1,024. A
// longer line is cut at a character and marked, in the worst case down to the ids. Empty if `payload` is not a JSON
// object.
std::string make_line(std::string_view payload, std::string_view time, const LineOptions& options);

// "2024-05-01T12:00:00.123Z" for milliseconds since 1970.
std::string utc_time(long long wall_ms);

}  // namespace audit_log
