// SPDX-License-Identifier: Apache-2.0
#pragma once
// outcome.h - the merged answer of an event. hook_actions.h has the rules of merging.
//
// Threading: values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/hooks/action.h"

namespace agentd {

// The merged answer of an event. Absent (null) if no hook answered.
struct Outcome {
  struct By {
    std::string hook, plugin;
  };
  struct Attributed {
    By by;
    Action action;
  };
  struct Conflict {
    By winner, loser;
    std::uint32_t kind = 0;  // AGENTD_ACT_ of the loser
  };
  struct Failure {
    By by;
    agentd_status status = AGENTD_OK;
    std::string text;
    std::size_t own_words = 0;  // FailureText::own
  };

  bool blocked = false;
  bool blocked_by_failure = false;  // a guard failed, instead of refusing
  std::string reason;
  By blocked_by;
  std::optional<Attributed> stop;     // the first STOP_RUN; if the event can be blocked, `blocked` is set too
  std::vector<Attributed> exclusive;  // at most one: COMPACT, SUMMARY, REPLACE_MESSAGES or CALLBACK
  std::vector<Attributed> continues, contexts, notices, sets;
  std::vector<Attributed> others;    // what else adds up: TOOLS_ENABLE, TOOLS_DISABLE
  std::vector<Attributed> rewrites;  // in order; already put into the payload
  bool withheld = false;             // one of them replaces text that a failed hook did not check
  std::uint32_t permission = 0;      // AGENTD_PERMISSION_; deny over defer over ask over allow
  bool remember = false;
  By permission_by;
  std::string permission_reason;
  std::vector<Conflict> conflicts;
  std::vector<Failure> failures;

  const Action* exclusive_action() const { return exclusive.empty() ? nullptr : &exclusive[0].action; }
  // The last value that a hook set for the key; null if none did.
  const Action* set_of(std::uint32_t key) const;
};

}  // namespace agentd
