// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the requests that Anthropic's Messages API refuses.
//
// Written from the pages in the table and from the API's own refusals, not from request.cc. A refusal by only some
// models (kinds of thinking, efforts, longest output) is not a rule of the wire format.
//
// Threading: immutable data.

#include "providers/common/rules.h"

namespace agentd {

// For the body of POST /v1/messages. Reads only `foreign` of the facts.
extern const WireFormat kAnthropicWire;

}  // namespace agentd
