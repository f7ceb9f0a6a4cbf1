// SPDX-License-Identifier: Apache-2.0
#include "core/acp/door.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "core/acp/editor_servers.h"
#include "core/acp/faults.h"
#include "core/base/bytes.h"
#include "core/session/removal.h"

namespace agentd::acp {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kSessionsMax = 200;  // that are open at a time
constexpr std::uint32_t kPage = 50;
constexpr std::string_view kKeyMethod = "agentd-key";

RpcFault bad(std::string what) { return {kRpcBadParams, std::move(what)}; }

// Or there is none.
bool is_list(JsonView value) { return !value.exists() || value.is_null() || value.is_array(); }

// An absolute path without a slash at its end, "." and "..".
Result<std::string, RpcFault> directory_of(JsonView value, const std::string& name) {
  const std::string_view text = value.string_or("");
  if (!text.starts_with('/') || has_control_character(text)) return bad(name + " must be an absolute path");
  std::string out = std::filesystem::path(text).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

RpcFault no_session(std::string_view name) {
  return {kRpcNotFound, "there is no session '" + one_line(name, 80) + "'"};
}

}  // namespace

const Door::Method Door::kMethods[] = {
    {"initialize", &Door::initialize, false},  {"authenticate", &Door::authenticate, false},
    {"session/new", &Door::new_session},       {"session/load", &Door::load_session},
    {"session/resume", &Door::resume_session}, {"session/list", &Door::list_sessions},
    {"session/close", &Door::close_session},   {"session/delete", &Door::delete_session},
    {"session/set_mode", &Door::set_mode},     {"session/set_config_option", &Door::set_option},
    {"session/prompt", &Door::prompt},
};

Door::Door(const ProcessSurroundings& surroundings, const Config& config, const Clock& clock, RpcWire& wire,
           DoorOptions options, Warn warn)
    : surroundings_(surroundings),
      config_(config),
      clock_(clock),
      wire_(wire),
      options_(std::move(options)),
      warn_(std::move(warn)),
      threads_(2 * kSessionsMax) {}

Door::~Door() {
  std::map<std::string, std::shared_ptr<EditorSession>, std::less<>> sessions;
  std::vector<std::shared_ptr<EditorSession>> opening, ended;
  {
    const MutexLock lock(mutex_);
    sessions.swap(sessions_);
    opening.swap(opening_);
    ended.swap(ended_);
  }
  // All are cancelled before the first one is waited for.
  for (const auto& [id, session] : sessions) session->cancel();
  for (const auto& session : opening) session->cancel();
  memories_.reset();
}

void Door::serve(const CancelToken& cancel) {
  wire_.read_all([this](const RpcMessage& message) { take(message); }, cancel);
}

// ---- messages

void Door::take(const RpcMessage& message) {
  {
    std::vector<std::shared_ptr<EditorSession>> ended;  // go without the lock
    const MutexLock lock(mutex_);
    const auto works = [](const auto& each) { return !each->is_idle(); };
    const auto gone = std::partition(ended_.begin(), ended_.end(), works);
    ended.assign(std::move_iterator(gone), std::move_iterator(ended_.end()));
    ended_.erase(gone, ended_.end());
  }
  if (message.kind == RpcMessage::Kind::kNotification) return take_notification(message);
  const Reply reply = call(message);
  if (!reply) return wire_.refuse(message.id, reply.error());
  if (!reply->empty()) wire_.answer(message.id, *reply);
}

void Door::take_notification(const RpcMessage& message) {
  if (const auto id = cancelled_by(kAcpCancelling, message)) {
    const MutexLock lock(mutex_);
    for (const auto& [name, session] : sessions_)
      if (session->cancel(*id)) return;
    return;
  }
  if (message.method != "session/cancel") return;
  if (const auto session = session_of(message.params())) (*session)->cancel();
}

Door::Reply Door::call(const RpcMessage& message) {
  const auto* const found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                         [&](const Method& each) { return each.name == message.method; });
  if (found == std::end(kMethods))  // the words of JSON-RPC, for clients that do not look at the code
    return RpcFault{kRpcNoMethod, "Method not found: agentd has no '" + one_line(message.method, 80) + "'"};
  if (!initialized_ && found->name != "initialize")
    return RpcFault{kRpcBadRequest, "the first request must be initialize"};
  if (!message.params().is_object()) return bad("'params' must be an object");
  if (found->needs_runtime)
    if (const auto begun = begin(); !begun) {
      const RunError::Kind kind = begun.error().kind;
      const bool wants_key = kind == RunError::Kind::kUsage || kind == RunError::Kind::kProvider;
      return RpcFault{wants_key ? kRpcUnauthenticated : kRpcInternal, begun.error().message};
    }
  return (this->*found->call)(message);
}

// ---- the connection

Door::Reply Door::initialize(const RpcMessage& message) {
  const JsonView params = message.params();
  if (!params["protocolVersion"].is_number()) return bad("'protocolVersion' must be a number");
  if (initialized_) return RpcFault{kRpcBadRequest, "initialize was called before"};
  const JsonView client = params["clientCapabilities"], session = client["session"];
  abilities_.notices = session["notices"].is_object();
  abilities_.compactions = session["compaction"].is_object();
  abilities_.reads_files = client["fs"]["readTextFile"].bool_or(false);
  abilities_.writes_files = client["fs"]["writeTextFile"].bool_or(false);
  abilities_.terminals = client["terminal"].bool_or(false);
  abilities_.forms = client["elicitation"]["form"].is_object();
  initialized_ = true;
  JsonWriter out;
  out.begin_object().member("protocolVersion", kVersion).key("agentCapabilities").begin_object();
  out.member("loadSession", true).key("promptCapabilities").begin_object().member("image", true);
  out.member("audio", false).member("embeddedContext", true).end_object();
  out.key("mcpCapabilities").begin_object().member("http", true).member("sse", false).end_object();
  out.key("sessionCapabilities").begin_object();
  for (const std::string_view each : {"list", "delete", "additionalDirectories", "resume", "close"})
    out.key(each).begin_object().end_object();
  out.end_object().end_object().key("authMethods").begin_array();
  if (client["auth"]["terminal"].bool_or(false)) {
    out.begin_object().member("type", "terminal").member("id", kKeyMethod).member("name", "Store a key");
    out.member("description", "keeps the key of a provider in agentd's home").key("args").begin_array();
    for (const std::string& each : {std::string("auth"), std::string("set"), config_.text("provider")})
      if (!each.empty()) out.string(each);
    out.end_array().end_object();
  }
  out.end_array().key("agentInfo").begin_object().member("name", "agentd").member("title", "agentd");
  out.member("version", options_.version).end_object().end_object();
  return std::string(out.text());
}

// The key is stored by another process; whether it is there shows when it is needed.
Door::Reply Door::authenticate(const RpcMessage& message) {
  if (message.params()["methodId"].string_or("") != kKeyMethod)
    return bad("there is no such method; there is " + std::string(kKeyMethod));
  if (const auto begun = begin(); !begun) return RpcFault{kRpcUnauthenticated, begun.error().message};
  return std::string("{}");
}

Result<void, RunError> Door::begin() {
  if (runtime_) return {};
  AGENTD_TRY(auto runtime, Runtime::begin(surroundings_, config_, clock_, {true, true}, warn_));
  AGENTD_TRY_VOID(runtime->open());
  runtime_ = std::move(runtime);
  workplaces_ = std::make_unique<serve::Workplaces>(*runtime_, options_.hooks, warn_);
  return {};
}

// ---- opening sessions

Result<Opening, RpcFault> Door::opening_of(JsonView params) const {
  Opening out;
  AGENTD_TRY(out.cwd, directory_of(params["cwd"], "'cwd'"));
  const JsonView more = params["additionalDirectories"], servers = params["mcpServers"];
  if (!is_list(more)) return bad("'additionalDirectories' must be a list");
  if (!is_list(servers)) return bad("'mcpServers' must be a list");
  for (std::size_t i = 0; i < more.size(); ++i) {
    AGENTD_TRY(out.more.emplace_back(), directory_of(more.at(i), "'additionalDirectories'"));
  }
  auto read = read_editor_servers(servers);
  if (!read) return bad(read.error().message);
  out.servers = std::move(*read);
  for (McpServerSettings& each : out.servers) each.sandbox = config_.flag("mcp.editor_sandbox");
  return out;
}

Door::Reply Door::open(const RpcMessage& message, Opening opening) {
  const bool is_new = !opening.conversation;
  std::shared_ptr<EditorSession> session;
  {
    const MutexLock lock(mutex_);
    if (sessions_.size() + opening_.size() >= kSessionsMax)
      return RpcFault{kRpcInternal, "too many sessions are open: close one first"};
    const Shared shared{*runtime_, *workplaces_, threads_, wire_, abilities_, commands_};
    session = std::make_shared<EditorSession>(shared, std::move(opening));
    opening_.push_back(session);
  }
  session->open(message.id, is_new, [this, raw = session.get()](const std::string& id) {
    const MutexLock lock(mutex_);
    const auto found =
        std::find_if(opening_.begin(), opening_.end(), [&](const auto& each) { return each.get() == raw; });
    if (found == opening_.end()) return;
    if (id.empty()) {
      ended_.push_back(std::move(*found));
    } else {
      auto& place = sessions_[id];
      if (place) {
        place->close({});
        ended_.push_back(std::move(place));
      }
      place = std::move(*found);
    }
    opening_.erase(found);
  });
  return std::string();
}

Door::Reply Door::new_session(const RpcMessage& message) {
  AGENTD_TRY(Opening opening, opening_of(message.params()));
  return open(message, std::move(opening));
}

// A session that this editor has open already begins anew.
Door::Reply Door::reopen(const RpcMessage& message, bool replays) {
  AGENTD_TRY(Opening opening, opening_of(message.params()));
  if (!message.params()["sessionId"].is_string()) return bad("'sessionId' must be a text");
  const std::string_view name = message.params()["sessionId"].string_or("");
  AGENTD_TRY(const Ulid id, conversation_of(name));
  opening.conversation = id;
  opening.replays = replays;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(id.text());
    if (found != sessions_.end() && found->second->is_busy())
      return RpcFault{kRpcInternal, "the session works: cancel its prompt first"};
    if (found != sessions_.end()) {
      opening.before = std::move(found->second);
      sessions_.erase(found);
    }
  }
  return open(message, std::move(opening));
}

// Conversations of subagents belong to theirs.
Result<Ulid, RpcFault> Door::conversation_of(std::string_view name) const {
  const auto id = Ulid::parse(name);
  const auto info = id ? runtime_->store().info(*id) : Result<ConversationInfo>(id.error());
  if (!info || !info->agent_type.empty()) return no_session(name);
  return *id;
}

Door::Reply Door::load_session(const RpcMessage& message) { return reopen(message, true); }

Door::Reply Door::resume_session(const RpcMessage& message) { return reopen(message, false); }

// ---- the rest of a session's life

Door::Reply Door::list_sessions(const RpcMessage& message) {
  const JsonView params = message.params();
  std::string cwd;
  if (params["cwd"].exists() && !params["cwd"].is_null()) {
    AGENTD_TRY(cwd, directory_of(params["cwd"], "'cwd'"));
  }
  if (params["cursor"].exists() && !params["cursor"].is_null() && !params["cursor"].is_string())
    return bad("'cursor' must be a text");
  ConversationQuery query;
  query.after = std::string(params["cursor"].string_or(""));
  query.limit = kPage;
  if (!cwd.empty()) query.project_id = find_project(cwd).id;
  const auto list = runtime_->store().list(query);
  if (!list) return fault_of(run_error_of(list.error()));
  JsonWriter out;
  out.begin_object().key("sessions").begin_array();
  for (const ConversationInfo& info : *list) {
    if (!info.agent_type.empty() || (!cwd.empty() && info.cwd != cwd) || !info.cwd.starts_with('/')) continue;
    out.begin_object().member("sessionId", info.id).member("cwd", info.cwd).optional("title", info.title);
    out.member("updatedAt", iso_time(info.updated_ms)).end_object();
  }
  out.end_array();
  if (list->size() == kPage) out.member("nextCursor", list->back().id);
  out.end_object();
  return std::string(out.text());
}

Result<std::shared_ptr<EditorSession>, RpcFault> Door::session_of(JsonView params) {
  if (!params["sessionId"].is_string()) return bad("'sessionId' must be a text");
  const std::string_view id = params["sessionId"].string_or("");
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end())
    return RpcFault{kRpcNotFound, "the session '" + one_line(id, 80) + "' is not open: load it first"};
  return found->second;
}

Door::Reply Door::close_session(const RpcMessage& message) {
  AGENTD_TRY(const auto session, session_of(message.params()));
  {
    const MutexLock lock(mutex_);
    std::erase_if(sessions_, [&](const auto& each) { return each.second == session; });
    ended_.push_back(session);
  }
  session->close([this, id = message.id] { wire_.answer(id, "{}"); });
  return std::string();
}

// The hooks of its end may take their time, so that the session removes its conversation itself.
Door::Reply Door::delete_session(const RpcMessage& message) {
  const std::string name(message.params()["sessionId"].string_or(""));
  std::shared_ptr<EditorSession> open;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, session] : sessions_)
      if (id != name && session->conversation() == name)
        return RpcFault{kRpcInternal, "the session " + id + " has this conversation open: close it first"};
    if (const auto found = sessions_.find(name); found != sessions_.end()) {
      if (found->second->is_busy()) return RpcFault{kRpcInternal, "the session works: cancel its prompt first"};
      open = found->second;
      sessions_.erase(found);
      ended_.push_back(open);
    }
  }
  if (!open) {
    AGENTD_TRY(const Ulid id, conversation_of(name));
    return remove(id, false);
  }
  open->close([this, id = message.id, name] {
    const auto conversation = Ulid::parse(name);
    const Reply reply = conversation ? remove(*conversation, true) : Reply(no_session(name));
    if (reply)
      wire_.answer(id, *reply);
    else
      wire_.refuse(id, reply.error());
  });
  return std::string();
}

Door::Reply Door::remove(const Ulid& conversation, bool was_open) const {
  const auto removed = remove_conversation(runtime_->store(), runtime_->home(), clock_, conversation);
  // One in which nothing was said is not in the store.
  if (!removed && !(was_open && removed.error().code == Code::kNotFound))
    return fault_of(run_error_of(removed.error()));
  return std::string("{}");
}

Door::Reply Door::set_mode(const RpcMessage& message) {
  const JsonView params = message.params();
  AGENTD_TRY(const auto session, session_of(params));
  if (const auto chosen = session->choose("mode", params["modeId"].string_or("")); !chosen)
    return bad(chosen.error().message);
  JsonWriter update;
  update.begin_object().member("sessionId", params["sessionId"].string_or("")).key("update").begin_object();
  update.member("sessionUpdate", "config_option_update");
  write_options(update, *runtime_, session->choices());
  update.end_object().end_object();
  wire_.notify("session/update", update.text());
  return std::string("{}");
}

Door::Reply Door::set_option(const RpcMessage& message) {
  const JsonView params = message.params();
  AGENTD_TRY(const auto session, session_of(params));
  const std::string_view option = params["configId"].string_or("");
  if (!params["value"].is_string()) return bad("'value' must be one of the option's values");
  if (const auto chosen = session->choose(option, params["value"].string_or("")); !chosen)
    return bad(chosen.error().message);
  const Choices now = session->choices();
  if (option == "mode") {
    JsonWriter update;
    update.begin_object().member("sessionId", params["sessionId"].string_or("")).key("update").begin_object();
    update.member("sessionUpdate", "current_mode_update").member("currentModeId", name_of(now.mode));
    update.end_object().end_object();
    wire_.notify("session/update", update.text());
  }
  JsonWriter out;
  out.begin_object();
  write_options(out, *runtime_, now);
  out.end_object();
  return std::string(out.text());
}

Door::Reply Door::prompt(const RpcMessage& message) {
  const JsonView params = message.params();
  AGENTD_TRY(const auto session, session_of(params));
  auto prompt = read_prompt(params["prompt"]);
  if (!prompt) return bad(prompt.error().message);
  if (message.id.is_null()) return RpcFault{kRpcBadRequest, "a prompt must have an id"};
  if (!memories_) memories_ = MemoryWorker::start(*runtime_);  // the hooks of the session are loaded
  const JsonView unsaved = params["_meta"]["agentd/unsaved"];
  for (std::size_t i = 0; unsaved.is_array() && i < unsaved.size(); ++i)
    prompt->unsaved.emplace_back(unsaved.at(i).string_or(""));
  const bool steers = params["_meta"]["agentd/steer"].bool_or(false);
  if (steers)
    session->steer(message.id, std::move(*prompt));
  else
    session->prompt(message.id, std::move(*prompt));
  return std::string();
}

}  // namespace agentd::acp
