// SPDX-License-Identifier: Apache-2.0
// nosy: a hook for the tests that looks around as soon as a byte of it runs, and writes what it sees
// where it can.
#include <agentd/hook.hpp>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {
struct Look {
  Look() {
    std::string seen;
    if (std::getenv("ANTHROPIC_API_KEY") != nullptr) seen += "key ";
    if (std::getenv("HOME") != nullptr) seen += "home ";
    if (::socket(AF_INET, SOCK_STREAM, 0) >= 0) seen += "network ";
    if (::open("/etc/passwd", O_RDONLY) >= 0) seen += "files ";
    if (std::FILE* const file = std::fopen("/tmp/agentd-nosy-was-here", "a"); file != nullptr) {
      seen += "writes ";
      std::fclose(file);
    }
    // A module that has seen something does not go unnoticed.
    if (!seen.empty()) {
      std::fprintf(stderr, "nosy saw %s\n", seen.c_str());
      std::abort();
    }
  }
};
const Look look;
}  // namespace

struct Nosy {
  void on_session_start(agentd::call&) {}
};
AGENTD_HOOK(Nosy, "test.nosy", "0.0.1")
