// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/connection.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/mcp_protocol.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kShownBytes = 300;
constexpr std::size_t kRequestQuestionsMax = 16;  // in one request
constexpr std::size_t kEventsMax = 1'000;         // that wait in one

std::string shown(std::string_view text) { return one_line(text, kShownBytes); }

Failure faulted(RpcFault fault) {
  Failure out{Failure::Kind::kFault, {}, std::move(fault)};
  out.why = "refused it: " + (out.fault.message.empty() ? std::string("without a reason") : shown(out.fault.message)) +
            " (" + std::to_string(out.fault.code) + ")";
  return out;
}

}  // namespace

Connection::Connection(Told told, std::string client_version, const Clock& clock)
    : told_(std::move(told)), client_version_(std::move(client_version)), clock_(clock), version_(kModernVersion) {}

Connection::~Connection() { link_.reset(); }

void Connection::set_link(std::unique_ptr<Link> link) {
  link_ = std::move(link);
  link_->start(ears());
}

Ears Connection::ears() {
  return {
      .take = [this](RpcMessage message, const RpcId& within) { take(std::move(message), within); },
      .refuse = [this](const RpcRefusal& refusal, const RpcId& within) { refuse(refusal, within); },
      .lose =
          [this](const RpcId& id, Loss loss) {
            const auto kind = loss.kind == Loss::Kind::kStatus    ? Failure::Kind::kStatus
                              : loss.kind == Loss::Kind::kSession ? Failure::Kind::kSession
                                                                  : Failure::Kind::kLost;
            const MutexLock lock(mutex_);
            const std::int64_t number = id.number().value_or(0);
            if (number == subscription_) subscribed_ = false;
            tell(number, {Event::Kind::kFailure, {}, {kind, std::move(loss.why), {}, loss.status}});
          },
      .end = [this](const std::string& why) { end(why); },
  };
}

void Connection::agree(std::string_view version, bool modern) {
  {
    const MutexLock lock(mutex_);
    version_ = version;
    modern_ = modern;
  }
  link_->agree(version, modern);
}

bool Connection::is_modern() const {
  const MutexLock lock(mutex_);
  return modern_;
}

void Connection::write_client(JsonWriter& out) const {
  out.begin_object().member("name", "agentd").member("version", client_version_).end_object();
}

void Connection::write_abilities(JsonWriter& out) {
  out.begin_object().key("elicitation").begin_object();
  out.key("form").begin_object().end_object().key("url").begin_object().end_object();
  out.end_object().end_object();
}

// ---- asking

std::string Connection::params_of(const Request& request, std::int64_t id) const {
  JsonWriter out;
  out.begin_object();
  if (request.members) request.members(out);
  if (!request.bare) {
    const MutexLock lock(mutex_);
    out.key("_meta").begin_object().member("progressToken", id);
    if (modern_) {
      write_client(out.member(kMetaVersion, version_).key(kMetaClient));
      write_abilities(out.key(kMetaAbilities));
    }
    out.end_object();
  }
  out.end_object();
  return std::string(out.text());
}

std::int64_t Connection::send(const Request& request, const Patience* patience) {
  std::int64_t id = 0;
  Fields fields = request.fields;
  {
    const MutexLock lock(mutex_);
    if (gone_) return 0;
    id = ++last_id_;
    if (patience != nullptr) {
      Exchange& exchange = asked_[id];
      exchange.asks = static_cast<bool>(patience->question);
      exchange.whom = patience->whom;
    }
  }
  fields.emplace_back(kMethodField, request.method);
  link_->send({rpc_request(RpcId(id), request.method, params_of(request, id)), RpcId(id), std::move(fields)});
  return id;
}

std::optional<std::int64_t> Connection::begin(const Request& request, const Patience& patience) {
  const std::int64_t id = send(request, &patience);
  return id == 0 ? std::nullopt : std::optional(id);
}

Answer Connection::ask(const Request& request, const Patience& patience) {
  const auto id = begin(request, patience);
  if (id) return await(*id, patience);
  const MutexLock lock(mutex_);
  return Failure{Failure::Kind::kSession, why_gone_};  // it was not sent
}

// Why it waits no longer, if so.
std::optional<Failure> Connection::over(std::int64_t id, const Patience& patience, Deadline silent) {
  if (patience.cancel.cancelled()) return Failure{Failure::Kind::kCancelled, "was not awaited"};
  if (!asked_.contains(id)) return Failure{Failure::Kind::kLost, "has not been asked"};
  if (gone_) return Failure{Failure::Kind::kGone, why_gone_};
  if (!patience.deadline.passed(clock_) && !silent.passed(clock_)) return std::nullopt;
  std::string why = "has not answered in time";
  if (!oddity_.empty()) why += "; what it wrote is no message: " + oddity_;
  return Failure{Failure::Kind::kTimeout, std::move(why)};
}

Answer Connection::await(std::int64_t id, const Patience& patience, bool keeps) {
  const auto silence = [&] {
    return patience.silence.count() > 0 ? Deadline::after(clock_, patience.silence) : Deadline{};
  };
  Deadline silent = silence();
  for (;;) {
    Event event;
    {
      MutexLock lock(mutex_);
      for (;;) {
        const auto found = asked_.find(id);
        const bool heard = found != asked_.end() && !found->second.events.empty();
        const bool ends = heard && found->second.events.front().kind <= Event::Kind::kFailure;
        if (auto failure = ends ? std::nullopt : over(id, patience, heard ? Deadline{} : silent)) {
          lock.unlock();
          if (!keeps || failure->kind != Failure::Kind::kTimeout) leave(id, *failure);
          return std::move(*failure);
        }
        if (heard) {
          event = std::move(found->second.events.front());
          found->second.events.pop_front();
          break;
        }
        changed_.wait_for(mutex_, clock_, kSlice);
      }
      if (event.kind == Event::Kind::kAnswer || event.kind == Event::Kind::kFailure) asked_.erase(id);
    }
    if (event.kind == Event::Kind::kAnswer) return std::move(event.document);
    if (event.kind == Event::Kind::kFailure) return std::move(event.failure);
    if (event.kind == Event::Kind::kQuestion) answer_question(event, patience);
    silent = silence();
  }
}

// The server is told that nobody waits any more; a request that it has lost itself needs no word.
void Connection::leave(std::int64_t id, const Failure& why) {
  bool modern = false;
  {
    const MutexLock lock(mutex_);
    asked_.erase(id);
    modern = modern_;
  }
  if (why.kind != Failure::Kind::kCancelled && why.kind != Failure::Kind::kTimeout) return;
  // Over HTTP in the modern era the end of the request says it.
  if (!(modern && link_->is_http())) {
    Fields fields{{std::string(kMethodField), std::string(kMcpCancelling.method)}};
    link_->send({rpc_cancel(kMcpCancelling, RpcId(id)), {}, std::move(fields)});
  }
  link_->drop(RpcId(id));
}

void Connection::answer_question(const Event& event, const Patience& patience) {
  const auto answer = patience.question(event.document->root()["params"]);
  link_->send({answer ? rpc_result(event.id, *answer) : rpc_fault(event.id, answer.error())});
}

void Connection::subscribe(const Request& request) {
  const std::int64_t id = send(request, nullptr);
  const MutexLock lock(mutex_);
  subscription_ = id;
}

bool Connection::subscribed() const {
  const MutexLock lock(mutex_);
  return subscribed_ && !gone_;
}

void Connection::notify(std::string_view method) {
  link_->send({rpc_notification(method, {}), {}, {{std::string(kMethodField), std::string(method)}}});
}

// ---- what comes

void Connection::tell(std::int64_t id, Event event) {
  const auto found = asked_.find(id);
  if (found == asked_.end()) return;
  if (event.kind == Event::Kind::kProgress && !found->second.events.empty()) return;  // one is as good as many
  if (found->second.events.size() >= kEventsMax) return;
  found->second.events.push_back(std::move(event));
  changed_.notify_all();
}

void Connection::fail_all(const std::string& why) {
  for (auto& [id, exchange] : asked_)
    exchange.events.push_back({Event::Kind::kFailure, {}, {Failure::Kind::kLost, why}});
  changed_.notify_all();
}

void Connection::take(RpcMessage message, const RpcId& within) {
  if (message.kind == RpcMessage::Kind::kNotification) return take_notification(message);
  if (message.kind == RpcMessage::Kind::kRequest) return take_request(std::move(message), within);
  const bool fails = message.kind == RpcMessage::Kind::kFault;
  const MutexLock lock(mutex_);
  std::int64_t id = message.id.number().value_or(0);
  // A refusal of something that it could not read.
  if (fails && message.id.is_null() && !within.is_null()) id = within.number().value_or(0);
  if (id < 1 || id > last_id_) {
    if (fails && message.id.is_null()) return fail_all(faulted(std::move(message.fault)).why);
    return fail_all("answered a request that was never made, with the id " + shown(message.id.json()));
  }
  if (id == subscription_) subscribed_ = false;
  if (fails) return tell(id, {Event::Kind::kFailure, {}, faulted(std::move(message.fault))});
  if (!message.result().is_object())
    return tell(id, {Event::Kind::kFailure, {}, {Failure::Kind::kLost, "answered without a result that is an object"}});
  tell(id, {Event::Kind::kAnswer, std::move(message.document)});
}

void Connection::take_notification(const RpcMessage& message) {
  const JsonView params = message.params();
  if (message.method == "notifications/tools/list_changed") return told_.tools_changed();
  const MutexLock lock(mutex_);
  if (message.method == "notifications/progress") {
    // Only of a request that waits: else any message would keep any call.
    const auto token = RpcId::read(params["progressToken"]);
    if (token) tell(token->number().value_or(0), {Event::Kind::kProgress});
  } else if (message.method == "notifications/subscriptions/acknowledged") {
    subscribed_ = subscription_ != 0 && params["notifications"]["toolsListChanged"].bool_or(false);
  }
}

// The request in which a question of the server is asked; 0 = none, or it cannot be told.
std::int64_t Connection::asker(const RpcId& within) const {
  if (!within.is_null()) {
    const auto found = asked_.find(within.number().value_or(0));
    return found != asked_.end() && found->second.asks ? found->first : 0;
  }
  std::int64_t out = 0;
  const void* whom = nullptr;
  for (const auto& [id, exchange] : asked_) {
    if (!exchange.asks) continue;
    if (out != 0 && exchange.whom != whom) return 0;
    if (out == 0) out = id;
    whom = exchange.whom;
  }
  return out;
}

void Connection::take_request(RpcMessage message, const RpcId& within) {
  const RpcId id = message.id;
  if (message.method == "ping") return link_->send({rpc_result(id, "{}")});
  if (message.method != "elicitation/create")
    return link_->send({rpc_fault(id, {kRpcNoMethod, "agentd does not offer " + shown(message.method)})});
  {
    const MutexLock lock(mutex_);
    const std::int64_t asking = asker(within);
    const auto found = asked_.find(asking);
    if (found != asked_.end() && ++found->second.questions <= kRequestQuestionsMax)
      return tell(asking, {Event::Kind::kQuestion, std::move(message.document), {}, id});
  }
  link_->send({rpc_result(id, R"({"action":"decline"})")});
}

void Connection::refuse(const RpcRefusal& refusal, const RpcId& within) {
  const std::string what = shown(refusal.fault.message);
  if (refusal.answered && !refusal.id.is_null()) return link_->send({rpc_fault(refusal.id, refusal.fault)});
  MutexLock lock(mutex_);
  const std::int64_t id = refusal.id.is_null() ? within.number().value_or(0) : refusal.id.number().value_or(0);
  if (id != 0) return tell(id, {Event::Kind::kFailure, {}, {Failure::Kind::kLost, "sent no valid answer: " + what}});
  if (!refusal.answered) return fail_all("sent no valid answer: " + what);
  // A line of a log between messages: whoever waits in vain is told.
  const bool first = oddity_.empty();
  oddity_ = what;
  lock.unlock();
  if (first) told_.oddity(what);
}

bool Connection::gone() const {
  const MutexLock lock(mutex_);
  return gone_;
}

// The owner is told of the end before the callers that wait are woken, so that no new call takes this connection.
void Connection::end(const std::string& why) {
  told_.ended(why);
  const MutexLock lock(mutex_);
  if (gone_) return;
  gone_ = true;
  why_gone_ = why;
  subscribed_ = false;
  changed_.notify_all();
}

}  // namespace agentd::mcp
