// SPDX-License-Identifier: Apache-2.0
#include "core/host/inventory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/base/hash.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

namespace fs = std::filesystem;

class Inventories : public ::testing::Test {
 protected:
  Inventories() {
    for (const char* name : {"home/hooks", "etc/hooks", "repo/.agent/hooks"}) fs::create_directories(temp_.file(name));
    options_.native.directories = {{temp_.file("etc/hooks"), Precedence::kSystem},
                                   {temp_.file("repo/.agent/hooks"), Precedence::kProject},
                                   {temp_.file("home/hooks"), Precedence::kUser}};
    options_.trust_file = temp_.file("home/trust.json");
    options_.project_root = temp_.file("repo");
  }
  std::string put(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const std::string path = temp_.write(name, text);
    ::chmod(path.c_str(), mode);
    return path;
  }
  void trust(const std::string& name, const std::string& path, const std::string& bytes, bool guard = false,
             const std::string& repository = {}) {
    auto store = TrustStore::open(options_.trust_file, ::geteuid(), clock_);
    ASSERT_TRUE(store);
    TrustEntry entry;
    entry.name = name;
    entry.path = path;
    entry.digest = hex(sha256(bytes));
    entry.guard = guard;
    entry.repository = repository;
    entry.events = {"before_tool_call"};
    ASSERT_TRUE(store->record(entry));
  }
  Inventory all() const { return describe_all(options_, clock_); }
  HookSource one(const std::string& name) const {
    const Inventory inventory = all();
    const HookSource* const found = find_source(inventory, name);
    EXPECT_NE(found, nullptr) << name;
    return found == nullptr ? HookSource{} : *found;
  }

  testing::TempDir temp_;
  ManualClock clock_;
  HookHostOptions options_;
};

constexpr const char* kGuard = "on: before_tool_call\nguard: true\ndo: block\n";

TEST_F(Inventories, NothingIsAnEmptyOne) {
  EXPECT_TRUE(all().sources.empty());
  EXPECT_TRUE(all().problems.empty());
}

TEST_F(Inventories, TheSystemsNeedNoTrust) {
  put("etc/hooks/a.yaml", kGuard);
  const HookSource found = one("a");
  EXPECT_EQ(found.trust, SourceTrust::kSystem);
  EXPECT_EQ(found.state, HookState::kOn);
  EXPECT_EQ(found.events, std::vector<std::string>{"before_tool_call"});
  EXPECT_TRUE(found.guard);
  EXPECT_FALSE(found.blocks());
}

TEST_F(Inventories, AnExecutableIsNotRunAndItsEventsAreThoseOfTheStore) {
  const std::string path = put("home/hooks/x", "#!/bin/sh\ntouch " + temp_.file("ran") + "\n", 0755);
  EXPECT_TRUE(one("x").events.empty());
  EXPECT_EQ(one("x").trust, SourceTrust::kNew);
  trust("x", path, temp_.read("home/hooks/x"));
  EXPECT_EQ(one("x").events, std::vector<std::string>{"before_tool_call"});
  EXPECT_EQ(one("x").trust, SourceTrust::kTrusted);
  EXPECT_FALSE(fs::exists(temp_.file("ran")));
}

TEST_F(Inventories, OfWhatWaitsNothingIsParsed) {
  put("repo/.agent/hooks/a.yaml", "on: [broken\n");
  const HookSource found = one("project/a");
  EXPECT_EQ(found.state, HookState::kWaits);
  EXPECT_TRUE(found.hooks.empty());
  EXPECT_EQ(found.why_not, "you have not trusted it yet; 'agentd hooks trust project/a' trusts it");
}

TEST_F(Inventories, AnotherRepositoryDoesNotInherit) {
  const std::string path = put("repo/.agent/hooks/a.yaml", kGuard);
  const std::string key = TrustStore::repository_key(temp_.file("repo")).value_or("");
  trust("project/a", path, kGuard, true, key);
  EXPECT_EQ(one("project/a").state, HookState::kOn);
  trust("project/a", path, kGuard, true, key + "0");
  EXPECT_EQ(one("project/a").state, HookState::kWaits);
}

TEST_F(Inventories, AChangedGuardBlocks) {
  const std::string path = put("home/hooks/g.yaml", kGuard);
  trust("g", path, "other bytes", true);
  const HookSource found = one("g");
  EXPECT_EQ(found.trust, SourceTrust::kChanged);
  EXPECT_EQ(found.state, HookState::kWaits);
  EXPECT_TRUE(found.blocks());
  EXPECT_EQ(found.events, std::vector<std::string>{"before_tool_call"});
}

TEST_F(Inventories, AGuardWithoutItsExecutableBitBlocks) {
  const std::string path = put("home/hooks/g", "#!/bin/sh\n", 0755);
  trust("g", path, "#!/bin/sh\n", true);
  EXPECT_FALSE(one("g").blocks());
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(one("g").state, HookState::kBroken);
  EXPECT_NE(one("g").why_not.find("chmod +x " + path), std::string::npos) << one("g").why_not;
  EXPECT_TRUE(one("g").blocks());
}

TEST_F(Inventories, AGuardInAnUnsafeFileBlocks) {
  const std::string path = put("home/hooks/g.yaml", kGuard);
  trust("g", path, kGuard, true);
  ::chmod(path.c_str(), 0666);
  EXPECT_EQ(one("g").state, HookState::kBroken);
  EXPECT_TRUE(one("g").blocks());
}

TEST_F(Inventories, AGuardThatDoesNotReadBlocks) {
  options_.guards = {"g"};
  put("home/hooks/g.yaml", "on: nothing_known\ndo: block\n");
  const HookSource found = one("g");
  EXPECT_EQ(found.state, HookState::kBroken);
  EXPECT_TRUE(found.blocks());
  EXPECT_NE(found.why_not.find("g.yaml:1:"), std::string::npos) << found.why_not;
}

TEST_F(Inventories, AGuardOfAnotherRepositoryIsNotMissedHere) {
  trust("project/g", temp_.file("elsewhere/g"), "x", true, "/elsewhere 0 1 2");
  EXPECT_TRUE(all().sources.empty());
  trust("g", temp_.file("home/hooks/g"), "x", true);
  EXPECT_EQ(one("g").state, HookState::kMissing);
}

TEST_F(Inventories, AGuardThatTheUserSwitchedOffDoesNotBlock) {
  options_.guards = {"g"};
  options_.settings["g"].enabled = false;
  put("home/hooks/g.yaml", kGuard);
  EXPECT_EQ(one("g").state, HookState::kOff);
  EXPECT_FALSE(one("g").blocks());
}

TEST_F(Inventories, ABrokenStoreIsAProblemAndNothingOfTheUserIsOn) {
  put("home/trust.json", "garbage", 0600);
  put("home/hooks/a.yaml", kGuard);
  ASSERT_EQ(all().problems.size(), 1u);
  EXPECT_EQ(all().problems[0].path, options_.trust_file);
  EXPECT_EQ(one("a").state, HookState::kWaits);
}

TEST_F(Inventories, EachHookOfAFileIsARow) {
  put("home/hooks/two.yaml",
      "hooks:\n- {on: agent_stop, do: compact, priority: 3}\n"
      "- {on: before_tool_call, url: \"http://127.0.0.1:1/x\", name: remote, shadow: true}\n");
  options_.settings["two.1"].enabled = false;
  options_.settings["two.remote"].priority = -4;
  const HookSource source = one("two");
  const auto rows = rows_of(source, options_);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "two.1");
  EXPECT_EQ(rows[0].state, HookState::kOff);
  EXPECT_EQ(rows[1].name, "two.remote");
  EXPECT_EQ(rows[1].kind, "webhook");
  EXPECT_EQ(rows[1].priority, -4);
  EXPECT_TRUE(rows[1].shadow);
  EXPECT_EQ(one("two.remote").name, "two");
}

TEST_F(Inventories, LookingInsideTellsWhatAProgramListensTo) {
  put("repo/.agent/hooks/x", "#!/bin/sh\necho agent_stop turn_end\n", 0755);
  NullLog log;
  SystemClock clock;
  const auto inside = look_inside(one("project/x"), options_, clock, log);
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_EQ(inside->entry.events, (std::vector<std::string>{"agent_stop", "turn_end"}));
  EXPECT_EQ(inside->entry.digest, hex(sha256(temp_.read("repo/.agent/hooks/x"))));
}

TEST_F(Inventories, LookingInsideSeesAChangeAfterTheQuestion) {
  put("repo/.agent/hooks/x", "#!/bin/sh\necho agent_stop\n", 0755);
  const HookSource shown = one("project/x");
  put("repo/.agent/hooks/x", "#!/bin/sh\ntouch " + temp_.file("ran") + "\necho agent_stop\n", 0755);
  NullLog log;
  SystemClock clock;
  EXPECT_EQ(look_inside(shown, options_, clock, log).error().code, Code::kConflict);
  EXPECT_FALSE(fs::exists(temp_.file("ran")));
}

// ---- the sandbox

TEST_F(Inventories, ShowWhatRunsInTheSandbox) {
  put("home/hooks/asks.yaml", "on: agent_stop\ncommand: x\nsandbox: true\n");
  put("home/hooks/plain.yaml", "on: agent_stop\ncommand: x\n");
  put("home/hooks/answer.yaml", "on: agent_stop\ndo: {system_message: x}\n");
  const auto inside = [&](const std::string& name) {
    const HookSource source = one(name);
    return rows_of(source, options_).front().sandbox;
  };
  EXPECT_TRUE(inside("asks"));
  EXPECT_FALSE(inside("plain"));
  options_.sandbox = SandboxedHooks::kAll;
  EXPECT_TRUE(inside("plain"));
  EXPECT_FALSE(inside("answer")) << "it starts no program";
  options_.settings["plain"].sandbox = false;
  options_.settings["asks"].sandbox = false;
  EXPECT_FALSE(inside("plain") || inside("asks"));
}

TEST_F(Inventories, AProjectsHookCannotLeaveTheSandbox) {
  HookDefinition hook;
  hook.name = "project/x";
  hook.precedence = Precedence::kProject;
  options_.sandbox = SandboxedHooks::kProject;
  apply_settings(options_, "project/x", hook);
  EXPECT_TRUE(hook.sandbox);
  HookDefinition own;
  own.name = "x";
  apply_settings(options_, "x", own);
  EXPECT_FALSE(own.sandbox) << "the user's own";
  HookDefinition asks;
  asks.name = "y";
  asks.sandbox = true;
  options_.sandbox = SandboxedHooks::kAsked;
  apply_settings(options_, "y", asks);
  EXPECT_TRUE(asks.sandbox);
  apply_settings(options_, "project/x", hook = HookDefinition{});
  EXPECT_FALSE(hook.sandbox);
}

}  // namespace
}  // namespace agentd
