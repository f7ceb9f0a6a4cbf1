// SPDX-License-Identifier: Apache-2.0
#pragma once
// line.h - one audit line from one event's payload.
//
// An audit log says who did what and when; it must not become a second copy of everybody's secrets.
// So by default only fields that identify are copied: ids, names, numbers, settled words. Any other
// text, object or list is replaced by its size, {"bytes":N}: the conversation log has it under the
// same conv_id and call_id. A field that is new in a payload is thereby left out until it is named
// here.
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

// The payload as one line of JSON, a member "time" first; never longer than max_bytes, which is at
// least 1,024: what is too long is cut at a character and marked, in the worst case all but the
// ids. Empty when `payload` is no JSON object.
std::string make_line(std::string_view payload, std::string_view time, const LineOptions& options);

// "2024-05-01T12:00:00.123Z" for milliseconds since 1970.
std::string utc_time(long long wall_ms);

}  // namespace audit_log
