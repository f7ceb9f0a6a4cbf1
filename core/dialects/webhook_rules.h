// SPDX-License-Identifier: Apache-2.0
#pragma once
// webhook_rules.h - the hosts that a webhook may reach, and the headers that it may set.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd {

struct WebhookRules {
  // "example.com", "*.example.com" (only hosts below it), each with or without ":8443".
  std::vector<std::string> allowed_hosts;
};

// kInvalid: not a usable URL; kDenied: neither this machine (127.0.0.0/8, ::1, localhost) nor an allowed host.
Result<void> check_webhook_url(std::string_view url, const WebhookRules& rules);

// The names written as ${NAME} in a header's value. kInvalid: "${" without a name and "}".
Result<std::vector<std::string>> variables_in(std::string_view value);

// Checks a header that a hook may set: its name is a valid token and does not frame the request.
Result<void> check_webhook_header(std::string_view name, std::string_view value);

// A part of a header's value; borrows from it.
struct HeaderPiece {
  std::string_view text;
  bool is_variable = false;
};
// `bare`: $NAME is a variable too, as in claude. kInvalid: "${" without a name and "}".
Result<std::vector<HeaderPiece>> header_pieces(std::string_view value, bool bare);

}  // namespace agentd
