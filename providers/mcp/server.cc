// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/server.h"

#include <fnmatch.h>

#include <agentd/hook_abi.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/signals_blocked.h"
#include "core/base/thrown.h"
#include "core/codec/mcp_protocol.h"

namespace agentd::mcp {
namespace {

constexpr Milliseconds kRefreshIdle{500};  // it is woken for an end and a change; a list that is old can wait
constexpr Milliseconds kPauseFirst{500}, kPauseMax{60'000};
constexpr Milliseconds kFreshMin{5'000};       // a list is not asked for more often than that
constexpr Milliseconds kToolEver{14'400'000};  // a call with progress; the call timeout where that is longer
constexpr std::size_t kErrorTextMax = 4u << 10;
constexpr std::size_t kSecretMin = 4;  // shorter ones are parts of anything
constexpr std::size_t kTitleMax = 200;

}  // namespace

Server::Server(ServerSetup setup, const McpParts& parts)
    : setup_(std::move(setup)), parts_(parts), prefix_("mcp__" + setup_.name + "__") {
  const auto add = [this](std::string_view secret) {
    if (secret.size() >= kSecretMin) secrets_.emplace_back(secret);
  };
  for (const std::string& secret : setup_.secrets) add(secret);
  for (const auto& [name, value] : setup_.headers) {
    add(value);
    if (const std::size_t space = value.find(' '); space != std::string::npos) add(value.substr(space + 1));
  }
  std::sort(secrets_.begin(), secrets_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

Server::~Server() {
  end_soon();
  if (thread_.joinable()) thread_.join();
}

void Server::end_soon() {
  end_.cancel(AGENTD_CANCEL_SHUTDOWN);
  const MutexLock lock(mutex_);
  changed_.notify_all();
}

std::string Server::clean(std::string text) const {
  for (const std::string& secret : secrets_)
    for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) text.replace(at, secret.size(), "***");
  return text;
}

std::string Server::sentence(const std::string& rest) const {
  return clean("the MCP server '" + setup_.name + "' " + rest);
}

// The sandbox can be why a program ends or is silent; not why it answers otherwise than it should.
std::string Server::hint(const Failure& why) const {
  return why.kind == Failure::Kind::kGone || why.kind == Failure::Kind::kTimeout ? setup_.start_hint : std::string();
}

void Server::warn_once(const std::string& text) {
  {
    const MutexLock lock(mutex_);
    if (!warned_.insert(text).second) return;
  }
  if (parts_.warn) parts_.warn(text);
}

// ---- its life

void Server::start() {
  const MutexLock lock(mutex_);
  if (started_) return;
  started_ = true;
  state_ = ServerState::kStarting;
  const SignalsBlocked blocked;
  try {
    thread_ = Thread([this] {
      const std::string why = thrown_by([this] { run(); });
      if (why.empty()) return;
      const MutexLock failed(mutex_);
      state_ = ServerState::kFailed;
      why_ = why;
      settled_ = true;
    });
  } catch (const std::system_error&) {
    state_ = ServerState::kFailed;
    why_ = "the MCP server '" + setup_.name + "' cannot be started: there is no thread for it";
    settled_ = true;
  }
}

void Server::run() {
  Milliseconds pause_next = kPauseFirst;
  while (!end_.cancelled()) {
    auto up = bring_up();
    if (end_.cancelled()) break;
    std::uint64_t answers = 0;
    {
      const MutexLock lock(mutex_);
      state_ = up ? ServerState::kReady : ServerState::kFailed;
      why_ = up ? std::string() : up.error().message;
      if (!up && connection_) error_text_ = connection_->error_text();
      settled_ = true;
      answers = answers_;
      changed_.notify_all();
    }
    if (up)
      serve();
    else
      warn_once(up.error().message);
    bool at_once = false;
    std::shared_ptr<Connection> ended;
    {
      const MutexLock lock(mutex_);
      // A server that ends again and again is away: calls need not wait for it.
      if (up) state_ = pause_next > kPauseFirst ? ServerState::kFailed : ServerState::kStarting;
      if (answers_ > answers) pause_next = kPauseFirst;  // it has worked
      at_once = std::exchange(at_once_, false);
      ended.swap(connection_);
      if (ended) error_text_ = ended->error_text();
    }
    ended.reset();
    if (!at_once) {
      pause(pause_next);
      pause_next = std::min(pause_next * 2, kPauseMax);
    }
    const MutexLock lock(mutex_);
    state_ = ServerState::kStarting;
  }
  std::shared_ptr<Connection> last;
  const MutexLock lock(mutex_);
  last.swap(connection_);
}

void Server::pause(Milliseconds time) { (void)parts_.clock.sleep(time, end_); }

Result<std::shared_ptr<Connection>> Server::connect(Deadline deadline) {
  const auto self = std::make_shared<Connection*>(nullptr);
  auto connection = std::make_shared<Connection>(
      Connection::Told{
          .tools_changed = [this] { note_change(); },
          .ended = [this, self](const std::string& why) { note_end(*self, why); },
          .oddity =
              [this](const std::string& text) {
                const std::string said = sentence("writes to its standard output what is no message: " + text +
                                                  " (its log belongs on standard error)");
                warn_once(said);
              },
      },
      parts_.client_version, parts_.clock);
  *self = connection.get();
  {
    const MutexLock lock(mutex_);
    connection_ = connection;
    ended_ = false;
  }
  if (!setup_.argv.empty()) {
    auto link = start_program(setup_, parts_.clock);
    if (!link) return Error{link.error().code, sentence("cannot be started: " + link.error().message)};
    connection->set_link(std::move(*link));
  } else {
    connection->set_link(link_by_http(setup_, parts_.http, parts_.clock));
  }
  bool modern_first = false;
  {
    const MutexLock lock(mutex_);
    modern_first = !legacy_;
  }
  auto agreed = shake_hands(*connection, modern_first, end_, deadline);
  const MutexLock lock(mutex_);
  if (!agreed) {
    const Failure& why = agreed.error();
    // Some programs end at the first method that they do not know.
    legacy_ = modern_first && why.kind == Failure::Kind::kGone && !setup_.argv.empty();
    at_once_ = legacy_;
    return Error{Code::kUnavailable, sentence(why.why) + hint(why)};
  }
  agreed_ = std::move(*agreed);
  legacy_ = !agreed_.modern && !setup_.argv.empty();
  return connection;
}

Result<void> Server::bring_up() {
  const Deadline deadline = Deadline::after(parts_.clock, setup_.start_timeout);
  auto connection = connect(deadline);
  bool again = false;
  if (!connection) {
    const MutexLock lock(mutex_);
    again = std::exchange(at_once_, false);
  }
  if (again) {
    {
      std::shared_ptr<Connection> ended;
      const MutexLock lock(mutex_);
      ended.swap(connection_);
    }
    connection = connect(deadline);
  }
  if (!connection) return connection.error();
  Agreed agreed;
  {
    const MutexLock lock(mutex_);
    agreed = agreed_;
  }
  if (!agreed.modern) (*connection)->link().listen();
  if (agreed.modern && agreed.tells_changes)
    (*connection)->subscribe({"subscriptions/listen", [](JsonWriter& out) {
                                out.key("notifications").begin_object().member("toolsListChanged", true).end_object();
                              }});
  return list(**connection, deadline);
}

Result<void> Server::list(Connection& connection, Deadline deadline) {
  bool has_tools = false;
  std::uint64_t changes = 0;
  {
    const MutexLock lock(mutex_);
    has_tools = agreed_.has_tools;
    changes = changes_;  // what changes from here on is a change of the new list
    overdue_ = false;
  }
  Listing listing;
  if (has_tools) {
    auto listed = list_tools(connection, end_, deadline);
    if (!listed)
      return Error{Code::kUnavailable, sentence(listed.error().why + " (its list of tools)") + hint(listed.error())};
    listing = std::move(*listed);
    std::erase_if(listing.tools, [&](const Definition& tool) { return !is_wanted(tool.name); });
  }
  for (const std::string& fault : listing.faults) warn_once(sentence("lists what cannot be used: " + fault));
  if (const std::size_t some = listing.nameless; some > 0)
    warn_once(sentence("lists what cannot be used: " +
                       (some == 1 ? std::string("1 entry") : with_commas(some) + " entries") + " without a name"));
  auto offer = judged(std::move(listing.tools));
  const MutexLock lock(mutex_);
  take_offer(std::move(offer));
  judged_ = changes;
  fresh_ = listing.fresh_for ? Deadline::after(parts_.clock, std::max(*listing.fresh_for, kFreshMin)) : Deadline{};
  changed_.notify_all();
  return {};
}

bool Server::is_wanted(const std::string& tool) const {
  const auto one_matches = [&](const std::vector<std::string>& globs) {
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string& glob) { return ::fnmatch(glob.c_str(), tool.c_str(), 0) == 0; });
  };
  return (setup_.tools.empty() || one_matches(setup_.tools)) && !one_matches(setup_.except_tools);
}

std::shared_ptr<const Server::Offer> Server::judged(std::vector<Definition> tools) {
  std::vector<Pins::Verdict> verdicts = parts_.pins.judge(setup_.name, tools);
  verdicts.resize(tools.size(), Pins::Verdict::kNew);
  std::vector<bool> agreed;
  std::string added, other;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    agreed.push_back(verdicts[i] == Pins::Verdict::kAgreed);
    if (agreed.back()) continue;
    std::string& names = verdicts[i] == Pins::Verdict::kNew ? added : other;
    names += (names.empty() ? "" : ", ") + quoted_tool_name(tools[i].name);
  }
  const std::string cure = "; it is not used until you have run: agentd mcp trust " + setup_.name;
  if (!added.empty()) warn_once(sentence("has a new tool: " + added + cure));
  if (!other.empty()) warn_once(sentence("has changed a tool: " + other + cure));
  const std::vector<std::string> names = names_of(setup_.name, tools, agreed);
  const auto out = std::make_shared<Offer>();  // shared by the calls that run
  for (std::size_t i = 0; i < tools.size(); ++i) {
    Offered& offered = out->emplace_back();
    offered.verdict = verdicts[i];
    offered.tool = {.name = names[i],
                    .title = one_line(tools[i].title, kTitleMax),
                    .description = tools[i].description,
                    .input_schema_json = tools[i].input_schema_json,
                    .origin = "mcp:" + setup_.name,
                    .flags = flags_of(tools[i].annotations_json, setup_.trust_annotations),
                    .path_keys = {},
                    .timeout = std::max(setup_.call_timeout, kToolEver)};
    if (const auto schema = JsonDocument::parse(tools[i].input_schema_json))
      if (auto params = param_fields(schema->root())) offered.params = std::move(*params);
    if (names[i].empty()) warn_once(sentence("lists two tools with one name: " + quoted_tool_name(tools[i].name)));
    offered.definition = std::move(tools[i]);
  }
  return out;
}

void Server::serve() {
  for (;;) {
    std::shared_ptr<Connection> connection;
    {
      const MutexLock lock(mutex_);
      while (!ended_ && changes_ == judged_ && !overdue_ && !end_.cancelled())
        changed_.wait_for(mutex_, parts_.clock, kRefreshIdle);
      if (ended_ || end_.cancelled()) return;
      connection = connection_;
    }
    pause(kSlice);  // for a server that tells of changes without end
    if (auto listed = list(*connection, Deadline::after(parts_.clock, setup_.start_timeout)); !listed) {
      warn_once(listed.error().message);
      const MutexLock lock(mutex_);
      if (!ended_) why_ = listed.error().message;
      return;
    }
  }
}

void Server::note_end(const Connection* which, const std::string& why) {
  const MutexLock lock(mutex_);
  if (which != connection_.get()) return;
  ended_ = true;
  if (state_ == ServerState::kReady) state_ = ServerState::kStarting;
  why_ = sentence(why);
  changed_.notify_all();
}

void Server::note_change() {
  const MutexLock lock(mutex_);
  ++changes_;
  changed_.notify_all();
}

void Server::judge_again() {
  for (;;) {
    std::shared_ptr<const Offer> before;
    {
      const MutexLock lock(mutex_);
      before = offer_;
    }
    if (!before) return;
    std::vector<Definition> tools;
    for (const Offered& offered : *before) tools.push_back(offered.definition);
    auto offer = judged(std::move(tools));
    const MutexLock lock(mutex_);
    if (offer_ != before) continue;  // listed again meanwhile
    take_offer(std::move(offer));
    return;
  }
}

void Server::take_offer(std::shared_ptr<const Offer> offer) {
  offer_ = std::move(offer);
  for (const Offered& tool : *offer_)
    if (!tool.tool.name.empty()) names_.insert(tool.tool.name);
}

// ---- what is known of it

bool Server::is_settled() const {
  const MutexLock lock(mutex_);
  return settled_;
}

bool Server::is_starting() const {
  const MutexLock lock(mutex_);
  return started_ && !settled_;
}

ServerStatus Server::status() const {
  ServerStatus out;
  std::shared_ptr<Connection> connection;
  std::shared_ptr<const Offer> offer;
  {
    const MutexLock lock(mutex_);
    out.name = setup_.name;
    out.state = state_;
    out.why = state_ == ServerState::kFailed ? why_ : std::string();
    out.title = agreed_.title;
    out.version = agreed_.server_version;
    out.protocol = agreed_.version;
    out.error_text = error_text_;
    connection = connection_;
    offer = offer_;
    if (state_ != ServerState::kReady) connection.reset();  // it may have no link yet
  }
  if (connection) out.error_text = connection->error_text();
  out.error_text = clean(std::string(utf8_suffix(to_utf8(out.error_text), kErrorTextMax)));
  if (offer)
    for (const Offered& tool : *offer) out.tools.push_back({tool.tool.name, tool.definition, tool.verdict});
  return out;
}

std::vector<Tool> Server::tools() const {
  std::shared_ptr<const Offer> offer;
  {
    const MutexLock lock(mutex_);
    offer = offer_;
    const bool old = state_ == ServerState::kReady && fresh_.passed(parts_.clock);
    if (old && connection_ && !connection_->subscribed()) overdue_ = true;  // the next turn knows
  }
  std::vector<Tool> out;
  if (offer)
    for (const Offered& tool : *offer)
      if (tool.verdict == Pins::Verdict::kAgreed && !tool.tool.name.empty()) out.push_back(tool.tool);
  return out;
}

bool Server::has(std::string_view name) const {
  const MutexLock lock(mutex_);
  return names_.find(name) != names_.end();
}

std::string Server::why_missing(std::string_view name) const {
  const MutexLock lock(mutex_);
  if (names_.find(name) != names_.end())
    return sentence("has listed its tools since this turn began: call it in the next one");
  if (started_ && !settled_)
    return sentence("is still starting, so its tools cannot be called yet: go on without them, or try later");
  return state_ == ServerState::kFailed && !offer_ ? why_ : std::string();
}

}  // namespace agentd::mcp
