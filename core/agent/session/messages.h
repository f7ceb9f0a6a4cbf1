// SPDX-License-Identifier: Apache-2.0
#pragma once
// messages.h - what users, recipes and hooks say to the model: each message passes the hooks and becomes a record.
// A run that records nothing but its summary collects them as its prompt instead. Private to this room.
//
// Threading: the session's thread.

#include <optional>
#include <string>
#include <vector>

#include "core/agent/session/hook_point.h"
#include "core/agent/session/priming.h"

namespace agentd {

class Messages {
 public:
  // All outlive it. `secrets`: what no message may hold, whoever writes it; null = messages stay as they are.
  Messages(LogWriter& log, Context& context, HookPoint& hooks, Priming& priming, const SharedSession& shared,
           const Secrets* secrets)
      : log_(log), context_(context), hooks_(hooks), priming_(priming), shared_(shared), secrets_(secrets) {}

  // Asks user_message_send and adds what hooks leave. kBlocked: it was refused, or nothing is left of it; kStopped,
  // kCancelled. It is not added then. `key`: the client's name for the message; empty = none.
  Result<void, RunError> send(std::string text, MessageSource source, const std::vector<Block>& media = {},
                              const std::string& key = {});
  // Without asking anybody.
  void add(const std::string& text, MessageSource source, const std::vector<Block>& media = {},
           const std::string& key = {});
  void add_contexts(const Outcome& outcome);
  void add_context(const WaitRecord::Context& context);
  // Fires session_start; its contexts go with every request from here on. `source`: AGENTD_SOURCE_. `start`: what the
  // session begins with; null for a compaction's, which begins nothing.
  void start_session(std::uint32_t source, const Priming::Start* start = nullptr);

  // From here to end_prompt() nothing of it is recorded.
  void begin_prompt() { prompt_.emplace(); }
  void end_prompt() { prompt_.reset(); }
  const std::optional<std::string>& prompt() const { return prompt_; }

  // The first text of the user or another agent, as hooks left it; empty = none yet.
  const std::string& task() const { return task_; }

  // The text as it may be kept: without secrets where the settings say so for messages.
  std::string passed(std::string text) const;

 private:
  void prime(const std::string& message, MessageSource source);
  std::unique_ptr<Outcome> ask(std::string& text, MessageSource source, const std::vector<Block>& media);

  LogWriter& log_;
  Context& context_;
  HookPoint& hooks_;
  Priming& priming_;
  const SharedSession& shared_;
  const Secrets* const secrets_;
  std::optional<std::string> prompt_;
  std::string task_;
};

}  // namespace agentd
