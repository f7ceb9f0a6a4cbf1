// SPDX-License-Identifier: Apache-2.0
#include "core/host/plugin_host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/hash.h"

#include "core/trust/sealed_file.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

struct Traces final : TraceSink {
  void on_hook(const HookTrace& trace) override {
    hooks.emplace_back(trace.hook);
    digests.emplace_back(trace.bytes_digest);
  }
  std::vector<std::string> hooks, digests;
};

std::string only_problem(const HostFixture& fixture) {
  EXPECT_EQ(fixture.host->problems().size(), 1u);
  return fixture.host->problems().empty() ? "" : fixture.host->problems()[0].message;
}

TEST(PluginHost, LoadsAHookThatThenAnswers) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.load();
  const auto outcome = fixture.before_tool_call("bash");
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->blocked_by.hook, "good");
  EXPECT_EQ(outcome->blocked_by.plugin, "org.agentd.test.good");
  EXPECT_EQ(fixture.before_tool_call("read_file"), nullptr);
}

TEST(PluginHost, TracesCarryTheDigestOfTheBytes) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.load();
  Traces traces;
  (void)fixture.before_tool_call("bash", &traces);
  ASSERT_EQ(traces.digests.size(), 1u);
  EXPECT_EQ(traces.digests[0], hex(sha256(fixture.temp.read("hooks/good.so"))));
}

TEST(PluginHost, NoDirectoryIsNoHookAndNoProblem) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.options.directories = {{fixture.temp.file("nowhere"), Precedence::kUser}};
  fixture.load();
  EXPECT_TRUE(fixture.host->plugins().empty());
  EXPECT_TRUE(fixture.host->problems().empty());
  EXPECT_TRUE(fixture.host->tools().tools().empty());
}

TEST(PluginHost, DisabledHooksAreNotLoaded) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.options.disable = {"go*"};
  fixture.load();
  EXPECT_TRUE(fixture.host->plugins().empty());
  EXPECT_TRUE(fixture.host->problems().empty());
}

TEST(PluginHost, ConfigSwitchesHooksOffAndBundledOnesOn) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.install("files");
  fixture.options.roots = {fixture.temp.path()};
  fixture.options.directories[0].on_by_default = false;
  fixture.options.plugins["files"].enabled = true;
  fixture.load();
  ASSERT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_EQ(fixture.host->plugins()[0]->identity().name, "files");
}

TEST(PluginHost, SecondModuleOfAnIdIsRefusedAndNamesTheFirst) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  const std::string first = fixture.install("good", "a");
  fixture.install("good", "b");
  fixture.load();
  EXPECT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_NE(only_problem(fixture).find("as " + first + ", which is loaded"), std::string::npos);
}

TEST(PluginHost, SidecarStandsInForAMissingNote) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("no_manifest", "x");
  fixture.put("x.hook.json", R"({"id":"org.agentd.test.sidecar","version":"1.0.0","abi":"1.0"})");
  fixture.load();
  // It has a manifest now; what it lacks next is an entry.
  EXPECT_NE(only_problem(fixture).find("does not export agentd_hook_entry_v1"), std::string::npos);
}

TEST(PluginHost, NoteBeatsTheSidecar) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.put("good.hook.json", R"({"id":"org.agentd.test.sidecar","version":"1.0.0","abi":"1.0"})");
  fixture.load();
  EXPECT_EQ(fixture.host->plugins().size(), 1u);
}

TEST(PluginHost, UnsafeFileIsAProblemWithItsRemedy) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  const std::string path = fixture.install("good");
  ::chmod(path.c_str(), 0666);
  fixture.load();
  EXPECT_TRUE(fixture.host->plugins().empty());
  EXPECT_EQ(only_problem(fixture), path + " is world-writable, ignored: chmod go-w " + path);
}

TEST(PluginHost, HooksOfOtherKindsAreHandedOnUnread) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.put("x.yaml", "not: [even, yaml");
  fixture.load();
  EXPECT_TRUE(fixture.host->problems().empty());
  const std::vector<HookFile> others = fixture.host->take_others();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].name, "x");
  EXPECT_EQ(others[0].kind, HookKind::kDeclarative);
  EXPECT_TRUE(others[0].fd.valid());
}

TEST(PluginHost, ConsentIsAskedWithTheDigestOfTheBytesAndARefusalKeepsTheModuleOut) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  const std::string path = fixture.install("good");
  std::string asked;
  fixture.options.consent = [&](const HookFile& file, const std::string& digest) -> Result<void> {
    asked = file.path + " " + digest;
    return Error{Code::kDenied, "not agreed to"};
  };
  fixture.load();
  EXPECT_TRUE(fixture.host->plugins().empty());
  EXPECT_EQ(only_problem(fixture), "not agreed to");
  EXPECT_EQ(asked, path + " " + hex(sha256(*read_file(path, 64u << 20))));
}

TEST(PluginHost, UnknownCapabilityIsLogged) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("no_manifest");
  fixture.put("no_manifest.hook.json",
              R"({"id":"org.agentd.test.no_manifest","version":"1.0.0","abi":"1.0","capabilities":["netwrok"]})");
  fixture.load();
  EXPECT_TRUE(
      fixture.log.has("no_manifest.so asks for the unknown capability 'netwrok', which opens nothing; known are gate, "
                      "redact, network"));
}

TEST(PluginHost, ConfigThatIsNoMappingIsSaid) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.options.plugins["good"].config_json = "[1]";
  fixture.load();
  EXPECT_NE(only_problem(fixture).find("hooks.good.config must be a mapping"), std::string::npos);
}

TEST(PluginHost, RequiredServicesThatTheUserWithholdsStopTheLoadAndAreNamedAtOnce) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("asks");
  fixture.options.plugins["asks"].grants = {"agentd.store"};
  fixture.load();
  EXPECT_NE(only_problem(fixture).find("asks.so is not loaded: it requires compactor, thread_factory, which are not "
                                       "granted; to grant them, add to config.yaml: hooks: {asks: {grant: ["),
            std::string::npos)
      << only_problem(fixture);
}

TEST(PluginHost, WhatActsByTheHostsHandsIsGivenByName) {
  HostFixture asked(AGENTD_BROKEN_HOOKS);
  asked.install("files");
  asked.options.roots = {asked.temp.path()};
  asked.load();
  ASSERT_EQ(asked.host->plugins().size(), 1u);
  EXPECT_FALSE(asked.host->plugins()[0]->grants().interfaces.contains(AGENTD_PROCESS_ID));

  HostFixture granted(AGENTD_BROKEN_HOOKS);
  granted.install("files");
  granted.options.roots = {granted.temp.path()};
  granted.options.plugins["files"].grants = {AGENTD_PROCESS_ID};
  granted.load();
  ASSERT_EQ(granted.host->plugins().size(), 1u);
  EXPECT_TRUE(granted.host->plugins()[0]->grants().interfaces.contains(AGENTD_PROCESS_ID));
  EXPECT_FALSE(granted.host->plugins()[0]->grants().interfaces.contains(AGENTD_WORKSPACE_ID));
}

TEST(PluginHost, ProjectsHookGetsNoFilesUnlessGranted) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("files");
  fixture.options.roots = {fixture.temp.path()};
  fixture.options.directories[0].precedence = Precedence::kProject;
  fixture.load();
  ASSERT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_EQ(fixture.host->plugins()[0]->identity().name, "project/files");
  EXPECT_FALSE(fixture.host->plugins()[0]->grants().interfaces.contains(AGENTD_WORKSPACE_ID));

  HostFixture granted(AGENTD_BROKEN_HOOKS);
  granted.install("files");
  granted.options = fixture.options;
  granted.options.directories = {{granted.hooks(), Precedence::kProject}};
  granted.options.plugins["project/files"].grants = {AGENTD_TOOLS_ID, AGENTD_WORKSPACE_ID};
  granted.load();
  ASSERT_EQ(granted.host->plugins().size(), 1u);
  EXPECT_TRUE(granted.host->plugins()[0]->grants().interfaces.contains(AGENTD_WORKSPACE_ID));
  EXPECT_FALSE(granted.host->plugins()[0]->grants().interfaces.contains(AGENTD_PROCESS_ID));
}

TEST(PluginHost, TwoHostsOfTheSameModuleAreIndependent) {
  HostFixture first(AGENTD_BROKEN_HOOKS);
  HostFixture second(AGENTD_BROKEN_HOOKS);
  first.install("good");
  second.install("good");
  first.load();
  second.load();
  first.host->shutdown();
  EXPECT_EQ(first.before_tool_call("bash"), nullptr);
  EXPECT_NE(second.before_tool_call("bash"), nullptr);
}

TEST(PluginHost, ShutdownTakesItsHooksOutOfPinnedSnapshots) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.load();
  const auto pinned = fixture.dispatcher.pin();
  fixture.host->shutdown();
  EXPECT_EQ(fixture.before_tool_call("bash"), nullptr);
}

TEST(PluginHost, LoadsFromAPrivateCopyAsWell) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("newer_zero_tail");
  const std::string bytes = fixture.temp.read("hooks/newer_zero_tail.so");
  auto copy = make_private_copy(bytes, "x.so", fixture.temp.file("copies"));
  ASSERT_TRUE(copy);
  const std::string path = copy->path;
  const auto entry = open_module(std::move(copy->fd), copy->path);
  discard(*copy);
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_TRUE(read_plugin(*entry));
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the copy stays behind";
}

TEST(PluginTools, UnknownToolIsNotFound) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.load();
  const auto answer = fixture.host->tools().call({}, {"c", "nope", {}}, CancelToken(), Deadline());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
}

TEST(DescribeHooks, TellsEveryHookAndRunsNone) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("create_throws");
  fixture.install("good");
  fixture.install("no_manifest");
  fixture.put("text.so", "hello");
  const std::string open = fixture.put("open.so", "x");
  ::chmod(open.c_str(), 0666);
  fixture.options.disable = {"unknown*"};
  fixture.install("unknown_optional_row");
  const auto hooks = describe_hooks(fixture.options);
  ASSERT_EQ(hooks.size(), 6u);
  EXPECT_EQ(hooks[0].name, "create_throws");
  EXPECT_TRUE(hooks[0].ok()) << hooks[0].obstacle;
  EXPECT_EQ(hooks[1].manifest->id, "org.agentd.test.good");
  EXPECT_EQ(hooks[1].manifest->version, "1.0.0");
  EXPECT_EQ(hooks[1].manifest->events, std::vector<std::string>{"before_tool_call"});
  EXPECT_NE(hooks[2].obstacle.find("no manifest"), std::string::npos);
  EXPECT_NE(hooks[3].obstacle.find("is not a shared library"), std::string::npos);
  EXPECT_NE(hooks[4].obstacle.find("world-writable, ignored: chmod go-w"), std::string::npos);
  EXPECT_EQ(hooks[5].obstacle, "disabled");
}

TEST(DescribeHooks, HookThatIsOffSaysHowToSwitchItOn) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  fixture.options.directories[0].on_by_default = false;
  const auto hooks = describe_hooks(fixture.options);
  ASSERT_EQ(hooks.size(), 1u);
  EXPECT_EQ(hooks[0].obstacle, "off: set hooks.good.enabled");
  EXPECT_TRUE(hooks[0].manifest);
}

}  // namespace
}  // namespace agentd
