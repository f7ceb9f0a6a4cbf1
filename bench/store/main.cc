// SPDX-License-Identifier: Apache-2.0
// bench_store - durable appends of 1, 8, 64 and 1,000 sessions in one process, next to a bare fdatasync of the same
// bytes; an append to a long log; and lists, ids and openings of stores with many conversations.
//
// bench_store [DIRECTORY]: where the stores are made and removed; the system's directory for temporary files unless it
// is given. A figure of syncs means little on a file system in memory.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_time.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/thread.h"
#include "core/conversation/record.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd::bench {
namespace {

constexpr std::size_t kMessageBytes = 1024;
constexpr double kNsPerUs = 1e3, kNsPerSecond = 1e9;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "bench_store: %s\n", why.c_str());
  std::exit(1);
}

template <typename T>
T expect(Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(*result);
}
void expect(const Result<void>& result) {
  if (!result) stop(result.error().message);
}

class Place {
 public:
  explicit Place(const std::string& parent) : path_(parent + "/agentd-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) stop("no directory can be made in " + parent);
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Stage {
 public:
  explicit Stage(const std::string& parent) : place_(parent) { open(); }

  void open() {
    store_.reset();
    store_ = expect(open_lmdb_store({place_.path() + "/store"}, clock_));
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
  std::unique_ptr<Store> store_;
};

// ---- appends of many sessions

struct Rate {
  double per_second = 0, cpu_us = 0;
};

// One bare fdatasync after each 1 KiB at the end of a file, in microseconds.
double sync_us(const std::string& parent, const Clock& clock) {
  const Place place(parent);
  const int fd = ::open((place.path() + "/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string text(kMessageBytes, 'x');
  constexpr int kTimes = 300;
  const std::uint64_t begin = clock.monotonic_ns();
  for (int i = 0; i < kTimes; ++i)
    if (::write(fd, text.data(), text.size()) < 0 || ::fdatasync(fd) != 0) stop("a bare file cannot be synced");
  const double ns = static_cast<double>(clock.monotonic_ns() - begin);
  ::close(fd);
  return ns / kTimes / kNsPerUs;
}

// Each session is a thread with a conversation, its lease, and one append after another.
Rate appends(const std::string& parent, std::size_t sessions) {
  constexpr std::uint64_t kTimeNs = 2'000'000'000;
  Stage stage(parent);
  std::vector<Ulid> ids;
  for (std::size_t i = 0; i < sessions; ++i) ids.push_back(stage.begin("p"));
  std::atomic<std::uint64_t> count = 0;
  std::atomic<bool> done = false;
  std::vector<Thread> threads;
  const double cpu = cpu_ms();
  const std::uint64_t begin = stage.clock().monotonic_ns();
  for (const Ulid& id : ids)
    threads.emplace_back([&] {
      const auto lease = expect(stage.store().lease(id));
      const Record message = Stage::message();
      for (std::uint64_t revision = 2; !done; ++revision) {
        expect(stage.store().append(id, revision, {&message, 1}));
        ++count;
      }
    });
  stage.clock().pause(Milliseconds(kTimeNs / 1'000'000));
  done = true;
  for (Thread& thread : threads) thread.join();
  const double seconds = static_cast<double>(stage.clock().monotonic_ns() - begin) / kNsPerSecond;
  const auto all = static_cast<double>(count.load());
  return {all / seconds, (cpu_ms() - cpu) / all * 1e3};
}

void print_rates(const std::string& parent) {
  std::printf("durable appends of %zu bytes\n%10s %12s %8s %14s %14s\n", kMessageBytes, "sessions", "a second", "x one",
              "x bare sync", "CPU us each");
  double one = 0;
  for (const std::size_t sessions : {1u, 8u, 64u, 1'000u}) {
    const double sync = sync_us(parent, SystemClock());
    const Rate rate = appends(parent, sessions);
    if (sessions == 1) one = rate.per_second;
    std::printf("%10zu %12.0f %8.1f %14.2f %14.1f   (a bare sync: %.0f us)\n", sessions, rate.per_second,
                rate.per_second / one, rate.per_second * sync / 1e6, rate.cpu_us, sync);
  }
}

// ---- long logs and many conversations

template <typename Work>
double us_of(const Clock& clock, int times, const Work& work) {
  const std::uint64_t begin = clock.monotonic_ns();
  for (int i = 0; i < times; ++i) work();
  return static_cast<double>(clock.monotonic_ns() - begin) / times / kNsPerUs;
}

void print_long_log(const std::string& parent) {
  Stage stage(parent);
  const Ulid id = stage.begin("p");
  const auto lease = expect(stage.store().lease(id));
  const Record message = Stage::message();
  std::uint64_t revision = 2;
  std::printf("\nan append at message, us\n");
  for (const std::uint64_t at : {10u, 1'000u, 100'000u}) {
    while (revision < at) {
      const std::vector<Record> many(std::min<std::uint64_t>(1'000, at - revision), message);
      expect(stage.store().append(id, revision, many));
      revision += many.size();
    }
    const double cpu = cpu_ms();
    constexpr int kTimes = 200;
    const auto append = [&] { expect(stage.store().append(id, revision++, {&message, 1})); };
    const double us = us_of(stage.clock(), kTimes, append);
    std::printf("%10llu %10.1f, of CPU %.1f\n", static_cast<unsigned long long>(at), us,
                (cpu_ms() - cpu) / kTimes * 1e3);
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

void print_many(const std::string& parent) {
  Stage stage(parent);
  std::vector<Ulid> ids;
  std::printf("\nof many conversations, us\n%10s %10s %12s %10s %10s %10s\n", "there are", "list 20", "of a project",
              "by prefix", "info", "open");
  for (const std::size_t count : {10u, 1'000u, 100'000u}) {
    fill(stage, ids, count);
    ConversationQuery newest, project;
    newest.limit = project.limit = 20;
    project.project_id = "p3";
    const std::string prefix = ids[count / 2].text().substr(0, 22);
    constexpr int kTimes = 200;
    Store* store = &stage.store();
    const double list = us_of(stage.clock(), kTimes, [&] { expect(store->list(newest)); });
    const double of_project = us_of(stage.clock(), kTimes, [&] { expect(store->list(project)); });
    const double by_prefix = us_of(stage.clock(), kTimes, [&] { expect(store->find_ids(prefix, 2)); });
    const double info = us_of(stage.clock(), kTimes, [&] { expect(store->info(ids[count / 2])); });
    const double open = us_of(stage.clock(), 20, [&] { stage.open(); });
    std::printf("%10zu %10.1f %12.1f %10.1f %10.1f %10.1f\n", count, list, of_project, by_prefix, info, open);
  }
}

}  // namespace
}  // namespace agentd::bench

int main(int count, char** arguments) {
  using namespace agentd::bench;
  const std::string parent = count > 1 ? arguments[1] : std::filesystem::temp_directory_path().string();
  print_rates(parent);
  print_long_log(parent);
  print_many(parent);
  return 0;
}
