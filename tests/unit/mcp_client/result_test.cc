// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/base64.h"
#include "providers/mcp/call_result.h"

namespace agentd::mcp {
namespace {

const std::string kPng = base64("\x89PNG\r\n\x1a\n0123");

ToolOutcome of(std::string_view result) {
  const auto document = JsonDocument::parse(result);
  const auto out = outcome_of(document->root(), true);
  return out ? *out : ToolOutcome();
}

TEST(McpResult, KeepsTextsAsTheyAre) {
  const ToolOutcome out = of(R"({"content":[{"type":"text","text":"a\n"},{"type":"text","text":""},)"
                             R"({"type":"text","text":"b"}]})");
  EXPECT_TRUE(out.success);
  EXPECT_EQ(out.content, "a\n\n\nb");
  EXPECT_EQ(out.full_bytes, out.content.size());
  EXPECT_FALSE(of(R"({"content":[],"isError":true})").success);
  EXPECT_EQ(of("{}").content, "");
}

TEST(McpResult, MakesPartsOfImages) {
  const ToolOutcome out = of(R"({"content":[{"type":"image","mimeType":"image/png","data":")" + kPng + R"("},)" +
                             R"({"type":"text","text":"seen"}]})");
  ASSERT_EQ(out.parts.size(), 1u);
  EXPECT_EQ(out.parts[0].kind, BlockKind::kImage);
  EXPECT_EQ(out.parts[0].name, "image/png");
  EXPECT_EQ(out.parts[0].opaque, kPng);
  EXPECT_EQ(out.content, "seen");
}

TEST(McpResult, SaysWhatIsNoImage) {
  for (const char* const image : {R"("mimeType":"image/png","data":"???")", R"("mimeType":"image/png","data":"aGk=")",
                                  R"("mimeType":"image/svg+xml","data":"aGk=")"}) {
    const ToolOutcome out = of(R"({"content":[{"type":"image",)" + std::string(image) + "}]}");
    EXPECT_TRUE(out.parts.empty()) << image;
    EXPECT_EQ(out.content.find("[image, image/"), 0u) << out.content;
  }
}

TEST(McpResult, HasBoundedParts) {
  std::string content;
  for (int i = 0; i < 25; ++i)
    content += (i > 0 ? "," : "") + (R"({"type":"image","mimeType":"image/png","data":")" + kPng + "\"}");
  const ToolOutcome out = of(R"({"content":[)" + content + "]}");
  EXPECT_EQ(out.parts.size(), 20u);
  EXPECT_EQ(out.content.find("[image, image/png, 12 bytes: it is left out, since there are too many]"), 0u)
      << out.content;
}

TEST(McpResult, TellsOfResourcesAndSounds) {
  const ToolOutcome out = of(R"({"content":[
    {"type":"audio","mimeType":"audio/wav","data":"aGk="},
    {"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"words"}},
    {"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"application/x","blob":"aGk="}},
    {"type":"resource","resource":{"uri":"file:///a.png","mimeType":"image/png","blob":")" +
                             kPng + R"("}},
    {"type":"resource_link","uri":"file:///b","name":"b","mimeType":"text/plain","description":"more\u001b[0m"},
    {"type":"hologram"}, 7]})");
  EXPECT_EQ(out.content,
            "[audio, audio/wav, 3 bytes: it cannot be shown]\n"
            "[resource file:///a.txt]\nwords\n"
            "[resource file:///a.bin, application/x, 3 bytes: it cannot be shown]\n"
            "[resource file:///a.png]\n"
            "[resource file:///b, b, text/plain: more\\x1b[0m]\n"
            "[content of the unknown kind 'hologram']\n[content of the unknown kind '']");
  EXPECT_EQ(out.parts.size(), 1u);
}

TEST(McpResult, KeepsWhatHasAStructure) {
  const ToolOutcome both = of(R"({"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}})");
  EXPECT_EQ(both.content + both.structured_json, R"(3{"sum":3})");
  EXPECT_EQ(of(R"({"structuredContent":[1,2]})").content, "[1,2]");
  const ToolOutcome alone = of(R"({"content":[],"structuredContent":{"sum":3}})");
  EXPECT_EQ(alone.content, R"({"sum":3})");
}

TEST(McpResult, SaysWhatIsNone) {
  const auto why = [](std::string_view result, bool modern) {
    const auto document = JsonDocument::parse(result);
    const auto out = outcome_of(document->root(), modern);
    return out ? "good" : out.error().message;
  };
  for (const bool modern : {false, true})
    EXPECT_EQ(why(R"({"content":"words"})", modern), "answered with content that is not a list");
  EXPECT_EQ(why(R"({"content":[],"structuredContent":[1]})", false),
            "answered with structured content that is not an object");
  EXPECT_EQ(why(R"({"content":[],"structuredContent":[1]})", true), "good");
  EXPECT_EQ(why(R"({"content":null,"structuredContent":{}})", false), "good");
}

}  // namespace
}  // namespace agentd::mcp
