// SPDX-License-Identifier: Apache-2.0
#pragma once
// subject.h - the module under test, read from its file, and a temporary directory for the test.
//
// Threading: thread-compatible.

#include <memory>
#include <string>

#include "core/host/plugin_host.h"
#include "core/validate/stage.h"

namespace agentd::validation {

class Workbench {
 public:
  // Reads FILE and its sidecar. kNotFound, kInvalid: one sentence that names the file.
  static Result<std::unique_ptr<Workbench>> open(const std::string& path, const std::string& config_json,
                                                 const std::string& worker);
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  const Subject& subject() const { return subject_; }
  // Sets where the hook would run, and the time that each step of a check has.
  void judge_for(Isolation profile, Milliseconds patience) {
    subject_.profile = profile;
    subject_.patience = patience;
  }
  // The host's description of the file without running it, with the file's path.
  const HookDescription& description() const { return description_; }
  // Empties the module's working directory between checks.
  void tidy() const;

 private:
  Workbench() = default;
  Result<void> read(const std::string& path, const std::string& config_json, const std::string& worker);
  Subject subject_;
  HookDescription description_;
  std::string root_;
  UniqueFd lock_;  // on root_: an unlocked one may be removed
};

}  // namespace agentd::validation
