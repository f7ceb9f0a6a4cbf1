// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - what Anthropic's Messages API refuses in a request, whoever wrote it.
//
// Written from the pages that the table names and from the sentences of the API's own refusals, not from
// request.cc. What only some models refuse (kinds of thinking, efforts, longest output) is no rule of the wire.
//
// Threading: pure functions.

#include <span>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

std::span<const WireRule> anthropic_rules();
// All that is broken in the body of POST /v1/messages, in its order; empty = the wire takes it. Reads nothing
// of `facts` but `foreign`.
Breaches anthropic_breaches(std::string_view body, const WireFacts& facts = {});

}  // namespace agentd
