// SPDX-License-Identifier: Apache-2.0
#pragma once
// secrets_setup.h - the settings of secrets.*, and the place of the key.
//
// Threading: pure functions but for the key file, which is made once by whichever process is first.

#include <memory>
#include <string>

#include "core/config/config.h"
#include "core/scrub/scrubber.h"
#include "core/scrub/secrets.h"

namespace agentd {

// secrets.disable and secrets.rules. kInvalid: "FILE:LINE: secrets.rules[0] must be ...".
Result<ScrubOptions> scrub_options(const Config& config);
// Where the settings are, for a message about them.
std::string secrets_origin(const Config& config);
// The key of placeholders. It is not in the store's own directory, so that no backup of that has it.
std::string secrets_key_file(const std::string& home);
// The secrets by these settings, whether or not secrets.scrub is on. `key_file`: where the key is kept, made by the
// first secret; empty = a key that ends with the process. kInvalid: the settings.
Result<std::unique_ptr<Secrets>> make_secrets(const Config& config, const std::string& key_file);
// A text of the user with placeholders, where secrets.scrub and secrets.scrub_input are on; elsewhere unchanged.
Result<std::string> pass_user_text(const Config& config, const std::string& home, std::string text);

}  // namespace agentd
