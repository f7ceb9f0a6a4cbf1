// SPDX-License-Identifier: Apache-2.0
#include "core/search/index_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace agentd {
namespace {

constexpr Milliseconds kLookAgain{20};

std::string journal_of(const std::string& path) { return path + "-journal"; }

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  if (errno == EISDIR || errno == EPERM)
    return Error{Code::kInvalid, path + " is not a file that agentd can remove: move it away"};
  return errno_error("removing " + path, errno);
}

}  // namespace

IndexFiles::IndexFiles(const std::string& directory)
    : index(directory + "/search.db"), being_built(index + ".new"), lock(directory + "/search.lock") {}

bool IndexFiles::exist() const {
  struct stat info {};
  return ::lstat(index.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

bool IndexFiles::any() const {
  struct stat info {};
  for (const std::string& path : {index, journal_of(index), being_built, journal_of(being_built)})
    if (::lstat(path.c_str(), &info) == 0) return true;
  return false;
}

bool IndexFiles::are_in_use() const {
  struct stat info {};
  return ::lstat(lock.c_str(), &info) == 0;
}

Result<void> IndexFiles::begin_build() const {
  AGENTD_TRY_VOID(remove_file(being_built));
  AGENTD_TRY_VOID(remove_file(journal_of(being_built)));
  const UniqueFd fd(::open(being_built.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error("creating " + being_built, errno);
  return {};
}

void IndexFiles::abandon_build() const {
  ::unlink(being_built.c_str());
  ::unlink(journal_of(being_built).c_str());
}

Result<void> IndexFiles::finish_build() const {
  const UniqueFd fd(::open(being_built.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return errno_error("syncing " + being_built, errno);
  // The old index goes before its journal, which it may need to be read.
  AGENTD_TRY_VOID(remove_file(index));
  AGENTD_TRY_VOID(remove_file(journal_of(index)));
  if (::rename(being_built.c_str(), index.c_str()) != 0) return errno_error("renaming " + being_built, errno);
  return {};
}

Result<void> IndexFiles::remove() const {
  for (const std::string& path : {index, journal_of(index), being_built, journal_of(being_built)})
    AGENTD_TRY_VOID(remove_file(path));
  return {};
}

Result<IndexLock> IndexLock::open(const IndexFiles& files) {
  UniqueFd fd(::open(files.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return errno_error("opening " + files.lock, errno);
  return IndexLock(std::move(fd), files.lock);
}

Result<bool> IndexLock::take(Part part, Way way, Milliseconds wait, const Clock& clock) const {
  const Deadline deadline = Deadline::after(clock, wait);
  for (;;) {
    AGENTD_TRY(const bool taken, set(part, way == Way::kAlone ? F_WRLCK : F_RDLCK));
    if (taken) return true;
    if (deadline.passed(clock)) return false;
    clock.pause(kLookAgain);
  }
}

void IndexLock::release(Part part) const { (void)set(part, F_UNLCK); }

Result<bool> IndexLock::set(Part part, int type) const {
  // Locks of an open file description also conflict within one process.
  struct flock lock {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = part == Part::kUpdate ? 0 : 1;
  lock.l_len = 1;
  if (::fcntl(fd_.get(), F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return errno_error("locking " + path_, errno);
}

}  // namespace agentd
