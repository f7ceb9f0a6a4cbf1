// SPDX-License-Identifier: Apache-2.0
#pragma once
// kodelet_extension.h - a hook that stays: Kodelet's extension protocol, JSON-RPC 2.0 in frames
// over pipes.
//
// The program is started once, told who it talks to (extension.initialize) and says which events it
// wants; each event is a request (extension.event.handle) whose result becomes a verdict. Requests
// of several threads are under way at once; an answer that comes after its deadline, or to an id
// that nobody asked, is dropped. A program that ends or writes something that is no frame is
// started again by the next call, later each time, and is off for good after the third such end
// within a minute.
//
// Threading: thread-safe; call() blocks its caller.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/dialects/kodelet.h"
#include "core/process/duplex.h"

namespace agentd {

struct KodeletExtensionRequest {
  std::string name;  // its id: in the handshake and in sentences
  DuplexRequest process;
  std::string data_directory;  // told to the extension as its own; empty = "" is told
  Milliseconds handshake{5'000};
};

struct ExtensionSubscription {
  std::string event;  // "tool.call"
  int priority = 0;
  std::optional<Milliseconds> timeout;
};

class KodeletExtension {
 public:
  static constexpr std::string_view kProtocolVersion = "2026-05-30";
  static constexpr std::size_t kFrameMax = 1u << 20;  // of what it writes
  static constexpr int kEndsMax = 3;
  static constexpr Milliseconds kEndsWindow{60'000};
  static constexpr Milliseconds kBackOffFirst{100}, kBackOffMax{2'000};

  // Starts nothing yet. `clock` outlives it.
  KodeletExtension(KodeletExtensionRequest request, const Clock& clock);
  ~KodeletExtension();  // ends the program and all it started
  KodeletExtension(const KodeletExtension&) = delete;
  KodeletExtension& operator=(const KodeletExtension&) = delete;

  // Starts the program and shakes hands; nothing when it runs already. kUnavailable: it could not
  // be started, did not answer in time, ended, or is off; kCancelled.
  Result<void> start(const CancelToken& cancel);
  // What it asked for when it was started last; empty before.
  std::vector<ExtensionSubscription> subscriptions() const;

  // Asks it about AGENTD_EVENT_ `event`; starts it if needed. `payload` is the canonical object. An
  // event that it did not subscribe to is answered with no opinion and a warning. The first verdict has a warning for
  // each thing that it offers and agentd does not take: tools, commands, unknown events. Never fails
  // itself: like interpret(), whatever happened is an answer, a failure or a warning. A
  // subscription with a time of its own (timeoutInSec) has that: less than `deadline`, or more
  // where `allow` hears of the later deadline; without `allow` never more.
  Verdict call(std::uint32_t event, JsonView payload, const CancelToken& cancel, Deadline deadline,
               const std::function<void(Deadline)>& allow = {});

  // True once it ended too often; call() then fails at once with the sentence why.
  bool off() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agentd
