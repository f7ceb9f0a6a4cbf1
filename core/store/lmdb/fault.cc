// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/fault.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace agentd {
namespace {

// Read by a signal handler on the same thread.
thread_local const char* volatile store_in_use = nullptr;

constexpr std::array<int, 2> kFaults{SIGSEGV, SIGBUS};
std::array<struct sigaction, 2> handled_before{};

void print(const char* text) noexcept {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

// Reads /proc/self/maps piece by piece: "7f00-7f80 rw-s 00000000 08:01 12 /x/lock.mdb". A handler must not allocate.
class LockMaps {
 public:
  explicit LockMaps(const void* address) : address_(reinterpret_cast<std::uintptr_t>(address)) {}

  bool have_it() noexcept {
    const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    std::array<char, 512> piece{};
    for (ssize_t got = 0; !found_ && (got = ::read(fd, piece.data(), piece.size())) > 0;)
      for (ssize_t i = 0; i < got; ++i) take(piece[static_cast<std::size_t>(i)]);
    ::close(fd);
    return found_;
  }

 private:
  static constexpr std::string_view kName = "/lock.mdb";

  void take(char c) noexcept {
    if (c == '\n') {
      found_ = found_ || (matched_ == kName.size() && address_ >= ends_[0] && address_ < ends_[1]);
      ends_ = {};
      field_ = 0;
      matched_ = 0;
      return;
    }
    if (field_ < 2) {
      if (c == '-' || c == ' ')
        ++field_;
      else
        ends_[field_] = ends_[field_] * 16 + static_cast<std::uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      return;
    }
    const bool goes_on = matched_ < kName.size() && c == kName[matched_];
    matched_ = goes_on ? matched_ + 1 : (c == kName[0] ? 1 : 0);
  }

  const std::uintptr_t address_;
  std::array<std::uintptr_t, 2> ends_{};
  std::size_t field_ = 0, matched_ = 0;
  bool found_ = false;
};

[[noreturn]] void end_without_space(const char* directory) noexcept {
  for (const char* part :
       {"agentd: using the store ", directory, ": no space left on the disk that holds it: free some and try again\n"})
    print(part);
  ::_exit(kDamagedStoreExit);
}

extern "C" void on_fault(int signal, siginfo_t* info, void*) {
  const bool sent = info->si_code <= 0;  // by kill() or raise(), not by an instruction
  const char* const directory = store_in_use;
  if (directory != nullptr && !sent && signal == SIGBUS && LockMaps(info->si_addr).have_it())
    end_without_space(directory);
  if (directory != nullptr && !sent)
    end_by_damage(directory, signal == SIGBUS ? "a page of it cannot be read" : "a page leads out of the file");
  // The instruction runs again and reaches the previous handler.
  for (std::size_t i = 0; i < kFaults.size(); ++i)
    if (kFaults[i] == signal) ::sigaction(signal, &handled_before[i], nullptr);
  if (sent) ::raise(signal);
}

}  // namespace

FaultScope::FaultScope(const std::string& directory) : before_(store_in_use) { store_in_use = directory.c_str(); }

FaultScope::~FaultScope() {
  if (live_) store_in_use = before_;
}

void end_by_damage(const char* directory, const char* what) noexcept {
  for (const char* part : {"agentd: the store ", directory, " is damaged: ", what, "; ", kDamageAdvice, "\n"})
    print(part);
  ::_exit(kDamagedStoreExit);
}

void catch_store_faults() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < kFaults.size(); ++i) ::sigaction(kFaults[i], &action, &handled_before[i]);
}

}  // namespace agentd
