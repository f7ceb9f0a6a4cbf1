// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/tool_names.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "dialect_support.h"

namespace agentd {
namespace {

constexpr std::array<std::string_view, 8> kOurTools{"bash",       "bash_output", "kill_shell", "read_file",
                                                    "write_file", "edit_file",   "glob",       "grep"};

std::map<std::string, std::string> members_of(JsonView object) {
  std::map<std::string, std::string> members;
  for (std::size_t i = 0; i < object.size(); ++i) members[std::string(object.key_at(i))] = object.at(i).text();
  return members;
}

TEST(DefaultTime, IsThatOfTheToolThatAHookWasWrittenFor) {
  const auto time = [](Dialect dialect, std::uint32_t event) {
    return default_time(dialect, event).value_or(Milliseconds(0)).count();
  };
  EXPECT_EQ(time(Dialect::kClaude, AGENTD_EVENT_BEFORE_TOOL_CALL), 600'000);
  EXPECT_EQ(time(Dialect::kClaude, AGENTD_EVENT_USER_MESSAGE_SEND), 30'000);
  EXPECT_EQ(time(Dialect::kGemini, AGENTD_EVENT_BEFORE_TOOL_CALL), 60'000);
  EXPECT_EQ(time(Dialect::kDocker, AGENTD_EVENT_BEFORE_TOOL_CALL), 60'000);
  for (const Dialect ours : {Dialect::kAgentd, Dialect::kKodelet})
    EXPECT_FALSE(default_time(ours, AGENTD_EVENT_BEFORE_TOOL_CALL));
  for (const Dialect each : {Dialect::kClaude, Dialect::kGemini, Dialect::kDocker})
    EXPECT_FALSE(default_time(each, AGENTD_EVENT_SESSION_END));
}

TEST(ToolNames, OurToolsHaveTheNamesOfEachDialect) {
  EXPECT_EQ(foreign_tool(Dialect::kClaude, "bash"), "Bash");
  EXPECT_EQ(foreign_tool(Dialect::kClaude, "edit_file"), "Edit");
  EXPECT_EQ(foreign_tool(Dialect::kDocker, "bash"), "shell");
  EXPECT_EQ(foreign_tool(Dialect::kGemini, "bash"), "run_shell_command");
  EXPECT_EQ(foreign_tool(Dialect::kGemini, "edit_file"), "replace");
  EXPECT_EQ(foreign_tool(Dialect::kKodelet, "read_file"), "file_read");
  EXPECT_EQ(foreign_tool(Dialect::kAgentd, "bash"), "bash");
}

TEST(ToolNames, NamesComeBackAsTheyWere) {
  for (const Dialect dialect : all_dialects())
    for (const std::string_view tool : kOurTools)
      EXPECT_EQ(canonical_tool(dialect, foreign_tool(dialect, tool)), tool) << name_of(dialect);
}

TEST(ToolNames, ANameWithoutCounterpartIsKept) {
  for (const Dialect dialect : all_dialects()) {
    EXPECT_EQ(foreign_tool(dialect, "deploy_everything"), "deploy_everything");
    EXPECT_EQ(canonical_tool(dialect, "deploy_everything"), "deploy_everything");
  }
}

TEST(ToolNames, FurtherNamesOfAToolAreUnderstood) {
  EXPECT_EQ(canonical_tool(Dialect::kGemini, "search_file_content"), "grep");
  EXPECT_EQ(canonical_tool(Dialect::kGemini, "grep_search"), "grep");
  EXPECT_EQ(canonical_tool(Dialect::kClaude, "Agent"), "task");
  EXPECT_EQ(canonical_tool(Dialect::kClaude, "KillBash"), "kill_shell");
}

TEST(ToolNames, McpNamesFollowTheDialectsForm) {
  const std::string ours = "mcp__git__create_pr";
  EXPECT_EQ(foreign_tool(Dialect::kClaude, ours), ours);
  EXPECT_EQ(foreign_tool(Dialect::kDocker, ours), "mcp:git:create_pr");
  EXPECT_EQ(foreign_tool(Dialect::kGemini, ours), "mcp_git_create_pr");
  for (const Dialect dialect : all_dialects())
    EXPECT_EQ(canonical_tool(dialect, foreign_tool(dialect, ours)), ours) << name_of(dialect);
  EXPECT_EQ(foreign_tool(Dialect::kDocker, "mcp__git"), "mcp__git") << "half a name is kept";
  EXPECT_EQ(foreign_tool(Dialect::kDocker, "mcp__git__"), "mcp__git__");
}

TEST(ToolNames, AGuardFindsTheCommandAndThePathUnderItsOwnKeys) {
  const auto input = [](Dialect dialect, std::string_view tool, const char* json) {
    return foreign_input(dialect, tool, parsed(json).root());
  };
  EXPECT_EQ(input(Dialect::kDocker, "bash", R"({"command":"rm -rf /"})"), R"({"cmd":"rm -rf /"})");
  EXPECT_EQ(input(Dialect::kClaude, "read_file", R"({"path":"/a"})"), R"({"file_path":"/a"})");
  EXPECT_EQ(input(Dialect::kClaude, "bash", R"({"command":"x","background":true})"),
            R"({"command":"x","run_in_background":true})");
  EXPECT_EQ(input(Dialect::kClaude, "kill_shell", R"({"id":3})"), R"({"shell_id":3})");
  EXPECT_EQ(input(Dialect::kGemini, "edit_file", R"({"path":"/a","replace_all":true})"),
            R"({"file_path":"/a","allow_multiple":true})");
  EXPECT_EQ(input(Dialect::kKodelet, "edit_file", R"({"path":"a","old_string":"x","new_string":"y"})"),
            R"({"file_path":"a","old_text":"x","new_text":"y"})");
  EXPECT_EQ(input(Dialect::kClaude, "grep", R"({"pattern":"x","ignore_case":true,"output_mode":"files"})"),
            R"({"pattern":"x","-i":true,"output_mode":"files_with_matches"})");
}

TEST(ToolNames, UnitsOfTimeAreTheDialects) {
  const auto input = [](Dialect dialect, const char* json) {
    return foreign_input(dialect, "bash", parsed(json).root());
  };
  EXPECT_EQ(input(Dialect::kClaude, R"({"timeout_ms":5000})"), R"({"timeout":5000})");
  EXPECT_EQ(input(Dialect::kDocker, R"({"timeout_ms":5000})"), R"({"timeout":5})");
  EXPECT_EQ(canonical_input(Dialect::kDocker, "bash", parsed(R"({"cmd":"x","timeout":5})").root()),
            R"({"command":"x","timeout_ms":5000})");
}

TEST(ToolNames, DockersListOfEditsIsOurs) {
  const char* const ours = R"({"path":"a","old_string":"x","new_string":"y"})";
  const char* const theirs = R"({"path":"a","edits":[{"oldText":"x","newText":"y"}]})";
  EXPECT_EQ(foreign_input(Dialect::kDocker, "edit_file", parsed(ours).root()), theirs);
  EXPECT_EQ(canonical_input(Dialect::kDocker, "edit_file", parsed(theirs).root()), ours);
  const std::string two = R"({"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"p","newText":"q"}]})";
  const std::string our_two =
      R"({"path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"p","new_string":"q"}]})";
  EXPECT_EQ(canonical_input(Dialect::kDocker, "edit_file", parsed(two).root()), our_two);
  EXPECT_EQ(foreign_input(Dialect::kDocker, "edit_file", parsed(our_two).root()), two);
  // What theirs cannot say goes along under our name, so that a hook sees the texts and nothing is lost on the way.
  const std::string all = R"({"path":"a","edits":[{"old_string":"x","new_string":"y","replace_all":true}]})";
  const std::string their_all = R"({"path":"a","edits":[{"oldText":"x","newText":"y","replace_all":true}]})";
  EXPECT_EQ(foreign_input(Dialect::kDocker, "edit_file", parsed(all).root()), their_all);
  EXPECT_EQ(canonical_input(Dialect::kDocker, "edit_file", parsed(their_all).root()), all);
  // A list of another form is left as it is.
  const std::string odd = R"({"path":"a","edits":[{"old_string":"x","new_string":"y","more":1}]})";
  EXPECT_EQ(foreign_input(Dialect::kDocker, "edit_file", parsed(odd).root()), odd);
}

TEST(ToolNames, AKeyThatIsTakenChangesPlaces) {
  // Both keys reach the guard, and neither takes the other's place on the way back.
  const char* const odd = R"({"path":"/a","file_path":"/b"})";
  const std::string there = foreign_input(Dialect::kClaude, "read_file", parsed(odd).root());
  EXPECT_EQ(there, R"({"file_path":"/a","path":"/b"})");
  EXPECT_EQ(canonical_input(Dialect::kClaude, "read_file", parsed(there).root()), odd);
}

TEST(ToolNames, ATextThatIsNoObjectIsReturnedAsItIs) {
  EXPECT_EQ(foreign_input(Dialect::kClaude, "bash", parsed(R"("half {")").root()), R"("half {")");
  EXPECT_EQ(foreign_input(Dialect::kClaude, "bash", parsed("[1,2]").root()), "[1,2]");
  EXPECT_EQ(foreign_input(Dialect::kClaude, "bash", JsonView()), "null");
}

TEST(ToolNames, EveryInputComesBackAsItWas) {
  // All keys that any table knows, in every mixture: a rename may neither lose nor merge two of
  // them.
  std::vector<std::string> keys{"description", "cwd", "x"};
  for (const Dialect dialect : all_dialects())
    for (const ToolRow& row : tools_of(dialect))
      for (const ToolKey& key : row.keys) {
        keys.emplace_back(key.canonical);
        keys.emplace_back(key.foreign);
      }
  std::mt19937 random(20260821);
  const std::array<const char*, 7> values{"\"files\"", "\"files_with_matches\"", "120001",         "7",
                                          "true",      "{\"a\":[1,null]}",       "\"\\u00e9 \\n\""};
  for (int round = 0; round < 400; ++round) {
    std::map<std::string, std::string> members;
    for (std::size_t left = 1 + random() % 6; left > 0; --left)
      members[keys[random() % keys.size()]] = values[random() % values.size()];
    std::string json = "{";
    for (const auto& [key, value] : members) json += (json.size() > 1 ? ",\"" : "\"") + key + "\":" + value;
    json += "}";
    const JsonDocument input = parsed(json);
    for (const Dialect dialect : all_dialects())
      for (const std::string_view tool : kOurTools) {
        const JsonDocument there = parsed(foreign_input(dialect, tool, input.root()));
        const JsonDocument back = parsed(canonical_input(dialect, tool, there.root()));
        ASSERT_EQ(members_of(back.root()), members_of(input.root()))
            << name_of(dialect) << " " << tool << " " << there.root().text();
      }
  }
}

}  // namespace
}  // namespace agentd
