// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - what Google's Gemini API refuses in a request, whoever wrote it.
//
// Written from the pages that the table names and from the sentences of the API's own refusals, not from
// request.cc.
//
// Threading: pure functions.

#include <span>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

std::span<const WireRule> google_rules();
// All that is broken in the body of POST models/MODEL:streamGenerateContent, in its order; empty = the wire
// takes it. Reads `foreign` of the facts.
Breaches google_breaches(std::string_view body, const WireFacts& facts = {});

}  // namespace agentd
