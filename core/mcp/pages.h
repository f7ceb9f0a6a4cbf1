// SPDX-License-Identifier: Apache-2.0
#pragma once
// pages.h - the places at which a list goes on, as texts that mean nothing to a client; and base64 as it comes from
// one.
//
// Threading: pure functions.

#include <optional>
#include <string>
#include <string_view>

namespace agentd::mcp {

// `list`: which one; `after`: where it goes on. An empty place is the begin.
std::string write_cursor(std::string_view list, std::string_view after);
// nullopt: it is none of that list.
std::optional<std::string> read_cursor(std::string_view list, std::string_view cursor);

// The bytes of a base64 text; nullopt: it is none.
std::optional<std::string> read_base64(std::string_view text);

}  // namespace agentd::mcp
