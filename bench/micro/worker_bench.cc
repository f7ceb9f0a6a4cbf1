// SPDX-License-Identifier: Apache-2.0
// What it costs to ask somebody in another process: the least that can be done (a word that two
// processes pass to and fro), a lane, a lane with a payload whose history grows, and a hook that
// reads JSON from a pipe, as others do it. The kinds take turns, so that whatever else the machine
// does meets all of them.
#include <benchmark/benchmark.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "bench/micro/bare_spawn.h"
#include "bench/micro/hooks.h"
#include "bench/micro/summary.h"
#include "core/bridge/token_table.h"
#include "core/codec/json.h"
#include "core/conversation/rows.h"
#include "core/hooks/dispatcher.h"
#include "core/hooks/payload_json.h"
#include "core/isolation/lane.h"
#include "core/isolation/window.h"
#include "tests/support/host_fixture.h"

namespace agentd::bench {
namespace {

using Steady = std::chrono::steady_clock;

// A child that runs a function until it is killed.
class Child {
 public:
  template <typename Body>
  explicit Child(const Body& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  const pid_t pid_;
};

// ---- the limit: a word of shared memory and the system calls that cannot be left out

class Word {
 public:
  Word() : shared_(new (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared) {}
  ~Word() { ::munmap(static_cast<void*>(shared_), 4096); }
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;

  // Sleeps at once, and wakes whether the other sleeps or not.
  void wait_asleep(std::uint32_t turn) const {
    while (shared_->turn.load(std::memory_order_acquire) != turn)
      ::syscall(SYS_futex, &shared_->turn, FUTEX_WAIT, 1 - turn, nullptr, nullptr, 0);
  }
  void hand_over_asleep(std::uint32_t turn) const {
    shared_->turn.store(turn, std::memory_order_release);
    ::syscall(SYS_futex, &shared_->turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  // Spins as long as a lane at most does; sleeps then.
  void wait_spinning(std::uint32_t turn) const {
    const auto until = Steady::now() + std::chrono::microseconds(50);
    for (std::uint32_t round = 1; shared_->turn.load(std::memory_order_acquire) != turn; ++round) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      if (round % 16 != 0 || Steady::now() < until) continue;
      shared_->asleep[turn].store(1);
      if (shared_->turn.load() != turn) ::syscall(SYS_futex, &shared_->turn, FUTEX_WAIT, 1 - turn, nullptr, nullptr, 0);
      shared_->asleep[turn].store(0);
    }
  }
  void hand_over_spinning(std::uint32_t turn) const {
    shared_->turn.store(turn);
    if (shared_->asleep[turn].load() != 0) ::syscall(SYS_futex, &shared_->turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

 private:
  struct Shared {
    std::atomic<std::uint32_t> turn{0};
    std::array<std::atomic<std::uint32_t>, 2> asleep{};
  };
  Shared* const shared_;
};

class AsleepPingPong {
 public:
  bool run() {
    word_.hand_over_asleep(1);
    word_.wait_asleep(0);
    return true;
  }

 private:
  Word word_;
  Child child_{[this] {
    for (;;) {
      word_.wait_asleep(1);
      word_.hand_over_asleep(0);
    }
  }};
};

class SpinningPingPong {
 public:
  bool run() {
    word_.hand_over_spinning(1);
    word_.wait_spinning(0);
    return true;
  }

 private:
  Word word_;
  Child child_{[this] {
    for (;;) {
      word_.wait_spinning(1);
      word_.hand_over_spinning(0);
    }
  }};
};

// ---- agent_stop with a history of so many bytes

class Stop {
 public:
  explicit Stop(std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 1024)
      rows_.append(Message::of_text(Role::kUser, std::string(1024, 'x')), at / 1024 + 1, 0);
    usage_.size = sizeof usage_;
    gauge_.size = sizeof gauge_;
    envelope_.size = sizeof envelope_;
    envelope_.conversation_id = to_abi("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    envelope_.context = &gauge_;
    payload_.size = sizeof payload_;
    payload_.response = to_abi("done");
    payload_.usage = &usage_;
    payload_.context = &gauge_;
    payload_.messages = rows_.list();
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  const agentd_agent_stop& payload() const { return payload_; }
  const agentd_envelope& envelope() const { return envelope_; }
  std::uint64_t lineage() const { return rows_.lineage(); }
  std::uint32_t messages() const { return rows_.size(); }

 private:
  Rows rows_;
  agentd_usage usage_{};
  agentd_gauge gauge_{};
  agentd_envelope envelope_{};
  agentd_agent_stop payload_{};
};

// ---- lanes

// Answers each call with kDone; the status is the count of messages that it sees.
void answer_calls(Lane lane) {
  LaneMessage message;
  std::string body;
  while (lane.receive(message, body, {}) == LaneEnd::kMessage) {
    const auto* const stop = reinterpret_cast<const agentd_agent_stop*>(message.payload);
    message.op = static_cast<std::uint32_t>(LaneOp::kDone);
    message.status = stop == nullptr ? 0 : static_cast<std::int32_t>(stop->messages.count);
    if (lane.send(message, {}, {}) != LaneEnd::kMessage) return;
  }
}

class Lanes {
 public:
  // `history` null: the messages are empty.
  explicit Lanes(const Stop* history)
      : history_(history),
        window_(std::move(*PayloadWindow::create())),
        region_(std::move(*AnswerRegion::create(1))),
        lane_(region_->call_lane(0, Lane::Side::kHost)) {}

  bool run() {
    LaneMessage message;
    message.op = static_cast<std::uint32_t>(LaneOp::kCall);
    PayloadWindow::Frame frame(*window_);
    if (history_ != nullptr && !place(frame, message)) return false;
    if (lane_.send(message, {}, {}) != LaneEnd::kMessage) return false;
    if (lane_.receive(message, body_, {}) != LaneEnd::kMessage) return false;
    return history_ == nullptr || message.status == static_cast<std::int32_t>(history_->messages());
  }

 private:
  bool place(PayloadWindow::Frame& frame, LaneMessage& message) {
    const auto envelope = window_->place(frame, envelope_shape(), &history_->envelope());
    const auto payload =
        window_->place(frame, *payload_shape(AGENTD_EVENT_AGENT_STOP), &history_->payload(), history_->lineage());
    if (!envelope || !payload) return false;
    message.envelope = reinterpret_cast<std::uintptr_t>(*envelope);
    message.payload = reinterpret_cast<std::uintptr_t>(*payload);
    return true;
  }

  const Stop* const history_;
  std::unique_ptr<PayloadWindow> window_;
  std::unique_ptr<AnswerRegion> region_;
  Lane lane_;
  std::string body_;
  Child child_{[this] {
    if (open_payload_window(window_->fd(), window_->base())) answer_calls(region_->call_lane(0, Lane::Side::kWorker));
  }};
};

// ---- JSON over pipes, to a process that stays

struct Pipe {
  Pipe() { good = ::pipe(ends.data()) == 0; }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  std::array<int, 2> ends{-1, -1};
  bool good = false;
};

bool write_line(int fd, std::string text) {
  text += '\n';
  return write_all(fd, text).has_value();
}

bool read_line(int fd, std::string& line) {
  line.clear();
  std::array<char, 65536> buffer;
  while (line.empty() || line.back() != '\n') {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return false;
    line.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return true;
}

class JsonPipe {
 public:
  explicit JsonPipe(const Stop& history) : history_(history) {}

  bool run() {
    return write_line(to_.ends[1], payload_json(AGENTD_EVENT_AGENT_STOP, &history_.envelope(), &history_.payload())) &&
           read_line(from_.ends[0], answer_) && answer_ == "{\"decision\":\"allow\"}\n";
  }

 private:
  const Stop& history_;
  Pipe to_, from_;
  std::string answer_;
  Child child_{[this] {
    std::string line;
    while (read_line(to_.ends[0], line)) {
      const auto parsed = JsonDocument::parse(line);
      if (!write_line(from_.ends[1], parsed ? "{\"decision\":\"allow\"}" : "{}")) return;
    }
  }};
};

// ---- the same event within the process

class InProcess {
 public:
  explicit InProcess(const Stop& history) : snapshot_({subscription()}, {}, clock_) {
    event_.event = AGENTD_EVENT_AGENT_STOP;
    event_.envelope = &history.envelope();
    event_.payload = event_.payload_bare = &history.payload();
  }
  bool run() { return dispatch(snapshot_, *slot_, event_) == nullptr; }

 private:
  static Subscription subscription() {
    Subscription one;
    one.event = AGENTD_EVENT_AGENT_STOP;
    one.wants = AGENTD_WANTS_MESSAGES;
    one.name = "hook";
    one.fn = do_nothing;
    return one;
  }

  SystemClock clock_;
  TokenTable tokens_;
  SlotLease slot_{tokens_};
  Snapshot snapshot_;
  Dispatch event_;
};

// ---- the same event in a worker, as a run asks it

class RealWorker {
 public:
  RealWorker(const Stop& history, const char* module) : host_(AGENTD_BENCH_HOOKS) {
    host_.install(module);
    host_.options.isolation = Isolation::kProcess;
    host_.options.worker.program = AGENTD_WORKER;
    host_.load();
    snapshot_ = host_.dispatcher.pin();
    event_.event = AGENTD_EVENT_AGENT_STOP;
    event_.envelope = &history.envelope();
    event_.payload = event_.payload_bare = &history.payload();
    event_.lineage = history.lineage();
  }
  bool works() const { return host_.host->plugins().size() == 1; }
  bool run(CallSlot& slot) { return dispatch(*snapshot_, slot, event_) == nullptr; }
  bool run() { return run(*slot_); }
  TokenTable& tokens() { return host_.tokens; }

 private:
  testing::HostFixture host_;
  std::shared_ptr<const Snapshot> snapshot_;  // shared with the dispatcher
  SlotLease slot_{host_.tokens};
  Dispatch event_;
};

// ---- measured in turns

struct Kind {
  const char* name;
  int calls;  // in a row: only the first of them finds the other side asleep
  std::function<bool()> run;
  std::vector<double> ns{};
};

double elapsed_ns(Steady::time_point from) {
  return std::chrono::duration<double, std::nano>(Steady::now() - from).count();
}

bool time(Kind& kind) {
  const auto from = Steady::now();
  const bool right = kind.run();
  kind.ns.push_back(elapsed_ns(from));
  return right;
}

void report(benchmark::State& state, const char* name, std::vector<double>& ns) {
  state.counters[std::string(name) + "_p50"] = quantile(ns, 0.5);
  state.counters[std::string(name) + "_p99"] = quantile(ns, 0.99);
}

void report(benchmark::State& state, std::vector<Kind>& kinds, bool right) {
  if (!right) state.SkipWithError("somebody did not answer, or not what was asked");
  for (Kind& kind : kinds) report(state, kind.name, kind.ns);
}

void WorkerCalls(benchmark::State& state) {
  const Stop history(static_cast<std::size_t>(state.range(0)));
  AsleepPingPong asleep;
  SpinningPingPong spinning;
  Lanes empty(nullptr), lanes(&history);
  JsonPipe json(history);
  InProcess in_process(history);
  RealWorker worker(history, "idle_serial");
  std::vector<Kind> kinds{
      {"asleep", 100, [&] { return asleep.run(); }},        {"spinning", 500, [&] { return spinning.run(); }},
      {"lane", 500, [&] { return empty.run(); }},           {"call", 500, [&] { return lanes.run(); }},
      {"worker", 500, [&] { return worker.run(); }},        {"json", 10, [&] { return json.run(); }},
      {"in_process", 500, [&] { return in_process.run(); }}};
  bool right = worker.works();
  for (auto _ : state)
    for (Kind& kind : kinds)
      for (int i = 0; i < kind.calls; ++i) right = time(kind) && right;
  report(state, kinds, right);
}

// One call at a time, and nothing before it: both sides sleep, and what they read has left the
// caches.
void WorkerColdCalls(benchmark::State& state) {
  const Stop history(1 << 20);
  AsleepPingPong asleep;
  Lanes lanes(&history);
  JsonPipe json(history);
  RealWorker worker(history, "idle_serial");
  std::vector<Kind> kinds{{"asleep", 1, [&] { return asleep.run(); }},
                          {"call", 1, [&] { return lanes.run(); }},
                          {"worker", 1, [&] { return worker.run(); }},
                          {"json", 1, [&] { return json.run(); }}};
  bool right = true;
  for (auto _ : state)
    for (Kind& kind : kinds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      right = time(kind) && right;
    }
  report(state, kinds, right);
}

// Eight threads ask one worker at the same time, each in a lane of its own.
void WorkerEightLanes(benchmark::State& state) {
  constexpr int kCalls = 200;
  const Stop history(1 << 20);
  RealWorker worker(history, "idle_concurrent");
  Kind one{"alone", kCalls, [&] { return worker.run(); }};
  std::vector<Kind> eight(8, Kind{"eight", kCalls, {}});
  std::atomic<bool> right{worker.works()};
  for (auto _ : state) {
    for (int i = 0; i < kCalls; ++i) right = time(one) && right;
    std::vector<std::jthread> threads;
    for (Kind& kind : eight)
      threads.emplace_back([&] {
        const SlotLease slot(worker.tokens());
        kind.run = [&] { return worker.run(*slot); };
        for (int i = 0; i < kCalls; ++i) right = time(kind) && right;
      });
  }
  Kind all{"eight", kCalls, {}};
  for (const Kind& kind : eight) all.ns.insert(all.ns.end(), kind.ns.begin(), kind.ns.end());
  std::vector<Kind> kinds{std::move(one), std::move(all)};
  report(state, kinds, right);
}

}  // namespace

void add_worker_benches(Effort effort) {
  benchmark::RegisterBenchmark("WorkerEightLanes", WorkerEightLanes)->Iterations(effort.times(10))->Repetitions(1);
  benchmark::RegisterBenchmark("WorkerCalls", WorkerCalls)
      ->Arg(1 << 10)
      ->Arg(64 << 10)
      ->Arg(1 << 20)
      ->Iterations(effort.times(10))
      ->Repetitions(1);
  benchmark::RegisterBenchmark("WorkerColdCalls", WorkerColdCalls)->Iterations(effort.times(100))->Repetitions(1);
}

}  // namespace agentd::bench
