// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/app/cli.h"
#include "core/process/process.h"
#include "tests/support/temp_dir.h"

namespace agentd::app {
namespace {

using testing::TempDir;

ProcessResult bash(const std::string& script) {
  const SystemClock clock;
  const auto result = run_process({{"bash", "--norc", "-c", script}, "/", {"PATH=/usr/bin:/bin"}, ""}, clock,
                                  CancelToken(), Deadline::after(clock, Milliseconds(20'000)));
  return result ? *result : ProcessResult{};
}

// What bash offers for these words, the last one being typed.
std::string completed(const std::string& words) {
  const TempDir directory;
  const std::string script = directory.write("agentd.bash", completion_script("bash"));
  return bash("source " + script + "; COMP_WORDS=(" + words +
              "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _agentd; echo \"${COMPREPLY[*]}\"")
      .output;
}

TEST(Completion, BashAcceptsItsScript) {
  const TempDir directory;
  const ProcessResult result = bash("bash -n " + directory.write("a.bash", completion_script("bash")));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "");
}

TEST(Completion, BashOffersCommands) {
  EXPECT_EQ(completed("agentd co"), "compact conversation config completion\n");
  EXPECT_EQ(completed("agentd conversation ''"), "list search show dump export import boundaries fork erase delete\n");
  EXPECT_EQ(completed("agentd recipe ''"), "list show\n");
  EXPECT_EQ(completed("agentd hooks tr"), "trust trace\n");
  EXPECT_EQ(completed("agentd mo"), "models\n");
  EXPECT_EQ(completed("agentd auth ''"), "set list remove token\n");
  EXPECT_EQ(completed("agentd auth token ''"), "add list remove\n");
}

TEST(Completion, BashOffersOptionsOfTheCommand) {
  EXPECT_EQ(completed("agentd run --re"), "--resume --recipe --result-only\n");
  EXPECT_EQ(completed("agentd conversation show --f"), "--format\n");
  EXPECT_EQ(completed("agentd recipe show --a"), "--arg\n");
  EXPECT_EQ(completed("agentd hooks why --j"), "--json\n");
  EXPECT_EQ(completed("agentd chat --json"), "\n");
  EXPECT_EQ(completed("agentd auth token add ci --"), "--scope --help\n");
  EXPECT_EQ(completed("agentd auth token add ci --scope a"), "approve admin\n");
}

TEST(Completion, BashOffersValues) {
  EXPECT_EQ(completed("agentd run --provider s"), "scripted\n");
  EXPECT_EQ(completed("agentd compact -s ''"), "full tail users\n");
  EXPECT_EQ(completed("agentd config explain compaction.c"), "compaction.checkpoint_at compaction.compact_at\n");
  EXPECT_EQ(completed("agentd completion z"), "zsh\n");
}

TEST(Completion, EveryShellAsksForNamesOfConversationsRecipesModelsAndHooks) {
  for (const char* shell : {"bash", "zsh", "fish"})
    for (const char* const names : {"conversations", "recipes", "models", "hooks"}) {
      const std::string script = completion_script(shell);
      const std::string asked =
          std::string(shell) == "fish" ? std::string("(agentd completion ") + names : std::string("offer='@") + names;
      EXPECT_NE(script.find(asked), std::string::npos) << shell << " " << names;
    }
}

TEST(Completion, FishKnowsGroupsInGroups) {
  const std::string script = completion_script("fish");
  const std::string seen = "complete -c agentd -n '__fish_seen_subcommand_from auth; and ";
  EXPECT_NE(script.find(seen + "not __fish_seen_subcommand_from set list remove token' -a token\n"), std::string::npos);
  EXPECT_NE(script.find(seen + "__fish_seen_subcommand_from token; and not __fish_seen_subcommand_from add list "
                               "remove' -a add -d "),
            std::string::npos);
  EXPECT_NE(script.find(seen + "__fish_seen_subcommand_from token; and __fish_seen_subcommand_from add' -l scope"),
            std::string::npos);
}

TEST(Completion, EveryShellKnowsEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"})
    for (const std::string& word : first_words())
      EXPECT_NE(completion_script(shell).find(word), std::string::npos) << shell << " " << word;
}

}  // namespace
}  // namespace agentd::app
