// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/lock_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/file.h"

namespace agentd {
namespace {

// LMDB 0.9: a head of two cache lines, and one line per reader.
constexpr off_t kLineBytes = 64;
constexpr off_t kLockBytes = (2 + off_t{kReadersMax}) * kLineBytes;

bool is_full_disk(int error) { return error == ENOSPC || error == EDQUOT; }

}  // namespace

bool may_lock(const std::string& directory) {
  const std::string lock = directory + "/lock.mdb";
  return ::access(lock.c_str(), R_OK | W_OK) == 0 || (errno == ENOENT && ::access(directory.c_str(), W_OK) == 0);
}

Result<void> allocate_lock_file(const std::string& directory) {
  const std::string opening = "opening the store " + directory;
  const UniqueFd fd(::open((directory + "/lock.mdb").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return is_full_disk(errno) ? Result<void>(no_space(opening)) : Result<void>();
  if (::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, kLockBytes) == 0 || !is_full_disk(errno)) return {};
  // The head and the first readers come first: a file with one block has space for them.
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && info.st_blocks > 0) return {};
  return no_space(opening);
}

UniqueFd share_lock_file(const std::string& directory) {
  UniqueFd fd(::open((directory + "/lock.mdb").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return fd;
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;  // the byte that LMDB 0.9 locks: mdb_env_excl_lock()
  (void)::fcntl(fd.get(), F_OFD_SETLK, &lock);
  return fd;  // in any case: closing it would end LMDB's own lock
}

Error no_space(std::string_view doing) {
  return {Code::kUnavailable,
          std::string(doing) + ": no space left on the disk that holds it: free some and try again"};
}

}  // namespace agentd
