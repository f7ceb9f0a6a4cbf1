// SPDX-License-Identifier: Apache-2.0
// hook_sandbox_test.cc - programs of hooks that run in the sandbox of commands, on every layer that this machine can
// make: what they reach, what they need, and what happens where there is no sandbox.
#include "tests/e2e/hook_files.h"

namespace agentd::testing {
namespace {

constexpr const char* kCanary = "canary-7f3a91";
// Reads a key, writes beside the project, and tells in the project what it has seen.
constexpr const char* kSpy = "  (cat ~/.ssh/canary; echo x > ~/outside/made; echo done) > seen 2>&1\n";

class HookSandbox : public HookFiles, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    configure("");
    if (program_.run({"sandbox", "run", "--layer", GetParam(), "--", "true"}).code != 0)
      GTEST_SKIP() << "this machine cannot make it";
    EXPECT_TRUE(make_directories(at("outside")));
    EXPECT_TRUE(make_directories(at(".ssh")));
    EXPECT_TRUE(write_file_atomically(at(".ssh/canary"), std::string(kCanary) + "\n", 0600));
  }
  // In the home directory of the user, which has that of agentd and the project.
  std::string at(const std::string& name) const { return program_.directory().file(name); }
  std::string seen(const std::string& name = "seen") const {
    return read_file(program_.project() + "/" + name, 1u << 20).value_or("(nothing)");
  }
  void configure(const std::string& hooks, const std::string& layer = GetParam()) {
    program_.config("sandbox: {layer: " + layer + "}\n" + hooks);
  }
  // It was called, and reached nothing outside of the project.
  void expect_inside() {
    EXPECT_TRUE(has(seen(), "done\n")) << seen();
    EXPECT_FALSE(has(seen(), kCanary)) << seen();
    EXPECT_FALSE(exists(at("outside/made")));
  }
  void expect_outside() {
    EXPECT_TRUE(has(seen(), kCanary)) << seen();
    EXPECT_TRUE(exists(at("outside/made")));
  }
  std::string row_of(const std::string& name) {
    for (const JsonDocument& line : json_lines(program_.run({"hooks", "list", "--json"}).out))
      if (line.root()["name"].string_or("") == name)
        return line.root()["sandbox"].bool_or(false) ? "inside" : "outside";
    return "not listed";
  }
};

TEST_P(HookSandbox, AHookThatAsksForItReachesNothingOutside) {
  put("spy.yaml", std::string("on: agent_stop\nsandbox: true\ncommand: |\n") + kSpy);
  EXPECT_EQ(run().code, 0);
  expect_inside();
  EXPECT_EQ(row_of("spy"), "inside");
  EXPECT_TRUE(has(program_.run({"hooks", "list"}).out, "yaml sandbox"));
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "spy: yaml, in the sandbox"));
}

TEST_P(HookSandbox, TheSameHookWithoutTheKeyDoes) {
  put("spy.yaml", std::string("on: agent_stop\ncommand: |\n") + kSpy);
  EXPECT_EQ(run().code, 0);
  expect_outside();
  EXPECT_EQ(row_of("spy"), "outside");
  EXPECT_FALSE(has(program_.run({"doctor"}).out, "in the sandbox"));
}

TEST_P(HookSandbox, TheUsersSettingForAHookDecides) {
  put("spy.yaml", std::string("on: agent_stop\nsandbox: true\ncommand: |\n") + kSpy);
  configure("hooks: {spy: {sandbox: off}}\n");
  EXPECT_EQ(run().code, 0);
  expect_outside();
  configure("hooks: {sandbox: all, spy: {sandbox: \"off\"}}\n");
  EXPECT_EQ(row_of("spy"), "outside");
}

TEST_P(HookSandbox, AnExecutableFileWorksInside) {
  put("words.txt", "of its own\n");
  put("helper",
      "#!/bin/sh\n[ \"$1\" = hook ] && echo agent_stop && exit\n"
      "cat > payload\n"
      "read -r words < \"$(dirname \"$AGENTD_HOOK_PATH\")/words.txt\"\n"
      "printf '{\"system_message\": \"%s, %s, %s\"}' \"$AGENTD_SANDBOX\" \"$AGENTD_EVENT\" \"$words\"\n",
      0755);
  configure("hooks: {helper: {sandbox: \"on\"}}\n");
  const Finished ran = run();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out + ran.err, std::string(GetParam()) + ", agent_stop, of its own")) << ran.out << ran.err;
  EXPECT_TRUE(has(seen("payload"), "\"conv_id\"") && has(seen("payload"), "agent_stop")) << seen("payload");
  configure("");
  const Finished outside = run();
  EXPECT_TRUE(has(outside.out + outside.err, ", agent_stop, of its own")) << outside.err;
  EXPECT_FALSE(has(outside.out + outside.err, GetParam())) << outside.err;
}

// Its first question, for its events, is asked inside, too.
TEST_P(HookSandbox, AProjectCannotLeaveIt) {
  ASSERT_TRUE(make_directories(program_.project() + "/.agent/hooks"));
  ASSERT_TRUE(make_directories(program_.project() + "/.git"));
  program_.file(".agent/hooks/spy.yaml", std::string("on: agent_stop\nsandbox: false\ncommand: |\n") + kSpy);
  const std::string path = program_.file(".agent/hooks/probe",
                                         "#!/bin/sh\n(cat ~/.ssh/canary; echo done) > asked 2>&1\n"
                                         "[ \"$1\" = hook ] && echo agent_stop\nexit 0\n");
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  put("own.yaml", "on: agent_stop\ncommand: cat ~/.ssh/canary > own\n");
  configure("hooks: {sandbox: project}\n");
  ASSERT_EQ(program_.run({"hooks", "trust", "project/spy", "-y"}).code, 0);
  ASSERT_EQ(program_.run({"hooks", "trust", "project/probe", "-y"}).code, 0);
  EXPECT_TRUE(has(seen("asked"), "done\n")) << seen("asked");
  EXPECT_FALSE(has(seen("asked"), kCanary)) << seen("asked");
  EXPECT_EQ(run().code, 0);
  expect_inside();
  EXPECT_TRUE(has(seen("own"), kCanary)) << "a hook of the user's that does not ask for it";
  EXPECT_EQ(row_of("project/spy"), "inside");
  EXPECT_EQ(row_of("own"), "outside");
  configure("");
  EXPECT_EQ(run().code, 0);
  expect_outside();
}

TEST_P(HookSandbox, AHookThatChangesAGuardedPathHasFailed) {
  put("setter.yaml", "on: user_message_send\nsandbox: true\nguard: true\ncommand: echo '{}' > .mcp.json\n");
  const Finished ran = run();
  EXPECT_NE(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.err, ".mcp.json")) << ran.err;
  EXPECT_FALSE(exists(program_.project() + "/.mcp.json"));
  put("setter.yaml", "on: user_message_send\nsandbox: true\nguard: true\ncommand: echo '{}' > plain.json\n");
  program_.run({"hooks", "trust", "setter", "-y"});
  EXPECT_EQ(run().code, 0);
  EXPECT_TRUE(exists(program_.project() + "/plain.json"));
}

TEST_P(HookSandbox, AHookOfAnotherToolRunsInsideWithItsTranscript) {
  const std::string directory = at(".claude/hooks");
  ASSERT_TRUE(make_directories(directory));
  const std::string check = directory + "/check.sh";
  ASSERT_TRUE(
      write_file_atomically(check,
                            "#!/bin/sh\npath=$(sed 's/.*\"transcript_path\": *\"\\([^\"]*\\)\".*/\\1/')\n"
                            "(wc -l < \"$path\"; cat ~/.claude/key; cat ~/.ssh/canary; echo done) > seen 2>&1\n",
                            0700));
  ASSERT_TRUE(write_file_atomically(at(".claude/key"), kCanary, 0600));
  ASSERT_TRUE(write_file_atomically(at(".claude/settings.json"),
                                    "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": "
                                    "\"~/.claude/hooks/check.sh\", \"sandbox\": true}]}]}}",
                                    0600));
  configure("hooks: {adapt: [\"claude:~/.claude/settings.json\"]}\n");
  EXPECT_EQ(run().code, 0);
  EXPECT_TRUE(has(seen(), "done\n")) << seen();
  EXPECT_FALSE(has(seen(), kCanary)) << seen();
  EXPECT_TRUE(seen()[0] >= '1' && seen()[0] <= '9') << "the lines of the transcript: " << seen();
}

TEST_P(HookSandbox, WithoutASandboxNothingOfItRuns) {
  configure("", "off");
  put("asker.yaml", "on: user_message_send\nsandbox: true\ncommand: touch ran\n");
  const Finished open = run();
  EXPECT_EQ(open.code, 0) << open.err;
  EXPECT_TRUE(has(open.err, "it is to run in the sandbox, and sandbox.layer is off")) << open.err;
  EXPECT_FALSE(exists(program_.project() + "/ran"));
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "hooks that are to run in the sandbox do not run"));
  configure("hooks: {asker: {on_failure: closed}}\n", "off");
  const Finished closed = run();
  EXPECT_NE(closed.code, 0);
  EXPECT_TRUE(has(closed.err, "it is to run in the sandbox, and sandbox.layer is off")) << closed.err;
  EXPECT_FALSE(exists(program_.project() + "/ran"));
  configure("");
  EXPECT_EQ(run().code, 0);
  EXPECT_TRUE(exists(program_.project() + "/ran")) << "the layer is there again";
}

INSTANTIATE_TEST_SUITE_P(Layers, HookSandbox, ::testing::Values("bubblewrap", "landlock"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace agentd::testing
