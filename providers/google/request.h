// SPDX-License-Identifier: Apache-2.0
#pragma once
// request.h - writes a ModelRequest as the body of POST models/MODEL:streamGenerateContent, in one pass.
//
// Wire format: ai.google.dev/api/generate-content.
//
// Threading: pure function.

#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

inline constexpr std::string_view kGenerateContentApi = "generateContent";

// True if the signature of a part is sent; empty = all are.
using SignatureFilter = std::function<bool(std::string_view signature)>;

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is not a JSON object. The
// results of parallel calls are one content; each names its tool. A signature is returned on its part, only to the same
// model of the same provider. When the first call of a step lacks one because another model made it, the vendor's
// documented placeholder is sent.
Result<void> write_google_request(JsonWriter& out, const ModelRequest& request, std::string_view provider,
                                  const SignatureFilter& keeps);

}  // namespace agentd
