// SPDX-License-Identifier: Apache-2.0
#include "core/app/failure.h"

#include "core/app/exit_codes.h"

namespace agentd::app {

Failure failure_of(const RunError& error) {
  switch (error.kind) {
    case RunError::Kind::kFailure:
      return {kExitFailure, error.message};
    case RunError::Kind::kUsage:
      return {kExitUsage, error.message};
    case RunError::Kind::kBlocked:
      return {kExitBlocked, error.message};
    case RunError::Kind::kStopped:
      return {kExitStopped, error.message};
    case RunError::Kind::kNotFound:
      return {kExitNotFound, error.message};
    case RunError::Kind::kProvider:
      return {kExitProvider, error.message};
    case RunError::Kind::kLimit:
      return {kExitLimit, error.message};
    case RunError::Kind::kStore:
      return {kExitStore, error.message};
    case RunError::Kind::kBusy:
      return {kExitBusy, error.message};
    case RunError::Kind::kCancelled:
      return {kExitInterrupted, error.message};
  }
  return {kExitFailure, error.message};
}

}  // namespace agentd::app
