// SPDX-License-Identifier: Apache-2.0
#include "core/process/command_cage.h"

namespace agentd {

std::string remarks_behind(const CagedCommand::After& after, bool at_line_start) {
  std::string out(after.remarks.empty() || at_line_start ? "" : "\n");
  for (const std::string& each : after.remarks) out += "agentd: " + each + "\n";
  return out;
}

}  // namespace agentd
