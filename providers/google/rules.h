// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the requests that Google's Gemini API refuses.
//
// Written from the pages in the table and from the API's own refusals, not from request.cc.
//
// Threading: pure functions.

#include <span>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

std::span<const WireRule> google_rules();
// All breaches in the body of POST models/MODEL:streamGenerateContent, in its order; empty = the API accepts it. Reads
// `foreign` of the facts.
Breaches google_breaches(std::string_view body, const WireFacts& facts = {});

}  // namespace agentd
