// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/commands_home.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/base/file.h"

namespace agentd::testing {

void CommandsHome::begin_again(std::string settings) {
  std::filesystem::remove_all(program_.home());
  // The directory stays: a wait names its inode.
  for (const auto& entry : std::filesystem::directory_iterator(program_.project()))
    std::filesystem::remove_all(entry.path());
  settings_ = std::move(settings);
}

void CommandsHome::script(const std::string& turns) {
  program_.config("serve: {port: 0, drain_seconds: 1}\nprovider: scripted\nscripted: {file: " + program_.script(turns) +
                  "}\n" + settings_);
}

void CommandsHome::hook(const std::string& yaml) const {
  const std::string hooks = program_.home() + "/hooks";
  AGENTD_ASSERT(make_directories(hooks));
  ::chmod(program_.home().c_str(), 0700);
  AGENTD_ASSERT(write_file_atomically(hooks + "/here.yaml", yaml, 0600));
}

void CommandsHome::recipe(const std::string& name, const std::string& markdown) const {
  const std::string recipes = program_.home() + "/recipes";
  AGENTD_ASSERT(make_directories(recipes));
  ::chmod(program_.home().c_str(), 0700);
  AGENTD_ASSERT(write_file_atomically(recipes + "/" + name + ".md", markdown, 0600));
}

void CommandsHome::serve(std::vector<std::string> more) {
  more.insert(more.begin(), "serve");
  daemon_ = std::make_unique<Running>(program_.start(more));
  const bool listens = daemon_->wait_for_out("agentd serves ") && daemon_->wait_for_out("\n");
  const std::string said = daemon_->out();
  std::string token = read_file(program_.home() + "/serve.token", 1'000).value_or("");
  while (!token.empty() && token.back() == '\n') token.pop_back();
  const std::size_t at = said.find("127.0.0.1:");
  EXPECT_TRUE(listens && at != std::string::npos) << said << daemon_->err();
  const int port = at == std::string::npos ? 1 : std::atoi(said.c_str() + at + 10);
  client_ = std::make_unique<HttpClient>(static_cast<std::uint16_t>(port), token);
}

Finished CommandsHome::end(int signal) {
  daemon_->signal(signal);
  Finished out = daemon_->wait();
  daemon_.reset();
  return out;
}

int CommandsHome::answers(const std::string& status) const {
  const std::string line = R"(agentd_http_requests_total{route="open_client",status=")" + status + "\"} ";
  const std::string body = client_->get("/metrics").body;
  const std::size_t at = body.find(line);
  return at == std::string::npos ? 0 : std::atoi(body.c_str() + at + line.size());
}

}  // namespace agentd::testing
