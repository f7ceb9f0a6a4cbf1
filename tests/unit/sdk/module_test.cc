// SPDX-License-Identifier: Apache-2.0
// What the compiler makes of a plugin class: rows, record, manifest, entry, trampolines.
#include <gtest/gtest.h>
#include <agentd/fake_host.hpp>
#include <agentd/hook.hpp>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace agentd {
namespace {

using testing::fake_host;
using testing::outcome;

std::vector<agentd_hook> rows_of(agentd_entry entry) {
  agentd_negotiate io{};
  io.size = sizeof(io);
  io.host_abi_max = AGENTD_ABI;
  entry(&io);
  std::vector<agentd_hook> rows;
  const auto* first = static_cast<const agentd_hook*>(io.plugin->hooks.first);
  rows.assign(first, first + io.plugin->hooks.count);
  return rows;
}

struct Several {
  static constexpr int hook_priority = 7;
  static constexpr unsigned hook_flags = AGENTD_HOOK_GATES;
  static constexpr bool wants_messages = true;
  static constexpr hook_options turn_end_options{.priority = -300, .flags = AGENTD_HOOK_OBSERVES};
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;
  static constexpr std::string_view hook_requires[] = {id::compactor, id::tools};
  static constexpr std::string_view hook_wants[] = {id::store};

  void on_turn_end(call&) {}
  void on_agent_stop(const call&, stop_view) const noexcept {}
  agentd_status on_before_tool_call(call&, tool_view) { return AGENTD_OK; }
  void not_a_handler(call&) {}
};

TEST(Rows, OneForEachHandlerInOrderOfTheEvents) {
  const auto rows = rows_of(&entry_for<Several>);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].event, unsigned{AGENTD_EVENT_TURN_END});
  EXPECT_EQ(rows[1].event, unsigned{AGENTD_EVENT_BEFORE_TOOL_CALL});
  EXPECT_EQ(rows[2].event, unsigned{AGENTD_EVENT_AGENT_STOP});
}

TEST(Rows, OptionsOfOneEventBeatThoseOfThePlugin) {
  const auto rows = rows_of(&entry_for<Several>);
  EXPECT_EQ(rows[0].priority, -300);
  EXPECT_EQ(rows[0].flags, AGENTD_HOOK_OBSERVES);
  EXPECT_EQ(rows[1].priority, 7);
  EXPECT_EQ(rows[1].flags, AGENTD_HOOK_GATES);
}

TEST(Rows, MessagesAreWantedOnlyWhereThereAreAny) {
  const auto rows = rows_of(&entry_for<Several>);
  EXPECT_EQ(rows[1].wants, 0u);  // a tool call has no messages
  EXPECT_EQ(rows[2].wants, AGENTD_WANTS_MESSAGES);
}

TEST(Manifest, SaysWhatTheClassSays) {
  constexpr std::size_t size = detail::write_manifest<Several>(nullptr, "a.b", "1.2.3", "\"license\":\"MIT\"");
  constexpr auto note = detail::make_note<Several, size + 1>("a.b", "1.2.3", "\"license\":\"MIT\"");
  EXPECT_STREQ(note.text, R"({"id":"a.b","version":"1.2.3","abi":"1.0",)"
                          R"("events":["turn_end","before_tool_call","agent_stop"],)"
                          R"("requires":["compactor","agentd.tools/1"],"wants":["store"],)"
                          R"("concurrency":"concurrent","license":"MIT"})");
  EXPECT_EQ(note.text_bytes, std::strlen(note.text) + 1);
  EXPECT_EQ(sizeof(note) % 4, 0u);
  EXPECT_STREQ(note.name, "agentd");
}

TEST(Entry, DeclinesAnOlderHostWithASentence) {
  fake_host host(&entry_for<Several>);
  const outcome got = host.negotiate(0, AGENTD_ABI - 1);
  EXPECT_EQ(got.status, AGENTD_E_UNSUPPORTED);
  EXPECT_NE(got.error.find("newer hook ABI"), std::string::npos);
  EXPECT_TRUE(host.breaches().empty());
}

TEST(Entry, DeclinesTheNextMajorVersion) {
  fake_host host(&entry_for<Several>);
  EXPECT_EQ(host.negotiate(2u << 16, 2u << 16).status, AGENTD_E_UNSUPPORTED);
}

TEST(Entry, TakesANewerMinorVersion) {
  fake_host host(&entry_for<Several>);
  EXPECT_EQ(host.negotiate(AGENTD_ABI, AGENTD_ABI + 9).status, AGENTD_OK);
  EXPECT_EQ(host.plugin()->concurrency, AGENTD_CONCURRENT);
  EXPECT_EQ(host.plugin()->save_state, nullptr);
}

// ---- failures

struct Throwing {
  void on_before_tool_call(call& c, tool_view tool) {
    if (tool.name() == "memory") throw std::bad_alloc();
    if (tool.name() == "number") throw 7;
    if (tool.name() == "deferred") {
      pending later = c.defer();
      throw std::runtime_error("after defer");
    }
    throw std::runtime_error("broken by " + std::string(tool.name()));
  }
};

TEST(Exceptions, BecomeTheStatusAndTheTextOfTheCall) {
  fake_host host(&entry_for<Throwing>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  const outcome got = host.before_tool_call({.name = "bash"});
  EXPECT_EQ(got.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(got.error, "broken by bash");
}

TEST(Exceptions, NoMemoryHasItsOwnStatus) {
  fake_host host(&entry_for<Throwing>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  EXPECT_EQ(host.before_tool_call({.name = "memory"}).status, AGENTD_E_NOMEM);
}

TEST(Exceptions, OfAnyTypeAreCaught) {
  fake_host host(&entry_for<Throwing>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  const outcome got = host.before_tool_call({.name = "number"});
  EXPECT_EQ(got.status, AGENTD_E_INTERNAL);
  EXPECT_FALSE(got.error.empty());
}

TEST(Exceptions, AfterDeferTheCallStillEndsOnce) {
  fake_host host(&entry_for<Throwing>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  outcome got = host.before_tool_call({.name = "deferred"});
  EXPECT_TRUE(host.wait(got));
  EXPECT_EQ(got.status, AGENTD_E_INTERNAL);
}

struct ThrowingConstructor {
  explicit ThrowingConstructor(init&) { throw std::runtime_error("no such file"); }
};

TEST(Exceptions, InAConstructorRefuseThePlugin) {
  fake_host host(&entry_for<ThrowingConstructor>);
  const outcome got = host.create();
  EXPECT_EQ(got.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(got.error, "no such file");
  EXPECT_TRUE(host.destroy().error.empty());  // nothing is destroyed that was refused
}

struct Failing {
  void on_turn_start(call& c) { c.fail(AGENTD_E_BUSY, "try later"); }
  agentd_status on_turn_end(call&, turn_view) { return AGENTD_E_IO; }
};

TEST(Failures, FailOfAVoidHandlerIsTheStatusOfTheCall) {
  fake_host host(&entry_for<Failing>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  const outcome got = host.turn_start();
  EXPECT_EQ(got.status, AGENTD_E_BUSY);
  EXPECT_EQ(got.error, "try later");
  EXPECT_EQ(host.turn_end().status, AGENTD_E_IO);
}

// ---- life

struct Configured {
  explicit Configured(init& from) : config(from.config_json()) {
    if (config == "{}") from.refuse("the config needs a path");
    if (config == "{}") from.refuse(AGENTD_E_IO, "told too late");
  }
  std::string config;
};

TEST(Life, AConstructorMayRefuseWithASentence) {
  fake_host host(&entry_for<Configured>);
  const outcome got = host.create("{}");
  EXPECT_EQ(got.status, AGENTD_E_ARG);
  EXPECT_EQ(got.error, "the config needs a path");  // the first refusal counts
  EXPECT_EQ(host.create("{\"path\":1}").status, AGENTD_OK);
}

struct Counting {
  static inline int alive = 0;
  struct Guard {
    Guard() { ++alive; }
    ~Guard() { --alive; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
  } guard;
  void on_turn_start(call&) {}
  std::string save_state() const { return std::to_string(turns); }
  void load_state(std::string_view state, std::string_view version) {
    turns = static_cast<int>(state.size());
    from = version;
  }
  int turns = 3;
  std::string from;
};

TEST(Life, DestroyEndsTheObjectOnce) {
  fake_host host(&entry_for<Counting>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  EXPECT_EQ(Counting::alive, 1);
  host.destroy();
  host.destroy();
  EXPECT_EQ(Counting::alive, 0);
}

TEST(Life, StateGoesOutAndComesBack) {
  fake_host host(&entry_for<Counting>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  EXPECT_EQ(host.save_state().text(AGENTD_ACT_STATE), "3");
  EXPECT_EQ(host.load_state("12345", "0.9.0").status, AGENTD_OK);
  EXPECT_EQ(host.save_state().text(AGENTD_ACT_STATE), "5");
}

TEST(Life, WithoutStateThereIsNoSlot) {
  fake_host host(&entry_for<Failing>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  EXPECT_EQ(host.save_state().status, AGENTD_E_UNSUPPORTED);
}

// ---- what the plugin requires

struct Requiring {
  static constexpr std::string_view hook_requires[] = {id::store, id::field};
  static constexpr std::string_view hook_wants[] = {id::compactor};
  void on_turn_end(call&) {}
};

TEST(Requires, AHostThatDoesNotGiveItGetsNoInstance) {
  for (const std::string_view each : {id::store, id::field}) {
    fake_host host(&entry_for<Requiring>);
    ASSERT_EQ(host.create().status, AGENTD_OK);
    host.deny(each);
    const auto got = host.create();
    EXPECT_EQ(got.status, AGENTD_E_DENIED);
    EXPECT_EQ(got.error, "this plugin requires " + std::string(each) + ", which was not granted");
  }
  fake_host host(&entry_for<Requiring>);
  host.deny(id::compactor);
  EXPECT_EQ(host.create().status, AGENTD_OK);
}

// ---- RuntimeHook, as the classic example reads

struct AutoCompact : RuntimeHook {
  static constexpr event type() { return event::agent_stop; }
  static constexpr std::string_view name() { return "auto_compact"; }
  static constexpr std::string_view hook_requires[] = {id::compactor};

  answer execute(payload from, services& available) {
    const auto stop = from.as<stop_view>();
    if (from.as<turn_view>()) return failure(AGENTD_E_INTERNAL, "a stop is no turn");
    if (stop.context_fill() <= 0.7) return {};
    const auto compacted = available.compactor.compact();
    if (!compacted) return failure(compacted.status(), "the summary failed");
    return replace(replacement(compacted->base_revision()).user(compacted->summary()));
  }
};

TEST(RuntimeHook, SubscribesToItsType) {
  const auto rows = rows_of(&entry_for<AutoCompact>);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].event, unsigned{AGENTD_EVENT_AGENT_STOP});
}

TEST(RuntimeHook, ReplacesTheMessagesByTheSummary) {
  fake_host host(&entry_for<AutoCompact>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  host.compactor.summary = "what happened";
  host.conversation.used = 71000;
  const outcome got = host.agent_stop();
  const auto* act = got.find(AGENTD_ACT_REPLACE_MESSAGES);
  ASSERT_NE(act, nullptr);
  EXPECT_EQ(act->base_revision, host.conversation.revision);
  ASSERT_EQ(act->parts.size(), 1u);
  EXPECT_EQ(act->parts[0].text, "what happened");
  EXPECT_EQ(act->parts[0].role, AGENTD_ROLE_USER);
}

TEST(RuntimeHook, NoOpinionEmitsNothing) {
  fake_host host(&entry_for<AutoCompact>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  host.conversation.used = 100;
  EXPECT_TRUE(host.agent_stop().actions.empty());
  EXPECT_TRUE(host.compactor.compacted.empty());
}

TEST(RuntimeHook, ItsFailureIsTold) {
  fake_host host(&entry_for<AutoCompact>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  host.compactor.status = AGENTD_E_IO;
  host.conversation.used = 90000;
  const outcome got = host.agent_stop();
  EXPECT_EQ(got.status, AGENTD_E_IO);
  EXPECT_EQ(got.error, "the summary failed");
}

// ---- pending calls

struct Later {
  void on_user_message_send(call& c, user_message_view message) {
    if (message.text() == "forget") {
      const pending dropped = c.defer();
      return;
    }
    worker = std::thread([later = c.defer(), message]() mutable {
      later.rewrite(std::string(message.text()) + "!");
      later.complete();
    });
  }
  ~Later() {
    if (worker.joinable()) worker.join();
  }
  std::thread worker;
};

TEST(Pending, CompletesFromAnotherThread) {
  fake_host host(&entry_for<Later>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  outcome got = host.user_message_send({.text = "hello"});
  ASSERT_TRUE(host.wait(got));
  EXPECT_EQ(got.status, AGENTD_OK);
  EXPECT_EQ(got.text(AGENTD_ACT_REPLACE_TEXT), "hello!");
  host.destroy();
  EXPECT_TRUE(host.breaches().empty());
}

TEST(Pending, DroppedItFailsTheCall) {
  fake_host host(&entry_for<Later>);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  outcome got = host.user_message_send({.text = "forget"});
  ASSERT_TRUE(host.wait(got));
  EXPECT_EQ(got.status, AGENTD_E_INTERNAL);
  EXPECT_NE(got.error.find("dropped"), std::string::npos);
}

}  // namespace
}  // namespace agentd
