// SPDX-License-Identifier: Apache-2.0
#pragma once
// agent_options.h - from the settings, a workplace and what a client asks for to the options of its agent.
//
// Threading: one thread; reads files.

#include "core/agent/agent.h"
#include "core/session/open_request.h"
#include "core/workplace/workplace.h"

namespace agentd {

// The workplace outlives the options. kInvalid: a setting or the model that is asked for is wrong.
Result<AgentOptions> agent_options(Workplace& workplace, const OpenRequest& request);

}  // namespace agentd
