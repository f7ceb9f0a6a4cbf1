// SPDX-License-Identifier: Apache-2.0
#pragma once
// served_home.h - a home with its daemon and a client that may do everything.
//
// Threading: thread-compatible; a client may be copied for another thread.

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {

class ServedHome {
 public:
  // `config`: more lines of config.yaml. The port is any free one, and there is no unix socket.
  explicit ServedHome(const std::string& config = {});

  Program& program() { return program_; }
  // Starts it with that script of the model, and more words; the test fails where it does not come up.
  void start(const std::string& turns, std::vector<std::string> more = {});
  Finished end(int signal = SIGTERM);
  const Running& running() const { return *running_; }
  const HttpClient& client() const { return *client_; }

  // A new token with that scope.
  std::string token(const std::string& name, const std::string& scope);
  // A new conversation; its id. `cwd`: the project unless it is given; `more`: members of the body, each with a comma
  // in front.
  std::string create(const std::string& cwd = {}, const std::string& more = {});
  static std::string path(const std::string& id, const std::string& what) {
    return "/api/v1/conversations/" + id + "/" + what;
  }
  HttpAnswer say(const std::string& id, const std::string& text) const;
  // The value of a metric without labels; -1 = there is none.
  double metric(const std::string& name) const;

 private:
  Program program_;
  std::unique_ptr<Running> running_;
  std::unique_ptr<HttpClient> client_;
};

// Asks until it holds; false after half a minute.
bool comes_true(const std::function<bool()>& holds);

}  // namespace agentd::testing
