// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/fault.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace agentd {
namespace {

// Read by a handler of a signal on the same thread.
thread_local const char* volatile store_in_use = nullptr;

constexpr std::array<int, 2> kFaults{SIGSEGV, SIGBUS};
std::array<struct sigaction, 2> handled_before{};

void print(const char* text) noexcept {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

extern "C" void on_fault(int signal, siginfo_t* info, void*) {
  const bool sent = info->si_code <= 0;  // by kill() or raise(), not by an instruction
  const char* const directory = store_in_use;
  if (directory != nullptr && !sent)
    end_by_damage(directory, signal == SIGBUS ? "a page of it cannot be read"
                                              : "a page leads out of the file");
  // The instruction runs again, and meets whoever was there before.
  for (std::size_t i = 0; i < kFaults.size(); ++i)
    if (kFaults[i] == signal) ::sigaction(signal, &handled_before[i], nullptr);
  if (sent) ::raise(signal);
}

}  // namespace

FaultScope::FaultScope(const std::string& directory) : before_(store_in_use) {
  store_in_use = directory.c_str();
}

FaultScope::~FaultScope() {
  if (live_) store_in_use = before_;
}

void end_by_damage(const char* directory, const char* what) noexcept {
  for (const char* part :
       {"agentd: the store ", directory, " is damaged: ", what, "; ", kDamageAdvice, "\n"})
    print(part);
  ::_exit(kDamagedStoreExit);
}

void catch_store_faults() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < kFaults.size(); ++i)
    ::sigaction(kFaults[i], &action, &handled_before[i]);
}

}  // namespace agentd
