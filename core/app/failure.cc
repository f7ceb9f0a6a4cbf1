// SPDX-License-Identifier: Apache-2.0
#include "core/app/failure.h"

#include "core/app/exit_codes.h"

namespace agentd::app {
namespace {

int exit_code_of(RunError::Kind kind) {
  switch (kind) {
    case RunError::Kind::kFailure:
      return kExitFailure;
    case RunError::Kind::kUsage:
      return kExitUsage;
    case RunError::Kind::kBlocked:
    case RunError::Kind::kRepeated:
      return kExitBlocked;
    case RunError::Kind::kStopped:
      return kExitStopped;
    case RunError::Kind::kNotFound:
      return kExitNotFound;
    case RunError::Kind::kProvider:
      return kExitProvider;
    case RunError::Kind::kLimit:
      return kExitLimit;
    case RunError::Kind::kStore:
      return kExitStore;
    case RunError::Kind::kBusy:
      return kExitBusy;
    case RunError::Kind::kCancelled:
      return kExitInterrupted;
  }
  return kExitFailure;
}

}  // namespace

Failure failure_of(const RunError& error) { return {exit_code_of(error.kind), error.message}; }

}  // namespace agentd::app
