// SPDX-License-Identifier: Apache-2.0
#pragma once
// acp_client.h - an editor: a client of `agentd acp` that reads while it waits. `agentd mcp` has the same wire.
//
// Threading: one thread.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/codec/json_rpc.h"
#include "core/codec/rpc_frames.h"
#include "tests/e2e/program.h"

namespace agentd::testing {

class AcpClient {
 public:
  // Starts the program. Every line that it writes to standard output must be a message.
  AcpClient(Program& program, std::vector<std::string> words, const std::string& command = "acp");
  // Closes its input and expects that it ends well, unless it was ended before.
  ~AcpClient();
  AcpClient(const AcpClient&) = delete;
  AcpClient& operator=(const AcpClient&) = delete;

  // initialize, with what an editor of today can show; `more`: further members of its capabilities.
  void initialize(std::string_view more = {});
  // A new session in the program's project: its id.
  std::string new_session();

  // Requests: the number that answers them, more than kFirstId; smaller ones are for tests that write their own.
  static constexpr int kFirstId = 1'000;
  int begin(std::string_view method, std::string_view params);
  RpcMessage wait(int id) { return wait(RpcId(id)); }
  RpcMessage wait(const RpcId& id);
  RpcMessage call(std::string_view method, std::string_view params) { return wait(begin(method, params)); }
  int begin_prompt(const std::string& session, std::string_view text, std::string_view more = {});
  // "end_turn", ...; "fault CODE: message".
  std::string stop(int id);
  std::string prompt(const std::string& session, std::string_view text) { return stop(begin_prompt(session, text)); }
  void notify(std::string_view method, std::string_view params);
  void cancel(const std::string& session) { notify("session/cancel", R"({"sessionId":")" + session + "\"}"); }
  // Bytes as they are.
  void send(std::string_view bytes);
  // The next answer that names no request.
  RpcMessage next_fault();
  // The ids of all answers, as they came.
  const std::vector<RpcId>& answered() const { return answered_; }

  // Answers the program's requests: the JSON of the result; empty = later, by answer().
  using Answer = std::function<std::string(const RpcMessage&)>;
  void on_request(Answer answer) { answer_ = std::move(answer); }
  static std::string choose(std::string_view option);
  void answer(const RpcId& id, std::string_view result);
  const std::vector<RpcMessage>& requests() const { return requests_; }

  // Called again and again while it waits.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }

  // The updates so far, each as JSON {"sessionId","update"}.
  const std::vector<RpcMessage>& updates() const { return updates_; }
  // Their texts of that kind, joined: "agent_message_chunk", or the titles of "notice".
  std::string said(std::string_view kind) const;
  std::size_t count(std::string_view kind) const;
  void forget() { updates_.clear(); }
  // Reads until that is so; false after ten seconds.
  bool until(const std::function<bool()>& so);

  // Closes the editor: the program's exit code.
  int close();
  int close_without_reading();
  void kill();
  Running& program() { return *running_; }

 private:
  void read_once();
  void take(RpcMessage message);

  const std::string cwd_, command_;
  UniqueFd to_, from_;
  std::unique_ptr<Running> running_;
  RpcFrames frames_{RpcFraming::kLines, 64u << 20};
  int last_id_ = kFirstId;
  std::map<RpcId, RpcMessage> answers_;
  std::vector<RpcId> answered_;
  std::vector<RpcMessage> updates_, requests_, faults_;
  std::function<void()> idle_;
  Answer answer_ = [](const RpcMessage&) { return choose("allow"); };
};

}  // namespace agentd::testing
