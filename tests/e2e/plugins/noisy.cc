// SPDX-License-Identifier: Apache-2.0
// noisy: a hook for the tests that leaves a mark as soon as a byte of it runs.
#include <agentd/hook.hpp>

#include <cstdio>
#include <cstdlib>

namespace {
struct Mark {
  Mark() {
    const char* path = std::getenv("NOISY_MARK");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file != nullptr) std::fclose(file);
  }
};
const Mark mark;
}  // namespace

struct Noisy {
  void on_session_start(agentd::call&) {}
};
AGENTD_HOOK(Noisy, "test.noisy", "0.0.1")
