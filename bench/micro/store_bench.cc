// SPDX-License-Identifier: Apache-2.0
// The processor time of one append to the store - a message of 1 KiB, durable - next to bare LMDB: a transaction
// that puts the same bytes under a key, and one that puts five, as an append does: log, head, row of the list,
// and the feed of changes, where the old row goes. The wait for the disk is in neither.
#include <benchmark/benchmark.h>
#include <lmdb.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/conversation/record.h"
#include "core/store/lmdb/lmdb_store.h"

namespace agentd::bench {
namespace {

const std::string& payload() {
  static const std::string text(1024, 'x');
  return text;
}

class Directory {
 public:
  Directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "agentd-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void StoreAppend(benchmark::State& state) {
  const Directory directory;
  const SystemClock clock;
  auto store = open_lmdb_store({directory.path() + "/store"}, clock);
  if (!store) return state.SkipWithError(store.error().message.c_str());
  const Ulid id = IdSource(clock).next();
  GenesisRecord genesis;
  genesis.conversation_id = id.text();
  std::uint64_t revision = 0;
  const auto append = [&](const Record& record) {
    const auto done = (*store)->append(id, revision, {&record, 1}, {}, {});
    if (!done) state.SkipWithError(done.error().message.c_str());
    ++revision;
    return done.has_value();
  };
  if (!append(write_genesis(genesis))) return;
  const Record message = write_message({Message::of_text(Role::kUser, payload()), StopReason::kEndTurn, "user", {}});
  for (auto _ : state)
    if (!append(message)) break;
}
BENCHMARK(StoreAppend)->UseRealTime()->MeasureProcessCPUTime();

class BareStore {
 public:
  explicit BareStore(const std::string& directory) {
    ok_ = mdb_env_create(&env_) == 0 && mdb_env_set_mapsize(env_, 1u << 30) == 0 && mdb_env_set_maxdbs(env_, 8) == 0 &&
          mdb_env_open(env_, directory.c_str(), 0, 0600) == 0;
    MDB_txn* txn = nullptr;
    ok_ = ok_ && mdb_txn_begin(env_, nullptr, 0, &txn) == 0;
    for (std::size_t i = 0; i < tables_.size(); ++i)
      ok_ = ok_ && mdb_dbi_open(txn, std::string(1, static_cast<char>('a' + i)).c_str(), MDB_CREATE, &tables_[i]) == 0;
    ok_ = ok_ && mdb_txn_commit(txn) == 0;
  }
  ~BareStore() { mdb_env_close(env_); }
  BareStore(const BareStore&) = delete;
  BareStore& operator=(const BareStore&) = delete;

  // The sizes of what an append writes.
  bool put(std::uint64_t count, bool all) {
    MDB_txn* txn = nullptr;
    if (!ok_ || mdb_txn_begin(env_, nullptr, 0, &txn) != 0) return false;
    const std::string id(16, 'i'), now = number(count);
    ok_ = put_in(txn, 0, id + now, payload());
    if (all) {
      ok_ = ok_ && put_in(txn, 1, id, std::string_view(payload()).substr(0, 60)) &&
            put_in(txn, 2, id, std::string_view(payload()).substr(0, 500));
      MDB_val old = value(before_);
      if (!before_.empty()) ok_ = ok_ && mdb_del(txn, tables_[3], &old, nullptr) == 0;
      ok_ = ok_ && put_in(txn, 3, now, id);
      before_ = now;
    }
    return mdb_txn_commit(txn) == 0 && ok_;
  }

 private:
  static std::string number(std::uint64_t count) {
    std::string out(8, '\0');
    for (std::size_t i = out.size(); i-- > 0; count >>= 8) out[i] = static_cast<char>(count & 0xFF);
    return out;
  }
  static MDB_val value(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }
  bool put_in(MDB_txn* txn, std::size_t table, const std::string& key, std::string_view text) {
    MDB_val name = value(key), bytes = value(text);
    return mdb_put(txn, tables_[table], &name, &bytes, 0) == 0;
  }

  MDB_env* env_ = nullptr;
  std::array<MDB_dbi, 4> tables_{};
  std::string before_;
  bool ok_ = false;
};

void bare(benchmark::State& state, bool all) {
  const Directory directory;
  BareStore store(directory.path());
  std::uint64_t count = 0;
  for (auto _ : state)
    if (!store.put(++count, all)) return state.SkipWithError("LMDB refuses a put");
}
void StoreBarePut(benchmark::State& state) { bare(state, false); }
void StoreBarePuts(benchmark::State& state) { bare(state, true); }
BENCHMARK(StoreBarePut)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(StoreBarePuts)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
}  // namespace agentd::bench
