// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the requests that OpenAI's two APIs refuse.
//
// Written from the pages in the tables and from the APIs' own refusals, not from the code that writes requests. Many
// servers implement Chat Completions: its rules are those of the strictest ones, except for requirements of a single
// row of hosts.h.
//
// Threading: pure functions.

#include <span>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

std::span<const WireRule> chat_rules();
// All breaches in the body of POST /chat/completions, in its order; empty = the API accepts it. Reads `call_id_bytes`
// and `user_behind_results` of the facts.
Breaches chat_breaches(std::string_view body, const WireFacts& facts = {});

std::span<const WireRule> responses_rules();
// The same for POST /responses. Reads `foreign` of the facts.
Breaches responses_breaches(std::string_view body, const WireFacts& facts = {});

}  // namespace agentd
