// SPDX-License-Identifier: Apache-2.0
// session_memory: sessions that learn. It keeps what sessions of a project learned, offers it to agentd and to the
// model, and distils sessions at their end.
//
// config:
//   model   "vendor/name" that refines what was distilled; default: the cheap model of the conversation's own vendor.
//           A model of another vendor gets the conversation's text, so only the user's word names one
//   scrub   false keeps texts that become memories as they are; default true
// It offers "agentd.memory/1" and "agentd.remediation/1" by agentd.provide/1, and calls "agentd.checkpoint/1" by
// agentd.services/1; without them it has its tools, its hooks and its rows. This file is all that knows the ABI.

#define AGENTD_TARGET_MINOR 1u  // calls that only read may overlap

#include <agentd/drafts.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/codec/json.h"
#include "core/scrub/scrubber.h"
#include "plugins/session_memory/engine.h"
#include "plugins/session_memory/quote.h"
#include "plugins/session_memory/service.h"
#include "plugins/session_memory/tools.h"

namespace session_memory {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::Result;

constexpr std::uint64_t kMessagesMax = 4000;  // of a log, the last ones
constexpr std::uint32_t kMessagesPerPage = 500;
constexpr std::size_t kSessionsMax = 1000, kOffersMax = 4096;
constexpr std::uint32_t kAnswerTokens = 4096;
constexpr std::uint64_t kJobTokens = 120'000;  // of one job, sent and received

Error error_of(agentd_status status, std::string_view doing) {
  const std::string message = std::string(doing) + ": " + std::string(agentd::status_text(status));
  switch (status) {
    case AGENTD_E_CONFLICT:
      return {Code::kConflict, message};
    case AGENTD_E_NOT_FOUND:
      return {Code::kNotFound, message};
    case AGENTD_E_CANCELLED:
    case AGENTD_E_DEADLINE:
      return {Code::kCancelled, message};
    case AGENTD_E_BUSY:
      return {Code::kBusy, message};
    case AGENTD_E_DENIED:
      return {Code::kDenied, message};
    case AGENTD_E_ARG:
    case AGENTD_E_TOO_BIG:
      return {Code::kInvalid, message};
    default:
      return {Code::kUnavailable, message};
  }
}

agentd_status status_of(const Error& error) {
  switch (error.code) {
    case Code::kInvalid:
      return AGENTD_E_ARG;
    case Code::kNotFound:
      return AGENTD_E_NOT_FOUND;
    case Code::kBusy:
      return AGENTD_E_BUSY;
    case Code::kConflict:
      return AGENTD_E_CONFLICT;
    case Code::kDenied:
      return AGENTD_E_DENIED;
    case Code::kCancelled:
      return AGENTD_E_CANCELLED;
    case Code::kUnavailable:
    case Code::kCorrupt:
      return AGENTD_E_IO;
    case Code::kInternal:
      return AGENTD_E_INTERNAL;
  }
  return AGENTD_E_INTERNAL;
}

// ---- the host's services as the engine wants them, for the time of one call

class HostKeys : public KeySpace {
 public:
  explicit HostKeys(const agentd::context& from) : store_(from.store()) {}

  Result<std::optional<Row>> get(std::string_view key) override {
    const auto found = store_.get(key);
    if (found) return std::optional<Row>(row_of(*found));
    if (found.status() == AGENTD_E_NOT_FOUND) return std::optional<Row>();
    return error_of(found.status(), "reading the memories");
  }
  Result<std::vector<Row>> scan(std::string_view prefix, std::string_view after, std::uint32_t limit) override {
    const auto found = store_.scan(prefix, after, limit);
    if (!found) return error_of(found.status(), "reading the memories");
    std::vector<Row> out;
    for (const agentd::kv_view each : *found) out.push_back(row_of(each));
    return out;
  }
  Result<void> commit(std::span<const Change> changes) override {
    std::vector<agentd_kv_op> ops;
    for (const Change& each : changes) {
      switch (each.kind) {
        case Change::Kind::kPut:
          ops.push_back(agentd::kv_put(each.key, each.value, each.expect));
          break;
        case Change::Kind::kErase:
          ops.push_back(agentd::kv_erase(each.key, each.expect));
          break;
        case Change::Kind::kCheck:
          ops.push_back(agentd::kv_check(each.key, each.expect));
          break;
      }
    }
    const auto kept = store_.commit(ops);
    return kept ? Result<void>() : error_of(kept.status(), "keeping the memories");
  }

 private:
  static Row row_of(agentd::kv_view from) {
    return {std::string(from.key()), std::string(from.value()), from.version()};
  }

  const agentd::store_service store_;
};

class HostLogs : public LogSource {
 public:
  explicit HostLogs(const agentd::context& from) : call_(from), store_(from.store()) {}

  Result<SessionLog> read(const std::string& conversation, std::uint64_t from, std::uint64_t through) override {
    if (through > kMessagesMax) from = std::max(from, through - kMessagesMax + 1);
    SessionLog out;
    while (from <= through) {
      if (call_.cancelled()) return Error{Code::kCancelled, "reading the conversation " + conversation};
      const auto page = store_.messages(conversation, AGENTD_SCOPE_LOG, through, from, kMessagesPerPage);
      if (!page) return error_of(page.status(), "reading the conversation " + conversation);
      std::uint64_t last = from;
      for (const agentd::message_view message : *page) {
        add(out, message);
        last = std::max(last, message.seq());
        out.last_ms = std::max(out.last_ms, message.time_ms());
      }
      if (page->size() < kMessagesPerPage) break;
      from = last + 1;
    }
    return out;
  }

 private:
  static void add(SessionLog& to, agentd::message_view message) {
    // Context of hooks and the runtime, memories among it, was said by neither.
    if (message.is_context() || message.is_summary()) return;
    std::string text;
    for (const agentd::block_view block : message.blocks()) {
      if (block.is_text()) text += block.text();
      if (block.is_tool_use()) {
        LoggedCall call;
        call.seq = message.seq();
        call.tool = block.name();
        call.call_id = block.call_id();
        call.input_json = block.json();
        to.calls.push_back(std::move(call));
      }
      if (block.is_tool_result()) add_result(to, message.seq(), block);
    }
    if (text.empty()) return;
    to.texts.push_back({message.is_user() ? LoggedText::By::kUser : LoggedText::By::kModel, message.seq(), text});
  }
  static void add_result(SessionLog& to, std::uint64_t seq, agentd::block_view block) {
    for (auto call = to.calls.rbegin(); call != to.calls.rend(); ++call) {
      if (call->call_id != block.call_id()) continue;
      call->result_seq = seq;
      call->output = block.text();
      call->failed = block.is_error();
      return;
    }
  }

  const agentd::context& call_;
  const agentd::store_service store_;
};

class HostTalk : public Talk {
 public:
  HostTalk(const agentd::context& from, const agentd::registry& services) : call_(from), services_(services) {}

  std::string cheap_model(const std::string& provider, const std::string& model) override {
    agentd::JsonWriter input;
    input.begin_object().member("provider", provider).member("model", model).end_object();
    const auto answer = services_.call(call_, "agentd.distiller/1", "model", input.text());
    if (!answer) return {};
    const auto parsed = agentd::JsonDocument::parse(*answer);
    return parsed ? std::string(parsed->root()["model"].string_or("")) : std::string();
  }
  Result<std::string> ask(const std::string& model, const std::string& system, const std::string& prompt) override {
    if (call_.cancelled()) return Error{Code::kCancelled, "asking " + model};
    const auto thread = call_.threads().open(
        {.model = model, .system = system, .max_tokens = kAnswerTokens, .budget_tokens = kJobTokens});
    if (!thread) return error_of(thread.status(), "asking " + model);
    const auto reply = thread->send(prompt);
    if (!reply) return error_of(reply.status(), "asking " + model);
    if (reply->stop_reason() == AGENTD_STOP_MAX_TOKENS)
      return Error{Code::kUnavailable, "asking " + model + ": the answer was cut"};
    return std::string(reply->text());
  }

 private:
  const agentd::context& call_;
  const agentd::registry& services_;
};

// ---- settings

struct Settings {
  std::string model;
  bool scrub = true;
};

// Reads the user's config into `out`; otherwise returns the message for the user.
std::optional<std::string> read_settings(std::string_view json, Settings& out) {
  const auto parsed = agentd::JsonDocument::parse(json.empty() ? "{}" : json);
  if (!parsed) return "the config is not valid JSON: " + parsed.error().message;
  const agentd::JsonView root = parsed->root();
  if (root.is_null()) return std::nullopt;
  if (!root.is_object()) return "the config must be an object with model, scrub";
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string_view key = root.key_at(i);
    const agentd::JsonView value = root[key];
    if (key == "model") {
      if (!value.is_string()) return "model must be a text, not " + value.text();
      out.model = value.string_or("");
    } else if (key == "scrub") {
      if (!value.is_bool()) return "scrub must be true or false, not " + value.text();
      out.scrub = value.bool_or(true);
    } else {
      return "unknown key " + std::string(key) + ": the keys are model, scrub";
    }
  }
  return std::nullopt;
}

// ---- the plugin

class SessionMemory {
 public:
  static constexpr std::string_view hook_requires[] = {agentd::id::tools, agentd::id::store};
  static constexpr std::string_view hook_wants[] = {agentd::id::thread_factory};
  static constexpr std::string_view hook_drafts[] = {agentd::id::provide, agentd::id::services};
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;
  // A late hook: another one's context about the same failure comes first.
  static constexpr int hook_priority = -100;

  explicit SessionMemory(agentd::init& from) : services_(from) {
    Settings settings;
    if (const auto wrong = read_settings(from.config_json(), settings)) {
      from.refuse(*wrong);
      return;
    }
    auto scrubber = agentd::Scrubber::make();
    if (!scrubber) {
      from.refuse(AGENTD_E_INTERNAL, scrubber.error().message);
      return;
    }
    scrubber_.emplace(std::move(*scrubber));
    engine_.emplace(surroundings(settings));
    for (std::size_t i = 0; i < tool_texts().size(); ++i) add(from, tool_texts()[i], i);
    // An older host has no services: then the tools and hooks are all.
    if (from.query<agentd_provide>(AGENTD_PROVIDE_ID) == nullptr) return;
    for (std::size_t i = 0; i < operations().size(); ++i) offer(from, operations()[i], i);
  }

  // ---- hooks

  void on_session_start(agentd::call& c) { remember(c); }

  // Fails quietly: a session's end must not, and what was not distilled is with the next one.
  void on_session_end(agentd::call& c, agentd::session_end_view end) {
    const agentd::envelope_view where = c.envelope();
    forget(c.conversation());
    if (where.agent_depth() != 0 || where.conversation_id().empty()) return;
    EndedSession session;
    session.conversation = where.conversation_id();
    session.project = where.project_id();
    session.revision = where.revision();
    session.ended_ms = now_ms();
    session.task = end.task();
    session.approach = end.approach();
    session.notes = end.notes();
    // The host knows a task and how the last run ended; a lesson is what somebody said.
    if (!session.approach.empty() || !session.notes.empty()) session.outcome = outcome_of(end.outcome());
    for (const std::string_view tag : end.tags()) session.tags.emplace_back(tag);
    HostKeys keys(c);
    HostLogs logs(c);
    const std::string provider(where.provider()), model(where.model());
    const auto defer = [&] {
      const auto deferred = engine_->defer_session(keys, session, provider, model);
      if (!deferred) c.log_warning("the session will not be distilled: " + deferred.error().message);
    };
    if (end.reason() == "crash" && !session.is_typed()) return defer();
    const auto learned = engine_->end_session(keys, &logs, session, provider, model);
    // There was no time to read a long log: a later start has it.
    if (!learned && learned.error().code == Code::kCancelled) return defer();
    // A conversation that was never saved has no log, and nothing to learn from.
    if (!learned && learned.error().code != Code::kNotFound)
      c.log_warning("the session was not distilled: " + learned.error().message);
  }

  void on_tool_call_failed(agentd::call& c, agentd::tool_view tool) {
    if (tool.is_denied()) return;
    const agentd::tool_result_view result = tool.result();
    const std::string_view error = result.error().empty() ? result.content() : result.error();
    HostKeys keys(c);
    const auto found = engine_->remediations(keys, std::string(c.envelope().project_id()), error, 1);
    if (!found || found->empty() || !is_first(c.conversation(), found->front().id)) return;
    c.inject_context(agentd::to_utf8(quoted(found->front())));
  }

  // ---- tools and operations

  agentd_status tool(agentd::call& c, agentd::tool_view asked) {
    HostKeys keys(c);
    HostLogs logs(c);
    const auto session = session_of(c);
    if (!session) return c.tool_error(session.error().message);
    const ToolMeans means{
        keys, logs, *session,
        [&](std::string_view operation, const std::string& input) { return checkpoint(c, operation, input); },
        [&](const std::string& input) { (void)services_.call(c, "agentd.session/1", "note", input); }};
    const auto text = call_tool(*engine_, means, asked.name(), asked.input_json());
    if (text) return c.output(agentd::to_utf8(*text));
    if (text.error().code == Code::kCancelled) return c.fail(AGENTD_E_CANCELLED, text.error().message);
    return c.tool_error(agentd::to_utf8(text.error().message));
  }

  agentd_status operation(agentd::call& c, agentd::service_view asked) {
    HostKeys keys(c);
    HostLogs logs(c);
    HostTalk talk(c, services_);
    const ServiceCall call{keys, logs, talk, std::string(asked.project_id()), asked.caller() == "core"};
    const auto answer = call_operation(*engine_, call, asked.interface_id(), asked.operation(), asked.input_json());
    if (!answer) return c.fail(status_of(answer.error()), answer.error().message);
    return agentd::service_result(c, *answer);
  }

 private:
  static std::int64_t now_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  static std::optional<Outcome> outcome_of(std::uint32_t number) {
    if (number == AGENTD_OUTCOME_SUCCESS) return Outcome::kSuccess;
    if (number == AGENTD_OUTCOME_FAILURE) return Outcome::kFailure;
    if (number == AGENTD_OUTCOME_PARTIAL) return Outcome::kPartial;
    return std::nullopt;
  }

  Surroundings surroundings(const Settings& settings) {
    Surroundings out;
    out.now_ms = now_ms;
    out.new_id = [this] { return ids_.next().text(); };
    out.scrub = [this, on = settings.scrub](std::string_view text) -> Result<std::string> {
      if (!on) return std::string(text);
      AGENTD_TRY(agentd::Scrubbed clean, scrubber_->scrub(text));
      return std::move(clean.text);
    };
    out.holder = ids_.next().text();
    out.model = settings.model;
    return out;
  }

  static void add(agentd::init& from, const ToolText& text, std::size_t tag) {
    agentd::tool_spec spec;
    spec.name = text.name;
    spec.title = text.title;
    spec.description = text.description;
    spec.input_schema = text.input_schema;
    spec.flags = (text.reads_only ? AGENTD_TOOL_READ_ONLY : 0u) | (text.is_idempotent ? AGENTD_TOOL_IDEMPOTENT : 0u);
    spec.tag = tag;
    from.add_tool<&SessionMemory::tool>(spec);
  }
  static void offer(agentd::init& from, const Operation& operation, std::size_t tag) {
    constexpr std::uint32_t kJobsTimeMs = 10 * 60 * 1000;
    agentd::service_spec spec;
    spec.interface_id = operation.interface_id;
    spec.operation = operation.name;
    spec.flags = (operation.reads_only ? AGENTD_SERVICE_READ_ONLY : 0u) |
                 (operation.is_idempotent ? AGENTD_SERVICE_IDEMPOTENT : 0u);
    spec.timeout_ms = operation.name == "run_jobs" ? kJobsTimeMs : 0;
    spec.tag = tag;
    agentd::provide<&SessionMemory::operation>(from, spec);
  }

  Result<std::string> checkpoint(agentd::call& c, std::string_view operation, const std::string& input) const {
    const auto answer = services_.call(c, "agentd.checkpoint/1", operation, input);
    if (answer) return std::string(*answer);
    if (answer.status() == AGENTD_E_UNSUPPORTED || answer.status() == AGENTD_E_DENIED)
      return Error{Code::kUnavailable,
                   "this agentd offers no checkpoints to tools: ask the user to run 'agentd "
                   "checkpoint'"};
    return error_of(answer.status(), "checkpoint " + std::string(operation));
  }

  // ---- the sessions of this process, since a tool's call has no envelope

  void remember(const agentd::call& c) {
    const agentd::envelope_view where = c.envelope();
    if (c.conversation() == 0) return;
    const agentd::MutexLock lock(mutex_);
    if (sessions_.size() >= kSessionsMax) sessions_.erase(sessions_.begin());
    sessions_[c.conversation()] = {std::string(where.conversation_id()), std::string(where.project_id()),
                                   std::string(where.provider()), std::string(where.model()), where.revision()};
  }
  void forget(agentd_conv conversation) {
    const agentd::MutexLock lock(mutex_);
    sessions_.erase(conversation);
    std::erase_if(offered_, [&](const auto& each) { return each.first == conversation; });
  }
  // kUnavailable: its project is unknown. An empty one would mean the memories of all projects.
  Result<CallingSession> session_of(const agentd::call& c) const {
    const agentd::envelope_view where = c.envelope();
    if (where)
      return CallingSession{std::string(where.conversation_id()), std::string(where.project_id()),
                            std::string(where.provider()), std::string(where.model()), where.revision()};
    CallingSession out;
    {
      const agentd::MutexLock lock(mutex_);
      if (const auto found = sessions_.find(c.conversation()); found != sessions_.end()) out = found->second;
    }
    // A subagent's session has no session_start, and one that is older than this instance had it elsewhere. The log of
    // any has grown since.
    CallingSession now = session_by_host(c);
    if (now.revision != 0) return now;
    if (out.conversation.empty()) out = std::move(now);
    if (out.conversation.empty() || out.project.empty())
      return Error{Code::kUnavailable,
                   "nothing was done, since the project of this session is unknown: start a new session"};
    // From a host that does not say it. The query names the conversation: a project may have more than a page of newer
    // ones.
    const auto all = c.store().conversations({.project_id = out.project, .text = out.conversation});
    if (!all) return out;
    for (const agentd::conv_info_view each : *all) {
      if (each.conversation_id() != out.conversation) continue;
      out.revision = std::max(out.revision, each.revision());
      if (out.provider.empty()) out.provider = each.provider();
      if (out.model.empty()) out.model = each.model();
    }
    return out;
  }
  // The session as the host knows it; empty where it does not answer.
  CallingSession session_by_host(const agentd::call& c) const {
    CallingSession out;
    const auto answer = services_.call(c, "agentd.session/1", "open", "{}");
    const auto parsed = agentd::JsonDocument::parse(answer ? std::string_view(*answer) : std::string_view("{}"));
    if (!parsed) return out;
    const agentd::JsonView known = parsed->root();
    out.conversation = known["conversation_id"].string_or("");
    out.project = known["project_id"].string_or("");
    out.provider = known["provider"].string_or("");
    out.model = known["model"].string_or("");
    if (!out.conversation.empty() && !out.project.empty()) out.revision = known["revision"].uint_or(0);
    return out;
  }
  // True for the first offer of a fix in a session.
  bool is_first(agentd_conv conversation, const std::string& id) {
    const agentd::MutexLock lock(mutex_);
    if (offered_.size() >= kOffersMax) offered_.clear();
    return offered_.insert({conversation, id}).second;
  }

  agentd::registry services_;
  const agentd::SystemClock clock_{};
  agentd::IdSource ids_{clock_};
  std::optional<agentd::Scrubber> scrubber_;
  std::optional<Engine> engine_;
  mutable agentd::Mutex mutex_;
  std::map<agentd_conv, CallingSession> sessions_ GUARDED_BY(mutex_);
  std::set<std::pair<agentd_conv, std::string>> offered_ GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace session_memory

using session_memory::SessionMemory;
AGENTD_HOOK_MANIFEST(SessionMemory, "agentd.session_memory", "1.0.0",
                     R"("license":"Apache-2.0","config_schema":{"type":"object","additionalProperties":false,)"
                     R"("properties":{"model":{"type":"string"},"scrub":{"type":"boolean","default":true}}})")
