// SPDX-License-Identifier: Apache-2.0
// A server that is a program: a message on each line of its standard input and output.
#include <algorithm>
#include <deque>
#include <system_error>

#include <agentd/hook_abi.h>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/signals_blocked.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/codec/rpc_frames.h"
#include "core/process/duplex.h"
#include "providers/mcp/link.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kReadMax = 64u << 10;
constexpr std::size_t kQueuedMax = 64u << 20;  // bytes that a program has not read
constexpr Milliseconds kQueueIdle{1'000};      // it is woken for whatever is to be done
constexpr std::size_t kComplaintMax = 300;

// The line that says most about an end: the last one that names an error, else the last one.
std::string last_words(std::string_view text) {
  std::string_view last, error;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (is_blank(line)) continue;
    last = line;
    if (line.find("rror") != std::string_view::npos) error = line;
  }
  const std::string said = one_line(error.empty() ? last : error, kComplaintMax);
  return said.empty() ? said : ": " + said;
}

// True for a text that is no message, and was meant as an answer: one that is nested too deep or cut off, or a batch.
// A line of a log is none: it is for whoever reads the log.
bool looks_like_answer(std::string_view text) {
  const std::string_view bare = without_blanks(text);
  if (!bare.starts_with('{') && !bare.starts_with('[')) return false;
  const auto names = [&](std::string_view member) { return bare.find(member) != std::string_view::npos; };
  return names("\"jsonrpc\"") && names("\"id\"") && (names("\"result\"") || names("\"error\""));
}

class ProgramLink final : public Link {
 public:
  ProgramLink(std::unique_ptr<DuplexProcess> process, const Clock& clock)
      : process_(std::move(process)), clock_(clock) {}

  ~ProgramLink() override {
    stop_.cancel(AGENTD_CANCEL_SHUTDOWN);
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    if (reader_.joinable()) reader_.join();
    if (writer_.joinable()) writer_.join();
  }

  void start(Ears ears) override {
    ears_ = std::move(ears);
    const SignalsBlocked blocked;
    try {
      reader_ = Thread([this] {
        if (const std::string why = thrown_by([this] { read_all(); }); !why.empty())
          ears_.end("cannot be read: " + why);
      });
      writer_ = Thread([this] { (void)thrown_by([this] { write_all(); }); });
    } catch (const std::system_error&) {
      ears_.end("cannot be used: there is no thread for it");
    }
  }

  void send(Outgoing message) override {
    std::string line = rpc_frame(RpcFraming::kLines, message.text);
    const MutexLock lock(mutex_);
    if (ends_ || queued_.size() + line.size() > kQueuedMax) return;  // a request will end by its timeout
    queued_ += line;
    changed_.notify_all();
  }

  void flush(const CancelToken& cancel, Deadline deadline) override {
    const MutexLock lock(mutex_);
    while ((!queued_.empty() || writing_) && !ends_ && !cancel.cancelled() && !deadline.passed(clock_))
      changed_.wait_for(mutex_, clock_, kSlice);
  }

  void drop(const RpcId&) override {}
  void agree(std::string_view, bool) override {}
  void listen() override {}
  bool is_http() const override { return false; }
  std::string error_text() const override { return process_->error_text(); }

 private:
  void read_all() {
    RpcFrames frames(RpcFraming::kLines, kMessageMax);
    for (;;) {
      auto bytes = process_->read(kReadMax, stop_, Deadline{});
      if (stop_.cancelled()) return;
      if (!bytes || bytes->empty()) return ears_.end("ended" + last_words(process_->error_text()));
      frames.feed(*bytes);
      for (;;) {
        auto text = frames.next();
        if (text && !*text) break;
        if (text)
          take(**text);
        else
          ears_.refuse({{}, {kRpcBadRequest, "its output " + text.error().message}, false}, {});
      }
    }
  }

  void take(const std::string& text) {
    auto read = read_rpc(is_utf8(text) ? text : to_utf8(text), kAnswers);
    if (auto* const refusal = std::get_if<RpcRefusal>(&read)) {
      refusal->answered = refusal->answered && !looks_like_answer(text);
      if (refusal->fault.code == kRpcNotJson && refusal->answered)
        refusal->fault.message = "'" + one_line(text, kComplaintMax) + "'";
      return ears_.refuse(std::move(*refusal), {});
    }
    ears_.take(std::move(std::get<RpcMessage>(read)), {});
  }

  void write_all() {
    for (;;) {
      std::string taken;
      {
        const MutexLock lock(mutex_);
        while (queued_.empty() && !ends_) changed_.wait_for(mutex_, clock_, kQueueIdle);
        if (ends_) return;
        taken.swap(queued_);
        writing_ = true;
      }
      const bool written = process_->write(taken, stop_, Deadline{}).has_value();
      const MutexLock lock(mutex_);
      writing_ = false;
      if (!written) ends_ = true;  // the reason is read
      changed_.notify_all();
    }
  }

  const std::unique_ptr<DuplexProcess> process_;
  Ears ears_;
  const Clock& clock_;
  const CancelToken stop_;
  mutable Mutex mutex_;
  Condition changed_;
  std::string queued_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool ends_ GUARDED_BY(mutex_) = false;
  Thread reader_, writer_;
};

}  // namespace

Result<std::unique_ptr<Link>> start_program(const ServerSetup& setup, const Clock& clock) {
  DuplexRequest request;
  request.argv = setup.argv;
  request.cwd = setup.cwd;
  request.environment = setup.environment;
  request.cage = setup.cage;
  AGENTD_TRY(auto process, DuplexProcess::start(request, clock));
  return std::unique_ptr<Link>(std::make_unique<ProgramLink>(std::move(process), clock));
}

}  // namespace agentd::mcp
