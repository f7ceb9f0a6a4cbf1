// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/acp_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace agentd::testing {

AcpClient::AcpClient(Program& program, std::vector<std::string> words, const std::string& command)
    : cwd_(program.project()), command_(command) {
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  AGENTD_ASSERT(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
  const UniqueFd its_input(in[0]), its_output(out[1]);
  to_ = UniqueFd(in[1]);
  from_ = UniqueFd(out[0]);
  program.set_input(its_input.get());
  program.set_output(its_output.get());
  words.insert(words.begin(), command);
  running_ = std::make_unique<Running>(program.start(words));
  program.set_input(-1);
  program.set_output(-1);
}

AcpClient::~AcpClient() {
  if (!running_) return;
  EXPECT_EQ(close(), 0);
}

int AcpClient::close() {
  to_.reset();
  // What it still writes is read, so that it is not held back.
  (void)until([this] { return !from_.valid(); });
  const Finished finished = running_->wait();
  running_.reset();
  return finished.code;
}

int AcpClient::close_without_reading() {
  to_.reset();
  const Finished finished = running_->wait();
  running_.reset();
  return finished.code;
}

void AcpClient::kill() {
  running_->signal(SIGKILL);
  running_->wait();
  running_.reset();
}

void AcpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(to_.get(), bytes.data(), bytes.size());
    ASSERT_GT(put, 0);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void AcpClient::notify(std::string_view method, std::string_view params) {
  send(rpc_frame(RpcFraming::kLines, rpc_notification(method, params)));
}

void AcpClient::answer(const RpcId& id, std::string_view result) {
  send(rpc_frame(RpcFraming::kLines, rpc_result(id, result)));
}

std::string AcpClient::choose(std::string_view option) {
  return R"({"outcome":{"outcome":"selected","optionId":")" + std::string(option) + "\"}}";
}

// ---- reading

void AcpClient::take(RpcMessage message) {
  switch (message.kind) {
    case RpcMessage::Kind::kNotification:
      if (message.method == "$/cancel_request") return;
      EXPECT_TRUE(command_ != "acp" || message.method == "session/update") << message.method;
      updates_.push_back(std::move(message));
      return;
    case RpcMessage::Kind::kRequest:
      requests_.push_back(message);
      if (!to_.valid()) return;  // closed
      if (const std::string result = answer_(message); !result.empty()) answer(message.id, result);
      return;
    case RpcMessage::Kind::kResult:
    case RpcMessage::Kind::kFault:
      answered_.push_back(message.id);
      if (message.id.is_null()) return faults_.push_back(std::move(message));
      answers_.emplace(answered_.back(), std::move(message));
  }
}

void AcpClient::read_once() {
  if (idle_) idle_();
  pollfd ready{from_.get(), POLLIN, 0};
  if (::poll(&ready, 1, 50) <= 0) return;
  std::string bytes(65'536, '\0');
  const ssize_t got = ::read(from_.get(), bytes.data(), bytes.size());
  if (got <= 0) return from_.reset();
  frames_.feed(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)));
  for (;;) {
    auto text = frames_.next();
    ASSERT_TRUE(text) << text.error().message;
    if (!*text) return;
    auto read = read_rpc(**text, {64u << 20, 64});
    auto* const message = std::get_if<RpcMessage>(&read);
    EXPECT_NE(message, nullptr) << **text;
    if (message != nullptr) take(std::move(*message));
  }
}

bool AcpClient::until(const std::function<bool()>& so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!so()) {
    if (!from_.valid() || std::chrono::steady_clock::now() > end) return so();
    read_once();
  }
  return true;
}

// ---- asking

int AcpClient::begin(std::string_view method, std::string_view params) {
  const int id = ++last_id_;
  send(rpc_frame(RpcFraming::kLines, rpc_request(RpcId(id), method, params)));
  return id;
}

RpcMessage AcpClient::wait(const RpcId& id) {
  EXPECT_TRUE(until([&] { return answers_.contains(id); })) << "request " << id.json() << " was not answered";
  return answers_[id];
}

RpcMessage AcpClient::next_fault() {
  EXPECT_TRUE(until([&] { return !faults_.empty(); }));
  if (faults_.empty()) return {};
  RpcMessage out = std::move(faults_.front());
  faults_.erase(faults_.begin());
  return out;
}

void AcpClient::initialize(std::string_view more) {
  const RpcMessage answer =
      call("initialize", R"({"protocolVersion":1,"clientCapabilities":{"session":{"notices":{},"compaction":{}},)"
                         R"("auth":{"terminal":true})" +
                             std::string(more) + "}}");
  EXPECT_EQ(answer.kind, RpcMessage::Kind::kResult) << answer.fault.message;
}

std::string AcpClient::new_session() {
  const RpcMessage answer = call("session/new", R"({"cwd":")" + cwd_ + R"(","mcpServers":[]})");
  return std::string(answer.result()["sessionId"].string_or(answer.fault.message));
}

int AcpClient::begin_prompt(const std::string& session, std::string_view text, std::string_view more) {
  JsonWriter out;
  out.begin_object().member("sessionId", session).key("prompt").begin_array().begin_object();
  out.member("type", "text").member("text", text).end_object().end_array();
  if (!more.empty()) out.key("_meta").raw(more);
  out.end_object();
  return begin("session/prompt", out.text());
}

std::string AcpClient::stop(int id) {
  const RpcMessage answer = wait(id);
  if (answer.kind == RpcMessage::Kind::kFault)
    return "fault " + std::to_string(answer.fault.code) + ": " + answer.fault.message;
  return std::string(answer.result()["stopReason"].string_or("?"));
}

// ---- updates

std::size_t AcpClient::count(std::string_view kind) const {
  std::size_t out = 0;
  for (const RpcMessage& each : updates_)
    if (each.params()["update"]["sessionUpdate"].string_or("") == kind) ++out;
  return out;
}

std::string AcpClient::said(std::string_view kind) const {
  std::string out;
  for (const RpcMessage& each : updates_) {
    const JsonView update = each.params()["update"];
    if (update["sessionUpdate"].string_or("") != kind) continue;
    if (kind == "notice") out += std::string(update["title"].string_or("")) + "\n";
    out += update["content"]["text"].string_or("");
    for (std::size_t i = 0; i < update["content"].size(); ++i)
      out += update["content"].at(i)["content"]["text"].string_or("");
  }
  return out;
}

}  // namespace agentd::testing
