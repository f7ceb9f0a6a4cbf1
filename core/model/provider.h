// SPDX-License-Identifier: Apache-2.0
#pragma once
// provider.h - the interface of a model provider: one request, a stream of events, one answer or error.
//
// The agent passes a Request whose messages are rows of the view. The provider writes its wire format, streams what
// arrives into the sink, and returns the complete answer. Only a complete answer has tool calls: an interrupted stream
// is an error that carries what arrived.
//
// Threading: complete() may be called from several threads at once; the sink is called on the caller's.

#include <agentd/hook_abi.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/conversation/message.h"
#include "core/conversation/origin.h"

namespace agentd {

struct ToolSpec {
  std::string name, description, input_schema_json;
  std::uint32_t flags = 0;  // AGENTD_TOOL_ of ext/tools.h
  std::string origin;       // plugin id, "mcp:server", "core"
};

// The model's thinking mode, in the form that this model takes.
struct Thinking {
  enum class Mode : std::uint8_t {
    kUnsaid,    // the request does not mention it
    kBudget,    // up to budget_tokens
    kAdaptive,  // as much as the model decides; its thinking is shown in summary
    kOff,       // disabled with the provider's word `off`
  };
  Mode mode = Mode::kUnsaid;
  std::uint64_t budget_tokens = 0;
  std::string off{};
  std::string effort{};    // empty = the model's default
  std::uint64_t room = 0;  // tokens for thinking besides ModelRequest::max_output_tokens
};

// The number of retries of a run, in all of its requests together.
//
// Threading: thread-safe.
class RetryBudget {
 public:
  static constexpr std::uint32_t kUsual = 20;

  explicit RetryBudget(std::uint32_t most = kUsual) : most_(most), left_(most) {}
  // True if one more attempt may be made, which is then counted.
  bool take() {
    std::uint32_t left = left_.load();
    while (left != 0 && !left_.compare_exchange_weak(left, left - 1)) {
    }
    return left != 0;
  }
  // The last part of a sentence about a failure.
  std::string used_up() const {
    return "no further retry: the " + std::to_string(most_) +
           " attempts that network.retries_per_run allows are used up";
  }

 private:
  const std::uint32_t most_;
  std::atomic<std::uint32_t> left_;
};

struct ModelRequest {
  std::string model;
  std::string system;
  std::span<const ToolSpec> tools;  // empty: no tools are offered
  // Rows in order. Consecutive rows of one role are one message on the wire; AGENTD_ROLE_SUMMARY is a user message.
  // Read texts with full_text().
  std::span<const agentd_message> messages;
  // One more user message after the rows; empty = none. Compaction sends its prompt here.
  std::string_view closing_text;
  // The origins of the rows, by sequence; null = unknown. Content that only another model can read is left out.
  const Origins* origins = nullptr;
  bool may_call_tools = true;  // false: the tools are sent only because the history uses them
  std::uint64_t max_output_tokens = 16'384;
  // A JSON Schema, an object, that the provider must enforce on the answer; empty = none. It may refuse one that it
  // cannot enforce (kInvalid, 400).
  std::string_view output_schema{};
  Thinking thinking{};
  // The model wants its thinking back with each of its answers; absent = the provider knows its server.
  std::optional<bool> thinking_back{};
  // The approximate tokens of the complete prompt; 0 = not counted.
  std::uint64_t prompt_tokens = 0;
  std::string purpose = "turn";  // turn, summary, thread: for traces and the scripted provider
  std::string conversation_id;
  RetryBudget* retries = nullptr;  // the run's; null = only the provider's own retries
};

struct ModelError;

// Called while the answer streams in; must not throw and must return soon.
class ModelSink {
 public:
  virtual ~ModelSink() = default;
  virtual void on_text(std::string_view delta) = 0;
  virtual void on_thinking(std::string_view delta) = 0;
  // The model begins a tool call; its input is not complete yet.
  virtual void on_tool_call(std::string_view call_id, std::string_view name) = 0;
  // The request is sent again after `wait`, since `why` may pass; no part of an answer came before.
  virtual void on_wait(Milliseconds wait, const ModelError& why) = 0;
};

// Ignores everything.
class NullModelSink final : public ModelSink {
 public:
  void on_text(std::string_view) override {}
  void on_thinking(std::string_view) override {}
  void on_tool_call(std::string_view, std::string_view) override {}
  void on_wait(Milliseconds, const ModelError&) override {}
};

struct ModelResponse {
  Message message;  // role assistant; TOOL_USE blocks only in a complete answer
  StopReason stop_reason = StopReason::kEndTurn;
  std::optional<Usage> usage;  // absent when the provider reported none
  // The same with its cost, or agentd's count of what was sent and received. Only an account sets it.
  Usage spent{};
  std::string request_id;
  std::string note{};            // a sentence for the user about this answer; empty = none
  std::uint64_t bounded_to = 0;  // the answer's length that a budget allowed, in tokens; 0 = unbounded
  bool malformed_call = false;   // the model wrote an unreadable tool call and nothing else
};

enum class ModelErrorKind : std::uint8_t {
  kAuth,           // key missing, wrong or without rights: never retried
  kBilling,        // spend limit: never retried
  kInvalid,        // the provider refuses the request (400, 404, 413, 422)
  kContextLength,  // the prompt is longer than the window
  kRateLimit,      // 429
  kOverloaded,     // the answer violates the wire format
  kServer,         // other 5xx
  kNetwork,        // no connection, no answer, bad TLS
  kInterrupted,    // the stream ended before its stop reason
  kProtocol,       // the answer is not what the wire format says
  kLimit,          // a user's limit on tokens or money: nothing was sent
  kLedger,         // today's spending cannot be read or written, and a day limit is set
  kCancelled,
  kScript,  // the scripted provider's file is broken or has no turn left
};
std::string_view name_of(ModelErrorKind kind);
// Advice for the user as the last part of a sentence; empty if there is none.
std::string_view advice_for(ModelErrorKind kind);

struct ModelError {
  ModelErrorKind kind = ModelErrorKind::kServer;
  std::string message;  // one sentence: provider, status, its message, what to do
  int http_status = 0;  // 0 = none
  std::optional<Milliseconds> retry_after;
  bool retryable = false;  // decided by the provider, after its own attempts
  std::uint32_t attempts = 1;
  Message partial;               // what arrived before an interruption; no tool calls
  std::optional<Usage> usage{};  // what the provider had reported so far
};

using ModelResult = Result<ModelResponse, ModelError>;

// One vendor's models behind one wire format.
class ModelProvider {
 public:
  virtual ~ModelProvider() = default;
  virtual std::string_view name() const = 0;           // "anthropic"
  virtual std::string_view api() const { return {}; }  // the wire format: "messages"
  // The origin of an answer by the model of that name.
  virtual Origin origin_of(std::string_view model) const {
    return {std::string(name()), std::string(api()), std::string(model)};
  }
  // Blocks until the answer is complete, the deadline passed or cancel is set.
  virtual ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                               Deadline deadline) = 0;
};

}  // namespace agentd
