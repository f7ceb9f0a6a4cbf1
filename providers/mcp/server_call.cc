// SPDX-License-Identifier: Apache-2.0
// A call of a server's tool.
#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/mcp_protocol.h"
#include "providers/mcp/call_result.h"
#include "providers/mcp/questions.h"
#include "providers/mcp/server.h"

namespace agentd::mcp {
namespace {

constexpr int kRoundsMax = 10;                  // of one call's questions
constexpr std::size_t kRoundQuestionsMax = 16;  // in one round
constexpr Milliseconds kRoundPause{250};        // before a round without a question

// The answers to the questions of a result, as the member of the next request; a fault: one cannot be asked.
Result<std::string, RpcFault> answers_to(JsonView questions, const Patience& patience) {
  if (questions.size() > kRoundQuestionsMax) return RpcFault{kRpcBadParams, "it asks too many questions at once"};
  JsonWriter out;
  out.begin_object();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const JsonView question = questions.at(i);
    if (question["method"].string_or("") != "elicitation/create")
      return RpcFault{kRpcNoMethod, "it asks for " + one_line(question["method"].string_or("?"), 80) +
                                        ", which agentd does not offer"};
    auto answer = patience.question(question["params"]);
    if (!answer) return answer.error();
    out.key(questions.key_at(i)).raw(*answer);
  }
  out.end_object();
  return std::string(out.text());
}

// The server, or what is before it, has turned the request away; the call was not done.
bool is_refusal(const Failure& failure) {
  const int status = failure.status;
  return failure.kind == Failure::Kind::kStatus &&
         (status == 401 || status == 403 || status == 429 || (status >= 300 && status < 400));
}

}  // namespace

Result<Server::Ready> Server::await_ready(const CancelToken& cancel, Deadline deadline) {
  start();
  const Deadline start = Deadline::after(parts_.clock, setup_.start_timeout);
  const MutexLock lock(mutex_);
  for (;;) {
    if (cancel.cancelled()) return Error{Code::kCancelled, "the call was cancelled"};
    if (end_.cancelled()) return Error{Code::kUnavailable, sentence("is being ended")};
    if (state_ == ServerState::kFailed) return Error{Code::kUnavailable, why_};
    if (state_ == ServerState::kReady && changes_ == judged_ && !ended_) return Ready{connection_, offer_};
    if (deadline.passed(parts_.clock) || start.passed(parts_.clock))
      return Error{Code::kUnavailable, sentence("is not ready yet" + (why_.empty() ? "" : ": " + why_))};
    changed_.wait_for(mutex_, parts_.clock, kSlice);
  }
}

Result<const Server::Offered*> Server::offered(const Offer& offer, std::string_view name) const {
  const auto found =
      std::find_if(offer.begin(), offer.end(), [&](const Offered& each) { return each.tool.name == name; });
  if (found == offer.end() || name.empty())
    return Error{Code::kNotFound, sentence("has no tool '" + one_line(name, 80) + "'")};
  if (found->verdict != Pins::Verdict::kAgreed)
    return Error{Code::kDenied,
                 sentence(std::string(found->verdict == Pins::Verdict::kNew ? "has added" : "has changed") +
                          " the tool " + found->definition.name +
                          ", which is not used until the user has run: agentd mcp trust " + setup_.name)};
  return &*found;
}

Result<ToolOutcome, Failure> Server::run_call(Connection& connection, const Offered& tool, const std::string& arguments,
                                              Elicitor* person, const CancelToken& cancel, Deadline deadline) const {
  Patience patience{cancel, deadline, setup_.call_timeout};
  patience.whom = person;
  patience.question = [&](JsonView params) {
    return ask_person({setup_.name, tool.definition.name}, params, person, cancel, deadline);
  };
  Request request{"tools/call"};
  request.fields.emplace_back(kNameField, field_value(tool.definition.name));
  if (const auto input = JsonDocument::parse(arguments))
    for (auto& field : fields_of(tool.params, input->root())) request.fields.push_back(std::move(field));
  std::string answers, state;
  request.members = [&](JsonWriter& out) {
    out.member("name", tool.definition.name).key("arguments").raw(arguments);
    if (!answers.empty()) out.key("inputResponses").raw(answers);
    if (!state.empty()) out.key("requestState").raw(state);
  };
  for (int round = 0; round < kRoundsMax; ++round) {
    auto answer = connection.ask(request, patience);
    if (!answer) return answer.error();
    const JsonView result = (*answer)->root()["result"];
    const std::string_view type = result["resultType"].string_or("complete");
    if (type == "complete") {
      auto outcome = outcome_of(result, connection.is_modern());
      if (!outcome) return Failure{Failure::Kind::kBadResult, outcome.error().message};
      return std::move(*outcome);
    }
    if (type != "input_required")
      return Failure{Failure::Kind::kLost, "answered with a result of the unknown type '" + one_line(type, 40) + "'"};
    const JsonView questions = result["inputRequests"], kept = result["requestState"];
    const bool asks = questions.is_object() && questions.size() > 0;
    if (!asks && !kept.is_string()) return Failure{Failure::Kind::kLost, "needs an answer and asks nothing"};
    state = kept.is_string() ? kept.text() : std::string();
    answers.clear();
    if (asks) {
      auto given = answers_to(questions, patience);
      if (!given) return Failure{Failure::Kind::kLost, "cannot be answered: " + given.error().message};
      answers = std::move(*given);
    } else {
      (void)parts_.clock.sleep(kRoundPause, cancel);
    }
  }
  return Failure{Failure::Kind::kLost, "has asked in ten rounds, and asks still"};
}

// A call that was made has a result in any case: whether it was done is said where it is not known.
Result<ToolOutcome> Server::told(const Failure& failure, const CancelToken& cancel) const {
  if (failure.kind == Failure::Kind::kCancelled || cancel.cancelled())
    return Error{Code::kCancelled, "the call was cancelled"};
  if (failure.kind == Failure::Kind::kTimeout) return Error{Code::kUnavailable, sentence(failure.why)};
  std::string text = sentence(failure.why);
  const bool known = failure.kind == Failure::Kind::kFault || failure.kind == Failure::Kind::kSession ||
                     failure.kind == Failure::Kind::kBadResult || is_refusal(failure);
  if (!known) text += "; it is not known whether the call was done";
  ToolOutcome out;
  out.success = false;
  out.content = std::move(text);
  out.full_bytes = out.content.size();
  return out;
}

Result<ToolOutcome> Server::call(const ToolCall& call, Elicitor* person, const CancelToken& cancel, Deadline deadline) {
  for (bool again = true;; again = false) {
    AGENTD_TRY(const Ready ready, await_ready(cancel, deadline));
    AGENTD_TRY(const Offered* const tool, offered(*ready.offer, call.name));
    auto outcome = run_call(*ready.connection, *tool, call.input.text(), person, cancel, deadline);
    const MutexLock lock(mutex_);
    if (outcome) {
      ++answers_;
      return std::move(*outcome);
    }
    const Failure& failure = outcome.error();
    if (failure.kind == Failure::Kind::kFault) ++answers_;
    if (failure.kind != Failure::Kind::kSession) return told(failure, cancel);
    // The server has not done it: a new session begins, and the call is made there.
    if (connection_ == ready.connection) {
      ended_ = at_once_ = true;
      state_ = ServerState::kStarting;
      changed_.notify_all();
    }
    if (!again) return told(failure, cancel);
  }
}

}  // namespace agentd::mcp
