// SPDX-License-Identifier: Apache-2.0
// Laws of JSON Schema for every schema and value, over random ones; the seeds are fixed.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/codec/schema.h"

namespace agentd {
namespace {

class Random {
 public:
  explicit Random(std::uint32_t seed) : random_(seed) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  template <std::size_t N>
  std::string one_of(const char* const (&all)[N]) {
    return all[below(static_cast<int>(N))];
  }

  std::string value(int depth = 0) {
    static const char* const kLeaves[] = {
        "0",    "1",     "-1",   "2.5",  "1.0",   "19.99",  "9007199254740993",  "1e300",
        "null", "false", "true", "\"\"", "\"a\"", "\"ab\"", "\"\\u0000\\u00e9\""};
    const int kind = depth < 3 ? below(10) : 9;
    if (kind > 4) return one_of(kLeaves);
    std::string out;
    for (int i = below(4); i > 0; --i)
      out += (out.empty() ? "" : ",") + (kind > 2 ? name() + ":" : std::string()) + value(depth + 1);
    return kind > 2 ? "{" + out + "}" : "[" + out + "]";
  }

  std::string schema(int depth = 0) {
    if (below(12) == 0) return below(3) == 0 ? "false" : "true";
    std::string out;
    // Each keyword once: a repeated one is refused.
    int first = below(kKeywords);
    for (int i = below(4); i > 0; --i, first = (first + 1 + below(5)) % kKeywords)
      if (const std::string made = keyword(first, depth); !made.empty() && !holds(out, first))
        out += (out.empty() ? "" : ",") + made;
    return "{" + out + "}";
  }

 private:
  static constexpr int kKeywords = 31;
  static const char* name_of(int keyword) {
    static const char* const kNames[kKeywords] = {"type",
                                                  "enum",
                                                  "const",
                                                  "minimum",
                                                  "maximum",
                                                  "exclusiveMinimum",
                                                  "multipleOf",
                                                  "minLength",
                                                  "maxLength",
                                                  "pattern",
                                                  "minItems",
                                                  "maxItems",
                                                  "uniqueItems",
                                                  "minProperties",
                                                  "maxProperties",
                                                  "required",
                                                  "dependentRequired",
                                                  "items",
                                                  "contains",
                                                  "not",
                                                  "if",
                                                  "then",
                                                  "else",
                                                  "propertyNames",
                                                  "additionalProperties",
                                                  "prefixItems",
                                                  "allOf",
                                                  "anyOf",
                                                  "oneOf",
                                                  "properties",
                                                  "patternProperties"};
    return kNames[keyword];
  }
  static bool holds(const std::string& out, int keyword) {
    return out.find("\"" + std::string(name_of(keyword)) + "\":") != std::string::npos;
  }
  std::string name() {
    static const char* const kNames[] = {"\"a\"", "\"b\"", "\"ab\"", "\"\""};
    return one_of(kNames);
  }
  std::string keyword(int which, int depth) {
    static const char* const kTypes[] = {"\"integer\"", "\"number\"", "\"string\"",
                                         "\"object\"",  "\"array\"",  "[\"null\",\"boolean\"]"};
    static const char* const kNumbers[] = {"1", "0.5", "2", "1e-2"};
    static const char* const kPatterns[] = {"\"^a\"", "\"b$\"", "\"\""};
    const std::string head = "\"" + std::string(name_of(which)) + "\":";
    if (which == 0) return head + one_of(kTypes);
    if (which == 1) return head + "[" + value(2) + "," + value(1) + "]";
    if (which == 2) return head + value(1);
    if (which < 7) return head + one_of(kNumbers);
    if (which == 9) return head + one_of(kPatterns);
    if (which == 12) return head + (below(2) == 0 ? "true" : "false");
    if (which < 15) return head + std::to_string(below(3));
    if (which == 15) return head + "[" + name() + "]";
    if (which == 16) return head + "{\"a\":[" + name() + "]}";
    if (depth == 3) return {};
    if (which < 25) return head + schema(depth + 1);
    if (which < 29) return head + "[" + schema(depth + 1) + "," + schema(depth + 1) + "]";
    return head + "{" + (which == 29 ? "\"a\":" : "\"^a\":") + schema(depth + 1) + ",\"b\":" + schema(depth + 1) + "}";
  }

  std::mt19937 random_;
};

// 'f' for a value that fits, 'b' for one that breaks the schema, otherwise the error.
std::string verdict(const std::string& schema, const std::string& value) {
  const auto rules = JsonDocument::parse(schema);
  const auto data = JsonDocument::parse(value);
  if (!rules || !data) return "the test is wrong: " + schema + " " + value;
  const auto made = JsonSchema::read(rules->root());
  if (!made) return made.error().message + ": " + schema;
  const auto checked = made->check(data->root());
  if (checked) return "f";
  return checked.error().message.find(" breaks \"") != std::string::npos ? "b" : checked.error().message;
}

TEST(JsonSchemaLaws, HoldForRandomSchemasAndValues) {
  int fit = 0, broken = 0;
  for (std::uint32_t seed = 1; seed <= 3'000; ++seed) {
    Random random(seed);
    const std::string schema = random.schema(), value = random.value();
    const std::string is = verdict(schema, value);
    ASSERT_TRUE(is == "f" || is == "b") << "seed " << seed << ": " << is;
    ++(is == "f" ? fit : broken);
    const std::string is_not = is == "f" ? "b" : "f";
    const auto same = [&](const std::string& other, const std::string& with, const std::string& expected) {
      ASSERT_EQ(verdict(other, with), expected) << "seed " << seed << ": " << other << " of " << with;
    };
    same(R"({"not":)" + schema + "}", value, is_not);
    same(R"({"allOf":[true,)" + schema + "]}", value, is);
    same(R"({"anyOf":[false,)" + schema + "]}", value, is);
    same(R"({"oneOf":[)" + schema + "," + schema + "]}", value, "b");
    same(R"({"if":)" + schema + R"(,"then":false})", value, is_not);
    same(R"({"$ref":"#/$defs/s","$defs":{"s":)" + schema + "}}", value, is);
    same(R"({"items":)" + schema + "}", "[" + value + "," + value + "]", is);
    same(R"({"contains":)" + schema + "}", "[" + value + "]", is);
    const std::string member = R"({"x":)" + value + "}";
    same(R"({"patternProperties":{"^x$":)" + schema + R"(},"additionalProperties":false})", member, is);
    same(R"({"additionalProperties":)" + schema + R"(,"required":["x"]})", member, is);
    same(R"({"enum":[[],)" + value + "]}", value, "f");
    same(R"({"uniqueItems":true})", "[" + value + "," + value + "]", "b");
    if (HasFatalFailure()) return;
  }
  // A generator that makes only one of the two would test little.
  EXPECT_GT(fit, 500);
  EXPECT_GT(broken, 500);
}

}  // namespace
}  // namespace agentd
