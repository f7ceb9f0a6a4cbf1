// SPDX-License-Identifier: Apache-2.0
#pragma once
// aside.h - moves what a command may not have made out of its place, and keeps it for the user.
//
// Threading: thread-compatible.

#include <string>

namespace agentd::cage {

class Aside {
 public:
  // `directory` is made when something is moved there.
  explicit Aside(std::string directory) : directory_(std::move(directory)) {}
  // A new directory in "undone" of agentd's home, named by the time.
  static Aside in_home(const std::string& agentd_home);

  struct Moved {
    bool gone = false;  // from its place
    std::string place;  // where it is now; empty = nothing of it could be kept
    // The end of a sentence that says so; empty = it is nowhere.
    std::string kept() const { return place.empty() ? "" : "; what the command left is in " + place; }
  };
  // Without following a link (physical.h), whatever the command did to its rights. It is gone afterwards if anything
  // can bring that about, kept or not: a full disk must not keep it in its place.
  Moved move(const std::string& path) const;

  // True for a place below "undone": what is there was moved away on purpose, also by another agentd.
  bool contains(const std::string& path) const;

 private:
  std::string directory_;
};

}  // namespace agentd::cage
