// SPDX-License-Identifier: Apache-2.0
#include "core/serve/client_link.h"

#include <utility>

#include "core/codec/json.h"
#include "core/serve/client_wire.h"

namespace agentd::serve {
namespace {

constexpr Milliseconds kCancelLook{50};  // a cancel of a call is noticed

}  // namespace

thread_local ClientLink* ClientLink::current_ = nullptr;

void ClientLink::connect(std::shared_ptr<HttpStream> stream) {
  const MutexLock lock(mutex_);
  stream_ = std::move(stream);
}

void ClientLink::send(std::string_view frame, std::string_view json) {
  std::string bytes = "event: ";
  bytes.append(frame).append("\ndata: ").append(json_line(json)).append("\n\n");
  const MutexLock lock(mutex_);
  if (stream_) (void)stream_->send(std::move(bytes));
}

void ClientLink::warn(const std::string& text) { send(kToldFrame, event_json(RunEvent(told::Warning{text, {}}))); }

void ClientLink::leave() {
  const MutexLock lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

bool ClientLink::has_left() const {
  const MutexLock lock(mutex_);
  return left_;
}

void ClientLink::begin_call() {
  const MutexLock lock(mutex_);
  cancelled_ = false;
}

void ClientLink::cancel_call() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

bool ClientLink::is_cancelled() const {
  const MutexLock lock(mutex_);
  return cancelled_ || (left_ && !wishes_.detached);
}

void ClientLink::close() {
  std::shared_ptr<HttpStream> stream;
  {
    const MutexLock lock(mutex_);
    left_ = true;
    stream = std::exchange(stream_, nullptr);
  }
  if (stream) stream->close();
}

void ClientLink::keep_alive() {
  const MutexLock lock(mutex_);
  if (stream_) (void)stream_->send(": still here\n\n");
}

void ClientLink::listens(bool now) {
  const MutexLock lock(mutex_);
  listens_ = now ? listens_ + 1 : listens_ - 1;
}

bool ClientLink::is_listening() const {
  const MutexLock lock(mutex_);
  return listens_ != 0;
}

void ClientLink::on_event(const RunEvent& event) {
  if (!is_listening()) return;
  if (const auto* const compacted = std::get_if<told::Compacted>(&event.body)) {
    JsonWriter out;
    write_gauge(out, compacted->context);
    send(kContextFrame, out.text());
  }
  const bool has_effect = event.type() == RunEvent::Type::kTurnStarted || event.type() == RunEvent::Type::kToolCall;
  if (!has_effect || wishes_.detached) return send(kToldFrame, event_json(event));
  {
    const MutexLock lock(mutex_);
    held_ = true;
  }
  send(kHeldFrame, event_json(event));
  const MutexLock lock(mutex_);
  while (held_ && !left_ && !cancelled_) changed_.wait(mutex_);
}

void ClientLink::go_on() {
  const MutexLock lock(mutex_);
  held_ = false;
  changed_.notify_all();
}

PermissionAnswer ClientLink::ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                                 const AskedBy& by) {
  if (!is_listening())
    return {false, false, "a person must allow this call, and the terminal of the conversation did not ask for it",
            false};
  const auto given = asked(kQuestionFrame, question_json(session, tool, call, by), CancelToken(), Deadline());
  const auto document = given ? JsonDocument::parse(*given) : Result<JsonDocument>(Error{Code::kNotFound, {}});
  if (document) return read_answer(document->root());
  return {false, false,
          has_left() ? "the command that would have answered has ended" : "the run was cancelled before an answer",
          false};
}

ElicitationAnswer ClientLink::elicit(const Elicitation& question, const CancelToken& cancel, Deadline deadline) {
  if (!is_present()) return {ElicitationAnswer::Kind::kDeclined};
  const auto given = asked(kFormFrame, form_json(question), cancel, deadline);
  const auto document = given ? JsonDocument::parse(*given) : Result<JsonDocument>(Error{Code::kNotFound, {}});
  return document ? read_filled(document->root()) : ElicitationAnswer{};
}

bool ClientLink::is_over(const CancelToken& cancel, Deadline deadline) const {
  return left_ || cancelled_ || cancel.cancelled() || deadline.passed(clock_);
}

std::optional<std::string> ClientLink::asked(std::string_view frame, std::string_view json, const CancelToken& cancel,
                                             Deadline deadline) {
  MutexLock lock(mutex_);
  while (asks_ && !is_over(cancel, deadline)) changed_.wait_for(mutex_, clock_, kCancelLook);
  if (is_over(cancel, deadline)) return std::nullopt;
  asks_ = true;
  answer_.reset();
  lock.unlock();
  send(frame, json);
  lock.lock();
  while (!answer_ && !is_over(cancel, deadline)) changed_.wait_for(mutex_, clock_, kCancelLook);
  asks_ = false;
  changed_.notify_all();
  if (answer_ || left_) return std::exchange(answer_, std::nullopt);
  lock.unlock();
  send(kWithdrawnFrame, "{}");
  return std::nullopt;
}

bool ClientLink::answer(std::string json) {
  const MutexLock lock(mutex_);
  if (!asks_ || answer_) return false;
  answer_ = std::move(json);
  changed_.notify_all();
  return true;
}

}  // namespace agentd::serve
