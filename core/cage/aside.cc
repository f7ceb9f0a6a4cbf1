// SPDX-License-Identifier: Apache-2.0
#include "core/cage/aside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <filesystem>

#include "core/base/file.h"
#include "core/cage/names.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"
#include "core/cage/scratch.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr int kAsideDepthMax = 200;
constexpr std::uint64_t kCopyMax = 64u << 20;  // of one file

// Files, directories and links; anything else in it is not kept.
bool copy(int folder, const std::string& name, const std::string& place, int depth) {
  struct stat info {};
  if (depth == kAsideDepthMax || ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (S_ISLNK(info.st_mode)) {
    std::string target(PATH_MAX, '\0');
    const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    target.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    return ::symlink(target.c_str(), place.c_str()) == 0;
  }
  if (S_ISREG(info.st_mode)) {
    const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const auto text = file.valid() ? read_fd(file.get(), kCopyMax, name) : Result<std::string>(Error{});
    return text && write_file_atomically(place, *text, 0600);
  }
  if (!S_ISDIR(info.st_mode) || ::mkdir(place.c_str(), 0700) != 0) return false;
  const UniqueFd own(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!own.valid()) return false;
  bool done = true;
  for (const std::string& each : names_in(own.get()))
    done = copy(own.get(), each, place + "/" + each, depth + 1) && done;
  return done;
}

}  // namespace

Aside Aside::in_home(const std::string& agentd_home) {
  static std::atomic<std::uint64_t> next{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Aside(agentd_home + "/undone/" + std::to_string(now.tv_sec) + "-" + std::to_string(::getpid()) + "-" +
               std::to_string(next++));
}

bool Aside::contains(const std::string& path) const {
  std::error_code unknown;
  return is_below(path, fs::weakly_canonical(fs::path(directory_).parent_path(), unknown).string());
}

Aside::Moved Aside::move(const std::string& path) const {
  Moved out;
  const Way way = Way::opened(path);
  const Physical from = physical(path);
  if (!from.valid()) return out;
  open_up(from.folder.get(), from.name);
  struct stat info {};
  if (make_directories(directory_)) {
    const std::string first = directory_ + "/" + from.name;
    out.place = first;
    for (int next = 2; ::lstat(out.place.c_str(), &info) == 0; ++next) out.place = first + "." + std::to_string(next);
    out.gone = ::renameat(from.folder.get(), from.name.c_str(), AT_FDCWD, out.place.c_str()) == 0;
    // On another file system.
    if (!out.gone && !copy(from.folder.get(), from.name, out.place, 0)) {
      (void)remove_tree(out.place);
      out.place.clear();
    }
  }
  // Beside its place, where nothing follows it, if it could not be kept elsewhere.
  if (!out.gone && out.place.empty()) {
    const std::string beside = from.name + ".undone-" + fs::path(directory_).filename().string();
    out.gone =
        ::renameat2(from.folder.get(), from.name.c_str(), from.folder.get(), beside.c_str(), RENAME_NOREPLACE) == 0;
    if (out.gone) out.place = fs::path(path).parent_path().string() + "/" + beside;
  }
  if (!out.gone) out.gone = remove_tree(from.folder.get(), from.name);
  return out;
}

}  // namespace agentd::cage
