// SPDX-License-Identifier: Apache-2.0
// puppet_services.cc - what the host offers: actions, services and tools.
#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>
#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tasks.h>
#include <agentd/ext/tools.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/worker/plugins/puppet.h"

namespace puppet {

std::string try_arena(const agentd_call* call) {
  const agentd_core* const core = call->core;
  auto* const memory = static_cast<char*>(core->arena(core, call->token, 100'000, 64));
  if (memory == nullptr) return "no memory";
  std::memset(memory, 'x', 100'000);
  const bool aligned = reinterpret_cast<std::uintptr_t>(memory) % 64 == 0;
  const bool refuses =
      core->arena(core, call->token, 8, 3) == nullptr && core->arena(core, call->token, 8, 128) == nullptr &&
      core->arena(core, call->token, SIZE_MAX, 8) == nullptr && core->arena(core, call->token + 1, 8, 8) == nullptr;
  const bool small = core->arena(core, call->token, 0, 1) != nullptr;
  return std::string(aligned ? "aligned " : "") + (refuses ? "refuses " : "") + (small ? "small" : "");
}

std::string emit_all(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const auto emit = [&](const agentd_action& action) { (void)core->emit(core, call->token, &action); };
  constexpr std::uint16_t kKinds[] = {AGENTD_ACT_BLOCK,        AGENTD_ACT_CONTINUE,       AGENTD_ACT_SUMMARY,
                                      AGENTD_ACT_REPLACE_TEXT, AGENTD_ACT_INJECT_CONTEXT, AGENTD_ACT_STATE};
  for (const std::uint16_t kind : kKinds) {
    const agentd_act_text act{{sizeof act, kind, 0}, 0, 0, abi("text")};
    emit(act.h);
  }
  const agentd_act_compact compact{{sizeof compact, AGENTD_ACT_COMPACT, 0}, 0, 0, 9, abi("m"), abi("how")};
  emit(compact.h);
  const agentd_act_set set{{sizeof set, AGENTD_ACT_SET, 0}, AGENTD_KEY_TITLE, 0, 1, abi("title")};
  emit(set.h);
  const agentd_act_permission may{{sizeof may, AGENTD_ACT_PERMISSION, 0}, AGENTD_PERMISSION_DENY, 0, abi("why")};
  emit(may.h);
  const agentd_act_recipe recipe{{sizeof recipe, AGENTD_ACT_CALLBACK, 0}, abi("recipe"), abi("{}")};
  emit(recipe.h);
  agentd_block block{};
  block.size = sizeof block;
  block.kind = AGENTD_BLOCK_TEXT;
  block.text = abi("literal");
  agentd_message message{};
  message.size = sizeof message;
  message.role = AGENTD_ROLE_USER;
  message.blocks = {&block, 1, sizeof block};
  const agentd_part parts[] = {{sizeof parts[0], AGENTD_PART_KEEP, 1, 2, nullptr},
                               {sizeof parts[0], AGENTD_PART_LITERAL, 0, 0, &message}};
  const agentd_act_replace replace{{sizeof replace, AGENTD_ACT_REPLACE_MESSAGES, 0}, 3, {parts, 2, sizeof parts[0]}};
  emit(replace.h);
  return "";
}

std::string wrong_emits(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_act_text lies{{sizeof lies, AGENTD_ACT_BLOCK, 0}, 0, 0, {nullptr, 9}};
  const std::string huge(65u << 20, 'x');
  const agentd_act_text big{{sizeof big, AGENTD_ACT_BLOCK, 0}, 0, 0, abi(huge)};
  const agentd_act_text fine{{sizeof fine, AGENTD_ACT_BLOCK, 0}, 0, 0, abi("x")};
  std::string out = std::to_string(core->emit(core, call->token, nullptr));
  out += " " + std::to_string(core->emit(core, call->token, &lies.h));
  out += " " + std::to_string(core->emit(core, call->token, &big.h));
  out += " " + std::to_string(core->emit(core, call->token + (1u << 24), &fine.h));
  return out;
}

std::string all_services(const agentd_call* call) {
  const agentd_services& have = *call->services;
  std::string out;
  // The text is made after the call.
  const auto add = [&](agentd_status status, const std::function<std::string()>& text) {
    out += std::to_string(status) + "=" + text() + ";";
  };
  const auto nothing = [] { return std::string(); };
  std::uint64_t number = 0, next = 0;
  std::uint32_t more = 0;
  agentd_str text{nullptr, 0};
  agentd_list list{nullptr, 0, 0};
  agentd_message message{};
  message.size = sizeof message;
  message.role = AGENTD_ROLE_USER;
  agentd_compact_options options{};
  options.size = sizeof options;
  options.instructions = abi("please");
  const agentd_token token = call->token;
  if (const agentd_compactor* const me = have.compactor) {
    add(me->count_text(me, token, abi("m"), abi("abc"), &number), [&] { return std::to_string(number); });
    add(me->count_messages(me, token, abi("m"), {&message, 1, sizeof message}, &number),
        [&] { return std::to_string(number); });
    add(me->prompt(me, token, &options, &text), [&] { return str(text); });
    agentd_compact_source source{};
    source.size = sizeof source;
    source.messages = {&message, 1, sizeof message};
    const agentd_compact_result* result = nullptr;
    const agentd_status status = me->compact(me, token, &source, &options, &result);
    add(status, [&] {
      return std::string(result == nullptr ? std::string()
                                           : str(result->summary) + std::to_string(result->usage->input));
    });
    add(me->request(me, token, abi("01C"), nullptr), nothing);
  }
  if (const agentd_thread_factory* const me = have.threads) {
    agentd_thread_options wanted{};
    wanted.size = sizeof wanted;
    wanted.system = abi("sys");
    agentd_thread thread = 0;
    add(me->open(me, token, &wanted, &thread), [&] { return std::to_string(thread); });
    const agentd_reply* reply = nullptr;
    const agentd_status status = me->send(me, token, thread, abi("hi"), &reply);
    add(status, [&] { return std::string(reply == nullptr ? std::string() : str(reply->text)); });
    const agentd_usage* usage = nullptr;
    const agentd_status used = me->usage(me, token, thread, &usage);
    add(used, [&] { return std::string(usage == nullptr ? std::string() : std::to_string(usage->output)); });
    add(me->close(me, thread), nothing);
  }
  if (const agentd_store* const me = have.store) {
    const agentd_kv* kv = nullptr;
    const agentd_status got = me->get(me, token, abi("key"), &kv);
    add(got, [&] { return std::string(kv == nullptr ? std::string() : str(kv->value)); });
    add(me->scan(me, token, abi("k"), abi(""), 3, &list), [&] { return std::to_string(list.count); });
    agentd_kv_op op{};
    op.size = sizeof op;
    op.kind = AGENTD_KV_PUT;
    op.key = abi("key");
    op.value = abi("value");
    add(me->commit(me, token, {&op, 1, sizeof op}, &number), [&] { return std::to_string(number); });
    add(me->commit(me, token, {&op, 1, sizeof op}, nullptr), nothing);
    add(me->conversations(me, token, nullptr, &list), [&] { return std::to_string(list.count); });
    const agentd_status read = me->messages(me, token, abi("01C"), AGENTD_SCOPE_LOG, 5, 6, 7, &list);
    const auto* const first = static_cast<const agentd_message*>(list.first);
    add(read, [&] {
      return std::string(first == nullptr ? std::string()
                                          : str(static_cast<const agentd_block*>(first->blocks.first)->text));
    });
    add(me->read_blob(me, token, abi("b"), 1, 2, &text), [&] { return str(text); });
    add(me->changes(me, token, 4, 5, &list, &next), [&] { return std::to_string(next); });
  }
  if (const auto* const me = find<agentd_json>(call, AGENTD_JSON_ID)) {
    add(me->payload(me, token, &text), [&] { return str(text); });
    add(me->payload(me, token, &text), [&] { return str(text); });
  }
  if (const auto* const me = find<agentd_field>(call, AGENTD_FIELD_ID)) {
    const std::uint32_t key = me->key(me, abi("a.b"));
    add(me->get(me, token, key, &text), [&] { return str(text) + std::to_string(me->key(me, abi("a.b")) - key); });
    add(me->get(me, token, 99, &text), [&] { return std::to_string(me->key(me, abi(".a"))); });
  }
  if (const auto* const me = find<agentd_workspace>(call, AGENTD_WORKSPACE_ID)) {
    add(me->read(me, token, abi("f"), 1, 2, &text, &number), [&] { return str(text) + std::to_string(number); });
    add(me->write(me, token, abi("f"), abi("new")), nothing);
    add(me->replace(me, token, abi("f"), abi("old"), abi("new")), nothing);
    add(me->list(me, token, abi("."), 1, 2, &list, &more),
        [&] { return std::to_string(list.count) + std::to_string(more); });
    add(me->view(me, token, abi("f"), 2, &text, &number), [&] { return str(text) + std::to_string(number); });
    add(me->edit(me, token, abi("f"), abi("old"), abi("new")), nothing);
  }
  if (const auto* const me = find<agentd_process>(call, AGENTD_PROCESS_ID)) {
    const agentd_str argv[] = {abi("ls"), abi("-l")};
    agentd_process_options run{};
    run.size = sizeof run;
    run.argv = {argv, 2, sizeof argv[0]};
    const agentd_process_result* result = nullptr;
    const agentd_status status = me->run(me, token, &run, &result);
    add(status, [&] {
      return std::string(result == nullptr ? std::string() : str(result->output) + std::to_string(result->exit_code));
    });
    const agentd_str variables[] = {abi("A=b")};
    run.environment = {variables, 1, sizeof variables[0]};
    run.description = abi("lists");
    std::uint64_t handle = 0;
    add(me->start(me, token, &run, &handle), [&] { return std::to_string(handle); });
    const agentd_process_piece* piece = nullptr;
    add(me->read(me, token, 3, AGENTD_PROCESS_UNREAD, 100, 7, &piece), [&] {
      return std::string(piece == nullptr || piece->state == nullptr
                             ? std::string()
                             : str(piece->bytes) + std::to_string(piece->next) + str(piece->state->command));
    });
    add(me->write(me, token, 3, abi("in"), 1), nothing);
    add(me->signal(me, token, 3, 15), nothing);
    const agentd_process_state* state = nullptr;
    add(me->wait(me, token, 3, 9, &state),
        [&] { return state == nullptr ? std::string() : std::to_string(state->exit_code) + str(state->spill_path); });
    add(me->list(me, token, &list), [&] { return std::to_string(list.count); });
    add(me->resize(me, token, 3, 30, 100), nothing);
    add(me->end(me, token, 3, &state),
        [&] { return state == nullptr ? std::string() : std::to_string(state->handle); });
  }
  return out;
}

// Each of them wants a place for its answer, and a token that is one.
std::string wrong_services(const agentd_call* call) {
  const agentd_services& have = *call->services;
  const agentd_token token = call->token, stale = token + (1u << 24);
  std::string out;
  const auto add = [&](agentd_status status) { out += std::to_string(status) + " "; };
  std::uint64_t number = 0;
  agentd_list list{nullptr, 0, 0};
  add(have.compactor->count_text(have.compactor, token, abi(""), abi(""), nullptr));
  add(have.compactor->count_text(have.compactor, stale, abi(""), abi(""), &number));
  add(have.compactor->compact(have.compactor, token, nullptr, nullptr, nullptr));
  add(have.threads->open(have.threads, token, nullptr, nullptr));
  add(have.store->get(have.store, token, abi("k"), nullptr));
  add(have.store->changes(have.store, token, 0, 0, &list, nullptr));
  add(have.store->commit(have.store, token, {nullptr, 3, 48}, nullptr));
  const auto* const files = find<agentd_workspace>(call, AGENTD_WORKSPACE_ID);
  add(files->read(files, token, abi("f"), 0, 0, nullptr, nullptr));
  const auto* const json = find<agentd_json>(call, AGENTD_JSON_ID);
  add(json->payload(json, token, nullptr));
  const auto* const processes = find<agentd_process>(call, AGENTD_PROCESS_ID);
  add(processes->run(processes, token, nullptr, nullptr));
  return out;
}

namespace {

agentd_status AGENTD_CALL run_tool(void*, const agentd_call* call) AGENTD_NOEXCEPT {
  const auto* const input = static_cast<const agentd_tool_call*>(call->payload);
  for (const char* const piece : {"one", "two", "three"}) {
    const agentd_act_text act{{sizeof act, AGENTD_ACT_TOOL_OUTPUT, 0}, 0, 0, abi(piece)};
    call->core->emit(call->core, call->token, &act.h);
  }
  const std::string json = std::to_string(input->tool) + str(input->input_json);
  agentd_act_tool_result result{};
  result.h = {sizeof result, AGENTD_ACT_TOOL_RESULT, 0};
  result.structured_json = abi(json);
  return call->core->emit(call->core, call->token, &result.h);
}

}  // namespace

std::string add_tools(const agentd_call* call) {
  const auto* const tools = find<agentd_tools>(call, AGENTD_TOOLS_ID);
  if (tools == nullptr) return "no tools";
  agentd_tool tool{};
  tool.size = sizeof tool;
  tool.flags = AGENTD_TOOL_READ_ONLY;
  tool.name = abi("echo");
  tool.title = abi("Echo");
  tool.description = abi("says it again");
  tool.input_schema_json = abi("{\"type\":\"object\"}");
  tool.timeout_ms = 1500;
  tool.fn = run_tool;
  tool.tag = 4711;
  std::string out = std::to_string(tools->add(tools, call->token, &tool));
  tool.name = abi("taken");
  out += " " + std::to_string(tools->add(tools, call->token, &tool));
  tool.fn = nullptr;
  out += " " + std::to_string(tools->add(tools, call->token, &tool));
  tool.size = 8;
  out += " " + std::to_string(tools->add(tools, call->token, &tool));
  out += " " + std::to_string(tools->remove(tools, call->token, abi("echo")));
  return out;
}

}  // namespace puppet
