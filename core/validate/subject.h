// SPDX-License-Identifier: Apache-2.0
#pragma once
// subject.h - the module under test, from its file, and a directory that goes when the test is over.
//
// Threading: thread-compatible.

#include <memory>
#include <string>

#include "core/host/plugin_host.h"
#include "core/validate/stage.h"

namespace agentd::validation {

class Workbench {
 public:
  // Reads FILE and the sidecar beside it. kNotFound, kInvalid: one sentence that names the file.
  static Result<std::unique_ptr<Workbench>> open(const std::string& path, const std::string& config_json,
                                                 const std::string& worker);
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  const Subject& subject() const { return subject_; }
  // The hook is judged as one that runs there; a check has that time for each of its steps.
  void judge_for(Isolation profile, Milliseconds patience) {
    subject_.profile = profile;
    subject_.patience = patience;
  }
  // What the host says of the file without running it; its path is that of the file.
  const HookDescription& description() const { return description_; }
  // Empties the directory that the module works in: what one check leaves is not there for the next.
  void tidy() const;

 private:
  Workbench() = default;
  Result<void> read(const std::string& path, const std::string& config_json, const std::string& worker);
  Subject subject_;
  HookDescription description_;
  std::string root_;
  UniqueFd lock_;  // on root_: who finds it unlocked may remove it
};

}  // namespace agentd::validation
