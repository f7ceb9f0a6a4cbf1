// SPDX-License-Identifier: Apache-2.0
#pragma once
// physical.h - files by absolute paths of which no part is a link.
//
// agentd looks at guarded paths and restores them outside of the sandbox, while commands can put links in their way:
// followed, a link would show files of the home or write there. So the kernel walks each path without following any
// (openat2(2), RESOLVE_NO_SYMLINKS), and what is done is done in the directory that it has opened. A path with a link
// in its way is not there.
//
// Threading: thread-safe.

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace agentd::cage {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kSettledNs = 50'000'000;  // more than a step of the kernel's clock for files

// The directory of a path and the last name in it. Not valid: it is not there, or a link is in the way.
struct Physical {
  UniqueFd folder;
  std::string name;
  bool valid() const { return folder.valid(); }
};
Physical physical(const std::string& path);

// lstat(2). False: it is not there.
bool look_at(const std::string& path, struct stat& info);
bool is_there(const std::string& path);
// An open directory; `flags` besides O_DIRECTORY: O_PATH, O_RDONLY.
UniqueFd open_directory_at(const std::string& path, int flags);

// O_PATH, of whatever is there: of a link at the end the link itself.
UniqueFd open_place_at(const std::string& path);

// The names in a directory, as names.h; none where it is not there, or a link is in its way.
std::vector<std::string> names_in(const std::string& directory);

// The first part of the path above its last name that is a link; empty = there is none.
std::string link_in_the_way(const std::string& path);

// All links by which a path leads to its end, one behind the other, each at its own place without a link in its way: at
// most 40, which is as many as the kernel follows.
std::vector<std::string> links_of(const std::string& path);

// True if a directory above the path is closed for this user, so that it cannot be told whether the path is there.
bool is_hidden(const std::string& path);
// Opens for good the directories above a path that are closed for their owner: with the rights that `wanted` names for
// such a directory, if they open it, else with those to read and to search. Returns them.
std::vector<std::string> open_above(const std::string& path,
                                    const std::function<std::uint32_t(const std::string&)>& wanted);
// The same for the directory itself and those in it, down to directories that have a file of that name.
void open_below(const std::string& directory, const std::string& until);

// The rights (07777) of the directories above a path, the nearest first.
std::vector<std::uint32_t> rights_above(const std::string& path);
// The directories above a path, made fit for work in them. At its end those that it has opened get their rights back.
class Way {
 public:
  // Opens those that are closed for their owner.
  static Way opened(const std::string& path);
  // Makes those that are missing, none of them through a link; at its end they get these rights, as far as there are
  // any.
  static Way made(const std::string& path, const std::vector<std::uint32_t>& rights);
  ~Way();
  Way(Way&&) = default;
  Way& operator=(Way&&) = delete;

  // False: a part could not be made.
  bool complete() const { return complete_; }

 private:
  struct Part {
    UniqueFd directory;
    std::uint32_t rights = 0;
  };
  Way() = default;
  std::vector<Part> parts_;
  bool complete_ = true;
};
// Opens the directories that a tree has, which a command has closed for their owner.
void open_up(int folder, const std::string& name);

}  // namespace agentd::cage
