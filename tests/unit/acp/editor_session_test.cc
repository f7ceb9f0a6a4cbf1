// SPDX-License-Identifier: Apache-2.0
// Sessions for which there is no thread.
#include "core/acp/editor_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/support/runtime_test.h"

namespace agentd::acp {
namespace {

class WithoutThreads : public testing::RuntimeTest<SystemClock> {
 protected:
  void SetUp() override {
    begin_runtime("- text: x\n");
    int out[2] = {-1, -1};
    ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
    from_ = UniqueFd(out[0]);
    its_output_ = UniqueFd(out[1]);
    workplaces_.emplace(*runtime_, HookWishes{}, [](const std::string&) {});
    wire_.emplace(-1, its_output_.get(), clock_);
    shared_.emplace(Shared{*runtime_, *workplaces_, none_, *wire_, abilities_, commands_});
    session_.emplace(*shared_, Opening{temp_.file("a")});
  }
  // What the editor has been told; then it is told nothing more.
  std::string told() {
    session_.reset();
    wire_.reset();
    its_output_.reset();
    std::string out;
    char bytes[4096];
    for (ssize_t n = 0; (n = ::read(from_.get(), bytes, sizeof bytes)) > 0;)
      out.append(bytes, static_cast<std::size_t>(n));
    return out;
  }

  UniqueFd from_, its_output_;
  serve::JobThreads none_{0};
  const ClientAbilities abilities_{};
  CommandHosts commands_;
  std::optional<serve::Workplaces> workplaces_;
  std::optional<RpcWire> wire_;
  std::optional<Shared> shared_;
  std::optional<EditorSession> session_;
};

TEST_F(WithoutThreads, AnOpeningIsRefused) {
  std::vector<std::string> opened;
  session_->open(RpcId(7), true, [&](const std::string& id) { opened.push_back(id); });
  EXPECT_EQ(opened, std::vector<std::string>{""});
  EXPECT_FALSE(session_->cancel(RpcId(7))) << "it waits for nothing";
  EXPECT_EQ(told(), R"({"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the system allows agentd no more )"
                    R"(threads: try later"}})"
                    "\n");
}

TEST_F(WithoutThreads, AClosedSessionIsTold) {
  int closed = 0;
  session_->close([&] { ++closed; });
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(told(), "");
}

TEST_F(WithoutThreads, APromptIsRefused) {
  session_->prompt(RpcId(8), Prompt{});
  EXPECT_TRUE(told().starts_with(R"({"jsonrpc":"2.0","id":8,"error":)"));
}

}  // namespace
}  // namespace agentd::acp
