// SPDX-License-Identifier: Apache-2.0
#include "core/app/signals.h"

#include <agentd/hook_abi.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <thread>

#include "core/base/result.h"

namespace agentd::app {
namespace {

// A signal handler can only reach static storage: this is the program's one global.
std::atomic<const CancelToken*> current_token{nullptr};
std::atomic<int> last_signal{0};
std::atomic<bool> cancel_wished{false};  // since next()
std::atomic<std::int64_t> wish_ns{0};    // when the last wish came, on the monotonic clock; 0 = none
// Readable once a signal was caught. A signal may be handled on any thread, so that it need not interrupt
// the one that waits.
std::atomic<int> wake_fd{-1};
static_assert(std::atomic<const CancelToken*>::is_always_lock_free, "used in a signal handler");
static_assert(std::atomic<bool>::is_always_lock_free, "likewise");
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "likewise");

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// One request may arrive twice: timeout(1) and some shells signal the process, and then its group. Only a signal
// later than this is a second request. This applies across next(), since the first one may already have been
// handled.
constexpr std::int64_t kSameWishNs = 100'000'000;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// False for the second signal of one request.
bool is_new_wish() {
  const std::int64_t now = now_ns();
  std::int64_t last = wish_ns.load();
  do
    if (last != 0 && now - last < kSameWishNs) return false;
  while (!wish_ns.compare_exchange_weak(last, now));
  return true;
}

// Running handlers, on any thread: data that they may use is not changed while they run.
std::atomic<int> handlers{0};

struct Handling {
  Handling() { handlers.fetch_add(1); }
  ~Handling() { handlers.fetch_sub(1); }
};

void wait_for_handlers() {
  while (handlers.load() != 0) std::this_thread::yield();
}

void cancel_for(const CancelToken& token, int signal) {
  last_signal.store(signal);
  token.cancel(AGENTD_CANCEL_USER);
  const int saved = errno;
  const std::uint64_t one = 1;
  if (::write(wake_fd.load(), &one, sizeof one) < 0) errno = 0;
  errno = saved;
}

extern "C" void on_signal(int signal) {
  const Handling handling;
  if (!is_new_wish()) return;
  const CancelToken* token = current_token.load();
  if (token == nullptr || cancel_wished.exchange(true)) ::_exit(128 + signal);
  cancel_for(*token, signal);
}

void forget_signals() {
  last_signal.store(0);
  cancel_wished.store(false);
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read at a prompt must return
  for (const int signal : kSignals) {
    struct sigaction before {};
    // A signal that was ignored when the program started (nohup) stays ignored.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void notice_children() { std::signal(SIGCHLD, SIG_DFL); }

SignalScope::SignalScope() {
  AGENTD_ASSERT(current_token.load() == nullptr);
  forget_signals();
  wish_ns.store(0);
  wake_fd.store(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  current_token.store(&tokens_[0]);
  install(on_signal);
}

SignalScope::~SignalScope() {
  install(SIG_DFL);
  current_token.store(nullptr);
  wait_for_handlers();
  forget_signals();
  ::close(wake_fd.exchange(-1));
}

void end_for_reader() {
  const Handling handling;
  const CancelToken* token = current_token.load();
  if (token != nullptr && !cancel_wished.exchange(true)) cancel_for(*token, SIGPIPE);
}

CancelToken SignalScope::next() {
  std::uint64_t caught = 0;
  while (::read(wake_fd.load(), &caught, sizeof caught) > 0) continue;
  forget_signals();
  // The other place: a handler on another thread may hold the token of this one until it is done,
  // and at no time is there none, which would end the program.
  in_use_ = 1 - in_use_;
  CancelToken fresh;
  tokens_[in_use_] = fresh;
  current_token.store(&tokens_[in_use_]);
  wait_for_handlers();
  // A signal between the two lines above has cancelled the old token.
  if (last_signal.load() != 0) fresh.cancel(AGENTD_CANCEL_USER);
  return fresh;
}

int SignalScope::caught() const { return last_signal.load(); }

InputWait wait_for_input(int fd, int timeout_ms) {
  pollfd waits[2] = {{fd, POLLIN, 0}, {wake_fd.load(), POLLIN, 0}};
  int ready = 0;
  const SystemClock clock;
  const auto until = [&] { return timeout_ms < 0 ? Deadline{} : Deadline::after(clock, Milliseconds(timeout_ms)); };
  while ((ready = clock.poll(waits, until())) < 0)
    if (errno != EINTR) return InputWait::kSignal;
  if (last_signal.load() != 0) return InputWait::kSignal;
  return ready == 0 ? InputWait::kTimeout : InputWait::kReady;
}

bool wait_for_output(int fd) {
  if (fd < 0) return true;  // closed from the start: the write says so, and poll() would wait for nothing
  pollfd waits[2] = {{fd, POLLOUT, 0}, {wake_fd.load(), POLLIN, 0}};
  for (;;) {
    if (SystemClock().poll(waits, Deadline{}) < 0) {
      if (errno != EINTR) return true;  // the write says what is wrong
      waits[1].fd = wake_fd.load();
      continue;
    }
    if (waits[0].revents != 0) return true;
    if (last_signal.load() != 0) return false;
    waits[1].fd = -1;  // of a signal that is forgotten
  }
}

bool wait_for_input(int fd) { return wait_for_input(fd, -1) == InputWait::kReady; }

}  // namespace agentd::app
