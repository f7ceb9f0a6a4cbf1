// SPDX-License-Identifier: Apache-2.0
// Messages of a program: their shapes, what is refused, and lines that come in pieces.
#include "core/app/stream_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/app/message_input.h"
#include "core/base/base64.h"

namespace agentd::app {
namespace {

std::string refusal(std::string_view line) {
  const auto read = read_stream_message(line);
  return read ? "accepted" : read.error().message;
}

TEST(StreamInput, ReadsTextsAndBlocks) {
  auto read = read_stream_message(R"({"type":"user","message":{"role":"user","content":"hello"}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text, "hello");
  read = read_stream_message(
      R"({"type":"user","session_id":"x","message":{"content":[{"type":"image","source":{"type":"base64",)"
      R"("media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"a"},{"type":"text","text":"b"},)"
      R"({"type":"document","title":"t","source":{"type":"base64","media_type":"application/pdf",)"
      R"("data":"JVBERi0x"}}]}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, "a\n\nb");
  ASSERT_EQ(read->media.size(), 2u);
  EXPECT_EQ(read->media[0].kind, BlockKind::kImage);
  EXPECT_EQ(read->media[1].text, "t");
}

TEST(StreamInput, SaysWhatIsWrong) {
  EXPECT_EQ(refusal("hello").substr(0, 16), "not valid JSON: ");
  EXPECT_EQ(refusal("[]"), R"(a message must be {"type":"user","message":{"role":"user","content":"..."}})");
  EXPECT_EQ(refusal(R"({"type":"control_request"})").substr(0, 17), "a message must be");
  EXPECT_EQ(refusal(R"({"type":"user","message":{"role":"assistant","content":"x"}})"),
            "the role of a message must be user, not 'assistant'");
  EXPECT_EQ(refusal(R"({"type":"user","message":{"content":7}})"),
            "the content of a message must be a text or a list of blocks");
  EXPECT_EQ(refusal(R"({"type":"user","message":{"content":" "}})"), "the message is empty");
  EXPECT_EQ(refusal(R"({"type":"user","message":{"content":[{"type":"tool_result"}]}})"),
            "a content block must be text, image or document, not 'tool_result'");
  const auto image = [](const std::string& source) {
    return R"({"type":"user","message":{"content":[{"type":"image","source":)" + source + "}]}}";
  };
  EXPECT_EQ(refusal(image(R"({"type":"url","url":"https://x"})")),
            "an image needs a source of type base64 with media_type and data");
  EXPECT_EQ(refusal(image(R"({"type":"base64","media_type":"text/html","data":"AAAA"})")),
            "an image cannot have the media_type 'text/html'");
  EXPECT_EQ(refusal(image(R"({"type":"base64","media_type":"image/png","data":"A*AA"})")),
            "the data of an image is not base64");
  EXPECT_EQ(refusal(image(R"({"type":"base64","media_type":"image/jpeg","data":"iVBORw0KGgo="})")),
            "the data of an image is not image/jpeg, but image/png");
  EXPECT_EQ(refusal(image(R"({"type":"base64","media_type":"image/png","data":"aGVsbG8="})")),
            "the data of an image is not image/png");
}

TEST(StreamInput, ReadsLinesHoweverTheyCome) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (const char* const piece : {"one\ntw", "o\r\n", "\n", "last"}) {
      EXPECT_GT(::write(ends[1], piece, strlen(piece)), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ::close(ends[1]);
  });
  LineReader lines(ends[0]);
  for (const char* const expected : {"one", "two", "", "last"}) {
    const auto line = lines.next({});
    ASSERT_TRUE(line && *line);
    EXPECT_EQ(**line, expected);
  }
  EXPECT_EQ(lines.number(), 4u);
  EXPECT_FALSE(*lines.next({}));
  writer.join();
  ::close(ends[0]);
}

TEST(StreamInput, PassesOverALineThatIsTooLong) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    const std::string piece(1u << 20, 'x');
    for (int i = 0; i < 66; ++i) EXPECT_EQ(::write(ends[1], piece.data(), piece.size()), 1 << 20);
    EXPECT_EQ(::write(ends[1], "\nnext\n", 6), 6);
    ::close(ends[1]);
  });
  LineReader lines(ends[0]);
  const auto long_one = lines.next({});
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error().code, Code::kInvalid);
  const auto next = lines.next({});
  ASSERT_TRUE(next && *next);
  EXPECT_EQ(**next, "next");
  EXPECT_EQ(lines.number(), 2u);
  writer.join();
  ::close(ends[0]);
}

TEST(StreamInput, EndsWhenItIsCancelled) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  CancelToken cancel;
  LineReader lines(ends[0]);
  std::thread canceller([&] { cancel.cancel(1); });
  const auto line = lines.next(cancel);
  canceller.join();
  EXPECT_TRUE(line && !*line);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Media, IsKnownByItsBytes) {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> kinds[] = {{"\x89PNG\r\n\x1a\n"s, "image/png"},
                                                       {"\xff\xd8\xff\xe0"s, "image/jpeg"},
                                                       {"GIF89a"s, "image/gif"},
                                                       {"RIFF\0\0\0\0WEBPVP8 "s, "image/webp"},
                                                       {"%PDF-1.7\n"s, "application/pdf"}};
  for (const auto& [bytes, type] : kinds) {
    const auto block = media_of(bytes, "dir/name.x");
    ASSERT_TRUE(block && *block) << type;
    EXPECT_EQ((**block).name, type);
    EXPECT_EQ((**block).opaque, base64(bytes));
    EXPECT_EQ((**block).text, type == "application/pdf" ? "name.x" : "");
  }
  EXPECT_FALSE(*media_of("plain text", "x"));
  EXPECT_FALSE(*media_of("RIFF....WAVE", "x"));
  const auto large = media_of("\x89PNG" + std::string(kImageBytesMax, 'x'), "x");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "it has 5,242,884 bytes, and an image may have 5,242,880");
}

TEST(Base64, IsWhatTheRfcSays) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  for (const char* const good : {"", "Zg==", "Zm8=", "Zm9v", "+/=="}) EXPECT_TRUE(is_base64(good)) << good;
  for (const char* const bad : {"Z", "Zg=", "Zg===", "Z===", "Zm9v\n", "Zm_v", "===="})
    EXPECT_FALSE(is_base64(bad)) << bad;
}

}  // namespace
}  // namespace agentd::app
