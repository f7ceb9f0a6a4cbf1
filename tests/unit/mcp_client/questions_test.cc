// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/questions.h"

#include <gtest/gtest.h>

#include "played_server.h"

namespace agentd::mcp {
namespace {

std::string asked(std::string_view params) {
  const auto document = JsonDocument::parse(params);
  const auto question = read_question("s", document->root());
  return question ? question->message + "|" + question->schema_json + question->url : question.error().message;
}

TEST(McpQuestions, AreFlatFormsAndAddressesOfTheWeb) {
  EXPECT_EQ(asked(R"({"message":"m","requestedSchema":{"type":"object","properties":{}}})"),
            R"(m|{"type":"object","properties":{}})");
  EXPECT_EQ(asked(R"({"mode":"url","message":"m","url":"https://a.example/x"})"), "m|https://a.example/x");
  for (const char* const url : {"file:///etc/passwd", "javascript:alert(1)", "", "https://a.example/\\u001b[0m"})
    EXPECT_EQ(asked(R"({"mode":"url","message":"m","url":")" + std::string(url) + "\"}"),
              "url is no address of http or https")
        << url;
  EXPECT_EQ(asked(R"({"mode":"odd","message":"m"})"), "mode is neither form nor url");
  EXPECT_EQ(asked(R"({"message":"m"})"), "requestedSchema is not a flat object");
  EXPECT_EQ(asked(R"({"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}})"),
            "requestedSchema has the value 'a', which is no text, number, boolean or choice");
  EXPECT_EQ(asked(R"({"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array",)"
                  R"("items":{"type":"string"}}}}})"),
            "requestedSchema has the value 'a', which is no text, number, boolean or choice");
}

TEST(McpQuestions, HaveBoundedTexts) {
  EXPECT_EQ(asked(R"({"mode":"url","url":"http://a.example","message":")" + std::string(100'000, 'x') + "\"}").size(),
            8'192u + 17u);
  std::string many;
  for (int i = 0; i < 51; ++i) many += (i > 0 ? "," : "") + ("\"a" + std::to_string(i)) + R"(":{"type":"string"})";
  EXPECT_EQ(asked(R"({"message":"m","requestedSchema":{"type":"object","properties":{)" + many + "}}}"),
            "requestedSchema has too many values");
}

std::string checked(std::string_view values) {
  const auto schema = JsonDocument::parse(R"({"type":"object","required":["name"],"properties":{
    "name":{"type":"string","minLength":2,"maxLength":4},
    "age":{"type":"integer","minimum":0,"maximum":150},"size":{"type":"number"},"yes":{"type":"boolean"},
    "color":{"type":"string","enum":["red","green"],"enumNames":["Red","Green"]},
    "shape":{"type":"string","oneOf":[{"const":"o","title":"Circle"},{"const":"l","title":"Line"}]},
    "many":{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"a"},{"const":"b"}]}},
    "few":{"type":"array","items":{"type":"string","enum":["x","y"]}}}})");
  const auto document = JsonDocument::parse(values);
  const auto out = check_values(schema->root(), document->root());
  return out ? "fits" : out.error().message;
}

TEST(McpQuestions, AreAnsweredWithWhatTheyAskFor) {
  EXPECT_EQ(checked(R"({"name":"Ada"})"), "fits");
  EXPECT_EQ(checked(R"({"name":"\u00e4\u00e4\u00e4\u00e4","age":7,"size":1.5,"yes":false,"color":"red","shape":"l",)"
                    R"("many":["a","b"],"few":[]})"),
            "fits");
  for (const auto& [values, why] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "the values are no object"},
           {"{}", "the value 'name' is missing"},
           {R"({"name":"A"})", "the value 'name' has to be at least 2 characters"},
           {R"({"name":"Ada L"})", "the value 'name' has to be at most 4 characters"},
           {R"({"name":7})", "the value 'name' has to be a text"},
           {R"({"name":"Ada","x":1})", "the value 'x' was not asked for"},
           {R"({"name":"Ada","age":1.5})", "the value 'age' has to be a whole number"},
           {R"({"name":"Ada","age":-1})", "the value 'age' has to be at least 0"},
           {R"({"name":"Ada","size":"1"})", "the value 'size' has to be a number"},
           {R"({"name":"Ada","yes":"true"})", "the value 'yes' has to be true or false"},
           {R"({"name":"Ada","color":"blue"})", "the value 'color' has to be one of: red, green"},
           {R"({"name":"Ada","shape":"Line"})", "the value 'shape' has to be one of: o, l"},
           {R"({"name":"Ada","many":[]})", "the value 'many' has to be at least 1 choice"},
           {R"({"name":"Ada","many":["c"]})", "the value 'many' has to be one of: a, b for each"},
           {R"({"name":"Ada","few":"x"})", "the value 'few' has to be a list"}})
    EXPECT_EQ(checked(values), why) << values;
}

TEST(McpQuestions, AddressesNeedNoValues) {
  const auto params = JsonDocument::parse(R"({"mode":"url","message":"m","url":"https://a.example"})");
  Answering yes(R"({"password":"x"})");
  const auto answer = ask_person({"s", "t"}, params->root(), &yes, CancelToken(), Deadline{});
  EXPECT_EQ(*answer, R"({"action":"accept"})");
  EXPECT_EQ(yes.asked.at(0).url, "https://a.example");
  EXPECT_TRUE(yes.asked.at(0).schema_json.empty());
  const auto bad = JsonDocument::parse(R"({"mode":"url","message":"m","url":"ftp://a.example"})");
  EXPECT_EQ(ask_person({"s", "t"}, bad->root(), &yes, CancelToken(), Deadline{}).error().code, kRpcBadParams);
}

}  // namespace
}  // namespace agentd::mcp
