// SPDX-License-Identifier: Apache-2.0
#pragma once
// test_worker.h - the host's side of one real worker process, as small as it can be.
//
// Requests of the plugin go to a function of the test, on the thread of the call or on that of the
// doorbell.
//
// Threading: one call for each lane at a time; `asked` is called under a mutex.

#include <agentd/hook_abi.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/isolation/flat.h"
#include "core/isolation/lane.h"
#include "core/isolation/messages.h"
#include "core/isolation/window.h"
#include "core/process/spawn.h"

namespace agentd::testing {

// A request as the host sees it.
struct Asked {
  agentd_token token = 0;
  ServiceOp op = ServiceOp::kNone;
  bool over_service_lane = false;
  const ServiceArgs* args = nullptr;  // while it is answered

  std::string text(std::size_t index) const;
};

struct WorkerStartOptions {
  std::string module;  // path
  std::uint32_t call_lanes = 1;
  std::uint32_t window_skip = 0;
  std::vector<std::string> capabilities, interfaces, readable, writable;
  std::uint64_t services = kBootCompactor | kBootThreads | kBootStore;
  std::uint64_t memory_bytes_max = 0;
  bool unconfined = false, scan_only = false;
  bool zygote = false;  // forked from one, as a host does it where it can; false = executed
  std::uint32_t protocol = kWorkerProtocol;
  std::optional<std::uint64_t> window_base;  // another one than the window has
};

class TestWorker {
 public:
  explicit TestWorker(WorkerStartOptions options);
  ~TestWorker();
  TestWorker(const TestWorker&) = delete;
  TestWorker& operator=(const TestWorker&) = delete;

  // ---- of the start
  bool booted() const { return booted_; }
  const std::string& refusal() const { return refusal_; }  // ends the sentence "FILE ..."
  agentd_status refusal_status() const { return refusal_status_; }
  const BootReply& record() const { return *record_; }
  std::string id() const;
  std::vector<std::string> notes() const;
  std::string sandbox() const;

  // Decides a request; without one every request succeeds with an empty answer.
  using Serve = std::function<agentd_status(const Asked&, ServiceReply&)>;
  void serve(Serve serve);
  // Texts of all emits so far, "kind:text"; `kinds` of those that carry no text alone.
  std::vector<std::string> take_emitted();
  // Texts of all fail() and log() so far.
  std::vector<std::string> take_failures(), take_logs();
  std::size_t requests(ServiceOp op, bool over_service_lane);

  // ---- calls
  agentd_status create(const std::string& config = "{}", std::uint32_t lane = 0);
  agentd_status control(std::uint32_t event, std::uint32_t lane = 0);
  // A hook of row 0, which gets `text` as a user's message.
  agentd_status say(const std::string& text, std::uint32_t lane = 0, std::uint32_t row = 0);
  // The same, and what it emitted, joined.
  std::string ask(const std::string& text);
  agentd_status invoke_tool(std::uint64_t number, const std::string& input_json);
  // Sends a message as it is; nullopt when the worker ended.
  std::optional<agentd_status> call(LaneMessage message, std::uint32_t lane);
  // What no host says.
  void send_garbage();

  // ---- the process
  pid_t pid() const { return child_.pid; }
  // Waits for its end; the status of waitpid().
  int wait_end();
  std::string output();  // what it wrote to standard output and error

  PayloadWindow& window() { return *window_; }
  agentd_live& live() { return *live_; }  // of every call

 private:
  void start(int module_fd);
  Result<Child> make_process(std::span<const int> pass);
  void boot();
  agentd_status answer(const Asked& asked, ServiceReply& reply);
  bool serve_one(Lane& lane, const LaneMessage& request, const std::string& body, bool over_service_lane);
  void listen();

  const WorkerStartOptions options_;
  std::unique_ptr<PayloadWindow> window_;
  std::shared_ptr<AnswerRegion> region_;
  std::atomic<std::uint32_t> alarm_{0};  // for who listens: the worker has ended
  std::optional<Child> zygote_;
  Child child_;
  int status_ = 0;
  std::atomic<std::uint32_t> gone_{0};
  std::thread listener_, waiter_;
  std::atomic<agentd_token> token_{0x1000000};
  agentd_live* live_ = nullptr;

  bool booted_ = false;
  std::string refusal_;
  agentd_status refusal_status_ = 0;
  FlatBytes record_memory_;
  const BootReply* record_ = nullptr;

  std::mutex mutex_;
  Serve serve_;                                         // guarded by mutex_
  std::vector<std::string> emitted_, failures_, logs_;  // guarded by mutex_
  std::vector<std::pair<ServiceOp, bool>> requests_;    // guarded by mutex_
};

}  // namespace agentd::testing
