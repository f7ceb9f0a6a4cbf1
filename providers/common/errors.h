// SPDX-License-Identifier: Apache-2.0
#pragma once
// errors.h - converts failures of a model request to ModelError.
//
// Threading: pure functions.

#include <optional>
#include <string>
#include <string_view>

#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

// The kind for a status whose body is no more specific.
ModelErrorKind kind_of_status(int status);
// True if repeating the unchanged request later can help. The retry loop also checks whether the answer began.
bool may_pass(ModelErrorKind kind);
// The sentence followed by advice_for() of core/model.
std::string with_advice(std::string_view sentence, ModelErrorKind kind);
// The same for an answer with that status, which also advises about a wrong address and a wrong model.
// `provider` is the name in the settings.
std::string with_advice(std::string_view sentence, ModelErrorKind kind, std::string_view provider, int status);
// The beginning of a body that is not a documented error object; it may show which server answered.
std::string said_by(std::string_view body);

// The error for an answer that is neither an event stream nor a refusal: a redirect, a proxy's page. Absent for a
// status from 400 on.
std::optional<ModelError> no_event_stream(std::string_view provider, const HttpResponse& response,
                                          std::string_view body);

// An error of the HTTP client: no answer, or a broken one.
ModelError from_http_error(std::string_view provider, const Error& error, bool answer_began);

// The text with every occurrence of `secret` made unreadable, because servers echo requests.
std::string without_secret(std::string text, std::string_view secret);

}  // namespace agentd
