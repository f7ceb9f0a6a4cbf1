// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_fixture.h - hooks in workers, asked by the test.
//
// Threading: ask() may be called by several threads.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/workers/worker_plugin.h"
#include "tests/support/host_fixture.h"

namespace agentd::testing {

// What the dispatcher made of one event.
struct Said {
  bool blocked = false, by_failure = false;
  std::string reason;
  agentd_status status = AGENTD_OK;  // of the first hook that failed
  std::string failure;               // its text

  friend bool operator==(const Said&, const Said&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Said& said) {
    return out << (said.blocked ? "blocked" : "let through") << (said.by_failure ? " by a failure" : "") << " '"
               << said.reason << "' " << said.status << " '" << said.failure << "'";
  }
};

struct How {
  Milliseconds time{10'000};
  agentd_conv conversation = 0;
  CancelToken cancel;
};

class WorkerFixture : public HostFixture {
 public:
  explicit WorkerFixture(Isolation isolation = Isolation::kProcess) : HostFixture(AGENTD_MOODS_HOOKS) {
    options.isolation = isolation;
    options.worker.program = AGENTD_HOOK_WORKER;
  }

  Said ask(std::string_view mood, const How& how = {}) {
    agentd_tool_call payload{};
    payload.size = sizeof(payload);
    payload.name = to_abi(mood);
    payload.input_json = to_abi(R"({"path":"a.txt"})");
    agentd_envelope envelope{};
    envelope.size = sizeof(envelope);
    Dispatch event;
    event.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
    event.conversation = how.conversation;
    event.envelope = &envelope;
    event.payload = &payload;
    event.deadline_ns = Deadline::after(clock, how.time).at_ns;
    const SlotLease slot(tokens);
    const CancelBinding binding(*slot, how.cancel);
    const auto outcome = dispatch(*dispatcher.pin(), *slot, event);
    Said out;
    if (!outcome) return out;
    out.blocked = outcome->blocked;
    out.by_failure = outcome->blocked_by_failure;
    out.reason = outcome->reason;
    if (!outcome->failures.empty()) {
      out.status = outcome->failures[0].status;
      out.failure = outcome->failures[0].text;
    }
    return out;
  }

  Result<ToolOutcome> call_tool(const std::string& name, agentd_conv conversation = 0) {
    return host->tools().call({conversation, {}, {}}, {"c1", name, *ToolInput::make(R"({"a":1})")}, CancelToken(),
                              Deadline::after(clock, Milliseconds(10'000)));
  }

  WorkerPlugin& worker(std::size_t index = 0) const { return dynamic_cast<WorkerPlugin&>(*host->plugins().at(index)); }
  pid_t pid() const { return worker().pids().at(0); }
};

// The same question to the same module in both places.
inline void expect_same(std::string_view mood, const How& how = {}) {
  Said said[2];
  for (const Isolation isolation : {Isolation::kInProcess, Isolation::kProcess}) {
    WorkerFixture fixture(isolation);
    fixture.install("moods");
    fixture.load();
    ASSERT_EQ(fixture.host->plugins().size(), 1u) << fixture.host->problems().at(0).message;
    said[isolation == Isolation::kProcess ? 1 : 0] = fixture.ask(mood, how);
  }
  EXPECT_EQ(said[0], said[1]) << mood;
}

// Processes whose parent is this one, zombies included.
inline std::vector<pid_t> children() {
  std::vector<pid_t> out;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(thread.path() / "children");
    for (pid_t pid = 0; list >> pid;) out.push_back(pid);
  }
  return out;
}

// A file of a process; empty when the process is gone, even in the middle of reading.
inline std::string proc_file(pid_t pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + name);
  std::ostringstream out;
  out << in.rdbuf();  // unlike an iterator of the buffer it throws nothing
  return std::move(out).str();
}

// Those among them that are no zygote of workers.
inline std::vector<pid_t> workers() {
  std::vector<pid_t> out = children();
  std::erase_if(
      out, [](pid_t pid) { return proc_file(pid, "cmdline").find(std::string("\0zygote\0", 8)) != std::string::npos; });
  return out;
}

// Whether it runs; one that has ended may still have to be waited for by others.
inline bool alive(pid_t pid) {
  const std::string line = proc_file(pid, "stat");
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
}

inline std::size_t open_descriptors() {
  std::size_t out = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++out;
  return out;
}

// Until it is so; gives up after ten seconds.
template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    ::usleep(1'000);
  }
  return false;
}

}  // namespace agentd::testing
