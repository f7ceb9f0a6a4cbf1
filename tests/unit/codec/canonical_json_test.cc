// SPDX-License-Identifier: Apache-2.0
#include "core/codec/canonical_json.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

using namespace std::string_view_literals;

std::string canonical(std::string_view text) {
  const auto got = canonical_object(text);
  return got ? *got : "refused: " + got.error().message;
}

TEST(CanonicalObject, HasOneSpelling) {
  EXPECT_EQ(canonical(" { \"b\" : 1 ,\r\n\t\"a\" : [ true , null , { } , [ ] ] } \n"),
            R"({"b":1,"a":[true,null,{},[]]})");
  EXPECT_EQ(canonical(R"({"a":"\u0041\/\u00e9\n\u000a\u001f\ud83d\ude00\u2028"})"),
            "{\"a\":\"A/\xC3\xA9\\n\\n\\u001F\xF0\x9F\x98\x80\xE2\x80\xA8\"}");
  EXPECT_EQ(canonical(R"({"":"","a b":"\u0000"})"), R"({"":"","a b":"\u0000"})");
}

TEST(CanonicalObject, WritesANumberInOneWay) {
  EXPECT_EQ(canonical(R"({"n":[0,-0,0.0,-0.0e5,1.0,1e3,-2.50,0.1,100e-2,9007199254740992,-9007199254740992]})"),
            R"({"n":[0,0,0,0,1,1000,-2.5,0.1,1,9007199254740992,-9007199254740992]})");
  EXPECT_EQ(canonical(R"({"n":[1e20,1.5e300,5e-324,0.30000000000000004,123456789012345678000.0]})"),
            R"({"n":[1e+20,1.5e+300,5e-324,0.30000000000000004,1.2345678901234568e+20]})");
}

TEST(CanonicalObject, KeepsWideNumbersWhereTheyDecideNothing) {
  const std::string text = R"({"n":[9223372036854775807,-9223372036854775808,18446744073709551616,1e3]})";
  const auto kept = canonical_object(text, {.wide_numbers = true});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(*kept, R"({"n":[9223372036854775807,-9223372036854775808,18446744073709551616,1000]})");
  EXPECT_FALSE(canonical_object(text));
  EXPECT_FALSE(canonical_object(R"({"n":1e999})", {.wide_numbers = true}));
}

TEST(CanonicalObject, RefusesNumbersThatProgramsReadDifferently) {
  for (const std::string_view number : {"9007199254740993", "-9007199254740993", "18446744073709551616",
                                        "123456789012345678901234567890", "1e999", "-1e400", "1e-999"})
    EXPECT_TRUE(canonical("{\"n\":" + std::string(number) + "}").starts_with("refused: ")) << number;
  for (const std::string_view number : {"NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "0x1"})
    EXPECT_TRUE(canonical("{\"n\":" + std::string(number) + "}").starts_with("refused: is not a JSON")) << number;
}

TEST(CanonicalObject, RefusesAKeyTwiceAtAnyLevelAndNamesIt) {
  EXPECT_EQ(canonical(R"({"command":"ls","command":"rm -rf /"})"), "refused: has the key \"command\" twice");
  EXPECT_EQ(canonical(R"({"a":[{"b":{"x":1,"y":2,"\u0078":3}}]})"), "refused: has the key \"x\" twice");
  EXPECT_EQ(canonical(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})"), R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})");
}

TEST(CanonicalObject, ReadsTheWholeText) {
  for (const std::string_view text : {"{}\0"sv, "{\"a\":1}\0{\"a\":2}"sv, "{} {}"sv, "{}x"sv, "\0{}"sv})
    EXPECT_TRUE(canonical(text).starts_with("refused: ")) << testing::PrintToString(text);
  EXPECT_EQ(canonical("\xEF\xBB\xBF{}"), "refused: begins with a byte order mark");
  EXPECT_EQ(canonical("{} \0"sv), "refused: has text after its JSON object, at byte 3");
}

TEST(CanonicalObject, RefusesAnythingButAnObject) {
  for (const std::string_view text :
       {"[{}]"sv, "1"sv, "\"{}\""sv, "null"sv, "true"sv, ""sv, " "sv, "{"sv, "{\"a\":1,}"sv, "{'a':1}"sv, "{\"a\" 1}"sv,
        "{a:1}"sv, "{}//"sv, "/**/{}"sv, "{\"a\":\"\n\"}"sv, "{\"a\":\"\\x41\"}"sv})
    EXPECT_TRUE(canonical(text).starts_with("refused: ")) << text;
}

TEST(CanonicalObject, RefusesInvalidCharacters) {
  for (const std::string_view text :
       {R"({"a":"\ud800"})"sv, R"({"a":"\udc00"})"sv, R"({"a":"\ud83dx"})"sv, R"({"a":"\udc00\ud800"})"sv,
        R"({"\ud800":1})"sv, R"({"\udfff":1})"sv, "{\"a\":\"\xff\"}"sv, "{\"a\":\"\xED\xA0\x80\"}"sv,
        "{\"a\":\"\xC0\x80\"}"sv, "{\"a\xF5\":1}"sv})
    EXPECT_TRUE(canonical(text).starts_with("refused: ")) << testing::PrintToString(text);
}

TEST(CanonicalObject, HasAtMost64Levels) {
  const auto nested = [](std::size_t levels) {
    return "{\"a\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_EQ(canonical(nested(64)), nested(64));
  EXPECT_EQ(canonical(nested(65)), "refused: has more than 64 levels");
  EXPECT_EQ(canonical(nested(1'000'000)), "refused: has more than 64 levels");
}

TEST(CanonicalObject, HasALimitOfBytesBeforeAndAfter) {
  const CanonicalJsonLimits small{32, 64};
  EXPECT_TRUE(canonical_object(R"({"a":"123456789012345678901"})", small));
  EXPECT_FALSE(canonical_object(std::string(31, ' ') + "{}", small));
  EXPECT_FALSE(canonical_object(R"({"a":[1e15,1e15,1e15,1e15]})", small));
}

TEST(CanonicalObject, LetsTheCallerChangeTheTextsOfTheObjectItself) {
  const auto got = canonical_object(
      R"({"p":"a","q":{"p":"b"},"r":["c"],"p2":1})", {},
      [](std::string_view key, std::string_view text) { return std::string(key) + "=" + std::string(text); });
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, R"({"p":"p=a","q":{"p":"b"},"r":["c"],"p2":1})");
}

}  // namespace
}  // namespace agentd
