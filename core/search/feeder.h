// SPDX-License-Identifier: Apache-2.0
#pragma once
// feeder.h - feeds the search index after commits, on a thread of its own with a low priority.
//
// It waits until no commit has followed for a moment, so that a run is added once and not by each of its records. It
// serves those who search: as long as no search has made an index there, nothing is built or loaded. What it did not
// get to when the process ends is added by the next search, which never depends on it.
//
// Threading: thread-safe.

#include <string>

#include "core/base/cancel.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/search/search.h"

namespace agentd {

// The time from a commit to its place in the index: `quiet` after the last one, at most `longest` after the first.
struct FeederPauses {
  Milliseconds quiet{1'000}, longest{10'000};
};

class IndexFeeder {
 public:
  // `directory` has the index, if there is one. Store, clock and log outlive it.
  IndexFeeder(const std::string& directory, const Store& store, const Clock& clock, Log& log, FeederPauses pauses = {});
  // Leaves the index as it was before the part in hand.
  ~IndexFeeder();
  IndexFeeder(const IndexFeeder&) = delete;
  IndexFeeder& operator=(const IndexFeeder&) = delete;

  // To be called after a commit, by whoever made it. Takes no time: it reads no file but once in some seconds, and
  // waits for nobody.
  void committed();

 private:
  bool is_wanted() REQUIRES(mutex_);
  void start() REQUIRES(mutex_);
  void work();
  bool wait_for_quiet();
  void feed();

  const IndexFiles files_;
  const Clock& clock_;
  Log& log_;
  const FeederPauses pauses_;
  const SearchIndex index_;
  const CancelToken cancel_;
  Mutex mutex_;
  Condition changed_;
  bool leaves_ GUARDED_BY(mutex_) = false, waits_ GUARDED_BY(mutex_) = false, failed_ GUARDED_BY(mutex_) = false;
  Deadline next_look_ GUARDED_BY(mutex_){0};  // when it is looked again whether there is an index
  Deadline quiet_ GUARDED_BY(mutex_), longest_ GUARDED_BY(mutex_);
  Thread thread_ GUARDED_BY(mutex_);
};

}  // namespace agentd
