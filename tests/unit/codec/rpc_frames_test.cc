// SPDX-License-Identifier: Apache-2.0
// Frames of JSON-RPC, in both forms.
#include "core/codec/rpc_frames.h"

#include <gtest/gtest.h>

#include <vector>

namespace agentd {
namespace {

constexpr std::string_view kNone = "(not yet)";

std::string next_of(RpcFrames& frames) {
  auto text = frames.next();
  if (!text) return "error: " + text.error().message;
  return *text ? **text : std::string(kNone);
}

std::vector<std::string> all_of(RpcFrames& frames) {
  std::vector<std::string> out;
  for (std::string text = next_of(frames); text != kNone; text = next_of(frames)) out.push_back(text);
  return out;
}

// What comes of bytes that arrive in pieces of `piece` bytes.
std::vector<std::string> read(RpcFraming framing, std::string_view bytes, std::size_t text_max = 100,
                              std::size_t piece = 1'000'000) {
  RpcFrames frames(framing, text_max);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    frames.feed(bytes.substr(at, piece));
    for (std::string& each : all_of(frames)) out.push_back(std::move(each));
  }
  return out;
}

TEST(RpcFrames, AreReadHoweverTheyAreCut) {
  for (const RpcFraming framing : {RpcFraming::kLines, RpcFraming::kLength}) {
    std::string bytes;
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) {
      texts.push_back("{\"a\":" + std::string(static_cast<std::size_t>(i), '1') + "1}");
      bytes += rpc_frame(framing, texts.back());
    }
    for (const std::size_t piece : {1u, 2u, 3u, 7u, 64u, 1'000u})
      EXPECT_EQ(read(framing, bytes, 100, piece), texts) << piece;
  }
}

TEST(RpcFrames, ALineEndsWithLfOrCrLfAndEmptyOnesAreDropped) {
  EXPECT_EQ(read(RpcFraming::kLines, "{}\r\n\n  \n{\"a\":1}\n{\"not\":\"complete\""),
            (std::vector<std::string>{"{}", "{\"a\":1}"}));
}

TEST(RpcFrames, AfterALineThatIsTooLongTheNextOneIsRead) {
  const std::string bytes =
      std::string(101, 'x') + "\n" + std::string(100, 'y') + "\r\n" + std::string(5'000, 'z') + "\n{}\n";
  for (const std::size_t piece : {1u, 3u, 99u, 100u, 101u, 102u, 10'000u})
    EXPECT_EQ(read(RpcFraming::kLines, bytes, 100, piece),
              (std::vector<std::string>{"error: has a message of more than 100 bytes on a line", std::string(100, 'y'),
                                        "error: has a message of more than 100 bytes on a line", "{}"}))
        << piece;
}

TEST(RpcFrames, AMessageWithLineEndsIsSentOnOneLine) {
  EXPECT_EQ(rpc_frame(RpcFraming::kLines, "{\"a\":\n\t[1,\r\n2]}"), "{\"a\": \t[1,  2]}\n");
  EXPECT_EQ(rpc_frame(RpcFraming::kLines, "{\"a\": 1}"), "{\"a\": 1}\n");
}

TEST(RpcFrames, HeadersMayBeInAnyCaseAndOthersAreSkipped) {
  EXPECT_EQ(read(RpcFraming::kLength, "Content-Type: application/json\ncontent-length:  2 \n\n{}"),
            (std::vector<std::string>{"{}"}));
}

TEST(RpcFrames, GarbageIsAnErrorThatShowsItAndEndsTheReading) {
  RpcFrames frames(RpcFraming::kLength, 100);
  frames.feed("starting up...\n");
  EXPECT_NE(next_of(frames).find("'starting up...'"), std::string::npos);
  EXPECT_TRUE(frames.broken());
  frames.feed(rpc_frame(RpcFraming::kLength, "{}"));
  EXPECT_EQ(next_of(frames), kNone);
}

TEST(RpcFrames, AHeaderWithoutEndIsAnError) {
  EXPECT_EQ(read(RpcFraming::kLength, std::string(RpcFrames::kHeaderMax - 1, 'x')), std::vector<std::string>());
  ASSERT_EQ(read(RpcFraming::kLength, std::string(RpcFrames::kHeaderMax, 'x')).size(), 1u);
}

TEST(RpcFrames, ABodyBeyondTheBoundIsRefusedBeforeItIsThere) {
  EXPECT_EQ(read(RpcFraming::kLength, "Content-Length: 101\r\n\r\n"),
            (std::vector<std::string>{"error: has a message of 101 bytes; at most 100 are read"}));
}

TEST(RpcFrames, ALengthThatIsNoNumberMissingOrThereTwiceIsAnError) {
  for (const char* const header :
       {"Content-Length: ten\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
        "Other: 1\r\n\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "Content-Length: 0x2\r\n\r\n{}"}) {
    const auto found = read(RpcFraming::kLength, header);
    ASSERT_EQ(found.size(), 1u) << header;
    EXPECT_TRUE(found[0].starts_with("error: has a frame")) << header << found[0];
  }
}

}  // namespace
}  // namespace agentd
