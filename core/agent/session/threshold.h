// SPDX-License-Identifier: Apache-2.0
#pragma once
// threshold.h - tells hooks once when the view passes the checkpoint's line, across processes. Private to this room.
//
// Threading: the session's thread.

#include "core/agent/session/messages.h"

namespace agentd {

class Threshold {
 public:
  // All outlive it.
  Threshold(const AgentOptions& options, SharedSession& shared, LogWriter& log, const Context& context,
            HookPoint& hooks, Messages& messages)
      : options_(options),
        shared_(shared),
        log_(log),
        context_(context),
        hooks_(hooks),
        messages_(messages),
        above_(shared.conversation().above_threshold()) {}

  // Asks context_threshold when the line was passed; a compaction that a hook asks for is queued.
  void check();
  // Another session has appended to the log: what it notes there holds.
  void follow_log() { above_ = shared_.conversation().above_threshold(); }
  // The view has become smaller. Kept in the log, so that the next process does not tell hooks again.
  void note_compaction(const Gauge& now) { note(above_ && now.used >= now.checkpoint_at); }

 private:
  void note(bool above);

  const AgentOptions& options_;
  SharedSession& shared_;
  LogWriter& log_;
  const Context& context_;
  HookPoint& hooks_;
  Messages& messages_;
  bool above_;
};

}  // namespace agentd
