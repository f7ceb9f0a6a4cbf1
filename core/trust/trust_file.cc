// SPDX-License-Identifier: Apache-2.0
#include "core/trust/trust_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/trust/safe_path.h"

namespace agentd {
namespace {

constexpr std::uint64_t kTrustBytesMax = 16u << 20;
constexpr int kLockTries = 5000;
constexpr Milliseconds kLockPause{2};

struct Place {
  std::string directory, name;
};

Result<Place> place_of(const std::string& file) {
  const std::filesystem::path path(file);
  if (!path.is_absolute() || !path.has_filename())
    return Error{Code::kInvalid, "the file of consents \"" + file + "\" must be an absolute path"};
  return Place{path.parent_path().string(), path.filename().string()};
}

Result<std::optional<std::string>> read_at(int directory, const Place& place, const std::string& file, uid_t user) {
  auto opened = open_safe_file(directory, place.name, file, user);
  if (!opened && opened.error().code == Code::kNotFound) return std::optional<std::string>();
  if (!opened) return opened.error();
  AGENTD_TRY(std::string text, read_fd(opened->fd.get(), kTrustBytesMax, file));
  return std::optional<std::string>(std::move(text));
}

// The lock holds until the descriptor is closed. Each caller opens its own, so threads exclude each other too.
Result<UniqueFd> lock(int directory, const Place& place, const std::string& file, uid_t user) {
  const std::string name = place.name + ".lock", path = file + ".lock";
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::openat(directory, name.c_str(), kFlags, 0600));
  if (!fd.valid()) return errno_error("opening " + path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("looking at " + path, errno);
  if (!S_ISREG(info.st_mode) || (info.st_uid != user && info.st_uid != 0))
    return Error{Code::kDenied, path + " is not a file of yours: remove it"};
  for (int tries = 0; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("locking " + path, errno);
    if (tries == kLockTries)
      return Error{Code::kBusy, path + " is locked by another process: try again, or end that process"};
    SystemClock().pause(kLockPause);
  }
  return fd;
}

Result<void> replace_at(int directory, const Place& place, const std::string& file, std::string_view text) {
  const std::string beside = place.name + ".new";
  ::unlinkat(directory, beside.c_str(), 0);  // of a writer that was killed; the lock is ours
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd(::openat(directory, beside.c_str(), kFlags, 0600));
  if (!fd.valid()) return errno_error("writing " + file, errno);
  Result<void> wrote = write_all(fd.get(), text);
  if (wrote && ::fchmod(fd.get(), 0600) != 0) wrote = errno_error("protecting it", errno);
  if (wrote && ::fsync(fd.get()) != 0) wrote = errno_error("syncing it", errno);
  if (wrote && ::renameat(directory, beside.c_str(), directory, place.name.c_str()) != 0)
    wrote = errno_error("replacing it", errno);
  if (!wrote) {
    ::unlinkat(directory, beside.c_str(), 0);
    return wrote.error().with_context(file);
  }
  if (::fsync(directory) != 0) return errno_error("syncing the directory of " + file, errno);
  return {};
}

}  // namespace

Result<std::optional<std::string>> read_trust_file(const std::string& file, uid_t user) {
  AGENTD_TRY(const Place place, place_of(file));
  const auto directory = open_safe_directory(place.directory, user);
  if (!directory && directory.error().code == Code::kNotFound) return std::optional<std::string>();
  if (!directory) return directory.error();
  return read_at(directory->get(), place, file, user);
}

Result<void> change_trust_file(const std::string& file, uid_t user,
                               const std::function<Result<std::string>(const std::optional<std::string>&)>& change) {
  AGENTD_TRY(const Place place, place_of(file));
  AGENTD_TRY_VOID(make_directories(place.directory));
  AGENTD_TRY(const UniqueFd directory, open_safe_directory(place.directory, user));
  AGENTD_TRY(const UniqueFd held, lock(directory.get(), place, file, user));
  AGENTD_TRY(const std::optional<std::string> before, read_at(directory.get(), place, file, user));
  AGENTD_TRY(const std::string text, change(before));
  return replace_at(directory.get(), place, file, text);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace agentd
