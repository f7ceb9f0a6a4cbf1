// SPDX-License-Identifier: Apache-2.0
#pragma once
// cage_test.h - tests of the sandbox that hold in each of its layers.
//
// Threading: thread-compatible.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/cage/stage.h"

namespace agentd::testing {

// Skipped where this machine cannot make the layer.
class InEachLayer : public ::testing::TestWithParam<cage::Layer> {
 protected:
  void SetUp() override {
    if (!cage::probe(cage_helper()).of(GetParam()).holds) GTEST_SKIP() << "this machine cannot make it";
  }

  std::unique_ptr<cage::Cage> make() const {
    auto out = cage::Cage::make(stage_.settings(), GetParam());
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : nullptr;
  }
  // In a new cage around the stage's project.
  Ran run(const std::string& script) const { return stage_.run(make().get(), script); }
  // As the user, who has no cage.
  void user(const std::string& script) const {
    const Ran ran = stage_.run(nullptr, "set -e\n" + script);
    ASSERT_EQ(ran.code, 0) << ran.output;
  }

  std::string file(const std::string& name) const { return stage_.project() + "/" + name; }
  std::string text(const std::string& name) const { return read_file(file(name), 1u << 20).value_or("(none)"); }
  bool exists(const std::string& name) const {
    std::error_code failed;
    return std::filesystem::exists(std::filesystem::symlink_status(file(name), failed));
  }
  void put(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(file(name)).parent_path());
    std::ofstream(file(name)) << content;
  }
  // Until the file is there; the test fails after some time.
  void wait_for(const std::string& name) const {
    const SystemClock clock;
    for (int i = 0; i < 3'000 && !exists(name); ++i) clock.pause(Milliseconds(10));
    EXPECT_TRUE(exists(name)) << name;
  }

  Stage stage_;
};

// A command that does `script`, then waits until it is let go on.
class Waiting {
 public:
  Waiting(const Stage& stage, cage::Cage* cage, const std::string& name, const std::string& script)
      : go_(stage.project() + "/" + name + ".go"), thread_([this, &stage, cage, name, script] {
          ran_ =
              stage.run(cage, script + "\ntouch " + name + ".did; until [ -e " + name + ".go ]; do sleep 0.02; done");
        }) {}
  ~Waiting() { (void)finish(); }
  Ran finish() {
    std::ofstream(go_) << "go\n";
    if (thread_.joinable()) thread_.join();
    return ran_;
  }

 private:
  const std::string go_;
  Ran ran_;
  std::thread thread_;
};

inline std::string layer_name(const ::testing::TestParamInfo<cage::Layer>& each) {
  return std::string(cage::name_of(each.param));
}

}  // namespace agentd::testing
