// SPDX-License-Identifier: Apache-2.0
// Tools and their results as clients see them.
#include "core/mcp/results.h"

#include <gtest/gtest.h>

#include "core/codec/schema.h"
#include "core/mcp/own_tools.h"

namespace agentd::mcp {
namespace {

JsonDocument read(const std::string& text) { return std::move(*JsonDocument::parse(text)); }

DirectReport report(ToolStatus status, std::string text) {
  DirectReport out;
  out.call_id = "c";
  out.status = status;
  out.text = std::move(text);
  return out;
}

TEST(Results, AnOwnToolHasItsTextAsStructuredContent) {
  const JsonDocument good = read(tool_result(report(ToolStatus::kOk, R"({"id":"7"})"), true));
  EXPECT_EQ(good.root()["structuredContent"]["id"].string_or(""), "7");
  EXPECT_EQ(good.root()["content"].at(0)["text"].string_or(""), R"({"id":"7"})");
  EXPECT_FALSE(good.root()["isError"].bool_or(false));
  // A hook has put something else in its place: nothing of before is told by the other way.
  const JsonDocument redacted = read(tool_result(report(ToolStatus::kOk, "[redacted]"), true));
  EXPECT_EQ(redacted.root()["structuredContent"].text(), R"({"message":"[redacted]"})");
}

TEST(Results, AFailureIsAnErrorWithoutStructuredContent) {
  for (const ToolStatus status : {ToolStatus::kError, ToolStatus::kDenied, ToolStatus::kInvalid}) {
    const JsonDocument failed = read(tool_result(report(status, R"({"id":"7"})"), true));
    EXPECT_TRUE(failed.root()["isError"].bool_or(false));
    EXPECT_FALSE(failed.root()["structuredContent"].exists());
  }
  const JsonDocument other = read(tool_result(report(ToolStatus::kOk, R"({"id":"7"})"), false));
  EXPECT_FALSE(other.root()["structuredContent"].exists());
}

TEST(Results, PicturesAndDocumentsComeAsTheyAre) {
  DirectReport shown = report(ToolStatus::kOk, "");
  Block picture, document;
  picture.kind = BlockKind::kImage;
  picture.name = "image/png";
  picture.opaque = "cGlj";
  document.kind = BlockKind::kDocument;
  document.name = "application/pdf";
  document.opaque = "cGRm";
  shown.parts = {picture, document};
  const JsonDocument result = read(tool_result(shown, false));
  const JsonView content = result.root()["content"];
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(content.at(0)["type"].string_or(""), "image");
  EXPECT_EQ(content.at(0)["data"].string_or(""), "cGlj");
  EXPECT_EQ(content.at(1)["resource"]["blob"].string_or(""), "cGRm");
}

TEST(Results, ACallThatWaitsForAPersonSaysHowToAnswer) {
  DirectReport waits = report(ToolStatus::kOk, "");
  waits.waits_for = "01W";
  const JsonDocument result = read(tool_result(waits, false));
  EXPECT_TRUE(result.root()["isError"].bool_or(false));
  EXPECT_NE(result.root()["content"].at(0)["text"].string_or("").find("agentd approve 01W"), std::string_view::npos);
}

TEST(OwnTools, EachHasSchemasThatCanBeRead) {
  EXPECT_GE(own_tools().size(), 12U);
  for (const OwnTool& tool : own_tools()) {
    for (const std::string_view text : {tool.input_schema, tool.output_schema}) {
      const auto parsed = JsonDocument::parse(text);
      ASSERT_TRUE(parsed) << tool.name << ": " << parsed.error().message;
      const auto schema = JsonSchema::read(parsed->root());
      EXPECT_TRUE(schema) << tool.name << ": " << (schema ? "" : schema.error().message);
      EXPECT_EQ(parsed->root()["type"].string_or(""), "object") << tool.name;
    }
    EXPECT_EQ(find_own_tool(tool.name), &tool);
  }
  EXPECT_EQ(find_own_tool("bash"), nullptr);
}

}  // namespace
}  // namespace agentd::mcp
