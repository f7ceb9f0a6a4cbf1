// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/closed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "plugins/workspace_tools/text.h"

namespace workspace_tools {
namespace {

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// Without links; nullopt: errno says why.
std::optional<std::string> real(const std::string& path) {
  char* const found = ::realpath(path.c_str(), nullptr);
  if (found == nullptr) return std::nullopt;
  std::string out(found);
  std::free(found);
  return out;
}

// The path, or the nearest folder above it that exists, in the working directory.
struct Place {
  std::string path;
  bool closed = false;  // a folder on the way may not be entered, so that no more is known
  bool exists = false;  // the path itself
};

std::optional<Place> place_of(std::string_view cwd, std::string_view path) {
  if (cwd.empty()) return std::nullopt;
  const auto top = real(std::string(cwd));
  std::string at = normal_path(cwd, path);
  if (!top || !is_below(at, normal_path("", cwd))) return std::nullopt;
  for (bool exists = true; is_below(at, normal_path("", cwd)); at = folder_of(at), exists = false) {
    const auto found = real(at);
    if (found) return is_below(*found, *top) ? std::optional(Place{*found, false, exists}) : std::nullopt;
    if (errno == EACCES) return Place{at, true, false};
    if (errno != ENOENT) return std::nullopt;
  }
  return std::nullopt;
}

// 0, or errno.
int no_access(const std::string& path, int mode) {
  return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0 ? 0 : errno;
}

std::string mode_of(const std::string& path) {
  struct stat info {};
  char text[16] = "unknown";
  if (::stat(path.c_str(), &info) == 0)
    std::snprintf(text, sizeof text, "0%03o", static_cast<unsigned>(info.st_mode & 0777));
  return text;
}

constexpr std::string_view kWay = "a folder on the way to it may not be entered by this user";

}  // namespace

std::string why_not_read(std::string_view cwd, std::string_view path) {
  const auto place = place_of(cwd, path);
  if (!place) return {};
  if (place->closed) return "cannot be read: " + std::string(kWay);
  if (!place->exists || no_access(place->path, R_OK) != EACCES) return {};
  return "cannot be read: its permissions do not allow it (mode " + mode_of(place->path) + ")";
}

std::string why_not_changed(std::string_view cwd, std::string_view path) {
  const auto place = place_of(cwd, path);
  if (!place) return {};
  if (place->closed) return "cannot be changed: " + std::string(kWay);
  if (place->exists) {
    const int file = no_access(place->path, W_OK);
    if (file == EACCES)
      return "is write-protected (mode " + mode_of(place->path) +
             "): run chmod u+w on it first, if it is meant to be changed";
    if (file == EROFS) return "cannot be changed: its file system is read-only";
  }
  const std::string folder = place->exists ? folder_of(place->path) : place->path;
  switch (no_access(folder, W_OK | X_OK)) {
    case EACCES:
      return "cannot be changed: the permissions of its folder do not allow it (mode " + mode_of(folder) + ")";
    case EROFS:
      return "cannot be changed: its file system is read-only";
    default:
      return {};
  }
}

bool is_disk_full(std::string_view cwd, std::string_view path, std::uint64_t bytes) {
  const auto place = place_of(cwd, path);
  struct statvfs disk {};
  if (!place || ::statvfs(place->path.c_str(), &disk) != 0) return false;
  const bool has_inodes = disk.f_files != 0;  // some file systems do not count them
  // A block more, of the folder.
  return disk.f_bavail <= bytes / disk.f_frsize + 1 || (has_inodes && disk.f_favail == 0);
}

}  // namespace workspace_tools
