// SPDX-License-Identifier: Apache-2.0
#include "core/app/exit_codes.h"

#include <csignal>

namespace agentd::app {
namespace {

constexpr ExitCode kCodes[] = {
    {kExitOk, "ok",
     "The command succeeded. A signal that arrives after the run, while hooks of `session_end` run, changes nothing."},
    {kExitFailure, "failure",
     "Any other failure: output could not be written, a process limit, a required tool or service is missing. From "
     "`doctor`, `validate` and `fuzz`: problems were found."},
    {kExitUsage, "usage or configuration",
     "A mistake in the command line, an environment variable, or a configuration, hook, recipe or model file. Nothing "
     "was started."},
    {kExitBlocked, "blocked by a hook",
     "A hook refused the message, the model call, the compaction or the clearing. Or a tool call that waits has an "
     "answer already (`approve`), or comes first. Or the conversation has a message with this `--key`: nothing was run "
     "again, and the sentence says how its run has ended."},
    {kExitNotFound, "not found", "The conversation, recipe or hook does not exist."},
    {kExitProvider, "provider",
     "The model's provider refused the request, could not be reached, or interrupted the answer; or no summary could "
     "be made."},
    {kExitStore, "store", "The store could not be read or written, or is damaged."},
    {kExitStopped, "a hook ended the run", "A hook answered `stop_run`; its reason is printed."},
    {kExitLimit, "a limit ended the run",
     "`max_turns`, or a budget of tokens or money, for the run or for the day (`budget.*`). The conversation is "
     "saved."},
    {kExitRefused, "the model declined", "The model declined to answer. Its explanation is printed."},
    {kExitCut, "the answer is incomplete",
     "It reached the output limit (`max_output_tokens`, or the rest of a budget), the model's window was full, or the "
     "provider paused it too often. The part that arrived is printed and saved: continue with `--follow`."},
    {kExitEmpty, "the answer is empty", "The model ended its turn with no text."},
    {kExitWaiting, "a tool call waits",
     "A person has to answer first: `agentd approve ID` continues the run, `agentd approve --list` shows what "
     "waits. The conversation is saved."},
    {kExitBusy, "another process is using the conversation",
     "The message names the process; try again when it has ended."},
    {128 + SIGHUP, "terminal gone", "SIGHUP: the terminal was closed."},
    {kExitInterrupted, "interrupted", "SIGINT (Ctrl-C). In a chat on a terminal, the first one only stops the answer."},
    {128 + SIGPIPE, "reader gone",
     "SIGPIPE: the reader of standard output has exited, such as `head -1`. No further request is sent and no command "
     "is run."},
    {128 + SIGTERM, "ended by SIGTERM", "SIGTERM, for example from `timeout`."},
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
    case RunOutcome::kWaiting:
      return kExitWaiting;
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
