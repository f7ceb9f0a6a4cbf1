// SPDX-License-Identifier: Apache-2.0
#pragma once
// each_layer.h - tests of commands in a cage, once for each layer that this machine can make.
//
// Threading: thread-compatible.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/cage/stage.h"

namespace agentd::testing {

class CageTest : public ::testing::TestWithParam<cage::Layer> {
 protected:
  void SetUp() override {
    const cage::LayerState& state = cage::probe(cage_helper()).of(GetParam());
    if (!state.holds) GTEST_SKIP() << "this machine cannot make it: " << state.why;
  }
  // In a new cage around the stage's project.
  Ran run(const std::string& script) { return run(script, stage_.settings()); }
  Ran run(const std::string& script, cage::CageSettings settings) {
    auto cage = cage::Cage::make(std::move(settings), GetParam());
    if (!cage) return {-1, cage.error().message, {}};
    return stage_.run(cage->get(), script);
  }
  bool alone() const { return GetParam() == cage::Layer::kLandlock; }
  static std::set<std::string> names(const std::string& directory) {
    std::set<std::string> out;
    for (const auto& each : std::filesystem::directory_iterator(directory)) out.insert(each.path().filename().string());
    return out;
  }

  Stage stage_;
};

// The suites' parameters and their names.
inline auto each_layer() { return ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock); }
inline std::string name_of_layer(const ::testing::TestParamInfo<cage::Layer>& info) {
  return std::string(cage::name_of(info.param));
}

}  // namespace agentd::testing
