// SPDX-License-Identifier: Apache-2.0
#pragma once
// webhook_rules.h - where a webhook may go, and which headers it may set.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd {

struct WebhookRules {
  // "example.com", "*.example.com" (what is below it, not itself), each with or
  // without ":8443".
  std::vector<std::string> allowed_hosts;
};

// kInvalid: no usable URL; kDenied: neither this machine (127.0.0.0/8, ::1,
// localhost) nor an allowed host.
Result<void> check_webhook_url(std::string_view url, const WebhookRules& rules);

// The names in a header's value that are written ${NAME}. kInvalid: "${"
// without a name and "}".
Result<std::vector<std::string>> variables_in(std::string_view value);

// A header that a hook may set: a name that HTTP knows as one, and none that
// frames the request.
Result<void> check_webhook_header(std::string_view name, std::string_view value);

// A header's value in parts. Borrows from it.
struct HeaderPiece {
  std::string_view text;
  bool is_variable = false;
};
// `bare`: $NAME is a variable too, as claude reads it. kInvalid: "${" without a name and "}".
Result<std::vector<HeaderPiece>> header_pieces(std::string_view value, bool bare);

}  // namespace agentd
