// SPDX-License-Identifier: Apache-2.0
#pragma once
// read_event.h - reads the JSON form of a run's events back: for a process that shows the events of another one.
//
// Threading: pure functions.

#include <string_view>

#include "core/agent/events.h"

namespace agentd {

// Tells `to` the event of that JSON (event_json()); its views live as long as the call. What the JSON form leaves out
// is empty, but for the context of a compact_boundary, which is `context`. kInvalid: it is no JSON, or an event that
// this version does not know; nothing was told.
Result<void> read_event(std::string_view json, const Gauge& context, EventSink& to);

// The members of `context` and of `usage` in the JSON form.
Gauge read_context(JsonView from);
Usage read_usage_figures(JsonView from);

}  // namespace agentd
