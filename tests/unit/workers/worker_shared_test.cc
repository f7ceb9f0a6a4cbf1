// SPDX-License-Identifier: Apache-2.0
// worker_shared_test.cc - the workers of plugins that the hosts of two projects share.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::children;
using testing::eventually;
using testing::WorkerFixture;
using testing::workers;

class SharedWorkers : public ::testing::Test {
 protected:
  SharedWorkers() {
    shared_.emplace(fixture_.tokens, fixture_.clock, fixture_.log, FilesOfSession());
    fixture_.options.shared = &*shared_;
  }
  // The host of a project with a root of its own.
  std::unique_ptr<PluginHost> open(const std::string& project) {
    PluginHostOptions options = fixture_.options;
    options.roots = {fixture_.temp.file(project)};
    ::mkdir(options.roots[0].c_str(), 0700);
    auto out = std::make_unique<PluginHost>(options, fixture_.tokens, fixture_.services, fixture_.clock, fixture_.log);
    out->load_all();
    EXPECT_TRUE(out->problems().empty()) << out->problems()[0].message;
    return out;
  }
  std::string pid_in(const PluginHost& host) {
    fixture_.dispatcher.publish(host.subscriptions());
    const std::string out = fixture_.ask("pid").reason;
    fixture_.dispatcher.publish({});
    return out;
  }

  WorkerFixture fixture_;
  std::optional<SharedPlugins> shared_;
};

TEST_F(SharedWorkers, AreOneProcessForTwoProjectsAndEndWithTheRuntime) {
  fixture_.install("moods");
  auto a = open("a"), b = open("b");
  ASSERT_EQ(workers().size(), 1u);
  const std::string pid = std::to_string(workers()[0]);
  EXPECT_EQ(pid_in(*a), pid);
  EXPECT_EQ(pid_in(*b), pid);
  a.reset();
  EXPECT_EQ(pid_in(*b), pid);
  b.reset();
  EXPECT_EQ(workers().size(), 1u);
  EXPECT_EQ(pid_in(*open("c")), pid);
  shared_->shutdown();
  EXPECT_TRUE(eventually([] { return children().empty(); }));
}

TEST_F(SharedWorkers, WithoutASharedHolderAreOneForEachProject) {
  fixture_.options.shared = nullptr;
  fixture_.install("moods");
  const auto a = open("a"), b = open("b");
  EXPECT_EQ(workers().size(), 2u);
}

TEST_F(SharedWorkers, ThatOpenFilesAreOneForEachProjectAndEndWithIt) {
  fixture_.install("moods_files", "moods");
  fixture_.options.plugins["moods"].sandbox = false;  // not every kernel has what it needs
  auto a = open("a");
  const auto b = open("b");
  ASSERT_EQ(workers().size(), 2u);
  const std::string pid = pid_in(*b);
  EXPECT_NE(pid_in(*a), pid);
  a.reset();
  EXPECT_TRUE(eventually([] { return workers().size() == 1; }));
  EXPECT_EQ(pid_in(*b), pid);
}

}  // namespace
}  // namespace agentd
