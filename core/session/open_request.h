// SPDX-License-Identifier: Apache-2.0
#pragma once
// open_request.h - what a client asks for when it opens a session.
//
// Threading: a value.

#include <string>
#include <vector>

#include "core/agent/events.h"
#include "core/tools/tool.h"

namespace agentd {

// The objects that it refers to outlive the session.
struct OpenRequest {
  std::string cwd;  // absolute
  EventSink& events;
  Approver* approver = nullptr;      // null: what must be asked is denied
  std::vector<std::string> roots{};  // of its files, absolute; empty = the workplace's for that directory
  std::string model{};               // by a name as the settings have it; empty = the model in force
  bool offer_tools = true;
  bool trace_hooks = false;            // every answer of a hook is an event
  std::vector<std::string> options{};  // WaitRecord::options
};

}  // namespace agentd
