// SPDX-License-Identifier: Apache-2.0
#pragma once
// workplaces.h - the projects in which the daemon works, each opened once, and closed when nobody has used it for a
// while.
//
// Threading: thread-safe. at() blocks while the hooks of a project are loaded, or those of the same one end.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/workplace/workplace.h"

namespace agentd::serve {

struct WorkplaceLimits {
  Milliseconds idle{10 * 60'000};  // without a session: then it is closed
  std::size_t idle_max = 32;       // that are kept for that time; of more, those that have been idle longest are closed
  std::size_t open_max = 256;      // with those in use: a project has two descriptors
  std::vector<std::string> closed{};  // directories in which no client may work, nor below them; real paths
};

class Workplaces {
 public:
  using Shared = std::shared_ptr<Workplace>;  // shared with the sessions in it, whose count says whether it is in use

  // `warn` gets what is wrong with the files of a project, and so does the client that the thread works for. The
  // runtime outlives them.
  Workplaces(Runtime& runtime, HookWishes wishes, Warn warn, WorkplaceLimits limits = {});

  // The one of the project around that directory, with its hooks loaded as their files are now: a project whose hooks
  // have changed is opened anew, and sessions that hold the one before keep it. It stays as long as somebody holds it.
  // kNotFound: there is no such directory; kUsage as of Workplace::find() and Hooks::load(): the next call tries again;
  // kBusy: too many are in use.
  Result<Shared, RunError> at(const std::string& cwd);
  // False: a session that begins something now needs another one.
  bool is_current(const Workplace& workplace);
  // True for one of WorkplaceLimits::closed, and below it.
  bool is_closed(const std::string& directory) const;
  // True if something was wrong with its files when it was opened. REQUIRES: at() has found it.
  bool has_warned(const std::string& cwd) const;
  // All open ones, in no order.
  std::vector<Shared> all();
  // To be called every few seconds: closes idle ones. Their hooks end on this thread.
  void close_idle();

 private:
  struct Open {
    Shared workplace;
    std::optional<std::uint64_t> idle_since_ns{};  // as close_idle() has seen it; nullopt: in use then, or given since
    bool warned = false;                           // when it was opened
    std::string hooks{};                           // hook_files_state() before that
  };
  using ByRoot = std::map<std::string, Open>;
  std::string hooks_of(const Project& project) const;
  bool is_fresh(const Open& open, const std::string& hooks) const;
  // Takes them out, the longest idle first, until `keeps` are left that nobody uses.
  ByRoot take_idle(std::size_t keeps) REQUIRES(mutex_);
  void close(ByRoot taken);

  Runtime& runtime_;
  const HookWishes wishes_;
  const Warn warn_;
  const WorkplaceLimits limits_;
  mutable Mutex mutex_;
  Condition closed_;
  ByRoot open_ GUARDED_BY(mutex_);
  std::set<std::string> closing_ GUARDED_BY(mutex_);  // roots: their hooks end before others of them are loaded
};

}  // namespace agentd::serve
