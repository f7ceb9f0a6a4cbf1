// SPDX-License-Identifier: Apache-2.0
#include "core/app/signals.h"

#include <agentd/hook_abi.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "core/base/result.h"

namespace agentd::app {
namespace {

// A handler of a signal can reach nothing but static storage: the one global of the program.
std::atomic<const CancelToken*> current_token{nullptr};
std::atomic<int> last_signal{0};
static_assert(std::atomic<const CancelToken*>::is_always_lock_free, "used in a signal handler");

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

extern "C" void on_signal(int signal) {
  const CancelToken* token = current_token.load();
  if (token == nullptr || last_signal.exchange(signal) != 0) ::_exit(128 + signal);
  token->cancel(AGENTD_CANCEL_USER);
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read at a prompt must return
  for (const int signal : kSignals) {
    struct sigaction before {};
    // What was ignored when the program started (nohup) stays ignored.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

SignalScope::SignalScope() {
  AGENTD_ASSERT(current_token.load() == nullptr);
  last_signal.store(0);
  current_token.store(&token_);
  install(on_signal);
}

SignalScope::~SignalScope() {
  install(SIG_DFL);
  current_token.store(nullptr);
  last_signal.store(0);
}

CancelToken SignalScope::next() {
  current_token.store(nullptr);
  token_ = CancelToken();
  last_signal.store(0);
  current_token.store(&token_);
  return token_;
}

int SignalScope::caught() const { return last_signal.load(); }

bool wait_for_input(int fd) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  for (const int signal : kSignals) sigaddset(&blocked, signal);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pollfd input{fd, POLLIN, 0};
  // From here to ppoll() signals are held back, so that none falls between the look and the wait.
  const bool ready = last_signal.load() == 0 && ::ppoll(&input, 1, nullptr, &before) > 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return ready;
}

}  // namespace agentd::app
