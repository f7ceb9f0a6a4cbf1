// SPDX-License-Identifier: Apache-2.0
#pragma once
// service.h - the operations of "agentd.memory/1" and "agentd.remediation/1": JSON in, JSON out.
//
// docs/reference/memory.md describes each. An answer has at most kAnswerBytesMax; lists that are longer come in pages.
//
// Threading: as Engine.

#include <span>
#include <string>
#include <string_view>

#include "plugins/session_memory/engine.h"

namespace session_memory {

inline constexpr std::string_view kMemoryService = "agentd.memory/1", kRemediationService = "agentd.remediation/1";
inline constexpr std::size_t kAnswerBytesMax = 900'000;

struct Operation {
  std::string_view interface_id, name;
  bool reads_only = false, is_idempotent = false;
};
std::span<const Operation> operations();

// The means of an operation, and the origin of its call.
struct ServiceCall {
  KeySpace& keys;
  LogSource& logs;
  Talk& talk;
  std::string project;     // the caller's
  bool everywhere = true;  // agentd's own doors: an input's project_id takes precedence, and ids of all projects count
};

// kInvalid: unknown operation, or a wrong input, which the message names. kDenied: a caller that has a project, and not
// `everywhere`, names another one, or wants what is agentd's own.
agentd::Result<std::string> call_operation(Engine& engine, const ServiceCall& call, std::string_view interface_id,
                                           std::string_view operation, std::string_view input_json);

}  // namespace session_memory
