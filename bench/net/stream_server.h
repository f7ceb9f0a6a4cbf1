// SPDX-License-Identifier: Apache-2.0
#pragma once
// stream_server.h - a process that answers a number of requests at once with event streams.
//
// Threading: thread-compatible.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/file.h"

namespace agentd::bench {

struct Streams {
  std::size_t count = 1000;
  std::size_t rounds = 100;    // each stream gets a piece in each of them
  std::size_t events = 1;      // of a piece
  std::uint32_t pause_us = 0;  // between rounds
  std::size_t bytes() const;   // of all bodies
};

// An event as a provider sends them.
const std::string& event();

class StreamServer {
 public:
  // Forks. REQUIRES: no other thread.
  explicit StreamServer(const Streams& streams);
  ~StreamServer();
  StreamServer(const StreamServer&) = delete;
  StreamServer& operator=(const StreamServer&) = delete;
  std::uint16_t port() const { return port_; }
  // Blocks until every stream has been asked for, and its headers are sent.
  void wait_until_open() const;
  // Lets the bodies go.
  void begin() const;

 private:
  UniqueFd opened_, begin_;
  std::uint16_t port_ = 0;
  pid_t child_ = -1;
};

}  // namespace agentd::bench
