// SPDX-License-Identifier: Apache-2.0
#include "core/tools/withheld.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/paths.h"

namespace agentd {
namespace {

constexpr std::string_view kReadTool = "read_file";
constexpr std::size_t kFoldersMax = 4096;  // a search has many files in each

}  // namespace

RuleWithholds::RuleWithholds(const PermissionRules& rules, const std::string& tool, const PathPlace& place)
    : place_(place) {
  add(rules.deny, kReadTool);
  add(rules.ask, kReadTool);
  add(rules.deny, tool);
  if (patterns_.empty()) return;
  for (const std::string& root : place.roots)
    if (std::string real = real_path(root); !real.empty()) real_roots_.push_back(std::move(real));
  real_start_ = real_path(std::string(place.start));
  if (!place.home.empty()) real_home_ = real_path(std::string(place.home));
  real_place_ = {real_start_, real_home_, real_roots_};
}

void RuleWithholds::add(const std::vector<PermissionRule>& rules, std::string_view tool) {
  for (const PermissionRule& rule : rules) {
    const auto* const pattern = std::get_if<PathPattern>(&rule.argument);
    if (pattern != nullptr && rule.names(std::string(tool))) patterns_.push_back({*pattern, pattern->leads(place_)});
  }
}

// Either spelling counts, as for every rule that denies or asks.
bool RuleWithholds::fits(const std::string& spelt, const std::string& real) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& each) {
    return each.pattern.matches(spelt, place_, false) ||
           (!real.empty() && (each.pattern.matches(real, real_place_, false) || PathPattern::fit(each.leads, real)));
  });
}

std::string RuleWithholds::real_folder(const std::string& folder) const {
  const MutexLock lock(mutex_);
  if (const auto found = folders_.find(folder); found != folders_.end()) return found->second;
  if (folders_.size() >= kFoldersMax) folders_.clear();
  return folders_[folder] = real_path(folder);
}

bool RuleWithholds::entry(const std::string& path) const {
  const std::string spelt = lexical_path(path, "");
  const std::size_t slash = spelt.rfind('/');
  if (slash == std::string::npos) return fits(spelt, spelt);
  const std::string folder = real_folder(slash == 0 ? "/" : spelt.substr(0, slash));
  const bool found = !folder.empty();
  return fits(spelt, found ? (folder == "/" ? "" : folder) + spelt.substr(slash) : std::string());
}

bool RuleWithholds::path(const std::string& path) const {
  const std::string spelt = lexical_path(path, "");
  return fits(spelt, real_path(spelt));
}

}  // namespace agentd
