// SPDX-License-Identifier: Apache-2.0
#pragma once
// baseline.h - the states of guarded paths before the first of the commands that run now: shared by all sandboxes of
// this process, so that no command takes another one's change for the user's state.
//
// A state is taken when the first command that guards its path begins, and dropped when the last one has ended.
//
// Threading: thread-safe.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/thread_annotations.h"
#include "core/cage/tree.h"

namespace agentd::cage {

class Baseline {
 public:
  // The one of this process; made when there is none.
  static std::shared_ptr<Baseline> shared();

  // A path and its state.
  class State {
   public:
    // Taken by the first who asks: `elsewhere`, the state before of another process, or else the state now, with
    // `known` as in look().
    TreePointer before(const TreePointer& known, const TreePointer& elsewhere = nullptr);
    TreePointer before() { return before(nullptr); }
    // The same contents in other files: the path was restored.
    void renew(TreePointer tree);
    // The path was not there, and this directory was made that may stay: parts of it are guarded in its place. 0: no.
    std::uint64_t accepted_inode() const { return accepted_; }

   private:
    friend class Baseline;
    explicit State(std::string path) : path_(std::move(path)) {}
    const std::string path_;
    Mutex mutex_;
    TreePointer before_ GUARDED_BY(mutex_);
    std::atomic<std::uint64_t> accepted_{0};
    // Baseline has these under its mutex.
    std::vector<std::string> parts_;  // entered for it
    int commands_ = 0;
    bool several_ = false;  // ran at the same time since the path was last found as it should be
  };
  // A directory, by which it is found where it was moved to. Not valid: there was none at that path.
  using Pin = std::shared_ptr<const UniqueFd>;  // shared by the watches of commands

  // For each there is one leave().
  std::shared_ptr<State> enter(const std::string& path);
  // `checked`: the path is as it should be now.
  void leave(const std::string& path, bool checked);
  // Guards `parts`, as they were read by its caller, who has found that they may stay: until the last command that
  // guards `path` has left.
  void accept(const std::string& path, std::uint64_t inode, const std::map<std::string, TreePointer>& parts);
  void refuse(const std::string& path);
  // The paths in that directory that commands guard now.
  std::vector<std::string> held_in(const std::string& directory) const;
  // True if other commands could have changed it as well.
  bool is_shared(const std::string& path) const;

  Pin pin(const std::string& path);
  void unpin(const std::string& path);

  // Held while something is undone: two commands that end together do not undo the same.
  Mutex& undoing() { return undoing_; }

 private:
  std::shared_ptr<State> enter_locked(const std::string& path) REQUIRES(mutex_);
  void leave_locked(const std::string& path, bool checked) REQUIRES(mutex_);

  Mutex undoing_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<State>> states_ GUARDED_BY(mutex_);  // shared with the watches of commands
  struct Pinned {
    Pin pin;
    int commands = 0;
  };
  std::map<std::string, Pinned> pins_ GUARDED_BY(mutex_);
};

}  // namespace agentd::cage
