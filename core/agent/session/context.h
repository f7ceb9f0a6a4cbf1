// SPDX-License-Identifier: Apache-2.0
#pragma once
// context.h - what every request of a session has beside its messages, and how full the window is: system text,
// the tools of this turn, the floor that both make, the gauge. Private to this room.
//
// Threading: the session's thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/session/log_writer.h"

namespace agentd {

class Context {
 public:
  // All outlive it. The log says when an answer has become a part of the conversation.
  Context(const AgentResources& agent, const AgentOptions& options, const Position& position,
          const SharedSession& shared, const LogWriter& log)
      : agent_(agent), options_(options), position_(position), shared_(shared), log_(log) {}

  std::string system_text() const;
  // The contexts of session_start stand outside the history: new ones take the old ones' place.
  void set_session_contexts(const Outcome& outcome);

  // ---- tools

  // The tools as of now, and the one that starts subagents.
  void refresh_tools();
  // False: without the one that starts subagents, from the next refresh on.
  void offer_subagents(bool offer) { offers_subagents_ = offer; }
  bool offers_subagents() const { return offers_subagents_; }
  const std::vector<Tool>& tools() const { return tools_; }
  // Null: there is none of that name.
  const Tool* find_tool(std::string_view name) const;
  // As a request offers them.
  std::vector<ToolSpec> tool_specs() const;
  // The tools to send with a request about these rows in which no tool may be called: those of this
  // session, or those that the calls in the rows name; none where the rows hold no call.
  std::vector<ToolSpec> tools_beside(std::span<const agentd_message> rows) const;

  // ---- tokens

  Gauge gauge() const;
  // System prompt and tools as the estimator counts them, before the correction of the gauge.
  std::uint64_t floor_tokens() const;
  std::uint64_t count_frame(const std::string& system, std::span<const ToolSpec> tools) const;
  // While a compaction runs without tools: the floor that the requests before and after it have.
  void set_usual_floor(std::optional<std::uint64_t> tokens) { usual_floor_ = tokens; }
  // Until the next commit the gauge counts this answer, of a request of `estimated` tokens.
  void gauge_answer(const ModelResponse& answer, const std::string& model, std::uint64_t estimated);
  void forget_answer() { fresh_answer_.reset(); }

  // The record of what the provider reported for a request of `estimated` tokens and the answer at `seq`, after it
  // was learned from. A report that cannot be true is none for the gauge.
  struct TurnUsage {
    UsageRecord record;
    std::string warning;  // the first time that the server has cut a prompt; else empty
  };
  TurnUsage usage_of_turn(const Usage& usage, std::uint64_t seq, const std::string& model, std::uint64_t estimated);

 private:
  std::uint64_t usual_floor_tokens() const { return usual_floor_ ? *usual_floor_ : floor_tokens(); }
  // The provider has counted `reported` tokens in a request that the estimator took for `estimated`.
  void learn_tokens(const std::string& model, std::uint64_t estimated, std::uint64_t reported);

  const AgentResources& agent_;
  const AgentOptions& options_;
  const Position& position_;
  const SharedSession& shared_;
  const LogWriter& log_;
  std::vector<std::string> session_contexts_;
  std::vector<Tool> tools_;
  bool offers_subagents_ = true;
  mutable std::optional<std::uint64_t> floor_;  // counted once for what it is made of
  std::optional<std::uint64_t> usual_floor_;
  // The answer that is not in the log yet, for the gauge of those who are asked about it and its calls.
  struct FreshAnswer {
    std::uint64_t batch = 0;  // of the log, that it belongs to
    std::optional<Usage> report;
    std::uint64_t tokens = 0;  // of one without a plausible report
  };
  std::optional<FreshAnswer> fresh_answer_;
  struct Measured {
    std::string model;
    std::uint64_t estimated = 0, reported = 0;
  };
  Measured measured_;      // the request that the correction was last learned from
  bool told_cut_ = false;  // that the server has cut a prompt
};

}  // namespace agentd
