// SPDX-License-Identifier: Apache-2.0
#include "core/app/options.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/nearest.h"

namespace agentd::app {
namespace {

Result<Arguments> parse(const char* command, const std::vector<std::string>& words) {
  return parse_arguments(*find_command(command), words);
}
std::string error(const char* command, const std::vector<std::string>& words) {
  const auto arguments = parse(command, words);
  return arguments ? "no error" : arguments.error().message;
}

TEST(Options, WordsAndOptionsMayBeMixed) {
  const auto arguments = parse("run", {"fix", "--model", "m", "the", "-f", "bug", "--allow=bash", "--allow", "grep"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(arguments->words(), (std::vector<std::string>{"fix", "the", "bug"}));
  EXPECT_EQ(arguments->value("model"), "m");
  EXPECT_TRUE(arguments->has("follow"));
  EXPECT_EQ(arguments->values("allow"), (std::vector<std::string>{"bash", "grep"}));
}

TEST(Options, ADashIsAWordAndTwoDashesEndTheOptions) {
  const auto dash = parse("run", {"-"});
  ASSERT_TRUE(dash) << dash.error().message;
  EXPECT_EQ(dash->words(), std::vector<std::string>{"-"});
  const auto rest = parse("run", {"--", "--json", "is a flag"});
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->words(), (std::vector<std::string>{"--json", "is a flag"}));
  EXPECT_FALSE(rest->has("json"));
}

TEST(Options, AnUnknownOptionNamesTheNearest) {
  EXPECT_EQ(error("run", {"--jsn"}), "'agentd run' has no option '--jsn': did you mean '--json'?");
  EXPECT_EQ(error("run", {"--zebra"}), "'agentd run' has no option '--zebra'; see 'agentd run --help'");
  EXPECT_NE(error("run", {"-Q"}).find("has no option '-Q'"), std::string::npos) << error("run", {"-Q"});
}

TEST(Options, AbbreviationsAreNotGuessed) { EXPECT_NE(error("run", {"--foll", "x"}), "no error"); }

TEST(Options, AMissingOrNeedlessValueIsTold) {
  EXPECT_EQ(error("run", {"--model"}), "'--model' needs a value");
  EXPECT_EQ(error("run", {"--json=yes"}), "'--json' takes no value");
}

TEST(Options, ARepeatedOptionIsRefusedUnlessItRepeats) {
  EXPECT_EQ(error("run", {"--model", "a", "--model", "b"}), "--model is repeated");
}

TEST(Options, ChoicesAreChecked) {
  EXPECT_EQ(error("compact", {"-f", "--strategy", "ful"}),
            "--strategy must be full, tail or users, not 'ful': did you mean 'full'?");
  EXPECT_EQ(error("completion", {"tcsh"}),
            "'agentd completion' takes bash, zsh, fish, conversations, recipes, models or hooks, not 'tcsh'");
}

TEST(Options, TooManyAndTooFewWordsAreTold) {
  EXPECT_EQ(error("conversation show", {}), "'agentd conversation show' needs ID");
  EXPECT_EQ(error("conversation show", {"a", "b"}),
            "'agentd conversation show' takes no argument 'b'; see 'agentd conversation show --help'");
}

TEST(Options, FlagsBecomeTheTopLayerOfTheConfiguration) {
  const auto arguments = parse("run", {"x", "--disable-auto-compact", "--script", "f", "--set", "a.b=c=d"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  std::set<std::string> said;
  for (const auto& flag : arguments->flags()) said.insert(flag.key + "=" + flag.value + " by " + flag.flag);
  EXPECT_EQ(said,
            (std::set<std::string>{"compaction.auto=false by --disable-auto-compact", "scripted.file=f by --script",
                                   "provider=scripted by --script", "a.b=c=d by --set"}));
}

TEST(Options, SetWantsAnEqualsSign) {
  EXPECT_EQ(error("run", {"x", "--set", "model"}), "--set needs KEY=VALUE, not 'model'");
}

TEST(Options, CountsStartAtOne) {
  EXPECT_EQ(parse_count("limit", "7").value_or(0), 7u);
  for (const char* bad : {"0", "-1", "x", "", "7x", "99999999999999999999"})
    EXPECT_FALSE(parse_count("limit", bad)) << bad;
}

TEST(Nearest, FindsSlipsAndNothingElse) {
  EXPECT_EQ(nearest("conversaton", {"compact", "conversation"}), "conversation");
  EXPECT_EQ(nearest("rnu", {"run", "chat"}), "run");
  EXPECT_EQ(nearest("conv", {"compact", "conversation"}), "conversation");
  EXPECT_EQ(nearest("xyz", {"run", "chat"}), "");
  EXPECT_EQ(edit_distance("abcd", "abdc"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(Commands, NamesOptionsAndLettersAreUnique) {
  std::set<std::string_view> names;
  for (const CommandSpec& command : all_commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    std::set<std::string> options;
    for (const OptionSpec& option : command.options) {
      EXPECT_TRUE(options.insert(std::string(option.name)).second) << command.name << " " << option.name;
      const bool new_letter = option.letter == 0 || options.insert(std::string(1, option.letter)).second;
      EXPECT_TRUE(new_letter) << option.name;
      EXPECT_TRUE(option.key.empty() || find_key(option.key) != nullptr) << option.key;
    }
  }
}

}  // namespace
}  // namespace agentd::app
