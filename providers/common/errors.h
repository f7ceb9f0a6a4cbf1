// SPDX-License-Identifier: Apache-2.0
#pragma once
// errors.h - failures of a model request in the words of ModelError.
//
// Threading: pure functions.

#include <optional>
#include <string>
#include <string_view>

#include "core/model/provider.h"
#include "core/net/http.h"

namespace agentd {

// What a status means when the body says nothing more exact.
ModelErrorKind kind_of_status(int status);
// Whether trying again later, as it is, can help. Not what the retry loop does: that also asks whether
// the answer began.
bool may_pass(ModelErrorKind kind);
// What the user can do, as the last part of a sentence; may be empty.
std::string_view advice_for(ModelErrorKind kind);

// The sentence with advice_for() behind it.
std::string with_advice(std::string sentence, ModelErrorKind kind);
// The beginning of a body that is no documented error object: it may say who answered.
std::string said_by(std::string_view body);

// The error for an answer that neither is an event stream nor refuses anything: a redirect, a page of some proxy.
// Absent for a status from 400 on.
std::optional<ModelError> no_event_stream(std::string_view provider, const HttpResponse& response,
                                          std::string_view body);

// An error of the HTTP client: no answer, or one that broke.
ModelError from_http_error(std::string_view provider, const Error& error, bool answer_began);

// The text with every occurrence of `secret` made unreadable: servers echo what they were sent.
std::string without_secret(std::string text, std::string_view secret);

}  // namespace agentd
