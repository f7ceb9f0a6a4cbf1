// SPDX-License-Identifier: Apache-2.0
#include "core/trust/quarantine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <set>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/base/shell_word.h"
#include "core/codec/json.h"
#include "core/trust/safe_path.h"

namespace agentd {
namespace {

constexpr std::uint64_t kEntryBytesMax = 64 * 1024;
constexpr std::size_t kQuarantineFilesMax = 10'000;
constexpr int kQuarantineFormat = 1;
constexpr std::time_t kLeftoverSeconds = 60;
constexpr std::string_view kLoading = "loading-", kBeside = "new-", kSuffix = ".json";
constexpr std::string_view kCrashes = ".crashes";
constexpr std::size_t kCrashesMax = 1'000;          // kept per module
constexpr std::time_t kCrashesSeconds = 24 * 3600;  // how long they are kept after the last one
constexpr int kCrashesLockTries = 400;              // two seconds; only crashes and releases wait
constexpr Milliseconds kCrashesLockPause{5};

struct CloseQuarantine {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string file_of(std::string_view digest) { return std::string(digest) + std::string(kSuffix); }

// Empty for a file that is not an entry.
std::string_view digest_of(std::string_view file) {
  if (!file.ends_with(kSuffix)) return {};
  file.remove_suffix(kSuffix.size());
  return is_digest(file) ? file : std::string_view();
}

std::string text_of_entry(const QuarantineEntry& entry) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.begin_object().member("quarantine", kQuarantineFormat).member("name", entry.name);
  json.member("path", entry.path).member("digest", entry.digest).member("why", entry.why);
  json.member("since_ms", entry.since_ms).end_object();
  return std::string(json.text()) + "\n";
}

Result<QuarantineEntry> parse_entry(std::string_view text, const std::string& path) {
  const auto json = JsonDocument::parse(text);
  const JsonView root = json ? json->root() : JsonView();
  QuarantineEntry out;
  out.name = root["name"].string_or("");
  out.path = root["path"].string_or("");
  out.digest = root["digest"].string_or("");
  out.why = one_line(root["why"].string_or(""), 1000);
  out.since_ms = root["since_ms"].int_or(0);
  if (root["quarantine"].int_or(0) == kQuarantineFormat && !out.path.empty() && is_digest(out.digest)) return out;
  return Error{Code::kCorrupt, path + " does not name a quarantined hook, and is ignored: remove it"};
}

// Reads an entry only if agentd's user owns it.
Result<QuarantineEntry> read_entry_at(int directory, const std::string& name, const std::string& path) {
  AGENTD_TRY(const SafeFile file, open_safe_file(directory, name, path, ::geteuid()));
  AGENTD_TRY(const std::string text, read_fd(file.fd.get(), kEntryBytesMax, path));
  return parse_entry(text, path);
}

struct NewFile {
  UniqueFd fd;
  std::string name;
};

// Writes a locked temporary file; the caller renames it once it is complete.
Result<NewFile> write_beside(int directory, const std::string& path, const std::string& id, std::string_view text) {
  NewFile out;
  out.name = std::string(kBeside) + id;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  out.fd = UniqueFd(::openat(directory, out.name.c_str(), kFlags, 0600));
  if (!out.fd.valid()) return errno_error("writing into " + path, errno);
  Result<void> done = write_all(out.fd.get(), text);
  if (done && ::flock(out.fd.get(), LOCK_EX | LOCK_NB) != 0) done = errno_error("locking a file in " + path, errno);
  if (done) return out;
  ::unlinkat(directory, out.name.c_str(), 0);
  return done.error().with_context("writing into " + path);
}

Result<UniqueFd> write_as(int directory, const std::string& path, const std::string& name, const std::string& id,
                          std::string_view text) {
  AGENTD_TRY(NewFile file, write_beside(directory, path, id, text));
  if (::renameat(directory, file.name.c_str(), directory, name.c_str()) == 0) return std::move(file.fd);
  const int why = errno;
  ::unlinkat(directory, file.name.c_str(), 0);
  return errno_error("writing " + path + "/" + name, why);
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> out;
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseQuarantine> stream(copy.valid() ? ::fdopendir(copy.get()) : nullptr);
  if (!stream) return out;
  copy.release();  // the stream closes it
  while (const dirent* const entry = ::readdir(stream.get()))
    if (entry->d_name[0] != '.' && out.size() < kQuarantineFilesMax) out.emplace_back(entry->d_name);
  std::sort(out.begin(), out.end());
  return out;
}

// True when the process that made the file has ended.
bool is_abandoned(int directory, const std::string& name) {
  const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

// Removes a temporary file whose writer died before the rename.
void drop_leftover(int directory, const std::string& name) {
  struct stat info {};
  if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (std::time(nullptr) - info.st_mtime < kLeftoverSeconds) return;
  if (is_abandoned(directory, name)) ::unlinkat(directory, name.c_str(), 0);
}

std::string crashes_of(std::string_view digest) { return std::string(digest) + std::string(kCrashes); }

// False if the name now belongs to another file, or to none.
bool is_still(int directory, const std::string& name, int fd) {
  struct stat ours {
  }, there{};
  return ::fstat(fd, &ours) == 0 && ::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

// Opens and locks the file of that name; retries if the previous holder removed or replaced it.
Result<UniqueFd> open_crashes(int directory, const std::string& name, const std::string& path, const Clock& clock,
                              int more_flags, int tries) {
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | more_flags;
  UniqueFd fd;
  for (int i = 0; i < tries; ++i) {
    if (!fd.valid()) fd = UniqueFd(::openat(directory, name.c_str(), flags, 0600));
    struct stat info {};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return errno_error("writing " + path, errno);
    if (!S_ISREG(info.st_mode)) return Error{Code::kInvalid, path + " is not a regular file: remove it"};
    const bool locked = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
    if (locked && is_still(directory, name, fd.get())) return fd;
    if (locked)
      fd.reset();
    else if (i + 1 < tries)
      clock.pause(kCrashesLockPause);
  }
  return Error{Code::kBusy, path + " is locked by another process"};
}

// Processes that wait for the lock look again. A file that stays locked is removed nevertheless: the user's release
// counts for more than a hung process.
void drop_crashes(int directory, std::string_view digest, const Clock& clock) {
  const std::string name = crashes_of(digest);
  const auto lock = open_crashes(directory, name, name, clock, 0, kCrashesLockTries);
  ::unlinkat(directory, name.c_str(), 0);
}

// Removes the crash times of a module that has not crashed for long. A locked file is in use and stays.
void drop_old_crashes(int directory, const std::string& name, const Clock& clock) {
  const auto is_old = [&] {
    struct stat info {};
    return ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           std::time(nullptr) - info.st_mtime > kCrashesSeconds;
  };
  if (!is_old()) return;
  const auto lock = open_crashes(directory, name, name, clock, 0, 1);
  if (lock && is_old()) ::unlinkat(directory, name.c_str(), 0);
}

// The times in `text`, one per line, within the window before `now`; malformed lines are skipped.
std::vector<std::int64_t> recent_times(std::string_view text, std::int64_t now, Milliseconds window) {
  std::vector<std::int64_t> out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    std::int64_t time = 0;
    const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), time);
    const bool whole = failed == std::errc() && end == line.data() + line.size();
    if (whole && time <= now && now - time <= window.count()) out.push_back(time);
  }
  if (out.size() > kCrashesMax) out.erase(out.begin(), out.end() - kCrashesMax);
  return out;
}

std::string when(std::int64_t since_ms) {
  const std::string whole = iso_time(since_ms);  // 2026-01-31T09:05:07.123Z
  return whole.substr(0, 10) + " " + whole.substr(11, 5) + " UTC";
}

// "nothing is", "only 'lint' is", "only 'lint', 'stamp' are": what is quarantined.
std::string what_is(const std::vector<QuarantineEntry>& entries) {
  std::set<std::string> names;
  for (const QuarantineEntry& entry : entries) names.insert("'" + entry.name + "'");
  if (names.empty()) return "nothing is";
  return "only " + join(std::vector<std::string>(names.begin(), names.end()), ", ") +
         (names.size() == 1 ? " is" : " are");
}

}  // namespace

std::string sentence_of(const QuarantineEntry& entry) {
  return entry.path + " is quarantined since " + when(entry.since_ms) + ": it " + entry.why + "; fix it, or run " +
         shell_command("agentd hooks release", entry.name);
}

struct Quarantine::State {
  State(std::string where, const Clock& time) : directory(std::move(where)), clock(time) {}

  const std::string directory;
  const Clock& clock;
  IdSource ids{clock};
  mutable Mutex mutex;
  std::vector<QuarantineEntry> crashed;  // immutable once open() has returned
  std::vector<QuarantineEntry> unsaved GUARDED_BY(mutex);
  std::vector<std::string> problems GUARDED_BY(mutex);

  // Not valid if the directory does not exist yet.
  Result<UniqueFd> look() const {
    auto fd = open_safe_directory(directory, ::geteuid());
    if (!fd && fd.error().code == Code::kNotFound) return UniqueFd();
    return fd;
  }
  Result<UniqueFd> make() const {
    AGENTD_TRY_VOID(make_directories(directory));
    return open_safe_directory(directory, ::geteuid());
  }
  std::vector<QuarantineEntry> saved(std::vector<std::string>* broken) const {
    std::vector<QuarantineEntry> out;
    const auto fd = look();
    if (!fd || !fd->valid()) return out;
    for (const std::string& name : names_in(fd->get())) {
      if (name.ends_with(kSuffix) && digest_of(name).empty() && !name.starts_with(kLoading) && broken != nullptr)
        broken->push_back(directory + "/" + name + " is not a quarantine entry, and is ignored: remove it");
      if (digest_of(name).empty()) continue;
      auto entry = read_entry_at(fd->get(), name, directory + "/" + name);
      if (entry && entry->digest == digest_of(name))
        out.push_back(std::move(*entry));
      else if (broken != nullptr && (entry || entry.error().code != Code::kNotFound))
        broken->push_back(entry ? directory + "/" + name + " names another module, and is ignored: remove it"
                                : entry.error().message);
    }
    return out;
  }
  void judge_markers(int fd, bool record);
  void judge_marker(int fd, const std::string& name, bool record);
};

void Quarantine::State::judge_markers(int fd, bool record) {
  for (const std::string& name : names_in(fd)) {
    if (name.starts_with(kBeside) && record) drop_leftover(fd, name);
    if (name.ends_with(kCrashes) && record) drop_old_crashes(fd, name, clock);
    if (name.starts_with(kLoading) && is_abandoned(fd, name)) judge_marker(fd, name, record);
  }
}

// Writes the entry before it removes the marker: a crash in between leaves both.
void Quarantine::State::judge_marker(int fd, const std::string& name, bool record) {
  const MutexLock lock(mutex);
  auto entry = read_entry_at(fd, name, directory + "/" + name);
  if (!entry) {
    if (entry.error().code == Code::kNotFound) return;  // another process was faster
    problems.push_back(entry.error().message);
    if (record) ::unlinkat(fd, name.c_str(), 0);
    return;
  }
  entry->why = "was being loaded when agentd ended";
  if (record && write_as(fd, directory, file_of(entry->digest), ids.next().text(), text_of_entry(*entry)))
    ::unlinkat(fd, name.c_str(), 0);
  else
    unsaved.push_back(*entry);
  crashed.push_back(std::move(*entry));
}

Quarantine::Quarantine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Quarantine::~Quarantine() = default;

Result<std::unique_ptr<Quarantine>> Quarantine::open(std::string directory, const Clock& clock, bool record) {
  auto state = std::make_unique<State>(std::move(directory), clock);
  AGENTD_TRY(const UniqueFd fd, state->look());
  if (fd.valid()) {
    state->judge_markers(fd.get(), record);
    const MutexLock lock(state->mutex);
    (void)state->saved(&state->problems);
  }
  return std::unique_ptr<Quarantine>(new Quarantine(std::move(state)));
}

std::string Quarantine::why_not(std::string_view digest) const {
  {
    const MutexLock lock(state_->mutex);
    for (const QuarantineEntry& entry : state_->unsaved)
      if (entry.digest == digest) return sentence_of(entry);
  }
  if (!is_digest(digest)) return {};
  // Another process may have released or quarantined it in the meantime. Usually there is no entry, and access() is all
  // it costs.
  const std::string name = file_of(digest);
  if (::access((state_->directory + "/" + name).c_str(), F_OK) != 0 && errno == ENOENT) return {};
  const auto fd = state_->look();
  if (!fd || !fd->valid()) return {};
  const auto entry = read_entry_at(fd->get(), name, state_->directory + "/" + name);
  return entry && entry->digest == digest ? sentence_of(*entry) : std::string();
}

std::vector<QuarantineEntry> Quarantine::crashed_before() const {
  const MutexLock lock(state_->mutex);
  return state_->crashed;
}

std::vector<std::string> Quarantine::problems() const {
  const MutexLock lock(state_->mutex);
  return state_->problems;
}

Quarantine::Marker::~Marker() {
  if (!file_.empty()) ::unlink(file_.c_str());
}

Result<Quarantine::Marker> Quarantine::mark(const std::string& name, const std::string& path,
                                            const std::string& digest) {
  AGENTD_TRY(const UniqueFd fd, state_->make());
  const QuarantineEntry entry{name, path, digest, "", state_->clock.wall_ms()};
  const std::string id = state_->ids.next().text();
  const std::string file = std::string(kLoading) + id + std::string(kSuffix);
  AGENTD_TRY(UniqueFd lock, write_as(fd.get(), state_->directory, file, id, text_of_entry(entry)));
  return Marker(state_->directory + "/" + file, std::move(lock));
}

Result<std::size_t> Quarantine::note_crash(std::string_view digest, Milliseconds window) {
  if (!is_digest(digest)) return Error{Code::kInvalid, "bytes without a digest"};
  AGENTD_TRY(const UniqueFd directory, state_->make());
  const std::string name = crashes_of(digest), path = state_->directory + "/" + name;
  AGENTD_TRY(const UniqueFd fd, open_crashes(directory.get(), name, path, state_->clock, O_CREAT, kCrashesLockTries));
  const std::int64_t now = state_->clock.wall_ms();
  // A longer file was not written by agentd and starts again.
  const auto before = read_fd(fd.get(), kEntryBytesMax, path);
  std::vector<std::int64_t> times = recent_times(before ? *before : "", now, window);
  times.push_back(now);
  std::string text;
  for (const std::int64_t time : times) text += std::to_string(time) + "\n";
  // The file is replaced as a whole: a crash in between loses no earlier time.
  AGENTD_TRY(const UniqueFd written,
             write_as(directory.get(), state_->directory, name, state_->ids.next().text(), text));
  return times.size();
}

Result<void> Quarantine::set_aside(QuarantineEntry entry) {
  if (!is_digest(entry.digest))
    return Error{Code::kInvalid, entry.path + " cannot be quarantined: its bytes have no digest"};
  if (entry.since_ms == 0) entry.since_ms = state_->clock.wall_ms();
  const auto save = [&]() -> Result<void> {
    AGENTD_TRY(const UniqueFd fd, state_->make());
    AGENTD_TRY(const UniqueFd file, write_as(fd.get(), state_->directory, file_of(entry.digest),
                                             state_->ids.next().text(), text_of_entry(entry)));
    // A released module starts afresh.
    drop_crashes(fd.get(), entry.digest, state_->clock);
    return ::fsync(file.get()) == 0 ? Result<void>() : errno_error("writing " + state_->directory, errno);
  };
  auto saved = save();
  if (saved) return {};
  const MutexLock lock(state_->mutex);
  state_->unsaved.push_back(entry);  // holds for this process at least
  return saved.error().with_context("quarantining " + entry.path + " permanently");
}

Result<QuarantineEntry> Quarantine::release(std::string_view which) {
  std::vector<QuarantineEntry> found;
  for (const QuarantineEntry& entry : entries())
    if (entry.name == which || entry.path == which || entry.digest == which) found.push_back(entry);
  const std::string shown = "'" + one_line(which, 200) + "'";
  if (found.empty())
    return Error{Code::kNotFound, "no hook " + shown + " is quarantined: " + one_line(what_is(entries()), 2000)};
  for (const QuarantineEntry& entry : found)
    if (entry.path != found[0].path)
      return Error{Code::kConflict, "more than one hook called " + shown + " is quarantined, such as " + found[0].path +
                                        " and " + entry.path + ": give the path"};
  AGENTD_TRY(const UniqueFd fd, state_->look());
  const MutexLock lock(state_->mutex);
  for (const QuarantineEntry& entry : found) {
    const std::string name = file_of(entry.digest);
    if (fd.valid() && ::unlinkat(fd.get(), name.c_str(), 0) != 0 && errno != ENOENT)
      return errno_error("releasing " + entry.path + ": removing " + state_->directory + "/" + name, errno);
    if (fd.valid()) drop_crashes(fd.get(), entry.digest, state_->clock);
    std::erase_if(state_->unsaved, [&](const QuarantineEntry& each) { return each.digest == entry.digest; });
  }
  return *std::max_element(found.begin(), found.end(),
                           [](const auto& a, const auto& b) { return a.since_ms < b.since_ms; });
}

std::vector<QuarantineEntry> Quarantine::entries() const {
  std::vector<QuarantineEntry> out = state_->saved(nullptr);
  const MutexLock lock(state_->mutex);
  out.insert(out.end(), state_->unsaved.begin(), state_->unsaved.end());
  return out;
}

}  // namespace agentd
