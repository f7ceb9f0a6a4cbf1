// SPDX-License-Identifier: Apache-2.0
#pragma once
// updates.h - what a run tells, as session/update notifications of the Agent Client Protocol.
//
// A client that has no notices gets their text as a thought or as a message of the agent, so that no verdict of a hook
// is lost. Messages of subagents are not shown; their tool calls are.
// Source: agentclientprotocol.com, schema of version 1 ("SessionUpdate").
//
// Threading: one thread, that of the session.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/agent/events.h"
#include "core/rpc/wire.h"

namespace agentd::acp {

// Kinds of updates that the editor can show, as initialize says.
struct ClientAbilities {
  bool notices = false, compactions = false;
  bool reads_files = false, writes_files = false, terminals = false, forms = false;
};

// "guardrail: the text"; the text alone where no hook has said it.
std::string from_hook(std::string_view hook, std::string_view text);

class EditorCommands;

class Updates {
 public:
  // `summary`: the text of the boundary that was made last; empty = none. All outlive it.
  Updates(RpcWire& wire, const ClientAbilities& abilities, std::string session_id, std::string start,
          std::function<std::string()> summary);

  // Commands of tool calls may run in terminals of the editor; outlives it.
  void set_terminals(EditorCommands& terminals) { terminals_ = &terminals; }

  // An event of a run that goes on.
  void tell(const RunEvent& event);

  // Parts of a conversation that is shown again, and of answers that no run has made. An empty `message_id`: a message
  // of its own.
  void user_text(std::string_view text, std::string_view message_id = {});
  void agent_text(std::string_view text, std::string_view message_id = {});
  void thought(std::string_view text, std::string_view message_id = {});
  void tool_called(std::string_view call_id, std::string_view tool, std::string_view input,
                   std::string_view within = {});
  void tool_ended(std::string_view call_id, std::string_view tool, std::string_view text, bool ok,
                  std::string_view within = {});
  enum class Severity : std::uint8_t { kInfo, kWarning, kError };
  void notice(Severity severity, std::string_view text);
  void context(const Gauge& gauge);
  void compacted(std::string_view id, std::string_view summary);
  // `update`: the JSON of an update.
  void send(std::string_view update);

  // Forgets the calls and messages of a run that has ended.
  void end_run();
  // The type of the subagent whose call that is, while it runs; empty = the user's agent.
  std::string within(std::string_view call_id) const;
  std::string_view start() const { return start_; }
  const ClientAbilities& abilities() const { return abilities_; }

 private:
  void chunk(std::string_view kind, std::string_view text, std::string_view message_id);
  std::string next_id(std::string_view kind);
  void user_message(const RunEvent& event, const told::UserMessage& message);
  void delta(std::string& id, std::string_view kind, std::string_view text);
  void answer_again(const told::AnswerAgain& again);
  void end_messages();
  void plan(const told::PlanChanged& plan);
  void compaction(std::string_view status, std::string_view error);
  void run_compacted(const told::Compacted& done);

  RpcWire& wire_;
  const ClientAbilities& abilities_;
  const std::string session_id_, start_;
  const std::function<std::string()> summary_;
  std::uint64_t ids_ = 0;
  EditorCommands* terminals_ = nullptr;  // null: none does
  std::string run_;                      // its id, in front of those of messages
  std::string message_id_, thought_id_;  // of the ones that are being written; empty = none is
  struct Call {
    std::string input, within;
  };
  std::map<std::string, Call, std::less<>>
      calls_;                        // that run, by their ids; of a conversation that is shown again: open
  std::string compaction_id_;        // of the one that goes on; empty = none does
  std::uint64_t cost_nano_usd_ = 0;  // of the session
};

}  // namespace agentd::acp
