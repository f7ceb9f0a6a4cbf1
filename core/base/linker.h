// SPDX-License-Identifier: Apache-2.0
#pragma once
// linker.h - turns at the dynamic linker, which serves one thread at a time.
//
// A library with many others below it keeps the linker busy for milliseconds, and the linker's lock goes to the thread
// that has just given it back. So whoever loads such a library loads large ones below it first, each in a turn of its
// own, and a plugin that is loaded meanwhile waits for one of them rather than for all.
//
// Threading: thread-safe; a thread has one turn at a time. Turns are given in the order in which they were asked for.

namespace agentd {

// Lasts while it lives. The constructor waits for the turns before it.
class LinkerTurn {
 public:
  LinkerTurn();
  ~LinkerTurn();
  LinkerTurn(const LinkerTurn&) = delete;
  LinkerTurn& operator=(const LinkerTurn&) = delete;
};

}  // namespace agentd
