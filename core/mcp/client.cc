// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/client.h"

#include <algorithm>
#include <utility>

#include "core/tools/permission_rule.h"

namespace agentd::mcp {

PermissionAnswer NobodyThere::ask(const SessionContext&, const Tool& tool, const ToolCall&, const AskedBy& by) {
  PermissionAnswer out;
  out.given = false;
  out.reason = "no person is there to answer the question of " +
               (by.hook.empty() ? std::string("the rules") : "the hook " + by.hook) + " about " + tool.name +
               ", so it is denied; a rule in permissions.allow of the user's settings allows it";
  return out;
}

bool is_offered(const Tool& tool, const std::vector<std::string>& named) {
  if (tool.read_only()) return true;
  return std::any_of(named.begin(), named.end(), [&](const std::string& pattern) {
    return PermissionRule{pattern, {}, pattern}.names(tool.name);
  });
}

Client::Client(const Means& means, Caller place, Ids ids)
    : means_(means), place_(std::move(place)), own_(std::make_shared<OwnTools>(means.runtime, place_)), ids_(ids) {}

Client::~Client() {
  cancel_all();
  end();
}

Result<std::vector<Tool>, RunError> Client::tools() {
  AGENTD_TRY(const std::shared_ptr<Workplace> workplace, this->workplace());
  std::vector<Tool> out = own_->tools();
  const std::vector<std::string> named = means_.runtime.config().list("mcp.server.tools");
  if (const ToolSource* const source = workplace->hooks().tools())
    for (Tool& tool : source->tools())
      if (find_own_tool(tool.name) == nullptr && is_offered(tool, named)) out.push_back(std::move(tool));
  return out;
}

// ---- calls

Result<void, RunError> Client::ensure_open(const CancelToken& cancel) {
  if (session_ && session_->session() != nullptr) return {};
  AGENTD_TRY(workplace_, workplace());
  OpenRequest request{place_.cwd, *this, &nobody_};
  request.waits = false;
  request.tools = own_;
  for (const OwnTool& each : own_tools()) request.allowed.emplace_back(each.name);
  AGENTD_TRY(auto session, ClientSession::prepare(*workplace_, std::move(request)));
  AGENTD_TRY_VOID(session->open(std::nullopt, cancel));
  session_ = std::move(session);
  return {};
}

// On the thread of the call, which holds the lock.
void Client::on_event(const RunEvent& event) {
  if (progress_ == nullptr || event.agent_depth != 0) return;
  if (event.type() == RunEvent::Type::kToolCall) (*progress_)(2, "runs");
  if (event.type() == RunEvent::Type::kToolResult) (*progress_)(3, "has ended");
}

Result<Client::Called, RunError> Client::call(const DirectCall& call, const CancelToken& cancel,
                                              const Progress& progress) {
  const MutexLock lock(calls_);
  if (progress) progress(1, "begins");
  if (cancel.cancelled()) return RunError{RunError::Kind::kCancelled, "the request was cancelled"};
  AGENTD_TRY_VOID(ensure_open(cancel));
  Called out;
  progress_ = progress ? &progress : nullptr;
  auto report = session_->session()->call_tool(call, cancel);
  progress_ = nullptr;
  if (!report) return report.error();
  out.report = std::move(*report);
  out.begun = own_->take_begun(out.report.call_id);
  return out;
}

void Client::end() {
  const MutexLock lock(calls_);
  if (session_) session_->end("exit");
  session_.reset();
  workplace_.reset();
}

// ---- requests

std::optional<std::uint64_t> Client::begin(const RpcId& id, const CancelToken& token) {
  const MutexLock lock(mutex_);
  const auto has_it = [&](const Request& each) { return each.id == id; };
  if (ids_ == Ids::kOfOneConnection && std::any_of(requests_.begin(), requests_.end(), has_it)) return std::nullopt;
  requests_.push_back({++last_, id, token});
  return last_;
}

void Client::done(std::uint64_t number) {
  const MutexLock lock(mutex_);
  requests_.remove_if([&](const Request& each) { return each.number == number; });
}

void Client::cancel(const RpcId& id) {
  const MutexLock lock(mutex_);
  if (ids_ == Ids::kOfSeveral) return;
  for (const Request& each : requests_)
    if (each.id == id) each.token.cancel(AGENTD_CANCEL_USER);
}

void Client::cancel_all() {
  const MutexLock lock(mutex_);
  for (const Request& each : requests_) each.token.cancel(AGENTD_CANCEL_SHUTDOWN);
}

bool Client::is_idle() const {
  const MutexLock lock(mutex_);
  return requests_.empty();
}

// Before any call.
void Client::set_initialized(const std::string& surface) {
  const MutexLock lock(mutex_);
  initialized_ = true;
  if (!surface.empty()) place_.surface = surface;
}

bool Client::is_initialized() const {
  const MutexLock lock(mutex_);
  return initialized_;
}

}  // namespace agentd::mcp
