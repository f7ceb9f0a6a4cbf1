// SPDX-License-Identifier: Apache-2.0
#include "core/serve/client_link.h"

#include <utility>

#include "core/codec/json.h"
#include "core/serve/client_wire.h"

namespace agentd::serve {

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
  {
    const MutexLock lock(mutex_);
    answer_.reset();
    asks_ = true;
  }
  send(kQuestionFrame, question_json(session, tool, call, by));
  MutexLock lock(mutex_);
  while (!answer_ && !left_ && !cancelled_) changed_.wait(mutex_);
  asks_ = false;
  if (answer_) return *answer_;
  if (left_) return {false, false, "the command that would have answered has ended", false};
  lock.unlock();
  send(kWithdrawnFrame, "{}");
  return {false, false, "the run was cancelled before an answer", false};
}

bool ClientLink::answer(PermissionAnswer answer) {
  const MutexLock lock(mutex_);
  if (!asks_ || answer_) return false;
  answer_ = std::move(answer);
  changed_.notify_all();
  return true;
}

}  // namespace agentd::serve
