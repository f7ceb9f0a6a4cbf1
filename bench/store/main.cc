// SPDX-License-Identifier: Apache-2.0
// bench_store - durable appends of 1, 8, 64 and 1,000 sessions in one process, next to a bare fdatasync of the same
// bytes and to LMDB alone with the same rows; an append to a long log; and lists, ids and openings of stores with many
// conversations.
//
// bench_store [--once] [--appends] [DIRECTORY]: the first part alone; where the stores are made and removed; the
// system's directory for temporary files unless it is given. A figure of syncs means little on a file system in memory.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_time.h"
#include "bench/place.h"
#include "bench/store/bare_rows.h"
#include "bench/tally.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/conversation/record.h"
#include "core/store/batch.h"
#include "core/store/lmdb/commits.h"
#include "core/store/lmdb/lmdb_store.h"
#include "core/store/lmdb/tables.h"

namespace agentd::bench {
namespace {

constexpr std::size_t kMessageBytes = 1024;
constexpr double kNsPerUs = 1e3, kNsPerSecond = 1e9;

struct Effort {
  std::array<std::size_t, 4> sessions{1, 8, 64, 1'000};
  int rounds = 6, syncs = 100;
  Milliseconds slice{500};
  std::array<std::uint64_t, 3> sizes{10, 1'000, 100'000};  // of a log, and conversations of a store
  int times = 200, openings = 20;
};

class Stage {
 public:
  explicit Stage(const std::string& parent, WriterUse* use = nullptr) : place_(parent), use_(use) { open(); }

  void open() {
    store_.reset();
    LmdbOptions options;
    options.directory = place_.path() + "/store";
    options.use = use_;
    store_ = expect(open_lmdb_store(options, clock_));
  }
  Store& store() { return *store_; }
  const Clock& clock() const { return clock_; }

  Ulid begin(const std::string& project) {
    const Ulid id = ids_.next();
    GenesisRecord genesis;
    genesis.conversation_id = id.text();
    genesis.project_id = project;
    expect(store_->append(id, 0, {{write_genesis(genesis), message()}}));
    return id;
  }
  static Record message() {
    return write_message(
        {Message::of_text(Role::kUser, std::string(kMessageBytes, 'x')), StopReason::kEndTurn, "user", {}});
  }

 private:
  const SystemClock clock_;
  IdSource ids_{clock_};
  const Place place_;
  WriterUse* const use_;
  std::unique_ptr<Store> store_;
};

// ---- appends of many sessions

// One bare fdatasync after each 1 KiB at the end of a file, in microseconds.
double bare_sync_us(const std::string& parent, const Clock& clock, int times) {
  const Place place(parent);
  const int fd = ::open((place.path() + "/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string text(kMessageBytes, 'x');
  const std::uint64_t begin = clock.monotonic_ns();
  for (int i = 0; i < times; ++i)
    if (::write(fd, text.data(), text.size()) < 0 || ::fdatasync(fd) != 0) stop("a bare file cannot be synced");
  const double ns = static_cast<double>(clock.monotonic_ns() - begin);
  ::close(fd);
  return ns / times / kNsPerUs;
}

// Threads with a conversation and its lease each, which append one message after another while run() lasts.
class Sessions {
 public:
  Sessions(const std::string& parent, std::size_t count) : stage_(parent, &use_) {
    for (std::size_t i = 0; i < count; ++i) ids_.push_back(stage_.begin("p"));
    use_.commits = use_.changes = use_.changes_ns = 0;
    for (const Ulid& id : ids_) threads_.emplace_back([this, &id] { work(id); });
  }
  ~Sessions() {
    {
      const MutexLock lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    threads_.clear();
  }
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  const std::vector<Ulid>& ids() const { return ids_; }
  const WriterUse& use() const { return use_; }
  RowBytes row_bytes() {
    return {kBatchHeaderBytes + kRecordHeaderBytes + message_.payload.size(),
            sealed(write_info(expect(stage_.store().info(ids_.front())))).size()};
  }

  // Returns the number of appends, when the last one has ended.
  std::uint64_t run(Milliseconds time) {
    const std::uint64_t before = count_;
    {
      const MutexLock lock(mutex_);
      running_ = true;
      changed_.notify_all();
    }
    stage_.clock().pause(time);
    running_ = false;
    const MutexLock lock(mutex_);
    while (busy_ != 0) idle_.wait(mutex_);
    return count_ - before;
  }

 private:
  // False: there will be no more.
  bool may_begin() {
    const MutexLock lock(mutex_);
    while (!running_ && !ended_) changed_.wait(mutex_);
    if (!ended_) ++busy_;
    return !ended_;
  }
  void work(const Ulid& id) {
    const auto lease = expect(stage_.store().lease(id));
    for (std::uint64_t revision = 2; may_begin();) {
      while (running_) {
        expect(stage_.store().append(id, revision++, {&message_, 1}));
        ++count_;
      }
      const MutexLock lock(mutex_);
      if (--busy_ == 0) idle_.notify_all();
    }
  }

  WriterUse use_{&thread_cpu_ns};
  Stage stage_;
  const Record message_ = Stage::message();
  std::vector<Ulid> ids_;
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<bool> running_ = false;
  Mutex mutex_;
  Condition changed_, idle_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::size_t busy_ GUARDED_BY(mutex_) = 0;
  std::vector<Thread> threads_;
};

struct Rate {
  double count = 0, seconds = 0, cpu_ms = 0;
  double per_second() const { return count / seconds; }
  double cpu_us_each() const { return cpu_ms / count * 1e3; }
};

// One count of sessions: the store, and LMDB alone with groups as large as theirs can be.
class Measured {
 public:
  Measured(const std::string& parent, std::size_t count)
      : group_(std::min(count, CommitLimits{}.changes)),
        place_(parent),
        sessions_(parent, count),
        rows_(place_.path(), sessions_.ids(), sessions_.row_bytes()) {}

  void round(const std::string& parent, const Clock& clock, const Effort& effort) {
    sync_us += bare_sync_us(parent, clock, effort.syncs);
    add(store, clock, [&] { return sessions_.run(effort.slice); });
    add(bare, clock, [&] {
      std::uint64_t count = 0;
      for (const Deadline end = Deadline::after(clock, effort.slice); !end.passed(clock); count += group_)
        rows_.commit(group_);
      return count;
    });
    ++rounds;
  }

  double appends_per_commit() const {
    return static_cast<double>(sessions_.use().changes) / static_cast<double>(sessions_.use().commits);
  }
  double writer_us() const {
    return static_cast<double>(sessions_.use().changes_ns) / static_cast<double>(sessions_.use().changes) / kNsPerUs;
  }
  double bare_puts_us() const { return static_cast<double>(rows_.puts_ns()) / bare.count / kNsPerUs; }

  Rate store, bare;
  double sync_us = 0;
  int rounds = 0;

 private:
  template <typename Work>
  static void add(Rate& rate, const Clock& clock, const Work& work) {
    const double cpu = cpu_ms();
    const std::uint64_t begin = clock.monotonic_ns();
    rate.count += static_cast<double>(work());
    rate.seconds += static_cast<double>(clock.monotonic_ns() - begin) / kNsPerSecond;
    rate.cpu_ms += cpu_ms() - cpu;
  }

  const std::size_t group_;
  const Place place_;
  Sessions sessions_;
  BareRows rows_;
};

// Round by round, so that all are measured on the same disk.
void print_rates(Tally& tally, const std::string& parent, const Effort& effort) {
  const SystemClock clock;
  const auto& counts = effort.sessions;
  tally.expect("rates", static_cast<int>(counts.size()));
  std::vector<std::unique_ptr<Measured>> all;
  for (const std::size_t count : counts) all.push_back(std::make_unique<Measured>(parent, count));
  for (int i = 0; i < effort.rounds; ++i)
    for (const auto& measured : all) measured->round(parent, clock, effort);
  std::printf("durable appends of %zu bytes; LMDB alone: the same rows, one transaction per group of all sessions\n",
              kMessageBytes);
  std::printf("%8s | %9s %6s %9s %7s %7s | %9s %6s %7s | %8s %8s %8s\n", "sessions", "a second", "x one", "x syncs",
              "a group", "CPU us", "LMDB/s", "x one", "CPU us", "x LMDB's", "writer's", "LMDB's");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Measured& m = *all[i];
    std::printf(
        "%8zu | %9.0f %6.1f %9.2f %7.1f %7.1f | %9.0f %6.1f %7.1f | %8.2f %8.2f %8.2f   (a bare sync: %.0f us)\n",
        counts[i], m.store.per_second(), m.store.per_second() / all[0]->store.per_second(),
        m.store.per_second() * m.sync_us / m.rounds / 1e6, m.appends_per_commit(), m.store.cpu_us_each(),
        m.bare.per_second(), m.bare.per_second() / all[0]->bare.per_second(), m.bare.cpu_us_each(),
        m.store.per_second() / m.bare.per_second(), m.writer_us(), m.bare_puts_us(), m.sync_us / m.rounds);
    tally.measured("rates", {m.store.per_second(), m.bare.per_second(), m.appends_per_commit(), m.writer_us(),
                             m.bare_puts_us(), m.sync_us});
  }
  std::printf("writer's, LMDB's: processor time of the checks and puts of an append, of the puts of LMDB alone, us\n");
}

// ---- long logs and many conversations

template <typename Work>
double us_of(const Clock& clock, int times, const Work& work) {
  const std::uint64_t begin = clock.monotonic_ns();
  for (int i = 0; i < times; ++i) work();
  return static_cast<double>(clock.monotonic_ns() - begin) / times / kNsPerUs;
}

void print_long_log(Tally& tally, const std::string& parent, const Effort& effort) {
  tally.expect("a long log", static_cast<int>(effort.sizes.size()));
  Stage stage(parent);
  const Ulid id = stage.begin("p");
  const auto lease = expect(stage.store().lease(id));
  const Record message = Stage::message();
  std::uint64_t revision = 2;
  std::printf("\nan append at message, us\n");
  for (const std::uint64_t at : effort.sizes) {
    while (revision < at) {
      const std::vector<Record> many(std::min<std::uint64_t>(1'000, at - revision), message);
      expect(stage.store().append(id, revision, many));
      revision += many.size();
    }
    const double cpu = cpu_ms();
    const auto append = [&] { expect(stage.store().append(id, revision++, {&message, 1})); };
    const double us = us_of(stage.clock(), effort.times, append);
    std::printf("%10llu %10.1f, of CPU %.1f\n", static_cast<unsigned long long>(at), us,
                (cpu_ms() - cpu) / effort.times * 1e3);
    tally.measured("a long log", {us});
  }
}

// In 64 threads, which share transactions.
void fill(Stage& stage, std::vector<Ulid>& ids, std::size_t count) {
  const std::size_t more = count - ids.size();
  ids.resize(count);
  std::atomic<std::size_t> next = count - more;
  std::vector<Thread> threads;
  for (int i = 0; i < 64; ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++) ids[at] = stage.begin("p" + std::to_string(at % 10));
    });
  for (Thread& thread : threads) thread.join();
}

template <typename List>
void found(const Result<List>& list) {
  if (!list) stop(list.error().message);
  if (list->empty()) stop("a list of conversations is empty");
}

void print_many(Tally& tally, const std::string& parent, const Effort& effort) {
  tally.expect("many conversations", static_cast<int>(effort.sizes.size()));
  Stage stage(parent);
  std::vector<Ulid> ids;
  std::printf("\nof many conversations, us\n%10s %10s %12s %10s %10s %10s\n", "there are", "list 20", "of a project",
              "by prefix", "info", "open");
  for (const std::size_t count : effort.sizes) {
    fill(stage, ids, count);
    ConversationQuery newest, project;
    newest.limit = project.limit = 20;
    project.project_id = "p3";
    const std::string prefix = ids[count / 2].text().substr(0, 22);
    const int times = effort.times;
    Store* store = &stage.store();
    const double list = us_of(stage.clock(), times, [&] { found(store->list(newest)); });
    const double of_project = us_of(stage.clock(), times, [&] { found(store->list(project)); });
    const double by_prefix = us_of(stage.clock(), times, [&] { found(store->find_ids(prefix, 2)); });
    const double info = us_of(stage.clock(), times, [&] { expect(store->info(ids[count / 2])); });
    const double open = us_of(stage.clock(), effort.openings, [&] { stage.open(); });
    std::printf("%10zu %10.1f %12.1f %10.1f %10.1f %10.1f\n", count, list, of_project, by_prefix, info, open);
    tally.measured("many conversations", {list, of_project, by_prefix, info, open});
  }
}

}  // namespace
}  // namespace agentd::bench

int main(int count, char** arguments) {
  using namespace agentd::bench;
  Effort effort;
  if (take_word(count, arguments, kOnce))
    effort = {{1, 4, 16, 64}, 1, 2, agentd::Milliseconds(50), {10, 100, 300}, 2, 1};
  const bool appends_alone = take_word(count, arguments, "--appends");
  const std::string parent = count > 1 ? arguments[1] : std::filesystem::temp_directory_path().string();
  Tally tally;
  print_rates(tally, parent, effort);
  if (!appends_alone) {
    print_long_log(tally, parent, effort);
    print_many(tally, parent, effort);
  }
  return tally.finish();
}
