// SPDX-License-Identifier: Apache-2.0
#include "bench/sessions/one_process.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/store/lmdb/lmdb_store.h"

namespace agentd::bench {

double status_number(const std::string& pid, const std::string& name) {
  std::ifstream status("/proc/" + pid + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1));
  return 0;
}

std::size_t descriptors(const std::string& pid) {
  std::size_t count = 0;
  std::error_code gone;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/" + pid + "/fd", gone)) ++count;
  return pid == "self" && count != 0 ? count - 1 : count;  // without the one that reads them
}

// ---- the model and the tool

ModelResult PacedModel::complete(const ModelRequest&, ModelSink& sink, const CancelToken& cancel, Deadline) {
  ModelResponse out;
  out.message.role = Role::kAssistant;
  if (answer_ == Answer::kCall) {
    sink.on_tool_call("call_1", "touch");
    out.message.blocks.push_back(Block::tool_use("call_1", "touch", R"({"path":"a.txt"})"));
    out.stop_reason = StopReason::kToolUse;
    return out;
  }
  if (answer_ == Answer::kHeld) {
    ++held_;
    while (answer_ == Answer::kHeld) clock_.pause(kBetweenPieces);
    --held_;
  }
  std::string text;
  for (int i = 0; i < kPieces; ++i) {
    if (answer_ == Answer::kPaced) clock_.sleep(kBetweenPieces, cancel);
    sink.on_text(kPiece);
    text += kPiece;
  }
  out.message = Message::of_text(Role::kAssistant, text);
  return out;
}

std::vector<Tool> OneTool::tools() const {
  if (!offers_) return {};
  Tool tool;
  tool.name = "touch";
  tool.input_schema_json = R"({"type":"object"})";
  return {tool};
}

Result<ToolOutcome> OneTool::call(const SessionContext&, const ToolCall&, const CancelToken&, Deadline) {
  return Error{Code::kNotFound, "no call is allowed"};
}

// ---- the process

OneProcess::OneProcess(const std::string& parent, Use use) : parks_(use == Use::kPark), directory_(parent) {
  auto store = open_lmdb_store({directory_.file("store")}, clock_);
  if (!store) stop(store.error().message);
  store_ = std::move(*store);
  options_.provider = "paced";
  options_.model = "m-1";
  options_.cwd = "/work";
  options_.project_id = "p";
  options_.waits = parks_;
  if (parks_) model_.set(PacedModel::Answer::kCall);
  RuntimeSettings settings;
  static_cast<ModelSettings&>(settings) = options_;
  services_ = make_services(parts(), std::move(settings));
  agent_ = make_agent(*services_, {parts(), {prompts_, PermissionRules{}}, {dispatcher_, tools_, events_}}, options_);
}

OneProcess::~OneProcess() = default;

std::unique_ptr<Session> OneProcess::open() {
  auto session = agent_->open(std::nullopt, {});
  if (!session) stop(session.error().message);
  return std::move(*session);
}

void OneProcess::turn(Session& session) const {
  const auto report = session.run("a question of the user", {});
  if (!report) stop(report.error().message);
  if (report->outcome != (parks_ ? RunOutcome::kWaiting : RunOutcome::kStop))
    stop("a run has ended with " + std::string(name_of(report->outcome)));
}

RuntimeParts OneProcess::parts() {
  return {*store_, model_, models_, estimator_, prompts_, tokens_, clock_, ids_, log_, nullptr, nullptr};
}

}  // namespace agentd::bench
