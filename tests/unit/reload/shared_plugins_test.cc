// SPDX-License-Identifier: Apache-2.0
// The hosts of two projects, and the plugins that they share.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/host/plugin_host.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

class SharedPluginsTest : public ::testing::Test {
 protected:
  SharedPluginsTest() {
    for (const char* name : {"counter", "other", "project/counter"})
      fixture_.options.plugins[name].config_json = "{\"log\":\"" + log() + "\"}";
    shared_.emplace(fixture_.tokens, fixture_.clock, fixture_.log, [this](agentd_conv conversation) {
      const auto found = files_.find(conversation);
      return found == files_.end() ? nullptr : found->second;
    });
    fixture_.options.shared = &*shared_;
  }
  std::string log() const { return fixture_.temp.file("log"); }
  void put(const std::string& module, const std::string& to) const {
    const std::string fresh = fixture_.temp.file("fresh");
    std::filesystem::copy_file(std::string(AGENTD_COUNTERS) + "/" + module + ".so", fresh,
                               std::filesystem::copy_options::overwrite_existing);
    ::chmod(fresh.c_str(), 0644);
    std::filesystem::rename(fresh, to);
  }
  // A directory of a project, with the host's hooks in it.
  std::string project(const std::string& name) const {
    const std::string out = fixture_.temp.file(name);
    ::mkdir(out.c_str(), 0700);
    return out;
  }
  // The host of a project with these roots; `hooks`: the directory of the project's own, if it has one.
  std::unique_ptr<PluginHost> open(const std::string& hooks = {}, const std::string& root = {}) {
    PluginHostOptions options = fixture_.options;
    if (!hooks.empty()) options.directories.insert(options.directories.begin(), {hooks, Precedence::kProject});
    if (!root.empty()) options.roots = {root};
    auto out = std::make_unique<PluginHost>(options, fixture_.tokens, fixture_.services, fixture_.clock, fixture_.log);
    out->load_all();
    return out;
  }
  void call(const PluginHost& host) {
    fixture_.dispatcher.publish(host.subscriptions());
    (void)fixture_.before_tool_call("any");
    fixture_.dispatcher.publish({});
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }
  long count(const std::string& what) const {
    const auto all = lines();
    return std::count_if(all.begin(), all.end(),
                         [&](const std::string& line) { return line.find(what) != std::string::npos; });
  }
  Result<ToolOutcome> read(PluginHost& host, agentd_conv session, const std::string& path) {
    SessionContext context;
    context.handle = session;
    return host.tools().call(context, {"c", "read", *ToolInput::make("{\"text\":\"" + path + "\"}")}, {}, {});
  }

  HostFixture fixture_{AGENTD_COUNTERS};
  std::map<agentd_conv, std::shared_ptr<Workspace>> files_;  // of open sessions
  std::optional<SharedPlugins> shared_;
};

TEST_F(SharedPluginsTest, OneInstanceServesTheHostsOfTwoProjects) {
  put("counter_1", fixture_.path("counter.so"));
  const auto a = open(), b = open();
  call(*a);
  call(*b);
  ASSERT_EQ(a->plugins().size(), 1u);
  EXPECT_EQ(a->plugins(), b->plugins());
  EXPECT_EQ(lines(), (std::vector<std::string>{"1 created 0", "1 call 1", "1 call 2"}));
}

TEST_F(SharedPluginsTest, HostsWithoutThemHaveAnInstanceEach) {
  fixture_.options.shared = nullptr;
  put("counter_1", fixture_.path("counter.so"));
  const auto a = open(), b = open();
  call(*a);
  call(*b);
  EXPECT_EQ(count("1 created 0"), 2);
  EXPECT_EQ(count("1 call 1"), 2);
}

TEST_F(SharedPluginsTest, InstanceOutlivesTheHostThatMadeItAndEndsOnce) {
  put("counter_1", fixture_.path("counter.so"));
  auto a = open();
  const auto b = open();
  call(*a);
  a.reset();
  EXPECT_EQ(count("destroyed"), 0);
  call(*b);
  EXPECT_EQ(count("1 call 2"), 1);
  shared_->shutdown();
  EXPECT_EQ(count("destroyed"), 1);
}

TEST_F(SharedPluginsTest, ProjectOpenedLaterFindsTheInstanceOfOneThatIsClosed) {
  put("counter_1", fixture_.path("counter.so"));
  call(*open());
  call(*open());
  EXPECT_EQ(lines(), (std::vector<std::string>{"1 created 0", "1 call 1", "1 call 2"}));
}

TEST_F(SharedPluginsTest, ChangedFileIsLoadedOnceAndTakesTheStateOnce) {
  put("counter_1", fixture_.path("counter.so"));
  const auto a = open(), b = open();
  call(*a);
  put("counter_2", fixture_.path("counter.so"));
  const auto first = a->reload_changed();
  EXPECT_TRUE(first.changed);
  EXPECT_EQ(first.notes.size(), 1u);
  call(*a);
  EXPECT_EQ(b->plugins()[0]->identity().version, "1.0.1");  // until its own next turn
  const auto second = b->reload_changed();
  EXPECT_TRUE(second.changed);
  EXPECT_EQ(second.notes, first.notes);
  EXPECT_TRUE(second.problems.empty());
  EXPECT_EQ(a->plugins(), b->plugins());
  call(*b);
  EXPECT_EQ(lines(), (std::vector<std::string>{"1 created 0", "1 call 1", "2 created 0", "2 call 2", "1 destroyed 1",
                                               "2 call 3"}));
  EXPECT_FALSE(a->reload_changed().changed);
  EXPECT_FALSE(b->reload_changed().changed);
}

TEST_F(SharedPluginsTest, HostThatSleptThroughAChangeAndItsReversalFindsTheInstanceOfTheOthers) {
  put("counter_1", fixture_.path("counter.so"));
  const auto a = open(), b = open();
  put("counter_2", fixture_.path("counter.so"));
  ASSERT_TRUE(a->reload_changed().changed);
  put("counter_1", fixture_.path("counter.so"));
  ASSERT_TRUE(b->reload_changed().changed);
  ASSERT_TRUE(a->reload_changed().changed);
  EXPECT_EQ(a->plugins(), b->plugins());
  EXPECT_EQ(count("1 created"), 2);
  EXPECT_EQ(count("2 created"), 1);
}

// A host may have read a version that another one has left behind by the time that it is its turn to load.
TEST_F(SharedPluginsTest, VersionThatWasReplacedSinceItWasReadIsNotBroughtBack) {
  const std::string path = fixture_.path("counter.so");
  put("counter_1", path);
  const auto a = open();
  HookFile read;
  read.path = path;
  ASSERT_EQ(::stat(path.c_str(), &read.info), 0);
  int made = 0;
  const auto make = [&](Plugin*) -> Result<std::shared_ptr<Plugin>> {
    ++made;
    return Error{Code::kInvalid, "it does not start"};
  };
  EXPECT_FALSE(shared_->get(read, "others", make));  // the file is as it was read
  EXPECT_EQ(made, 1);
  put("counter_2", path);
  ASSERT_TRUE(a->reload_changed().changed);
  const auto found = shared_->get(read, "others", make);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, a->plugins()[0]);
  EXPECT_EQ(made, 1);
}

TEST_F(SharedPluginsTest, SuccessorThatDoesNotStartLeavesEveryHostTheOldOne) {
  put("counter_1", fixture_.path("counter.so"));
  const auto a = open(), b = open();
  put("counter_3", fixture_.path("counter.so"));
  EXPECT_FALSE(a->reload_changed().changed);
  EXPECT_FALSE(b->reload_changed().changed);
  call(*a);
  call(*b);
  EXPECT_EQ(count("1 call 2"), 1);
  EXPECT_EQ(count("1 destroyed"), 0);
}

TEST_F(SharedPluginsTest, FileThatIsGoneEndsWithTheLastHostThatHasIt) {
  put("counter_1", fixture_.path("counter.so"));
  const auto a = open(), b = open();
  std::filesystem::remove(fixture_.path("counter.so"));
  EXPECT_TRUE(a->reload_changed().changed);
  EXPECT_EQ(count("destroyed"), 0);
  call(*b);
  EXPECT_EQ(count("1 call 1"), 1);
  EXPECT_TRUE(b->reload_changed().changed);
  EXPECT_EQ(count("destroyed"), 1);
}

TEST_F(SharedPluginsTest, ProjectsOwnModuleIsItsHostsAlone) {
  const std::string hooks_of_a = project("a"), hooks_of_b = project("b");
  put("counter_1", hooks_of_a + "/counter.so");
  put("counter_1", hooks_of_b + "/counter.so");
  put("other", fixture_.path("other.so"));
  auto a = open(hooks_of_a);
  const auto b = open(hooks_of_b);
  ASSERT_EQ(a->plugins().size(), 2u);
  EXPECT_NE(a->plugins()[0], b->plugins()[0]);
  EXPECT_EQ(a->plugins()[1], b->plugins()[1]);
  put("counter_2", hooks_of_a + "/counter.so");
  EXPECT_TRUE(a->reload_changed().changed);
  EXPECT_FALSE(b->reload_changed().changed);
  EXPECT_EQ(b->plugins()[0]->identity().version, "1.0.1");
  a.reset();
  EXPECT_EQ(count("2 destroyed"), 1);
  EXPECT_EQ(count("1 destroyed"), 1);  // the version before
  call(*b);
}

// As with one project: the project's directory precedes the user's.
TEST_F(SharedPluginsTest, ProjectsModuleHidesTheUsersOfItsIdInThatProjectAlone) {
  const std::string hooks = project("a");
  put("counter_1", hooks + "/counter.so");
  put("counter_2", fixture_.path("counter.so"));
  const auto a = open(hooks), b = open();
  ASSERT_EQ(a->plugins().size(), 1u);
  EXPECT_EQ(a->plugins()[0]->identity().name, "project/counter");
  ASSERT_EQ(a->problems().size(), 1u);
  EXPECT_NE(a->problems()[0].message.find("has the same id"), std::string::npos);
  ASSERT_EQ(b->plugins().size(), 1u);
  EXPECT_EQ(b->plugins()[0]->identity().version, "1.0.2");
  EXPECT_TRUE(b->problems().empty());
}

TEST_F(SharedPluginsTest, HostsThatReloadAtTheSameTimeMakeOneInstance) {
  put("counter_1", fixture_.path("counter.so"));
  std::vector<std::unique_ptr<PluginHost>> hosts;
  for (int i = 0; i < 8; ++i) hosts.push_back(open());
  put("counter_2", fixture_.path("counter.so"));
  std::atomic<int> changed{0};
  {
    std::vector<std::jthread> threads;
    for (const auto& host : hosts)
      threads.emplace_back([&changed, &host] { changed += host->reload_changed().changed ? 1 : 0; });
  }
  EXPECT_EQ(changed, 8);
  EXPECT_EQ(count("2 created"), 1);
  EXPECT_EQ(count("1 destroyed"), 1);
  for (const auto& host : hosts) EXPECT_EQ(host->plugins(), hosts[0]->plugins());
}

// ---- files

class SharedFilesTest : public SharedPluginsTest {
 protected:
  SharedFilesTest() {
    fixture_.install_from(AGENTD_BROKEN_HOOKS, "files", "files");
    fixture_.options.plugins["files"].grants = {AGENTD_WORKSPACE_ID, AGENTD_PROCESS_ID};
    for (const std::string name : {"a", "b"}) {
      (void)project(name);
      fixture_.temp.write(name + "/note", name);
    }
  }
  void open_session(agentd_conv handle, const std::string& name) {
    auto opened = open_workspace({project(name)});
    ASSERT_TRUE(opened) << opened.error().message;
    files_[handle] = std::move(*opened);
  }
};

TEST_F(SharedFilesTest, CallSeesTheFilesOfItsSession) {
  const auto a = open({}, project("a")), b = open({}, project("b"));
  ASSERT_EQ(a->plugins(), b->plugins());
  open_session(1, "a");
  open_session(2, "b");
  EXPECT_EQ(read(*a, 1, project("a") + "/note")->content, "a");
  EXPECT_EQ(read(*b, 2, project("b") + "/note")->content, "b");
  EXPECT_FALSE(read(*a, 1, project("b") + "/note"));
  EXPECT_FALSE(read(*b, 2, project("a") + "/note"));
}

TEST_F(SharedFilesTest, CallOutsideOfSessionsHasTheFilesOfTheOnlyProject) {
  auto a = open({}, project("a"));
  EXPECT_EQ(read(*a, 0, project("a") + "/note")->content, "a");
  auto b = open({}, project("b"));
  for (PluginHost* const host : {a.get(), b.get()})
    for (const char* name : {"a", "b"}) {
      const auto answer = read(*host, 0, project(name) + "/note");
      ASSERT_FALSE(answer);
      EXPECT_NE(answer.error().message.find("belongs to no session"), std::string::npos) << answer.error().message;
    }
  a.reset();
  EXPECT_EQ(read(*b, 0, project("b") + "/note")->content, "b");
  EXPECT_FALSE(read(*b, 0, project("a") + "/note"));
}

}  // namespace
}  // namespace agentd
