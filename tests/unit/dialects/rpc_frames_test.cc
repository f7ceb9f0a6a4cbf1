// SPDX-License-Identifier: Apache-2.0
// Frames of JSON-RPC.
#include <gtest/gtest.h>

#include "core/codec/json.h"
#include "core/external/rpc_frames.h"

namespace agentd {
namespace {

std::string next_of(FrameReader& reader) {
  auto body = reader.next();
  if (!body) return "error: " + body.error().message;
  return *body ? **body : "(not yet)";
}

TEST(RpcFrames, AreReadHoweverTheyAreCut) {
  const std::string bytes = rpc_frame("{\"a\":1}") + rpc_frame("") + rpc_frame("{}");
  FrameReader reader(100);
  std::vector<std::string> bodies;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    for (std::string body = next_of(reader); body != "(not yet)"; body = next_of(reader)) bodies.push_back(body);
  }
  EXPECT_EQ(bodies, (std::vector<std::string>{"{\"a\":1}", "", "{}"}));
}

TEST(RpcFrames, HeadersMayBeInAnyCaseAndOthersAreSkipped) {
  FrameReader reader(100);
  reader.feed("Content-Type: application/json\ncontent-length:  2 \n\n{}");
  EXPECT_EQ(next_of(reader), "{}");
}

TEST(RpcFrames, GarbageIsAnErrorThatShowsIt) {
  FrameReader reader(100);
  reader.feed("starting up...\n");
  EXPECT_NE(next_of(reader).find("'starting up...'"), std::string::npos);
}

TEST(RpcFrames, AHeaderWithoutEndIsAnError) {
  FrameReader reader(100);
  reader.feed(std::string(FrameReader::kHeaderMax, 'x'));
  EXPECT_EQ(next_of(reader).substr(0, 6), "error:");
}

TEST(RpcFrames, ABodyBeyondTheBoundIsRefusedBeforeItIsThere) {
  FrameReader reader(100);
  reader.feed("Content-Length: 101\r\n\r\n");
  EXPECT_NE(next_of(reader).find("101 bytes"), std::string::npos);
}

TEST(RpcFrames, ALengthThatIsNoNumberOrMissingIsAnError) {
  for (const char* header : {"Content-Length: ten\r\n\r\n", "Content-Length: -1\r\n\r\n",
                             "Content-Length: 99999999999999999999\r\n\r\n", "Other: 1\r\n\r\n"}) {
    FrameReader reader(100);
    reader.feed(header);
    EXPECT_EQ(next_of(reader).substr(0, 6), "error:") << header;
  }
}

TEST(RpcFrames, RequestsAndCancelsAreJsonRpc) {
  FrameReader reader(1000);
  reader.feed(rpc_request(7, "m", "{\"x\":1}"));
  reader.feed(rpc_cancel(7));
  reader.feed(rpc_refusal("\"k\"", "kodelet.ui.input"));
  EXPECT_EQ(next_of(reader), R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"x":1}})");
  EXPECT_EQ(next_of(reader), R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}})");
  EXPECT_NE(next_of(reader).find(R"("id":"k","error":{"code":-32601)"), std::string::npos);
}

}  // namespace
}  // namespace agentd
