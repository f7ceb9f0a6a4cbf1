// SPDX-License-Identifier: Apache-2.0
#pragma once
// withheld.h - the files that rules keep out of what searching tools show: what read_file may not read without a
// question, grep and glob do not show at all.
//
// Threading: thread-safe; reads the file system to follow links.

#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/tools/permission.h"
#include "core/tools/tool.h"

namespace agentd {

class RuleWithholds final : public Withheld {
 public:
  // For one call of the tool. The rules that deny or ask about paths of read_file, and those that deny paths of the
  // tool itself. `place` outlives it.
  RuleWithholds(const PermissionRules& rules, const std::string& tool, const PathPlace& place);
  // No rule is about any file.
  bool empty() const { return patterns_.empty(); }

  bool entry(const std::string& path) const override;
  bool path(const std::string& path) const override;

 private:
  struct Pattern {
    PathPattern pattern;
    std::vector<PathPattern::Lead> leads;
  };
  void add(const std::vector<PermissionRule>& rules, std::string_view tool);
  bool fits(const std::string& spelt, const std::string& real) const;
  std::string real_folder(const std::string& folder) const;

  const PathPlace& place_;
  std::vector<std::string> real_roots_;
  std::string real_start_, real_home_;
  PathPlace real_place_;
  std::vector<Pattern> patterns_;
  mutable Mutex mutex_;
  mutable std::unordered_map<std::string, std::string> folders_ GUARDED_BY(mutex_);  // without links
};

}  // namespace agentd
