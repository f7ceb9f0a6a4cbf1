// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/handlers.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/codec/json.h"
#include "tests/support/hook_fakes.h"

namespace agentd {
namespace {

using testing::RecordingLog;
using testing::TestHook;
using testing::TestSlots;

// A plugin's store and the messages of one conversation only.
class FakeServices final : public RefusingServices {
 public:
  FakeServices() : RefusingServices(none()) {}

  Result<PluginKey> get(const ServiceCaller&, std::string_view key) override {
    if (broken) return none();
    const auto found = kept.find(std::string(key));
    if (found == kept.end()) return Error{Code::kNotFound, "no key"};
    return PluginKey{found->first, found->second, 1};
  }
  Result<std::uint64_t> commit(const ServiceCaller&, std::span<const PluginKeyOp> ops) override {
    if (broken) return none();
    for (const PluginKeyOp& op : ops) kept[op.key] = op.value;
    return std::uint64_t{1};
  }
  Result<Rows> messages(std::string_view, std::uint32_t scope, std::uint64_t, std::uint64_t from,
                        std::uint32_t limit) override {
    if (broken) return none();
    EXPECT_EQ(scope, AGENTD_SCOPE_LOG);
    Rows out;
    for (const agentd_message& row : log)
      if (row.seq >= from && out.size() < limit) out.append_copy(row);
    return out;
  }

  bool broken = false;
  std::map<std::string, std::string> kept;
  Rows log;

 private:
  static Error none() { return {Code::kUnavailable, "no services in this test"}; }
};

class Handlers : public ::testing::Test {
 protected:
  void load(const std::string& hooks, std::vector<Subscription> others = {}) {
    const auto recipe = parse_recipe("---\nname: r\nhooks:\n" + hooks + "---\nDo it.\n", "r.md");
    ASSERT_TRUE(recipe) << recipe.error().message;
    load_recipe(*recipe, std::move(others));
  }
  void load_recipe(const Recipe& recipe, std::vector<Subscription> others) {
    HandlerHost host{services_, log_, clock_,
                     [this](const std::string& path, std::string_view text) -> Result<void> {
                       if (path.starts_with("/")) return Error{Code::kDenied, "outside the roots"};
                       files_[path] = std::string(text);
                       return {};
                     },
                     [this](agentd_token token) { return &slots_.of(token); }};
    auto made = RecipeHandlers::make(recipe, std::move(host));
    ASSERT_TRUE(made) << made.error().message;
    handlers_ = std::move(*made);
    for (Subscription& one : handlers_->subscriptions()) others.push_back(std::move(one));
    snapshot_ = std::make_unique<Snapshot>(std::move(others), std::vector<std::string>{}, clock_);
  }

  std::unique_ptr<Outcome> fire(std::uint32_t event, const void* payload,
                                void (*rewrite)(void*, std::uint32_t, std::string_view) = nullptr,
                                void* context = nullptr) {
    agentd_envelope envelope{};
    envelope.size = sizeof envelope;
    envelope.conversation_id = to_abi(conversation_);
    envelope.run_id = to_abi(run_);
    envelope.recipe = to_abi(recipe_);
    envelope.revision = ++revision_;
    Dispatch what;
    what.event = event;
    what.envelope = &envelope;
    what.payload = payload;
    what.rewrite = rewrite;
    what.context = context;
    const SlotLease slot(slots_);
    return dispatch(*snapshot_, *slot, what);
  }
  std::unique_ptr<Outcome> turn_end(bool final = true) {
    agentd_turn payload{};
    payload.size = sizeof payload;
    payload.flags = final ? AGENTD_TURN_FINAL : 0;
    return fire(AGENTD_EVENT_TURN_END, &payload);
  }
  std::unique_ptr<Outcome> stop(std::string_view response = "done") {
    agentd_agent_stop payload{};
    payload.size = sizeof payload;
    payload.response = to_abi(response);
    payload.stop_reason = stop_reason_;
    return fire(AGENTD_EVENT_AGENT_STOP, &payload);
  }
  std::unique_ptr<Outcome> after_tool(std::string_view name, std::string_view output) {
    agentd_tool_result result{};
    result.size = sizeof result;
    result.success = 1;
    result.content = to_abi(output);
    result.full_len = output.size();
    result.duration_ns = 5'000'000;
    agentd_tool_call payload{};
    payload.size = sizeof payload;
    payload.name = to_abi(name);
    payload.call_id = to_abi("c1");
    payload.input_json = to_abi(R"({"secret":"hunter2"})");
    payload.result = &result;
    output_ = std::string(output);
    return fire(
        AGENTD_EVENT_AFTER_TOOL_CALL, &payload,
        [](void* context, std::uint32_t, std::string_view text) {
          *static_cast<std::string*>(context) = std::string(text);
        },
        &output_);
  }
  static std::string context_of(const std::unique_ptr<Outcome>& outcome) {
    return outcome && !outcome->contexts.empty() ? outcome->contexts[0].action.text : "";
  }
  static std::string continue_of(const std::unique_ptr<Outcome>& outcome) {
    return outcome && !outcome->continues.empty() ? outcome->continues[0].action.text : "";
  }

  SystemClock clock_;
  TestSlots slots_;
  FakeServices services_;
  RecordingLog log_;
  std::map<std::string, std::string> files_;
  std::unique_ptr<RecipeHandlers> handlers_;
  std::unique_ptr<Snapshot> snapshot_;
  std::string conversation_ = "01J00000000000000000000000", run_ = "run-1", recipe_ = "r", output_;
  std::uint64_t revision_ = 10;
  std::uint32_t stop_reason_ = AGENTD_STOP_END_TURN;
};

const std::string kAppend = "  turn_end: {handler: append_context, params: {text: 'in {{.conversation_id}}'}";

TEST_F(Handlers, AppendContextActsOnTheFinalTurnOnly) {
  load(kAppend + "}\n");
  EXPECT_EQ(turn_end(false), nullptr);
  EXPECT_EQ(context_of(turn_end()), "in " + conversation_);
  EXPECT_EQ(context_of(turn_end()), "in " + conversation_);
}

TEST_F(Handlers, OnceIsOnceARun) {
  load(kAppend + ", once: true}\n");
  EXPECT_EQ(turn_end(false), nullptr) << "the middle of the run does not use it up";
  EXPECT_NE(turn_end(), nullptr);
  EXPECT_EQ(turn_end(), nullptr);
  run_ = "run-2";
  EXPECT_NE(turn_end(), nullptr);
}

TEST_F(Handlers, OnceAConversationIsKeptInTheStore) {
  load(kAppend + ", once: conversation}\n");
  EXPECT_NE(turn_end(), nullptr);
  run_ = "run-2";
  EXPECT_EQ(turn_end(), nullptr);
  load(kAppend + ", once: conversation}\n");
  EXPECT_EQ(turn_end(), nullptr) << "another process knows it";
  conversation_ = "01J00000000000000000000001";
  EXPECT_NE(turn_end(), nullptr);
}

TEST_F(Handlers, StoreThatCannotBeReadIsToldAndTheHandlerRuns) {
  load(kAppend + ", once: conversation}\n");
  services_.broken = true;
  EXPECT_NE(turn_end(), nullptr);
  EXPECT_TRUE(log_.mentions("the store cannot say whether it already did"));
  EXPECT_TRUE(log_.mentions("could not be recorded"));
}

TEST_F(Handlers, RunOfAnotherRecipeIsLeftAlone) {
  load(kAppend + "}\n");
  recipe_ = "other";
  EXPECT_EQ(turn_end(), nullptr);
  recipe_ = "";
  EXPECT_NE(turn_end(), nullptr);
}

TEST_F(Handlers, SwapContextReplacesTheConversationByTheAnswer) {
  load("  turn_end: {handler: swap_context, once: true}\n");
  EXPECT_EQ(turn_end(), nullptr);
  const auto got = stop("the summary");
  ASSERT_TRUE(got && got->exclusive_action() != nullptr);
  EXPECT_EQ(got->exclusive_action()->kind, static_cast<std::uint32_t>(AGENTD_ACT_REPLACE_MESSAGES));
  EXPECT_EQ(got->exclusive_action()->base_revision, revision_);
  ASSERT_EQ(got->exclusive_action()->parts.size(), 1u);
  EXPECT_EQ(got->exclusive_action()->parts[0].literal.text(), "the summary");
  EXPECT_EQ(got->exclusive_action()->parts[0].literal.role, Role::kSummary);
  EXPECT_EQ(stop("more"), nullptr);
}

TEST_F(Handlers, SwapContextRefusesAnEmptyAnswer) {
  load("  turn_end: {handler: swap_context}\n");
  const auto got = stop("  \n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exclusive_action(), nullptr);
  ASSERT_EQ(got->failures.size(), 1u);
  EXPECT_NE(got->failures[0].text.find("the answer is empty"), std::string::npos);
}

TEST_F(Handlers, SwapContextRefusesAnAnswerThatWasDeclinedOrCut) {
  load("  turn_end: {handler: swap_context, once: true}\n");
  for (const auto& [reason, what] : std::map<std::uint32_t, std::string>{{AGENTD_STOP_REFUSAL, "declined"},
                                                                         {AGENTD_STOP_MAX_TOKENS, "cut short"},
                                                                         {AGENTD_STOP_CONTEXT_LENGTH, "cut short"},
                                                                         {AGENTD_STOP_INTERRUPTED, "cut short"}}) {
    stop_reason_ = reason;
    const auto got = stop("half a summ");
    ASSERT_TRUE(got && got->failures.size() == 1);
    EXPECT_EQ(got->exclusive_action(), nullptr);
    EXPECT_NE(got->failures[0].text.find(what), std::string::npos) << got->failures[0].text;
  }
  stop_reason_ = AGENTD_STOP_END_TURN;
  const auto whole = stop("a summary");
  EXPECT_TRUE(whole && whole->exclusive_action() != nullptr) << "a refused answer does not use up `once`";
}

// ---- allowed_commands

class Commands : public Handlers {
 protected:
  void load_commands(RecipeSource source) {
    auto recipe = parse_recipe("---\nname: r\nallowed_commands: ['git status', 'git log *']\n---\nx", "r.md");
    ASSERT_TRUE(recipe) << recipe.error().message;
    recipe->source = source;
    load_recipe(*recipe, {});
  }
  std::unique_ptr<Outcome> ask(std::string_view tool, std::string_view input) {
    agentd_tool_call payload{};
    payload.size = sizeof payload;
    payload.name = to_abi(tool);
    payload.call_id = to_abi("c1");
    payload.input_json = to_abi(input);
    return fire(AGENTD_EVENT_BEFORE_TOOL_CALL, &payload);
  }
};

TEST_F(Commands, AllowedOnesRunWithoutAQuestion) {
  load_commands(RecipeSource::kUser);
  const auto got = ask("bash", R"({"command":"git log -3"})");
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->blocked);
  EXPECT_EQ(got->permission, static_cast<std::uint32_t>(AGENTD_PERMISSION_ALLOW));
}

TEST_F(Commands, OthersAreDeniedWithWhatIsAllowed) {
  load_commands(RecipeSource::kUser);
  const auto got = ask("bash", R"({"command":"rm -rf /"})");
  ASSERT_TRUE(got && got->blocked);
  EXPECT_EQ(got->reason,
            "the recipe r: 'rm -rf /' is not one of its allowed commands (it allows git status, git log *)");
  EXPECT_TRUE(ask("bash", R"({"command":"git log; rm -rf /"})")->blocked);
  EXPECT_TRUE(ask("bash", R"({"cmd":"git status"})")->blocked);
  EXPECT_TRUE(ask("bash", "nonsense")->blocked);
}

TEST_F(Commands, OtherToolsAndOtherRecipesAreLeftAlone) {
  load_commands(RecipeSource::kUser);
  EXPECT_EQ(ask("read_file", R"({"path":"x"})"), nullptr);
  recipe_ = "other";
  EXPECT_EQ(ask("bash", R"({"command":"rm"})"), nullptr);
}

TEST_F(Commands, RecipeOfAProjectDeniesButNeverGrants) {
  load_commands(RecipeSource::kProject);
  EXPECT_EQ(ask("bash", R"({"command":"git status"})"), nullptr);
  EXPECT_TRUE(ask("bash", R"({"command":"rm"})")->blocked);
}

TEST_F(Handlers, ExportMarkdownWritesEveryMessage) {
  Message call = Message::of_text(Role::kAssistant, "I look.");
  call.blocks.push_back(Block::tool_use("c1", "bash", R"({"command":"ls"})"));
  Message result;
  result.blocks.push_back(Block::tool_result("c1", "a ``` b", false));
  services_.log.append(Message::of_text(Role::kUser, "What is here?"), 1, 0);
  services_.log.append(call, 2, 0);
  services_.log.append(result, 3, 0);
  services_.log.append(Message::of_text(Role::kAssistant, "A file."), 4, 0);
  load("  turn_end: {handler: export_markdown, params: {path: 'out/{{.conversation_id}}.md'}}\n");
  EXPECT_EQ(stop(), nullptr);
  EXPECT_EQ(files_["out/" + conversation_ + ".md"],
            "# Conversation " + conversation_ +
                "\n\n## User\n\nWhat is here?\n\n## Assistant\n\nI look.\n\n**Tool call** "
                "`bash`\n\n```json\n"
                "{\"command\":\"ls\"}\n```\n\n**Tool result**\n\n````\na ``` b\n````\n\nA file.\n");
}

TEST_F(Handlers, ExportMarkdownReadsLongConversationsInParts) {
  for (std::uint64_t i = 1; i <= 2'500; ++i)
    services_.log.append(Message::of_text(Role::kUser, "message " + std::to_string(i)), i, 0);
  load("  turn_end: {handler: export_markdown, params: {path: a.md}}\n");
  stop();
  EXPECT_NE(files_["a.md"].find("message 1\n"), std::string::npos);
  EXPECT_NE(files_["a.md"].find("message 2500\n"), std::string::npos);
}

TEST_F(Handlers, ExportMarkdownThatCannotWriteOrReadSaysSo) {
  load("  turn_end: {handler: export_markdown, params: {path: /etc/x.md}}\n");
  auto got = stop();
  ASSERT_TRUE(got && got->failures.size() == 1);
  EXPECT_EQ(got->failures[0].text, "export_markdown: /etc/x.md: outside the roots");
  services_.broken = true;
  got = stop();
  ASSERT_TRUE(got && got->failures.size() == 1);
  EXPECT_EQ(got->failures[0].text, "export_markdown: no services in this test");
}

const std::string kValidate =
    "  turn_end: {handler: validate_output, params: {schema: {type: object, required: [a]}}}\n";

TEST_F(Handlers, ValidOutputPasses) {
  load(kValidate);
  EXPECT_EQ(stop(R"({"a":1})"), nullptr);
  EXPECT_EQ(stop("```json\n{\"a\":1}\n```\n"), nullptr);
  EXPECT_FALSE(handlers_->failure());
}

TEST_F(Handlers, WrongOutputGoesBackTwiceThenTheRunHasFailed) {
  load(kValidate);
  EXPECT_NE(continue_of(stop("words")).find("the answer is not JSON"), std::string::npos);
  EXPECT_TRUE(handlers_->failure()) << "a run that ends before the next answer has failed, too";
  const std::string second = continue_of(stop("{}"));
  EXPECT_NE(second.find("the answer breaks the schema: the value breaks \"required\": [\"a\"]"), std::string::npos);
  EXPECT_NE(second.find(R"({"type":"object","required":["a"]})"), std::string::npos);
  const auto third = stop("{}");
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->continues.empty());
  EXPECT_EQ(third->failures.size(), 1u);
  ASSERT_TRUE(handlers_->failure());
  EXPECT_EQ(*handlers_->failure(),
            "the answer breaks the schema: the value breaks \"required\": [\"a\"], after 2 corrections");
}

TEST_F(Handlers, CorrectedOutputIsNoFailureAndTheNextRunBeginsAnew) {
  load(kValidate);
  stop("words");
  EXPECT_EQ(stop(R"({"a":1})"), nullptr);
  EXPECT_FALSE(handlers_->failure());
  stop("x"), stop("x");
  run_ = "run-2";
  EXPECT_NE(continue_of(stop("x")), "");
  EXPECT_EQ(stop(R"({"a":1})"), nullptr);
  EXPECT_FALSE(handlers_->failure());
}

TEST_F(Handlers, HandlersBehindARefusedAnswerDoNothingAtThatStop) {
  load(
      "  turn_end:\n    once: true\n    handlers: [validate_output, swap_context]\n"
      "    params: {validate_output: {schema: {type: object}}}\n");
  const auto first = stop("words");
  EXPECT_NE(continue_of(first), "");
  EXPECT_EQ(first->exclusive_action(), nullptr);
  EXPECT_NE(continue_of(stop("more words")), "") << "a refused answer does not use up `once`";
  const auto second = stop("{}");
  ASSERT_TRUE(second);
  EXPECT_NE(second->exclusive_action(), nullptr);
}

TEST_F(Handlers, OrderIsThatOfTheRecipeAroundTheOthers) {
  TestHook other(slots_, AGENTD_EVENT_TURN_END, "other", [](const testing::TestCall& call) {
    return call.answer(testing::action(AGENTD_ACT_INJECT_CONTEXT, "other"));
  });
  other.what.priority = 32'000;
  const auto first = [&](const std::string& handlers) {
    load("  turn_end: {handlers: " + handlers + ", params: {text: mine}}\n", {other.what});
    const auto got = turn_end();
    return context_of(got);
  };
  EXPECT_EQ(first("[external, append_context]"), "other");
  EXPECT_EQ(first("[append_context]"), "other") << "where it is not named, it comes first";
  other.what.priority = 100;
  EXPECT_EQ(first("[append_context, external]"), "mine");
}

TEST_F(Handlers, LogToolUsageWritesOneLineWithoutInputOrOutput) {
  load("  after_tool_call: {handler: log_tool_usage}\n");
  EXPECT_EQ(after_tool("bash", "the output"), nullptr);
  ASSERT_EQ(log_.lines.size(), 1u);
  const auto line = JsonDocument::parse(log_.lines[0].substr(std::string("recipes: ").size()));
  ASSERT_TRUE(line) << log_.lines[0];
  EXPECT_EQ(line->root()["tool"].string_or(""), "bash");
  EXPECT_EQ(line->root()["event"].string_or(""), "after_tool_call");
  EXPECT_EQ(line->root()["output_bytes"].int_or(0), 10);
  EXPECT_EQ(line->root()["duration_ms"].int_or(0), 5);
  EXPECT_FALSE(log_.mentions("hunter2"));
  EXPECT_FALSE(log_.mentions("the output"));
}

TEST_F(Handlers, ValidateToolOutputTellsTheModelBesideTheOutput) {
  load(
      "  after_tool_call: {handler: validate_tool_output, params: {schema: {type: object}, tools: "
      "[api]}}\n");
  EXPECT_EQ(after_tool("api", R"({"a":1})"), nullptr);
  EXPECT_EQ(after_tool("bash", "words"), nullptr) << "another tool";
  EXPECT_NE(after_tool("api", "[1]"), nullptr);
  EXPECT_EQ(output_,
            "[1]\n\n[the recipe r checks this output: the output of api breaks the schema: the "
            "value breaks "
            "\"type\": \"object\"]");
}

TEST_F(Handlers, RecipeWithoutHooksSubscribesToNothing) {
  const auto recipe = parse_recipe("---\nname: r\n---\nDo it.\n", "r.md");
  ASSERT_TRUE(recipe);
  auto made = RecipeHandlers::make(*recipe, {services_, log_, clock_, {}, {}});
  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->subscriptions().empty());
  EXPECT_FALSE((*made)->failure());
}

}  // namespace
}  // namespace agentd
