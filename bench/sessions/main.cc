// SPDX-License-Identifier: Apache-2.0
// bench_sessions - many sessions in one process, on the store on disk: what an idle one takes, and the turns of 1, 64
// and 1,000 that are active, with a model that streams at a pace.
//
// bench_sessions [DIRECTORY]: where the stores are made and removed; the system's directory for temporary files unless
// it is given.
#include <dirent.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu_time.h"
#include "core/agent/agent.h"
#include "core/base/thread.h"
#include "core/bridge/token_table.h"
#include "core/recipes/recipes.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd::bench {
namespace {

constexpr int kPieces = 20;
constexpr Milliseconds kBetweenPieces{10};
constexpr double kAnswerMs = kPieces * 10.0;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "bench_sessions: %s\n", why.c_str());
  std::exit(1);
}

// Streams 20 pieces of 20 bytes.
class PacedModel final : public ModelProvider {
 public:
  explicit PacedModel(const Clock& clock) : clock_(clock) {}
  std::string_view name() const override { return "paced"; }
  ModelResult complete(const ModelRequest&, ModelSink& sink, const CancelToken& cancel, Deadline) override {
    std::string text;
    for (int i = 0; i < kPieces; ++i) {
      if (paced_) clock_.sleep(kBetweenPieces, cancel);
      sink.on_text("twenty bytes of text");
      text += "twenty bytes of text";
    }
    ModelResponse out;
    out.message = Message::of_text(Role::kAssistant, text);
    return out;
  }
  void set_paced(bool paced) { paced_ = paced; }

 private:
  const Clock& clock_;
  std::atomic<bool> paced_ = false;
};

class NoTools final : public ToolSource {
 public:
  std::vector<Tool> tools() const override { return {}; }
  Result<ToolOutcome> call(const SessionContext&, const ToolCall&, const CancelToken&, Deadline) override {
    return Error{Code::kNotFound, "there are no tools"};
  }
};

class NoEvents final : public EventSink {
 public:
  void on_event(const RunEvent&) override {}
};

class NoLog final : public Log {
 public:
  void write(LogLevel, std::string_view, std::string_view) override {}
};

class Process {
 public:
  explicit Process(const std::string& parent) : path_(parent + "/agentd-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) stop("no directory can be made in " + parent);
    auto store = open_lmdb_store({path_ + "/store"}, clock_);
    if (!store) stop(store.error().message);
    store_ = std::move(*store);
    options_.provider = "paced";
    options_.model = "m-1";
    options_.cwd = "/work";
    options_.project_id = "p";
    RuntimeSettings settings;
    static_cast<ModelSettings&>(settings) = options_;
    services_ = make_services(parts(), std::move(settings));
    agent_ = make_agent(*services_, {parts(), {prompts_, PermissionRules{}}, {dispatcher_, tools_, events_}}, options_);
  }
  ~Process() {
    agent_.reset();
    services_.reset();
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::unique_ptr<Session> open() {
    auto session = agent_->open(std::nullopt, {});
    if (!session) stop(session.error().message);
    return std::move(*session);
  }
  static void turn(Session& session) {
    if (const auto report = session.run("a question of the user", {}); !report) stop(report.error().message);
  }
  PacedModel& model() { return model_; }
  const Clock& clock() const { return clock_; }

 private:
  RuntimeParts parts() {
    return {*store_, model_, models_, estimator_, prompts_, tokens_, clock_, ids_, log_, nullptr, nullptr};
  }

  std::string path_;
  const SystemClock clock_;
  std::unique_ptr<Store> store_;
  IdSource ids_{clock_};
  NoLog log_;
  PacedModel model_{clock_};
  const ModelTable models_ = *ModelTable::parse(
      R"({"models":[{"pattern":"m-","provider":"paced","window":200000,"max_output":2000,"summary_model":"m-1"}]})");
  const SimpleEstimator estimator_;
  RecipeBook prompts_{{}, log_};
  TokenTable tokens_;
  Dispatcher dispatcher_{clock_};
  NoTools tools_;
  NoEvents events_;
  AgentOptions options_;
  AgentServicesPtr services_;
  std::unique_ptr<Agent> agent_;
};

double status_number(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1));
  return 0;
}

std::size_t descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count - 1;  // the one that reads them
}

// In 64 threads, whose commits share syncs.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& work) { call_together(count, 63, work); }

void print_idle(const std::string& parent, std::size_t count) {
  Process process(parent);
  Process::turn(*process.open());  // what is made once
  const double before = status_number("VmRSS");
  std::vector<std::unique_ptr<Session>> sessions(count);
  in_threads(count, [&](std::size_t i) {
    sessions[i] = process.open();
    Process::turn(*sessions[i]);
  });
  const double kib = status_number("VmRSS") - before;
  std::printf(
      "%zu idle sessions of one turn: %.1f KiB each, with the pages of the store that are mapped; %.0f threads, "
      "%zu descriptors\n\n",
      count, kib / static_cast<double>(count), status_number("Threads"), descriptors());
}

void print_active(const std::string& parent, std::size_t count) {
  constexpr std::uint64_t kTimeNs = 5'000'000'000;
  Process process(parent);
  std::vector<std::unique_ptr<Session>> sessions(count);
  in_threads(count, [&](std::size_t i) {
    sessions[i] = process.open();
    Process::turn(*sessions[i]);
  });
  process.model().set_paced(true);
  const double resident = status_number("VmRSS");
  std::vector<std::vector<double>> each(count);
  std::vector<Thread> threads;
  const double cpu = cpu_ms();
  const std::uint64_t begin = process.clock().monotonic_ns();
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      for (std::uint64_t now = process.clock().monotonic_ns(); now < begin + kTimeNs;) {
        Process::turn(*sessions[i]);
        const std::uint64_t then = std::exchange(now, process.clock().monotonic_ns());
        each[i].push_back(static_cast<double>(now - then) / 1e6 - kAnswerMs);
      }
    });
  process.clock().pause(Milliseconds(2'000));
  const double more = status_number("VmRSS") - resident, running = status_number("Threads");
  const std::size_t open = descriptors();
  for (Thread& thread : threads) thread.join();
  const double seconds = static_cast<double>(process.clock().monotonic_ns() - begin) / 1e9;
  std::vector<double> all;
  for (const auto& mine : each) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  const auto turns = static_cast<double>(all.size());
  std::printf("%8zu %10.0f %12.1f %10.1f %12.0f %12.1f %10.0f %12zu\n", count, turns / seconds, all[all.size() / 2],
              all[all.size() * 99 / 100], (cpu_ms() - cpu) / turns * 1e3, more / static_cast<double>(count), running,
              open);
}

}  // namespace
}  // namespace agentd::bench

int main(int count, char** arguments) {
  using namespace agentd::bench;
  const std::string parent = count > 1 ? arguments[1] : std::filesystem::temp_directory_path().string();
  print_idle(parent, 10'000);
  std::printf("active, an answer of %.0f ms\n%8s %10s %12s %10s %12s %12s %10s %12s\n", kAnswerMs, "sessions",
              "turns/s", "added ms p50", "p99", "CPU us/turn", "KiB each", "threads", "descriptors");
  for (const std::size_t sessions : {1u, 64u, 1'000u}) print_active(parent, sessions);
  return 0;
}
