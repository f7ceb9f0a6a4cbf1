// SPDX-License-Identifier: Apache-2.0
// talkative: a hook for the tests that prints to standard output, as a plugin's library may do.
#include <unistd.h>

#include <agentd/hook.hpp>
#include <cstdio>
#include <cstdlib>

struct Talkative {
  void on_turn_start(agentd::call&) {
    std::printf("a line of a plugin\n");
    std::fflush(stdout);
    constexpr char kText[] = "another one\n";
    if (::write(STDOUT_FILENO, kText, sizeof(kText) - 1) < 0) return;
    if (std::system("echo a line of its child") != 0) return;
  }
};
AGENTD_HOOK(Talkative, "test.talkative", "0.0.1")
