// SPDX-License-Identifier: Apache-2.0
#pragma once
// payload_json.h - an event as the JSON object for executables, webhooks and agentd.json/1.
//
// Envelope keys first (v, id, event, conv_id, session_id, turn_id, turn_number, cwd, project_id,
// invoked_by, agent, recipe_name, provider, model, context), then the event's own.
//
// Threading: pure functions.

#include <agentd/hook_abi.h>

#include <string>

namespace agentd {

// REQUIRES: `payload` is the record of `event` (hook_events.h) or null.
std::string payload_json(std::uint32_t event, const agentd_envelope* envelope, const void* payload);

}  // namespace agentd
