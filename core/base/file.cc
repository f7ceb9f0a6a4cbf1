// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>

namespace agentd {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

unsigned open_standard_descriptors() {
  unsigned closed = 0;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one, because the numbers below are open by now.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) == fd) closed |= 1u << fd;
  }
  return closed;
}

Result<UniqueFd> above_standard(int raw, std::string_view doing) {
  UniqueFd fd(raw);
  if (!fd.valid()) return errno_error(doing, errno);
  if (fd.get() > STDERR_FILENO) return fd;
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved.valid()) return errno_error(doing, errno);
  return moved;
}

Result<std::string> read_fd(int fd, std::uint64_t bytes_max, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error("reading " + name, errno);
  if (!S_ISREG(info.st_mode)) return Error{Code::kInvalid, name + " is not a regular file"};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > bytes_max)
    return Error{Code::kInvalid,
                 name + " has " + std::to_string(size) + " bytes; the limit is " + std::to_string(bytes_max)};
  std::string out(size, '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading " + name, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errno_error("reading " + path, errno);
  return read_fd(fd.get(), bytes_max, path);
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno_error("writing", errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

namespace {
Result<void> sync_directory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return errno_error("syncing " + path, errno);
  return {};
}
}  // namespace

Result<void> write_file_atomically(const std::string& path, std::string_view bytes, unsigned mode) {
  // Processes of two containers that share a home may have the same pid.
  std::random_device random;
  const std::string beside =
      path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(random()) + std::to_string(random());
  UniqueFd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, static_cast<mode_t>(mode)));
  if (!fd.valid()) return errno_error("writing " + path, errno);
  Result<void> wrote = write_all(fd.get(), bytes);
  if (wrote && ::fsync(fd.get()) != 0) wrote = errno_error("syncing " + path, errno);
  if (wrote && ::rename(beside.c_str(), path.c_str()) != 0) wrote = errno_error("replacing " + path, errno);
  if (!wrote) {
    ::unlink(beside.c_str());
    return wrote.error().with_context(path);
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return sync_directory(parent.empty() ? "." : parent);
}

Result<void> make_directories(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return errno_error("creating the directory " + part, errno);
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_error("opening the directory " + path, errno);
  if (!S_ISDIR(info.st_mode)) return Error{Code::kInvalid, path + " is not a directory"};
  return {};
}

}  // namespace agentd
