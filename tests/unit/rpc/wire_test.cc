// SPDX-License-Identifier: Apache-2.0
// The wire to a client that answers, does not read, or goes.
#include "core/rpc/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "core/base/file.h"
#include "core/base/thread.h"

namespace agentd {
namespace {

class WireTest : public ::testing::Test {
 protected:
  WireTest() {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    its_input_ = UniqueFd(in[0]);
    to_ = UniqueFd(in[1]);
    from_ = UniqueFd(out[0]);
    its_output_ = UniqueFd(out[1]);
    wire_.emplace(its_input_.get(), its_output_.get(), clock_);
  }
  // Reads on a thread; `take` is called there.
  void begin(const RpcWire::Take& take = [](const RpcMessage&) {}) {
    reader_ = Thread([this, take] { wire_->read_all(take, cancel_); });
  }
  void send(std::string_view line) const { ASSERT_TRUE(write_all(to_.get(), std::string(line) + "\n")); }
  std::string line() {
    std::string out;
    for (char byte = 0; ::read(from_.get(), &byte, 1) == 1 && byte != '\n';) out += byte;
    return out;
  }

  const SystemClock clock_;
  const CancelToken cancel_;
  UniqueFd its_input_, to_, from_, its_output_;
  std::optional<RpcWire> wire_;
  Thread reader_;  // ends before what it uses
};

TEST_F(WireTest, AQuestionHasItsAnswerAndNoOther) {
  begin();
  Thread editor([this] {
    EXPECT_EQ(line(), R"({"jsonrpc":"2.0","id":1,"method":"ask","params":{}})");
    for (const char* const other :
         {R"({"jsonrpc":"2.0","id":7,"result":{"a":7}})", R"({"jsonrpc":"2.0","id":"1","result":{"a":8}})",
          R"({"jsonrpc":"2.0","method":"note"})", R"({"jsonrpc":"2.0","id":1,"result":{"a":1}})",
          R"({"jsonrpc":"2.0","id":1,"result":{"a":2}})"})
      send(other);
  });
  const RpcWire::Answer answer = wire_->ask("ask", "{}", CancelToken());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)->root()["result"]["a"].int_or(0), 1);
  editor.join();
  to_.reset();
}

TEST_F(WireTest, AnAnswerThatCannotBeReadIsAFault) {
  begin();
  Thread editor([this] {
    (void)line();
    send(R"({"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}})");
  });
  const RpcWire::Answer answer = wire_->ask("ask", "{}", CancelToken());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, kRpcBadRequest);
  editor.join();
  to_.reset();
}

TEST_F(WireTest, QuestionsEndWithTheirCancelAndWithTheEditor) {
  begin();
  const CancelToken cancel;
  Thread editor([&] {
    (void)line();
    cancel.cancel(1);
    EXPECT_EQ(line(), R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}})");
    (void)line();
    to_.reset();
  });
  const RpcWire::Answer cancelled = wire_->ask("ask", "{}", cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, kRpcCancelled);
  EXPECT_FALSE(wire_->is_gone());
  const RpcWire::Answer gone = wire_->ask("ask", "{}", CancelToken());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "the client has gone");
  EXPECT_TRUE(wire_->is_gone());
  EXPECT_FALSE(wire_->ask("ask", "{}", CancelToken()));
}

// The thread that reads is never held back, so that answers have a bound of their own.
TEST_F(WireTest, AnEditorThatReadsNoneOfItsAnswersIsGivenUp) {
  const std::string answer = "\"" + std::string(1u << 20, 'x') + "\"";
  begin([&](const RpcMessage& request) {
    for (int i = 0; i < 63; ++i) wire_->answer(request.id, answer);
    EXPECT_FALSE(wire_->is_gone());
    for (int i = 0; i < 3; ++i) wire_->answer(request.id, answer);
  });
  send(R"({"jsonrpc":"2.0","id":1,"method":"m"})");
  reader_.join();
  EXPECT_TRUE(wire_->is_gone());
}

TEST_F(WireTest, ALineThatIsTooLongIsRefusedAndTheNextIsRead) {
  std::string seen;
  begin([&](const RpcMessage& message) { seen += message.method; });
  Thread writer([this] {
    send(std::string(49u << 20, 'x'));
    send(R"({"jsonrpc":"2.0","method":"next"})");
    to_.reset();
  });
  EXPECT_EQ(line(),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the input has a message of more than )"
            R"(50331648 bytes on a line"}})");
  writer.join();
  reader_.join();
  EXPECT_EQ(seen, "next");
}

}  // namespace
}  // namespace agentd
