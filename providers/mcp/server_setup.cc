// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/server_setup.h"

#include <algorithm>

namespace agentd::mcp {
namespace {

constexpr std::size_t kNameMax = 32;

bool fits(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string wrong_server_name(const std::string& name) {
  if (name.empty()) return "must have a character";
  if (name.size() > kNameMax) return "must have at most " + std::to_string(kNameMax) + " characters";
  if (!std::all_of(name.begin(), name.end(), fits)) return "must be made of letters, digits, '_' and '-'";
  // Else two servers could have one tool.
  if (name.find("__") != std::string::npos) return "must not have two '_' in a row";
  if (name.back() == '_') return "must not end with '_'";
  return {};
}

}  // namespace agentd::mcp
