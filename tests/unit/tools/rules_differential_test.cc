// SPDX-License-Identifier: Apache-2.0
// rules_differential_test.cc - no command that starts a forbidden program is permitted by itself: verdicts of rules
// against what a shell starts, under a tracer.
#include <gtest/gtest.h>

#include "core/codec/json.h"
#include "core/tools/permission.h"
#include "tests/unit/shell/generator.h"
#include "tests/unit/shell/ground.h"
#include "tests/unit/shell/tracer.h"

namespace agentd::testing {
namespace {

constexpr int kCommands = 5000;

PermissionRule rule_of(const std::string& text) { return *make_rule(*rule_parts(text), text, {}); }

struct Tally {
  int permitted = 0, forbidden = 0;
  std::string missed;
  bool traced = true;
};

// Runs what the rules permit; `missed` is a command that started rm or delta.
Tally compare(const PermissionRules& rules, int commands) {
  const Ground ground;
  const std::vector<std::string> roots{ground.work()};
  ShellGenerator generator(12);
  Tool tool;
  tool.name = "bash";
  Tally out;
  for (int i = 0; i < commands && out.missed.empty(); ++i) {
    const std::string command = generator.next();
    JsonWriter writer;
    writer.begin_object().member("command", command).end_object();
    const auto input = ToolInput::make(writer.text());
    if (!input) continue;
    const Permission permission = rules.decide(tool, *input, {roots.front(), {}, roots}).permission;
    if (permission == Permission::kDeny) ++out.forbidden;
    if (permission != Permission::kAllow) continue;
    ++out.permitted;
    const Traced traced = run_traced("/bin/sh", command, ground.work(), ground.bin());
    if (!traced.worked) {
      out.traced = false;
      return out;
    }
    for (const std::string& program : traced.programs)
      if (program == "rm" || program == "delta") out.missed = program + " was started by: " + command;
  }
  return out;
}

TEST(RulesDifferential, AForbiddenProgramIsNeverStartedWithoutAQuestion) {
  PermissionRules rules;
  rules.mode = PermissionRules::Mode::kAllow;
  rules.deny = {rule_of("bash(rm:*)"), rule_of("bash(delta:*)")};
  const Tally tally = compare(rules, kCommands);
  if (!tally.traced) GTEST_SKIP() << "this system does not let a process trace its child";
  EXPECT_TRUE(tally.missed.empty()) << tally.missed;
  EXPECT_GT(tally.permitted, kCommands / 10);
  EXPECT_GT(tally.forbidden, kCommands / 20);
}

TEST(RulesDifferential, OnlyPermittedProgramsAreStartedWithoutAQuestion) {
  PermissionRules rules;
  for (const char* text : {"alpha", "beta", "gamma", "git", "cat", "echo", "find", "xargs"})
    rules.allow.push_back(rule_of("bash(" + std::string(text) + ":*)"));
  const Tally tally = compare(rules, kCommands);
  if (!tally.traced) GTEST_SKIP() << "this system does not let a process trace its child";
  EXPECT_TRUE(tally.missed.empty()) << tally.missed;
  EXPECT_GT(tally.permitted, kCommands / 20);
}

// The negative control: rules that do not forbid rm let it start.
TEST(RulesDifferential, AMissingRuleIsFound) {
  PermissionRules rules;
  rules.mode = PermissionRules::Mode::kAllow;
  const Tally tally = compare(rules, 500);
  if (!tally.traced) GTEST_SKIP() << "this system does not let a process trace its child";
  EXPECT_FALSE(tally.missed.empty());
}

}  // namespace
}  // namespace agentd::testing
