// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/server.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/bytes.h"
#include "core/mcp/pages.h"
#include "core/mcp/prompts.h"
#include "core/mcp/resources.h"
#include "core/mcp/results.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kToolsPage = 50, kShownNameBytes = 80;
constexpr std::int64_t kListsTtlMs = 5'000;
constexpr std::string_view kInstructions =
    "agentd keeps memories, checkpoints and conversations across sessions. Call session_start with the task before you "
    "begin, memory_search when a problem may have occurred before, context_threshold when your context fills up, and "
    "session_end when the work is done.";

Fault fault_of(const RunError& error) {
  switch (error.kind) {
    case RunError::Kind::kUsage:
    case RunError::Kind::kNotFound:
      return bad_params(error.message);
    case RunError::Kind::kCancelled:
      return {{kRpcCancelled, error.message}};
    default:
      return {{kRpcInternal, error.message}};
  }
}

Fault no_method(std::string_view name, Era era) {
  return {{kRpcNoMethod, "Method not found: agentd has no '" + one_line(name, kShownNameBytes) + "'"},
          era == Era::kModern ? 404u : 200u};
}

}  // namespace

// One request, and what its work needs.
struct Server::Call {
  From client;
  std::shared_ptr<const RpcMessage> message;
  To to;
  Asking asking;
  CancelToken cancel;
  std::uint64_t number = 0;  // of Client::begin(); 0 = it is done at once
  // Set by a method whose result is of another type.
  mutable std::string_view type = "complete";
  // Set by a method whose request stays open: somebody else answers it, and ends it.
  mutable bool stays_open = false;

  JsonView params() const { return message->params(); }
};

struct Server::Method {
  std::string_view name;
  Reply (Server::*call)(const Call&);
  bool legacy = true, modern = true;
  bool waits = true;      // done on a thread of its own
  bool may_keep = false;  // the result may be kept for a while (modern)
};

const Server::Method Server::kMethods[] = {
    {"initialize", &Server::initialize, true, false, false},
    {"ping", &Server::nothing, true, false, false},
    {"logging/setLevel", &Server::nothing, true, false, false},
    {"server/discover", &Server::discover, false, true, false, true},
    {"tools/list", &Server::list_tools, true, true, true, true},
    {"tools/call", &Server::call_tool},
    {"prompts/list", &Server::prompts_list, true, true, true, true},
    {"prompts/get", &Server::prompts_get},
    {"completion/complete", &Server::completion},
    {"resources/list", &Server::resources_list, true, true, true, true},
    {"resources/templates/list", &Server::resources_templates, true, true, false, true},
    {"resources/read", &Server::resources_read, true, true, true, true},
    {"resources/subscribe", &Server::subscribe, true, false},
    {"resources/unsubscribe", &Server::unsubscribe, true, false},
    {"subscriptions/listen", &Server::listen, false, true},
    {"tasks/get", &Server::get_task, false, true},
    {"tasks/update", &Server::update_task, false, true},
    {"tasks/cancel", &Server::cancel_task, false, true},
};

const Server::Method* Server::find_method(std::string_view name, Era era) {
  const auto* const found = std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Method& each) {
    return each.name == name && (era == Era::kModern ? each.modern : each.legacy);
  });
  return found == std::end(kMethods) ? nullptr : found;
}

void Server::take(const From& client, const std::shared_ptr<const RpcMessage>& message, const To& to,
                  const CancelToken& cancel) {
  if (message->kind == RpcMessage::Kind::kNotification) {
    if (const auto id = cancelled_by(kMcpCancelling, *message)) client->cancel(*id);
    return;
  }
  Call call{client, message, to, {}, cancel};
  if (message->id.is_null()) return to->refuse({{kRpcBadRequest, "a request has an id"}, 400});
  if (claimed_version(*message)) {
    auto asking = read_asking(*message);
    if (!asking) return to->refuse(asking.error());
    call.asking = std::move(*asking);
  }
  const Era era = call.asking.era;
  const Method* const method = find_method(message->method, era);
  if (method == nullptr) return to->refuse(no_method(message->method, era));
  if (era == Era::kLegacy && !client->is_initialized() && method->name != "initialize" && method->name != "ping")
    return to->refuse(
        {{kRpcBadRequest, "the first request must be initialize, or each one says its version in '_meta'"}, 400});
  if (const JsonView params = message->params(); params.exists() && !params.is_object())
    return to->refuse(bad_params("'params' must be an object"));
  if (!method->waits) return work(call, *method);
  const auto number = client->begin(message->id, cancel);
  if (!number) return to->refuse({{kRpcBadRequest, "a request with this id waits for its answer already"}, 400});
  call.number = *number;
  if (means_.start([this, call, method] {
        work(call, *method);
        if (!call.stays_open) call.client->done(call.number);
      }))
    return;
  client->done(*number);
  to->refuse({{kRpcInternal, "too many requests wait: try again later"}, 503});
}

void Server::work(const Call& call, const Method& method) {
  Reply reply = (this->*method.call)(call);
  if (call.stays_open) return;
  if (call.cancel.cancelled()) return call.to->drop();
  if (!reply) return call.to->refuse(reply.error());
  Dress dress{call.asking.era, means_.version, call.type};
  if (method.may_keep) dress.ttl_ms = kListsTtlMs;
  call.to->answer(dressed(*reply, dress));
}

// ---- the connection

Server::Reply Server::initialize(const Call& call) {
  const JsonView params = call.params();
  if (!params["protocolVersion"].is_string()) return bad_params("'protocolVersion' must be a text");
  if (call.client->is_initialized()) return Fault{{kRpcBadRequest, "initialize was called before"}, 400};
  call.client->set_initialized(one_line(params["clientInfo"]["name"].string_or(""), kShownNameBytes));
  JsonWriter out;
  out.begin_object().member("protocolVersion", negotiated_version(params["protocolVersion"].string_or("")));
  out.key("capabilities");
  write_abilities(out, Era::kLegacy);
  out.key("serverInfo");
  write_server(out, means_.version);
  out.member("instructions", kInstructions).end_object();
  return std::string(out.text());
}

Server::Reply Server::discover(const Call&) {
  JsonWriter out;
  out.begin_object().key("supportedVersions").begin_array().string(kModernVersion);
  for (const std::string_view each : kServedVersions) out.string(each);
  out.end_array().key("capabilities");
  write_abilities(out, Era::kModern);
  out.member("instructions", kInstructions).end_object();
  return std::string(out.text());
}

Server::Reply Server::nothing(const Call&) { return std::string("{}"); }

// ---- tools

Server::Reply Server::list_tools(const Call& call) {
  std::size_t from = 0;
  if (const JsonView cursor = call.params()["cursor"]; cursor.exists()) {
    const auto read = read_cursor("tools", cursor.string_or(""));
    if (!read || read->empty() || read->find_first_not_of("0123456789") != std::string::npos || read->size() > 6)
      return bad_params("'cursor' is not one that tools/list has given");
    from = std::stoul(*read);
  }
  watch(call, List::kTools);
  const auto tools = call.client->tools();
  if (!tools) return fault_of(tools.error());
  JsonWriter out;
  out.begin_object().key("tools").begin_array();
  const std::size_t to = std::min(tools->size(), from + kToolsPage);
  for (std::size_t i = from; i < to; ++i) write_tool(out, (*tools)[i]);
  out.end_array();
  if (to < tools->size()) out.member("nextCursor", write_cursor("tools", std::to_string(to)));
  out.end_object();
  return std::string(out.text());
}

Server::Reply Server::call_tool(const Call& call) {
  const std::string name(call.params()["name"].string_or(""));
  const JsonView arguments = call.params()["arguments"];
  if (arguments.exists() && !arguments.is_object()) return bad_params("'arguments' must be an object");
  const auto tools = call.client->tools();
  if (!tools) return fault_of(tools.error());
  const auto tool = std::find_if(tools->begin(), tools->end(), [&](const Tool& each) { return each.name == name; });
  if (tool == tools->end())
    return bad_params("Unknown tool: '" + one_line(name, kShownNameBytes) +
                      "' is not offered; tools/list has those that are");
  if (call.asking.era == Era::kModern && call.to->has_fields())
    if (auto fault = check_param_fields(tool->input_schema_json, arguments,
                                        [&](const std::string& field) { return call.to->field(field); }))
      return std::move(*fault);
  // The steps of a run go on behind those of its call.
  const JsonView token = call.params()["_meta"]["progressToken"];
  std::uint64_t before = 0, last = 0;
  const Progress progress = [&](std::uint64_t step, const std::string& what) {
    last = before + step;
    if (!token.exists()) return;
    JsonWriter out;
    out.begin_object().key("progressToken").value(token).member("progress", last).optional("message", what);
    out.end_object();
    call.to->notify("notifications/progress", out.text());
  };
  std::string input = arguments.exists() ? std::string(arguments.text()) : std::string();
  if (name == kRunAgent && arguments.exists()) input = without_words(arguments);
  const auto called = call.client->call({name, std::move(input)}, call.cancel, progress);
  before = last;
  if (!called) {
    if (called.error().kind == RunError::Kind::kCancelled) return fault_of(called.error());
    return tool_failure(called.error().message);
  }
  const OwnTool* const own = find_own_tool(name);
  if (called->report.status != ToolStatus::kOk || called->begun.empty())
    return tool_result(called->report, own != nullptr);
  if (own->name == kSessionEnd) {
    call.client->end();
    return tool_result(called->report, true);
  }
  const auto begun = JsonDocument::parse(called->begun);
  if (!begun) return tool_failure(begun.error().message);
  if (own->name == kRunAgent) {
    const auto wish = JsonDocument::parse(with_words(begun->root(), arguments));
    return wish ? run_agent(call, wish->root(), progress) : tool_failure(wish.error().message);
  }
  const auto compacted = compact_conversation(means_, begun->root(), call.cancel);
  return compacted ? own_result(*compacted) : tool_failure(compacted.error().message);
}

Server::Reply Server::run_agent(const Call& call, JsonView input, const Progress& progress) {
  auto wish = read_run_wish(input);
  if (!wish) return tool_failure(wish.error().message);
  const auto run = runs_.begin(call.client->place().cwd, std::move(*wish), call.cancel);
  if (!run) return tool_failure(run.error().message);
  const std::string id = (*run)->id();
  if (call.asking.tasks) {
    const auto state = runs_.state(id);
    if (!state) return Fault{{kRpcInternal, state.error().message}};
    call.type = "task";
    JsonWriter out;
    out.begin_object();
    TaskState begun = *state;
    begun.kind = TaskState::Kind::kWorking;
    write_task(out, begun);
    out.end_object();
    return std::string(out.text());
  }
  const auto ended = (*run)->wait(call.cancel, progress);
  if (call.cancel.cancelled()) return Fault{{kRpcCancelled, "the request was cancelled"}};
  auto state = runs_.state(id);
  if (!state) return tool_failure(ended ? state.error().message : ended.error().message);
  if (!ended && state->text.empty()) state->text = ended.error().message;
  return run_result(*state);
}

// ---- prompts and resources

// A list that a client of the legacy era has got once is watched for it.
void Server::watch(const Call& call, List list) {
  if (call.asking.era == Era::kLegacy) changes_.watch(call.client, list);
}

Server::Reply Server::prompts_list(const Call& call) {
  watch(call, List::kPrompts);
  const auto workplace = call.client->workplace();
  if (!workplace) return fault_of(workplace.error());
  return list_prompts(**workplace, call.params());
}

Server::Reply Server::prompts_get(const Call& call) {
  const auto workplace = call.client->workplace();
  if (!workplace) return fault_of(workplace.error());
  return get_prompt(**workplace, call.params());
}

Server::Reply Server::completion(const Call& call) {
  const auto workplace = call.client->workplace();
  if (!workplace) return fault_of(workplace.error());
  return complete(**workplace, call.params());
}

Server::Reply Server::resources_list(const Call& call) {
  watch(call, List::kResources);
  return list_resources(means_.runtime, call.client->place().project, call.params());
}

Server::Reply Server::resources_templates(const Call&) { return list_templates(); }

Server::Reply Server::resources_read(const Call& call) {
  return read_resource(means_.runtime, call.asking.era, call.params());
}

// ---- changes

Server::Reply Server::subscribe(const Call& call) {
  if (auto fault = changes_.subscribe(call.client, call.params())) return std::move(*fault);
  return std::string("{}");
}

Server::Reply Server::unsubscribe(const Call& call) {
  if (auto fault = changes_.unsubscribe(call.client, call.params())) return std::move(*fault);
  return std::string("{}");
}

Server::Reply Server::listen(const Call& call) {
  if (auto fault = changes_.listen(call.client, call.params(), {call.message->id, call.to, call.cancel, call.number}))
    return std::move(*fault);
  call.stays_open = true;
  return std::string();
}

// ---- tasks

Server::Reply Server::get_task(const Call& call) {
  const auto state = runs_.state(std::string(call.params()["taskId"].string_or("")));
  if (!state) return bad_params(state.error().message);
  JsonWriter out;
  out.begin_object();
  write_task(out, *state);
  if (state->kind == TaskState::Kind::kEnded) {
    out.key("result").raw(dressed(run_result(*state), {call.asking.era, means_.version}));
  } else if (state->kind == TaskState::Kind::kInterrupted) {
    out.key("error").begin_object().member("code", static_cast<std::int64_t>(kRpcInternal));
    out.member("message", message_of(*state)).end_object();
  }
  out.end_object();
  return std::string(out.text());
}

// Nothing is asked by a task: its questions wait for a person (agentd approve).
Server::Reply Server::update_task(const Call& call) {
  const auto state = runs_.state(std::string(call.params()["taskId"].string_or("")));
  if (!state) return bad_params(state.error().message);
  return std::string("{}");
}

Server::Reply Server::cancel_task(const Call& call) {
  const std::string id(call.params()["taskId"].string_or(""));
  const auto state = runs_.state(id);
  if (!state) return bad_params(state.error().message);
  (void)runs_.cancel(id);
  return std::string("{}");
}

}  // namespace agentd::mcp
