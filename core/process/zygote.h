// SPDX-License-Identifier: Apache-2.0
#pragma once
// zygote.h - a program that is started and prepared once, and then forked for each process that is needed.
//
// The forked processes are children of the zygote's parent: that reaps them, and they end with the thread that started
// the zygote and are found among descendants like executed children. Each has its own session, the passed descriptors
// and no others, and a copy of the zygote's memory, which must therefore contain nothing that one of them should not
// know. All of them have the same address layout.
//
// Threading: thread-compatible.

#include <sys/types.h>

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/process/births.h"
#include "core/process/spawn.h"

namespace agentd {

class Zygote {
 public:
  // Starts the program with its end of a socket as descriptor 3 and returns when it is ready. Its last argument is
  // padded, to make room for the names of the forked processes. `offspring`: kNone or kAny, for the zygote before it is
  // ready. kUnavailable: it cannot be started or was not ready in time.
  static Result<Zygote> start(std::vector<std::string> argv, const std::vector<std::string>& environment,
                              Offspring offspring, Milliseconds at_most);

  // A requested process: it gets /dev/null, a pipe for standard output and error, and `pass` as 3, 4, ...; process
  // lists show `arguments` after the program's name, as far as there is room.
  struct Wish {
    std::vector<std::string> arguments;
    std::vector<int> pass;
  };
  static constexpr std::size_t kWishesMax = 16;
  // Creates one process for each wish, in their order. All are requested before the first is awaited, each for
  // `at_most`. kUnavailable: the process cannot be created, and the zygote is no longer usable. REQUIRES: at most
  // kWishesMax.
  std::vector<Result<Child>> fork(std::span<const Wish> wishes, Milliseconds at_most);

  // The caller watches the zygote's output and end from now on. Once.
  Child take_process() { return std::move(process_); }

 private:
  Zygote(Child process, UniqueFd socket) : process_(std::move(process)), socket_(std::move(socket)) {}

  // Returns the read end of the new process's output.
  Result<UniqueFd> ask(const Wish& wish) const;

  Child process_;
  UniqueFd socket_;
  Offspring offspring_ = Offspring::kAny;  // of the forked processes
};

// The part inside the program.
class ZygoteSide {
 public:
  // `argv` is main()'s; `parent` started the zygote. Ends the process when it cannot be forked: it has more than one
  // thread, or an unknown C library. Call it before the sandbox, which refuses these checks.
  ZygoteSide(int argc, char** argv, pid_t parent);
  // Reports readiness and serves the host until that closes the socket, which ends the process; returns in each forked
  // process. `offspring` of those, which the host trusts. `kept_from`: they keep the zygote's own descriptors from this
  // number on.
  void serve(Offspring offspring, int kept_from = std::numeric_limits<int>::max());

 private:
  bool become_child(std::span<const int> given, std::string_view names, int kept_from) const;

  const pid_t parent_;
  char* names_ = nullptr;  // where its arguments are
  std::size_t names_bytes_ = 0;
  int* thread_number_ = nullptr;  // where the C library keeps it
  void* robust_list_ = nullptr;
  std::size_t robust_list_bytes_ = 0;
};

}  // namespace agentd
