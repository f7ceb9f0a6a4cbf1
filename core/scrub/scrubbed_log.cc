// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/scrubbed_log.h"

#include <string>

namespace agentd {

void ScrubbedLog::write(LogLevel level, std::string_view area, std::string_view text) {
  log_->write(level, area, secrets_.pass_by_rules(std::string(text)).text);
}

}  // namespace agentd
