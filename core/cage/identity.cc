// SPDX-License-Identifier: Apache-2.0
#include "core/cage/identity.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/cage/physical.h"

namespace agentd::cage {
namespace {

// True also where the kernel cannot tell.
bool is_mount(int fd) {
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &info) != 0) return false;
  return (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0 || (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool is_read_only(int fd) {
  struct statvfs info {};
  return ::fstatvfs(fd, &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

bool is_in_memory(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == TMPFS_MAGIC;
}

bool is_as_noted(const Noted& note) {
  if (note.as == Noted::As::kAny) return note.identity.kind != 0 && identity_behind(note.path) == note.identity;
  const UniqueFd place = open_place_at(note.path);
  struct stat info {};
  if (!place.valid() || ::fstat(place.get(), &info) != 0 || !is_mount(place.get())) return false;
  if (note.as == Noted::As::kEmpty) return S_ISDIR(info.st_mode) && is_in_memory(place.get());
  if (note.identity.kind == 0 || identity_of(info) != note.identity) return false;
  return note.as == Noted::As::kWritable || is_read_only(place.get());
}

}  // namespace

Identity identity_of(const struct stat& info) { return {info.st_dev, info.st_ino, info.st_mode & S_IFMT}; }

Identity identity_at(const std::string& path) {
  struct stat info {};
  return look_at(path, info) ? identity_of(info) : Identity();
}

Identity identity_behind(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? identity_of(info) : Identity();
}

std::string exchanged_text(const std::string& path) {
  return one_line(path, 200) +
         " was exchanged while the sandbox was made, so the command was not started: run it again when no other "
         "command moves files there";
}

Result<void> check_noted(const std::vector<Noted>& notes) {
  for (const Noted& note : notes)
    if (!is_as_noted(note)) return Error{Code::kUnavailable, exchanged_text(note.path)};
  return {};
}

}  // namespace agentd::cage
