// SPDX-License-Identifier: Apache-2.0
#pragma once
// sse.h - parses server-sent events as the bytes arrive.
//
// Providers stream their answers in this format. The parser gives the same events however the bytes are split. Source:
// the HTML Living Standard, section 9.2.6 "Interpreting an event stream".
//
// Threading: thread-compatible.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

// Views into the parser, valid during the call that delivers them.
struct SseEvent {
  std::string_view type;  // empty when the stream names none, which means "message"
  std::string_view data;  // lines joined by \n
  std::string_view id;    // the last id of the stream
};

class SseParser {
 public:
  struct Limits {
    std::size_t line_bytes_max = 8u << 20;
    std::size_t event_bytes_max = 16u << 20;  // of the joined data
  };
  // An error of the callback ends feed(), which returns it.
  using OnEvent = std::function<Result<void>(const SseEvent&)>;

  SseParser() : SseParser(Limits{}) {}
  explicit SseParser(Limits limits) : limits_(limits) {}

  // Delivers every event that `bytes` complete. A blank line completes an event; an unfinished one at the end of the
  // stream is never delivered. kCorrupt for a line or an event over its limit. After any error the parser must not be
  // fed again.
  Result<void> feed(std::string_view bytes, const OnEvent& on_event);
  // How long the stream wants a reader to wait before it connects again, as it last said; nullopt: it has not.
  std::optional<Milliseconds> retry() const { return retry_; }

 private:
  Result<void> take_line(std::string_view line, const OnEvent& on_event);
  Result<void> take_field(std::string_view name, std::string_view value);
  Result<void> deliver(const OnEvent& on_event);
  bool skip_byte_order_mark(std::string_view& bytes);

  Limits limits_;
  std::string line_;  // the beginning of an incomplete line
  std::string type_, data_, id_;
  std::optional<Milliseconds> retry_;
  std::size_t mark_seen_ = 0;  // bytes of the byte order mark; kMarkDone once it is decided
  bool has_data_ = false;
  bool after_cr_ = false;
};

}  // namespace agentd
