// SPDX-License-Identifier: Apache-2.0
#pragma once
// stage.h - a home with secrets, a project, a directory outside of both, a listener for what leaves, and a process to
// end: what the commands of the tests are let loose on.
//
// Threading: thread-compatible.

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/cage/cage.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {

inline constexpr const char* kCanary = "canary-7f3a91";

struct Ran {
  int code = -1;
  std::string output;
  std::vector<std::string> remarks;
};

// Listens by TCP, by UDP and at two unix sockets, and counts what arrives.
class Sink {
 public:
  explicit Sink(const std::string& directory);
  ~Sink();
  std::string environment() const;
  int arrived() const { return arrived_; }

 private:
  std::vector<UniqueFd> sockets_;
  int tcp_ = 0, udp_ = 0;
  std::string abstract_;
  std::atomic<int> arrived_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

class Stage {
 public:
  Stage();
  ~Stage();

  std::string home() const { return directory_.file("home"); }
  std::string outside() const { return directory_.file("out"); }
  std::string project() const { return directory_.file("project"); }
  cage::CageSettings settings() const;

  // Lines of shell that name what the scripts are about: $OUT, $VICTIM, the ports of the sink.
  std::string names() const;
  // Runs it with bash in the project; null = without a cage.
  Ran run(CommandCage* cage, const std::string& script) const;
  // What it did that it may not: empty = nothing.
  std::string harm(const Ran& ran) const;

 private:
  using Files = std::map<std::string, std::string>;
  static void look(const std::string& directory, Files& out);
  Files outside_now() const;
  Files guarded_now() const;

  const TempDir directory_{"/var/tmp"};  // no part of /tmp, which a cage has of its own
  std::unique_ptr<Sink> sink_;
  pid_t victim_ = -1;
  Files outside_before_, guarded_before_;
};

// The program that makes a sandbox; AGENTD_TEST_CAGE names a copy of it.
std::string cage_helper();

// The layers that this machine can make; it has at least one.
std::vector<cage::Layer> layers_here();

}  // namespace agentd::testing
