// SPDX-License-Identifier: Apache-2.0
#pragma once
// zygote.h - a program that is started and made ready once, and then forked for each process that is wanted.
//
// What it forks are children of its own parent: they are waited for, told of the end of the thread that
// started the zygote, and found among descendants like children that were executed. They have a session of
// their own, the descriptors that they are given and no others, and of the zygote's memory a copy: nothing
// may be in it that one of them should not know. All of them have the same layout of addresses.
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
  // Starts the program with its end of a socket as descriptor 3, and returns when it is ready. Its last
  // argument is made longer, for the names of those that it forks. `offspring`: kNone or kAny, of the zygote
  // before it is ready. kUnavailable: it cannot be started or did not get ready in time.
  static Result<Zygote> start(std::vector<std::string> argv, const std::vector<std::string>& environment,
                              Offspring offspring, Milliseconds at_most);

  // A process that is wanted, with /dev/null, a pipe for standard output and error, and `pass` as 3, 4, ...;
  // those that list processes see `arguments` behind the program's name, as far as there is room.
  struct Wish {
    std::vector<std::string> arguments;
    std::vector<int> pass;
  };
  static constexpr std::size_t kWishesMax = 16;
  // New processes, one for each wish, in their order; all are asked for before the first one is waited for,
  // each for `at_most`. kUnavailable: it cannot be had; the zygote is of no use any more.
  // REQUIRES: at most kWishesMax.
  std::vector<Result<Child>> fork(std::span<const Wish> wishes, Milliseconds at_most);

  // Its output and its end are somebody else's to watch from now on. Once.
  Child take_process() { return std::move(process_); }

 private:
  Zygote(Child process, UniqueFd socket) : process_(std::move(process)), socket_(std::move(socket)) {}

  // The read end of the new process's output.
  Result<UniqueFd> ask(const Wish& wish) const;

  Child process_;
  UniqueFd socket_;
  Offspring offspring_ = Offspring::kAny;  // of what it forks
};

// In the program.
class ZygoteSide {
 public:
  // `argv` is main()'s; `parent`: whoever started the zygote. Ends the process when it cannot be forked: it has
  // more than one thread, or a C library that is not known here. Before the sandbox, which refuses such questions.
  ZygoteSide(int argc, char** argv, pid_t parent);
  // When it is ready: answers its host until that closes the socket, which ends the process, and returns in each
  // process that is forked. `offspring` of those, which the host believes. `kept_from`: they keep the zygote's own
  // descriptors from that one on.
  void serve(Offspring offspring, int kept_from = std::numeric_limits<int>::max());

 private:
  bool become_child(std::span<const int> given, std::string_view names, int kept_from) const;

  const pid_t parent_;
  char* names_ = nullptr;  // where its arguments lie
  std::size_t names_bytes_ = 0;
  int* thread_number_ = nullptr;  // where the C library keeps it
  void* robust_list_ = nullptr;
  std::size_t robust_list_bytes_ = 0;
};

}  // namespace agentd
