// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/recipes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

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

TEST(Template, ErrorsNameTheLine) {
  EXPECT_EQ(rendered("a\nb {{.x"), "error: r.md: template line 2: {{ has no }}");
  EXPECT_EQ(rendered("\n\n{{if .x}}a"), "error: r.md: template line 3: {{if}} has no {{end}}");
  EXPECT_EQ(rendered("{{end}}"), "error: r.md: template line 1: {{end}} without {{if}}");
  EXPECT_EQ(rendered("{{else}}"), "error: r.md: template line 1: {{else}} without {{if}}");
  EXPECT_NE(rendered("{{if .x}}{{else}}{{else}}{{end}}").find("{{else}} without"), std::string::npos);
  EXPECT_NE(rendered("{{range .x}}{{end}}").find("'range .x' is not understood"), std::string::npos);
  EXPECT_NE(rendered("{{if x}}{{end}}").find("needs a .name"), std::string::npos);
  EXPECT_NE(rendered("{{default x .y}}").find("{{default}} needs"), std::string::npos);
  EXPECT_NE(rendered("{{}}").find("not understood"), std::string::npos);
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
  EXPECT_TRUE(refused("---\nname: x\nnmae: y\n---\nbody").starts_with("dir/r.md:3:")) << refused("---\nname: x\nnmae: y\n---\nbody");
  EXPECT_NE(refused("---\nname: x\nnmae: y\n---\nbody").find("unknown key 'nmae'"), std::string::npos);
  EXPECT_TRUE(refused("---\nallowed_tools: {a: b}\n---\nbody").starts_with("dir/r.md:2:"));
  EXPECT_TRUE(refused("---\n- a\n---\nbody").starts_with("dir/r.md:2:"));
  EXPECT_TRUE(refused("---\nname: [a\n---\nbody").starts_with("dir/r.md:"));
  EXPECT_TRUE(refused("---\nname: [a, b]\n---\nbody").starts_with("dir/r.md:2:"));
  EXPECT_NE(refused("---\nname: x\n---\n \n").find("has no text"), std::string::npos);
}

class Book : public ::testing::Test {
 protected:
  RecipeBook book() { return RecipeBook({dir_.path()}, log_); }
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

TEST_F(Book, FirstDirectoryWins) {
  const TempDir second;
  dir_.write("r.md", "one");
  second.write("r.md", "two");
  second.write("only.md", "three");
  const RecipeBook both({dir_.path(), second.path()}, log_);
  EXPECT_EQ(both.find("r")->body, "one");
  EXPECT_EQ(both.find("only")->body, "three");
}

}  // namespace
}  // namespace agentd
