// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/clean_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/file.h"

namespace agentd {
namespace {

constexpr std::size_t kMarkBytesMax = 512;
constexpr std::size_t kPageSizeAt = 40, kTransactionAt = 144;  // in a meta page, as in pages.cc

template <typename T>
std::string number_text_at(int fd, std::uint64_t at) {
  T value{};
  return ::pread(fd, &value, sizeof value, static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof value)
             ? std::to_string(value)
             : "none";
}

std::string time_text(const timespec& time) { return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec); }

}  // namespace

Result<std::string> file_state(const std::string& directory) {
  const std::string path = directory + "/data.mdb";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return errno_error("reading " + path, errno);
  std::uint32_t page_bytes = 0;
  if (::pread(fd.get(), &page_bytes, sizeof page_bytes, kPageSizeAt) != sizeof page_bytes) page_bytes = 0;
  return "file " + std::to_string(info.st_ino) + " size " + std::to_string(info.st_size) + " written " +
         time_text(info.st_mtim) + " changed " + time_text(info.st_ctim) + " transactions " +
         number_text_at<std::uint64_t>(fd.get(), kTransactionAt) + " " +
         number_text_at<std::uint64_t>(fd.get(), std::uint64_t{page_bytes} + kTransactionAt) + "\n";
}

bool is_marked_clean(const std::string& directory) {
  const auto state = file_state(directory);
  const auto mark = read_file(directory + "/clean", kMarkBytesMax);
  return state && mark && *mark == *state;
}

void mark_clean(const std::string& directory, const std::string& state) {
  // In place and without a sync: a torn or lost mark is wrong, which is safe.
  const UniqueFd fd(::open((directory + "/clean").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return;
  const bool wrote = ::pwrite(fd.get(), state.data(), state.size(), 0) == static_cast<ssize_t>(state.size());
  if (::ftruncate(fd.get(), wrote ? static_cast<off_t>(state.size()) : 0) != 0) return;
}

bool is_open_somewhere(const std::string& directory) {
  const UniqueFd fd(::open((directory + "/process.lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;  // to the end: the bytes of all processes
  return ::fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace agentd
