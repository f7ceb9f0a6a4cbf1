// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the requests that OpenAI's two APIs refuse.
//
// Written from the pages in the tables and from the APIs' own refusals, not from the code that writes requests. Many
// servers implement Chat Completions: its rules are those of the strictest ones, except for requirements of a single
// row of hosts.h.
//
// Threading: immutable data.

#include "providers/common/rules.h"

namespace agentd {

// For the body of POST /chat/completions. Reads all facts but `foreign`.
extern const WireFormat kChatWire;
// For the body of POST /responses. Reads `foreign` of the facts.
extern const WireFormat kResponsesWire;

}  // namespace agentd
