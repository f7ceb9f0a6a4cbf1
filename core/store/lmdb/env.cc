// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/env.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "core/store/lmdb/clean_mark.h"
#include "core/store/lmdb/home.h"
#include "core/store/lmdb/lock_file.h"
#include "core/store/lmdb/pages.h"

namespace agentd {
namespace {

static_assert(usable_lmdb(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH),
              "build with LMDB 0.9.24, or 0.9.32 and later");

constexpr MDB_dbi kTablesMax = 16;
constexpr std::uint64_t kMapBytesMin = 256 * 1024;
constexpr std::uint64_t kReaderCheckNs = 60'000'000'000;

// Disk space kept for deletions; see keep_reserve().
constexpr off_t kReserveBytes = 1 << 20, kReserveBytesMin = 64 << 10;
// LMDB reports a short write as EIO. With less than this left the disk was full.
constexpr std::uint64_t kFullBelowBytes = 1 << 20;

// The buffers of changed pages that a transaction of so many puts and erasures uses at most: for each a page, the one
// that it is split into, and a page for a long value, with those above them.
constexpr std::uint64_t kBuffersMin = 64, kBuffersMax = 16'384;
std::uint64_t buffers_of(std::uint64_t writes) { return std::min(kBuffersMin + 4 * writes, kBuffersMax); }

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + 65'535) / 65'536 * 65'536; }

MDB_val to_val(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};  // LMDB does not write to it
}

std::string_view to_view(const MDB_val& value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }

Result<void> check_library() {
  int major = 0, minor = 0, patch = 0;
  const char* text = mdb_version(&major, &minor, &patch);
  if (usable_lmdb(major, minor, patch)) return {};
  return Error{Code::kInvalid,
               "this machine's " + std::string(text) + " has a faulty lock table: install 0.9.24, or 0.9.32 and later"};
}

// A reader takes a slot in the lock file, which may be on a page that no reader has used.
int begin_in(MDB_env* env, const std::string& directory, unsigned flags, MDB_txn** txn) {
  const FaultScope faults(directory);
  return mdb_txn_begin(env, nullptr, flags, txn);
}

bool is_of_the_disk(int status) { return status == ENOSPC || status == EDQUOT || status == EIO; }

}  // namespace

void end_by_assertion(MDB_env* env, const char* what) {
  const auto* const directory = static_cast<const std::string*>(mdb_env_get_userctx(env));
  end_by_damage(directory->c_str(), what);
}

Result<void> open_environment(MDB_env* env, const std::string& directory, bool read_only) {
  const std::string opening = "opening the store " + directory;
  const FaultScope faults(directory);
  const bool locks = !read_only || may_lock(directory);
  if (locks) AGENTD_TRY_VOID(allocate_lock_file(directory));
  const unsigned flags = MDB_NOTLS | (read_only ? MDB_RDONLY : 0u) | (locks ? 0u : MDB_NOLOCK);
  const int status = mdb_env_open(env, directory.c_str(), flags, 0600);
  if (status == ENOSPC || status == EDQUOT) return no_space(opening);
  if (status != MDB_SUCCESS) return lmdb_error(opening, status);
  return {};
}

Error lmdb_error(std::string_view doing, int status) {
  const std::string what = std::string(doing) + ": ";
  switch (status) {
    case MDB_MAP_FULL:
      return {Code::kUnavailable, what + "it has reached its largest size: delete conversations or raise the limit"};
    case MDB_PANIC:
      return {Code::kUnavailable, what + "an earlier write to its file failed: close and reopen the store"};
    case MDB_READERS_FULL:
      return {Code::kUnavailable, what + "too many readers at the moment: try again"};
    case MDB_TXN_FULL:
      return {Code::kInvalid, what + "the change is too large for one commit"};
    case MDB_VERSION_MISMATCH:
      return {Code::kInvalid, what + "it was written by another major version of LMDB"};
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
      return {Code::kCorrupt, what + "it is damaged (" + mdb_strerror(status) + "); " + kDamageAdvice};
    default:
      break;
  }
  if (status > 0) return errno_error(doing, status);
  return {Code::kInternal, what + mdb_strerror(status)};
}

// ---- Txn

Txn::Txn(const Env& env, MapUse map, MDB_txn* txn)
    : env_(&env), faults_(env.directory()), map_(std::move(map)), txn_(txn) {}

const std::string& Txn::directory() const { return env_->directory(); }

Error Txn::error_of(int status) const {
  status_ = status;
  return lmdb_error(env_->doing(false), status);
}

Result<MDB_dbi> Txn::open_table(const char* name, bool create) {
  MDB_dbi table = 0;
  const int status = mdb_dbi_open(txn_.get(), name, create ? MDB_CREATE : 0, &table);
  if (status == MDB_NOTFOUND) return Error{Code::kNotFound, "the store " + env_->directory() + " has no table " + name};
  if (status != MDB_SUCCESS) return error_of(status);
  return table;
}

Result<std::optional<std::string_view>> Txn::get(MDB_dbi table, std::string_view key) const {
  MDB_val k = to_val(key), value{};
  const int status = mdb_get(txn_.get(), table, &k, &value);
  if (status == MDB_NOTFOUND) return std::optional<std::string_view>{};
  if (status != MDB_SUCCESS) return error_of(status);
  return std::optional(to_view(value));
}

Result<void> Txn::put(MDB_dbi table, std::string_view key, std::string_view value) {
  ++writes_;
  MDB_val k = to_val(key), v = to_val(value);
  const int status = mdb_put(txn_.get(), table, &k, &v, 0);
  if (status != MDB_SUCCESS) return error_of(status);
  return {};
}

Result<void> Txn::erase(MDB_dbi table, std::string_view key) {
  ++writes_;
  MDB_val k = to_val(key);
  const int status = mdb_del(txn_.get(), table, &k, nullptr);
  if (status != MDB_SUCCESS && status != MDB_NOTFOUND) return error_of(status);
  return {};
}

Result<std::uint64_t> Txn::count(MDB_dbi table) const {
  MDB_stat stat{};
  const int status = mdb_stat(txn_.get(), table, &stat);
  if (status != MDB_SUCCESS) return error_of(status);
  return std::uint64_t{stat.ms_entries};
}

Result<void> Txn::keep_tables() {
  const int status = mdb_txn_commit(txn_.release());
  if (status != MDB_SUCCESS) return error_of(status);
  return {};
}

// ---- Cursor

Result<Cursor> Cursor::open(const Txn& txn, MDB_dbi table) {
  MDB_cursor* cursor = nullptr;
  const int status = mdb_cursor_open(txn.txn_.get(), table, &cursor);
  if (status != MDB_SUCCESS) return txn.error_of(status);
  return Cursor(txn, cursor);
}

Result<std::optional<Row>> Cursor::move(MDB_cursor_op op, std::string_view key) {
  MDB_val k = to_val(key), value{};
  const int status = mdb_cursor_get(cursor_.get(), &k, &value, op);
  if (status == MDB_NOTFOUND) return std::optional<Row>{};
  if (status != MDB_SUCCESS) return txn_->error_of(status);
  return std::optional(Row{to_view(k), to_view(value)});
}

Result<std::optional<Row>> Cursor::at_or_after(std::string_view key) { return move(MDB_SET_RANGE, key); }

Result<std::optional<Row>> Cursor::before(std::string_view key) {
  AGENTD_TRY(const std::optional<Row> row, at_or_after(key));
  return row ? previous() : last();
}

// ---- Env

Result<std::unique_ptr<Env>> Env::open(const LmdbOptions& options, const Clock& clock, bool fresh) {
  AGENTD_TRY_VOID(check_library());
  std::unique_ptr<Env> env(new Env(options, clock));
  AGENTD_TRY_VOID(env->start(fresh));
  return env;
}

Env::~Env() {
  if (env_ != nullptr) mdb_env_close(env_);
  if (!wrote_) return;
  if (const auto state = file_state(options_.directory); state) mark_clean(options_.directory, *state);
}

std::string Env::doing(bool writing) const {
  return (writing ? "writing the store " : "reading the store ") + options_.directory;
}

Result<void> Env::start(bool fresh) {
  const std::string opening = "opening the store " + options_.directory;
  auto claimed = claim_process(options_.directory);
  // On a medium that cannot be written LMDB takes no locks, so there are none to break.
  if (!claimed && (!options_.read_only || claimed.error().code != Code::kDenied)) return claimed.error();
  if (claimed) claim_ = std::move(*claimed);
  if (const int status = mdb_env_create(&env_); status != MDB_SUCCESS) return lmdb_error(opening, status);
  // LMDB passes it back, end_by_assertion() reads it.
  mdb_env_set_userctx(env_, const_cast<std::string*>(&options_.directory));
  mdb_env_set_assert(env_, end_by_assertion);
  mdb_env_set_maxdbs(env_, kTablesMax);
  mdb_env_set_maxreaders(env_, kReadersMax);
  // An existing store has its own size.
  if (fresh)
    mdb_env_set_mapsize(
        env_, round_up(std::clamp(options_.map_bytes, kMapBytesMin, std::max(kMapBytesMin, options_.map_bytes_max))));
  AGENTD_TRY_VOID(open_environment(env_, options_.directory, options_.read_only));
  if (!options_.read_only || may_lock(options_.directory)) shared_lock_ = share_lock_file(options_.directory);
  int fd = -1;
  mdb_env_get_fd(env_, &fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  clear_dead_readers();
  if (!options_.read_only) {
    keep_reserve();
    wipes_ = UniqueFd(::open((options_.directory + "/wipes").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    wipes_seen_ = wipes();
  }
  return check_length();
}

// An unused file whose blocks a deletion gets when the disk is full, because a deletion writes pages before it frees
// some.
void Env::keep_reserve() const {
  const std::string path = options_.directory + "/reserve";
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && info.st_size >= kReserveBytes) return;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return;
  // Without blocks it would be useless, so on a nearly full disk it is as large as possible.
  for (off_t bytes = kReserveBytes; bytes >= kReserveBytesMin; bytes /= 2)
    if (::fallocate(fd.get(), 0, 0, bytes) == 0) return;
  if (info.st_size == 0) ::unlink(path.c_str());
}

bool Env::disk_is_full() const {
  struct statvfs disk {};
  if (::statvfs(options_.directory.c_str(), &disk) != 0) return false;
  const std::uint64_t blocks = ::geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
  return blocks * disk.f_frsize < kFullBelowBytes;
}

// True if the file has reached this process's size limit: LMDB reports a partly written page as EIO.
bool Env::is_as_large_as_allowed() const {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && file_bytes() >= limit.rlim_cur;
}

Error Env::write_failed(int status) const {
  if (status == EFBIG || (status == EIO && is_as_large_as_allowed())) return errno_error(doing(true), EFBIG);
  if (status != ENOSPC && status != EDQUOT && (status != EIO || !disk_is_full()))
    return lmdb_error(doing(true), status);
  return {Code::kUnavailable, doing(true) +
                                  ": no space left on the disk that holds it: free some, or delete "
                                  "conversations, and try again"};
}

Result<void> Env::check_length() {
  const std::uint64_t has = file_bytes(), needs = used_bytes();
  if (has >= needs) return {};
  int fd = -1;
  mdb_env_get_fd(env_, &fd);
  // Allocating never shortens the file, whatever another process does to it at the same time.
  if (needs - has <= kUnwrittenMax && !options_.read_only) {
    if (::fallocate(fd, 0, static_cast<off_t>(has), static_cast<off_t>(needs - has)) == 0) return {};
    if (errno == ENOSPC || errno == EDQUOT) return no_space("opening the store " + options_.directory);
  }
  return Error{Code::kCorrupt, "the store " + options_.directory + " was truncated: data.mdb has " +
                                   std::to_string(has) + " bytes and needs " + std::to_string(needs) +
                                   ": restore a copy"};
}

void Env::clear_dead_readers() const {
  const FaultScope faults(options_.directory);
  int dead = 0;
  mdb_reader_check(env_, &dead);
  readers_checked_ns_ = clock_.monotonic_ns();
}

MDB_envinfo Env::usage() const {
  MDB_envinfo info{};
  if (!unmapped_) mdb_env_info(env_, &info);
  return info;
}

std::uint64_t Env::used_bytes(const MDB_envinfo& usage) const {
  MDB_stat stat{};
  if (!unmapped_) mdb_env_stat(env_, &stat);
  return (std::uint64_t{usage.me_last_pgno} + 1) * stat.ms_psize;
}

std::uint64_t Env::map_bytes() const {
  const MapUse map(map_gate_);
  return usage().me_mapsize;
}

std::uint64_t Env::used_bytes() const {
  const MapUse map(map_gate_);
  return used_bytes(usage());
}

std::uint64_t Env::file_bytes() const {
  int fd = -1;
  struct stat info {};
  mdb_env_get_fd(env_, &fd);
  return ::fstat(fd, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// REQUIRES: the caller has shut the gate. 0 = the file's own size, after another process enlarged it.
Result<void> Env::resize(std::uint64_t bytes) const {
  const int status = mdb_env_set_mapsize(env_, bytes);
  if (status == MDB_SUCCESS) return {};
  // LMDB has unmapped the old map and could not make the new one.
  unmapped_ = status != EINVAL;
  return lmdb_error("resizing the store " + options_.directory, status);
}

Result<Txn> Env::begin(unsigned flags) const {
  const std::string what = doing(flags == 0);
  for (int attempt = 0;; ++attempt) {
    MapUse map(map_gate_);
    if (unmapped_) return Error{Code::kUnavailable, what + ": no memory for its map: close and reopen it"};
    MDB_txn* txn = nullptr;
    const int status = begin_in(env_, options_.directory, flags, &txn);
    if (status == MDB_SUCCESS) return Txn(*this, std::move(map), txn);
    if (attempt == 8) return lmdb_error(what, status);
    if (status == MDB_MAP_RESIZED) {
      map.end();
      const MapChange alone(map_gate_);
      AGENTD_TRY_VOID(resize(0));
    } else if (status == MDB_READERS_FULL && attempt == 0) {
      clear_dead_readers();
    } else {
      return lmdb_error(what, status);
    }
  }
}

Result<Txn> Env::begin_read() const { return begin(MDB_RDONLY); }

std::uint64_t Env::map_limit(Room room) const {
  const std::uint64_t most = round_up(std::max(options_.map_bytes_max, kMapBytesMin));
  return room == Room::kOrdinary ? most : round_up(most + most / 10 + (1 << 20));
}

// Runs before a write: grows while a tenth is left, so that a later write need not; and restores the reserve that a
// deletion used.
Result<void> Env::make_room(Room room) {
  std::uint64_t map = 0, used = 0;
  {
    const MapUse use(map_gate_);
    const MDB_envinfo now = usage();
    map = now.me_mapsize;
    used = used_bytes(now);
  }
  const std::uint64_t most = map_limit(Room::kOrdinary);
  if (used > map - map / 10 && map < most) {
    AGENTD_TRY([[maybe_unused]] const bool grew, grow(Room::kOrdinary, map));
  } else if (room == Room::kOrdinary && map > std::max(most, round_up(used))) {
    const MapChange alone(map_gate_);
    return resize(std::max(most, round_up(used)));
  }
  return {};
}

// True if the map is larger than when it had `seen` bytes.
Result<bool> Env::grow(Room room, std::uint64_t seen) {
  const MapChange alone(map_gate_);
  if (usage().me_mapsize > seen) return true;
  const std::uint64_t target = std::min(seen * 2, map_limit(room));
  if (target <= seen) return false;
  AGENTD_TRY_VOID(resize(target));
  return true;
}

// 0 = none, or the number cannot be read.
std::uint64_t Env::wipes() const {
  std::uint64_t out = 0;
  return ::pread(wipes_.get(), &out, sizeof out, 0) == sizeof out ? out : 0;
}

// REQUIRES: no process can write.
Result<void> Env::count_wipe() {
  const std::uint64_t next = wipes() + 1;
  if (::pwrite(wipes_.get(), &next, sizeof next, 0) == sizeof next) return {};
  return errno_error("writing " + options_.directory + "/wipes", errno);
}

// LMDB keeps the buffers of written pages for later ones and does not clear them: what a page of then had would be
// written behind the rows of another. Each is filled with the zeros of a value that is never committed. Those that the
// first round has used for the pages above the values are the last ones to be used by the second.
Result<void> Env::clean_buffers(std::uint64_t buffers) {
  constexpr std::uint64_t kPageHeader = 16;
  for (std::uint64_t round = 0; round < 2; ++round) {
    AGENTD_TRY(Txn txn, begin(0));
    MDB_stat stat{};
    if (const int status = mdb_env_stat(env_, &stat); status != MDB_SUCCESS) return txn.error_of(status);
    MDB_dbi table = 0;
    if (const int status = mdb_dbi_open(txn.txn_.get(), nullptr, 0, &table); status != MDB_SUCCESS)
      return txn.error_of(status);
    const std::string zeros(stat.ms_psize - kPageHeader, '\0');
    const std::uint64_t most = buffers + round * (buffers / 16 + kBuffersMin);
    for (std::uint64_t i = 0; i < most; ++i) {
      const auto put = txn.put(table, "~" + std::to_string(i), zeros);
      if (!put && txn.status_ == MDB_MAP_FULL) break;
      if (!put) return put.error();
    }
  }
  return {};
}

// False: the map is full.
Result<bool> Env::try_write(const std::function<Result<void>(Txn&)>& change) {
  AGENTD_TRY(Txn txn, begin(0));
  if (const std::uint64_t wipes = this->wipes(); wipes != wipes_seen_) {
    { const Txn ended(std::move(txn)); }
    AGENTD_TRY_VOID(clean_buffers(buffers_most_));
    wipes_seen_ = wipes;
    return try_write(change);
  }
  const auto changed = change(txn);
  if (const std::uint64_t used = buffers_of(txn.writes()); used > buffers_most_) buffers_most_ = used;
  if (!changed) {
    if (txn.status_ == MDB_MAP_FULL) return false;
    disk_full_ = is_of_the_disk(txn.status_);
    return disk_full_ ? write_failed(txn.status_) : changed.error();
  }
  const int status = mdb_txn_commit(txn.txn_.release());
  if (status == MDB_MAP_FULL) return false;
  if (status != MDB_SUCCESS) {
    disk_full_ = is_of_the_disk(status);
    return write_failed(status);
  }
  wrote_ = true;
  return true;
}

Result<void> Env::write(Room room, const std::function<Result<void>(Txn&)>& change) {
  disk_full_ = false;
  Result<void> written = write_within(room, change);
  if (written || room != Room::kReserve || !disk_full_) return written;
  ::unlink((options_.directory + "/reserve").c_str());
  written = write_within(room, change);
  keep_reserve();  // if deleting freed space; otherwise at the next opening with free space
  return written;
}

namespace {

// A line of mdb_reader_list: process, thread, and the number of its transaction, or "-" for none.
int note_reader(const char* line, void* oldest) {
  std::string_view text(line);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::string_view last = text.substr(text.find_last_of(' ') + 1);
  std::uint64_t number = 0;
  const auto read = std::from_chars(last.data(), last.data() + last.size(), number);
  auto& out = *static_cast<std::uint64_t*>(oldest);
  if (read.ec == std::errc() && read.ptr == last.data() + last.size()) out = std::min(out, number);
  return 0;
}

}  // namespace

Result<void> Env::alone(const std::function<Result<void>(const Quiet&)>& work) {
  if (options_.read_only) return Error{Code::kDenied, doing(true) + ": it was opened read-only"};
  clear_dead_readers();
  AGENTD_TRY(const Txn txn, begin(0));
  Quiet quiet;
  mdb_env_get_fd(env_, &quiet.fd);
  quiet.newest = mdb_txn_id(txn.txn_.get()) - 1;
  quiet.oldest = quiet.newest - std::min<std::uint64_t>(quiet.newest, 1);
  if (const int status = mdb_reader_list(env_, note_reader, &quiet.oldest); status < 0)
    return lmdb_error(doing(true), status);
  wrote_ = true;
  AGENTD_TRY_VOID(work(quiet));
  return count_wipe();
}

Result<void> Env::write_within(Room room, const std::function<Result<void>(Txn&)>& change) {
  if (options_.read_only) return Error{Code::kDenied, doing(true) + ": it was opened read-only"};
  if (clock_.monotonic_ns() - readers_checked_ns_ > kReaderCheckNs) clear_dead_readers();
  AGENTD_TRY_VOID(make_room(room));
  for (;;) {
    const std::uint64_t seen = map_bytes();
    AGENTD_TRY(const bool written, try_write(change));
    if (written) return {};
    AGENTD_TRY(const bool grew, grow(room, seen));
    if (!grew) return lmdb_error(doing(true), MDB_MAP_FULL);
  }
}

}  // namespace agentd
