// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_servers.h - the servers of the Model Context Protocol that work in a project: started when a session begins, and
// shared by its sessions; those of one session are its own.
//
// They are found when the workplace is loaded, and again when a file of theirs has changed: then those whose own
// settings, trust or surroundings are others end or begin, and the rest go on.
//
// Threading: load() on one thread; the rest on any, after load(), but for the tools of a session: its thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/runtime/runtime.h"
#include "core/workplace/hooks.h"
#include "core/workplace/mcp_setup.h"
#include "providers/mcp/mcp_tools.h"

namespace agentd {

class McpServers {
 public:
  // All outlive them.
  McpServers(Runtime& runtime, const Project& project, HookWishes wishes);
  // Ends them. REQUIRES: no session is left.
  ~McpServers();
  McpServers(const McpServers&) = delete;
  McpServers& operator=(const McpServers&) = delete;

  // Finds them, and starts none. `roots` are those of the workspace. Once. kUsage: the user's settings are wrong.
  Result<void, RunError> load(const std::vector<std::string>& roots);

  // Starts those of the workplace; returns at once.
  void start();
  // Waits until they have listed their tools, at most until mcp.start_wait_ms after start().
  void wait() const;
  // Their tools. Null = there are none.
  mcp::McpTools* shared() const { return shared_ && !shared_->is_empty() ? shared_.get() : nullptr; }
  // Finds them again if a file has changed since. What is wrong with the files is a warning, and then all stay as they
  // are. Gives how often they were found so far: a session to which another number was given calls update().
  std::uint64_t refresh();
  // The tools of the servers that a session has to itself, and of those that its client names: starts them, and where
  // it has some, ends and starts those that have changed. It stays null where there are none.
  void update(std::unique_ptr<mcp::McpTools>& session, const std::vector<McpServerSettings>& of_client);

  // Sentences about servers that are not used, or not as they were, since the last call.
  std::vector<std::string> take_warnings();

 private:
  class StoredPins;
  mcp::McpParts parts();
  void warn(const std::string& text);
  void warn_once(const std::string& text);
  // Warns of what is wrong with them: once in this process, as that is found at each change.
  void take(std::vector<McpServerHere> found, const std::vector<std::string>& problems) REQUIRES(finding_);
  std::vector<mcp::ServerSetup> setups(bool per_session) REQUIRES(finding_);
  std::vector<mcp::ServerSetup> setups_of_session(const std::vector<McpServerSettings>& of_client);
  std::string files() const;  // another text when one of the files has changed
  Deadline wait_of_start() const;
  void wait_anew();
  Result<std::vector<McpServerHere>> find(std::vector<std::string>& problems) const;
  std::string scripts_state() const REQUIRES(finding_);  // of McpServerHere::files of all

  Runtime& runtime_;
  const Project& project_;
  const HookWishes wishes_;
  std::vector<std::string> roots_;
  std::unique_ptr<StoredPins> pins_;       // null: no server is wanted
  std::unique_ptr<mcp::McpTools> shared_;  // likewise
  Mutex finding_;                          // held while files are read; before mutex_
  std::vector<McpServerHere> found_ GUARDED_BY(finding_);
  std::string files_ GUARDED_BY(finding_);  // states of the files, when they were found
  std::uint64_t times_found_ GUARDED_BY(finding_) = 0;
  mutable Mutex mutex_;
  std::set<std::string> told_ GUARDED_BY(mutex_);           // by warn_once()
  std::optional<Deadline> waits_until_ GUARDED_BY(mutex_);  // absent = not started
  std::vector<std::string> warnings_ GUARDED_BY(mutex_);
};

}  // namespace agentd
