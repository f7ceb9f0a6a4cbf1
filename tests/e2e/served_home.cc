// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/served_home.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "core/base/file.h"

namespace agentd::testing {

ServedHome::ServedHome(const std::string& config) {
  program_.config("serve: {port: 0, socket: false, drain_seconds: 5}\n" + config);
}

void ServedHome::start(const std::string& turns, std::vector<std::string> more) {
  more.insert(more.begin(), {"serve", "--script", program_.script(turns)});
  running_ = std::make_unique<Running>(program_.start(more));
  ASSERT_TRUE(running_->wait_for_out("\n")) << running_->err();
  const std::string said = running_->out();
  std::string token = read_file(program_.home() + "/serve.token", 1'000).value_or("");
  while (!token.empty() && token.back() == '\n') token.pop_back();
  client_ = std::make_unique<HttpClient>(
      static_cast<std::uint16_t>(std::stoi(said.substr(said.find("127.0.0.1:") + 10))), token);
}

Finished ServedHome::end(int signal) {
  running_->signal(signal);
  const Finished out = running_->wait();
  running_.reset();
  return out;
}

std::string ServedHome::token(const std::string& name, const std::string& scope) {
  const Finished made = program_.run({"auth", "token", "add", name, "--scope", scope});
  EXPECT_EQ(made.code, 0) << made.err;
  return made.out.substr(0, made.out.find('\n'));
}

std::string ServedHome::create(const std::string& cwd, const std::string& more) {
  const HttpAnswer made = client_->post("/api/v1/conversations",
                                        R"({"cwd":")" + (cwd.empty() ? program_.project() : cwd) + "\"" + more + "}");
  EXPECT_EQ(made.status, 201) << made.body;
  return std::string(made.json().root()["id"].string_or(""));
}

HttpAnswer ServedHome::say(const std::string& id, const std::string& text) const {
  return client_->post(path(id, "messages"), R"({"text":")" + text + "\"}");
}

double ServedHome::metric(const std::string& name) const {
  const std::string all = client_->get("/metrics").body, line = "\n" + name + " ";
  const std::size_t at = all.find(line);
  return at == std::string::npos ? -1 : std::atof(all.c_str() + at + line.size());
}

bool comes_true(const std::function<bool()>& holds) {
  for (int i = 0; i < 1'500; ++i) {
    if (holds()) return true;
    ::usleep(20'000);
  }
  return holds();
}

}  // namespace agentd::testing
