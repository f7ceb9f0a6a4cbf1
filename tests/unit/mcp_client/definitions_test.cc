// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/definitions.h"

#include <agentd/ext/tools.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace agentd::mcp {
namespace {

using Names = std::vector<std::string>;

Definition named(std::string name) { return {std::move(name), "", "", R"({"type":"object"})", "", ""}; }

Names names(const Names& tools, std::vector<bool> agreed = {}) {
  std::vector<Definition> definitions;
  for (const std::string& tool : tools) definitions.push_back(named(tool));
  agreed.resize(tools.size(), true);
  return names_of("s", definitions, agreed);
}

TEST(McpDefinitions, HaveOneDigestForEqualJson) {
  const Definition one{"n", "t",
                       "d", R"({"type":"object","properties":{"a":{"b":1,"c":[2,{"x":1,"y":2}]}}})",
                       "",  R"({"readOnlyHint":true,"title":"x"})"};
  Definition other = one;
  other.input_schema_json = R"( {"properties": {"a": {"c": [2, {"y": 2, "x": 1}], "b": 1}}, "type": "object"} )";
  other.annotations_json = R"({"title":"x","readOnlyHint":true})";
  EXPECT_EQ(one.digest(), other.digest());
  EXPECT_EQ(one.digest().size(), 64u);
  const auto differs = [&](auto change) {
    Definition changed = one;
    change(changed);
    return changed.digest() != one.digest();
  };
  EXPECT_TRUE(differs([](Definition& d) { d.name = "m"; }));
  EXPECT_TRUE(differs([](Definition& d) { d.title = "d", d.description = "t"; }));
  EXPECT_TRUE(differs([](Definition& d) { d.description += " "; }));
  EXPECT_TRUE(differs([](Definition& d) { d.output_schema_json = "{}"; }));
  EXPECT_TRUE(differs([](Definition& d) { d.annotations_json = ""; }));
  EXPECT_TRUE(differs([](Definition& d) {
    d.input_schema_json = R"({"type":"object","properties":{"a":{"b":1,"c":[{"x":1,"y":2},2]}}})";
  }));
}

TEST(McpDefinitions, AreNamedWithWhatModelsTake) {
  EXPECT_EQ(names({"echo", "get-file_2", "a.b/c"}), (Names{"mcp__s__echo", "mcp__s__get-file_2", "mcp__s__a_b_c"}));
  const Names longer = names({std::string(80, 'x'), std::string(79, 'x')});
  EXPECT_EQ(longer[0].size(), 64u);
  EXPECT_EQ(longer[0].substr(0, 20), "mcp__s__xxxxxxxxxxxx");
  EXPECT_NE(longer[0], longer[1]);
  EXPECT_EQ(names({std::string(56, 'x')})[0], "mcp__s__" + std::string(56, 'x'));
}

TEST(McpDefinitions, KeepTheirNamesInEachOrder) {
  const Names one = names({"a.b", "a_b", "a/b", "c.d"}), other = names({"c.d", "a/b", "a_b", "a.b"});
  EXPECT_EQ(one[1], "mcp__s__a_b");
  EXPECT_EQ(one[0].substr(0, 12), "mcp__s__a_b_");
  EXPECT_NE(one[0], one[2]);
  EXPECT_EQ(one[3], "mcp__s__c_d");
  EXPECT_EQ(one, (Names{other[3], other[2], other[1], other[0]}));
}

TEST(McpDefinitions, ThatAreNotAgreedToTakeNoName) {
  const Names before = names({"a.b"});
  const Names after = names({"a_b", "a.b"}, {false, true});
  EXPECT_EQ(after[1], before[0]);
  EXPECT_NE(after[0], after[1]);
  // A name that was made to be that of another tool.
  const Names made = names({"a.b", "a_b"});
  const Names three = names({"a.b", "a_b", made[0].substr(8)});
  EXPECT_EQ(three[2], made[0]);
  EXPECT_EQ(std::count(three.begin(), three.end(), made[0]), 1);
}

TEST(McpDefinitions, HaveTheFlagsOfTrustedAnnotations) {
  constexpr std::uint32_t kAny = AGENTD_TOOL_DESTRUCTIVE | AGENTD_TOOL_OPEN_WORLD;
  const std::string reads = R"({"readOnlyHint":true,"openWorldHint":false})";
  EXPECT_EQ(flags_of(reads, false), kAny);
  EXPECT_EQ(flags_of(reads, true), AGENTD_TOOL_READ_ONLY | AGENTD_TOOL_IDEMPOTENT);
  EXPECT_EQ(flags_of("", true), kAny);
  EXPECT_EQ(flags_of(R"({"readOnlyHint":"yes"})", true), kAny);
  EXPECT_EQ(flags_of(R"({"destructiveHint":false,"idempotentHint":true})", true),
            AGENTD_TOOL_IDEMPOTENT | AGENTD_TOOL_OPEN_WORLD);
}

Result<std::vector<ParamField>> params(std::string_view schema) {
  const auto document = JsonDocument::parse(schema);
  return param_fields(document->root());
}

TEST(McpDefinitions, MarkMembersThatAreFieldsOfHttp) {
  const auto found = params(R"({"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "x-mcp-header":{"type":"string"},
    "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}})");
  ASSERT_TRUE(found) << found.error().message;
  const auto input = JsonDocument::parse(R"({"region":"süd","deep":{"n":7}})");
  EXPECT_EQ(fields_of(*found, input->root()),
            (Fields{{"mcp-param-Region", "=?base64?c8O8ZA==?="}, {"mcp-param-N", "7"}}));
  const auto none = JsonDocument::parse(R"({"region":null,"deep":[]})");
  EXPECT_EQ(fields_of(*found, none->root()), Fields{});
}

TEST(McpDefinitions, AreRefusedWithMarksThatCannotBe) {
  for (const char* const schema :
       {R"({"type":"object","x-mcp-header":"A"})",
        R"({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}})",
        R"({"properties":{"a":{"type":"string","x-mcp-header":"A B"}}})",
        R"({"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB: c"}}})",
        R"({"properties":{"a":{"type":"string","x-mcp-header":""}}})",
        R"({"properties":{"a":{"type":"object","x-mcp-header":"A"}}})",
        R"({"$defs":{"a":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}})",
        R"({"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}})"})
    EXPECT_FALSE(params(schema)) << schema;
  EXPECT_TRUE(params(R"({"properties":{"a":{"type":"string","x-mcp-header":"A"}}})"));
}

TEST(McpDefinitions, WriteTextsAsFieldsOfHttp) {
  EXPECT_EQ(field_value("plain text, 1"), "plain text, 1");
  EXPECT_EQ(field_value(" x"), "=?base64?IHg=?=");
  EXPECT_EQ(field_value("a\r\nb: c"), "=?base64?YQ0KYjogYw==?=");
  EXPECT_EQ(field_value("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
  EXPECT_EQ(field_value(""),
            "=?base64?"
            "?=");
}

}  // namespace
}  // namespace agentd::mcp
