// SPDX-License-Identifier: Apache-2.0
#include "core/app/exit_codes.h"

#include <csignal>

namespace agentd::app {
namespace {

constexpr ExitCode kCodes[] = {
    {kExitOk, "ok",
     "What was asked for is done. An answer that was declined, cut at its longest length, paused or blank is told "
     "by a warning. A signal that comes when the run is over, while hooks of "
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

}  // namespace agentd::app
