// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - what OpenAI's two APIs refuse in a request, whoever wrote it.
//
// Written from the pages that the tables name and from the sentences of the APIs' own refusals, not from the
// code that writes requests. Chat Completions is what many servers speak: its rules are those that hold at
// the strictest of them, but for what only one row of hosts.h asks for.
//
// Threading: pure functions.

#include <span>
#include <string_view>

#include "providers/common/rules.h"

namespace agentd {

std::span<const WireRule> chat_rules();
// All that is broken in the body of POST /chat/completions, in its order; empty = the wire takes it. Reads
// `call_id_bytes` and `user_behind_results` of the facts.
Breaches chat_breaches(std::string_view body, const WireFacts& facts = {});

std::span<const WireRule> responses_rules();
// The same for POST /responses. Reads `foreign` of the facts.
Breaches responses_breaches(std::string_view body, const WireFacts& facts = {});

}  // namespace agentd
