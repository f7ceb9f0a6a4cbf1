// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/hooks.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "core/recipes/recipes.h"

namespace agentd {
namespace {

std::string recipe_of(const std::string& hooks) { return "---\nname: r\nhooks:\n" + hooks + "---\nDo it.\n"; }
std::vector<RecipeHook> hooks_of(const std::string& hooks) {
  const auto made = parse_recipe(recipe_of(hooks), "r.md");
  EXPECT_TRUE(made) << made.error().message;
  return made ? made->hooks : std::vector<RecipeHook>();
}
std::string error_of(const std::string& hooks) {
  const auto made = parse_recipe(recipe_of(hooks), "r.md");
  return made ? "no error" : made.error().message;
}

TEST(RecipeHooks, OneHandlerWithItsParameters) {
  const auto hooks = hooks_of("  turn_end:\n    handler: append_context\n    once: true\n    params: {text: hello}\n");
  ASSERT_EQ(hooks.size(), 1u);
  EXPECT_EQ(hooks[0].event, static_cast<std::uint32_t>(AGENTD_EVENT_TURN_END));
  EXPECT_EQ(hooks[0].handler, RecipeHandler::kAppendContext);
  EXPECT_EQ(hooks[0].once, RecipeOnce::kRun);
  EXPECT_EQ(hooks[0].text, "hello");
  EXPECT_EQ(hooks[0].place, "r.md:5:5");
  EXPECT_FALSE(hooks[0].before_external);
}

TEST(RecipeHooks, RecipeOfTheProposalIsRead) {
  const auto hooks = hooks_of("  turn_end:\n    handler: swap_context\n    once: true\n");
  ASSERT_EQ(hooks.size(), 1u);
  EXPECT_EQ(hooks[0].handler, RecipeHandler::kSwapContext);
}

TEST(RecipeHooks, SeveralEventsAndTheOrderOfHandlers) {
  const auto hooks = hooks_of(
      "  before_tool_call: {handler: log_tool_usage}\n"
      "  after_tool_call: {handler: validate_tool_output, params: {schema: {type: object}, tools: "
      "[bash]}}\n"
      "  turn_end:\n    once: conversation\n    handlers: [export_markdown, external, "
      "append_context]\n"
      "    params:\n      export_markdown: {path: a.md}\n      append_context: {text: x}\n");
  ASSERT_EQ(hooks.size(), 4u);
  EXPECT_EQ(hooks[0].handler, RecipeHandler::kLogToolUsage);
  EXPECT_EQ(hooks[1].schema_json, R"({"type":"object"})");
  EXPECT_EQ(hooks[1].tools, std::vector<std::string>{"bash"});
  EXPECT_EQ(hooks[2].path, "a.md");
  EXPECT_TRUE(hooks[2].before_external);
  EXPECT_FALSE(hooks[3].before_external);
  EXPECT_EQ(hooks[3].once, RecipeOnce::kConversation);
}

TEST(RecipeHooks, SchemaMayBeJsonText) {
  const auto hooks = hooks_of(
      "  turn_end:\n    handler: validate_output\n    params: {schema: '{\"type\": \"object\"}', "
      "retries: 0}\n");
  ASSERT_EQ(hooks.size(), 1u);
  EXPECT_EQ(hooks[0].retries, 0u);
}

TEST(RecipeHooks, MistakesAreToldWithTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"  turn_ent: {handler: swap_context}\n", "r.md:4:3: no event named 'turn_ent': did you mean 'turn_end'?"},
      {"  turn_end: {handler: swap}\n",
       "r.md:4:14: no handler named 'swap': the handlers are swap_context, append_context, "
       "export_markdown, "
       "validate_output, log_tool_usage and validate_tool_output"},
      {"  turn_end: {handler: log_tool_usage}\n",
       "log_tool_usage cannot act at turn_end: it belongs to before_tool_call, after_tool_call and "
       "tool_call_failed"},
      {"  turn_start: {handler: append_context, params: {text: x}}\n",
       "append_context cannot act at turn_start, which takes no context"},
      {"  turn_end: swap_context\n", "r.md:4:3: hooks.turn_end must be a map with handler or handlers"},
      {"  turn_end: {once: true}\n", "hooks.turn_end needs one of handler and handlers"},
      {"  turn_end: {handler: swap_context, handlers: [swap_context]}\n", "needs one of handler and handlers"},
      {"  turn_end: {handlers: swap_context}\n", "handlers must be a list of names"},
      {"  turn_end: {handlers: []}\n", "handlers must be a list of names"},
      {"  turn_end: {handlers: [external]}\n", "'external' alone is not a handler"},
      {"  turn_end: {handlers: [swap_context, swap_context]}\n", "'swap_context' is repeated"},
      {"  turn_end: {handlers: [external, external, swap_context]}\n", "'external' is repeated"},
      {"  turn_end: {handler: swap_context, once: sometimes}\n", "once must be true, false, run or conversation"},
      {"  turn_end: {handler: swap_context, when: x}\n", "unknown key 'when'"},
      {"  turn_end: {handler: swap_context, params: {text: x}}\n", "swap_context has no parameter 'text'"},
      {"  turn_end: {handler: append_context}\n", "append_context needs params with text"},
      {"  turn_end: {handler: export_markdown, params: {file: x}}\n",
       "export_markdown has no parameter 'file': it takes path"},
      {"  turn_end: {handler: append_context, params: [x]}\n", "params must be a map"},
      {"  turn_end: {handler: append_context, params: {text: [x]}}\n", "text must be a text"},
      {"  turn_end: {handler: validate_output, params: {schema: [x]}}\n", "schema must be a JSON schema"},
      {"  turn_end: {handler: validate_output, params: {schema: '{'}}\n", "the schema is not JSON"},
      {"  turn_end: {handler: validate_output, params: {schema: {type: strng}}}\n",
       "the schema: at /type: \"strng\" must be null"},
      {"  turn_end: {handler: validate_output, params: {schema: {}, retries: 9}}\n",
       "retries must be a whole number from 0 to 7"},
      {"  turn_end: {handlers: [swap_context, append_context], params: {text: x}}\n",
       "params of several handlers must be below their names; 'text' is not one of them"},
      {"  - turn_end\n", "hooks must be a map of events"}};
  for (const auto& [hooks, sentence] : cases) {
    const std::string got = error_of(hooks);
    EXPECT_NE(got.find(sentence), std::string::npos) << hooks << got;
    EXPECT_TRUE(got.starts_with("r.md:")) << got;
  }
}

TEST(RecipeHooks, ExampleOfTheReferenceIsARecipe) {
  const auto page = read_file(std::string(AGENTD_SOURCE_DIR) + "/docs/reference/recipe-hooks.md", 1u << 20);
  ASSERT_TRUE(page) << page.error().message;
  const std::size_t begin = page->find("```markdown\n") + 12;
  const auto made = parse_recipe(page->substr(begin, page->find("\n```", begin) + 1 - begin), "page.md");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->hooks.size(), 4u);
}

}  // namespace
}  // namespace agentd
