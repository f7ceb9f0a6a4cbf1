// SPDX-License-Identifier: Apache-2.0
#include "core/codec/schema.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>

namespace agentd {
namespace {

// The error of reading the schema, or of checking the value; empty = valid.
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
  EXPECT_EQ(said(R"({"$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"}}})", R"({"a":1})"), "");
  EXPECT_NE(said(R"({"$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"}}})", R"({"a":"1"})"), "");
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
  EXPECT_TRUE(holds("^\\u00e9\\uD83D\\uDCA9\\u{1F4A9}$", "\xC3\xA9\xF0\x9F\x92\xA9\xF0\x9F\x92\xA9"));
  EXPECT_TRUE(holds("^(?<year>\\d{4})$", "2026"));
  EXPECT_TRUE(holds("^[\\s\\S]$", "\n"));
  EXPECT_TRUE(holds("^\\s$", "\xC2\xA0"));
  EXPECT_FALSE(holds("^[\\S]$", "\xC2\xA0"));
  EXPECT_FALSE(holds("a$", "a\n")) << "the end is that of the text";
  EXPECT_TRUE(holds("^\\cA[\\b]\\p{Letter}$", "\x01\x08\xC3\xA9"));
  EXPECT_TRUE(holds("^[[:alpha:]]$", "p]")) << "a class of seven characters, and a bracket";
  EXPECT_TRUE(holds("^[^]$", "\n"));
  EXPECT_FALSE(holds("[]a]", "a]")) << "an empty class";
}

struct Case {
  const char *schema, *fits, *breaks;  // "" = nothing does
};

TEST(JsonSchema, KeywordsOfAllDraftsHold) {
  const Case cases[] = {
      {R"({"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false})", R"({"x1":1})", R"({"y":1})"},
      {R"({"type":"object","patternProperties":{"^x":{"type":"integer"}}})", R"({"x1":1})", R"({"x1":"a"})"},
      {R"({"properties":{"a":{}},"patternProperties":{"b":{}},"additionalProperties":{"type":"null"}})",
       R"({"a":1,"ab":1,"c":null})", R"({"a":1,"c":1})"},
      {R"({"type":"object","additionalProperties":{"type":"integer"},"required":["total"]})", R"({"total":1})",
       R"({"total":"x"})"},
      {R"({"type":"object","additionalProperties":false,"required":["total"]})", "", R"({"total":"x"})"},
      {R"({"additionalProperties":{"type":"integer"},"dependencies":{"a":["b"]}})", R"({"a":1,"b":2})",
       R"({"a":"x","b":"y"})"},
      {R"({"minItems":2.0})", "[1,2]", "[1]"},
      {R"({"maxLength":1.0})", R"("a")", R"("aa")"},
      {R"({"$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n","minimum":5})", "5", "1"},
      {R"({"prefixItems":[{"type":"integer"}],"items":false})", "[1]", "[1,2]"},
      {R"({"items":[{"type":"integer"}],"additionalItems":{"type":"null"}})", "[1,null]", "[1,2]"},
      {R"({"contains":{"const":1},"minContains":2,"maxContains":3})", "[1,0,1]", "[1,1,1,1]"},
      {R"({"contains":{"const":1},"minContains":0})", "[]", ""},
      {R"({"uniqueItems":true})", R"([1,"1",true,{"a":1,"b":2}])", R"([{"a":1,"b":[2]},{"b":[2.0],"a":1.0}])"},
      {R"({"uniqueItems":true})", "[0,1]", "[0,-0.0]"},
      {R"({"propertyNames":{"maxLength":2}})", R"({"ab":1})", R"({"abc":1})"},
      {R"({"dependentRequired":{"a":["b"]}})", R"({"b":1})", R"({"a":1})"},
      {R"({"dependentSchemas":{"a":{"required":["b"]}}})", R"({"a":1,"b":1})", R"({"a":1})"},
      {R"({"if":{"minimum":5},"then":{"multipleOf":5},"else":{"maximum":2}})", "10", "3"},
      {R"({"enum":[{"a":[1,null]},2]})", R"({"a":[1.0,null]})", R"({"a":[1,null,2]})"},
      {R"({"const":false})", "false", "0"},
      {R"({"minimum":3,"exclusiveMinimum":true})", "3.5", "3"},
      {R"({"minimum":3,"exclusiveMinimum":4})", "5", "4"},
      {R"({"not":{"not":{"type":"integer"}}})", "1", "1.5"},
      {R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", "2.5", "2"},
      {R"({"minProperties":1,"maxProperties":1})", R"({"a":1})", R"({})"},
      {R"(true)", "1", ""},
      {R"({"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://x.test/s","title":5,"format":"email"})",
       R"("no")", ""},
      {R"({"$id":"http://x.test/s","items":{"$ref":"http://x.test/s#/$defs/n"},"$defs":{"n":{"type":"null"}}})",
       "[null]", "[1]"},
      {R"({"items":{"$ref":"#n"},"$defs":{"a":{"$anchor":"n","type":"null"}}})", "[null]", "[1]"},
      {R"({"items":{"$ref":"#/$defs/a~1b%25"},"$defs":{"a/b%":{"type":"null"}}})", "[null]", "[1]"},
  };
  for (const Case& each : cases) {
    if (*each.fits != '\0') {
      EXPECT_EQ(said(each.schema, each.fits), "") << each.schema;
    }
    if (*each.breaks != '\0') {
      EXPECT_NE(said(each.schema, each.breaks).find(" breaks \""), std::string::npos) << each.schema;
    }
  }
}

TEST(JsonSchema, NumbersAreComparedExactly) {
  const Case cases[] = {
      {R"({"type":"integer"})", "1.0", "1.5"},
      {R"({"type":"integer"})", "1e300", "1e-300"},
      {R"({"multipleOf":0.01})", "19.99", "19.995"},
      {R"({"multipleOf":0.01})", "1234567890123.45", "0.001"},
      {R"({"multipleOf":0.1})", "0.3", "0.35"},
      {R"({"multipleOf":1e-8})", "12391239123", "1e-9"},
      {R"({"multipleOf":0.3})", "0.9", "1e300"},
      {R"({"multipleOf":7})", "-9223372036854775807", "-9223372036854775808"},
      {R"({"multipleOf":2.5})", "0", "4"},
      {R"({"multipleOf":1e300})", "1e301", "1e299"},
      {R"({"minimum":9007199254740993})", "9007199254740993", "9007199254740992"},
      {R"({"maximum":18446744073709551614})", "18446744073709551614", "18446744073709551615"},
      {R"({"exclusiveMaximum":9223372036854775808})", "9223372036854775807", "9.223372036854775808e18"},
      {R"({"const":9007199254740993})", "9007199254740993", "9007199254740992.0"},
      {R"({"const":100})", "1e2", "1e3"},
      {R"({"minimum":-1})", "-1", "-9223372036854775808"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(said(each.schema, each.fits), "") << each.schema;
    EXPECT_NE(said(each.schema, each.breaks).find("the value breaks"), std::string::npos) << each.schema;
  }
}

TEST(JsonSchema, LengthsCountCodePoints) {
  EXPECT_EQ(said(R"({"minLength":2,"maxLength":2})", "\"\xF0\x9F\x92\xA9\xC3\xA9\""), "");
  EXPECT_EQ(said(R"({"minLength":3,"maxLength":3})", R"("\u0000ab")"), "");
  EXPECT_NE(said(R"({"maxLength":1})", "\"\xF0\x9F\x92\xA9\xC3\xA9\""), "");
}

TEST(JsonSchema, MistakeHasItsPlaceAsAPointer) {
  EXPECT_EQ(said(R"({"items":{"properties":{"a/b~":{"type":"null"}}}})", R"([{},{"a/b~":1}])"),
            R"(/1/a~1b~0 breaks "type": "null")");
  EXPECT_EQ(said(R"({"properties":{"a":false}})", R"({"a":1})"), R"(/a breaks "a": false)");
  EXPECT_EQ(said("false", "1"), R"(the value breaks "schema": false)");
  EXPECT_EQ(said(R"({"propertyNames":{"pattern":"^a"}})", R"({"b":1})"), R"(the name of /b breaks "pattern": "^a")");
  // Errors of alternatives are not reported.
  EXPECT_EQ(said(R"({"properties":{"x":{"anyOf":[{"items":{"type":"null"}}]}}})", R"({"x":[1]})"),
            R"(/x breaks "anyOf": [{"items":{"type":"null"}}])");
  // Both members of a repeated name are checked.
  EXPECT_EQ(said(R"({"properties":{"a":{"type":"null"}}})", R"({"a":null,"a":1})"), R"(/a breaks "type": "null")");
  const std::string rule = said(R"({"enum":[")" + std::string(500, 'x') + R"("]})", "1");
  EXPECT_LT(rule.size(), 250u) << rule;
  EXPECT_TRUE(rule.ends_with("...")) << rule;
}

TEST(JsonSchema, MistakeIsOneLineWhateverItsNamesAre) {
  EXPECT_EQ(said(R"({"additionalProperties":false})", R"({"a\n\u001b[2Jb":1})"),
            R"(/a \x1b[2Jb breaks "additionalProperties": false)");
  EXPECT_EQ(said(R"({"properties":{"\u001b":{"\r\u0007":1}}})", "1"),
            R"(schema: at /properties/\x1b: the keyword '\x07' is not supported)");
  EXPECT_EQ(said(R"({"pattern":"\u001b("})", "1"),
            R"(schema: at /pattern: the expression '\x1b(' cannot be used: missing ): \x1b()");
  std::string deep = "1";
  for (int i = 0; i < 300; ++i) deep = R"({"a long name":)" + deep + "}";
  EXPECT_LT(said(R"({"type":"object","additionalProperties":{"$ref":"#"}})", deep).size(), 1100u);
}

TEST(JsonSchema, UnsupportedSchemasAreErrors) {
  const Case cases[] = {
      // The third is the error of reading.
      {"[]", "", "a schema must be an object or a boolean, not []"},
      {R"({"properties":{"a":{"type":"strng"}}})", "",
       "at /properties/a/type: \"strng\" must be null, boolean, object, array, number, integer or string"},
      {R"({"items":{"requird":[]}})", "", "at /items: the keyword 'requird' is not supported"},
      {R"({"unevaluatedProperties":false})", "", "the keyword 'unevaluatedProperties' is not supported"},
      {R"({"unevaluatedItems":false})", "", "the keyword 'unevaluatedItems' is not supported"},
      {R"({"$dynamicRef":"#a"})", "", "the keyword '$dynamicRef' is not supported"},
      {R"({"required":"a"})", "", "at /required: must be a list of names, not \"a\""},
      {R"({"required":[1]})", "", "at /required: must be a list of names, not [1]"},
      {R"({"minimum":"5"})", "", "at /minimum: must be a number, not \"5\""},
      {R"({"exclusiveMinimum":true})", "", "at /exclusiveMinimum: a boolean needs 'minimum' in the same schema"},
      {R"({"oneOf":[]})", "", "at /oneOf: must be a non-empty list of schemas, not []"},
      {R"({"anyOf":{}})", "", "at /anyOf: must be a non-empty list of schemas, not {}"},
      {R"({"allOf":[1]})", "", "at /allOf/0: a schema must be an object or a boolean, not 1"},
      {R"({"minItems":-1})", "", "at /minItems: must be a whole number from 0, not -1"},
      {R"({"maxLength":1.5})", "", "at /maxLength: must be a whole number from 0, not 1.5"},
      {R"({"multipleOf":0})", "", "at /multipleOf: must be a number above 0, not 0"},
      {R"({"uniqueItems":1})", "", "at /uniqueItems: must be a boolean, not 1"},
      {R"({"enum":[]})", "", "at /enum: must be a non-empty list of values, not []"},
      {R"({"type":[]})", "", "at /type: must be a type or a non-empty list of types, not []"},
      {R"({"properties":[]})", "", "at /properties: must be an object of schemas, not []"},
      {R"({"$defs":{"a":1}})", "", "at /$defs/a: a schema must be an object or a boolean, not 1"},
      {R"({"additionalItems":1})", "", "at /additionalItems: a schema must be an object or a boolean, not 1"},
      {R"({"items":[{}],"prefixItems":[{}]})", "",
       "at /items: a list of schemas cannot be combined with 'prefixItems'"},
      {R"({"dependentRequired":{"a":{}}})", "", "at /dependentRequired: must be a list of names, not {}"},
      {R"({"pattern":5})", "", "at /pattern: must be an expression, not 5"},
      {R"({"type":"null","type":"string"})", "", "'type' is repeated"},
      {R"({"properties":{"a":{},"a":{}}})", "", "at /properties: 'a' is repeated"},
      {R"({"$schema":"http://json-schema.org/draft-03/schema#"})", "",
       "at /$schema: \"http://json-schema.org/draft-03/schema#\" is not a supported draft: use 4, 6, 7, 2019-09 or "
       "2020-12"},
      {R"({"$ref":"http://x.test/s.json"})", "",
       "at /$ref: \"http://x.test/s.json\" is not a place in this schema such as \"#/$defs/x\"; other documents are "
       "not "
       "fetched"},
      {R"({"$ref":"#/definitions/none"})", "",
       "at /$ref: \"#/definitions/none\" does not name a schema in this schema"},
      {R"({"$ref":"#/enum/0","enum":[{}]})", "", "at /$ref: \"#/enum/0\" does not name a schema in this schema"},
      {R"({"$ref":"#/allOf/01","allOf":[{},{}]})", "",
       "at /$ref: \"#/allOf/01\" does not name a schema in this schema"},
      {R"({"$ref":"#/a~2"})", "", "at /$ref: \"#/a~2\" does not name a schema in this schema"},
      {R"({"$ref":"#/%zz"})", "", "at /$ref: \"#/%zz\" does not name a schema in this schema"},
      {R"({"items":{"$id":"b","items":{"$ref":"#"}}})", "",
       "at /items/items/$ref: a reference below an $id of its own is not supported"},
      {R"({"$ref":"#"})", "", "the references of this schema lead back to itself for the same value"},
      {R"({"$defs":{"a":{"anyOf":[{"not":{"$ref":"#/$defs/a"}}]}}})", "",
       "at /$defs/a: the references of this schema lead back to itself for the same value"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})", "",
       "at /$defs/a: the references of this schema lead back to itself for the same value"},
      {R"x({"pattern":"(?=x)"})x", "",
       "at /pattern: the expression '(?=x)' cannot be used: invalid perl operator: (?="},
      {R"x({"pattern":"(a)\\1"})x", "",
       "at /pattern: the expression '(a)\\1' cannot be used: invalid escape sequence: \\1"},
      {R"x({"pattern":"\\Aa"})x", "",
       "at /pattern: the expression '\\Aa' cannot be used: '\\A' is not an escape of JavaScript's expressions"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(said(each.schema, "1"), "schema: " + std::string(each.breaks)) << each.schema;
  const auto is_refused = [](const std::string& schema) {
    return said(schema, "{}").find("cannot be used: ") != std::string::npos;
  };
  for (const std::string bad :
       {"(", "^(a|b", "(a+", "a**", "[", "*", "a{2,1}", "\\\\", "\\\\u12", "\\\\c1", "\\\\p{Nope}"}) {
    EXPECT_TRUE(is_refused(R"({"pattern":")" + bad + "\"}")) << bad;
    EXPECT_TRUE(is_refused(R"({"patternProperties":{")" + bad + "\":{}}}")) << bad;
  }
}

TEST(JsonSchema, SchemaMayHoldItself) {
  const std::string_view schema =
      R"({"$defs":{"tree":{"type":"object","properties":
            {"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}},
          "properties":{"root":{"$ref":"#/$defs/tree"}}})";
  EXPECT_EQ(said(schema, R"({"root":{"kids":[{"kids":[]}]}})"), "");
  EXPECT_EQ(said(schema, R"({"root":{"kids":[{"kids":[1]}]}})"), R"(/root/kids/0/kids/0 breaks "type": "object")");
}

TEST(JsonSchema, PropertyMayBeCalledLikeAKeyword) {
  EXPECT_EQ(
      said(R"({"properties":{"type":{"type":"string"},"pattern":{"type":"number"}}})", R"({"type":"x","pattern":3})"),
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

// A list within a list and so on.
std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

TEST(JsonSchema, RecursionIsBounded) {
  const std::string_view list = R"({"type":"array","items":{"$ref":"#"}})";
  EXPECT_EQ(said(list, nested(1000)), "");
  const std::string_view twice = R"({"anyOf":[{"type":"array","items":{"$ref":"#"}},{"type":"null"}]})";
  EXPECT_EQ(said(twice, nested(500)), "");
  EXPECT_EQ(said(twice, nested(501)), "the value cannot be checked: it needs more than 1000 nested schemas");
  // Schemas that follow one another for the same value.
  std::string chain = R"({"$ref":"#/$defs/0","$defs":{"70":{})";
  for (int i = 0; i < 70; ++i)
    chain += ",\"" + std::to_string(i) + R"(":{"allOf":[{"$ref":"#/$defs/)" + std::to_string(i + 1) + "\"}]}";
  EXPECT_NE(said(chain + "}}", "1").find("more than 64 schemas follow one another"), std::string::npos);
  std::string levels = "{}";
  for (int i = 0; i < 70; ++i) levels = R"({"items":)" + levels + "}";
  EXPECT_NE(said(levels, "1").find("the schema has more than 64 levels"), std::string::npos);
}

// Threads of agentd have 1 MiB.
TEST(JsonSchema, DeepValuesFitIntoASmallStack) {
  const auto work = [](void*) -> void* {
    const std::string deep =
        R"({"additionalProperties":{"items":{"contains":{"if":{"not":{"$ref":"#"}},"then":false}}}})";
    std::string value = "1";
    for (int i = 0; i < 300; ++i) value = R"({"a":[[)" + value + "]]}";
    EXPECT_EQ(said(deep, value), "the value cannot be checked: it needs more than 1000 nested schemas");
    EXPECT_EQ(said(R"({"uniqueItems":true,"enum":[)" + nested(990) + "]}", nested(990)), "");
    return nullptr;
  };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kStackBytes = std::size_t{8} << 20;
#else
  constexpr std::size_t kStackBytes = std::size_t{1} << 20;
#endif
  pthread_attr_t attributes;
  ASSERT_EQ(::pthread_attr_init(&attributes), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(&thread, &attributes, work, nullptr), 0);
  ASSERT_EQ(::pthread_join(thread, nullptr), 0);
  ::pthread_attr_destroy(&attributes);
}

TEST(JsonSchema, WorkIsBounded) {
  // Two alternatives at each of 400 levels, and both must be tried.
  EXPECT_EQ(said(R"({"anyOf":[{"minItems":1,"items":{"$ref":"#"}},{"maxItems":1,"items":{"$ref":"#"}},{"type":"null"}],
                     "not":{"const":[]}})",
                 nested(400)),
            "the value cannot be checked: it takes too long against this schema");
  std::string many = "[0";
  for (int i = 1; i < 100'000; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(said(R"({"uniqueItems":true})", many + "]"), "");
  EXPECT_NE(said(R"({"uniqueItems":true})", many + ",7]"), "");
  // Neither time nor stack grows with the possible matches of an expression.
  EXPECT_NE(said(R"x({"pattern":"^(a+)+$"})x", "\"" + std::string(100'000, 'a') + "!\""), "");
  EXPECT_EQ(said(R"x({"pattern":"^(a|b)*$"})x", "\"" + std::string(1'000'000, 'a') + "\""), "");
}

}  // namespace
}  // namespace agentd
