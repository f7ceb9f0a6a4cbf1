// SPDX-License-Identifier: Apache-2.0
#pragma once
// index_files.h - the files of the search index, and how processes take turns with them.
//
//   search.db          the index, complete as of some moment of the store; a journal while it is written
//   search.db.new      an index that is being built; renamed when it is complete
//   search.lock        two bytes to lock: one to bring the index up to date, one to have search.db open
//
// While a process has search.db open, it is neither written by another nor replaced: SQLite would apply the journal of
// one file to another of the same name.
//
// Threading: thread-compatible; processes exclude each other, and so do objects of one process.

#include <string>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct IndexFiles {
  explicit IndexFiles(const std::string& directory);
  const std::string index, being_built, lock;

  // False as well when it is not a regular file of this user: its contents would be another's.
  bool exist() const;
  // True if there is an index or a remainder of one.
  bool any() const;
  // True if a search has been made here, whether there is an index now or not.
  bool are_in_use() const;
  // Makes an empty file for search.db.new, 0600. Remains of a process that was killed are removed.
  Result<void> begin_build() const;
  // Removes it again, also to free the disk. Best effort.
  void abandon_build() const;
  // Makes it the index. REQUIRES: both locks are held alone, and nothing has either file open.
  Result<void> finish_build() const;
  // Removes the index and every remainder. REQUIRES: as above.
  Result<void> remove() const;
};

class IndexLock {
 public:
  enum class Part { kUpdate, kFile };
  enum class Way { kAlone, kShared };
  static Result<IndexLock> open(const IndexFiles& files);

  // Waits for at most `wait`; false when another has the part still. A part that is held alone can be taken shared, and
  // the reverse.
  Result<bool> take(Part part, Way way, Milliseconds wait, const Clock& clock) const;
  void release(Part part) const;

 private:
  IndexLock(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Result<bool> set(Part part, int type) const;

  UniqueFd fd_;
  std::string path_;
};

}  // namespace agentd
