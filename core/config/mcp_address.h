// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_address.h - the addresses of servers of the Model Context Protocol: which can be used, and how they are shown.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// kInvalid: the address is neither https nor http on this machine, or has no host or a wrong port; the rest of a
// sentence that begins with "url: ". A host that is a variable (${NAME}) is not judged before it is known.
Result<void> check_mcp_url(std::string_view url);

// The address without what may be a secret: user and password, and parts of the path and the query that are named like
// a secret or look like one, each as "***". Variables stay.
std::string shown_mcp_url(std::string_view url);

}  // namespace agentd
