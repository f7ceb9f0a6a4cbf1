// SPDX-License-Identifier: Apache-2.0
#pragma once
// failure.h - the meaning of error answers of OpenAI and of servers with its formats.
//
// Source: platform.openai.com/docs/guides/error-codes; the shapes of llama.cpp, vLLM, Ollama and
// OpenRouter as their servers send them.
//
// Threading: pure functions.

#include <string_view>

#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

// The kind for an error's type or code and message; `status` decides for unknown ones, 0 = none.
ModelErrorKind openai_error_kind(int status, std::string_view code, std::string_view message);

// True if the request was refused for the model's thinking: sealed for another model, account or organisation.
bool is_about_reasoning(const ModelError& error);

// The error for an answer that is not an event stream. `body` is its beginning.
ModelError openai_http_failure(std::string_view provider, const HttpResponse& response, std::string_view body,
                               std::int64_t wall_ms);

// The error for an error object within the stream.
ModelError openai_stream_failure(std::string_view provider, std::string_view code, std::string_view message);

}  // namespace agentd
