// SPDX-License-Identifier: Apache-2.0
#pragma once
// failure.h - the meaning of error answers of Google's Gemini API.
//
// Source: ai.google.dev/gemini-api/docs/troubleshooting; the shape is google.rpc.Status as JSON.
//
// Threading: pure functions.

#include <string_view>

#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

// The kind for an error's status ("RESOURCE_EXHAUSTED") and message; `http_status` decides for an unknown status, 0 =
// none.
ModelErrorKind google_error_kind(int http_status, std::string_view status, std::string_view message);

// True if the request was refused for a signature of the model's thinking.
bool is_about_signatures(const ModelError& error);

// The error for an answer that is not an event stream. `body` is its beginning.
ModelError google_http_failure(std::string_view provider, const HttpResponse& response, std::string_view body,
                               std::int64_t wall_ms);

// The error for an error object within the stream.
ModelError google_stream_failure(std::string_view provider, std::string_view status, std::string_view message);

}  // namespace agentd
