// SPDX-License-Identifier: Apache-2.0
#include "core/app/exit_codes.h"

#include <csignal>

namespace agentd::app {
namespace {

constexpr ExitCode kCodes[] = {
    {kExitOk, "ok",
     "The command did what it was asked for. A signal that comes when the run is over, while hooks of "
     "`session_end` work, changes nothing."},
    {kExitFailure, "failure",
     "What no other code names: output that could not be written, a limit of the process, a tool or a service "
     "that is needed. From `doctor`, `validate` and `fuzz`: something was found."},
    {kExitUsage, "usage or configuration",
     "The command line, a variable of the environment, or a file of the configuration, of hooks, recipes or models "
     "has a mistake. Nothing was begun."},
    {kExitBlocked, "blocked by a hook", "A hook refused the message, the model call, the compaction or the clearing."},
    {kExitNotFound, "not found", "There is no such conversation, recipe or hook."},
    {kExitProvider, "provider",
     "The model's provider refused, could not be reached, or broke the answer off; no summary could be made."},
    {kExitStore, "store", "The store could not be read or written, or is damaged."},
    {kExitStopped, "a hook ended the run", "By `stop_run`; the reason is told."},
    {kExitLimit, "a limit of yours ended the run",
     "`max_turns`, or a budget of tokens or money, for the run or for the day (`budget.*`). What was said is kept."},
    {kExitRefused, "the model declined", "The model declined to answer. What it said of it is printed."},
    {kExitCut, "the answer is not whole",
     "It was cut at its longest length (`max_output_tokens`, or what a budget left), the model's window was full, or "
     "the provider paused it too often. What there is of it is printed and kept: `--follow` goes on from there."},
    {kExitEmpty, "the answer is empty", "The model ended its turn without a word."},
    {kExitBusy, "another process works on that conversation", "Try again when it has ended; it is named."},
    {128 + SIGHUP, "terminal gone", "SIGHUP: the terminal has gone away."},
    {kExitInterrupted, "interrupted",
     "SIGINT, which is Ctrl-C. In a chat on a terminal the first one ends the answer alone."},
    {128 + SIGPIPE, "reader gone",
     "Nobody reads standard output any more, as behind a pipe to `head -1`: no further request is sent and no "
     "further command is run."},
    {128 + SIGTERM, "ended by SIGTERM", "Somebody, or something such as `timeout`, has asked for the end."},
};

}  // namespace

std::span<const ExitCode> exit_codes() { return kCodes; }

int run_exit(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kStop:
    case RunOutcome::kCompacted:
      return kExitOk;
    case RunOutcome::kMaxTurns:
    case RunOutcome::kLimit:
      return kExitLimit;
    case RunOutcome::kRefused:
      return kExitRefused;
    case RunOutcome::kCut:
      return kExitCut;
    case RunOutcome::kEmpty:
      return kExitEmpty;
    case RunOutcome::kBlocked:
      return kExitBlocked;
    case RunOutcome::kStopped:
      return kExitStopped;
    case RunOutcome::kCancelled:
      return kExitInterrupted;
    case RunOutcome::kError:
      break;
  }
  return kExitFailure;
}

}  // namespace agentd::app
