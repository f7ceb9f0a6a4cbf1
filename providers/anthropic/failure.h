// SPDX-License-Identifier: Apache-2.0
#pragma once
// failure.h - the meaning of Anthropic's error answers.
//
// Source: docs.anthropic.com/en/api/errors.
//
// Threading: pure functions.

#include <string_view>

#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

// The kind for an error's type and message; `status` decides for an unknown type, 0 = none.
ModelErrorKind anthropic_error_kind(int status, std::string_view type, std::string_view message,
                                    std::string_view error_code);

// True if the request was refused for a thinking block in its messages: a signature of another model, conversation or
// account, or a missing block.
bool is_about_thinking(const ModelError& error);

// The error for an answer that is not an event stream: a status other than 200, a redirect, a proxy's page. `body` is
// its beginning.
ModelError anthropic_http_failure(std::string_view provider, const HttpResponse& response, std::string_view body,
                                  std::int64_t wall_ms);

// The error for an error event within the stream.
ModelError anthropic_stream_failure(std::string_view provider, std::string_view type, std::string_view message);

}  // namespace agentd
