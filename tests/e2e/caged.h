// SPDX-License-Identifier: Apache-2.0
#pragma once
// caged.h - the built program on the stage of a hostile model, and on machines that lack a layer of the sandbox.
//
// Threading: thread-compatible.

#include <string>
#include <vector>

#include "tests/cage/stage.h"
#include "tests/e2e/program.h"

namespace agentd::testing {

class Caged {
 public:
  Caged();

  // The program on a machine that lacks these: options of cage_without, none = this one.
  Finished on(const std::vector<std::string>& lacks, const std::vector<std::string>& words);
  // A command in the sandbox, after the lines that name what is on the stage.
  Finished command(const std::vector<std::string>& lacks, const std::string& layer, const std::string& script);
  // What the command has done that it may not; empty = nothing.
  std::string harm(const Finished& ran) const;

  const Stage& stage() const { return stage_; }
  Program& program() { return program_; }

 private:
  const Stage stage_;
  Program program_;
};

// True where this kernel cannot play that machine.
bool cannot_be_played(const Finished& ran);

}  // namespace agentd::testing
