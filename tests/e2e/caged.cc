// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/caged.h"

namespace agentd::testing {

Caged::Caged() {
  program_.set("HOME=" + stage_.home());
  program_.set_home(stage_.home() + "/.agent");
  program_.set_project(stage_.project());
}

Finished Caged::on(const std::vector<std::string>& lacks, const std::vector<std::string>& words) {
  std::vector<std::string> launcher;
  if (!lacks.empty()) {
    launcher.emplace_back(AGENTD_CAGE_WITHOUT);
    launcher.insert(launcher.end(), lacks.begin(), lacks.end());
    launcher.emplace_back("--");
  }
  program_.start_by(std::move(launcher));
  return program_.run(words);
}

Finished Caged::command(const std::vector<std::string>& lacks, const std::string& layer, const std::string& script) {
  return on(lacks, {"sandbox", "run", "--layer", layer, "--", "bash", "-c", stage_.names() + script});
}

std::string Caged::harm(const Finished& ran) const { return stage_.harm({ran.code, ran.out + ran.err, {}}); }

bool cannot_be_played(const Finished& ran) { return ran.code == 77 && has(ran.err, "cage_without: "); }

}  // namespace agentd::testing
