// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the requests that Anthropic's Messages API refuses.
//
// Written from the pages in the table and from the API's own refusals, not from request.cc. A refusal by only some
// models (kinds of thinking, efforts, longest output) is not a rule of the wire format.
//
// Threading: pure functions.

#include <span>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

std::span<const WireRule> anthropic_rules();
// All breaches in the body of POST /v1/messages, in its order; empty = the API accepts it. Reads only `foreign` of
// `facts`.
Breaches anthropic_breaches(std::string_view body, const WireFacts& facts = {});

}  // namespace agentd
