// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/bridge/actions.h"
#include "core/bridge/limits.h"
#include "core/bridge/plugin_context.h"
#include "tests/support/hook_fakes.h"

namespace agentd {
namespace {

// Answers from fields; remembers who asked.
class FakeServices final : public RefusingServices {
 public:
  FakeServices() : RefusingServices({Code::kUnavailable, "no such service in this test"}) {}

  std::uint64_t count_text(std::string_view, std::string_view text) override { return text.size(); }
  std::uint64_t count_messages(std::string_view, const agentd_list& messages) override { return messages.count; }
  Result<std::string> compaction_prompt(const ServiceCaller&, const CompactOptions& options) override {
    return "prompt " + options.instructions;
  }
  Result<CompactAnswer> compact(const ServiceCaller& who, const CompactSource& source,
                                const CompactOptions& options) override {
    asked = who;
    messages_seen = source.messages.count;
    max_summary_tokens = options.max_summary_tokens;
    if (during) during();
    if (fails.code != Code::kInternal) return fails;
    CompactAnswer answer;
    answer.outcome = AGENTD_RESULT_APPLIED;
    answer.summary = "short";
    answer.base_revision = 7;
    return answer;
  }
  Result<void> request_compaction(const ServiceCaller&, std::string_view id, const CompactOptions&) override {
    requested = std::string(id);
    return {};
  }
  Result<agentd_thread> open_thread(const ServiceCaller& who, ThreadOptions options) override {
    asked = who;
    thread = std::move(options);
    return agentd_thread{5};
  }
  Result<ThreadReply> send(const ServiceCaller&, agentd_thread, std::string_view text) override {
    if (fails.code != Code::kInternal) return fails;
    ThreadReply reply;
    reply.message = Message::of_text(Role::kAssistant, "re: " + std::string(text));
    return reply;
  }
  Result<Usage> thread_usage(const ServiceCaller&, agentd_thread) override { return Usage{3, 2, 0, 0, 0, 0}; }
  Result<void> close_thread(std::string_view, agentd_thread handle) override {
    if (handle != 5) return Error{Code::kNotFound, "no thread"};
    return {};
  }
  Result<PluginKey> get(const ServiceCaller&, std::string_view key) override {
    if (key != "k") return Error{Code::kNotFound, "no key"};
    return PluginKey{"k", "v", 3};
  }
  Result<std::vector<PluginKey>> scan(const ServiceCaller&, std::string_view, std::string_view,
                                      std::uint32_t limit) override {
    scan_limit = limit;
    return std::vector<PluginKey>{{"a", "1", 1}, {"b", "2", 2}};
  }
  Result<std::uint64_t> commit(const ServiceCaller&, std::span<const PluginKeyOp> wanted) override {
    ops.assign(wanted.begin(), wanted.end());
    if (fails.code != Code::kInternal) return fails;
    return 9;
  }
  Result<std::vector<ConversationInfo>> conversations(const agentd_conv_query&) override {
    ConversationInfo info;
    info.id = "C";
    info.title = "T";
    return std::vector<ConversationInfo>{info};
  }
  Result<Rows> messages(std::string_view, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t) override {
    Rows rows;
    rows.append(Message::of_text(Role::kUser, std::string(70'000, 'x')), 4, 5, "C");
    return rows;
  }
  Result<std::string> read_blob(std::string_view, std::uint64_t, std::uint64_t) override { return std::string("rest"); }
  Result<ConversationChanges> changes(std::uint64_t, std::uint32_t) override { return ConversationChanges{{}, 11}; }

  ServiceCaller asked;
  ThreadOptions thread;
  Error fails{Code::kInternal, ""};
  std::uint32_t messages_seen = 0, max_summary_tokens = 0, scan_limit = 0;
  std::string requested;
  std::vector<PluginKeyOp> ops;
  std::function<void()> during;
};

class Tables : public ::testing::Test {
 protected:
  Tables() {
    grants_.compactor = grants_.threads = grants_.store = true;
    grants_.interfaces = {AGENTD_TOOLS_ID, AGENTD_JSON_ID, AGENTD_FIELD_ID};
  }
  PluginContext& context() {
    if (!context_)
      context_ = std::make_unique<PluginContext>(PluginIdentity{"org.test.p", "1.0.0", "p", "00"}, grants_, tokens_,
                                                 services_, clock_, log_);
    return *context_;
  }
  // Runs `fn` as a call of the event and gives what it emitted.
  std::vector<Action> in_call(std::uint32_t event, const std::function<void(const agentd_call&)>& fn) {
    PluginContext& mine = context();
    const SlotLease slot(tokens_);
    agentd_envelope envelope{};
    envelope.size = sizeof envelope;
    agentd_agent_stop payload{};
    payload.size = sizeof payload;
    payload.response = to_abi(std::string_view("the answer"));
    Dispatch dispatch;
    dispatch.event = event;
    dispatch.conversation = 42;
    dispatch.envelope = &envelope;
    dispatch.payload = &payload;
    slot->live().deadline_ns = deadline_ns_;
    slot->announce(event, dispatch.conversation);
    const agentd_call call{
        sizeof(agentd_call), event,   slot->open(&dispatch), 42, &slot->live(), mine.core(), mine.services(),
        &envelope,           &payload};
    last_token_ = call.token;
    fn(call);
    CallSlot::Answer answer = slot->take_answer();
    failure_ = answer.failure.text;
    slot->close();
    return std::move(answer.actions);
  }
  template <typename Table>
  const Table* query(const char* id) {
    return static_cast<const Table*>(
        context().core()->query(context().core(), to_abi(std::string_view(id)), sizeof(Table)));
  }

  ManualClock clock_;
  testing::RecordingLog log_;
  TokenTable tokens_;
  FakeServices services_;
  Grants grants_;
  std::unique_ptr<PluginContext> context_;
  std::uint64_t deadline_ns_ = UINT64_MAX;
  agentd_token last_token_ = 0;
  std::string failure_;
};

agentd_act_text text_action(std::uint16_t kind, std::string_view text) {
  agentd_act_text act{};
  act.h.size = sizeof act;
  act.h.kind = kind;
  act.text = to_abi(text);
  return act;
}

// ---- emit

TEST_F(Tables, EmitCopiesDeeply) {
  const auto actions = in_call(AGENTD_EVENT_AGENT_STOP, [](const agentd_call& call) {
    std::string text = "literal text", id = "call", input = R"({"a":1})";
    agentd_block block{};
    block.size = sizeof block;
    block.kind = AGENTD_BLOCK_TEXT;
    block.text = to_abi(std::string_view(text));
    agentd_message message{};
    message.size = sizeof message;
    message.role = AGENTD_ROLE_USER;
    message.blocks = {&block, 1, sizeof block};
    std::array<agentd_part, 2> parts{};
    parts[0] = {sizeof(agentd_part), AGENTD_PART_LITERAL, 0, 0, &message};
    parts[1] = {sizeof(agentd_part), AGENTD_PART_KEEP, 3, 9, nullptr};
    agentd_act_replace act{};
    act.h.size = sizeof act;
    act.h.kind = AGENTD_ACT_REPLACE_MESSAGES;
    act.base_revision = 12;
    act.parts = {parts.data(), 2, sizeof(agentd_part)};
    EXPECT_EQ(call.core->emit(call.core, call.token, &act.h), AGENTD_OK);
    text.assign(text.size(), '#');
    std::memset(&block, 0xEE, sizeof block);
    std::memset(&message, 0xEE, sizeof message);
    std::memset(parts.data(), 0xEE, sizeof parts);
    std::memset(&act, 0xEE, sizeof act);
  });
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].base_revision, 12u);
  ASSERT_EQ(actions[0].parts.size(), 2u);
  EXPECT_EQ(actions[0].parts[0].literal.text(), "literal text");
  EXPECT_EQ(actions[0].parts[1].last, 9u);
}

TEST_F(Tables, ActionThatIsNotLegalForTheEventIsRefusedAndLogged) {
  const auto actions = in_call(AGENTD_EVENT_TURN_START, [](const agentd_call& call) {
    const auto act = text_action(AGENTD_ACT_BLOCK, "no");
    EXPECT_EQ(call.core->emit(call.core, call.token, &act.h), AGENTD_E_UNSUPPORTED);
  });
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(failure_, "the action block is not legal for turn_start; it was ignored");
  EXPECT_TRUE(log_.mentions("not legal for turn_start"));
}

TEST_F(Tables, StaleAndForeignTokensAreHarmless) {
  in_call(AGENTD_EVENT_AGENT_STOP, [](const agentd_call&) {});
  const agentd_core* const core = context().core();
  const auto act = text_action(AGENTD_ACT_CONTINUE, "x");
  for (const agentd_token token : {last_token_, agentd_token{0}, agentd_token{UINT64_MAX}, agentd_token{77}}) {
    EXPECT_EQ(core->emit(core, token, &act.h), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(core->complete(core, token, AGENTD_OK), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(core->arena(core, token, 8, 8), nullptr);
    core->fail(core, token, AGENTD_E_IO, to_abi(std::string_view("late")));
    core->scope_close(core, token);
    const agentd_kv* kv = nullptr;
    EXPECT_EQ(context().services()->store->get(context().services()->store, token, to_abi(std::string_view("k")), &kv),
              AGENTD_E_NOT_FOUND);
  }
}

TEST(CopyAction, ImpossibleSizesKindsAndNullsAreRefused) {
  EXPECT_FALSE(copy_action(nullptr));
  auto act = text_action(AGENTD_ACT_CONTINUE, "x");
  EXPECT_TRUE(copy_action(&act.h));
  for (const std::uint32_t size : {0u, 3u, 8u, 31u, 5'000u, UINT32_MAX}) {
    act.h.size = size;
    EXPECT_FALSE(copy_action(&act.h)) << size;
  }
  act.h.size = sizeof act;
  for (const std::size_t kind : {std::size_t{0}, all_actions().size() + 1, std::size_t{65'535}}) {
    act.h.kind = static_cast<std::uint16_t>(kind);
    EXPECT_FALSE(copy_action(&act.h)) << kind;
  }
  act = text_action(AGENTD_ACT_CONTINUE, "x");
  act.text = {nullptr, 9};
  EXPECT_FALSE(copy_action(&act.h));
  act.text = {"x", SIZE_MAX};
  EXPECT_FALSE(copy_action(&act.h));
}

TEST(CopyAction, TextIsMadeValidUtf8) {
  const auto act = text_action(AGENTD_ACT_CONTINUE, "a\xFF");
  EXPECT_EQ(copy_action(&act.h)->text, "a\xEF\xBF\xBD");
}

TEST(CopyAction, PermissionThatIsNoneIsRefused) {
  agentd_act_permission act{};
  act.h = {sizeof act, AGENTD_ACT_PERMISSION, 0};
  EXPECT_FALSE(copy_action(&act.h));
  act.decision = AGENTD_PERMISSION_DENY;
  EXPECT_TRUE(copy_action(&act.h));
  act.decision = AGENTD_PERMISSION_DEFER;
  EXPECT_TRUE(copy_action(&act.h));
  act.decision = 5;
  EXPECT_FALSE(copy_action(&act.h));
}

TEST(CopyBlocks, BytesOfAnImageThatAreNoBase64AreRefused) {
  agentd_block block{};
  block.size = sizeof block;
  block.kind = AGENTD_BLOCK_IMAGE;
  block.name = to_abi(std::string_view("image/png"));
  const auto copied = [&](std::string_view bytes) {
    block.opaque = to_abi(bytes);
    return copy_blocks({&block, 1, sizeof block}).has_value();
  };
  for (const char* const good : {"AAAA", "AA==", ""}) EXPECT_TRUE(copied(good)) << good;
  for (const char* const bad : {"AAA", "no bytes", "data:image/png;base64,AAAA"}) EXPECT_FALSE(copied(bad)) << bad;
  block.kind = AGENTD_BLOCK_DOCUMENT;
  EXPECT_FALSE(copied("%PDF"));
  block.kind = AGENTD_BLOCK_THINKING;  // a seal may be anything
  EXPECT_TRUE(copied("%PDF"));
}

TEST(CopyMessages, ImpossibleListsAreRefused) {
  agentd_block block{};
  block.size = sizeof block;
  block.kind = AGENTD_BLOCK_TEXT;
  EXPECT_TRUE(copy_blocks({&block, 1, sizeof block}));
  EXPECT_TRUE(copy_blocks({nullptr, 0, 0}));
  EXPECT_FALSE(copy_blocks({nullptr, 1, sizeof block}));
  EXPECT_FALSE(copy_blocks({&block, 1, 0}));
  EXPECT_FALSE(copy_blocks({&block, 1, 100'000}));
  EXPECT_FALSE(copy_blocks({&block, UINT32_MAX, sizeof block}));
  block.kind = 9;
  EXPECT_FALSE(copy_blocks({&block, 1, sizeof block}));
  block.kind = AGENTD_BLOCK_TEXT;
  for (const std::uint32_t size : {0u, 4u, 1u << 20}) {
    block.size = size;
    EXPECT_FALSE(copy_blocks({&block, 1, sizeof block})) << size;
  }
  agentd_message message{};
  message.size = sizeof message;
  EXPECT_FALSE(copy_messages({&message, 1, sizeof message}));  // role 0
  message.role = AGENTD_ROLE_USER;
  EXPECT_TRUE(copy_messages({&message, 1, sizeof message}));
}

TEST(CopyMessages, ShorterRecordsAreFilledAndStridesAreStepped) {
  struct Wide {
    agentd_block block;
    char newer[40];
  };
  std::array<Wide, 2> wide{};
  for (Wide& one : wide) {
    one.block.size = offsetof(agentd_block, call_id);
    one.block.kind = AGENTD_BLOCK_TEXT;
    one.block.text = to_abi(std::string_view("t"));
    one.block.call_id = {reinterpret_cast<const char*>(8), 100};  // beyond its size: must not be read
  }
  const auto blocks = copy_blocks({wide.data(), 2, sizeof(Wide)});
  ASSERT_TRUE(blocks);
  ASSERT_EQ(blocks->size(), 2u);
  EXPECT_EQ((*blocks)[1].text, "t");
  EXPECT_EQ((*blocks)[1].call_id, "");
}

// ---- core table

TEST_F(Tables, ArenaLivesWithTheTokenAndRefusesNonsense) {
  in_call(AGENTD_EVENT_AGENT_STOP, [](const agentd_call& call) {
    const agentd_core* const core = call.core;
    auto* const memory = static_cast<char*>(core->arena(core, call.token, 100, 64));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, 100);
    EXPECT_EQ(core->arena(core, call.token, 8, 3), nullptr);
    EXPECT_EQ(core->arena(core, call.token, 8, 0), nullptr);
    EXPECT_EQ(core->arena(core, call.token, SIZE_MAX, 8), nullptr);
    EXPECT_EQ(core->arena(core, call.token, SIZE_MAX / 2, 8), nullptr);
    EXPECT_EQ(core->arena(core, call.token, std::size_t{1} << 45, 8), nullptr);
  });
}

TEST_F(Tables, ScopeGivesMemoryAndServicesButNoAnswers) {
  const agentd_core* const core = context().core();
  agentd_token token = 0;
  const agentd_live* live = nullptr;
  ASSERT_EQ(core->scope_open(core, 42, 99, &token, &live), AGENTD_OK);
  EXPECT_EQ(live->deadline_ns, 99u);
  EXPECT_NE(core->arena(core, token, 8, 8), nullptr);
  const auto act = text_action(AGENTD_ACT_CONTINUE, "x");
  EXPECT_EQ(core->emit(core, token, &act.h), AGENTD_E_UNSUPPORTED);
  agentd_thread thread = 0;
  const auto* const threads = context().services()->threads;
  EXPECT_EQ(threads->open(threads, token, nullptr, &thread), AGENTD_OK);
  EXPECT_EQ(services_.asked.conversation, 42u);
  EXPECT_EQ(services_.asked.event, 0u);
  core->scope_close(core, token);
  EXPECT_EQ(core->arena(core, token, 8, 8), nullptr);
  EXPECT_EQ(core->scope_open(core, 0, 0, nullptr, nullptr), AGENTD_E_ARG);
}

TEST_F(Tables, QueryAnswersOnlyWhatWasGrantedAndBigEnough) {
  grants_.interfaces = {AGENTD_JSON_ID, "host.own/1"};
  EXPECT_NE(query<agentd_json>(AGENTD_JSON_ID), nullptr);
  EXPECT_EQ(query<agentd_tools>(AGENTD_TOOLS_ID), nullptr);
  const agentd_core* const core = context().core();
  EXPECT_EQ(core->query(core, to_abi(std::string_view(AGENTD_JSON_ID)), 4096), nullptr);
  const std::array<std::uint32_t, 2> own{8, 0};
  context().offer("host.own/1", own.data());
  context().offer("host.other/1", own.data());
  EXPECT_EQ(core->query(core, to_abi(std::string_view("host.own/1")), 8), own.data());
  EXPECT_EQ(core->query(core, to_abi(std::string_view("host.other/1")), 8), nullptr);
}

TEST_F(Tables, EventIdsAndTime) {
  const agentd_core* const core = context().core();
  EXPECT_EQ(core->event_id(core, to_abi(std::string_view("agent_stop"))), std::uint32_t{AGENTD_EVENT_AGENT_STOP});
  EXPECT_EQ(core->event_id(core, to_abi(std::string_view("no_such"))), 0u);
  EXPECT_EQ(core->now_ns(core), clock_.monotonic_ns());
}

TEST_F(Tables, ServicesThatWereNotGrantedAreNull) {
  grants_ = {};
  EXPECT_EQ(context().services()->compactor, nullptr);
  EXPECT_EQ(context().services()->threads, nullptr);
  EXPECT_EQ(context().services()->store, nullptr);
}

// ---- tools

TEST_F(Tables, ToolsAreAddedOnceAndRemoved) {
  const auto* const tools = query<agentd_tools>(AGENTD_TOOLS_ID);
  agentd_tool tool{};
  tool.size = sizeof tool;
  tool.name = to_abi(std::string_view("echo"));
  tool.input_schema_json = to_abi(std::string_view(R"({"type":"object"})"));
  tool.fn = [](void*, const agentd_call*) noexcept -> agentd_status { return AGENTD_OK; };
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    EXPECT_EQ(tools->add(tools, call.token, &tool), AGENTD_OK);
    EXPECT_EQ(tools->add(tools, call.token, &tool), AGENTD_E_CONFLICT);
    for (const char* const schema : {"", "[]", "{", "7"}) {
      agentd_tool bad = tool;
      bad.name = to_abi(std::string_view("bad"));
      bad.input_schema_json = to_abi(std::string_view(schema));
      EXPECT_EQ(tools->add(tools, call.token, &bad), AGENTD_E_ARG) << schema;
    }
    agentd_tool nameless = tool;
    nameless.name = {nullptr, 0};
    EXPECT_EQ(tools->add(tools, call.token, &nameless), AGENTD_E_ARG);
    for (const char* const name : {"a b", "files.read", "3d", "-x", "caf\xC3\xA9"}) {
      agentd_tool odd = tool;
      odd.name = to_abi(std::string_view(name));
      EXPECT_EQ(tools->add(tools, call.token, &odd), AGENTD_E_ARG) << name;
    }
    agentd_tool idle = tool;
    idle.fn = nullptr;
    EXPECT_EQ(tools->add(tools, call.token, &idle), AGENTD_E_ARG);
    agentd_tool small = tool;
    small.size = 8;
    EXPECT_EQ(tools->add(tools, call.token, &small), AGENTD_E_ARG);
    EXPECT_EQ(tools->add(tools, call.token, nullptr), AGENTD_E_ARG);
  });
  EXPECT_NE(failure_, "");
  ASSERT_EQ(context().tools().size(), 1u);
  EXPECT_EQ(context().tools()[0].tool.origin, "org.test.p");
  EXPECT_EQ(tools->remove(tools, 0, to_abi(std::string_view("echo"))), AGENTD_OK);
  EXPECT_EQ(tools->remove(tools, 0, to_abi(std::string_view("echo"))), AGENTD_E_NOT_FOUND);
}

TEST_F(Tables, AToolMarksItsPathsAndTheModelIsNotToldSo) {
  const auto* const tools = query<agentd_tools>(AGENTD_TOOLS_ID);
  agentd_tool tool{};
  tool.size = sizeof tool;
  tool.name = to_abi(std::string_view("open"));
  tool.fn = [](void*, const agentd_call*) noexcept -> agentd_status { return AGENTD_OK; };
  tool.input_schema_json = to_abi(std::string_view(
      R"({"type":"object","properties":{"a":{"type":"string","format":"path"},"n":{"type":"integer"},)"
      R"("b":{"format":"path","default":"."},"u":{"type":"string","format":"uri"}},"required":["a"]})"));
  in_call(AGENTD_EVENT_AGENT_STOP,
          [&](const agentd_call& call) { EXPECT_EQ(tools->add(tools, call.token, &tool), AGENTD_OK); });
  ASSERT_EQ(context().tools().size(), 1u);
  const Tool added = context().tools()[0].tool;
  EXPECT_EQ(added.path_keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(added.input_schema_json, R"({"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer"},)"
                                     R"("b":{"default":"."},"u":{"type":"string","format":"uri"}},"required":["a"]})");
}

TEST_F(Tables, ToolGivesPiecesAndAResult) {
  PluginTool tool;
  tool.tool.name = "echo";
  tool.tag = 3;
  tool.fn = [](void*, const agentd_call* call) noexcept -> agentd_status {
    const auto& payload = *static_cast<const agentd_tool_call*>(call->payload);
    EXPECT_EQ(payload.tool, 3u);
    for (const char* const piece : {"one ", "two "}) {
      const auto act = text_action(AGENTD_ACT_TOOL_OUTPUT, piece);
      EXPECT_EQ(call->core->emit(call->core, call->token, &act.h), AGENTD_OK);
    }
    const auto illegal = text_action(AGENTD_ACT_CONTINUE, "x");
    EXPECT_EQ(call->core->emit(call->core, call->token, &illegal.h), AGENTD_E_UNSUPPORTED);
    agentd_act_tool_result result{};
    result.h = {sizeof result, AGENTD_ACT_TOOL_RESULT, 0};
    result.is_error = 1;
    call->core->emit(call->core, call->token, &result.h);
    return AGENTD_OK;
  };
  const auto outcome = context().call_tool(tool, nullptr, {"c", "echo", {}}, {1, {}, {}}, CancelToken(), Deadline());
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->success);
  EXPECT_EQ(outcome->content, "one two ");
}

TEST_F(Tables, ToolThatFailsGivesItsText) {
  PluginTool tool;
  tool.fn = [](void*, const agentd_call* call) noexcept -> agentd_status {
    call->core->fail(call->core, call->token, AGENTD_E_DENIED, to_abi(std::string_view("outside the workspace")));
    return AGENTD_E_DENIED;
  };
  const auto outcome = context().call_tool(tool, nullptr, {"c", "echo", {}}, {1, {}, {}}, CancelToken(), Deadline());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kDenied);
  EXPECT_EQ(outcome.error().message, "echo: outside the workspace");
}

TEST_F(Tables, CancelledRunIsSeenByTheTool) {
  PluginTool tool;
  tool.fn = [](void*, const agentd_call* call) noexcept -> agentd_status {
    return call->live->cancel == AGENTD_CANCEL_USER ? AGENTD_E_CANCELLED : AGENTD_OK;
  };
  const CancelToken cancel;
  cancel.cancel(AGENTD_CANCEL_USER);
  const auto outcome = context().call_tool(tool, nullptr, {"c", "t", {}}, {1, {}, {}}, cancel, Deadline());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kCancelled);
}

TEST_F(Tables, ControlCallGivesTheTextOfItsFailure) {
  const auto done = context().control(AGENTD_EVENT_CREATE, nullptr, Deadline(), [](const agentd_call* call) {
    call->core->fail(call->core, call->token, AGENTD_E_ARG, to_abi(std::string_view("config.x is missing")));
    return AGENTD_E_ARG;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "p: config.x is missing");
}

TEST_F(Tables, ToolsAreNotMoreThanAPluginMayHave) {
  const auto* const tools = query<agentd_tools>(AGENTD_TOOLS_ID);
  in_call(AGENTD_EVENT_SESSION_START, [&](const agentd_call& call) {
    agentd_tool tool{};
    tool.size = sizeof tool;
    tool.input_schema_json = to_abi(std::string_view("{}"));
    tool.fn = [](void*, const agentd_call*) noexcept -> agentd_status { return AGENTD_OK; };
    for (std::size_t i = 0; i < kPluginToolsMax; ++i) {
      const std::string name = "t" + std::to_string(i);
      tool.name = to_abi(name);
      ASSERT_EQ(tools->add(tools, call.token, &tool), AGENTD_OK) << i;
    }
    tool.name = to_abi(std::string_view("more"));
    EXPECT_EQ(tools->add(tools, call.token, &tool), AGENTD_E_TOO_BIG);
    EXPECT_EQ(tools->remove(tools, 0, to_abi(std::string_view("t7"))), AGENTD_OK);
    const std::string endless(kToolTextsMax, 'x');
    tool.description = to_abi(endless);
    EXPECT_EQ(tools->add(tools, call.token, &tool), AGENTD_E_TOO_BIG);
    tool.description = {};
    EXPECT_EQ(tools->add(tools, call.token, &tool), AGENTD_OK);
    tool.name = to_abi(std::string_view("again"));
    EXPECT_EQ(tools->add(tools, call.token, &tool), AGENTD_E_TOO_BIG);
  });
  EXPECT_EQ(failure_, "the tool again is one too many: a plugin has at most 256");
}

// ---- json and field

TEST_F(Tables, FieldsAreNotMoreThanAPluginMayHave) {
  const auto* const field = query<agentd_field>(AGENTD_FIELD_ID);
  for (std::size_t i = 0; i < kFieldKeysMax; ++i) ASSERT_EQ(field->key(field, to_abi("f" + std::to_string(i))), i + 1);
  EXPECT_EQ(field->key(field, to_abi(std::string_view("more"))), 0u);
  EXPECT_EQ(field->key(field, to_abi(std::string_view("f17"))), 18u);
  EXPECT_TRUE(log_.mentions("it requested keys for more than 4096 fields: further ones are refused"));
}

TEST_F(Tables, FieldWithAnEndlessPathIsNone) {
  const auto* const field = query<agentd_field>(AGENTD_FIELD_ID);
  EXPECT_EQ(field->key(field, to_abi(std::string(kFieldPathBytesMax + 1, 'x'))), 0u);
}

TEST_F(Tables, PayloadAsJsonAndByField) {
  const auto* const json = query<agentd_json>(AGENTD_JSON_ID);
  const auto* const field = query<agentd_field>(AGENTD_FIELD_ID);
  const std::uint32_t response = field->key(field, to_abi(std::string_view("response")));
  EXPECT_EQ(field->key(field, to_abi(std::string_view("response"))), response);
  EXPECT_EQ(field->key(field, to_abi(std::string_view(""))), 0u);
  EXPECT_EQ(field->key(field, to_abi(std::string_view("a."))), 0u);
  const std::uint32_t missing = field->key(field, to_abi(std::string_view("no.such")));
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    agentd_str out{};
    ASSERT_EQ(json->payload(json, call.token, &out), AGENTD_OK);
    EXPECT_NE(view_of(out).find("\"event\":\"agent_stop\""), std::string_view::npos);
    ASSERT_EQ(field->get(field, call.token, response, &out), AGENTD_OK);
    EXPECT_EQ(view_of(out), "the answer");
    EXPECT_EQ(field->get(field, call.token, missing, &out), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(field->get(field, call.token, 99, &out), AGENTD_E_ARG);
  });
  agentd_token scope = 0;
  context().core()->scope_open(context().core(), 0, UINT64_MAX, &scope, nullptr);
  agentd_str out{};
  EXPECT_EQ(json->payload(json, scope, &out), AGENTD_E_UNSUPPORTED);
}

TEST_F(Tables, InAToolsCallThePayloadIsItsInput) {
  const auto* const json = query<agentd_json>(AGENTD_JSON_ID);
  const auto* const field = query<agentd_field>(AGENTD_FIELD_ID);
  const auto get = [&](const agentd_call& call, std::string_view path) {
    agentd_str out{};
    const agentd_status status = field->get(field, call.token, field->key(field, to_abi(path)), &out);
    return status == AGENTD_OK ? std::string(view_of(out)) : std::to_string(status);
  };
  static std::string input;
  input = R"({"path":"a\nb","n":3,"edits":[{"old":"x"},{"old":"y"}]})";
  std::string seen;
  PluginTool tool;
  tool.tool.name = "t";
  tool.fn = [](void* self, const agentd_call* call) noexcept {
    (*static_cast<const std::function<void(const agentd_call&)>*>(self))(*call);
    return agentd_status{AGENTD_OK};
  };
  std::function<void(const agentd_call&)> body = [&](const agentd_call& call) {
    agentd_str out{};
    ASSERT_EQ(json->payload(json, call.token, &out), AGENTD_OK);
    EXPECT_EQ(view_of(out), input);
    for (const char* const path : {"path", "n", "edits.1.old", "edits.0", "edits.2.old", "edits.x", "tool"})
      seen += get(call, path) + ";";
  };
  const auto made = ToolInput::make(input);
  ASSERT_TRUE(made);
  ASSERT_TRUE(context().call_tool(tool, &body, {"c1", "t", *made}, {42, {}, {}}, CancelToken(), Deadline{}));
  EXPECT_EQ(seen, "a\nb;3;y;{\"old\":\"x\"};-6;-6;-6;");
}

// ---- services

TEST_F(Tables, CompactGivesItsResultAndItsCaller) {
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const agentd_compact_result* result = nullptr;
    agentd_compact_source source{};
    source.size = sizeof source;
    source.conversation = call.conversation;
    ASSERT_EQ(call.services->compactor->compact(call.services->compactor, call.token, &source, nullptr, &result),
              AGENTD_OK);
    EXPECT_EQ(view_of(result->summary), "short");
    EXPECT_EQ(result->base_revision, 7u);
    EXPECT_EQ(services_.asked.plugin_id, "org.test.p");
    EXPECT_EQ(services_.asked.conversation, 42u);
    EXPECT_EQ(services_.asked.event, std::uint32_t{AGENTD_EVENT_AGENT_STOP});
    EXPECT_EQ(services_.max_summary_tokens, 0u);
    EXPECT_EQ(call.services->compactor->compact(call.services->compactor, call.token, nullptr, nullptr, &result),
              AGENTD_E_ARG);
  });
}

TEST_F(Tables, ErrorOfAServiceIsAStatusAndAText) {
  services_.fails = {Code::kUnavailable, "the model is down"};
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const agentd_compact_result* result = nullptr;
    const agentd_compact_source source{sizeof source, 0, 42, 0, 0, {nullptr, 0, 0}};
    EXPECT_EQ(call.services->compactor->compact(call.services->compactor, call.token, &source, nullptr, &result),
              AGENTD_E_IO);
  });
  EXPECT_EQ(failure_, "the model is down");
}

TEST_F(Tables, TimeOfAServiceIsNotTheHooks) {
  deadline_ns_ = clock_.monotonic_ns() + 1'000'000'000;
  services_.during = [&] { clock_.advance(Milliseconds(5'000)); };
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const agentd_compact_result* result = nullptr;
    const agentd_compact_source source{sizeof source, 0, 42, 0, 0, {nullptr, 0, 0}};
    call.services->compactor->compact(call.services->compactor, call.token, &source, nullptr, &result);
    EXPECT_EQ(call.live->deadline_ns, deadline_ns_ + 5'000'000'000);
  });
}

TEST_F(Tables, TimeOfServicesAtOnceCountsOnce) {
  deadline_ns_ = clock_.monotonic_ns() + 1'000'000'000;
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const agentd_compact_source source{sizeof source, 0, 42, 0, 0, {nullptr, 0, 0}};
    const auto compact = [&] {
      const agentd_compact_result* result = nullptr;
      call.services->compactor->compact(call.services->compactor, call.token, &source, nullptr, &result);
    };
    int depth = 0;
    services_.during = [&] {
      if (++depth < 3) compact();  // while the one around it is in service
      clock_.advance(Milliseconds(1'000));
    };
    compact();
    EXPECT_EQ(call.live->deadline_ns, deadline_ns_ + 3'000'000'000);
  });
}

TEST_F(Tables, NoDeadlineStaysNone) {
  services_.during = [&] { clock_.advance(Milliseconds(5'000)); };
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const agentd_compact_result* result = nullptr;
    const agentd_compact_source source{sizeof source, 0, 42, 0, 0, {nullptr, 0, 0}};
    call.services->compactor->compact(call.services->compactor, call.token, &source, nullptr, &result);
    EXPECT_EQ(call.live->deadline_ns, UINT64_MAX);
  });
}

TEST_F(Tables, ThreadsOpenSendAndClose) {
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const auto* const threads = call.services->threads;
    agentd_thread thread = 0;
    agentd_thread_options options{};
    options.size = sizeof options;
    options.system = to_abi(std::string_view("judge"));
    ASSERT_EQ(threads->open(threads, call.token, &options, &thread), AGENTD_OK);
    EXPECT_EQ(services_.thread.system, "judge");
    EXPECT_EQ(services_.thread.max_tokens, 4096u);
    const agentd_reply* reply = nullptr;
    ASSERT_EQ(threads->send(threads, call.token, thread, to_abi(std::string_view("hi")), &reply), AGENTD_OK);
    EXPECT_EQ(view_of(reply->text), "re: hi");
    const agentd_usage* usage = nullptr;
    ASSERT_EQ(threads->usage(threads, call.token, thread, &usage), AGENTD_OK);
    EXPECT_EQ(usage->input, 3u);
    EXPECT_EQ(threads->close(threads, thread), AGENTD_OK);
    EXPECT_EQ(threads->close(threads, 6), AGENTD_E_NOT_FOUND);
    services_.fails = {Code::kDenied, "the budget is spent"};
    EXPECT_EQ(threads->send(threads, call.token, thread, to_abi(std::string_view("hi")), &reply), AGENTD_E_TOO_BIG);
  });
}

TEST_F(Tables, KeysOfTheStore) {
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const auto* const store = call.services->store;
    const agentd_kv* kv = nullptr;
    ASSERT_EQ(store->get(store, call.token, to_abi(std::string_view("k")), &kv), AGENTD_OK);
    EXPECT_EQ(view_of(kv->value), "v");
    EXPECT_EQ(kv->version, 3u);
    EXPECT_EQ(store->get(store, call.token, to_abi(std::string_view("none")), &kv), AGENTD_E_NOT_FOUND);
    agentd_list list{};
    ASSERT_EQ(store->scan(store, call.token, {nullptr, 0}, {nullptr, 0}, 0, &list), AGENTD_OK);
    EXPECT_EQ(list.count, 2u);
    EXPECT_EQ(services_.scan_limit, 100u);
    agentd_kv_op op{};
    op.size = sizeof op;
    op.kind = AGENTD_KV_PUT;
    op.key = to_abi(std::string_view("k"));
    op.expect = AGENTD_KV_ANY;
    std::uint64_t version = 0;
    ASSERT_EQ(store->commit(store, call.token, {&op, 1, sizeof op}, &version), AGENTD_OK);
    EXPECT_EQ(version, 9u);
    op.kind = 9;
    EXPECT_EQ(store->commit(store, call.token, {&op, 1, sizeof op}, &version), AGENTD_E_ARG);
    EXPECT_EQ(store->commit(store, call.token, {&op, 1, 4}, &version), AGENTD_E_ARG);
    EXPECT_EQ(store->commit(store, call.token, {nullptr, 1, sizeof op}, &version), AGENTD_E_ARG);
    op.kind = AGENTD_KV_CHECK;
    services_.fails = {Code::kConflict, "changed"};
    EXPECT_EQ(store->commit(store, call.token, {&op, 1, sizeof op}, &version), AGENTD_E_CONFLICT);
  });
}

TEST_F(Tables, RowsOfTheStoreLiveInTheCallsMemory) {
  in_call(AGENTD_EVENT_AGENT_STOP, [&](const agentd_call& call) {
    const auto* const store = call.services->store;
    agentd_list list{};
    ASSERT_EQ(store->messages(store, call.token, to_abi(std::string_view("C")), AGENTD_SCOPE_LOG, 0, 0, 0, &list),
              AGENTD_OK);
    ASSERT_EQ(list.count, 1u);
    const agentd_block& block = blocks_of(messages_of(list)[0])[0];
    EXPECT_NE(block.flags & AGENTD_BLOCK_ELIDED, 0);
    EXPECT_EQ(block.text.len, Rows::kElideBytes);
    EXPECT_EQ(block.full_len, 70'000u);
    EXPECT_EQ(view_of(block.blob), "C:4:0");
    agentd_str rest{};
    ASSERT_EQ(store->read_blob(store, call.token, block.blob, 0, 0, &rest), AGENTD_OK);
    EXPECT_EQ(view_of(rest), "rest");
    EXPECT_EQ(store->messages(store, call.token, to_abi(std::string_view("C")), 7, 0, 0, 0, &list), AGENTD_E_ARG);
  });
}

TEST_F(Tables, EmittingFromManyThreadsLosesNothing) {
  const auto actions = in_call(AGENTD_EVENT_AGENT_STOP, [](const agentd_call& call) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&call] {
        for (int n = 0; n < 100; ++n) {
          const auto act = text_action(AGENTD_ACT_CONTINUE, "x");
          EXPECT_EQ(call.core->emit(call.core, call.token, &act.h), AGENTD_OK);
          EXPECT_NE(call.core->arena(call.core, call.token, 16, 8), nullptr);
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(actions.size(), 400u);
}

}  // namespace
}  // namespace agentd
