// SPDX-License-Identifier: Apache-2.0
#pragma once
// watch.h - holds what no layer can forbid: that a guarded path appears which was not there, and, where Landlock is
// alone, that one changes.
//
// Landlock only allows, and downwards: who may make files in a directory may make `.git/hooks` in it. Bubblewrap could
// mount something in its place, but leaves it behind. So the paths are looked at before a command and again when all of
// its processes have ended: what it made is moved out of the way, what it changed is restored. Commands that run at the
// same time have one state before (baseline.h), and the first to end after a change undoes it.
//
// Until then the change is there: what runs outside of the cage meanwhile, such as your own `git commit`, sees it.
//
// Threading: thread-compatible.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/cage/aside.h"
#include "core/cage/baseline.h"
#include "core/cage/git_places.h"
#include "core/cage/physical.h"
#include "core/cage/tree.h"

namespace agentd::cage {

// The paths of one command.
struct WatchPlan {
  std::vector<std::string> paths;
  std::vector<std::string> pinned;  // directories that are restored to their places when they were moved: another one
                                    // there would have hooks of its own
  std::vector<std::string> roots;   // of which new parts of repositories are checked (git_places.h) ...
  std::vector<std::string> parts;   // ... that are not among these paths
  GitUser user;
  std::int64_t since_ns = 0;  // of the real-time clock: older parts were not made by commands of this process
};

using Trees = std::map<std::string, TreePointer>;  // by path

// States that need no second look.
struct WatchHints {
  Trees known;      // states of before, which are used again where nothing has changed
  Trees elsewhere;  // states before of commands that other processes run
};

class Watch {
 public:
  // Looks at the paths.
  Watch(WatchPlan plan, const WatchHints& hints, std::shared_ptr<Baseline> baseline);
  // Continues what an ended process has begun: `states` and the identities of the pinned directories are those of then.
  struct PinnedThen {
    std::string path;
    std::uint64_t device = 0, inode = 0;
  };
  Watch(WatchPlan plan, Trees states, const std::vector<PinnedThen>& pinned, std::shared_ptr<Baseline> baseline);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const WatchPlan& plan() const { return plan_; }
  const Trees& states() const { return states_; }
  std::vector<PinnedThen> pinned() const;

  // Looks again, undoes, and ends: to be called once. Returns a sentence for each path, without a full stop.
  std::vector<std::string> undo(const Aside& aside);

 private:
  struct Held {
    std::shared_ptr<Baseline::State> state;
    bool checked = false;
  };
  void hold(const std::string& path, const WatchHints& hints);
  void hold_others();
  void open_ways(std::vector<Way>& ways, std::vector<std::string>& out) const;
  std::uint32_t rights_of(const std::string& directory) const;
  TreePointer before(const std::string& path, Baseline::State& state) const;
  bool accept(const std::string& path) const;
  bool differs(const std::string& path, Baseline::State& state) const;
  bool is_led_elsewhere(const std::string& path, const Tree& before) const;
  bool is_in_place(const std::string& path, const Baseline::Pin& pin) const;
  bool may_move(const std::string& link) const;
  std::vector<std::uint32_t> rights_of_way(const std::string& pinned) const;
  void undo_pin(const std::string& path, const Baseline::Pin& pin, const Aside& aside,
                std::vector<std::string>& out) const;
  std::string undo_one(const std::string& path, Baseline::State& state, const Aside& aside) const;
  void undo_parts(const Aside& aside, std::vector<std::string>& out) const;
  bool is_plain_name(const GitPart& part, const std::vector<GitPart>& known) const;
  std::vector<GitPart> new_parts() const;
  std::string place_of(const GitPart& part) const;
  std::string by_whom(const std::string& path) const;
  void release();

  const WatchPlan plan_;
  const std::shared_ptr<Baseline> baseline_;  // shared with all watches of this process
  const bool of_past_;                        // of a process that has ended
  Trees states_;
  std::set<std::string> elsewhere_;  // paths that commands of other processes guard, too
  std::set<std::string> hidden_;     // paths that were behind a closed directory before, too
  std::map<std::string, Held> held_;
  std::map<std::string, Baseline::Pin> pins_;
};

}  // namespace agentd::cage
