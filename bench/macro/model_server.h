// SPDX-License-Identifier: Apache-2.0
#pragma once
// model_server.h - a server on loopback that speaks Anthropic's wire format: it answers with a
// text, asks for a tool first, or stops before the end of its answer.
//
// Threading: thread-safe.

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/loopback_server.h"

namespace agentd::bench {

// The command that the model asks for, and what it prints.
inline constexpr const char* kToolCommand = "printf bench-%s ran";
inline constexpr const char* kToolOutput = "bench-ran";

class ModelServer {
 public:
  enum class Mode {
    kText,  // a text in 20 pieces
    kTool,  // bash with kToolCommand first, the text when its result has come
    kHold,  // the text without its end; the connection stays open
  };
  using Time = std::chrono::steady_clock::time_point;

  ModelServer();
  void set_mode(Mode mode);
  std::string url() const { return server_.url(); }
  // When each request since the last set_mode() was there, whole.
  std::vector<Time> arrivals() const;
  std::string last_body() const;

 private:
  testing::Reply answer(const testing::RecordedRequest& request);

  const testing::Reply text_, tool_, hold_;
  mutable std::mutex mutex_;
  Mode mode_ = Mode::kText;         // guarded by mutex_
  std::vector<Time> arrivals_;      // guarded by mutex_
  std::string last_body_;           // guarded by mutex_
  testing::LoopbackServer server_;  // last: its threads use the others
};

}  // namespace agentd::bench
