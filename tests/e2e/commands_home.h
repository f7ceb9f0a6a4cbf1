// SPDX-License-Identifier: Apache-2.0
#pragma once
// commands_home.h - a home with a script in its settings, and a daemon that may run there.
//
// Threading: thread-compatible.

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {

class CommandsHome {
 public:
  // `settings`: further lines of config.yaml.
  explicit CommandsHome(std::string settings = {}) : settings_(std::move(settings)) {}

  Program& program() { return program_; }
  // Empties home and project, and begins again in the same directories.
  void begin_again(std::string settings);
  // The answers of the model.
  void script(const std::string& turns);
  void hook(const std::string& yaml) const;
  void recipe(const std::string& name, const std::string& markdown) const;
  // Starts the daemon; the test fails where it does not listen.
  void serve(std::vector<std::string> more = {});
  Finished end(int signal = SIGTERM);
  pid_t pid() const { return daemon_->pid(); }
  const HttpClient& client() const { return *client_; }

  // How many commands the daemon has let in, and how many it has not.
  int served() const { return answers("200"); }
  int refused() const { return answers("409"); }
  std::string sessions() const { return client_->get("/api/v1/sessions").body; }
  bool works() const { return has(sessions(), R"("state":"active")"); }
  std::string log(const std::string& id) { return program_.run({"conversation", "show", id, "--log"}).out; }

 private:
  int answers(const std::string& status) const;

  std::string settings_;
  Program program_;
  std::unique_ptr<Running> daemon_;
  std::unique_ptr<HttpClient> client_;
};

// Waits until it is so; false after ten seconds.
template <class Condition>
bool comes(const Condition& condition) {
  for (int i = 0; i < 1'000; ++i) {
    if (condition()) return true;
    ::usleep(10'000);
  }
  return false;
}

}  // namespace agentd::testing
