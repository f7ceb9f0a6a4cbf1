// SPDX-License-Identifier: Apache-2.0
#include "plugins/audit_log/sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace audit_log {

using agentd::Code;
using agentd::Error;
using agentd::Result;

Result<void> Sink::open_if_needed() {
  struct stat info {};
  if (fd_.valid() && ::stat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) return {};
  fd_.reset();
  const std::size_t slash = path_.rfind('/');
  if (slash != 0) AGENTD_TRY_VOID(agentd::make_directories(path_.substr(0, slash)));
  // O_NONBLOCK: a FIFO at this path must not block the run.
  agentd::UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd.valid()) return agentd::errno_error("opening " + path_, errno);
  if (::fstat(fd.get(), &info) != 0) return agentd::errno_error("opening " + path_, errno);
  if (!S_ISREG(info.st_mode)) return Error{Code::kInvalid, path_ + " is not a regular file"};
  device_ = info.st_dev;
  inode_ = info.st_ino;
  fd_ = std::move(fd);
  torn_ = false;
  return {};
}

Result<void> Sink::append(std::string line) {
  const agentd::MutexLock lock(mutex_);
  AGENTD_TRY_VOID(open_if_needed());
  if (torn_) line.insert(line.begin(), '\n');
  line += '\n';
  ssize_t wrote = -1;
  do wrote = ::write(fd_.get(), line.data(), line.size());
  while (wrote < 0 && errno == EINTR);
  if (wrote < 0) return agentd::errno_error("writing to " + path_, errno);
  torn_ = static_cast<std::size_t>(wrote) != line.size();
  if (torn_) return Error{Code::kUnavailable, "writing to " + path_ + ": the disk is full"};
  return {};
}

}  // namespace audit_log
