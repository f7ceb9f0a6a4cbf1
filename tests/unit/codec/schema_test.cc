// SPDX-License-Identifier: Apache-2.0
#include "core/codec/schema.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd {
namespace {

// What reading the schema, or else checking the value, has to say; empty = valid.
std::string said(std::string_view schema, std::string_view value) {
  const auto rules = JsonDocument::parse(schema);
  const auto data = JsonDocument::parse(value);
  if (!rules || !data) return "the test is wrong";
  const auto made = JsonSchema::read(rules->root());
  if (!made) return "schema: " + made.error().message;
  const auto checked = made->check(data->root());
  return checked ? "" : checked.error().message;
}

TEST(JsonSchema, SaysWhereAValueBreaksWhichRule) {
  const std::string_view schema =
      R"({"type":"object","required":["name"],"additionalProperties":false,
          "properties":{"name":{"type":"string","minLength":2},
                        "list":{"type":"array","items":{"type":"number"}}}})";
  EXPECT_EQ(said(schema, R"({"name":"ab","list":[1,2.5]})"), "");
  EXPECT_EQ(said(schema, R"({"name":"a"})"), R"(/name breaks "minLength": 2)");
  EXPECT_EQ(said(schema, R"({"name":"ab","list":[1,"x"]})"), R"(/list/1 breaks "type": "number")");
  EXPECT_EQ(said(schema, R"({})"), R"(the value breaks "required": ["name"])");
  EXPECT_EQ(said(schema, R"({"name":"ab","x":1})"), R"(/x breaks "additionalProperties": false)");
  EXPECT_EQ(said(schema, "[]"), R"(the value breaks "type": "object")");
}

TEST(JsonSchema, KeywordsOfLaterDraftsAreTranslated) {
  EXPECT_EQ(said(R"({"const":"a"})", R"("a")"), "");
  EXPECT_NE(said(R"({"const":"a"})", R"("b")"), "");
  EXPECT_EQ(said(R"({"exclusiveMinimum":3})", "4"), "");
  EXPECT_NE(said(R"({"exclusiveMinimum":3})", "3"), "");
  EXPECT_NE(said(R"({"exclusiveMaximum":3})", "3"), "");
  EXPECT_EQ(said(R"({"$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"}}})",
                 R"({"a":1})"),
            "");
  EXPECT_NE(said(R"({"$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"}}})",
                 R"({"a":"1"})"),
            "");
  EXPECT_EQ(said(R"({"properties":{"a":true}})", R"({"a":1})"), "");
  EXPECT_NE(said(R"({"properties":{"a":false}})", R"({"a":1})"), "");
}

TEST(JsonSchema, ExpressionsHoldAsPeopleWriteThem) {
  const auto holds = [](const std::string& pattern, std::string_view value) {
    JsonWriter schema, data;
    schema.begin_object().member("pattern", pattern).end_object();
    data.string(value);
    return said(schema.text(), data.text()).empty();
  };
  EXPECT_TRUE(holds("^\\d{3}-\\d+$", "123-4"));
  EXPECT_FALSE(holds("^\\d{3}-\\d+$", "12a-4"));
  EXPECT_TRUE(holds("^[\\w.]+@[\\w-]+$", "a.b@c-d"));
  EXPECT_FALSE(holds("^\\w+$", "a b"));
  EXPECT_TRUE(holds("^(?:a|b)\\/\\S\\-$", "a/x-"));
  EXPECT_FALSE(holds("^(?:a|b)\\/\\S\\-$", "a/ -"));
}

TEST(JsonSchema, WhatWouldBeSkippedInSilenceIsAnError) {
  EXPECT_EQ(said("[]", "1"), "schema: a schema must be an object, not []");
  EXPECT_EQ(
      said(R"({"properties":{"a":{"type":"strng"}}})", "1"),
      "schema: at /properties/a/type: \"strng\" is none of null, boolean, object, array, number, "
      "integer and string");
  EXPECT_EQ(said(R"({"propertyNames":{}})", "1"),
            "schema: the keyword 'propertyNames' is not understood");
  EXPECT_EQ(said(R"({"items":{"requird":[]}})", "1"),
            "schema: at /items: the keyword 'requird' is not understood");
  EXPECT_EQ(said(R"x({"pattern":"(?=x)"})x", "1"),
            "schema: at /pattern: the expression '(?=x)' is not understood");
  // What the library would not survive.
  for (const char* const bad : {"(", "^(a|b", "(a+", "a**", "[", "*", "a{2,1}"}) {
    EXPECT_EQ(said(R"({"pattern":")" + std::string(bad) + "\"}", "\"a\""),
              "schema: at /pattern: the expression '" + std::string(bad) + "' is not understood");
    EXPECT_NE(said(R"({"patternProperties":{")" + std::string(bad) + "\":{}}}", "{}").find("is not understood"),
              std::string::npos);
  }
  EXPECT_NE(said(R"({"$ref":"http://x.test/s.json"})", "1").find("is no place in this schema"),
            std::string::npos);
  EXPECT_NE(said(R"({"$ref":"#/definitions/none"})", "1").find("is no place in this schema"),
            std::string::npos);
  EXPECT_NE(
      said(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})",
           "1")
          .find("is no place in this schema"),
      std::string::npos)
      << "a circle";
  EXPECT_NE(said(R"({"anyOf":{}})", "1").find("must be a list of schemas"), std::string::npos);
}

TEST(JsonSchema, SchemaMayHoldItself) {
  const std::string_view schema =
      R"({"$defs":{"tree":{"type":"object","properties":
            {"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}},
          "properties":{"root":{"$ref":"#/$defs/tree"}}})";
  EXPECT_EQ(said(schema, R"({"root":{"kids":[{"kids":[]}]}})"), "");
  EXPECT_EQ(said(schema, R"({"root":{"kids":[{"kids":[1]}]}})"),
            R"(/root/kids/0/kids/0 breaks "type": "object")");
}

TEST(JsonSchema, PropertyMayBeCalledLikeAKeyword) {
  EXPECT_EQ(said(R"({"properties":{"type":{"type":"string"},"pattern":{"type":"number"}}})",
                 R"({"type":"x","pattern":3})"),
            "");
}

TEST(JsonSchema, CombinationsHold) {
  const std::string_view schema = R"({"anyOf":[{"type":"string"},{"type":"integer","minimum":5}]})";
  EXPECT_EQ(said(schema, "\"a\""), "");
  EXPECT_EQ(said(schema, "7"), "");
  EXPECT_NE(said(schema, "3"), "");
  EXPECT_NE(said(R"({"not":{"type":"null"}})", "null"), "");
  EXPECT_NE(said(R"({"enum":[1,"a"]})", "2"), "");
}

}  // namespace
}  // namespace agentd
