// SPDX-License-Identifier: Apache-2.0
#include "core/workers/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/process/family.h"
#include "core/process/process.h"
#include "core/process/sandbox.h"
#include "core/process/zygote.h"
#include "core/workers/line_log.h"

namespace agentd {
namespace {

// Rounds of looking for processes that an ended worker has left behind.
constexpr int kSweepRounds = 20;
// Reads from one worker before the others have their turn.
constexpr int kReadsAtOnce = 16;
constexpr Milliseconds kWithoutBell{20};
// An undisturbed zygote needs a few milliseconds.
constexpr Milliseconds kZygoteTime{2'000};

std::string read_proc(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[8192];
  const ssize_t got = file.valid() ? ::read(file.get(), buffer, sizeof buffer) : -1;
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

// The number of seccomp filters of a process, also of one that has ended but was not reaped; -1 when the kernel does
// not show it.
int filters_of(const std::string& process) {
  const auto text = read_proc("/proc/" + process + "/status");
  const std::size_t at = text.find("\nSeccomp_filters:");
  int out = -1;
  return at != std::string::npos && std::sscanf(text.c_str() + at, " Seccomp_filters: %d", &out) == 1 ? out : -1;
}

std::string zygote_key(const WorkerStart& start) { return start.program + '\n' + start.ground; }

// True if the kernel shows that the worker had entered its complete sandbox; before that it runs no plugin code.
bool is_confined_now(pid_t worker) {
  static const int own = filters_of("self");  // agentd itself adds none later
  return own >= 0 && filters_of(std::to_string(worker)) >= own + kSandboxFilters;
}

}  // namespace

std::vector<std::string> worker_environment(const std::vector<std::string>& host) {
  constexpr std::array<std::string_view, 5> kNames{"HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"};
  std::vector<std::string> out{"PATH=/usr/bin:/bin"};
  for (const std::string& entry : host) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) out.push_back(entry);
  }
  return out;
}

struct WorkerSupervisor::State {
  State(Log& log_sink, const Clock& clock_source) : log(log_sink), clock(clock_source) {}

  struct Worker {
    Child child;
    std::uint64_t brand = 0;  // of the worker and all processes that it starts
    bool may_have_children = true;
    std::string name, program;
    Ended ended;
    LineLog lines;
    bool is_zygote = false;
    bool has_ended = false;             // and `ended` has returned
    std::vector<Condition*> waiting{};  // of those who wait for that; guarded by State::mutex, as is has_ended
  };
  // A worker that was requested and not yet started.
  struct Order {
    const WorkerStart& start;
    Ended ended;
    std::optional<Result<Id>> answer{};
    Condition answered{};
  };

  void run();
  bool look(std::vector<pollfd>& watched);
  void start_ordered();
  void start_all(std::vector<Order*>& open);
  std::vector<Result<Child>> make_processes(std::span<Order* const> same);
  void answer(Order& order, Result<Child> made);
  Id take_on(Order& order, Child child);
  Result<Child> execute(const WorkerStart& start);
  Zygote* zygote_for(const WorkerStart& start);
  Id watch(Worker worker);
  void look_at(const std::vector<pollfd>& ready);
  void read_output(Worker& worker);
  void finish(Id id, Worker& worker);
  bool is_confined(const Worker& worker);
  void end_what_it_started(const Worker& worker);
  void warn_once(bool& warned, const std::string& name, const char* text);
  // It may be erased at any time after its end.
  bool runs(Id worker) const REQUIRES(mutex) {
    const auto found = workers.find(worker);
    return found != workers.end() && !found->second->has_ended;
  }
  void wake() const { (void)::eventfd_write(bell.get(), 1); }

  Log& log;
  const Clock& clock;
  UniqueFd bell;
  mutable Mutex mutex;
  std::vector<Order*> orders GUARDED_BY(mutex);
  std::map<Id, std::unique_ptr<Worker>> workers GUARDED_BY(mutex);  // erased by the thread alone
  bool stopping GUARDED_BY(mutex) = false;
  // Keyed by what their sandbox leaves open; null = it could not be started. Used by the thread alone.
  std::map<std::string, std::unique_ptr<Zygote>> zygotes;
  Id last_id = 0;                  // used by the thread alone, as the following
  std::set<std::string> confined;  // programs that the kernel has shown to confine
  bool warned_of_brand = false;
  bool warned_of_rest = false;
  Thread thread;
};

void WorkerSupervisor::State::run() {
  std::vector<pollfd> watched;
  for (bool goes_on = true; goes_on;)
    // Memory may be short only for a moment.
    if (!thrown_by([&] { goes_on = look(watched); }).empty()) clock.pause(kWithoutBell);
}

// Returns false when everything has ended.
bool WorkerSupervisor::State::look(std::vector<pollfd>& watched) {
  start_ordered();
  watched.assign(1, {bell.get(), POLLIN, 0});
  {
    const MutexLock lock(mutex);
    if (stopping && workers.empty()) return false;
    for (const auto& [id, worker] : workers) {
      if (stopping) kill_child(worker->child);
      watched.push_back({worker->child.pidfd.get(), POLLIN, 0});
      watched.push_back({worker->child.output.get(), POLLIN, 0});
    }
  }
  // Without a bell (no descriptor was free) orders are polled for.
  if (clock.poll(watched, bell.valid() ? Deadline{} : Deadline::after(clock, kWithoutBell)) < 0) return true;  // EINTR
  eventfd_t rings = 0;
  if (watched[0].revents != 0) (void)::eventfd_read(bell.get(), &rings);
  look_at(watched);
  return true;
}

void WorkerSupervisor::State::start_ordered() {
  std::vector<Order*> mine;
  {
    const MutexLock lock(mutex);
    mine.swap(orders);
  }
  // Each order must get an answer, even if an exception is thrown.
  const std::string thrown = thrown_by([&] { start_all(mine); });
  for (Order* const order : mine) answer(*order, Error{Code::kUnavailable, thrown});
}

// Removes answered orders from `open`; their callers may have destroyed them.
void WorkerSupervisor::State::start_all(std::vector<Order*>& open) {
  // One request per zygote covers all orders that it forks.
  std::map<std::string, std::vector<Order*>> by_zygote;
  for (Order* const order : open) by_zygote[zygote_key(order->start)].push_back(order);
  for (const auto& [key, all] : by_zygote) {
    for (std::span<Order* const> rest = all; !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), Zygote::kWishesMax));
      rest = rest.subspan(some.size());
      auto made = make_processes(some);
      for (std::size_t i = 0; i < some.size(); ++i) {
        answer(*some[i], std::move(made[i]));
        std::erase(open, some[i]);
      }
    }
  }
}

// Orders for the same zygote are forked by it; without a zygote they are executed.
std::vector<Result<Child>> WorkerSupervisor::State::make_processes(std::span<Order* const> same) {
  Zygote* const zygote = zygote_for(same.front()->start);
  const std::string self = std::to_string(::getpid());
  std::vector<Zygote::Wish> wishes;
  for (const Order* const order : same)
    wishes.push_back({.arguments = {order->start.name, self}, .pass = order->start.pass});
  std::vector<Result<Child>> made;
  if (zygote != nullptr) made = zygote->fork(wishes, kZygoteTime);
  for (std::size_t i = 0; i < same.size(); ++i) {
    const WorkerStart& start = same[i]->start;
    if (zygote == nullptr) {
      made.push_back(execute(start));
    } else if (!made[i]) {
      log.write(LogLevel::kInfo, start.name, "its worker is executed, not forked: " + made[i].error().message);
      zygotes[zygote_key(start)].reset();
      made[i] = execute(start);
    }
  }
  return made;
}

void WorkerSupervisor::State::answer(Order& order, Result<Child> made) {
  Result<Id> answer = made ? Result<Id>(take_on(order, std::move(*made))) : Result<Id>(made.error());
  // The waiting thread may destroy the order as soon as the mutex is free.
  const MutexLock lock(mutex);
  order.answer = std::move(answer);
  order.answered.notify_one();
}

WorkerSupervisor::Id WorkerSupervisor::State::take_on(Order& order, Child child) {
  // A worker that may start processes is branded before it is told what to load, so nothing escapes the brand.
  const std::uint64_t number = brand(child.pid);
  if (number == 0)
    warn_once(warned_of_brand, order.start.name,
              "processes that a worker leaves behind may outlive it: RLIMIT_RTTIME, which marks them, is already "
              "limited or cannot be set; start agentd without that limit");
  return watch({std::move(child), number, order.start.may_have_children, order.start.name, order.start.program,
                std::move(order.ended), LineLog(log, clock, order.start.name)});
}

WorkerSupervisor::Id WorkerSupervisor::State::watch(Worker worker) {
  ::fcntl(worker.child.output.get(), F_SETFL, O_NONBLOCK);
  const MutexLock lock(mutex);
  workers.emplace(++last_id, std::make_unique<Worker>(std::move(worker)));
  return last_id;
}

// The worker checks that this process is still its parent.
Result<Child> WorkerSupervisor::State::execute(const WorkerStart& start) {
  const std::vector<std::string> argv{start.program, start.name, std::to_string(::getpid())};
  const std::vector<std::string> environment = worker_environment(clean_environment());
  SpawnRequest request{argv, environment, {}};
  request.pass = start.pass;
  return spawn(request);
}

// Null if there is no zygote: workers are then executed.
Zygote* WorkerSupervisor::State::zygote_for(const WorkerStart& start) {
  if (start.ground.empty()) return nullptr;
  const auto [place, is_new] = zygotes.try_emplace(zygote_key(start));
  if (!is_new) return place->second.get();
  auto zygote = Zygote::start({start.program, "zygote", std::to_string(::getpid()) + ":" + start.ground},
                              worker_environment(clean_environment()),
                              // Starts nothing but the requested workers, and ends with this thread
                              Offspring::kNone, kZygoteTime);
  if (!zygote) {
    log.write(LogLevel::kInfo, start.name, "workers are executed, not forked: " + zygote.error().message);
    return nullptr;
  }
  Worker worker{zygote->take_process(), 0, false, "zygote", start.program, {}, LineLog(log, clock, "zygote")};
  worker.is_zygote = true;
  (void)watch(std::move(worker));
  place->second = std::make_unique<Zygote>(std::move(*zygote));
  return place->second.get();
}

void WorkerSupervisor::State::warn_once(bool& warned, const std::string& name, const char* text) {
  if (!std::exchange(warned, true)) log.write(LogLevel::kWarning, name, text);
}

// A kernel that installed the filters for one worker does so for all: a worker without memory for them ends instead.
bool WorkerSupervisor::State::is_confined(const Worker& worker) {
  if (confined.contains(worker.program)) return true;
  if (!is_confined_now(worker.child.pid)) return false;
  confined.insert(worker.program);
  return true;
}

void WorkerSupervisor::State::end_what_it_started(const Worker& worker) {
  // Workers that a zygote has forked are cleaned up on their own.
  if (worker.is_zygote || (!worker.may_have_children && is_confined(worker))) return;
  Family family(worker.child.pid, {worker.child.output.get()}, {}, worker.brand);
  if (!family.kill_all(kSweepRounds))
    warn_once(warned_of_rest, worker.name,
              "some processes that its worker left behind are still running: they start new ones too fast, or cannot "
              "be killed; look for them with ps");
}

// Only this thread erases workers, so they stay valid while the mutex is unlocked.
void WorkerSupervisor::State::look_at(const std::vector<pollfd>& ready) {
  std::vector<int> fds;
  for (const pollfd& each : ready)
    if (each.revents != 0) fds.push_back(each.fd);
  std::sort(fds.begin(), fds.end());
  const auto is_ready = [&](const UniqueFd& fd) {
    return fd.valid() && std::binary_search(fds.begin(), fds.end(), fd.get());
  };
  std::vector<std::pair<Id, Worker*>> all;
  {
    const MutexLock lock(mutex);
    for (const auto& [id, worker] : workers) all.emplace_back(id, worker.get());
  }
  for (const auto& [id, worker] : all) {
    if (is_ready(worker->child.output)) read_output(*worker);
    if (is_ready(worker->child.pidfd)) finish(id, *worker);
  }
}

void WorkerSupervisor::State::read_output(Worker& worker) {
  char buffer[16 * 1024];
  for (int i = 0; i < kReadsAtOnce && worker.child.output.valid(); ++i) {
    const ssize_t got = ::read(worker.child.output.get(), buffer, sizeof buffer);
    if (got > 0) {
      worker.lines.add({buffer, static_cast<std::size_t>(got)});
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    } else {
      worker.child.output.reset();
    }
  }
}

// Order: waiters are notified, then the processes that it started are killed, then its id is freed.
void WorkerSupervisor::State::finish(Id id, Worker& worker) {
  const auto exit = exit_of(worker.child);
  if (!exit) return;
  read_output(worker);
  worker.lines.finish();
  if (worker.ended) worker.ended(*exit);
  {
    const MutexLock lock(mutex);
    worker.has_ended = true;
    for (Condition* const each : worker.waiting) each->notify_one();
  }
  end_what_it_started(worker);
  (void)reap(worker.child, worker.name, true);
  std::unique_ptr<Worker> gone;
  const MutexLock lock(mutex);
  const auto found = workers.find(id);
  gone = std::move(found->second);
  workers.erase(found);
}

WorkerSupervisor::WorkerSupervisor(Log& log, const Clock& clock) : state_(std::make_unique<State>(log, clock)) {
  state_->bell = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  try {
    state_->thread = Thread([state = state_.get()] { state->run(); });
  } catch (const std::system_error&) {
    // Without a thread start() returns an error.
  }
}

WorkerSupervisor::~WorkerSupervisor() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake();
  if (state_->thread.joinable()) state_->thread.join();
}

Result<WorkerSupervisor::Id> WorkerSupervisor::start(const WorkerStart& start, Ended ended) {
  if (!state_->thread.joinable())
    return Error{Code::kUnavailable, "starting " + start.program + ": no thread can be made now"};
  State::Order order{start, std::move(ended)};
  const MutexLock lock(state_->mutex);
  state_->orders.push_back(&order);
  state_->wake();
  while (!order.answer) order.answered.wait(state_->mutex);
  return std::move(*order.answer);
}

void WorkerSupervisor::kill(Id worker) {
  const MutexLock lock(state_->mutex);
  const auto found = state_->workers.find(worker);
  if (found != state_->workers.end()) kill_child(found->second->child);
}

void WorkerSupervisor::end(Id worker) {
  kill(worker);
  Condition ended;
  const MutexLock lock(state_->mutex);
  if (!state_->runs(worker)) return;
  state_->workers.at(worker)->waiting.push_back(&ended);
  while (state_->runs(worker)) ended.wait(state_->mutex);
}

void WorkerSupervisor::end_zygotes() {
  const MutexLock lock(state_->mutex);
  for (const auto& [id, worker] : state_->workers)
    if (worker->is_zygote) kill_child(worker->child);
}

pid_t WorkerSupervisor::pid(Id worker) const {
  const MutexLock lock(state_->mutex);
  return state_->runs(worker) ? state_->workers.at(worker)->child.pid : -1;
}

}  // namespace agentd
