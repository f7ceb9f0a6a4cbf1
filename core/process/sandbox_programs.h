// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox_programs.h - the system call filters of a sandboxed process, one for each set of capabilities.
// sandbox_policy.h makes them when agentd is built, because making one takes half a millisecond and the result is
// always the same.
//
// Threading: constants.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace agentd {

// struct sock_filter of linux/filter.h.
struct FilterInstruction {
  std::uint16_t code = 0;
  std::uint8_t jump_true = 0, jump_false = 0;
  std::uint32_t value = 0;
};
using FilterProgram = std::span<const FilterInstruction>;

// The capabilities that allow calls; see SandboxRules.
struct OpenedCalls {
  bool network = false, processes = false, files_read = false, files_write = false;
  bool own_limits = false;
};

// Landlock versions from which a filter has less to refuse: older ones do not guard files from being truncated, or
// signals from leaving the sandbox.
constexpr long kLandlockGuardsEmptying = 3, kLandlockGuardsSignals = 6;

// A placeholder for the process's number, which is known when the filter is entered: no process has one as large.
constexpr std::uint32_t kSelfNumber = 0x7ffffff1;

// The common part of all processes with the same capabilities, including one that still prepares itself.
FilterProgram ground_program(const OpenedCalls& opened);
// Refuses the calls needed for preparation, and depends on the process's number and Landlock. `landlock`: the version
// that guards its files, 0 = none.
FilterProgram rest_program(const OpenedCalls& opened, long landlock);

// The calls of a caged command (core/cage). Unlike a plugin's worker it may make every call but the listed
// ones: nobody knows what a compiler or a package manager needs.
struct CagedCalls {
  enum class Sockets : std::uint8_t { kNone, kTcp, kAll };
  // It is in namespaces of its own, in which System V segments and the modes of files lead nowhere else.
  bool apart = false;
  // AF_UNIX. A path of the file system leads to whoever listens there, out of a namespace and past a read-only mount.
  // Only where it is apart: elsewhere they are refused in any case, since the socket of every daemon is in sight.
  bool local_sockets = false;
  Sockets sockets = Sockets::kNone;  // of the internet
  bool guards_emptying = false;      // Landlock keeps files from being truncated
};

// The errno that stands in a program for a question to the keeper (SECCOMP_RET_USER_NOTIF), which libseccomp refuses to
// write down where the kernel of the build has none.
constexpr std::uint32_t kAskKeeper = 4000;

FilterProgram caged_program(const CagedCalls& calls);

// ---- the tables that sandbox_programs_main.cc writes, and their indices

constexpr std::size_t kGroundPrograms = 16, kRestPrograms = 48, kCagedPrograms = 24;
constexpr std::array<long, 3> kLandlockAges{0, kLandlockGuardsEmptying, kLandlockGuardsSignals};

constexpr std::size_t ground_index(const OpenedCalls& opened) {
  return std::size_t{opened.network} | std::size_t{opened.processes} << 1 | std::size_t{opened.files_read} << 2 |
         std::size_t{opened.files_write} << 3;
}
constexpr std::size_t rest_index(const OpenedCalls& opened, long landlock) {
  const std::size_t age = landlock >= kLandlockAges[2] ? 2 : landlock >= kLandlockAges[1] ? 1 : 0;
  return (std::size_t{opened.network} | std::size_t{opened.processes} << 1 | std::size_t{opened.own_limits} << 2 |
          std::size_t{opened.files_write} << 3) +
         16 * age;
}

constexpr std::size_t caged_index(const CagedCalls& calls) {
  return (std::size_t{calls.apart} | std::size_t{calls.guards_emptying} << 1 |
          static_cast<std::size_t>(calls.sockets) << 2) +
         (calls.apart && calls.local_sockets ? kCagedPrograms / 2 : 0);
}

}  // namespace agentd
