// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the requests that Google's Gemini API refuses.
//
// Written from the pages in the table and from the API's own refusals, not from request.cc.
//
// Threading: immutable data.

#include "providers/common/rules.h"

namespace agentd {

// For the body of POST models/MODEL:streamGenerateContent. Reads only `foreign` of the facts.
extern const WireFormat kGoogleWire;

}  // namespace agentd
