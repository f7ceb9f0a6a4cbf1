// SPDX-License-Identifier: Apache-2.0
#pragma once
// replay.h - a module in the built program, and what came of it as text that no later version may
// change.
//
// Threading: one test thread.

#include <string>

namespace agentd::testing {

struct Replay {
  std::string module;     // path of the .so; NAME.hook.json beside it comes along
  std::string script;     // path of the scripted model's turns
  std::string isolation;  // "in-process", "process"
  std::string sidecar;    // path; empty = none
};

// One run with the module as the hook `sample`. A line for each thing that the module did or that
// was done to it: its answers, tools and their results, notices, compactions, what the model said,
// warnings, the end.
std::string replay(const Replay& what);

}  // namespace agentd::testing
