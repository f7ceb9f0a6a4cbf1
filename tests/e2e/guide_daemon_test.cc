// SPDX-License-Identifier: Apache-2.0
// docs/guide/daemon.md, run: its commands, with curl and jq, against a daemon that plays a script.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/guide_page.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr const char* kAnswers =
    "- text: There is a letter.\n"
    "- calls: [{name: bash, input: {command: echo done}}]\n- text: It is done.\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

class GuideDaemon : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v curl jq > /dev/null") != 0) GTEST_SKIP() << "curl or jq is not here";
    program_.config("serve: {port: 0, drain_seconds: 2}\nprovider: scripted\nscripted: {file: " +
                    program_.script(kAnswers) + "}\n");
    running_ = std::make_unique<Running>(program_.start({"serve"}));
    ASSERT_TRUE(running_->wait_for_out("\n")) << running_->err();
    const std::string said = running_->out();
    port_ = std::stoi(said.substr(said.find("127.0.0.1:") + 10));
    for (const Block& block : blocks_of_page(AGENTD_DAEMON_GUIDE, "sh")) blocks_.push_back(here(block.text));
    ASSERT_GE(blocks_.size(), 5u);
  }
  // The page's text with this daemon's port and home.
  std::string here(const std::string& text) const {
    return replaced(replaced(text, "127.0.0.1:9090", "127.0.0.1:" + std::to_string(port_)), "~/.agent",
                    program_.home());
  }
  // The block that has the text.
  std::string block(const std::string& text) const {
    for (const std::string& each : blocks_)
      if (has(each, text)) return each;
    ADD_FAILURE() << "the page has no block with " << text;
    return {};
  }
  Finished bash(const std::string& script) {
    Program typed;
    typed.set_project(program_.project());
    typed.set_home(program_.home());
    typed.set("HOME=" + program_.directory().path());
    typed.start_by({"/bin/bash", "-c", "PATH=${0%/*}:$PATH; set -e; " + script});
    return typed.run({});
  }
  // The first conversation, and a wait for what `line` prints.
  std::string until(const std::string& line, const std::string& text) const {
    return "for i in $(seq 200); do " + line + " | grep -q '" + text + "' && break; sleep 0.1; done\n" + line + "\n";
  }
  std::string begin() const {
    std::string out;
    for (const std::string& line : lines_of(block("TOKEN=$(cat")))
      out += has(line, "messages?after") ? until(line, "assistant") : line + "\n";
    return out;
  }

  Program program_;
  std::unique_ptr<Running> running_;
  int port_ = 0;
  std::vector<std::string> blocks_;
};

TEST_F(GuideDaemon, AConversationIsHadAsItSays) {
  const std::string events = block("/events?after=0");
  const Finished ran = bash(begin() + "timeout 3 bash -c \"$(declare -f ask); TOKEN=$TOKEN; API=$API; ID=$ID; " +
                            replaced(events, "\"", "\\\"") + "\" || true\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "user: What is in this directory?")) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "assistant: There is a letter.")) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "event: resync")) << ran.out << ran.err;
}

TEST_F(GuideDaemon, AQuestionIsAnsweredAsItSays) {
  const std::vector<std::string> lines = lines_of(block("$API/approvals"));
  ASSERT_EQ(lines.size(), 2u);
  const Finished ran =
      bash(begin() + "ask $API/conversations/$ID/messages -d '{\"text\": \"do it\"}'\n" + until(lines[0], "echo done") +
           "WAIT=$(ask $API/approvals | jq -r '.approvals[0].wait_id')\n" + replaced(lines[1], "WAIT_ID", "$WAIT") +
           "\n" + until("ask $API/conversations/$ID/messages", "It is done"));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "\"decision\":\"allow\"")) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "It is done.")) << ran.out << ran.err;
}

TEST_F(GuideDaemon, FilesComeAndGoAsItSays) {
  program_.file("dot.png", "\x89PNG\r\n\x1a\n....");
  const Finished ran = bash(begin() + block("dot.png") + until("ask $API/conversations/$ID/messages", "image/png") +
                            block("$ID/export"));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "image/png")) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "\"outcome\":\"here\"")) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, program_.home() + "/backups/monday")) << ran.out << ran.err;
}

TEST_F(GuideDaemon, ACommandIsDetachedAndAttachedToAsItSays) {
  const std::vector<std::string> lines = lines_of(block("agentd run --detach"));
  ASSERT_EQ(lines.size(), 2u);
  const Finished ran = bash("ID=$(" + lines[0] + "\n)\n" + until("agentd conversation show $ID", "There is a letter") +
                            "if timeout 3 " + lines[1] + "\nthen true; fi\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "make the tests pass")) << ran.out << ran.err;
  // Once by 'conversation show', and once by 'attach'.
  EXPECT_NE(ran.out.find("There is a letter."), ran.out.rfind("There is a letter.")) << ran.out << ran.err;
}

TEST_F(GuideDaemon, TokensAreMadeListedAndRemoved) {
  const Finished ran = bash(block("agentd auth token add"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "dashboard")) << ran.out;
}

}  // namespace
}  // namespace agentd::testing
