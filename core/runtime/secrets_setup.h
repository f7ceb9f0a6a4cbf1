// SPDX-License-Identifier: Apache-2.0
#pragma once
// secrets_setup.h - the settings of secrets.*, and the place of the key.
//
// Threading: pure functions.

#include <string>

#include "core/config/config.h"
#include "core/scrub/scrubber.h"

namespace agentd {

// secrets.disable and secrets.rules. kInvalid: "FILE:LINE: secrets.rules[0] must be ...".
Result<ScrubOptions> scrub_options(const Config& config);
// Where the settings are, for a message about them.
std::string secrets_origin(const Config& config);
// The key of placeholders. It is not in the store's own directory, so that no backup of that has it.
std::string secrets_key_file(const std::string& home);

}  // namespace agentd
