// SPDX-License-Identifier: Apache-2.0
// What a handler can do: every action, every service, tools, fields, time.
#include <gtest/gtest.h>
#include <agentd/drafts.hpp>
#include <agentd/fake_workspace.hpp>
#include <agentd/hook.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace agentd {
namespace {

using testing::fake_host;
using testing::outcome;

// A hook whose body is the test's.
struct Scripted {
  static constexpr std::string_view hook_wants[] = {id::compactor, id::thread_factory, id::store};
  static constexpr bool wants_messages = true;
  static inline std::function<void(call&)> body;
  static inline host kept;

  explicit Scripted(init& from) { kept = from.host(); }
  void on_session_start(call& c) { body(c); }
  void on_user_message_send(call& c) { body(c); }
  void on_before_model_call(call& c) { body(c); }
  void on_after_model_call(call& c) { body(c); }
  void on_before_tool_call(call& c) { body(c); }
  void on_permission_request(call& c) { body(c); }
  void on_agent_stop(call& c) { body(c); }
  void on_before_compaction(call& c) { body(c); }
  void on_after_compaction(call& c) { body(c); }
};

class CallTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(host_.create().status, AGENTD_OK); }
  void TearDown() override {
    host_.destroy();
    Scripted::body = nullptr;
    Scripted::kept = {};
    for (const std::string& breach : host_.breaches()) ADD_FAILURE() << breach;
  }
  template <typename Fire>
  outcome with(std::function<void(call&)> body, Fire fire) {
    Scripted::body = std::move(body);
    return fire(host_);
  }
  outcome at_stop(std::function<void(call&)> body) {
    return with(std::move(body), [](fake_host& h) { return h.agent_stop(); });
  }
  outcome at_tool(std::function<void(call&)> body) {
    return with(std::move(body), [](fake_host& h) { return h.before_tool_call(); });
  }
  outcome at_compaction(std::function<void(call&)> body) {
    return with(std::move(body), [](fake_host& h) { return h.before_compaction(); });
  }

  fake_host host_{&entry_for<Scripted>};
};

TEST_F(CallTest, BlockCarriesItsReason) {
  EXPECT_EQ(at_tool([](call& c) { c.block("no"); }).text(AGENTD_ACT_BLOCK), "no");
  EXPECT_EQ(at_tool([](call& c) { c.stop_run("enough"); }).text(AGENTD_ACT_STOP_RUN), "enough");
}

TEST_F(CallTest, ContinueCarriesTheNextMessage) {
  EXPECT_EQ(at_stop([](call& c) { c.continue_with("go on"); }).text(AGENTD_ACT_CONTINUE), "go on");
}

TEST_F(CallTest, CompactCarriesItsRequest) {
  const outcome got = at_stop([](call& c) {
    c.compact({.strategy = AGENTD_STRATEGY_TAIL, .keep_tokens = 9, .model = "m", .instructions = "i"});
  });
  const auto* act = got.find(AGENTD_ACT_COMPACT);
  ASSERT_NE(act, nullptr);
  EXPECT_EQ(act->strategy, unsigned{AGENTD_STRATEGY_TAIL});
  EXPECT_EQ(act->keep_tokens, 9u);
  EXPECT_EQ(act->model, "m");
  EXPECT_EQ(act->instructions, "i");
}

TEST_F(CallTest, SummaryAndCallbackAreEmitted) {
  EXPECT_EQ(at_compaction([](call& c) { c.summary("short"); }).text(AGENTD_ACT_SUMMARY), "short");
  const outcome got = at_stop([](call& c) { c.callback("review", R"({"a":1})"); });
  EXPECT_EQ(got.text(AGENTD_ACT_CALLBACK), "review");
  EXPECT_EQ(got.find(AGENTD_ACT_CALLBACK)->arguments_json, R"({"a":1})");
}

TEST_F(CallTest, ReplaceTakesTheRevisionOfTheCall) {
  host_.conversation.add(user_message("one"));
  const auto kept = host_.conversation.add(assistant_message("two"));
  const outcome got = at_stop([](call& c) {
    const stop_view stop(static_cast<const agentd_agent_stop*>(c.raw().payload));
    c.replace(replacement().summary("s").keep(stop.messages().back()));
  });
  const auto* act = got.find(AGENTD_ACT_REPLACE_MESSAGES);
  ASSERT_NE(act, nullptr);
  EXPECT_EQ(act->base_revision, host_.conversation.revision);
  ASSERT_EQ(act->parts.size(), 2u);
  EXPECT_EQ(act->parts[0].role, AGENTD_ROLE_SUMMARY);
  EXPECT_EQ(act->parts[1].first, kept);
  EXPECT_EQ(act->parts[1].last, kept);
}

TEST_F(CallTest, RewriteContextAndSystemMessage) {
  const outcome got = with(
      [](call& c) {
        c.rewrite("new");
        c.inject_context("ctx");
        c.system_message("note");
      },
      [](fake_host& h) { return h.user_message_send({.text = "old"}); });
  EXPECT_EQ(got.text(AGENTD_ACT_REPLACE_TEXT), "new");
  EXPECT_EQ(got.text(AGENTD_ACT_INJECT_CONTEXT), "ctx");
  EXPECT_EQ(got.text(AGENTD_ACT_SYSTEM_MESSAGE), "note");
}

TEST_F(CallTest, SetsOfACompaction) {
  const outcome got = at_compaction([](call& c) {
    c.set_model("m");
    c.set_instructions("i");
    c.set_strategy(AGENTD_STRATEGY_USERS);
    c.set_keep_tokens(77);
  });
  ASSERT_EQ(got.actions.size(), 4u);
  EXPECT_EQ(got.actions[0].key, AGENTD_KEY_MODEL);
  EXPECT_EQ(got.actions[0].text, "m");
  EXPECT_EQ(got.actions[1].text, "i");
  EXPECT_EQ(got.actions[2].number, unsigned{AGENTD_STRATEGY_USERS});
  EXPECT_EQ(got.actions[3].number, 77u);
}

TEST_F(CallTest, SetsOfAStop) {
  const outcome got = at_stop([](call& c) {
    c.set_then_continue(true);
    c.set_title("a title");
  });
  ASSERT_EQ(got.actions.size(), 2u);
  EXPECT_EQ(got.actions[0].key, AGENTD_KEY_THEN);
  EXPECT_EQ(got.actions[0].number, 1u);
  EXPECT_EQ(got.actions[1].text, "a title");
}

TEST_F(CallTest, ToolsAreSwitchedByName) {
  const outcome got = with(
      [](call& c) {
        c.enable_tools("bash,grep");
        c.disable_tools("write_file");
      },
      [](fake_host& h) { return h.before_model_call(); });
  EXPECT_EQ(got.text(AGENTD_ACT_TOOLS_ENABLE), "bash,grep");
  EXPECT_EQ(got.text(AGENTD_ACT_TOOLS_DISABLE), "write_file");
}

TEST_F(CallTest, PermissionsHaveADecisionAndAReason) {
  const outcome got = with(
      [](call& c) {
        c.allow("fine", true);
        c.deny("bad");
        c.ask();
      },
      [](fake_host& h) { return h.permission_request(); });
  ASSERT_EQ(got.actions.size(), 3u);
  EXPECT_EQ(got.actions[0].decision, AGENTD_PERMISSION_ALLOW);
  EXPECT_TRUE(got.actions[0].for_session);
  EXPECT_EQ(got.actions[1].decision, AGENTD_PERMISSION_DENY);
  EXPECT_EQ(got.actions[1].text, "bad");
  EXPECT_FALSE(got.actions[1].for_session);
  EXPECT_EQ(got.actions[2].decision, AGENTD_PERMISSION_ASK);
}

TEST_F(CallTest, LogGoesToTheHost) {
  at_stop([](call& c) {
    c.log_warning("careful");
    c.log_debug("detail");
  });
  ASSERT_EQ(host_.log.size(), 2u);
  EXPECT_EQ(host_.log[0].level, AGENTD_LEVEL_WARNING);
  EXPECT_EQ(host_.log[0].text, "careful");
}

TEST_F(CallTest, ArenaGivesAlignedMemoryAndCopies) {
  at_stop([](call& c) {
    auto* numbers = c.arena_array<std::uint64_t>(100);
    ASSERT_NE(numbers, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers) % alignof(std::uint64_t), 0u);
    for (int i = 0; i < 100; ++i) numbers[i] = 1;
    EXPECT_EQ(c.arena_text("abc"), "abc");
    EXPECT_EQ(c.arena_text(""), "");
    EXPECT_EQ(c.arena_array<std::uint64_t>(SIZE_MAX / 4), nullptr);
  });
}

TEST_F(CallTest, TimeLeftFollowsTheHostsClock) {
  host_.timeout_ns = 1000;
  at_stop([this](call& c) {
    EXPECT_EQ(c.time_left_ns(), 1000u);
    host_.advance(400);
    EXPECT_EQ(c.time_left_ns(), 600u);
    host_.advance(700);
    EXPECT_EQ(c.time_left_ns(), 0u);
  });
  host_.timeout_ns = UINT64_MAX;
  at_stop([](call& c) { EXPECT_EQ(c.time_left_ns(), UINT64_MAX); });
}

TEST_F(CallTest, CancelIsSeenWhileTheCallRuns) {
  at_stop([this](call& c) {
    EXPECT_FALSE(c.cancelled());
    host_.cancel(AGENTD_CANCEL_SHUTDOWN);
    EXPECT_TRUE(c.cancelled());
    EXPECT_EQ(c.cancel_reason(), AGENTD_CANCEL_SHUTDOWN);
  });
}

TEST_F(CallTest, EnvelopeSaysWhereWeAre) {
  host_.conversation.cwd = "/here";
  host_.conversation.used = 5;
  at_stop([](call& c) {
    EXPECT_EQ(c.event(), event::agent_stop);
    EXPECT_EQ(c.envelope().cwd(), "/here");
    EXPECT_EQ(c.envelope().context().used(), 5u);
    EXPECT_EQ(c.envelope().conversation_id().size(), 26u);
  });
}

// ---- services

TEST_F(CallTest, CompactorSummarisesAndCounts) {
  host_.compactor.summary = "sum";
  at_stop([](call& c) {
    const auto made = c.compactor().compact(3, 8, {.instructions = "short"});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->summary(), "sum");
    EXPECT_EQ(c.compactor().count("12345").value_or(0), 2u);
    EXPECT_NE(c.compactor().prompt({.instructions = "hm"})->find("hm"), std::string_view::npos);
    EXPECT_EQ(c.compactor().request("nobody"), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(c.compactor().request(c.envelope().conversation_id()), AGENTD_OK);
  });
  ASSERT_EQ(host_.compactor.compacted.size(), 1u);
  EXPECT_EQ(host_.compactor.compacted[0].first, 3u);
  EXPECT_EQ(host_.compactor.compacted[0].instructions, "short");
  EXPECT_EQ(host_.compactor.requested.size(), 1u);
}

TEST_F(CallTest, CompactorIsBusyInsideACompaction) {
  at_compaction([](call& c) {
    const auto made = c.compactor().compact();
    EXPECT_EQ(made.status(), AGENTD_E_BUSY);
    EXPECT_TRUE(made->summary().empty());
  });
}

TEST_F(CallTest, CompactorTakesMessagesOfTheHooksOwn) {
  at_stop([](call& c) {
    history_builder own;
    own.add(user_message("a")).add(assistant_message("b"));
    EXPECT_TRUE(c.compactor().compact(message_list(own.records())));
    EXPECT_EQ(c.compactor().count(message_list(own.records())).value_or(0), 10u);
  });
  ASSERT_EQ(host_.compactor.compacted.size(), 1u);
  EXPECT_EQ(host_.compactor.compacted[0].message_count, 2u);
  EXPECT_EQ(host_.compactor.compacted[0].conversation, 0u);
}

TEST_F(CallTest, ThreadsTalkAndCloseThemselves) {
  host_.threads.replies = {"first", "second"};
  at_stop([this](call& c) {
    auto thread = c.threads().open({.system = "be brief"});
    ASSERT_TRUE(thread);
    EXPECT_EQ(thread->send("one")->text(), "first");
    EXPECT_EQ(thread->send("two")->text(), "second");
    EXPECT_GT(thread->usage()->output(), 0u);
    EXPECT_EQ(thread->send("three").status(), AGENTD_E_IO);
    EXPECT_EQ(host_.threads.open_count(), 1u);
  });
  EXPECT_EQ(host_.threads.open_count(), 0u);
  EXPECT_EQ(host_.threads.threads[0].sent.size(), 3u);
  EXPECT_EQ(host_.threads.threads[0].system, "be brief");
}

TEST_F(CallTest, AThreadMovesAndClosesOnce) {
  at_stop([this](call& c) {
    auto opened = c.threads().open();
    model_thread moved = std::move(*opened);
    EXPECT_FALSE(*opened);
    EXPECT_EQ(opened->send("x").status(), AGENTD_E_NOT_FOUND);
    moved.close();
    moved.close();
    EXPECT_EQ(host_.threads.open_count(), 0u);
  });
}

TEST_F(CallTest, ABudgetThatIsSpentIsTooBig) {
  host_.threads.replies = {"a long answer of many tokens", "never"};
  at_stop([](call& c) {
    auto thread = c.threads().open({.budget_tokens = 3});
    EXPECT_TRUE(thread->send("hello"));
    EXPECT_EQ(thread->send("more").status(), AGENTD_E_TOO_BIG);
  });
}

TEST_F(CallTest, StoreKeepsVersions) {
  at_stop([](call& c) {
    const auto first = c.store().put("k", "1", AGENTD_KV_ABSENT);
    ASSERT_TRUE(first);
    EXPECT_EQ(c.store().put("k", "2", AGENTD_KV_ABSENT).status(), AGENTD_E_CONFLICT);
    EXPECT_EQ(c.store().get("k")->value(), "1");
    EXPECT_EQ(c.store().get("k")->version(), *first);
    EXPECT_TRUE(c.store().put("k", "2", *first));
    EXPECT_EQ(c.store().get("none").status(), AGENTD_E_NOT_FOUND);
  });
  EXPECT_EQ(host_.store.text("k"), "2");
}

TEST_F(CallTest, StoreCommitsAllOrNothing) {
  at_stop([](call& c) {
    const std::vector<agentd_kv_op> ops{kv_put("a", "1"), kv_check("b", 9), kv_erase("c")};
    EXPECT_EQ(c.store().commit(ops).status(), AGENTD_E_CONFLICT);
  });
  EXPECT_TRUE(host_.store.values.empty());
}

TEST_F(CallTest, StoreScansAPrefixInOrder) {
  for (const char* key : {"x/2", "x/1", "y/1", "x/3"}) host_.store.put(key, key);
  at_stop([](call& c) {
    const auto all = c.store().scan("x/");
    ASSERT_EQ(all->size(), 3u);
    EXPECT_EQ((*all)[0].key(), "x/1");
    EXPECT_EQ(c.store().scan("x/", "x/1", 1)->front().key(), "x/2");
  });
}

TEST_F(CallTest, StoreReadsConversations) {
  testing::stored_conversation one{.id = "c1", .title = "about cats"};
  one.history.add(user_message("hello").seq(3)).add(assistant_message("hi").seq(4));
  host_.store.conversations = {one, {.id = "c0", .title = "older"}};
  host_.store.blobs["b"] = "0123456789";
  at_stop([](call& c) {
    EXPECT_EQ(c.store().conversations()->size(), 2u);
    EXPECT_EQ(c.store().conversations({.text = "cats"})->front().conversation_id(), "c1");
    EXPECT_EQ(c.store().conversations({.after = "c1"})->front().conversation_id(), "c0");
    EXPECT_EQ(c.store().messages("c1")->size(), 2u);
    EXPECT_EQ(c.store().messages("c1", AGENTD_SCOPE_LOG, 0, 4)->front().text(), "hi");
    EXPECT_EQ(c.store().messages("none").status(), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(*c.store().read_blob("b", 8, 5), "89");
    const auto page = c.store().changes(0, 1);
    EXPECT_EQ(page->changed.front().conversation_id(), "c0");
    EXPECT_EQ(c.store().changes(page->next)->changed.front().conversation_id(), "c1");
  });
}

TEST_F(CallTest, WhatIsNotGrantedIsDenied) {
  for (const char* id : {"compactor", "thread_factory", "store"}) host_.deny(id);
  ASSERT_EQ(host_.create().status, AGENTD_OK);
  at_stop([](call& c) {
    EXPECT_FALSE(c.compactor());
    EXPECT_EQ(c.compactor().compact().status(), AGENTD_E_DENIED);
    EXPECT_EQ(c.threads().open().status(), AGENTD_E_DENIED);
    EXPECT_EQ(c.store().get("k").status(), AGENTD_E_DENIED);
    EXPECT_EQ(c.json().status(), AGENTD_E_DENIED);
  });
}

TEST_F(CallTest, AScopeWorksOutsideACall) {
  auto opened = Scripted::kept.open_scope();
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->store().put("k", "v"));
  opened->log_info("from a thread");
  scope moved = std::move(*opened);
  EXPECT_FALSE(*opened);
  moved.close();
  EXPECT_EQ(host_.store.text("k"), "v");
}

// ---- tools, json, fields, drafts

struct Tools {
  static constexpr std::string_view hook_requires[] = {id::tools};
  static constexpr std::string_view hook_wants[] = {id::json, id::field};
  static constexpr std::string_view hook_drafts[] = {id::workspace, id::process};

  explicit Tools(init& from)
      : files(from),
        commands(from),
        window(from.field_key("usage.current_context_window")),
        second(from.field_key("edits.1.old")) {
    from.add_tool<&Tools::cat>({.name = "cat", .description = "reads a file", .input_schema = "{}"});
    from.add_tool<&Tools::big>({.name = "big", .input_schema = "{}", .flags = AGENTD_TOOL_READ_ONLY, .tag = 5});
    from.add_tool<&Tools::run>({.name = "run", .input_schema = "{}"});
    from.add_tool<&Tools::edit>({.name = "edit", .input_schema = "{}"});
  }
  void edit(call& c, tool_view tool) const {
    const json_view in = tool.input();
    c.output(in.text("path") + " " + std::to_string(in.integer("limit", 9)) + " ");
    for (const json_view each : in["edits"]) c.output(each.text("old") + ";");
    c.output(" " + std::string(*c.field(second)) + " " + std::string(*c.json()));
  }
  void cat(call& c, tool_view tool) {
    const auto part = files.read(c, tool.input_json());
    if (!part) {
      c.tool_error(status_text(part.status()));
      return;
    }
    c.output(part->bytes);
    c.tool_result(false, R"({"ok":true})");
  }
  agentd_status big(call& c, tool_view tool) const {
    EXPECT_EQ(tool.tool(), 5u);
    return c.output(std::string(200 * 1024, 'x'));
  }
  void run(call& c, tool_view tool) {
    const auto made = commands.shell(c, tool.input_json(), {.timeout_ms = 5000});
    c.output(made->output());
    if (made->exit_code() != 0) c.tool_result(true);
  }
  void on_agent_stop(call& c) {
    json = c.json().value_or("");
    field = c.field(window).value_or("");
    missing = c.field(field_key::none).status();
  }
  workspace files;
  process commands;
  field_key window, second;
  static inline std::string json, field;
  static inline agentd_status missing = 0;
};

class ToolsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char made[] = "/tmp/agentd-sdk-XXXXXX";
    ASSERT_NE(mkdtemp(made), nullptr);
    directory_ = made;
    std::ofstream(directory_ / "a.txt") << "content";
    files_ = std::make_unique<testing::fake_workspace>(host_, directory_);
    commands_ = std::make_unique<testing::fake_process>(host_, directory_);
    ASSERT_EQ(host_.create().status, AGENTD_OK);
  }
  void TearDown() override {
    host_.destroy();
    std::filesystem::remove_all(directory_);
    for (const std::string& breach : host_.breaches()) ADD_FAILURE() << breach;
  }

  std::filesystem::path directory_;
  fake_host host_{&entry_for<Tools>};
  std::unique_ptr<testing::fake_workspace> files_;
  std::unique_ptr<testing::fake_process> commands_;
};

TEST_F(ToolsTest, AreContributedInTheConstructor) {
  ASSERT_EQ(host_.tools().size(), 4u);
  EXPECT_EQ(host_.tool("cat")->description, "reads a file");
  EXPECT_EQ(host_.tool("big")->flags, AGENTD_TOOL_READ_ONLY);
}

TEST_F(ToolsTest, AnswerWithOutputAndResult) {
  const outcome got = host_.invoke("cat", "a.txt");
  EXPECT_EQ(got.output(), "content");
  EXPECT_FALSE(got.tool_failed());
  EXPECT_EQ(got.find(AGENTD_ACT_TOOL_RESULT)->structured_json, R"({"ok":true})");
}

TEST_F(ToolsTest, ReadTheirInput) {
  const std::string input = R"({"path":"a\u0041","edits":[{"old":"x"},{"old":"y"}]})";
  EXPECT_EQ(host_.invoke("edit", input).output(), "aA 9 x;y; y " + input);
}

TEST_F(ToolsTest, FailInAWayThatTheModelReads) {
  const outcome got = host_.invoke("cat", "../outside");
  EXPECT_TRUE(got.tool_failed());
  EXPECT_EQ(got.status, AGENTD_OK);
  EXPECT_EQ(got.output(), "denied");
}

TEST_F(ToolsTest, LongOutputGoesInPieces) {
  const outcome got = host_.invoke("big");
  EXPECT_EQ(got.actions.size(), 4u);
  EXPECT_EQ(got.output().size(), 200u * 1024);
}

TEST_F(ToolsTest, RunCommands) {
  const outcome got = host_.invoke("run", "cat a.txt; exit 3");
  EXPECT_EQ(got.output(), "content");
  EXPECT_TRUE(got.tool_failed());
  commands_->script("sh", {.output = "scripted"});
  EXPECT_EQ(host_.invoke("run", "rm -rf /").output(), "scripted");
  EXPECT_EQ(commands_->commands.back().argv.back(), "rm -rf /");
}

TEST_F(ToolsTest, UnknownToolIsNotFound) { EXPECT_EQ(host_.invoke("nothing").status, AGENTD_E_NOT_FOUND); }

TEST_F(ToolsTest, WithoutTheGrantThePluginRefusesToStart) {
  host_.deny(AGENTD_TOOLS_ID);
  const outcome got = host_.create();
  EXPECT_EQ(got.status, AGENTD_E_DENIED);
  EXPECT_NE(got.error.find("agentd.tools/1"), std::string::npos);
}

TEST_F(ToolsTest, PayloadAsJsonAndByField) {
  host_.conversation.used = 1234;
  host_.agent_stop({.response = "a \"quote\""});
  EXPECT_EQ(Tools::field, "1234");
  EXPECT_EQ(Tools::missing, AGENTD_E_ARG);
  EXPECT_NE(Tools::json.find(R"("event":"agent_stop")"), std::string::npos) << Tools::json;
  EXPECT_NE(Tools::json.find(R"("response":"a \"quote\"")"), std::string::npos) << Tools::json;
  EXPECT_NE(Tools::json.find(R"("current_context_window":1234)"), std::string::npos) << Tools::json;
}

struct InheritedBase {
  void tool(call& c, tool_view) { c.output("base"); }
};
struct Inherited : InheritedBase {
  static constexpr std::string_view hook_requires[] = {id::tools};
  explicit Inherited(init& from) {
    if (from.config_json() == "wrong") {
      from.add_tool<&Inherited::tool>({.name = "t", .input_schema = "{}"});
    } else {
      from.add_tool<&Inherited::tool, Inherited>({.name = "t", .input_schema = "{}"});
    }
  }
  int other = 1;
};

TEST(Tools, OfABaseNeedTheNameOfThePlugin) {
  fake_host host(&entry_for<Inherited>);
  EXPECT_EQ(host.create("wrong").status, AGENTD_E_ARG);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  EXPECT_EQ(host.invoke("t").output(), "base");
}

}  // namespace
}  // namespace agentd
