// SPDX-License-Identifier: Apache-2.0
#pragma once
// scratch.h - directories for the time of their owner, which the next owner removes if that one was killed.
//
// A directory of it is PREFIX and six characters, mode 0700. It holds the file "owner", which its owner keeps locked
// (flock(2)) from the moment at which it has that name, and the directory "space" for everything else. A directory
// without that file, of another user, or a link is never touched.
//
// Threading: a ScratchDirectory is thread-compatible; functions are thread-safe.

#include <string>
#include <utility>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd::cage {

class ScratchDirectory {
 public:
  // A new one in `place`, such as "/tmp". The prefix has no slash.
  static Result<ScratchDirectory> make(const std::string& place, const std::string& prefix);
  ScratchDirectory() = default;
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})), owner_(std::move(other.owner_)) {}
  ScratchDirectory& operator=(ScratchDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  // Removes it with all that is in it.
  ~ScratchDirectory();

  std::string space() const { return path_ + "/space"; }

 private:
  std::string path_;
  UniqueFd owner_;
};

// Removes those of this user in `place` whose owner has ended. Returns their number.
int remove_ownerless(const std::string& place, const std::string& prefix);

// Removes a file, or a directory with all that is in it, whatever their modes are; follows no link. True when it is
// gone.
bool remove_tree(const std::string& path);
bool remove_tree(int folder, const std::string& name);

// Removes in "undone" of agentd's home (aside.h) what is older than kUndoneDays, and the oldest beyond kUndoneMost;
// other names stay.
inline constexpr int kUndoneDays = 30, kUndoneMost = 200;
void forget_old_undone(const std::string& home);

}  // namespace agentd::cage
