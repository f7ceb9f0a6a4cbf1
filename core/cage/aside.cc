// SPDX-License-Identifier: Apache-2.0
#include "core/cage/aside.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "core/base/file.h"
#include "core/cage/places.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

// A command can take away the rights that moving and removing need: of a directory and of all below it.
void open_up(const std::string& path) {
  const auto open_one = [](const std::string& each) {
    struct stat info {};
    if (::lstat(each.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && (info.st_mode & 0700) != 0700)
      (void)::chmod(each.c_str(), (info.st_mode & 07777) | 0700);
  };
  open_one(path);
  std::error_code failed;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) open_one(at->path().string());
}

// Files, directories and links; anything else in it is not kept.
bool copy(const std::string& path, const std::string& place) {
  std::error_code failed;
  const auto copy_one = [&failed](const fs::path& from, const fs::path& to) {
    const fs::file_status status = fs::symlink_status(from, failed);
    if (fs::is_symlink(status)) return fs::copy_symlink(from, to, failed);
    if (fs::is_directory(status)) return (void)fs::create_directory(to, failed);
    if (fs::is_regular_file(status)) (void)fs::copy_file(from, to, failed);
  };
  copy_one(path, place);
  fs::recursive_directory_iterator at(path, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed))
    copy_one(at->path(), fs::path(place) / at->path().lexically_relative(path));
  return !failed;
}

}  // namespace

Aside Aside::in_home(const std::string& agentd_home) {
  static std::atomic<std::uint64_t> next{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Aside(agentd_home + "/undone/" + std::to_string(now.tv_sec) + "-" + std::to_string(::getpid()) + "-" +
               std::to_string(next++));
}

void Aside::open_way(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 || errno != EACCES) return;
  std::string above;
  for (const fs::path& part : fs::path(path).parent_path()) {
    above = above.empty() ? part.string() : (fs::path(above) / part).string();
    if (::lstat(above.c_str(), &info) == 0 && info.st_uid == ::geteuid() && ::access(above.c_str(), R_OK | X_OK) != 0)
      (void)::chmod(above.c_str(), (info.st_mode & 07777) | 0700);
  }
}

bool Aside::contains(const std::string& path) const {
  std::error_code unknown;
  return is_below(path, fs::weakly_canonical(fs::path(directory_).parent_path(), unknown).string());
}

Aside::Moved Aside::move(const std::string& path) const {
  open_up(path);
  const std::string folder = fs::path(path).parent_path().string();
  struct stat info {};
  if (::access(folder.c_str(), W_OK | X_OK) != 0 && ::lstat(folder.c_str(), &info) == 0)
    (void)::chmod(folder.c_str(), (info.st_mode & 07777) | 0700);
  Moved out;
  if (make_directories(directory_)) {
    const std::string first = directory_ + "/" + fs::path(path).filename().string();
    out.place = first;
    for (int next = 2; ::lstat(out.place.c_str(), &info) == 0; ++next) out.place = first + "." + std::to_string(next);
    out.gone = ::rename(path.c_str(), out.place.c_str()) == 0;
    if (!out.gone && !copy(path, out.place)) out.place.clear();
  }
  if (!out.gone) {
    std::error_code failed;
    fs::remove_all(path, failed);
    out.gone = ::lstat(path.c_str(), &info) != 0;
  }
  return out;
}

}  // namespace agentd::cage
