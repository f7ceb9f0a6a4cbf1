// SPDX-License-Identifier: Apache-2.0
#include "core/cage/journal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>

#include "core/base/clock.h"
#include "core/cage/journal_text.h"
#include "core/cage/physical.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

// The first line of a file; both have the same length.
constexpr std::string_view kRuns = "running\n", kEnded = "ended  \n";
constexpr std::uint64_t kJournalFileMax = 1u << 30;
constexpr int kAttempts = 3;
constexpr std::time_t kForgottenSeconds = 60;  // a directory without a lock
constexpr Milliseconds kKeepersEnd{2'000}, kPause{10};

std::string place_in(const std::string& agentd_home) { return agentd_home + "/cage"; }

std::uint64_t process_namespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// "namespace.process.time": whether the owner lives can only be asked in its own namespace.
std::string new_name() {
  static std::atomic<unsigned> next{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::to_string(process_namespace()) + "." + std::to_string(::getpid()) + "." + std::to_string(now.tv_sec) +
         "." + std::to_string(now.tv_nsec) + "." + std::to_string(next++);
}

bool has_ended_owner(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos || name.substr(0, dot) != std::to_string(process_namespace())) return false;
  pid_t pid = 0;
  (void)std::from_chars(name.data() + dot + 1, name.data() + name.size(), pid);
  if (pid <= 0) return false;
  const UniqueFd owner(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!owner.valid()) return errno == ESRCH;
  pollfd ended[1] = {{owner.get(), POLLIN, 0}};  // also of one that nobody has waited for
  return SystemClock().poll_for(ended, Milliseconds(0)) == 1;
}

// The keepers of a killed agentd end by themselves, but not at once.
bool take_lock(int lock, bool waits) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, waits ? kKeepersEnd : Milliseconds(0));
  while (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (!waits || deadline.passed(clock)) return false;
    clock.pause(kPause);
  }
  return true;
}

bool is_linked(int file) {
  struct stat info {};
  return ::fstat(file, &info) == 0 && info.st_nlink > 0;
}

// Absent: no command runs there, or it cannot be read.
std::optional<JournalText> read_journal(const std::string& file) {
  const auto text = read_file(file, kJournalFileMax);
  if (!text || !text->starts_with(kRuns)) return std::nullopt;
  auto journal = parse_journal(std::string_view(*text).substr(kRuns.size()));
  if (!journal) return std::nullopt;
  return std::move(*journal);
}

void undo(JournalText journal, const Aside& aside, std::vector<std::string>& out) {
  Watch watch(std::move(journal.plan), std::move(journal.states), journal.pinned, Baseline::shared());
  const std::vector<std::string> undone = watch.undo(aside);
  out.insert(out.end(), undone.begin(), undone.end());
}

}  // namespace

// ---- the process

Result<std::shared_ptr<Journal>> Journal::make(const std::string& place) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string directory = place + "/" + new_name();
    AGENTD_TRY_VOID(make_directories(directory));
    UniqueFd lock(::open((directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.valid()) return errno_error("making the journal of the sandbox in " + place, errno);
    // Another agentd that looks for ended ones may have taken it in between.
    if (take_lock(lock.get(), false) && is_linked(lock.get()))
      return std::shared_ptr<Journal>(new Journal(std::move(directory), std::move(lock)));
  }
  return Error{Code::kUnavailable, "the journal of the sandbox in " + place + " cannot be locked"};
}

Result<std::shared_ptr<Journal>> Journal::shared(const std::string& agentd_home) {
  static Mutex mutex;
  static std::map<std::string, std::weak_ptr<Journal>> all;
  const MutexLock lock(mutex);
  std::weak_ptr<Journal>& known = all[agentd_home];
  if (auto out = known.lock()) return out;
  AGENTD_TRY(std::shared_ptr<Journal> out, make(place_in(agentd_home)));
  known = out;
  return out;
}

Journal::~Journal() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::string Journal::new_file() {
  const MutexLock lock(mutex_);
  return directory_ + "/" + std::to_string(++files_);
}

// ---- a sandbox

JournalFile::JournalFile(std::shared_ptr<Journal> journal)
    : journal_(std::move(journal)), path_(journal_ ? journal_->new_file() : std::string()) {}

JournalFile::~JournalFile() {
  if (journal_) (void)::unlink(path_.c_str());
}

void JournalFile::write(const Watch& watch) {
  JournalText text{watch.plan(), states_, watch.pinned()};
  text.plan.parts = parts_;
  const std::string next = path_ + ".new";
  UniqueFd file(::open(next.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool wrote = file.valid() && write_all(file.get(), std::string(kRuns) + text_of(text)) &&
                     ::rename(next.c_str(), path_.c_str()) == 0;
  if (wrote)
    file_ = std::move(file);
  else
    states_.clear();
}

void JournalFile::begin(const Watch& watch) {
  if (!journal_) return;
  const MutexLock lock(mutex_);
  Trees states = watch.states();
  std::vector<std::string> parts = watch.plan().parts;
  if (++commands_ > 1) {  // the states of both, and as new counts what is new to the first
    for (const auto& [path, state] : states_) states[path] = state;
    parts = parts_;
  }
  if (file_.valid() && states == states_ && parts == parts_) {
    if (commands_ == 1) (void)::pwrite(file_.get(), kRuns.data(), kRuns.size(), 0);
    return;
  }
  states_ = std::move(states);
  parts_ = std::move(parts);
  write(watch);
}

void JournalFile::end() {
  if (!journal_) return;
  const MutexLock lock(mutex_);
  if (--commands_ == 0 && file_.valid()) (void)::pwrite(file_.get(), kEnded.data(), kEnded.size(), 0);
}

// ---- the others

OtherProcesses see_other_processes(const std::string& agentd_home, const Journal* own) {
  OtherProcesses out;
  const Aside aside = Aside::in_home(agentd_home);
  for (const std::string& name : names_in(place_in(agentd_home))) {
    const std::string directory = place_in(agentd_home) + "/" + name;
    if (own != nullptr && directory == own->directory()) continue;
    const UniqueFd lock(::open((directory + "/lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    std::error_code ignored;
    if (!lock.valid()) {
      struct stat info {};
      if (::stat(directory.c_str(), &info) == 0 && info.st_mtim.tv_sec + kForgottenSeconds < std::time(nullptr))
        fs::remove_all(directory, ignored);
      continue;
    }
    const bool ended = take_lock(lock.get(), has_ended_owner(name));
    if (ended && !is_linked(lock.get())) continue;
    for (const std::string& file : names_in(directory)) {
      if (file == "lock" || file.ends_with(".new")) continue;
      auto journal = read_journal(directory + "/" + file);
      if (journal && ended) undo(std::move(*journal), aside, out.undone);
      if (journal && !ended) out.states.merge(journal->states);
    }
    if (ended) fs::remove_all(directory, ignored);
  }
  return out;
}

}  // namespace agentd::cage
