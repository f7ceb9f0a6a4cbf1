// SPDX-License-Identifier: Apache-2.0
#include "core/codec/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/bytes.h"

namespace agentd {
namespace {

std::string reread(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  return document ? document->root().text() : "error: " + document.error().message;
}

TEST(JsonDocument, ReadsEveryKindOfValue) {
  const auto document = JsonDocument::parse(R"({"a":[1,-2,2.5],"b":"x","c":true,"d":null,"e":{}})");
  ASSERT_TRUE(document);
  const JsonView root = document->root();
  EXPECT_EQ(root["a"].size(), 3u);
  EXPECT_EQ(root["a"].at(1).int_or(0), -2);
  EXPECT_DOUBLE_EQ(root["a"].at(2).number_or(0), 2.5);
  EXPECT_EQ(root["b"].string_or(""), "x");
  EXPECT_TRUE(root["c"].bool_or(false));
  EXPECT_TRUE(root["d"].exists());
  EXPECT_TRUE(root["d"].is_null());
  EXPECT_EQ(root.key_at(4), "e");
}

TEST(JsonView, OfAnAbsentOrOtherValueAnswersWithTheOtherwise) {
  const auto document = JsonDocument::parse(R"({"text":"5","number":5})");
  ASSERT_TRUE(document);
  const JsonView root = document->root();
  EXPECT_FALSE(root["no"]["such"]["path"].exists());
  EXPECT_EQ(root["text"].int_or(7), 7);
  EXPECT_EQ(root["number"].string_or("none"), "none");
  EXPECT_EQ(root["number"].at(0).int_or(3), 3);
  EXPECT_EQ(root["number"]["x"].text(), "null");
}

TEST(JsonView, OfANumberOutOfRangeAnswersWithTheOtherwise) {
  const auto document = JsonDocument::parse(R"([18446744073709551616, -1, 1.5])");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().at(0).uint_or(1), 1u);
  EXPECT_EQ(document->root().at(1).uint_or(2), 2u);
  EXPECT_EQ(document->root().at(2).int_or(3), 3);
}

TEST(JsonDocument, AZeroWithAnExponentIsZero) {
  for (const char* zero : {"0e99", "0E+308", "0.000e40", "0e-99", "0e1", "0.0"}) {
    EXPECT_EQ(JsonDocument::parse(zero)->root().number_or(1), 0.0) << zero;
    const auto inside = JsonDocument::parse(std::string("[1e9,") + zero + ",2.5e3,{\"a\":" + zero + "}]");
    ASSERT_TRUE(inside) << zero;
    EXPECT_EQ(inside->root().at(0).number_or(1), 1e9);
    EXPECT_EQ(inside->root().at(1).number_or(1), 0.0) << zero;
    EXPECT_EQ(inside->root().at(2).number_or(1), 2500.0);
    EXPECT_EQ(inside->root().at(3)["a"].number_or(1), 0.0) << zero;
  }
  EXPECT_EQ(JsonDocument::parse("1e-2")->root().number_or(0), 0.01);
  EXPECT_EQ(JsonDocument::parse("0.0000000000000000001e30")->root().number_or(0), 1e11);
  EXPECT_TRUE(std::signbit(JsonDocument::parse("-0e99")->root().number_or(1)));
}

TEST(JsonDocument, RefusesWhatIsNotOneValue) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{} {}", "nul", "'x'", "{\"a\" 1}", "\"\x01\"", "01", "+1", "NaN", "[1]//", "\"\\x41\""})
    EXPECT_FALSE(JsonDocument::parse(text)) << text;
}

TEST(JsonDocument, ReadsTheWholeTextAndRefusesAMarkBeforeIt) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"{}\0"sv, "{}\0{}"sv, "\0{}"sv, "{\0}"sv, "1\0"sv, "[1] \0 "sv,
                                      "\xef\xbb\xbf{}"sv, " \xef\xbb\xbf{}"sv, "{}\xef\xbb\xbf"sv, "\xff\xfe{\0}\0"sv})
    EXPECT_FALSE(JsonDocument::parse(text)) << testing::PrintToString(text);
  EXPECT_TRUE(JsonDocument::parse(" \t\r\n{} \t\r\n"));
  EXPECT_NE(JsonDocument::parse("\xef\xbb\xbf{}").error().message.find("byte order mark"), std::string::npos);
}

TEST(JsonDocument, NamesTheByteOfTheMistake) {
  const auto document = JsonDocument::parse(R"({"a": tru})");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, Code::kInvalid);
  EXPECT_NE(document.error().message.find("at byte "), std::string::npos) << document.error().message;
}

TEST(JsonDocument, NamesAMistakeAsThePartOfASentence) {
  const auto mistake = [](std::string_view text) {
    const auto document = JsonDocument::parse(text);
    return document ? std::string("none") : document.error().message;
  };
  EXPECT_EQ(mistake(""), "bad JSON at byte 0: there is no value");
  EXPECT_EQ(mistake("{}x"), "bad JSON at byte 2: there is more after the value");
  EXPECT_EQ(mistake("{ a}"), "bad JSON at byte 2: the name of a member, in double quotes, is missing");
  for (const char* const wrong : {"{\"a\" 1}", "{\"a\":1", "[1", "[nul]", "\"\\u12x4\"", "\"\\x\"", "\"open",
                                  "\"\xff\"", "1e999", "1.", "1e", "\"\\ud83d\\u0041\"", "[}"}) {
    const std::string said = mistake(wrong);
    if (said == "none") continue;  // half of a pair is replaced
    const std::size_t colon = said.find(": ");
    ASSERT_NE(colon, std::string::npos) << wrong << said;
    const char first = said[colon + 2];
    EXPECT_FALSE(first >= 'A' && first <= 'Z') << wrong << said;
    EXPECT_NE(said.back(), '.') << wrong << said;
    EXPECT_EQ(said.find("this is not JSON"), std::string::npos) << wrong << said;
  }
}

TEST(JsonDocument, RefusesInvalidUtf8) {
  for (const char* text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\""})
    EXPECT_FALSE(JsonDocument::parse(text)) << hex({reinterpret_cast<const std::uint8_t*>(text), 3});
}

// The address sanitizer sees a byte that is read after the text.
TEST(JsonDocument, RefusesTextsThatEndInsideACharacter) {
  for (const std::string_view half : {"\xC3", "\xE2", "\xE2\x82", "\xF0", "\xF0\x9F", "\xF0\x9F\x98"}) {
    const std::string text = "\"" + std::string(40, 'x') + std::string(half);
    const auto refused = JsonDocument::parse(text);
    ASSERT_FALSE(refused) << half.size();
    EXPECT_EQ(refused.error().message.substr(0, 17), "bad JSON at byte ") << refused.error().message;
  }
}

TEST(JsonDocument, ReplacesLoneSurrogatesAndKeepsPairs) {
  EXPECT_EQ(reread(R"("\ud83d")"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(reread(R"("\ude00 x \ud83d\ude00")"), "\"\xEF\xBF\xBD x \xF0\x9F\x98\x80\"");
  EXPECT_EQ(reread(R"("\ud83d\ud83d\ude00")"), "\"\xEF\xBF\xBD\xF0\x9F\x98\x80\"");
  EXPECT_EQ(reread(R"("\\ud83d")"), R"("\\ud83d")");
}

TEST(JsonDocument, KeepsHalvesOfPairsForTextsThatComeInPieces) {
  const auto kept = [](std::string_view text) {
    const auto document = JsonDocument::parse(text, JsonDocument::Halves::kKeep);
    return document ? std::string(document->root().string_or("no text")) : document.error().message;
  };
  EXPECT_EQ(kept(R"("a\ud83d")"), "a\xED\xA0\xBD");
  EXPECT_EQ(kept(R"("\ude00 \ud83d\ude00\ud83d")"), "\xED\xB8\x80 \xF0\x9F\x98\x80\xED\xA0\xBD");
  EXPECT_EQ(kept(R"("\\ud83d")"), R"(\ud83d)");
  // Everything else is read as strictly as before.
  EXPECT_NE(kept("\"\xED\xA0\xBD\"").find("at byte"), std::string::npos);
  EXPECT_NE(kept("\"\\ud83d\xff\"").find("at byte"), std::string::npos);
  EXPECT_NE(kept("\"\\ud83d").find("at byte"), std::string::npos);
}

TEST(JsonDocument, KeepsNulBytesInStrings) {
  const auto document = JsonDocument::parse("\"a\\u0000b\"");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().string_or("").size(), 3u);
}

TEST(JsonDocument, ReadsWhatIsNestedAsDeepAsPeopleNest) {
  const std::string text = std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(reread(text), text);
}

// A million levels must not end the process, neither when read nor when written again.
TEST(JsonDocument, SurvivesADepthBomb) {
  constexpr std::size_t kLevels = 1'000'000;
  for (const char* open : {"[", "{\"a\":"}) {
    std::string text;
    for (std::size_t i = 0; i < kLevels; ++i) text += open;
    EXPECT_FALSE(JsonDocument::parse(text));
    text += "1";
    text += std::string(kLevels, open[0] == '[' ? ']' : '}');
    const auto document = JsonDocument::parse(text);
    if (document) {
      EXPECT_FALSE(document->root().text().empty());
    }
  }
}

TEST(JsonDocument, FindsTheFirstOfTwoEqualKeys) {
  const auto document = JsonDocument::parse(R"({"a":1,"a":2})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root()["a"].int_or(0), 1);
}

TEST(JsonWriter, WritesCompactAndPretty) {
  JsonWriter compact;
  compact.begin_object().member("a", 1).key("b").begin_array().null().boolean(false).end_array();
  compact.optional("c", "").optional("d", "x").end_object();
  EXPECT_EQ(compact.text(), R"({"a":1,"b":[null,false],"d":"x"})");
  JsonWriter pretty(JsonWriter::Layout::kPretty);
  pretty.begin_object().member("a", 1).end_object();
  EXPECT_EQ(pretty.text(), "{\n  \"a\": 1\n}");
}

TEST(JsonWriter, MakesEveryStringValidUtf8AndEscapesControls) {
  JsonWriter out;
  out.string("a\xff\"\\\n\x01");
  EXPECT_EQ(out.text(), "\"a\xEF\xBF\xBD\\\"\\\\\\n\\u0001\"");
  EXPECT_TRUE(JsonDocument::parse(out.text()));
}

TEST(JsonWriter, TakesAnEmptyViewForAnEmptyString) {
  JsonWriter out;
  out.string(std::string_view());
  EXPECT_EQ(out.text(), "\"\"");
}

TEST(JsonWriter, PutsRawJsonAndViewsWhereTheyBelong) {
  const auto document = JsonDocument::parse(R"({"x":[1]})");
  ASSERT_TRUE(document);
  JsonWriter out;
  out.begin_object().key("a").raw("{\"b\": 1}").key("c").value(document->root()["x"]);
  out.key("d").value(JsonView()).end_object();
  EXPECT_EQ(out.text(), R"({"a":{"b": 1},"c":[1],"d":null})");
}

}  // namespace
}  // namespace agentd
