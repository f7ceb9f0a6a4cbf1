// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_servers.h - the servers of the Model Context Protocol that work in a project: found once, started when a session
// begins, and shared by its sessions; those of one session are its own.
//
// Threading: load() on one thread; the rest on any, after load().

#include <memory>
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
  mcp::McpTools* shared() const { return shared_.get(); }
  // Tools of the servers that each session has to itself, and of those that its client names. Null = there are none.
  std::unique_ptr<mcp::McpTools> of_session(const std::vector<McpServerSettings>& of_client);

  // Sentences about servers that are not used, or not as they were, since the last call.
  std::vector<std::string> take_warnings();
  // True when another set of servers would be found now: a file has changed, or the user has agreed to one. Judges
  // tools again where consents have changed.
  bool is_stale();
  // For people: all that were found, those that are not started included.
  const std::vector<McpServerHere>& found() const { return found_; }

 private:
  class StoredPins;
  mcp::McpParts parts();
  void warn(const std::string& text);
  std::vector<mcp::ServerSetup> setups(bool per_session);
  Result<std::vector<McpServerHere>> find(std::vector<std::string>& problems) const;
  std::string scripts_state() const;  // of McpServerHere::files of all

  Runtime& runtime_;
  const Project& project_;
  const HookWishes wishes_;
  std::vector<std::string> roots_;
  std::vector<McpServerHere> found_;
  std::string files_;  // states of the files when they were found
  std::unique_ptr<StoredPins> pins_;
  std::unique_ptr<mcp::McpTools> shared_;
  mutable Mutex mutex_;
  std::string consents_ GUARDED_BY(mutex_);                 // likewise, of the file of consents
  std::optional<Deadline> waits_until_ GUARDED_BY(mutex_);  // absent = not started
  std::vector<std::string> warnings_ GUARDED_BY(mutex_);
};

}  // namespace agentd
