// SPDX-License-Identifier: Apache-2.0
#pragma once
// kodelet_extension.h - a long-lived hook: Kodelet's extension protocol, JSON-RPC 2.0 in frames over pipes.
//
// The program is started once, gets agentd's description (extension.initialize) and answers with its events; each event
// is a request (extension.event.handle) whose result becomes a verdict. Several threads may have requests in progress;
// a late answer, or one with an unknown id, is dropped. The next call restarts a program that ended or sent a malformed
// frame, after a growing pause; after the third such end within a minute it is disabled for good.
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
  std::string name;  // its id: in the handshake and in messages
  DuplexRequest process;
  std::string data_directory;  // the extension's own directory, passed to it; may be empty
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
  static constexpr std::size_t kFrameMax = 1u << 20;  // of its messages
  static constexpr int kEndsMax = 3;
  static constexpr Milliseconds kEndsWindow{60'000};
  static constexpr Milliseconds kBackOffFirst{100}, kBackOffMax{2'000};

  // Starts nothing yet. `clock` must outlive it.
  KodeletExtension(KodeletExtensionRequest request, const Clock& clock);
  ~KodeletExtension();  // ends the program and all that it started
  KodeletExtension(const KodeletExtension&) = delete;
  KodeletExtension& operator=(const KodeletExtension&) = delete;

  // Starts the program and greets it; does nothing if it is running. kUnavailable: it could not be started, did not
  // answer in time, ended, or is disabled; kCancelled.
  Result<void> start(const CancelToken& cancel);
  // The subscriptions of its last greeting; empty before the first.
  std::vector<ExtensionSubscription> subscriptions() const;

  // Calls it for AGENTD_EVENT_ `event`, starting it if needed. `payload` is the canonical object. An event without a
  // subscription gets no answer and a warning. The first verdict has a warning for each offer that agentd does not
  // support: tools, commands, unknown events. Like interpret() it never fails itself: the result is an answer, a
  // failure or warnings. A subscription's own timeout (timeoutInSec) applies: shorter than `deadline`, or longer if
  // `allow` is given, which is called with the later deadline.
  Verdict call(std::uint32_t event, JsonView payload, const CancelToken& cancel, Deadline deadline,
               const std::function<void(Deadline)>& allow = {});

  // True after it ended too often; call() then fails immediately with the reason.
  bool off() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agentd
