// SPDX-License-Identifier: Apache-2.0
#pragma once
// git_in_each_layer.h - tests in which a command plants programs, and the user uses Git afterwards.
//
// Threading: thread-compatible.

#include <string>
#include <vector>

#include "tests/cage/cage_test.h"

namespace agentd::testing {

class GitInEachLayer : public InEachLayer {
 protected:
  std::string mark() const { return stage_.home() + "/ran"; }
  // Plants programs in a directory of Git.
  std::string planted_in(const std::string& git) const {
    return "g=" + git + "; mkdir -p $g/hooks; printf '[core]\\n\\tfsmonitor = touch " + mark() +
           "; false\\n' >> $g/config; printf '#!/bin/sh\\ntouch " + mark() +
           "\\n' > $g/hooks/pre-commit; chmod +x $g/hooks/pre-commit\n";
  }
  std::string planted_hooks_in(const std::string& top, const std::string& name = ".githooks") const {
    const std::string hook = top + "/" + name + "/pre-commit";
    return "mkdir -p " + top + "/" + name + "; printf '#!/bin/sh\\ntouch " + mark() + "\\n' > " + hook + "; chmod +x " +
           hook + "\n";
  }
  // The user works in that directory: true if what was planted ran.
  bool runs_in(const std::string& directory) const {
    user("cd " + directory + "; (git status; git commit --allow-empty -m x) >/dev/null 2>&1 || true");
    return std::filesystem::exists(mark());
  }
  // The command fails, or says that it was undone; and what the user does next in these directories runs none of it.
  void expect_refused(const std::string& script, const std::vector<std::string>& directories = {}) {
    SCOPED_TRACE(script);
    const Ran ran = run(script);
    EXPECT_TRUE(ran.code != 0 || !ran.remarks.empty()) << ran.output;
    for (const std::string& each : directories) EXPECT_FALSE(runs_in(each)) << each;
  }
  void expect_fine(const std::string& script) {
    SCOPED_TRACE(script);
    const Ran ran = run("set -e\n" + script);
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_TRUE(ran.remarks.empty()) << ran.remarks[0];
  }
};

}  // namespace agentd::testing
