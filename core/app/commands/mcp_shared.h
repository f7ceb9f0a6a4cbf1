// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_shared.h - shared by the commands of `agentd mcp`: the servers here, and starting one to look at its tools.
//
// Threading: one thread.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/app/app.h"
#include "core/app/failure.h"
#include "core/base/mutex.h"
#include "core/net/http.h"
#include "core/workplace/mcp_setup.h"
#include "providers/mcp/mcp_tools.h"

namespace agentd::app {

struct McpHere {
  Config config;
  std::string home;
  Project project;
  std::vector<std::string> roots;
  McpConsents consents;
  std::vector<McpServerHere> servers;
  std::vector<std::string> problems;
};
Result<McpHere, Failure> mcp_here(const App& app, const Arguments& arguments);

// Sentences about permission rules that name a server or a tool of one which is not there.
std::vector<std::string> mcp_rule_warnings(const App& app, const Config& config, const std::string& home,
                                           const Project& project);

// The server that a session here would use by that name; the failure suggests the nearest.
Result<const McpServerHere*, Failure> server_of(const McpHere& here, const std::string& name);

// "on", "off", "not trusted", "wrong".
std::string_view state_of(const McpServerHere& server);
// Its tools that wait for consent, as of its last start; empty where it is not on.
std::vector<std::string> held_back(const McpHere& here, const McpServerHere& server);
// Text of a server or of a repository on one line, where all that a terminal does not show is an escape (visible()).
std::string shown_text(std::string_view text);
// "npx -y @scope/server" as a shell would read it, each word by visible_word(), or the address without its secrets.
std::string runs_text(const McpServerSettings& server);
// The other rights of a server, and how far it is believed, a line each: "network:     api.example.org".
std::vector<std::string> rights_of(const McpServerSettings& server);

// A server that was started to be looked at; every tool counts as agreed to.
class StartedServer {
 public:
  // Waits until it has listed its tools. The failure says why it has not.
  static Result<std::unique_ptr<StartedServer>, Failure> start(App& app, const McpHere& here,
                                                               const McpServerSettings& server);
  const mcp::ServerStatus& status() const { return status_; }
  // Tools that it has listed and that cannot be used, and why: sentences.
  std::vector<std::string> warnings() const;

 private:
  class AllAgreed;
  StartedServer();

 public:
  ~StartedServer();

 private:
  mutable Mutex mutex_;
  std::vector<std::string> warnings_ GUARDED_BY(mutex_);
  std::unique_ptr<AllAgreed> pins_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<mcp::McpTools> tools_;
  mcp::ServerStatus status_;
};

}  // namespace agentd::app
