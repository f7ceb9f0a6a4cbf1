// SPDX-License-Identifier: Apache-2.0
// The SDK's reader of JSON says what the host's own says, and stays inside texts that are no JSON.
#include <gtest/gtest.h>
#include <agentd/json.hpp>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef AGENTD_TEST_CORE_JSON
#include "core/codec/json.h"
#endif

namespace agentd {
namespace {

constexpr std::string_view kInput =
    R"( {"path":"src/\u00e9\n\"x\".cc","limit":20,"ratio":-2.5e1,"whole":2.0,"all":true,"none":null,)"
    R"("edits":[{"old":"a","new":"b"},{"old":"\ud83d\ude00","new":""}],"k\u0065y":"escaped","big":9007199254740993,)"
    R"("deep":{"er":[[1],[2,3]]}} )";

TEST(SdkJson, ReadsTheMembersOfAnObject) {
  const json_view in(kInput);
  EXPECT_EQ(in.text("path"), "src/é\n\"x\".cc");
  EXPECT_EQ(in.integer("limit", 7), 20);
  EXPECT_EQ(in.number("ratio"), -25.0);
  EXPECT_EQ(in.integer("ratio"), -25);
  EXPECT_EQ(in.integer("whole"), 2);
  EXPECT_EQ(in.integer("big"), 9007199254740993);
  EXPECT_TRUE(in.boolean("all"));
  EXPECT_EQ(in.text("key"), "escaped");
  EXPECT_EQ(in.size(), 10u);
}

TEST(SdkJson, MissingNullAndOtherTypesReadAsTheDefault) {
  const json_view in(kInput);
  EXPECT_EQ(in.text("absent", "x"), "x");
  EXPECT_EQ(in.text("none", "x"), "x");
  EXPECT_EQ(in.text("limit", "x"), "x");
  EXPECT_EQ(in.integer("path", 3), 3);
  EXPECT_EQ(in.integer("absent"), 0);
  EXPECT_TRUE(in.boolean("absent", true));
  EXPECT_FALSE(in.has("none"));
  EXPECT_TRUE(in.has("all"));
  EXPECT_EQ(in["none"].type(), json_type::null);
  EXPECT_EQ(in["absent"]["further"][3].text(), "");
  EXPECT_EQ(json_view("2.5").integer(), 0);
  EXPECT_EQ(json_view("1e300").integer(), 0);
}

TEST(SdkJson, WalksArraysObjectsAndPaths) {
  const json_view in(kInput);
  std::string all;
  for (const json_view edit : in["edits"]) all += edit.text("old") + ">" + edit.text("new") + ";";
  EXPECT_EQ(all, "a>b;😀>;");
  EXPECT_EQ(in["edits"].size(), 2u);
  EXPECT_EQ(in["edits"][2].type(), json_type::absent);
  EXPECT_EQ(in.at_path("edits.1.old").text(), "😀");
  EXPECT_EQ(in.at_path("deep.er.1.1").integer(), 3);
  EXPECT_EQ(in.at_path("deep.er.x").type(), json_type::absent);
  EXPECT_EQ(in.at_path("deep.er").raw(), "[[1],[2,3]]");
  std::string names;
  const json_view edit = in["edits"][0];
  for (auto at = edit.begin(); at != edit.end(); ++at) names += at.name() + " ";
  EXPECT_EQ(names, "old new ");
}

TEST(SdkJson, HalfAPairIsAReplacementCharacter) {
  EXPECT_EQ(json_view(R"("\ud800x")").text(), "\xEF\xBF\xBDx");
  EXPECT_EQ(json_view(R"("\udc00\ud800\u0041")").text(),
            "\xEF\xBF\xBD\xEF\xBF\xBD"
            "A");
  EXPECT_EQ(json_view(R"("\uZZ")").text(), "\xEF\xBF\xBDZZ");
}

// Reads all that can be read of a text, each piece at the end of memory of its own.
void read_all(json_view view, int depth) {
  (void)view.text();
  (void)view.integer();
  (void)view.number();
  (void)view.at_path("a.0.b");
  if (depth == 0) return;
  for (auto at = view.begin(); at != view.end(); ++at) {
    (void)at.name();
    read_all(*at, depth - 1);
  }
}

TEST(SdkJson, EveryCutAndEveryChangedByteStaysInside) {
  std::mt19937 random(7);
  const std::string whole(kInput);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    for (int turn = 0; turn < 20; ++turn) {
      // On the heap and without a NUL: a sanitizer sees the first byte too many.
      const std::unique_ptr<char[]> bytes(new char[length + (length == 0)]);
      std::memcpy(bytes.get(), whole.data(), length);
      constexpr std::string_view kOdd = "\"\\{}[]:,u09 \0\xff";
      for (int i = 0; i < turn && length != 0; ++i) bytes[random() % length] = kOdd[random() % kOdd.size()];
      const json_view view(std::string_view(bytes.get(), length));
      EXPECT_LE(view.raw().size(), length);
      read_all(view, 8);
    }
  }
}

#ifdef AGENTD_TEST_CORE_JSON
void expect_same(json_view mine, JsonView theirs, const std::string& whole) {
  EXPECT_EQ(mine.type() == json_type::text, theirs.is_string()) << whole;
  EXPECT_EQ(mine.type() == json_type::number, theirs.is_number()) << whole;
  EXPECT_EQ(mine.type() == json_type::boolean, theirs.is_bool()) << whole;
  EXPECT_EQ(mine.type() == json_type::null, theirs.is_null()) << whole;
  EXPECT_EQ(mine.type() == json_type::array, theirs.is_array()) << whole;
  EXPECT_EQ(mine.type() == json_type::object, theirs.is_object()) << whole;
  EXPECT_EQ(mine.text(), theirs.string_or("")) << whole;
  EXPECT_EQ(mine.number(), theirs.number_or(0)) << whole;
  EXPECT_EQ(mine.boolean(), theirs.bool_or(false)) << whole;
  if (!theirs.is_array() && !theirs.is_object()) return;
  ASSERT_EQ(mine.size(), theirs.size()) << whole;
  std::size_t i = 0;
  for (auto at = mine.begin(); at != mine.end(); ++at, ++i) {
    EXPECT_EQ(at.name(), theirs.is_object() ? theirs.key_at(i) : "") << whole;
    expect_same(*at, theirs.at(i), whole);
  }
}

class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}
  std::string value(int depth) {
    const auto kind = random_() % (depth == 0 ? 5 : 7);
    if (kind == 0) return "null";
    if (kind == 1) return random_() % 2 == 0 ? "true" : "false";
    if (kind == 2) return number();
    if (kind <= 4) return text();
    std::string made(1, kind == 5 ? '[' : '{');
    const auto count = random_() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      made += (i == 0 ? "" : ",") + space();
      if (kind == 6) made += text() + space() + ":" + space();
      made += value(depth - 1) + space();
    }
    return made + (kind == 5 ? "]" : "}");
  }

 private:
  std::string space() { return std::string(random_() % 3 == 0 ? " \n" : ""); }
  std::string number() {
    const std::vector<std::string> some{"0", "-0", "7", "-12", "3.25", "1e5", "2E-3", "-1.5e+2", "9007199254740993"};
    return some[random_() % some.size()];
  }
  std::string text() {
    const std::vector<std::string> some{
        "a", "é", "😀", " ", "\\n", "\\\"", "\\\\", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\\u0000", "\\/", "{", "],"};
    std::string made = "\"";
    const auto count = random_() % 5;
    for (std::size_t i = 0; i < count; ++i) made += some[random_() % some.size()];
    return made + "\"";
  }
  std::mt19937 random_;
};

TEST(SdkJson, ReadsWhatTheHostReads) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const std::string whole = RandomJson(seed).value(5);
    const auto parsed = JsonDocument::parse(whole);
    ASSERT_TRUE(parsed) << whole;
    expect_same(json_view(whole), parsed->root(), whole);
  }
}
#endif

}  // namespace
}  // namespace agentd
