// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/recipes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "core/base/file.h"
#include "tests/support/hook_fakes.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::RecordingLog;
using testing::TempDir;

using Values = std::map<std::string, std::string>;

std::string rendered(std::string_view body, const Values& values = {}) {
  const auto result = render_template(body, values, "r.md");
  return result ? *result : "error: " + result.error().message;
}

TEST(Template, VariablesAreFilledInAndUnknownOnesAreEmpty) {
  EXPECT_EQ(rendered("a {{.x}} b {{ .y }} c", {{"x", "1"}}), "a 1 b  c");
  EXPECT_EQ(rendered("no braces"), "no braces");
  EXPECT_EQ(rendered(""), "");
}

TEST(Template, ValueIsNeverReadAsATemplate) {
  EXPECT_EQ(rendered("{{.x}}", {{"x", "{{.y}}{{end}}"}, {"y", "no"}}), "{{.y}}{{end}}");
}

TEST(Template, IfChoosesAndNests) {
  const std::string_view body = "{{if .a}}A{{if .b}}B{{else}}-{{end}}{{else}}none{{end}}.";
  EXPECT_EQ(rendered(body), "none.");
  EXPECT_EQ(rendered(body, {{"a", "1"}}), "A-.");
  EXPECT_EQ(rendered(body, {{"a", "1"}, {"b", "1"}}), "AB.");
  EXPECT_EQ(rendered(body, {{"b", "1"}}), "none.");
}

TEST(Template, ElseInsideWhatIsNotWrittenWritesNothing) {
  EXPECT_EQ(rendered("{{if .a}}{{if .b}}x{{else}}y{{end}}{{end}}z"), "z");
}

TEST(Template, DefaultStandsInForAnEmptyValue) {
  EXPECT_EQ(rendered(R"({{default "main" .branch}})"), "main");
  EXPECT_EQ(rendered(R"({{default "main" .branch}})", {{"branch", "dev"}}), "dev");
}

TEST(Template, DefaultTakesItsTwoInEitherOrderAndFromAPipe) {
  EXPECT_EQ(rendered(R"({{default .branch "main"}})"), "main");
  EXPECT_EQ(rendered(R"({{default .branch "main"}})", {{"branch", "dev"}}), "dev");
  EXPECT_EQ(rendered(R"({{.branch | default "main"}})"), "main");
  EXPECT_EQ(rendered(R"({{.branch | default `ma"in`}})"), "ma\"in");
  EXPECT_EQ(rendered(R"({{default .a .b}})", {{"a", "1"}}), "1");
}

TEST(Template, ConditionsCompareAndCombine) {
  const std::string_view eq = R"({{if eq .a "x"}}X{{else if eq .a "y" "z"}}YZ{{else}}other{{end}})";
  EXPECT_EQ(rendered(eq, {{"a", "x"}}), "X");
  EXPECT_EQ(rendered(eq, {{"a", "y"}}), "YZ");
  EXPECT_EQ(rendered(eq, {{"a", "z"}}), "YZ");
  EXPECT_EQ(rendered(eq), "other");
  EXPECT_EQ(rendered(R"({{if ne .a "x"}}1{{end}}{{if not .a}}2{{end}})"), "12");
  const std::string_view both = R"({{if and .a (or .b (eq .c "1"))}}yes{{else}}no{{end}})";
  EXPECT_EQ(rendered(both, {{"a", "1"}}), "no");
  EXPECT_EQ(rendered(both, {{"a", "1"}, {"c", "1"}}), "yes");
  EXPECT_EQ(rendered(both, {{"b", "1"}, {"c", "1"}}), "no");
}

TEST(Template, OnlyTheFirstPartThatHoldsIsWritten) {
  const std::string_view body = "{{if .a}}A{{else if .b}}B{{else if .c}}C{{else}}-{{end}}";
  EXPECT_EQ(rendered(body, {{"a", "1"}, {"b", "1"}, {"c", "1"}}), "A");
  EXPECT_EQ(rendered(body, {{"b", "1"}, {"c", "1"}}), "B");
  EXPECT_EQ(rendered(body), "-");
}

TEST(Template, TrimMarkersTakeTheBlanksOfTheTextAwayAndNothingOfValues) {
  EXPECT_EQ(rendered("a \n {{- .x}} b", {{"x", "1"}}), "a1 b");
  EXPECT_EQ(rendered("a {{.x -}} \n\t b", {{"x", "1"}}), "a 1b");
  EXPECT_EQ(rendered("a {{- .x -}} b", {{"x", " 1 "}}), "a 1 b");
  EXPECT_EQ(rendered("one\n{{- if .x}}\ntwo\n{{- end}}\n"), "one\n");
  EXPECT_EQ(rendered("one\n{{- if .x}}\ntwo\n{{- end}}\n", {{"x", "1"}}), "one\ntwo\n");
}

TEST(Template, CommentsVanishAndBracesInTextsAreText) {
  EXPECT_EQ(rendered("a{{/* {{.x}} \" */}}b"), "ab");
  EXPECT_EQ(rendered("a {{- /* c */ -}} b"), "ab");
  EXPECT_EQ(rendered(R"({{default "}}" .x}})"), "}}");
  EXPECT_EQ(rendered(R"({{default "a\"b\\\n" .x}})"), "a\"b\\\n");
}

TEST(Template, ErrorsNameThePlace) {
  EXPECT_EQ(rendered("a\nb {{.x"), "error: r.md:2:3: {{ has no }}");
  EXPECT_EQ(rendered("\n\n{{if .x}}a"), "error: r.md:3:1: {{if}} has no {{end}}");
  EXPECT_EQ(rendered("{{if .a}}{{end}}\n {{if .x}}a{{if .y}}{{end}}"), "error: r.md:2:2: {{if}} has no {{end}}");
  EXPECT_EQ(rendered("{{end}}"), "error: r.md:1:1: {{end}} without {{if}}");
  EXPECT_EQ(rendered("{{else}}"), "error: r.md:1:1: {{else}} without {{if}}");
  EXPECT_EQ(render_template("{{end}}", {}, "r.md", 7).error().message, "r.md:7:1: {{end}} without {{if}}");
  for (const auto& [body, what] :
       std::map<std::string, std::string>{{"{{if .x}}{{else}}{{else}}{{end}}", "{{else}} without"},
                                          {"{{if .x}}{{else}}{{else if .y}}{{end}}", "{{else}} without"},
                                          {"{{range .x}}{{end}}", "'range .x' is not supported"},
                                          {"{{bash \"ls\"}}", "'bash \"ls\"' is not supported"},
                                          {"{{if}}{{end}}", "needs a .name"},
                                          {"{{if x}}{{end}}", "'x' is not supported"},
                                          {"{{default \"x\"}}", "{{default}} needs"},
                                          {"{{default \"x\" \"y\"}}", "{{default}} needs"},
                                          {"{{default x .y}}", "not supported"},
                                          {"{{}}", "not supported"},
                                          {"{{.}}", "not supported"},
                                          {"{{.a.b}}", "not supported"},
                                          {"{{.a .b}}", "not supported"},
                                          {"{{.a | .b}}", "'|' must be followed by a function"},
                                          {"{{eq .a}}", "needs two"},
                                          {"{{not .a .b}}", "needs one"},
                                          {"{{(eq .a .b}}", "( has no )"},
                                          {"{{default \"x .a}}", "no closing \""},
                                          {"{{default `x .a}}", "no closing `"},
                                          {"{{default \"\\q\" .a}}", "\\q is not a supported escape"}})
    EXPECT_NE(rendered(body).find(what), std::string::npos) << body << " gives " << rendered(body);
}

TEST(Template, MistakesInWhatIsNotWrittenAreTold) {
  EXPECT_NE(rendered("{{if .x}}{{nonsense}}{{end}}").find("not supported"), std::string::npos);
}

TEST(Template, DeepParenthesesAreRefused) {
  const std::string body = "{{" + std::string(100'000, '(') + "}}";
  EXPECT_NE(rendered(body).find("too many parentheses"), std::string::npos);
}

TEST(Template, NamesAreThoseThatItUses) {
  const auto names = template_names(R"({{.b}}{{if eq .a "x"}}{{default "y" .c}}{{.b}}{{end}})", "r.md");
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (std::vector<std::string>{"b", "a", "c"}));
}

TEST(Recipe, FrontMatterIsRead) {
  const auto recipe = parse_recipe(
      "---\nname: review\ndescription: looks\nallowed_tools: [read_file, grep]\n---\nBody {{.x}}\n", "r.md");
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(recipe->name, "review");
  EXPECT_EQ(recipe->description, "looks");
  EXPECT_EQ(recipe->allowed_tools, (std::vector<std::string>{"read_file", "grep"}));
  EXPECT_TRUE(recipe->restricts_tools);
  EXPECT_NE(recipe->body.find("Body {{.x}}"), std::string::npos);
}

TEST(Recipe, TextWithoutFrontMatterIsABody) {
  const auto recipe = parse_recipe("just text", "r.md");
  ASSERT_TRUE(recipe);
  EXPECT_FALSE(recipe->restricts_tools);
}

TEST(Recipe, ByteOrderMarkIsNoPartOfTheText) {
  const auto recipe = parse_recipe("\xef\xbb\xbf---\nallowed_tools: []\n---\nhello\n", "bom.md");
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_TRUE(recipe->restricts_tools);
  EXPECT_EQ(recipe->body, "hello\n");
}

TEST(Recipe, TextThatComesOutEmptyIsAnError) {
  const auto recipe = parse_recipe("{{.nothing}}\n", "empty.md");
  ASSERT_TRUE(recipe) << recipe.error().message;
  const auto text = render_recipe(*recipe, {}, "");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("is empty after its values were filled in"), std::string::npos)
      << text.error().message;
}

TEST(Recipe, EmptyListOfToolsAllowsNone) {
  EXPECT_TRUE(parse_recipe("---\nallowed_tools: []\n---\nx", "r.md")->restricts_tools);
  EXPECT_EQ(parse_recipe("---\nallowed_tools: a, b\n---\nx", "r.md")->allowed_tools.size(), 2u);
}

std::string refused(std::string_view text) {
  const auto recipe = parse_recipe(text, "dir/r.md");
  EXPECT_FALSE(recipe);
  return recipe ? "" : recipe.error().message;
}

TEST(Recipe, ErrorsNameThePlace) {
  EXPECT_TRUE(refused("---\nname: x\nnmae: y\n---\nbody").starts_with("dir/r.md:3:"))
      << refused("---\nname: x\nnmae: y\n---\nbody");
  EXPECT_NE(refused("---\nname: x\nnmae: y\n---\nbody").find("unknown key 'nmae'"), std::string::npos);
  EXPECT_TRUE(refused("---\nallowed_tools: {a: b}\n---\nbody").starts_with("dir/r.md:2:"));
  EXPECT_TRUE(refused("---\n- a\n---\nbody").starts_with("dir/r.md:2:"));
  EXPECT_TRUE(refused("---\nname: [a\n---\nbody").starts_with("dir/r.md:"));
  EXPECT_TRUE(refused("---\nname: [a, b]\n---\nbody").starts_with("dir/r.md:2:"));
  EXPECT_NE(refused("---\nname: x\n---\n \n").find("has no text"), std::string::npos);
  EXPECT_EQ(refused("---\nname: x\n---\nbody\n {{end}}\n"), "dir/r.md:5:2: {{end}} without {{if}}");
  EXPECT_EQ(refused("body {{.x"), "dir/r.md:1:6: {{ has no }}");
  for (const auto& [head, what] :
       std::map<std::string, std::string>{{"allowed_commands: {a: b}", "allowed_commands must be a list"},
                                          {"allowed_commands: [[a]]", "a command's pattern must be text"},
                                          {"arguments: [a]", "arguments must be a map"},
                                          {"arguments: {a-b: x}", "'a-b' is not a valid argument name"},
                                          {"arguments: {conversation_id: x}", "cannot be an argument"},
                                          {"arguments: {a: [x]}", "must be a text that describes it"},
                                          {"arguments: {a: {kind: x}}", "unknown key 'kind'"},
                                          {"arguments: {a: {required: maybe}}", "required must be true or false"},
                                          {"arguments: {a: {required: true, default: x}}", "remove one of them"},
                                          {"arguments: {a: {default: x, required: true}}", "remove one of them"},
                                          {"defaults: [a]", "defaults must be a map"},
                                          {"defaults: {a: [x]}", "must be text"}}) {
    const std::string why = refused("---\n" + head + "\n---\nbody");
    EXPECT_TRUE(why.starts_with("dir/r.md:2:")) << why;
    EXPECT_NE(why.find(what), std::string::npos) << why;
  }
  EXPECT_NE(refused("---\narguments: {a: {default: x}}\ndefaults: {a: y}\n---\nbody").find("two defaults"),
            std::string::npos);
  EXPECT_NE(refused("---\nallowed_tool: []\n---\nbody").find("did you mean 'allowed_tools'"), std::string::npos);
}

TEST(Recipe, ATemplateInTheParamsOfAHandlerIsCheckedToo) {
  const auto with = [](const std::string& path) {
    return refused("---\nhooks:\n  turn_end: {handler: export_markdown, params: {path: '" + path + "'}}\n---\nbody");
  };
  EXPECT_TRUE(with("a{{.x").starts_with("dir/r.md:3:")) << with("a{{.x");
  EXPECT_NE(with("{{.day}}.md").find("not {{.day}}"), std::string::npos);
}

Recipe parsed_recipe(const std::string& text) {
  auto recipe = parse_recipe(text, "r.md");
  EXPECT_TRUE(recipe) << recipe.error().message;
  return recipe ? *recipe : Recipe{};
}

const char* const kReview =
    "---\nname: review\narguments:\n  branch: {description: what to look at, required: true}\n"
    "  depth: how far\ndefaults: {base: main, depth: deep}\n---\n"
    "{{.branch}} on {{.base}}, {{.depth}}{{if .extra}}, {{.extra}}{{end}}";

TEST(RecipeArguments, AreThoseThatAreDeclaredHaveADefaultOrStandInTheText) {
  const Recipe recipe = parsed_recipe(kReview);
  std::vector<std::string> names;
  for (const RecipeArgument& each : recipe.arguments) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"branch", "depth", "base", "extra"}));
  EXPECT_EQ(recipe.arguments[0].description, "what to look at");
  EXPECT_TRUE(recipe.arguments[0].required);
  EXPECT_EQ(recipe.arguments[1].standard, "deep");
}

TEST(RecipeArguments, GivenOnesOverrideDefaults) {
  const Recipe recipe = parsed_recipe(kReview);
  EXPECT_EQ(*render_recipe(recipe, {{"branch", "dev"}}, ""), "dev on main, deep");
  EXPECT_EQ(*render_recipe(recipe, {{"branch", "dev"}, {"base", "old"}, {"extra", "e"}}, ""), "dev on old, deep, e");
  EXPECT_EQ(*render_recipe(recipe, {{"branch", "dev"}, {"depth", ""}}, ""), "dev on main, ")
      << "what is given is empty, not missing";
}

TEST(RecipeArguments, MissingAndUnknownOnesAreNamed) {
  const Recipe recipe = parsed_recipe(kReview);
  EXPECT_EQ(recipe_values(recipe, {}).error().message,
            "the recipe 'review' needs a value for branch (what to look at)");
  EXPECT_EQ(recipe_values(recipe, {{"branch", ""}}).error().code, Code::kInvalid);
  EXPECT_EQ(recipe_values(recipe, {{"branch", "x"}, {"bases", "y"}}).error().message,
            "the recipe 'review' has no argument 'bases': it takes branch, depth, base, extra: did you "
            "mean 'base'?");
  EXPECT_EQ(recipe_values(parsed_recipe("---\nname: r\n---\nx"), {{"a", "b"}}).error().message,
            "the recipe 'r' has no argument 'a': it takes none");
  EXPECT_EQ(recipe_values(recipe, {{"conversation_id", "x"}}).error().code, Code::kInvalid);
}

TEST(RecipeArguments, ConversationIdIsAlwaysThere) {
  EXPECT_EQ(*render_recipe(parsed_recipe("of {{.conversation_id}}"), {}, "C1"), "of C1");
}

class Book : public ::testing::Test {
 protected:
  RecipeBook book() { return RecipeBook({RecipeDirectory{dir_.path()}}, log_); }
  const TempDir dir_;
  RecordingLog log_;
};

TEST_F(Book, CompactIsEmbedded) {
  const auto recipe = book().find("compact");
  ASSERT_TRUE(recipe);
  EXPECT_EQ(recipe->path, "");
  EXPECT_TRUE(recipe->restricts_tools);
  const auto prompt = book().compaction_prompt("CONV", {});
  ASSERT_TRUE(prompt);
  EXPECT_NE(prompt->find("The conversation is CONV."), std::string::npos);
  EXPECT_EQ(book().compaction_prompt("", {})->find("The conversation is"), std::string::npos);
}

TEST_F(Book, InstructionsAreAppendedInOrder) {
  const auto prompt = book().compaction_prompt("C", {"first", "", "second"});
  ASSERT_TRUE(prompt);
  EXPECT_TRUE(prompt->ends_with("\n\nAdditional instructions: first\n\nAdditional instructions: second"));
}

TEST_F(Book, UsersCompactTakesThePlaceOfTheEmbeddedOne) {
  dir_.write("compact.md", "mine for {{.conversation_id}}");
  EXPECT_EQ(*book().compaction_prompt("C", {"x"}), "mine for C\n\nAdditional instructions: x");
  EXPECT_TRUE(log_.lines.empty());
}

TEST_F(Book, BrokenCompactOfTheUserFallsBackWithAWarning) {
  dir_.write("compact.md", "---\nnonsense: 1\n---\nmine");
  const auto prompt = book().compaction_prompt("C", {"x"});
  ASSERT_TRUE(prompt);
  EXPECT_NE(prompt->find("summarise this conversation"), std::string::npos);
  EXPECT_TRUE(log_.mentions("the embedded compact recipe is used"));
  EXPECT_TRUE(log_.mentions("nonsense"));
}

TEST_F(Book, CompactThatCannotBeUsedIsNamedWithFileAndLine) {
  EXPECT_TRUE(book().check_compaction_prompt());
  dir_.write("compact.md", "mine");
  EXPECT_TRUE(book().check_compaction_prompt());
  for (const char* const broken : {"---\nnonsense: 1\n---\nmine", "one\nmine {{if .x}}",
                                   "---\narguments: {x: {required: true}}\n---\nmine {{.x}}"}) {
    dir_.write("compact.md", broken);
    const auto usable = book().check_compaction_prompt();
    ASSERT_FALSE(usable) << broken;
    EXPECT_NE(usable.error().message.find("compact.md"), std::string::npos) << usable.error().message;
  }
}

TEST_F(Book, CompactWithABrokenTemplateFallsBackToo) {
  dir_.write("compact.md", "mine {{if .x}}");
  const auto prompt = book().compaction_prompt("C", {"x"});
  ASSERT_TRUE(prompt);
  EXPECT_NE(prompt->find("summarise this conversation"), std::string::npos);
  EXPECT_TRUE(prompt->ends_with("Additional instructions: x"));
  EXPECT_TRUE(log_.mentions("the embedded compact recipe is used"));
}

TEST_F(Book, UnreadableCompactFallsBackToo) {
  ASSERT_EQ(::mkfifo(dir_.file("compact.md").c_str(), 0600), 0);
  EXPECT_TRUE(book().compaction_prompt("C", {}));
  EXPECT_TRUE(log_.mentions("not a regular file"));
}

TEST_F(Book, OwnRecipeIsFilledIn) {
  dir_.write("greet.md", "---\nname: greet\n---\nHello {{default \"you\" .name}}");
  EXPECT_EQ(*book().recipe_prompt("greet", {{"name", "Ann"}}), "Hello Ann");
  EXPECT_EQ(*book().recipe_prompt("greet", {}), "Hello you");
}

TEST_F(Book, MissingRecipeIsNotFoundAndNamesCannotLeaveTheDirectory) {
  EXPECT_EQ(book().find("none").error().code, Code::kNotFound);
  for (const char* const name : {"", "../x", "a/b", ".hidden", "/etc/passwd"})
    EXPECT_EQ(book().find(name).error().code, Code::kInvalid) << name;
  EXPECT_EQ(book().recipe_prompt("none", {}).error().code, Code::kNotFound);
}

TEST_F(Book, FirstDirectoryTakesPrecedence) {
  const TempDir second;
  dir_.write("r.md", "one");
  second.write("r.md", "two");
  second.write("only.md", "three");
  const RecipeBook both({RecipeDirectory{dir_.path()}, RecipeDirectory{second.path()}}, log_);
  EXPECT_EQ(both.find("r")->body, "one");
  EXPECT_EQ(both.find("only")->body, "three");
}

TEST_F(Book, MissingRecipeSaysWhatThereIs) {
  dir_.write("review.md", "x");
  const std::string why = book().find("reviw").error().message;
  EXPECT_NE(why.find("recipes: commit, compact, compact-brief, init, review"), std::string::npos) << why;
  EXPECT_NE(why.find("did you mean 'review'?"), std::string::npos) << why;
}

TEST_F(Book, EveryEmbeddedRecipeIsWhole) {
  for (const char* const name : {"commit", "compact", "compact-brief", "init"}) {
    const auto recipe = book().find(name);
    ASSERT_TRUE(recipe) << name << ": " << recipe.error().message;
    EXPECT_EQ(recipe->name, name);
    EXPECT_EQ(recipe->source, RecipeSource::kEmbedded);
    EXPECT_NE(recipe->description, "") << name;
    const auto text = render_recipe(*recipe, {}, "C");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(text->find("{{"), std::string::npos) << name;
  }
  EXPECT_EQ(book().names(), (std::vector<std::string>{"commit", "compact", "compact-brief", "init"}));
}

TEST_F(Book, CompactionsAreOneAnswerWithoutToolsThatTakesTheConversationsPlace) {
  for (const char* const name : {"compact", "compact-brief"}) {
    const auto recipe = book().find(name);
    ASSERT_TRUE(recipe);
    EXPECT_TRUE(recipe->swaps_context());
    EXPECT_TRUE(recipe->restricts_tools && recipe->allowed_tools.empty());
    EXPECT_EQ(recipe->hooks[0].once, RecipeOnce::kRun);
  }
  EXPECT_FALSE(book().find("init")->swaps_context());
}

TEST_F(Book, UsersCompactCompactsAlsoWhenItSaysNothingOfHooks) {
  dir_.write("compact.md", "---\nallowed_tools: [bash]\n---\nmine");
  const auto recipe = book().find("compact");
  ASSERT_TRUE(recipe);
  EXPECT_TRUE(recipe->swaps_context());
  EXPECT_TRUE(recipe->restricts_tools && recipe->allowed_tools.empty());
  EXPECT_EQ(recipe->body, "mine");
}

TEST_F(Book, CompactOfTheUserThatNeedsAnArgumentFallsBackToo) {
  dir_.write("compact.md", "---\narguments: {x: {required: true}}\n---\nmine {{.x}}");
  const auto prompt = book().compaction_prompt("C", {});
  ASSERT_TRUE(prompt);
  EXPECT_NE(prompt->find("summarise this conversation"), std::string::npos);
  EXPECT_TRUE(log_.mentions("needs a value for x"));
}

TEST_F(Book, BrokenRecipeIsAnErrorWithItsPlaceAndNotAReasonToTakeTheNext) {
  const std::string path = dir_.write("commit.md", "---\nnmae: x\n---\nbody");
  const auto found = book().find("commit");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kInvalid);
  EXPECT_TRUE(found.error().message.starts_with(path + ":2:")) << found.error().message;
}

TEST_F(Book, CallbackFillsInDefaultsAndRefusesWhatIsUnknown) {
  dir_.write("r.md", "---\ndefaults: {a: one}\n---\n{{.a}} {{.conversation_id}}");
  EXPECT_EQ(*book().recipe_prompt("r", {{"conversation_id", "C"}}), "one C");
  EXPECT_EQ(*book().recipe_prompt("r", {{"conversation_id", "C"}, {"a", "two"}}), "two C");
  EXPECT_EQ(book().recipe_prompt("r", {{"b", "x"}}).error().code, Code::kInvalid);
}

RecipeDirectory refusing(const TempDir& directory, bool compact) {
  RecipeDirectory out;
  out.path = directory.path();
  out.source = RecipeSource::kProject;
  out.compact = compact;
  out.read = [&directory](const std::string& file) -> Result<RecipeDirectory::File> {
    if (!std::filesystem::exists(directory.file(file))) return Error{Code::kNotFound, "none"};
    return RecipeDirectory::File{directory.read(file), file == "good.md" ? "" : file + " waits for trust"};
  };
  return out;
}

TEST_F(Book, WhatIsNotTrustedIsRefusedAndNotParsed) {
  const TempDir project;
  project.write("review.md", "---\nbroken: [\n---\n");
  project.write("good.md", "fine");
  const RecipeBook both({refusing(project, false), RecipeDirectory{dir_.path()}}, log_);
  EXPECT_EQ(both.find("review").error().message, "review.md waits for trust");
  EXPECT_EQ(both.find("good")->source, RecipeSource::kProject);
  const auto entry = both.look("review");
  ASSERT_TRUE(entry);
  EXPECT_FALSE(entry->recipe);
  EXPECT_NE(entry->text, "") << "somebody has to read what they decide about";
}

TEST_F(Book, CompactOfAProjectIsIgnoredUnlessItIsAllowed) {
  const TempDir project;
  project.write("compact.md", "the project's");
  dir_.write("compact.md", "mine");
  const RecipeBook closed({refusing(project, false), RecipeDirectory{dir_.path()}}, log_);
  EXPECT_EQ(*closed.compaction_prompt("C", {}), "mine");
  EXPECT_EQ(closed.look("compact")->ignored, std::vector<std::string>{project.file("compact.md")});
  RecipeDirectory open = refusing(project, true);
  open.read = {};
  const RecipeBook opened({open, RecipeDirectory{dir_.path()}}, log_);
  EXPECT_EQ(*opened.compaction_prompt("C", {}), "the project's");
}

TEST_F(Book, ListTellsWhatTakesWhosePlaceAndWhatIsWrong) {
  const TempDir second;
  dir_.write("init.md", "mine");
  second.write("init.md", "other");
  second.write("bad.md", "{{end}}");
  dir_.write("notes.txt", "no recipe");
  dir_.write(".hidden.md", "no recipe");
  const RecipeBook both({RecipeDirectory{dir_.path()}, RecipeDirectory{second.path()}}, log_);
  const std::vector<RecipeEntry> all = both.list();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "bad");
  EXPECT_FALSE(all[0].recipe);
  EXPECT_EQ(all[0].problem, second.file("bad.md") + ":1:1: {{end}} without {{if}}");
  EXPECT_EQ(all[4].name, "init");
  EXPECT_EQ(all[4].path, dir_.file("init.md"));
  EXPECT_EQ(all[4].shadows, (std::vector<std::string>{second.file("init.md"), "embedded"}));
  EXPECT_TRUE(all[1].shadows.empty());
}

TEST(RecipeReference, ItsExamplesAreRecipes) {
  const auto page = read_file(std::string(AGENTD_SOURCE_DIR) + "/docs/reference/recipes.md", 1u << 20);
  ASSERT_TRUE(page) << page.error().message;
  std::vector<Recipe> examples;
  for (std::size_t at = page->find("```markdown\n"); at != std::string::npos; at = page->find("```markdown\n", at)) {
    const std::size_t begin = at + 12;
    at = page->find("\n```\n", begin);
    ASSERT_NE(at, std::string::npos);
    const auto made = parse_recipe(page->substr(begin, at + 1 - begin), "recipes.md");
    ASSERT_TRUE(made) << made.error().message;
    examples.push_back(*made);
  }
  ASSERT_EQ(examples.size(), 3u);
  EXPECT_EQ(*render_recipe(examples[0], {{"branch", "dev"}, {"focus", "tests"}}, ""),
            "Review what dev changes against main. Begin with `git diff main...dev`.\n\n"
            "Dwell on this: tests\n");
  EXPECT_EQ(*render_recipe(examples[1], {}, ""), "Explain this project to somebody who is new to it.\n");
  EXPECT_EQ(*render_recipe(examples[1], {{"what", "RAII"}, {"level", "child"}}, ""), "Explain RAII to a child.\n");
  EXPECT_TRUE(examples[2].swaps_context());
}

}  // namespace
}  // namespace agentd
