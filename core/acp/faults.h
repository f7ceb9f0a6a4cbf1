// SPDX-License-Identifier: Apache-2.0
#pragma once
// faults.h - how a run or a request that fails is told to an editor.
//
// Source: agentclientprotocol.com, "Prompt Turn" (stop reasons) and "Error Codes".
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/agent/agent.h"
#include "core/codec/json_rpc.h"

namespace agentd::acp {

RpcFault fault_of(const RunError& error);
RunError run_error_of(const Error& error);
// The error of what a cancel has ended.
inline const RunError kCancelled{RunError::Kind::kCancelled, "cancelled"};

// The stop reason of a run, or the fault that its prompt is answered with.
Result<std::string_view, RpcFault> stop_of(const Result<RunReport, RunError>& report);
// A remark that the stop reason cannot carry; empty = none.
std::string notice_of(const Result<RunReport, RunError>& report);

}  // namespace agentd::acp
