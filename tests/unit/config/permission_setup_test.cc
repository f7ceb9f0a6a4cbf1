// SPDX-License-Identifier: Apache-2.0
#include "core/config/permission_setup.h"

#include <gtest/gtest.h>

#include "core/config/rule_names.h"

namespace agentd::testing {
namespace {

Config config_of(const std::string& key, const std::string& rules) {
  ConfigSources sources;
  sources.flags.push_back({key, rules, "--set"});
  return *Config::load(sources);
}

bool allows(const PermissionRules& rules, const std::string& name) {
  Tool tool;
  tool.name = name;
  return rules.decide(tool, {}, {}).permission == Permission::kAllow;
}

TEST(PermissionSetup, OtherToolsNamesMeanOurs) {
  EXPECT_EQ(tools_of_rule("Bash"), std::vector<std::string>{"bash"});
  EXPECT_EQ(tools_of_rule("READ"), std::vector<std::string>{"read_file"});
  EXPECT_EQ(tools_of_rule("Edit"), std::vector<std::string>{"edit_file"});
  EXPECT_EQ(tools_of_rule("MultiEdit"), (std::vector<std::string>{"multi_edit", "edit_file"}));
  EXPECT_EQ(tools_of_rule("run_shell_command"), std::vector<std::string>{"bash"});
  EXPECT_EQ(tools_of_rule("my_tool"), std::vector<std::string>{"my_tool"});
}

TEST(PermissionSetup, RulesHoldInAnyCase) {
  const PermissionRules rules = permission_rules(config_of("permissions.allow", "Jira_*, WRITE"));
  EXPECT_TRUE(allows(rules, "jira_close"));
  EXPECT_TRUE(allows(rules, "write_file"));
  EXPECT_FALSE(allows(rules, "bash"));
}

TEST(PermissionSetup, OnlyAGlobMayNameToolsThatAreNotThere) {
  const auto problems = rule_problems(config_of("permissions.deny", "jira_close, jira_*"), {}, true);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_TRUE(problems[0].broken);
  EXPECT_FALSE(problems[1].broken);
  EXPECT_TRUE(rule_problems(config_of("permissions.deny", "jira_close, jira_*"), {"jira_close"}, true).empty());
}

TEST(PermissionSetup, ANameOfAToolThatAgentdDoesNotHaveIsAnError) {
  for (const char* name : {"LS", "WebSearch", "NotebookEdit", "todo_read", "list_directory", "google_web_search"}) {
    const auto problems = rule_problems(config_of("permissions.deny", name), {}, true);
    ASSERT_EQ(problems.size(), 1u) << name;
    EXPECT_TRUE(problems[0].broken) << name;
    EXPECT_NE(problems[0].text.find("agentd has no tool like '" + std::string(name) + "'"), std::string::npos)
        << problems[0].text;
  }
  EXPECT_TRUE(rule_problems(config_of("permissions.deny", "WebSearch"), {"web_search"}, true).empty());
  EXPECT_TRUE(rule_problems(config_of("permissions.deny", "MultiEdit, BashOutput, WebFetch"), {}, true).empty());
}

TEST(PermissionSetup, AnUnknownToolIsToldWhichToolsThereAre) {
  const auto problems = rule_problems(config_of("permissions.deny", "teleport"), {"jira_close"}, true);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].text.find("agentd has bash, bash_output, edit_file, glob, grep, jira_close, kill_shell, "),
            std::string::npos)
      << problems[0].text;
  for (const char* absent : {" ls,", "multi_edit", "notebook_edit", "todo_read", "web_search"})
    EXPECT_EQ(problems[0].text.find(absent), std::string::npos) << problems[0].text;
}

TEST(PermissionSetup, AMisspeltNameOfAnotherAgentsToolIsNamedByOurs) {
  for (const auto& [name, meant] : {std::pair("Reed", "read_file"), std::pair("Wrte", "write_file"),
                                    std::pair("Edti", "edit_file"), std::pair("Bsh", "bash")}) {
    const auto problems = rule_problems(config_of("permissions.deny", name), {}, true);
    ASSERT_EQ(problems.size(), 1u) << name;
    EXPECT_NE(problems[0].text.find("did you mean '" + std::string(meant) + "'"), std::string::npos)
        << problems[0].text;
  }
}

TEST(PermissionSetup, AGlobThatBeginsAsAMisspeltToolIsAnError) {
  const auto problems = rule_problems(config_of("permissions.deny", "bsh*"), {}, true);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(problems[0].broken) << problems[0].text;
}

TEST(PermissionSetup, ATextThatCanMatchNothingIsNoRule) {
  for (const char* text : {" ", "Bash(a && b)", "Bash(", "web_fetch(src/x)", "read_file(domain:x.org)", "task(x)", "[a",
                           "Edit(../x)", "kill_shell(1)", "bash_output(1)", "kill_shell(sleep 50)", "kill_shell(**)",
                           "KillShell(1)", "BashOutput(a)", "memory_search(x)"})
    EXPECT_FALSE(wrong_rule(text).empty()) << text;
  for (const char* text :
       {"*", "kill_shell", "kill_shell(*)", "Bash(git *)", "WebFetch(domain:example.org)", "Edit(src/**)", "mcp__a__*"})
    EXPECT_TRUE(wrong_rule(text).empty()) << text << ": " << wrong_rule(text);
}

TEST(PermissionSetup, ARuleOverArgumentsHoldsForEachOfItsTools) {
  const auto rules = rules_of("MultiEdit(src/**)", "config.yaml:2");
  ASSERT_TRUE(rules);
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ((*rules)[0].tool, "multi_edit");
  EXPECT_EQ((*rules)[1].tool, "edit_file");
  EXPECT_EQ((*rules)[1].text, "MultiEdit(src/**)");
  EXPECT_EQ((*rules)[1].place, "config.yaml:2");
}

TEST(PermissionSetup, ACommaInParenthesesIsAPartOfTheRule) {
  const Config config = config_of("permissions.ask", "bash(git log --format=a,b), Edit");
  EXPECT_EQ(config.list("permissions.ask"), (std::vector<std::string>{"bash(git log --format=a,b)", "Edit"}));
  EXPECT_EQ(permission_rules(config).ask.size(), 2u);
}

TEST(PermissionSetup, AMisspeltToolOfARuleOverArgumentsIsAnError) {
  const auto problems = rule_problems(config_of("permissions.ask", "Bsh(rm:*)"), {}, true);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(problems[0].broken);
  EXPECT_NE(problems[0].text.find("did you mean 'bash'"), std::string::npos) << problems[0].text;
}

}  // namespace
}  // namespace agentd::testing
