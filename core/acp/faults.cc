// SPDX-License-Identifier: Apache-2.0
#include "core/acp/faults.h"

#include "core/base/neutral.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kTextBytes = 8'000;

}  // namespace

RpcFault fault_of(const RunError& error) {
  const std::string text = neutral_line(error.message, kTextBytes);
  switch (error.kind) {
    case RunError::Kind::kUsage:
      return {kRpcBadParams, text};
    case RunError::Kind::kNotFound:
      return {kRpcNotFound, text};
    case RunError::Kind::kCancelled:
      return {kRpcCancelled, text};
    case RunError::Kind::kFailure:
    case RunError::Kind::kBlocked:
    case RunError::Kind::kRepeated:
    case RunError::Kind::kStopped:
    case RunError::Kind::kProvider:
    case RunError::Kind::kLimit:
    case RunError::Kind::kStore:
    case RunError::Kind::kBusy:
      break;
  }
  return {kRpcInternal, text};
}

RunError run_error_of(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return {RunError::Kind::kNotFound, error.message};
    case Code::kInvalid:
      return {RunError::Kind::kUsage, error.message};
    case Code::kCancelled:
      return {RunError::Kind::kCancelled, error.message};
    default:
      return {RunError::Kind::kStore, error.message};
  }
}

Result<std::string_view, RpcFault> stop_of(const Result<RunReport, RunError>& report) {
  if (!report) {
    switch (report.error().kind) {
      case RunError::Kind::kCancelled:
        return std::string_view("cancelled");
      case RunError::Kind::kBlocked:
        return std::string_view("refusal");
      case RunError::Kind::kStopped:
        return std::string_view("end_turn");
      case RunError::Kind::kLimit:
        return std::string_view("max_turn_requests");
      default:
        return fault_of(report.error());
    }
  }
  switch (report->outcome) {
    case RunOutcome::kMaxTurns:
    case RunOutcome::kLimit:
      return std::string_view("max_turn_requests");
    case RunOutcome::kRefused:
    case RunOutcome::kBlocked:
      return std::string_view("refusal");
    case RunOutcome::kCut:
      return std::string_view("max_tokens");
    case RunOutcome::kCancelled:
      return std::string_view("cancelled");
    case RunOutcome::kStop:
    case RunOutcome::kCompacted:
    case RunOutcome::kEmpty:
    case RunOutcome::kWaiting:
    case RunOutcome::kStopped:
    case RunOutcome::kError:
      break;
  }
  return std::string_view("end_turn");
}

std::string notice_of(const Result<RunReport, RunError>& report) {
  if (!report) {
    const RunError::Kind kind = report.error().kind;
    const bool said =
        kind == RunError::Kind::kBlocked || kind == RunError::Kind::kStopped || kind == RunError::Kind::kLimit;
    return said ? report.error().message : std::string();
  }
  return {};
}

}  // namespace agentd::acp
