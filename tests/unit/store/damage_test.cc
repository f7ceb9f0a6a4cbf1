// SPDX-License-Identifier: Apache-2.0
// damage_test.cc - stores whose file was changed from outside: what is reported, what is saved, and that no process
// crashes.
#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/store/lmdb/clean_mark.h"
#include "core/store/lmdb/fault.h"
#include "core/store/lmdb/lock_file.h"
#include "core/store/lmdb/pages.h"
#include "core/store/store_care.h"
#include "tests/unit/store/store_support.h"

namespace agentd {
namespace {

using test::id_of;
using test::opening;
using test::user_message;

constexpr std::size_t kPageBytes = 4096;

// AGENTD_SEED plays one again.
std::uint64_t seed() {
  const char* const given = std::getenv("AGENTD_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

// Repeats everything more often: AGENTD_TORTURE=20 takes twenty times as long.
int times(int usual) {
  const char* const given = std::getenv("AGENTD_TORTURE");
  return given != nullptr ? usual * std::atoi(given) : usual;
}

class DamagedStore : public testing::Test {
 protected:
  static constexpr std::uint8_t kConversations = 12;

  void SetUp() override {
    seed_ = seed();
    random_.seed(seed_);
    RecordProperty("seed", std::to_string(seed_));
    if (whole_.empty()) {
      fill();
      whole_ = *read_file(path() + "/data.mdb", 1u << 30);
    } else {
      ::mkdir(path().c_str(), 0700);
      write(whole_);
    }
    ASSERT_OK(open_lmdb_store(options(), clock_));  // leaves its mark
    contents_ = contents();
    ASSERT_FALSE(contents_.empty());
  }
  void TearDown() override {
    if (HasFailure()) std::printf("seed: AGENTD_SEED=%llu\n", static_cast<unsigned long long>(seed_));
  }

  std::string path() const { return dir_ / "store"; }
  LmdbOptions options(bool read_only = false) const {
    LmdbOptions out;
    out.directory = path();
    out.create = false;
    out.read_only = read_only;
    return out;
  }
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }

  // Texts in pages of their own, in blobs and among others; receipts, keys, and freed pages.
  void fill() {
    LmdbOptions made = options();
    made.create = true;
    const auto store = test::open_store(made, clock_);
    HookReceipt receipt;
    receipt.hook = "guard";
    receipt.event = "agent_stop";
    receipt.payload = std::make_shared<const std::string>("{\"event\":\"agent_stop\"}");
    receipt.payload_digest = sha256(*receipt.payload);
    for (std::uint8_t number = 1; number <= kConversations; ++number) {
      const Ulid id = id_of(number);
      ASSERT_OK(store->append(id, 0, opening(id, "title " + std::to_string(number)), {{"a prompt"}}));
      std::uint64_t revision = 2;
      for (int i = 0; i < 12; ++i) {
        const std::size_t size = i == 5 ? 70'000 : i % 3 == 0 ? 3'000 : 40 * (1 + static_cast<std::size_t>(number));
        ASSERT_OK(store->append(id, revision, {{user_message(std::string(size, static_cast<char>('a' + i)))}}, {},
                                {{receipt}}));
        ++revision;
        const std::vector<KeyOp> ops{{KeyOp::Kind::kPut, "k" + std::to_string(i), std::string(100, 'v'), KeyOp::kAny}};
        ASSERT_OK(store->commit_keys("space" + std::to_string(number % 3), ops));
      }
    }
    for (const std::uint8_t number : {std::uint8_t{3}, std::uint8_t{7}}) ASSERT_OK(store->remove(id_of(number)));
  }

  void write(const std::string& bytes) const {
    std::ofstream(path() + "/data.mdb", std::ios::binary | std::ios::trunc) << bytes;
  }

  // All contents of the store as one text; empty when something cannot be read.
  std::string contents() const {
    auto store = open_lmdb_store(options(true), clock_);
    if (!store) return {};
    std::string out;
    ConversationQuery all;
    all.limit = 1'000;
    const auto list = (*store)->list(all);
    if (!list) return {};
    for (const ConversationInfo& info : *list) {
      out += write_info(info) + "\n";
      const Ulid id = *Ulid::parse(info.id);
      bool read = true;
      const auto records = (*store)->read(id, 1, 0, [&](const StoredRecord& record) {
        out += std::to_string(record.seq) + " " + std::to_string(record.time_ms) + record.record.payload + "\n";
        return true;
      });
      const auto receipts = (*store)->receipts(id, [&](const HookReceipt& receipt) {
        out += write_receipt(receipt);
        const auto payload = (*store)->blob(receipt.payload_digest);
        read = read && payload;
        if (payload) out += *payload;
        return true;
      });
      if (!records || !receipts || !read || !(*store)->verify(id)) return {};
    }
    return out;
  }

  // The outcome of a separate process: its exit code, or 128 + signal.
  static int in_child(const std::function<int()>& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const UniqueFd nothing(::open("/dev/null", O_WRONLY));
      ::dup2(nothing.get(), STDERR_FILENO);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // 0 = it reads as before; 1 = different, or an error; kDamagedStoreExit = ended with the sentence.
  int read_again(bool guarded) const {
    return in_child([&] {
      if (guarded) catch_store_faults();
      return contents() == contents_ ? 0 : 1;
    });
  }

  // The rows of conversations in the current file whose values are all in it unchanged.
  std::set<std::string> untouched(const std::string& bytes) const {
    write(whole_);
    auto before = Pages::open(path() + "/data.mdb");
    EXPECT_OK(before);
    std::map<std::string, std::string> values;
    const auto rows = before->rows("log"), blobs = before->rows("blob");
    for (const auto* list : {&rows, &blobs})
      for (const auto& row : *list) values[row.key] = *before->value(row);
    write(bytes);
    std::set<std::string> out, damaged;
    auto after = Pages::open(path() + "/data.mdb");
    const auto same = [&](const Pages::Row& row) {
      const std::size_t at = static_cast<std::size_t>(row.page) * kPageBytes;
      const auto value = after ? after->value(row) : Result<std::string>(after.error());
      return value && *value == values[row.key] && bytes.compare(at, kPageBytes, whole_, at, kPageBytes) == 0;
    };
    const bool all_blobs = std::all_of(blobs.begin(), blobs.end(), same);
    for (const Pages::Row& row : rows) {
      const std::string id = Ulid::parse(id_text(row.key))->text();
      out.insert(id);
      if (!all_blobs || !same(row)) damaged.insert(id);
    }
    for (const std::string& id : damaged) out.erase(id);
    return out;
  }
  static std::string id_text(const std::string& key) {
    std::array<std::uint8_t, 16> bytes{};
    std::copy_n(key.begin(), 16, reinterpret_cast<char*>(bytes.data()));
    return Ulid(bytes).text();
  }

  // With these bytes in the file, LMDB does not crash, the change is reported, and the rest can be saved.
  void expect_survived(const std::string& bytes, const std::string& what) {
    SCOPED_TRACE(what + ", AGENTD_SEED=" + std::to_string(seed_));
    write(bytes);
    const int read = read_again(true);
    EXPECT_LT(read, 128) << "ended by a signal";
    const auto report = check_store(path());
    const bool reported = !report || !report->damage.empty();
    if (read != 0) {
      ++effective_;
      EXPECT_TRUE(reported) << "read as " << read;
    }
    if (!reported) return;
    ++reported_;
    const std::set<std::string> expected = untouched(bytes);
    const std::string to = dir_ / ("saved" + std::to_string(++saved_));
    const auto salvaged = salvage_store(path(), to, clock_);
    if (!salvaged) {
      EXPECT_NE(salvaged.error().code, Code::kInternal) << salvaged.error().message;
      EXPECT_TRUE(expected.empty()) << salvaged.error().message;
      std::filesystem::remove_all(to);
      return;
    }
    EXPECT_FALSE(salvaged->lost.empty());
    LmdbOptions there = options();
    there.directory = to;
    const auto store = open_lmdb_store(there, clock_);
    ASSERT_OK(store);
    for (const std::string& id : expected) EXPECT_OK((*store)->verify(*Ulid::parse(id)));
    for (const std::string& id : expected) EXPECT_EQ((*store)->info(*Ulid::parse(id)).value_or({}).revision, 14u) << id;
    std::filesystem::remove_all(to);
  }

  test::TempDir dir_;
  ManualClock clock_;
  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
  static inline std::string whole_;  // made once
  std::string contents_;
  int effective_ = 0, reported_ = 0, saved_ = 0;
};

TEST_F(DamagedStore, AWholeStoreHasNothingToReport) {
  const auto report = check_store(path());
  ASSERT_OK(report);
  for (const StoreFinding& finding : report->damage) ADD_FAILURE() << text_of(finding);
  EXPECT_EQ(report->conversations, 10u);
  EXPECT_EQ(report->records, 140u);
  EXPECT_EQ(report->receipts, 120u);
  EXPECT_GT(report->blobs, 2u);
}

TEST_F(DamagedStore, BytesAtTheHeadsOfPagesAreReportedAndTheRestIsSaved) {
  for (int i = 0; i < times(60); ++i) {
    std::string bytes = whole_;
    const std::size_t page = below(bytes.size() / kPageBytes);
    const std::size_t at = page * kPageBytes + below(64);
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + below(255)));
    expect_survived(bytes, "byte " + std::to_string(at));
  }
  EXPECT_GT(effective_, 5);
}

TEST_F(DamagedStore, BytesAnywhereAreReportedAndTheRestIsSaved) {
  for (int i = 0; i < times(60); ++i) {
    std::string bytes = whole_;
    const std::size_t at = below(bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + below(255)));
    expect_survived(bytes, "byte " + std::to_string(at));
  }
}

// A damaged key name may be among those of another space, out of order, and before older ones.
TEST_F(DamagedStore, ADamagedNameOfAKeyCostsNoOther) {
  const std::string name("space1\0", 7);
  int names = 0;
  for (std::size_t at = whole_.find(name); at != std::string::npos; at = whole_.find(name, at + 1)) {
    std::string bytes = whole_;
    bytes[at + 3] = static_cast<char>('A' + names++ % 26);
    expect_survived(bytes, "name at " + std::to_string(at));
  }
  EXPECT_GT(names, 2);
}

TEST_F(DamagedStore, PagesThatAreOverwrittenOrExchangedAreReported) {
  for (int i = 0; i < times(30); ++i) {
    std::string bytes = whole_;
    const std::size_t a = below(bytes.size() / kPageBytes) * kPageBytes;
    const std::size_t b = below(bytes.size() / kPageBytes) * kPageBytes;
    if (i % 2 == 0) {
      std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a),
                       bytes.begin() + static_cast<std::ptrdiff_t>(a + kPageBytes),
                       bytes.begin() + static_cast<std::ptrdiff_t>(b));
    } else {
      for (std::size_t at = a; at < a + kPageBytes; ++at) bytes[at] = static_cast<char>(below(256));
    }
    expect_survived(bytes, "pages " + std::to_string(a / kPageBytes) + " and " + std::to_string(b / kPageBytes));
  }
}

TEST_F(DamagedStore, AFileThatWasCutIsReported) {
  for (std::size_t page = 0; page < whole_.size() / kPageBytes; page += 1 + below(8))
    expect_survived(whole_.substr(0, page * kPageBytes), "cut at page " + std::to_string(page));
}

TEST_F(DamagedStore, AnOlderMetaPageIsReported) {
  {
    const auto store = test::open_store(options(), clock_);
    for (int i = 0; i < 4; ++i)
      ASSERT_OK(store->append(id_of(1), 14 + static_cast<std::uint64_t>(i), {{user_message("x")}}));
  }
  const std::string newer = *read_file(path() + "/data.mdb", 1u << 30);
  for (const std::size_t page : {0u, 1u}) {
    const std::string mixed = newer.substr(0, page * kPageBytes) + whole_.substr(page * kPageBytes, kPageBytes) +
                              newer.substr((page + 1) * kPageBytes);
    write(mixed);
    const auto report = check_store(path());
    ASSERT_OK(report);
    EXPECT_FALSE(report->damage.empty()) << page;
  }
}

// The purpose of the guards: without them the same damage ends a process by a signal. The number of the last page is
// eight bytes of a meta page without a checksum.
TEST_F(DamagedStore, AMetaPageThatNamesPagesWithoutEndIsReportedAtOnce) {
  for (const std::size_t meta : {std::size_t{0}, std::size_t{1}}) {
    std::string bytes = whole_;
    bytes[meta * kPageBytes + 16 + 24 + 2 * 48 + 4] = 8;  // 2^35 pages
    const int code = in_child([&] {
      const rlimit seconds{20, 20};
      if (::setrlimit(RLIMIT_CPU, &seconds) != 0) return 2;
      expect_survived(bytes, "meta page " + std::to_string(meta));
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(code, 0) << "meta page " << meta;
  }
}

TEST_F(DamagedStore, OneMetaPageIsEnoughToSaveEverything) {
  constexpr std::size_t kMagicAt = 16, kMapBytesAt = 32, kLastPageAt = 136, kTransactionAt = 144;
  for (const std::size_t meta : {std::size_t{0}, std::size_t{1}}) {
    for (const std::size_t at : {kMagicAt, kMapBytesAt + 6, kLastPageAt + 5, kTransactionAt, kTransactionAt + 6}) {
      std::string bytes = whole_;
      char& damaged = bytes[meta * kPageBytes + at];
      damaged = static_cast<char>(damaged ^ 1);
      write(bytes);
      SCOPED_TRACE("meta page " + std::to_string(meta) + ", byte " + std::to_string(at));
      const auto report = check_store(path());
      ASSERT_OK(report);
      EXPECT_FALSE(report->damage.empty());
      const std::string to = dir_ / ("saved" + std::to_string(++saved_));
      const auto salvaged = salvage_store(path(), to, clock_);
      ASSERT_OK(salvaged);
      LmdbOptions there = options();
      there.directory = to;
      const auto store = open_lmdb_store(there, clock_);
      ASSERT_OK(store);
      for (std::uint8_t number = 1; number <= kConversations; ++number) {
        if (number == 3 || number == 7) continue;
        EXPECT_OK((*store)->verify(id_of(number)));
        EXPECT_EQ((*store)->info(id_of(number)).value_or({}).revision, 14u) << number;
      }
      std::filesystem::remove_all(to);
    }
  }
}

TEST_F(DamagedStore, WhatWasStoredLastIsSavedWithTheMetaPageBeforeIt) {
  {
    const auto store = open_lmdb_store(options(), clock_);
    ASSERT_OK(store);
    ASSERT_OK((*store)->append(id_of(1), 14, {{user_message("the last word")}}));
  }
  const std::string bytes = *read_file(path() + "/data.mdb", 1u << 30);
  for (const std::size_t meta : {std::size_t{0}, std::size_t{1}}) {
    SCOPED_TRACE(meta);
    std::string damaged = bytes;
    damaged[meta * kPageBytes + 16] = 0;
    write(damaged);
    const std::string to = dir_ / ("saved" + std::to_string(++saved_));
    ASSERT_OK(salvage_store(path(), to, clock_));
    LmdbOptions there = options();
    there.directory = to;
    const auto store = open_lmdb_store(there, clock_);
    ASSERT_OK(store);
    EXPECT_OK((*store)->verify(id_of(1)));
    EXPECT_EQ((*store)->info(id_of(1)).value_or({}).revision, 15u);
  }
}

// The control for damaged meta pages: during writes one page is always ahead of the other.
TEST_F(DamagedStore, ACheckOfAStoreThatIsWrittenToFindsItIntact) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::close(ends[0]);
    auto store = open_lmdb_store(options(), clock_);
    if (!store) ::_exit(1);
    for (std::uint64_t revision = 14;; ++revision) {
      if (!(*store)->append(id_of(1), revision, {{user_message("more")}})) ::_exit(2);
      if (::write(ends[1], "", 1) != 1) ::_exit(0);
    }
  }
  ::close(ends[1]);
  const UniqueFd from(ends[0]);
  std::atomic<std::uint64_t> written{0};
  std::thread reader([&] {
    char bytes[64];
    for (ssize_t got = 1; (got = ::read(from.get(), bytes, sizeof bytes)) > 0;)
      written += static_cast<std::uint64_t>(got);
  });
  while (written == 0) ::usleep(1'000);
  const std::uint64_t before = written;
  for (int i = 0; i < 60; ++i) {
    const auto report = check_store(path());
    EXPECT_OK(report);
    for (const StoreFinding& finding : report.value_or({}).damage) ADD_FAILURE() << text_of(finding);
  }
  EXPECT_OK(backup_store(path(), dir_ / "backup"));
  EXPECT_GT(written, before + 10) << "nobody wrote meanwhile";
  ::kill(writer, SIGKILL);
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  reader.join();
}

TEST_F(DamagedStore, ARawReaderCrashesOnSomeDamage) {
  const auto raw = [&] {
    return in_child([&] {
      const rlimit seconds{5, 5};  // pages that lead back to themselves are read for ever
      if (::setrlimit(RLIMIT_CPU, &seconds) != 0) return 1;
      MDB_env* env = nullptr;
      MDB_txn* txn = nullptr;
      MDB_dbi names = 0;
      std::size_t sum = 0;
      if (mdb_env_create(&env) != 0 || mdb_env_set_maxdbs(env, 16) != 0 ||
          mdb_env_open(env, path().c_str(), MDB_RDONLY, 0600) != 0 ||
          mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn) != 0 || mdb_dbi_open(txn, nullptr, 0, &names) != 0)
        return 1;
      for (const char* table : {"log", "head", "info", "changes", "blob", "mentions", "kv", "receipts"}) {
        MDB_dbi dbi = 0;
        MDB_cursor* cursor = nullptr;
        MDB_val key{}, value{};
        if (mdb_dbi_open(txn, table, 0, &dbi) != 0 || mdb_cursor_open(txn, dbi, &cursor) != 0) return 1;
        while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
          for (std::size_t at = 0; at < value.mv_size; ++at)
            sum += *(static_cast<volatile unsigned char*>(value.mv_data) + at);
      }
      return sum == 0 ? 1 : 0;
    });
  };
  int died = 0;
  for (int i = 0; i < 600 && died == 0; ++i) {
    std::string bytes = whole_;
    const std::size_t page = 2 + below(bytes.size() / kPageBytes - 2);
    for (int byte = 0; byte < 16; ++byte) bytes[page * kPageBytes + below(64)] = static_cast<char>(below(256));
    write(bytes);
    if (raw() >= 128) ++died;
    if (died == 0) continue;
    EXPECT_LT(read_again(true), 128) << "AGENTD_SEED=" << seed_;
  }
  EXPECT_GT(died, 0);
}

// ---- the mark

TEST_F(DamagedStore, AStoreThatWasClosedNormallyIsNotChecked) {
  int looks = 0;
  LmdbOptions counted = options();
  counted.apart = [&](const std::function<Result<void>()>& look) {
    ++looks;
    return look();
  };
  ASSERT_OK(open_lmdb_store(counted, clock_));
  EXPECT_EQ(looks, 0);
  // Another file, with the same bytes.
  write(whole_);
  ASSERT_OK(open_lmdb_store(counted, clock_));
  EXPECT_EQ(looks, 1);
  ASSERT_OK(open_lmdb_store(counted, clock_));
  EXPECT_EQ(looks, 1);
}

TEST_F(DamagedStore, AStoreOfAProcessThatWasKilledIsCheckedOnce) {
  EXPECT_EQ(in_child([&] {
              auto store = open_lmdb_store(options(), clock_);
              if (!store || !(*store)->append(id_of(1), 14, {{user_message("x")}})) return 1;
              ::kill(::getpid(), SIGKILL);
              return 0;
            }),
            128 + SIGKILL);
  EXPECT_FALSE(is_marked_clean(path()));
  ASSERT_OK(open_lmdb_store(options(), clock_));
  EXPECT_TRUE(is_marked_clean(path()));
}

TEST_F(DamagedStore, WhatAnotherProcessWritesMeanwhileIsNoDamage) {
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto store = open_lmdb_store(options(), clock_);
    char byte = store && (*store)->append(id_of(1), 14, {{user_message("x")}}) ? '1' : '0';
    if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(1);
    store = Error{};
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, '1');
  EXPECT_FALSE(is_marked_clean(path()));
  LmdbOptions never = options();
  never.apart = [](const std::function<Result<void>()>&) -> Result<void> { return Error{Code::kInternal, "looked"}; };
  EXPECT_OK(open_lmdb_store(never, clock_));
  EXPECT_OK(check_store(path()));
  EXPECT_TRUE(check_store(path())->damage.empty());
  ASSERT_EQ(::write(go[1], &byte, 1), 1);
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_marked_clean(path()));
  EXPECT_OK(open_lmdb_store(never, clock_));
}

TEST_F(DamagedStore, ACheckThatCrashesMeansDamage) {
  write(whole_);
  LmdbOptions dies = options();
  dies.apart = [](const std::function<Result<void>()>&) -> Result<void> {
    return Error{Code::kCorrupt, "it ended by SIGSEGV"};
  };
  const auto store = open_lmdb_store(dies, clock_);
  EXPECT_CODE(Code::kCorrupt, store);
  EXPECT_NE(store.error().message.find("it ended by SIGSEGV"), std::string::npos);
  EXPECT_NE(store.error().message.find("agentd store salvage"), std::string::npos);
}

// ---- salvage and backup

TEST_F(DamagedStore, WhatIsLostIsNamedByConversationAndSequence) {
  // In the middle of the text of one message of conversation 5.
  std::string bytes = whole_;
  auto pages = Pages::open(path() + "/data.mdb");
  ASSERT_OK(pages);
  for (const Pages::Row& row : pages->rows("log")) {
    if (row.key.substr(0, 16) != std::string(reinterpret_cast<const char*>(id_of(5).bytes().data()), 16) ||
        get_be64(row.key.data() + 16) != 9)
      continue;
    const std::size_t at = bytes.find(*pages->value(row));
    ASSERT_NE(at, std::string::npos);
    bytes[at + 150] = static_cast<char>(bytes[at + 150] ^ 1);
  }
  write(bytes);
  const auto report = check_store(path());
  ASSERT_OK(report);
  ASSERT_EQ(report->damage.size(), 1u);
  EXPECT_EQ(text_of(report->damage[0]),
            "conversation " + id_of(5).text() + ", sequence 9: the batch does not match its checksum");
  const auto salvaged = salvage_store(path(), dir_ / "new", clock_);
  ASSERT_OK(salvaged);
  ASSERT_EQ(salvaged->lost.size(), 1u);
  EXPECT_EQ(text_of(salvaged->lost[0]), "conversation " + id_of(5).text() +
                                            ", sequences 9 to the end: lost, the batch does not match its checksum");
  LmdbOptions there = options();
  there.directory = dir_ / "new";
  const auto store = test::open_store(there, clock_);
  EXPECT_EQ(store->info(id_of(5))->revision, 8u);
  EXPECT_EQ(store->info(id_of(6))->revision, 14u);
  EXPECT_EQ(store->list({})->size(), 10u);
  EXPECT_EQ(store->get_key("space1", "k3")->value, std::string(100, 'v'));
}

TEST_F(DamagedStore, ABackupIsAWholeStoreAndNeverOverwrites) {
  const std::string to = dir_ / "copy";
  ASSERT_OK(backup_store(path(), to));
  struct stat info {};
  ASSERT_EQ(::stat((to + "/data.mdb").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_CODE(Code::kConflict, backup_store(path(), to));
  std::filesystem::remove_all(path());
  std::filesystem::rename(to, path());
  EXPECT_EQ(contents(), contents_);
  std::string bytes = whole_;
  bytes.replace(5 * kPageBytes, kPageBytes, std::string(kPageBytes, 'x'));
  bytes.replace(6 * kPageBytes, kPageBytes, std::string(kPageBytes, 'x'));
  bytes.replace(7 * kPageBytes, kPageBytes, std::string(kPageBytes, 'x'));
  write(bytes);
  EXPECT_CODE(Code::kCorrupt, backup_store(path(), to));
  EXPECT_FALSE(std::filesystem::exists(to));
}

TEST_F(DamagedStore, AnEmptyFileOrAnEmptyDatabaseIsNoNewStore) {
  LmdbOptions may_make = options();
  may_make.create = true;
  write("");
  EXPECT_CODE(Code::kCorrupt, open_lmdb_store(may_make, clock_));
  EXPECT_EQ(std::filesystem::file_size(path() + "/data.mdb"), 0u);
  std::filesystem::remove(path() + "/data.mdb");
  MDB_env* env = nullptr;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, path().c_str(), 0, 0600), 0);
  mdb_env_close(env);
  const std::string before = *read_file(path() + "/data.mdb", 1u << 30);
  EXPECT_CODE(Code::kCorrupt, open_lmdb_store(may_make, clock_));
  EXPECT_EQ(*read_file(path() + "/data.mdb", 1u << 30), before);
}

// ---- the lock file on a full disk

// Reads a page that a mapped file does not have.
void touch_missing_page(const std::string& directory, const char* name) {
  const UniqueFd fd(::open((directory + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const void* const map = ::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  catch_store_faults();
  const FaultScope faults(directory);
  ::_exit(*static_cast<const volatile char*>(map));
}

TEST(LockFile, WithoutRoomIsAFullDiskAndNoDamage) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const test::TempDir dir;
  EXPECT_EXIT(touch_missing_page(dir.path(), "/lock.mdb"), testing::ExitedWithCode(kDamagedStoreExit),
              "^agentd: using the store .*: no space left on the disk that holds it: free some and try again\n$");
  for (const char* name : {"/data.mdb", "/lock.mdb.old"})
    EXPECT_EXIT(touch_missing_page(dir.path(), name), testing::ExitedWithCode(kDamagedStoreExit), "is damaged");
}

TEST(LockFile, HasItsBlocksAndKeepsItsSizeAndContents) {
  const test::TempDir dir;
  const std::string path = dir / "lock.mdb";
  std::ofstream(path) << "taken";
  ASSERT_OK(allocate_lock_file(dir.path()));
  EXPECT_EQ(*read_file(path, 100), "taken");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 32'768);
}

TEST(LockFile, OfAStoreHasTheSizeThatIsAllocated) {
  const test::TempDir dir;
  const SystemClock clock;
  ASSERT_OK(open_lmdb_store(LmdbOptions{dir / "store"}, clock));
  struct stat info {};
  ASSERT_EQ(::stat((dir / "store/lock.mdb").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 32'768);
  EXPECT_GE(info.st_blocks * 512, info.st_size);
}

}  // namespace
}  // namespace agentd
