// SPDX-License-Identifier: Apache-2.0
#pragma once
// toml.h - reading TOML; the only user of toml++.
//
// Threading: pure function.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// The document as JSON; dates and times are texts. kInvalid: "name:line:column: what".
Result<std::string> toml_to_json(std::string_view text, std::string_view name);

}  // namespace agentd
