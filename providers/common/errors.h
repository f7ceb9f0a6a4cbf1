// SPDX-License-Identifier: Apache-2.0
#pragma once
// errors.h - failures of a model request in the words of ModelError.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/model/provider.h"

namespace agentd {

// What a status means when the body says nothing more exact.
ModelErrorKind kind_of_status(int status);
// Whether trying again later, as it is, can help. Not what the retry loop does: that also asks whether
// the answer began.
bool may_pass(ModelErrorKind kind);
// What the user can do, as the last part of a sentence; may be empty.
std::string_view advice_for(ModelErrorKind kind);

// An error of the HTTP client: no answer, or one that broke.
ModelError from_http_error(std::string_view provider, const Error& error, bool answer_began);

// The text with every occurrence of `secret` made unreadable: servers echo what they were sent.
std::string without_secret(std::string text, std::string_view secret);

}  // namespace agentd
