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

// The command that the model asks for, what it prints, and how often it is asked for in a run.
inline constexpr const char* kToolCommand = "printf bench-%s ran";
inline constexpr const char* kToolOutput = "bench-ran";
inline constexpr std::size_t kToolCalls = 4;

class ModelServer {
 public:
  enum class Mode {
    kText,  // a text in 20 pieces
    kTool,  // bash with kToolCommand, one call after another; the text when all results have come
    kHold,  // the text without its end; the connection stays open
  };
  using Time = std::chrono::steady_clock::time_point;

  ModelServer();
  void set_mode(Mode mode);
  std::string url() const { return server_.url(); }
  // When each request since the last set_mode() was there, whole.
  std::vector<Time> arrivals() const;
  std::string last_body() const;
  // The tool's outputs in it.
  std::size_t tool_outputs() const;

 private:
  testing::Reply answer(const testing::RecordedRequest& request);

  const testing::Reply text_, hold_;
  const std::vector<testing::Reply> tools_;  // one for each call
  mutable std::mutex mutex_;
  Mode mode_ = Mode::kText;         // guarded by mutex_
  std::vector<Time> arrivals_;      // guarded by mutex_
  std::string last_body_;           // guarded by mutex_
  testing::LoopbackServer server_;  // last: its threads use the others
};

}  // namespace agentd::bench
