// SPDX-License-Identifier: Apache-2.0
#pragma once
// failure.h - what Anthropic's error answers mean.
//
// Source: docs.anthropic.com/en/api/errors.
//
// Threading: pure functions.

#include <string_view>

#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

// The kind for an error's type and message; `status` counts when the type is not known, 0 = none.
ModelErrorKind anthropic_error_kind(int status, std::string_view type, std::string_view message,
                                    std::string_view error_code);

// The request was refused for a block of thinking in its messages: a signature of another model, of
// another conversation or account, or a block that is missing.
bool is_about_thinking(const ModelError& error);

// The error for an answer that is no event stream: a status other than 200, a redirect, a page of some
// proxy. `body` is its beginning.
ModelError anthropic_http_failure(std::string_view provider, const HttpResponse& response, std::string_view body,
                                  std::int64_t wall_ms);

// The error for an error event within the stream.
ModelError anthropic_stream_failure(std::string_view provider, std::string_view type, std::string_view message);

}  // namespace agentd
