// SPDX-License-Identifier: Apache-2.0
#include <fnmatch.h>

#include <algorithm>

#include "core/tools/tool.h"

namespace agentd {
namespace {

bool names(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  });
}

}  // namespace

Permission PermissionRules::decide(const Tool& tool) const {
  if (names(deny, tool.name)) return Permission::kDeny;
  if (names(allow, tool.name) || tool.read_only()) return Permission::kAllow;
  switch (mode) {
    case Mode::kAsk:
      return Permission::kAsk;
    case Mode::kAllow:
      return Permission::kAllow;
    case Mode::kDeny:
      return Permission::kDeny;
  }
  return Permission::kAsk;
}

}  // namespace agentd
