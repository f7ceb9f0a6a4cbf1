// SPDX-License-Identifier: Apache-2.0
#pragma once
// model_call.h - from a turn's request to the model's answer: what is sent, what hooks make of it, and what follows
// when the provider fails: the same request again, another form of it, another model, more room, or the end.
// Private to this room.
//
// Threading: the session's thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/run/doors.h"
#include "core/agent/run/tool_calls.h"
#include "core/conversation/marked_rows.h"
#include "core/conversation/visible_rows.h"

namespace agentd {

// "the model is called again in 0.4 s"
std::string asked_again_text(Milliseconds wait);

// A request and what it borrows from.
struct OutgoingCall {
  OutgoingCall() = default;
  OutgoingCall(const OutgoingCall&) = delete;
  OutgoingCall& operator=(const OutgoingCall&) = delete;

  ModelRequest request;
  std::vector<ToolSpec> tools;
  Rows rows;
  Origins origins;  // of a complete history; otherwise the conversation's
  std::optional<MarkedRows> marked;
  std::optional<VisibleRows> visible;
};

class ModelCall {
 public:
  // All outlive it.
  ModelCall(const SessionParts& session, RunState& run, CompactionDoors& doors, ToolCalls& calls)
      : session_(session), run_(run), doors_(doors), calls_(calls) {}

  // The answer as hooks left it; its calls are taken.
  Result<ModelResponse, RunError> ask();

  // ---- of the request that was answered
  Origin origin() const { return session_.base().provider.origin_of(model_); }
  const std::string& model() const { return model_; }
  std::uint64_t estimate() const { return estimate_; }

 private:
  // ---- the request (model_call.cc)
  Result<void, RunError> prepare(OutgoingCall& out, std::uint32_t attempt);
  Result<void, RunError> take_whole_history(OutgoingCall& out) const;
  void choose_model(ModelRequest& request) const;
  void add_form(OutgoingCall& out);
  std::uint64_t estimate_of(const OutgoingCall& out) const;
  ModelResult send(const ModelRequest& request);
  void charge_interrupted(const Usage& usage);
  ModelResponse take(ModelResponse answer, std::uint64_t started_ns);

  // ---- hooks (model_call_hooks.cc)
  Result<void, RunError> before(OutgoingCall& out, std::uint32_t attempt);
  std::string model_named_by(const Outcome& outcome, const std::string& current) const;
  Result<std::unique_ptr<Outcome>, RunError> judge(const OutgoingCall& out, std::uint32_t attempt);
  void apply(const Outcome& outcome, std::vector<std::string> contexts, OutgoingCall& out) const;
  void replace_rows(const Outcome::Attributed& asked, Rows& rows) const;
  ModelResponse after(ModelResponse response, std::uint64_t started_ns);

  // ---- trouble (model_trouble.cc)
  bool asks_to_spell_again(const ModelResponse& answer);
  // The next step after a failed request: another one (nullopt), an answer made in another way, or the error.
  Result<std::optional<ModelResponse>, RunError> recover(ModelError error, const ModelRequest& request);
  bool tells_schema_in_words(const ModelError& error, const ModelRequest& request);
  bool asks_again(ModelError& error);
  void wait_for_busy(const ModelError& error);
  bool falls_back(const ModelError& error, const ModelRequest& request);
  bool is_gone(const ModelError& error, const ModelRequest& request) const;
  Result<std::optional<ModelResponse>, RunError> make_room(const ModelError& error);
  Result<std::optional<ModelResponse>, RunError> summarise_instead(const ModelError& error);
  RunError failed(const ModelError& error);

  const SessionParts& session_;
  RunState& run_;
  CompactionDoors& doors_;
  ToolCalls& calls_;
  std::string model_;
  std::uint64_t estimate_ = 0;

  std::uint32_t broken_ = 0;  // answers that broke off
  Message half_{};            // of the last one with a text
  bool malformed_ = false;    // there was an answer with a call that cannot be read
  std::uint32_t overflow_vetoes_ = 0;
  bool overflow_over_ = false;  // the next "too long" is the error
};

}  // namespace agentd
