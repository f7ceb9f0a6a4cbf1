// SPDX-License-Identifier: Apache-2.0
#pragma once
// answers.h - answers the system calls of a caged command that neither Landlock nor a filter can judge, by making them
// in its place (seccomp_unotify(2)).
//
// Landlock does not see chmod, chown, times and extended attributes, and it knows the port of a connection but not its
// host. A filter sees no memory. So the kernel stops such a call and asks; the keeper reads the arguments once, opens
// the file or takes the socket, judges what it holds, and makes the call on that: nothing that the command changes
// meanwhile can be judged as one thing and done to another.
//
// A mode with a set-user-ID or set-group-ID bit it makes for directories alone. In namespaces it is asked for such
// modes only.
//
// Threading: one thread, outside of the cage. Its privileges are those of the command.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace agentd::cage {

class Answers {
 public:
  // `writable`: files below them may be changed. `port`: of this machine, the one to which a command may connect; 0 =
  // none.
  Answers(UniqueFd questions, std::vector<std::string> writable, std::uint16_t port);

  // Readable when a call waits; -1 = no call is asked about.
  int fd() const { return questions_.get(); }
  // Answers the call that waits, if there is one. False: no process is left that could ask.
  bool answer_one();

 private:
  UniqueFd questions_;
  const std::vector<std::string> writable_;
  const std::uint16_t port_;
};

}  // namespace agentd::cage
