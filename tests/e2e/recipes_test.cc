// SPDX-License-Identifier: Apache-2.0
// Recipes from the outside: where they come from, what they may do, what a run of one sends.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class RecipesTest : public ::testing::Test {
 protected:
  RecipesTest() {
    program_.config("scripted:\n  record: " + record_ + "\n");
    EXPECT_TRUE(make_directories(program_.project() + "/.git"));
  }

  void own(const std::string& name, const std::string& text) const { put(program_.home() + "/recipes", name, text); }
  void of_project(const std::string& name, const std::string& text) const {
    put(program_.project() + "/.agent/recipes", name, text);
  }
  static void put(const std::string& directory, const std::string& name, const std::string& text) {
    ASSERT_TRUE(make_directories(directory));
    ASSERT_TRUE(write_file_atomically(directory + "/" + name + ".md", text, 0600));
  }
  // A shell hook of the user's at one event.
  void hook(const std::string& name, const std::string& event, const std::string& body) const {
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    ASSERT_TRUE(write_file_atomically(
        program_.home() + "/hooks/" + name,
        "#!/bin/sh\ncase \"$1\" in\n  hook) echo " + event + " ;;\n  run)\n" + body + "\n    ;;\nesac\n", 0700));
  }
  Finished run(std::vector<std::string> words, const std::string& yaml, const std::string& input = {}) {
    words.insert(words.end(), {"--script", program_.script(yaml)});
    return program_.run(words, input);
  }
  // Three questions and answers.
  void talk() {
    for (const char* words : {"alpha question", "beta question", "gamma question"})
      ASSERT_EQ(run({"run", words, program_.newest().empty() ? "--no-tools" : "--follow"}, "- text: an answer\n").code,
                0);
    id_ = program_.newest();
    std::filesystem::remove(record_);
  }
  // What the provider received since talk().
  std::vector<JsonDocument> requests() const {
    std::ifstream in(record_);
    std::ostringstream text;
    text << in.rdbuf();
    return json_lines(text.str());
  }
  // All that a request holds, as one text.
  static std::string all_of(const JsonDocument& request) { return request.root().text(); }

  Program program_;
  const std::string record_ = program_.directory().file("requests.jsonl");
  std::string id_;
};

constexpr const char* kSummary = "- text: the talk in short\n- for: summary\n  text: the talk in short\n";

// ---- compaction as a recipe

TEST_F(RecipesTest, CompactIsOneCallWithoutToolsAndKeepsTheConversation) {
  talk();
  const Finished ran = run({"run", "-r", "compact", "--follow", "Focus on the deployment"}, kSummary);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(program_.newest(), id_);
  const auto asked = requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].root()["tools"].size(), 0u);
  const std::string all = all_of(asked[0]);
  EXPECT_NE(all.find("gamma question"), std::string::npos) << "the history is what is summarised";
  const std::size_t prompt = all.find("summarise this conversation");
  ASSERT_NE(prompt, std::string::npos) << all;
  EXPECT_LT(prompt, all.find("Focus on the deployment"));
  EXPECT_NE(ran.err.find("Compacted conversation " + id_ + "\nReduced from 6 messages to 1 summary message"),
            std::string::npos)
      << ran.err;
  const Finished next = run({"run", "--follow", "and now"},
                            "- text: fine\n  expect:\n    contains: the talk in short\n"
                            "    not_contains: [alpha question, gamma question, summarise this conversation]\n");
  EXPECT_EQ(next.code, 0) << next.err;
}

TEST_F(RecipesTest, CompactLeavesTitleAndUserTurnsAsTheyWere) {
  talk();
  ASSERT_EQ(run({"run", "-r", "compact", "--follow", "Focus on the deployment"}, kSummary).code, 0);
  const std::string list = program_.run({"conversation", "list"}).out;
  EXPECT_NE(list.find("alpha question"), std::string::npos) << list;
  EXPECT_EQ(list.find("summarise"), std::string::npos) << list;
  EXPECT_EQ(program_.run({"conversation", "list", "--search", "Focus on"}).out.find(id_), std::string::npos);
}

TEST_F(RecipesTest, RecipeIsNoTitleAndTheWordsBehindItAre) {
  own("hello", "Say hello to everybody.");
  ASSERT_EQ(run({"run", "-r", "hello"}, "- text: hello\n").code, 0);
  EXPECT_EQ(program_.run({"conversation", "list"}).out.find("Say hello"), std::string::npos);
  ASSERT_EQ(run({"run", "-r", "hello", "and to Ann"}, "- text: hello Ann\n").code, 0);
  const std::string list = program_.run({"conversation", "list"}).out;
  EXPECT_NE(list.find("and to Ann"), std::string::npos) << list;
  EXPECT_EQ(list.find("Say hello"), std::string::npos) << list;
}

TEST_F(RecipesTest, CompactCanBeUndone) {
  talk();
  ASSERT_EQ(run({"run", "-r", "compact", "--follow"}, kSummary).code, 0);
  EXPECT_EQ(program_.run({"conversation", "show", id_, "--view"}).out.find("beta question"), std::string::npos);
  ASSERT_EQ(program_.run({"compact", "--follow", "--undo"}).code, 0);
  EXPECT_NE(program_.run({"conversation", "show", id_, "--view"}).out.find("beta question"), std::string::npos);
}

// The recipe's own requests offer no tools; those before and after it do, and the context is theirs.
TEST_F(RecipesTest, CompactCountsTheContextAsTheOtherDoorDoes) {
  talk();
  const auto counted = [](const Finished& ran) {
    std::string out;
    for (const JsonDocument& line : json_lines(ran.out))
      if (line.root()["type"].string_or("") == "compaction_result")
        out = line.root()["pre_tokens"].text() + " to " + line.root()["post_tokens"].text();
    return out;
  };
  const std::string by_recipe = counted(run({"run", "-r", "compact", "--follow", "--json"}, kSummary));
  ASSERT_EQ(program_.run({"compact", "--follow", "--undo"}).code, 0);
  const std::string by_command = counted(run({"compact", "--follow", "--json"}, kSummary));
  EXPECT_NE(by_recipe, "");
  EXPECT_EQ(by_recipe, by_command);
}

TEST_F(RecipesTest, CompactTellsProgramsWhatChanged) {
  talk();
  const Finished ran = run({"run", "-r", "compact", "--follow", "--json"}, kSummary);
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::string outcome, id;
  int boundaries = 0;
  for (const JsonDocument& line : json_lines(ran.out)) {
    if (line.root()["subtype"].string_or("") == "compact_boundary") ++boundaries;
    if (line.root()["type"].string_or("") != "compaction_result") continue;
    outcome = line.root()["outcome"].string_or("");
    id = line.root()["conversation_id"].string_or("");
  }
  EXPECT_EQ(outcome, "applied") << ran.out;
  EXPECT_EQ(id, id_);
  EXPECT_EQ(boundaries, 1) << ran.out;
}

TEST_F(RecipesTest, CompactBriefSwapsTheContextLikewise) {
  talk();
  const Finished ran = run({"run", "-r", "compact-brief", "--resume", id_}, kSummary);
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(requests().size(), 1u);
  EXPECT_NE(all_of(requests()[0]).find("three to five bullet points"), std::string::npos);
  const std::string view = program_.run({"conversation", "show", id_, "--view"}).out;
  EXPECT_NE(view.find("the talk in short"), std::string::npos) << view;
  EXPECT_EQ(view.find("beta question"), std::string::npos) << view;
}

TEST_F(RecipesTest, VetoIsNoCallAndExitThree) {
  talk();
  hook("no", "before_compaction",
       "    cat > " + program_.directory().file("payload.json") +
           "\n    echo '{\"action\":\"block\",\"reason\":\"not now\"}'");
  const Finished ran = run({"run", "-r", "compact", "--follow", "Focus on X"}, kSummary);
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("not now"), std::string::npos) << ran.err;
  EXPECT_TRUE(requests().empty());
  EXPECT_EQ(program_.record_types(id_).find("boundary"), std::string::npos);
  const std::string payload = program_.directory().read("payload.json");
  EXPECT_NE(payload.find("\"manual\""), std::string::npos) << payload;
  EXPECT_NE(payload.find("Focus on X"), std::string::npos) << payload;
}

TEST_F(RecipesTest, CompactWithoutAConversationIsAClearErrorAndNoCall) {
  const Finished none = run({"run", "-r", "compact"}, kSummary);
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("--follow or --resume"), std::string::npos) << none.err;
  EXPECT_EQ(run({"run", "-r", "compact", "--follow"}, kSummary).code, 4);
  EXPECT_TRUE(requests().empty());
}

TEST_F(RecipesTest, AnswerThatIsNoSummaryLeavesTheConversationAsItWas) {
  talk();
  for (const char* yaml : {"- text: ' '\n", "- text: I will not\n  stop_reason: refusal\n",
                           "- text: half a summ\n  stop_reason: max_tokens\n"}) {
    const Finished ran = run({"run", "-r", "compact", "--follow"}, yaml);
    EXPECT_NE(ran.code, 0) << yaml << ran.err;
    EXPECT_EQ(program_.record_types(id_).find("boundary"), std::string::npos) << yaml;
  }
}

TEST_F(RecipesTest, HandlersOfARecipeActWithoutHooks) {
  talk();
  ASSERT_EQ(run({"run", "-r", "compact", "--follow", "--no-hooks"}, kSummary).code, 0);
  EXPECT_NE(program_.record_types(id_).find("boundary"), std::string::npos);
}

TEST_F(RecipesTest, UsersCompactChangesManualAndAutomaticAlike) {
  talk();
  own("compact", "MY OWN PROMPT for {{.conversation_id}}");
  const std::string wanted = "MY OWN PROMPT for " + id_;
  const std::string mine = "- text: short\n  expect: {contains: " + wanted + "}\n";
  ASSERT_EQ(run({"run", "-r", "compact", "--follow"}, mine).code, 0);
  ASSERT_EQ(run({"run", "--follow", "delta question"}, "- text: an answer\n").code, 0);
  const Finished standalone =
      run({"compact", "--follow"}, "- for: summary\n  text: short\n  expect: {contains: " + wanted + "}\n");
  EXPECT_EQ(standalone.code, 0) << standalone.err;
  // The automatic door: past 80 % of a small window.
  std::string longer;
  for (int i = 0; i < 3'000; ++i) longer += "kite " + std::to_string(i % 10) + " ";
  ASSERT_EQ(run({"run", "--follow", "more"}, "- text: " + longer + "\n").code, 0);
  const Finished automatic = run({"run", "--follow", "epsilon", "--set", "context_window=8000", "--no-tools"},
                                 "- text: fine\n- for: summary\n  text: short\n  expect: {contains: " + wanted + "}\n");
  EXPECT_EQ(automatic.code, 0) << automatic.err;
  int automatic_calls = 0;
  for (const JsonDocument& request : requests())
    if (request.root()["for"].string_or("") == "summary") ++automatic_calls;
  EXPECT_GE(automatic_calls, 2) << "one by hand, one by itself";
}

TEST_F(RecipesTest, BrokenCompactOfTheUserIsAnErrorForWhoAsksForIt) {
  talk();
  own("compact", "---\nnmae: x\n---\nmine");
  const Finished named = run({"run", "-r", "compact", "--follow"}, kSummary);
  EXPECT_EQ(named.code, 2);
  EXPECT_NE(named.err.find("recipes/compact.md:2:"), std::string::npos) << named.err;
  const Finished standalone = run({"compact", "--follow"}, kSummary);
  EXPECT_EQ(standalone.code, 1);
  EXPECT_NE(standalone.err.find("recipes/compact.md:2:"), std::string::npos) << standalone.err;
}

// ---- arguments

TEST_F(RecipesTest, ArgumentsAreCheckedBeforeAnyCall) {
  own("review",
      "---\narguments:\n  branch: {description: what to look at, required: true}\n---\n"
      "Look at {{.branch}}.");
  const Finished missing = run({"run", "-r", "review"}, "- text: x\n");
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("needs a value for branch (what to look at)"), std::string::npos) << missing.err;
  const Finished unknown = run({"run", "-r", "review", "--arg", "brnch=x"}, "- text: x\n");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("has no argument 'brnch': it takes branch"), std::string::npos) << unknown.err;
  EXPECT_EQ(run({"run", "-r", "review", "--arg", "branch"}, "- text: x\n").code, 2);
  EXPECT_TRUE(requests().empty());
  const Finished good =
      run({"run", "-r", "review", "--arg", "branch=dev"}, "- text: x\n  expect: {contains: Look at dev.}\n");
  EXPECT_EQ(good.code, 0) << good.err;
}

TEST_F(RecipesTest, RecipeThatIsNotThereExitsFourWithWhatThereIs) {
  const Finished ran = run({"run", "-r", "comact", "--follow"}, kSummary);
  EXPECT_EQ(ran.code, 4);
  EXPECT_NE(ran.err.find("did you mean 'compact'?"), std::string::npos) << ran.err;
}

// ---- tools and commands

TEST_F(RecipesTest, OnlyAllowedToolsAreOffered) {
  own("look", "---\nallowed_tools: [read_file, grep]\n---\nLook.");
  ASSERT_EQ(run({"run", "-r", "look"}, "- text: done\n").code, 0);
  ASSERT_EQ(requests().size(), 1u);
  EXPECT_EQ(requests()[0].root()["tools"].size(), 2u) << all_of(requests()[0]);
}

const char* const kCommands = "---\nallowed_tools: [bash]\nallowed_commands: ['echo *']\n---\nRun it.";

std::string calls(const std::string& command) {
  return "- calls:\n    - name: bash\n      input: {command: \"" + command + "\"}\n- text: done\n";
}

TEST_F(RecipesTest, AllowedCommandsRunWithoutAQuestionAndOthersDoNot) {
  own("shell", kCommands);
  const std::string mark = program_.project() + "/mark";
  ASSERT_EQ(run({"run", "-r", "shell"}, calls("echo it ran")).code, 0);
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_NE(all_of(requests()[1]).find("it ran\\n"), std::string::npos) << all_of(requests()[1]);
  for (const std::string& command : {"touch " + mark, "echo x; touch " + mark, "echo x > " + mark}) {
    // Also where everything else would be allowed.
    const Finished ran = run({"run", "-r", "shell", "--allow", "bash"}, calls(command));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(all_of(requests().back()).find("the recipe shell"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(mark)) << command;
  }
}

TEST_F(RecipesTest, AllowedCommandsHoldWithoutHooksToo) {
  own("shell", kCommands);
  const std::string mark = program_.project() + "/mark";
  ASSERT_EQ(run({"run", "-r", "shell", "--allow", "bash", "--no-hooks"}, calls("touch " + mark)).code, 0);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(RecipesTest, RecipeOfAProjectNeverGrants) {
  of_project("shell", kCommands);
  ASSERT_EQ(program_.run({"hooks", "trust", "project/recipes/shell", "--yes"}).code, 0);
  ASSERT_EQ(run({"run", "-r", "shell"}, calls("echo it ran")).code, 0);
  EXPECT_EQ(all_of(requests().back()).find("it ran\\n"), std::string::npos)
      << "nobody is there to be asked: " << all_of(requests().back());
}

// ---- where they come from

TEST_F(RecipesTest, RecipeOfAProjectWaitsForTrustInItsBytes) {
  of_project("review", "Review it.");
  const Finished waits = run({"run", "-r", "review"}, "- text: x\n");
  EXPECT_EQ(waits.code, 2);
  EXPECT_NE(waits.err.find("agentd hooks trust project/recipes/review"), std::string::npos) << waits.err;
  EXPECT_TRUE(requests().empty());
  const std::string hooks = program_.run({"hooks", "list"}).out;
  EXPECT_NE(hooks.find("project/recipes/review"), std::string::npos) << hooks;
  ASSERT_EQ(program_.run({"hooks", "trust", "project/recipes/review", "--yes"}).code, 0);
  EXPECT_EQ(run({"run", "-r", "review"}, "- text: x\n").code, 0);
  of_project("review", "Review it, and more.");
  const Finished changed = run({"run", "-r", "review"}, "- text: x\n");
  EXPECT_EQ(changed.code, 2);
  EXPECT_NE(changed.err.find("and is not used, since its bytes changed after it was trusted; "), std::string::npos)
      << changed.err;
  ASSERT_EQ(program_.run({"hooks", "trust", "--all", "--yes"}).code, 0);
  EXPECT_EQ(run({"run", "-r", "review"}, "- text: x\n").code, 0);
  ASSERT_EQ(program_.run({"hooks", "untrust", "project/recipes/review"}).code, 0);
  EXPECT_EQ(run({"run", "-r", "review"}, "- text: x\n").code, 2);
}

// What it restricted would be restricted no more, if another one took its place without a word.
TEST_F(RecipesTest, RecipeOfAProjectThatChangedIsNotReplacedByYours) {
  ASSERT_TRUE(make_directories(program_.home() + "/recipes"));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/recipes/review.md", "Mine.", 0600));
  of_project("review", "---\nallowed_tools: []\n---\nReview it.");
  const Finished new_one = run({"run", "-r", "review"}, "- text: x\n");
  EXPECT_EQ(new_one.code, 0) << new_one.err;
  EXPECT_NE(new_one.err.find("is not trusted and is not used"), std::string::npos) << new_one.err;
  ASSERT_EQ(program_.run({"hooks", "trust", "project/recipes/review", "--yes"}).code, 0);
  EXPECT_EQ(run({"run", "-r", "review"}, "- text: x\n").code, 0);
  of_project("review", "---\nallowed_tools: []\n---\nReview it, and more.");
  const Finished changed = run({"run", "-r", "review"}, "- text: x\n");
  EXPECT_EQ(changed.code, 2) << changed.err;
  EXPECT_NE(changed.err.find("and is not used, since its bytes changed after it was trusted; "), std::string::npos)
      << changed.err;
}

TEST_F(RecipesTest, CompactOfAProjectIsUsedOnlyWhenTheConfigurationSaysSo) {
  talk();
  of_project("compact", "THE PROJECTS PROMPT");
  ASSERT_EQ(program_.run({"hooks", "trust", "project/recipes/compact", "--yes"}).code, 0);
  const Finished usual =
      run({"compact", "--follow"}, "- for: summary\n  text: short\n  expect: {not_contains: THE PROJECTS PROMPT}\n");
  EXPECT_EQ(usual.code, 0) << usual.err;
  ASSERT_EQ(run({"run", "--follow", "more"}, "- text: an answer\n").code, 0);
  const Finished allowed = run({"compact", "--follow", "--set", "recipes.project_compact=true"},
                               "- for: summary\n  text: short\n  expect: {contains: THE PROJECTS PROMPT}\n");
  EXPECT_EQ(allowed.code, 0) << allowed.err;
}

TEST_F(RecipesTest, FileThatOthersMayWriteIsRefused) {
  own("open", "Do it.");
  ASSERT_EQ(::chmod((program_.home() + "/recipes/open.md").c_str(), 0666), 0);
  const Finished ran = run({"run", "-r", "open"}, "- text: x\n");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("world-writable"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("chmod go-w"), std::string::npos) << ran.err;
}

TEST_F(RecipesTest, ListTellsWhereEachComesFromAndWhatItTakes) {
  own("init", "---\ndescription: mine\narguments: {what: {required: true}}\n---\nDo {{.what}}");
  of_project("review", "Review it.");
  own("bad", "---\nnmae: x\n---\nbody");
  const Finished list = program_.run({"recipe", "list"});
  EXPECT_EQ(list.code, 0) << list.err;
  for (const char* text : {"compact-brief", "swap_context", "what*", "mine", "replaces embedded",
                           "agentd hooks trust project/recipes/review", "recipes/bad.md:2:"})
    EXPECT_NE(list.out.find(text), std::string::npos) << text << "\n" << list.out;
  bool seen = false;
  for (const JsonDocument& line : json_lines(program_.run({"recipe", "list", "--json"}).out)) {
    if (line.root()["name"].string_or("") != "init") continue;
    seen = true;
    EXPECT_EQ(line.root()["source"].string_or(""), "user");
    EXPECT_EQ(line.root()["shadows"].at(0).string_or(""), "embedded");
    EXPECT_EQ(line.root()["arguments"].at(0)["name"].string_or(""), "what");
    EXPECT_TRUE(line.root()["arguments"].at(0)["required"].bool_or(false));
  }
  EXPECT_TRUE(seen);
}

TEST_F(RecipesTest, ShowPrintsTheTextAsItWouldBeSent) {
  own("review",
      "---\narguments: {branch: {required: true}}\ndefaults: {base: main}\n---\n"
      "{{.branch}} on {{.base}}");
  const Finished plain = program_.run({"recipe", "show", "review"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_NE(plain.out.find("{{.branch}} on main\n"), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find(program_.home() + "/recipes/review.md"), std::string::npos) << plain.out;
  const Finished filled = program_.run({"recipe", "show", "review", "--arg", "branch=dev", "--json"});
  const auto json = json_lines(filled.out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].root()["text"].string_or(""), "dev on main");
  EXPECT_EQ(program_.run({"recipe", "show", "review", "--arg", "nope=1"}).code, 2);
  EXPECT_EQ(program_.run({"recipe", "show", "none"}).code, 4);
}

TEST_F(RecipesTest, ShowPrintsTheFileOfWhatWaitsForTrust) {
  of_project("review", "Review {{.it}}.");
  const Finished shown = program_.run({"recipe", "show", "review"});
  EXPECT_EQ(shown.code, 2);
  EXPECT_NE(shown.out.find("Review {{.it}}."), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("agentd hooks trust"), std::string::npos) << shown.out;
}

// ---- chat

TEST_F(RecipesTest, ChatRunsARecipeForOneLine) {
  own("look", "---\nallowed_tools: [grep]\narguments: {at: {required: true}}\n---\nLook at {{.at}}.");
  const Finished ran =
      run({"chat"}, "- text: one\n- text: two\n- text: three\n", "first\n/look at='the door' and be quick\nthird\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto asked = requests();
  ASSERT_EQ(asked.size(), 3u);
  const std::size_t all_tools = asked[0].root()["tools"].size();
  EXPECT_GT(all_tools, 2u);
  EXPECT_EQ(asked[1].root()["tools"].size(), 1u);
  EXPECT_NE(all_of(asked[1]).find("Look at the door."), std::string::npos);
  EXPECT_NE(all_of(asked[1]).find("and be quick"), std::string::npos);
  EXPECT_EQ(asked[2].root()["tools"].size(), all_tools) << "the recipe was taken off again";
}

TEST_F(RecipesTest, ChatCompactsByRecipeAndUndoes) {
  const Finished ran = run({"chat"},
                           "- text: one\n- text: in short\n- text: two\n  expect:\n    contains: in short\n"
                           "    not_contains: first thing\n- text: three\n  expect: {contains: first thing}\n",
                           "first thing\n/compact-brief\nsecond\n/undo\nthird\n");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("Reduced from 2 messages to 1 summary message"), std::string::npos) << ran.out;
}

TEST_F(RecipesTest, HandlersOfAChatsRecipeActInItsRunAlone) {
  own("json",
      "---\nhooks:\n  turn_end: {handler: validate_output, params: {schema: {type: object}, "
      "retries: 0}}\n"
      "---\nAnswer as JSON.");
  const Finished ran = run({"chat"}, "- text: words\n- text: words\n", "/json\nplain\n");
  const std::string failure = "agentd: the answer is not JSON";
  const std::size_t first = ran.err.find(failure);
  ASSERT_NE(first, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(failure, first + 1), std::string::npos) << ran.err;
  EXPECT_EQ(ran.code, 0) << "the code is that of the last message";
}

TEST_F(RecipesTest, ChatRefusesWhatItDoesNotKnow) {
  own("look", "---\narguments: {at: {required: true}}\n---\nLook at {{.at}}.");
  const Finished ran = run({"chat"}, "- text: one\n", "/lok\n/look\n/look to=x\n/compact-brief\n/recipes\n/undo\n");
  EXPECT_NE(ran.err.find("unknown command '/lok': did you mean '/look'?"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("needs a value for at"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("has no argument 'to'"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("the conversation is empty"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("/compact-brief"), std::string::npos) << ran.out;
  EXPECT_TRUE(requests().empty());
}

// ---- what stands outside of the history

TEST_F(RecipesTest, InstructionsAndSessionContextSurviveTenCompactionsVerbatim) {
  const std::string instructions = "Build with `make -j2`;\n\n  keep THIS line: \"π ≈ 3.14159\"\t\\o/";
  program_.file("AGENTS.md", instructions);
  const std::string context = "CONTEXT of the start: 4711 {{.x}} <b>";
  // At the start alone: what was said then still stands after each compaction.
  hook("context", "session_start",
       "    case \"$(cat)\" in *startup*) echo '{\"additional_context\":\"" + context + "\"}' ;; esac");
  std::string lines = "the first thing\n", yaml = "- text: answer 0\n";
  for (int i = 1; i <= 10; ++i) {
    lines += "/compact\nthing " + std::to_string(i) + "\n";
    yaml += "- for: summary\n  text: summary " + std::to_string(i) + "\n- text: answer " + std::to_string(i) + "\n";
  }
  const Finished ran = run({"chat", "--no-tools"}, yaml, lines);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  int turns = 0, summaries = 0;
  for (const JsonDocument& request : requests()) {
    if (request.root()["for"].string_or("") == "summary") {
      ++summaries;
      continue;
    }
    ++turns;
    const std::string system(request.root()["system"].string_or(""));
    const std::size_t at = system.find(instructions);
    ASSERT_NE(at, std::string::npos) << "turn " << turns << ": " << system;
    EXPECT_EQ(system.find(instructions, at + 1), std::string::npos) << "once, not once more each time";
    const std::size_t said = system.find(context);
    ASSERT_NE(said, std::string::npos) << "turn " << turns << ": " << system;
    EXPECT_EQ(system.find(context, said + 1), std::string::npos);
  }
  EXPECT_EQ(turns, 11);
  EXPECT_EQ(summaries, 10);
}

}  // namespace
}  // namespace agentd::testing
