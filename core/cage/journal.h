// SPDX-License-Identifier: Apache-2.0
#pragma once
// journal.h - what has to be undone when agentd is killed: the states before the commands that run, on disk.
//
// A process has a directory in "cage" of agentd's home, with a file for each of its sandboxes. The file "lock" there is
// locked by the process and by the keepers of its commands, which inherit the lock: when it is free none of them is
// left, and the next agentd undoes by these files. They are not synced: they outlive processes, not a power failure.
//
// Threading: thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/thread_annotations.h"
#include "core/cage/watch.h"

namespace agentd::cage {

class Journal {
 public:
  // The journal of this process in that home; made when there is none. kUnavailable and others: its directory cannot be
  // made.
  static Result<std::shared_ptr<Journal>> shared(const std::string& agentd_home);
  // Removes its directory.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // For a keeper, which holds it until it ends.
  int lock() const { return lock_.get(); }
  const std::string& directory() const { return directory_; }
  std::string new_file();

 private:
  Journal(std::string directory, UniqueFd lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}
  static Result<std::shared_ptr<Journal>> make(const std::string& place);

  const std::string directory_;
  const UniqueFd lock_;
  Mutex mutex_;
  int files_ GUARDED_BY(mutex_) = 0;
};

// The file of one sandbox. It is written again only when a state has changed; else one line of it is.
class JournalFile {
 public:
  // `journal`: null = nothing is written, since its directory cannot be made.
  explicit JournalFile(std::shared_ptr<Journal> journal);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  // For a keeper; -1 = there is none.
  int lock() const { return journal_ ? journal_->lock() : -1; }
  const Journal* journal() const { return journal_.get(); }

  // Around each command. A failure to write is none of the command.
  void begin(const Watch& watch);
  void end();

 private:
  void write(const Watch& watch) REQUIRES(mutex_);

  const std::shared_ptr<Journal> journal_;  // shared by all sandboxes of this process
  const std::string path_;
  Mutex mutex_;
  int commands_ GUARDED_BY(mutex_) = 0;
  UniqueFd file_ GUARDED_BY(mutex_);
  Trees states_ GUARDED_BY(mutex_);
  std::vector<std::string> parts_ GUARDED_BY(mutex_);
};

struct OtherProcesses {
  std::vector<std::string> undone;  // a sentence for each path that was undone, without a full stop
  Trees states;                     // before the commands that they run now
};
// Undoes what commands of ended processes left, and reads what the others are to undo. `own`: this process's journal.
OtherProcesses see_other_processes(const std::string& agentd_home, const Journal* own);

}  // namespace agentd::cage
