// SPDX-License-Identifier: Apache-2.0
#pragma once
// runtime_test.h - a test with a runtime that does not save, at home in a directory of its own, beside its projects.
//
// Threading: one test thread begins it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/runtime/runtime.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {

// The home is `home`, the projects are `a`, `b` and `c` of the temporary directory.
template <class ClockType>
class RuntimeTest : public ::testing::Test {
 protected:
  RuntimeTest() {
    for (const char* const name : {"home", "a", "b", "c"}) make_directory(name);
    surroundings_.environment = [home = temp_.file("home")](const std::string& name) -> std::optional<std::string> {
      if (name == "AGENTD_HOME" || name == "HOME") return home;
      if (name == "PATH") return "/usr/local/bin:/usr/bin:/bin";
      return std::nullopt;
    };
    surroundings_.system_directory = temp_.file("etc");
  }

  void make_directory(const std::string& directory) const { ::mkdir(temp_.file(directory).c_str(), 0700); }

  // Opens the runtime with a model that plays the script. `settings`: more lines of config.yaml.
  void begin_runtime(const std::string& script, const std::string& settings = {}) {
    const std::string config = "provider: scripted\nscripted: {file: '" + temp_.write("script.yaml", script) +
                               "'}\nsandbox: {layer: 'off'}\n" + settings;
    ::chmod(temp_.write("home/config.yaml", config).c_str(), 0600);
    auto sources = config_sources(surroundings_);
    ASSERT_TRUE(sources) << sources.error().message;
    auto loaded = Config::load(*sources);
    ASSERT_TRUE(loaded) << loaded.error().message;
    config_.emplace(std::move(*loaded));
    RuntimeOptions options;
    options.save = false;
    auto made = Runtime::begin(surroundings_, *config_, clock_, options, [](const std::string&) {});
    ASSERT_TRUE(made) << made.error().message;
    runtime_ = std::move(*made);
    const auto opened = runtime_->open();
    ASSERT_TRUE(opened) << opened.error().message;
  }

  TempDir temp_;
  ClockType clock_;
  ProcessSurroundings surroundings_;
  std::optional<Config> config_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace agentd::testing
