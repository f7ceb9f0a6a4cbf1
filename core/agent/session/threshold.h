// SPDX-License-Identifier: Apache-2.0
#pragma once
// threshold.h - makes a checkpoint and tells hooks, once each time the view passes the line, across processes. Private
// to this room.
//
// Threading: the session's thread.

#include "core/agent/session/messages.h"
#include "core/agent/session/saving.h"

namespace agentd {

class Threshold {
 public:
  // All outlive it.
  Threshold(const AgentOptions& options, SharedSession& shared, LogWriter& log, const Context& context,
            HookPoint& hooks, Messages& messages, Saving& saving)
      : options_(options),
        shared_(shared),
        log_(log),
        context_(context),
        hooks_(hooks),
        messages_(messages),
        saving_(saving),
        above_(shared.conversation().above_threshold()) {}

  // When the line was passed: makes a checkpoint, which is stored before hooks are called, and asks context_threshold;
  // a compaction that a hook asks for is queued.
  void check();
  // Another session has appended to the log: what it notes there holds.
  void follow_log() { above_ = shared_.conversation().above_threshold(); }
  // The view has become smaller. Kept in the log, so that the next process does not tell hooks again.
  void note_compaction(const Gauge& now) { note(above_ && now.used >= now.checkpoint_at); }

 private:
  std::string save();
  void note(bool above);

  const AgentOptions& options_;
  SharedSession& shared_;
  LogWriter& log_;
  const Context& context_;
  HookPoint& hooks_;
  Messages& messages_;
  Saving& saving_;
  bool above_;
};

}  // namespace agentd
