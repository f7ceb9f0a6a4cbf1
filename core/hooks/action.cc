// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/action.h"

#include "core/hooks/event.h"

namespace agentd {

std::string action_text(const Action& action) {
  std::string out(action_name(action.kind));
  if (action.kind == AGENTD_ACT_PERMISSION) out += " " + std::string(permission_name(action.code));
  if (!action.model.empty()) out += " with " + action.model;
  if (action.number != 0) out += " " + std::to_string(action.number);
  if (!action.text.empty()) out += ": " + action.text;
  if (!action.json.empty()) out += " " + action.json;
  if (!action.parts.empty()) out += " (" + std::to_string(action.parts.size()) + " parts)";
  return out;
}

}  // namespace agentd
