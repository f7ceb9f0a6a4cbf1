// SPDX-License-Identifier: Apache-2.0
#include "core/serve/mcp_door.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/mcp_protocol.h"
#include "core/serve/http_limits.h"
#include "core/workplace/project.h"

namespace agentd::serve {
namespace {

using mcp::Fault;

constexpr std::size_t kThreadsMax = 256;  // requests and runs at a time
constexpr std::size_t kClientsMax = 1'000;
constexpr Milliseconds kUnused{60 * 60'000};
constexpr std::int64_t kNoSession = -32001;
constexpr std::string_view kStillHere = ": still here\n\n";

void refuse(HttpExchange& exchange, const RpcId& id, const Fault& fault, unsigned status) {
  HttpReply reply;
  reply.status = status;
  reply.body = rpc_fault(id, fault.rpc);
  exchange.reply(std::move(reply));
}

void accept(HttpExchange& exchange) {
  HttpReply reply;
  reply.status = 202;
  exchange.reply(std::move(reply));
}

std::optional<std::string> field_of(const RequestHead& head, std::string_view name) {
  if (head.count(name) == 0) return std::nullopt;
  return std::string(head.field(name));
}

bool takes_events(const RequestHead& head) {
  return ascii_lower(head.field("accept")).find("text/event-stream") != std::string::npos;
}

// A call that takes long, or tells how far it is: whoever leaves is noticed.
bool is_long(const RpcMessage& message) {
  if (message.method != "tools/call") return false;
  const JsonView params = message.params();
  const std::string_view tool = params["name"].string_or("");
  return params["_meta"]["progressToken"].exists() || tool == mcp::kRunAgent || tool == mcp::kCompact;
}

std::string event(std::string_view message) { return "event: message\ndata: " + std::string(message) + "\n\n"; }

// Also 2025-03-26, which clients name without having agreed to it: its messages are those of the others, but for
// batches.
bool speaks(std::string_view version) {
  return std::find(mcp::kLegacyVersions.begin(), mcp::kLegacyVersions.end(), version) != mcp::kLegacyVersions.end();
}

}  // namespace

// One request of HTTP and its answer.
class McpDoor::Exchange final : public mcp::Answerer {
 public:
  // `cancels`: a client that leaves the stream cancels the request. In the legacy era a notification does.
  Exchange(std::shared_ptr<HttpExchange> exchange, RpcId id, bool cancels)
      : exchange_(std::move(exchange)),
        id_(std::move(id)),
        takes_events_(takes_events(exchange_->head())),
        cancels_(cancels) {}

  const CancelToken& cancel() const { return cancel_; }
  // The name of the session that a good answer begins. REQUIRES: before the request is taken.
  void set_session(std::string name) { session_ = std::move(name); }
  bool is_answered_well() const {
    const MutexLock lock(mutex_);
    return well_;
  }
  void begin_stream() {
    const MutexLock lock(mutex_);
    open();
  }

  void answer(std::string result) override { finish(rpc_result(id_, result), 200, true); }
  void refuse(const Fault& fault) override { finish(rpc_fault(id_, fault.rpc), fault.status, false); }
  void drop() override { refuse({{kRpcCancelled, "the request was cancelled"}}); }
  bool has_fields() const override { return true; }
  std::optional<std::string> field(const std::string& name) const override { return field_of(exchange_->head(), name); }
  bool can_notify() const override { return takes_events_; }
  void notify(std::string_view method, std::string_view params) override {
    const MutexLock lock(mutex_);
    if (open()) (void)stream_->send(event(rpc_notification(method, params)));
  }
  void still_here() override {
    const MutexLock lock(mutex_);
    if (stream_) (void)stream_->send(std::string(kStillHere));
  }

 private:
  bool open() REQUIRES(mutex_) {
    if (!stream_ && takes_events_) {
      stream_ = exchange_->stream(stream_head(), [cancel = cancel_, cancels = cancels_] {
        if (cancels) cancel.cancel(AGENTD_CANCEL_USER);
      });
    }
    return stream_ != nullptr;
  }
  void finish(const std::string& message, unsigned status, bool well) {
    const MutexLock lock(mutex_);
    well_ = well;
    if (stream_) {
      (void)stream_->send(event(message));
      return stream_->close();
    }
    HttpReply reply;
    reply.status = status;
    reply.body = message;
    if (well && !session_.empty()) reply.fields.emplace_back("Mcp-Session-Id", session_);
    exchange_->reply(std::move(reply));
  }

  const std::shared_ptr<HttpExchange> exchange_;  // shared with the server
  const RpcId id_;
  const bool takes_events_, cancels_;
  const CancelToken cancel_;
  std::string session_;
  mutable Mutex mutex_;
  std::shared_ptr<HttpStream> stream_ GUARDED_BY(mutex_);  // shared with the connection; null: none was needed
  bool well_ GUARDED_BY(mutex_) = false;
};

// The stream of a session: what its client has not asked for.
class McpDoor::Told final : public mcp::Hearer {
 public:
  explicit Told(HttpExchange& exchange) : stream_(exchange.stream(stream_head(), [gone = gone_] { *gone = true; })) {
    (void)stream_->send(": listening\n\n");
  }
  void notify(std::string_view method, std::string_view params) override {
    (void)stream_->send(event(rpc_notification(method, params)));
  }
  void still_here() override { (void)stream_->send(std::string(kStillHere)); }
  bool has_left() const override { return *gone_; }

 private:
  const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);  // with the server
  const std::shared_ptr<HttpStream> stream_;  // shared with the connection; closed with this
};

McpDoor::McpDoor(Runtime& runtime, Workplaces& workplaces, std::string version)
    : runtime_(runtime),
      workplaces_(workplaces),
      server_(
          {runtime, [this](const std::string& cwd) { return workplaces_.at(cwd); },
           [this](std::function<void()> work) { return threads_.start(std::move(work)) == JobThreads::Started::kYes; },
           std::move(version)}),
      threads_(kThreadsMax) {}

McpDoor::~McpDoor() { stop(); }

void McpDoor::stop() {
  server_.changes().end();
  std::map<std::string, Known> sessions, alone;
  {
    const MutexLock lock(mutex_);
    stops_ = true;
    sessions.swap(sessions_);
    alone.swap(alone_);
  }
  for (const auto* const each : {&sessions, &alone})
    for (const auto& [name, known] : *each) known.client->cancel_all();
  server_.stop();
}

void McpDoor::tidy(const IsGood& is_good) {
  std::vector<Shared> ended;
  {
    const MutexLock lock(mutex_);
    for (auto& [name, known] : sessions_)
      if (server_.changes().is_heard(*known.client)) known.unused = Deadline::after(runtime_.clock(), kUnused);
    for (auto* const each : {&sessions_, &alone_})
      std::erase_if(*each, [&](const auto& entry) {
        const Known& known = entry.second;
        const bool good = is_good(known.token);
        if (!good) known.client->cancel_all();
        const bool over = !good || (known.client->is_idle() && known.unused.passed(runtime_.clock()));
        if (over) ended.push_back(known.client);
        return over;
      });
  }
  end(std::move(ended));
  server_.changes().keep_alive();
}

// Hooks of their ends may take their time.
void McpDoor::end(std::vector<Shared> clients) {
  if (clients.empty()) return;
  for (const Shared& each : clients) server_.changes().forget(*each);
  auto work = [clients = std::move(clients)] {
    for (const Shared& each : clients) each->end();
  };
  if (threads_.start(work) != JobThreads::Started::kYes) work();
}

McpDoor::Shared McpDoor::keep(ByName& clients, const std::string& name, Known known) {
  Shared oldest;
  if (clients.size() >= kClientsMax) {
    const auto first = std::min_element(clients.begin(), clients.end(), [](const auto& a, const auto& b) {
      return a.second.unused.at_ns < b.second.unused.at_ns;
    });
    oldest = first->second.client;
    clients.erase(first);
  }
  clients[name] = std::move(known);
  return oldest;
}

// ---- requests

std::optional<std::string> McpDoor::directory_of(const RouteCall& call) const {
  std::string cwd(call.asked("cwd").value_or(""));
  std::error_code failed;
  if (!cwd.starts_with('/') || !std::filesystem::is_directory(cwd, failed)) {
    call.exchange->reply(error_reply(400, "bad_request",
                                     "'cwd' names a directory that is there, by an absolute path: /mcp?cwd=DIRECTORY"));
    return std::nullopt;
  }
  cwd = std::filesystem::path(cwd).lexically_normal().string();
  while (cwd.size() > 1 && cwd.ends_with('/')) cwd.pop_back();
  if (workplaces_.is_closed(cwd)) {
    call.exchange->reply(
        error_reply(403, "forbidden", "no client works in that directory: it has keys, or belongs to agentd"));
    return std::nullopt;
  }
  return cwd;
}

mcp::Caller McpDoor::caller_in(const std::string& cwd, const std::string& surface) const {
  mcp::Caller out;
  out.cwd = cwd;
  out.project = find_project(cwd).id;
  out.surface = surface.empty() ? "mcp" : surface;
  out.session = runtime_.agent_parts().ids.next().text();
  return out;
}

void McpDoor::post(const RouteCall& call) {
  HttpExchange& exchange = *call.exchange;
  {
    const MutexLock lock(mutex_);
    if (stops_) return exchange.reply(error_reply(503, "busy", "the daemon ends"));
  }
  auto read = read_rpc(exchange.body(), {HttpLimits().body_bytes});
  if (const auto* const refusal = std::get_if<RpcRefusal>(&read)) {
    if (!refusal->answered) return accept(exchange);
    return refuse(exchange, refusal->id, {refusal->fault}, 400);
  }
  const auto message = std::make_shared<const RpcMessage>(std::get<RpcMessage>(std::move(read)));
  const bool asks = message->kind == RpcMessage::Kind::kRequest;
  // Nothing is asked of a client.
  if (!asks && message->kind != RpcMessage::Kind::kNotification) return accept(exchange);
  const RequestHead& head = exchange.head();
  const mcp::Fields fields{field_of(head, mcp::kVersionField), field_of(head, mcp::kMethodField),
                           field_of(head, mcp::kNameField)};
  if (const auto fault = mcp::check_fields(fields, *message))
    return refuse(exchange, message->id, *fault, fault->status);
  const auto cwd = directory_of(call);
  if (!cwd) return;
  const bool modern = mcp::claimed_version(*message) || (!asks && fields.version == mcp::kModernVersion);
  if (modern) return post_modern(call, message, *cwd);
  post_legacy(call, message, *cwd);
}

void McpDoor::post_modern(const RouteCall& call, const std::shared_ptr<const RpcMessage>& message,
                          const std::string& cwd) {
  // A request is cancelled by leaving its answer.
  if (message->kind == RpcMessage::Kind::kNotification) return accept(*call.exchange);
  auto asking = mcp::read_asking(*message);
  if (!asking) return refuse(*call.exchange, message->id, asking.error(), asking.error().status);
  Shared client;
  const std::string key = hex(call.who.digest) + ' ' + cwd;
  Shared oldest;
  {
    const MutexLock lock(mutex_);
    const auto found = alone_.find(key);
    if (found != alone_.end()) {
      found->second.unused = Deadline::after(runtime_.clock(), kUnused);
      client = found->second.client;
    } else {
      client =
          std::make_shared<mcp::Client>(server_.means(), caller_in(cwd, asking->client), mcp::Client::Ids::kOfSeveral);
      oldest = keep(alone_, key, {client, call.who.digest, Deadline::after(runtime_.clock(), kUnused)});
    }
  }
  if (oldest) end({oldest});
  const auto to = std::make_shared<Exchange>(call.exchange, message->id, true);
  if (is_long(*message) && !asking->tasks) to->begin_stream();
  server_.take(client, message, to, to->cancel());
}

McpDoor::Shared McpDoor::session_of(const RouteCall& call) {
  const std::string id(call.exchange->head().field(mcp::kSessionField));
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.token != call.who.digest) return nullptr;
  found->second.unused = Deadline::after(runtime_.clock(), kUnused);
  return found->second.client;
}

McpDoor::Shared McpDoor::session_or_answer(const RouteCall& call, const RpcId& id) {
  if (const auto version = field_of(call.exchange->head(), mcp::kVersionField); version && !speaks(*version)) {
    refuse(*call.exchange, id,
           {{kRpcBadRequest, "MCP-Protocol-Version: this server does not speak '" + one_line(*version, 80) + "'"}},
           400);
    return nullptr;
  }
  Shared client = session_of(call);
  if (!client) refuse(*call.exchange, id, {{kNoSession, "Session not found: begin another one with initialize"}}, 404);
  return client;
}

void McpDoor::post_legacy(const RouteCall& call, const std::shared_ptr<const RpcMessage>& message,
                          const std::string& cwd) {
  HttpExchange& exchange = *call.exchange;
  const RequestHead& head = exchange.head();
  const auto to = std::make_shared<Exchange>(call.exchange, message->id, false);
  if (message->method == "initialize" && message->kind == RpcMessage::Kind::kRequest) {
    const std::string id = runtime_.agent_parts().ids.next().text();
    const auto client =
        std::make_shared<mcp::Client>(server_.means(), caller_in(cwd, {}), mcp::Client::Ids::kOfOneConnection);
    to->set_session(id);
    Shared oldest;
    {
      const MutexLock lock(mutex_);
      oldest = keep(sessions_, id, {client, call.who.digest, Deadline::after(runtime_.clock(), kUnused)});
    }
    if (oldest) end({oldest});
    server_.take(client, message, to, to->cancel());
    if (to->is_answered_well()) return;
    const MutexLock lock(mutex_);
    sessions_.erase(id);
    return;
  }
  if (head.count(mcp::kSessionField) == 0)
    return refuse(exchange, message->id,
                  {{kRpcBadRequest,
                    "the request has no field Mcp-Session-Id: begin with initialize, or say the version "
                    "in '_meta'"}},
                  400);
  const Shared client = session_or_answer(call, message->id);
  if (!client) return;
  if (message->kind == RpcMessage::Kind::kNotification) {
    server_.take(client, message, to);
    return accept(exchange);
  }
  if (is_long(*message)) to->begin_stream();
  server_.take(client, message, to, to->cancel());
}

void McpDoor::get(const RouteCall& call) {
  HttpExchange& exchange = *call.exchange;
  const RequestHead& head = exchange.head();
  if (head.count(mcp::kSessionField) == 0) {
    HttpReply none = error_reply(405, "method_not_allowed",
                                 "GET is the stream of a session, which the field Mcp-Session-Id names; anything else "
                                 "is a POST");
    none.fields.emplace_back("allow", "POST, DELETE");
    return exchange.reply(std::move(none));
  }
  if (!takes_events(head))
    return exchange.reply(error_reply(406, "not_acceptable", "the answer is a stream: accept text/event-stream"));
  const Shared client = session_or_answer(call, {});
  if (!client) return;
  if (server_.changes().is_heard(*client))
    return refuse(exchange, {}, {{kRpcBadRequest, "the session has a stream already: close that one first"}}, 409);
  // False: another one was faster, or the daemon ends; then the stream ends at once.
  (void)server_.changes().hear(client, std::make_shared<Told>(exchange));
}

void McpDoor::remove(const RouteCall& call) {
  const Shared client = session_of(call);
  if (!client)
    return refuse(*call.exchange, {}, {{kNoSession, "Session not found: it has ended, or is another token's"}}, 404);
  {
    const MutexLock lock(mutex_);
    sessions_.erase(std::string(call.exchange->head().field(mcp::kSessionField)));
  }
  client->cancel_all();
  end({client});
  HttpReply reply;
  reply.status = 204;
  call.exchange->reply(std::move(reply));
}

}  // namespace agentd::serve
