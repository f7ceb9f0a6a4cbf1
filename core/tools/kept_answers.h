// SPDX-License-Identifier: Apache-2.0
#pragma once
// kept_answers.h - what a person has permitted for good in one project: the rules of "always", in a file of agentd's
// home that no project can bring along.
//
// The file belongs to the canonical root of the project alone: a repository within it has its own. A file that another
// user could write, or that is about another root, is not used.
//
// Threading: thread-safe within a process; of two processes that keep at the same moment, one answer may be lost.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/tools/permission_rule.h"

namespace agentd {

struct KeptAnswer {
  std::string rule;             // "bash(make clean)"
  std::int64_t when_ms = 0;     // Unix time
  std::string conversation_id;  // in which it was given
  std::string directory;        // where its call started; a rule about commands holds there only
};

class KeptAnswers {
 public:
  // HOME/permissions/DIGEST.json of a project's root.
  static std::string file_of(const std::string& home, const std::string& project_root);
  // Reads the file; none is no answers. kInvalid, kDenied, kIo: it is not used, and nothing is kept.
  static Result<std::shared_ptr<KeptAnswers>> open(const std::string& home, const std::string& project_root);

  std::vector<PermissionRule> rules() const;
  std::vector<KeptAnswer> answers() const;
  const std::string& file() const { return file_; }
  // Adds rules, written before it returns. A known one is not repeated.
  Result<void> keep(const std::vector<std::string>& rules, std::int64_t when_ms, const std::string& conversation_id,
                    const std::string& directory);
  // Removes the answers with that rule; an empty text = all. How many there were.
  Result<std::size_t> forget(const std::string& rule);

 private:
  KeptAnswers(std::string file, std::string root) : file_(std::move(file)), root_(std::move(root)) {}
  Result<void> read() REQUIRES(mutex_);
  Result<void> write() const REQUIRES(mutex_);

  const std::string file_, root_;
  mutable Mutex mutex_;
  std::vector<KeptAnswer> answers_ GUARDED_BY(mutex_);
};

}  // namespace agentd
