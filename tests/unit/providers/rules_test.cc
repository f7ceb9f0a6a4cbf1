// SPDX-License-Identifier: Apache-2.0
// The validators find each violation by its name: every rule has a request that breaks it and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "providers/anthropic/anthropic.h"
#include "providers/anthropic/rules.h"
#include "providers/google/google.h"
#include "providers/google/rules.h"
#include "providers/openai/openai.h"
#include "providers/openai/rules.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::FakeHttpClient;
using testing::Sleepless;
using testing::TestRequest;

// A valid request with every kind of content; seals of the request's own model begin with "own/".
struct Wire {
  const char* name;
  const WireFormat& format;
  std::string good;
};

// The valid request with texts replaced, each at its first place.
struct Control {
  const char* wire;
  const char* rule;
  std::vector<std::pair<std::string, std::string>> sins;
};

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

const std::string kPicture = R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},)";

const std::vector<Wire>& wires() {
  static const std::vector<Wire> all{
      {"anthropic", kAnthropicWire,
       R"({"model":"claude-x","max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":2048},)"
       R"("output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}},)"
       R"("system":[{"type":"text","text":"be good","cache_control":{"type":"ephemeral","ttl":"1h"}}],)"
       R"("tools":[{"name":"ls","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}},)"
       R"({"name":"cat","description":"d","input_schema":{"type":"object","properties":{}}}],)"
       R"("tool_choice":{"type":"none"},"messages":[)"
       R"({"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png",)"
       R"("data":"AAAA"}},)"
       R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="},"title":"t"},)"
       R"({"type":"text","text":"hello"}]},)"
       R"({"role":"assistant","content":[{"type":"redacted_thinking","data":"own/0"},)"
       R"({"type":"thinking","thinking":"hm","signature":"own/1"},{"type":"text","text":"let me"},)"
       R"({"type":"tool_use","id":"c1","name":"ls","input":{}},)"
       R"({"type":"tool_use","id":"c2","name":"cat","input":{}}]},)"
       R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a.txt"},)"
       R"({"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"why"}],"is_error":true},)"
       R"({"type":"text","text":"now","cache_control":{"type":"ephemeral"}}]}]})"},
      {"chat", kChatWire,
       R"({"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"reasoning_effort":"low",)"
       R"("response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},)"
       R"("strict":false}},)"
       R"("tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{}}}},)"
       R"({"type":"function","function":{"name":"cat","parameters":{"type":"object","properties":{}}}}],)"
       R"("tool_choice":"none","messages":[{"role":"system","content":"be good"},)"
       R"({"role":"user","content":[{"type":"text","text":"hello"},)"
       R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},)"
       R"({"type":"file","file":{"filename":"f","file_data":"data:application/pdf;base64,AA=="}}]},)"
       R"({"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[)"
       R"({"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}},)"
       R"({"id":"c2","type":"function","function":{"name":"cat","arguments":"{\"a\":1}"}}]},)"
       R"({"role":"tool","tool_call_id":"c1","content":"a.txt"},{"role":"tool","tool_call_id":"c2","content":"b"},)"
       R"({"role":"assistant","content":"found","reasoning_content":""},{"role":"user","content":"now"}]})"},
      {"responses", kResponsesWire,
       R"({"model":"m","stream":true,"store":false,"instructions":"be good","max_output_tokens":99,)"
       R"("reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],)"
       R"("text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":false}},)"
       R"("prompt_cache_key":"k","tools":[)"
       R"({"type":"function","name":"ls","parameters":{"type":"object","properties":{}},"strict":false},)"
       R"({"type":"function","name":"cat","parameters":{"type":"object","properties":{}},"strict":false}],)"
       R"("tool_choice":"none","input":[{"type":"message","role":"user","content":[{"type":"input_text",)"
       R"("text":"hello"},)"
       R"({"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"},)"
       R"({"type":"input_file","filename":"f","file_data":"data:application/pdf;base64,AA=="}]},)"
       R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"own/1"},)"
       R"({"type":"message","role":"assistant","content":"let me","phase":"commentary"},)"
       R"({"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"},)"
       R"({"type":"function_call","call_id":"c2","name":"cat","arguments":"{\"a\":1}"},)"
       R"({"type":"function_call_output","call_id":"c1","output":"a.txt"},)"
       R"({"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"b"}]},)"
       R"({"type":"message","role":"user","content":[{"type":"input_text","text":"now"}]}]})"},
      {"google", kGoogleWire,
       R"({"systemInstruction":{"parts":[{"text":"be good"}]},)"
       R"("tools":[{"functionDeclarations":[{"name":"ls","parametersJsonSchema":{"type":"object"}},{"name":"cat"}]}],)"
       R"("toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"generationConfig":{"maxOutputTokens":99,)"
       R"("thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"},"responseMimeType":"application/json",)"
       R"("responseJsonSchema":{"type":"object"}},"contents":[)"
       R"({"role":"user","parts":[{"text":"hello"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},)"
       R"({"role":"model","parts":[{"text":"let me","thoughtSignature":"own/1"},)"
       R"({"functionCall":{"id":"c1","name":"ls","args":{}},"thoughtSignature":"own/2"},)"
       R"({"functionCall":{"id":"c2","name":"cat","args":{}}}]},)"
       R"({"role":"user","parts":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a.txt"}}},)"
       R"({"functionResponse":{"id":"c2","name":"cat","response":{"error":"no"}}},{"text":"now"}]}]})"},
  };
  return all;
}

const std::vector<Control>& controls() {
  static const std::string call = R"({"type":"tool_use","id":"c1","name":"ls","input":{}},)";
  static const std::vector<Control> all{
      // ---- Anthropic
      {"anthropic", "body-json", {{"{\"model\"", "{model"}}},
      {"anthropic", "body-pairs", {{"hello", "\\ud83d"}}},
      {"anthropic", "keys-known", {{"\"stream\"", "\"steam\""}}},
      {"anthropic", "model-named", {{"claude-x", ""}}},
      {"anthropic",
       "output-limit",
       {{"4096", "0"}, {R"({"type":"enabled","budget_tokens":2048})", R"({"type":"adaptive"})"}}},
      {"anthropic", "thinking-known", {{R"({"type":"enabled","budget_tokens":2048})", R"({"type":"very"})"}}},
      {"anthropic", "thinking-budget-least", {{"2048", "1023"}}},
      {"anthropic", "thinking-budget-below-output", {{"2048", "4096"}}},
      {"anthropic", "effort-form", {{"\"high\"", "\"\""}}},
      {"anthropic", "format-schema", {{R"("schema":{"type":"object"})", R"("schema":"object")"}}},
      {"anthropic", "system-text", {{"be good", " "}}},
      {"anthropic", "messages-some", {{R"("messages":[)", R"("messages":[],"metadata":[)"}}},
      {"anthropic", "roles-known", {{R"("messages":[{"role":"user")", R"("messages":[{"role":"system")"}}},
      {"anthropic",
       "role-first",
       {{R"("messages":[{"role":"user")",
         R"("messages":[{"role":"assistant","content":[{"type":"text","text":"x"}]},{"role":"user")"}}},
      {"anthropic",
       "roles-alternate",
       {{R"("messages":[{"role":"user")",
         R"("messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"user")"}}},
      {"anthropic",
       "role-last",
       {{R"("ephemeral"}}]}]})", R"("ephemeral"}}]},)"
                                 R"({"role":"assistant","content":[{"type":"text","text":"so"}]}]})"}}},
      {"anthropic",
       "content-some",
       {{R"("messages":[{"role":"user")",
         R"("messages":[{"role":"user","content":[]},)"
         R"({"role":"assistant","content":[{"type":"text","text":"x"}]},{"role":"user")"}}},
      {"anthropic", "blocks-known", {{R"({"type":"text","text":"let me"})", R"({"type":"sound"})"}}},
      {"anthropic", "block-place", {{R"({"type":"text","text":"let me"})", kPicture.substr(0, kPicture.size() - 1)}}},
      {"anthropic", "text-not-empty", {{"\"hello\"", "\"\""}}},
      {"anthropic", "text-not-blank", {{"\"hello\"", "\"\xC2\xA0\\n\""}}},
      {"anthropic", "thinking-signed", {{"own/1", ""}}},
      {"anthropic", "seals-own", {{"own/1", "other/1"}}},
      {"anthropic",
       "thinking-not-last",
       {{R"("messages":[{"role":"user")",
         R"("messages":[{"role":"user","content":"x"},{"role":"assistant","content":[)"
         R"({"type":"thinking","thinking":"","signature":"own/2"}]},{"role":"user")"}}},
      {"anthropic",
       "thinking-first",
       {{R"({"type":"redacted_thinking","data":"own/0"})", R"({"type":"text","text":"first"})"}}},
      {"anthropic",
       "results-first",
       {{R"([{"type":"tool_result","tool_use_id":"c1")",
         R"([{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"c1")"}}},
      {"anthropic", "call-id-form", {{"\"c1\"", "\"c:1\""}, {"\"c1\"", "\"c:1\""}}},
      {"anthropic",
       "call-ids-unique",
       {{"\"c2\"", "\"c1\""},
        {R"({"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"why"}],"is_error":true},)",
         ""}}},
      {"anthropic", "call-name", {{R"("name":"ls","input":{})", R"("name":"a b","input":{})"}}},
      {"anthropic", "call-input", {{R"("name":"ls","input":{})", R"("name":"ls","input":"{}")"}}},
      {"anthropic", "calls-answered", {{R"({"type":"tool_result","tool_use_id":"c1","content":"a.txt"},)", ""}}},
      {"anthropic", "results-called", {{call, ""}}},
      {"anthropic",
       "results-single",
       {{R"({"type":"tool_result","tool_use_id":"c1","content":"a.txt"},)",
         repeated(R"({"type":"tool_result","tool_use_id":"c1","content":"a.txt"},)", 2)}}},
      {"anthropic", "result-content", {{R"("content":"a.txt")", R"("content":7)"}}},
      {"anthropic", "error-says-why", {{R"("content":[{"type":"text","text":"why"}])", R"("content":"")"}}},
      {"anthropic", "tool-name", {{R"({"name":"cat","description")", R"({"name":"c.t","description")"}}},
      {"anthropic", "tools-unique", {{R"({"name":"cat","description")", R"({"name":"ls","description")"}}},
      {"anthropic", "tool-schema", {{R"("input_schema":{"type":"object"})", R"("input_schema":{})"}}},
      {"anthropic",
       "tool-schema-plain",
       {{R"("input_schema":{"type":"object"})", R"("input_schema":{"type":"object","anyOf":[]})"}}},
      {"anthropic", "tool-choice", {{R"("tool_choice":{"type":"none"})", R"("tool_choice":{"type":"maybe"})"}}},
      {"anthropic",
       "cache-marks",
       {{R"({"type":"tool_result","tool_use_id":"c1",)",
         R"({"type":"tool_result","cache_control":{"type":"ephemeral"},"tool_use_id":"c1",)"},
        {R"("text":"hello")", R"("text":"hello","cache_control":{"type":"ephemeral"})"}}},
      {"anthropic", "cache-mark-form", {{R"({"type":"ephemeral"})", R"({"type":"eternal"})"}}},
      {"anthropic",
       "cache-mark-place",
       {{R"("signature":"own/1")", R"("signature":"own/1","cache_control":{"type":"ephemeral"})"}}},
      {"anthropic",
       "cache-long-first",
       {{R"({"type":"ephemeral","ttl":"1h"}}],"tools")", R"({"type":"ephemeral"}}],"tools")"},
        {R"("text":"hello")", R"("text":"hello","cache_control":{"type":"ephemeral","ttl":"1h"})"}}},
      {"anthropic", "media-form", {{"image/png", "image/bmp"}}},
      {"anthropic", "media-size", {{"\"AAAA\"", "\"" + repeated("AAAA", (5u << 18) + 1) + "\""}}},
      {"anthropic", "images-count", {{kPicture, repeated(kPicture, 601)}}},
      {"anthropic", "body-size", {{"hello", repeated("hello", 7u << 20)}}},
      // ---- Chat Completions
      {"chat", "body-json", {{"{\"model\"", "{model"}}},
      {"chat", "body-pairs", {{"hello", "\\udc00"}}},
      {"chat", "keys-known", {{"\"tool_choice\"", "\"tool_chance\""}}},
      {"chat", "model-named", {{"\"m\"", "\"\""}}},
      {"chat", "output-limit", {{"\"max_tokens\":9", "\"max_tokens\":0"}}},
      {"chat", "output-limit-one", {{"\"max_tokens\":9", R"("max_tokens":9,"max_completion_tokens":9)"}}},
      {"chat", "usage-streamed", {{"\"stream\":true,", ""}}},
      {"chat", "effort-form", {{"\"low\"", "7"}}},
      {"chat", "format-schema", {{"\"strict\":false", "\"description\":\"\""}}},
      {"chat",
       "messages-some",
       {{R"("messages":[{"role":"system","content":"be good"},)",
         R"("messages":[{"role":"system","content":"be good"}],"metadata":[)"}}},
      {"chat",
       "roles-known",
       {{R"({"role":"assistant","content":"found","reasoning_content":""})",
         R"({"role":"developer","content":"found"})"}}},
      {"chat",
       "system-first",
       {{R"({"role":"assistant","content":"found","reasoning_content":""})",
         R"({"role":"system","content":"found"})"}}},
      {"chat",
       "role-first",
       {{R"({"role":"user","content":[{"type":"text")",
         R"({"role":"assistant","content":"x","reasoning_content":"y"},{"role":"user","content":[{"type":"text")"}}},
      {"chat", "user-behind-results", {{R"({"role":"assistant","content":"found","reasoning_content":""},)", ""}}},
      {"chat", "role-last", {{R"(,{"role":"user","content":"now"})", ""}}},
      {"chat", "content-some", {{R"("content":"found")", R"("content":null)"}}},
      {"chat", "parts-known", {{R"("content":"found")", R"("content":[{"type":"text","text":"found"}])"}}},
      {"chat", "text-not-empty", {{R"("content":"found")", R"("content":"")"}}},
      {"chat", "text-not-blank", {{R"("content":"a.txt")", R"("content":" \n")"}}},
      {"chat", "thinking-back", {{R"(,"reasoning_content":"")", ""}}},
      {"chat", "media-form", {{"data:image/png", "https://image.example/png"}}},
      {"chat",
       "calls-place",
       {{R"({"role":"user","content":"now"})", R"({"role":"user","content":"now","reasoning_content":"x"})"}}},
      {"chat", "calls-some", {{R"("content":"found",)", R"("content":"found","tool_calls":[],)"}}},
      {"chat", "call-form", {{R"({"id":"c1","type":"function")", R"({"id":"c1","type":"custom")"}}},
      {"chat",
       "call-id-form",
       {{"\"c1\"", "\"" + std::string(41, 'c') + "\""}, {"\"c1\"", "\"" + std::string(41, 'c') + "\""}}},
      {"chat",
       "call-ids-unique",
       {{"\"c2\"", "\"c1\""}, {R"(,{"role":"tool","tool_call_id":"c2","content":"b"})", ""}}},
      {"chat", "call-name", {{R"("name":"ls","arguments")", R"("name":"l s","arguments")"}}},
      {"chat", "call-arguments", {{R"("arguments":"{}")", R"("arguments":"[]")"}}},
      {"chat", "calls-answered", {{R"(,{"role":"tool","tool_call_id":"c2","content":"b"})", ""}}},
      {"chat",
       "results-called",
       {{R"({"role":"tool","tool_call_id":"c2","content":"b"})",
         R"({"role":"tool","tool_call_id":"c2","content":"b"},)"
         R"({"role":"tool","tool_call_id":"c2","content":"b"})"}}},
      {"chat",
       "tool-form",
       {{R"([{"type":"function","function":{"name":"ls","parameters")",
         R"([{"type":"x","function":{"name":"ls","parameters")"}}},
      {"chat", "tool-name", {{R"("name":"cat","parameters")", R"("name":"c/t","parameters")"}}},
      {"chat", "tools-unique", {{R"("name":"cat","parameters")", R"("name":"ls","parameters")"}}},
      {"chat",
       "tool-schema",
       {{R"("parameters":{"type":"object","properties":{}})", R"("parameters":{"type":"object"})"}}},
      {"chat", "tool-choice", {{R"("tool_choice":"none")", R"("tool_choice":"never")"}}},
      {"chat",
       "tools-count",
       {{R"("tools":[)", "\"tools\":[" +
                             [] {
                               std::string out;
                               for (int i = 0; i < 127; ++i)
                                 out += R"({"type":"function","function":{"name":"t)" + std::to_string(i) +
                                        R"(","parameters":{"type":"object","properties":{}}}},)";
                               return out;
                             }()}}},
      // ---- Responses
      {"responses", "body-json", {{"{\"model\"", "{model"}}},
      {"responses", "body-pairs", {{"hello", "\\ud83dx"}}},
      {"responses", "keys-known", {{"\"detail\"", "\"details\""}}},
      {"responses", "model-named", {{"\"m\"", "\"\""}}},
      {"responses", "output-limit", {{"99", "15"}}},
      {"responses", "not-stored", {{"\"store\":false", "\"store\":true"}}},
      {"responses", "effort-form", {{"\"low\"", "\"\""}}},
      {"responses", "include-known", {{"[\"reasoning.encrypted_content\"]", "[\"everything\"]"}}},
      {"responses", "cache-key", {{"\"k\"", "\"" + std::string(65, 'k') + "\""}}},
      {"responses", "format-schema", {{R"("name":"answer",)", ""}}},
      {"responses", "instructions-text", {{"be good", "\\t"}}},
      {"responses", "input-some", {{R"("input":[)", R"("input":[],"metadata":[)"}}},
      {"responses",
       "items-known",
       {{R"({"type":"message","role":"user","content":[{"type":"input_text","text":"now"}]})",
         R"({"type":"item_reference"})"}}},
      {"responses", "roles-known", {{R"("role":"user")", R"("role":"tool")"}}},
      {"responses",
       "role-last",
       {{R"(,{"type":"message","role":"user","content":[{"type":"input_text","text":"now"}]})",
         R"(,{"type":"message","role":"assistant","content":"so"})"}}},
      {"responses", "content-some", {{R"("content":"let me")", R"("content":[])"}}},
      {"responses", "parts-known", {{R"({"type":"input_text","text":"hello"})", R"({"type":"text","text":"hello"})"}}},
      {"responses", "text-not-empty", {{"\"hello\"", "\"\""}}},
      {"responses", "phase", {{"commentary", "comment"}}},
      {"responses", "media-form", {{"base64,AAAA", "base64,AA A"}}},
      {"responses",
       "call-id-form",
       {{"\"c1\"", "\"" + std::string(65, 'c') + "\""}, {"\"c1\"", "\"" + std::string(65, 'c') + "\""}}},
      {"responses",
       "call-ids-unique",
       {{"\"c2\"", "\"c1\""},
        {R"({"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"b"}]},)", ""}}},
      {"responses", "call-name", {{R"("name":"ls","arguments")", R"("name":"","arguments")"}}},
      {"responses", "call-arguments", {{R"("arguments":"{}")", R"("arguments":"")"}}},
      {"responses", "calls-answered", {{R"({"type":"function_call_output","call_id":"c1","output":"a.txt"},)", ""}}},
      {"responses",
       "results-called",
       {{R"({"type":"function_call","call_id":"c2","name":"cat","arguments":"{\"a\":1}"},)", ""}}},
      {"responses", "result-content", {{R"("output":"a.txt")", R"("output":"")"}}},
      {"responses", "reasoning-form", {{R"("id":"rs_1",)", ""}}},
      {"responses", "reasoning-sealed", {{R"(,"encrypted_content":"own/1")", ""}}},
      {"responses",
       "reasoning-led",
       {{R"({"type":"message","role":"assistant","content":"let me","phase":"commentary"})",
         R"({"type":"message","role":"user","content":"no"})"}}},
      {"responses",
       "reasoning-unique",
       {{R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"own/1"})",
         R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"own/1"},)"
         R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"own/1"})"}}},
      {"responses", "seals-own", {{"own/1", "other/1"}}},
      {"responses", "tool-form", {{R"({"type":"function","name":"ls")", R"({"type":"custom","name":"ls")"}}},
      {"responses", "tool-name", {{R"("name":"cat","parameters")", R"("name":"c@t","parameters")"}}},
      {"responses", "tools-unique", {{R"("name":"cat","parameters")", R"("name":"ls","parameters")"}}},
      {"responses",
       "tool-schema",
       {{R"("parameters":{"type":"object","properties":{}})",
         R"("parameters":{"type":"object","properties":{},"not":{}})"}}},
      {"responses", "tool-strict", {{R"("properties":{}},"strict":false})", R"("properties":{}}})"}}},
      {"responses", "tool-choice", {{R"("tool_choice":"none")", R"("tool_choice":{})"}}},
      {"responses",
       "tools-count",
       {{R"("tools":[)", "\"tools\":[" +
                             [] {
                               std::string out;
                               for (int i = 0; i < 127; ++i)
                                 out += R"({"type":"function","name":"t)" + std::to_string(i) +
                                        R"(","parameters":{"type":"object","properties":{}},"strict":false},)";
                               return out;
                             }()}}},
      // ---- Google
      {"google", "body-json", {{"{\"systemInstruction\"", "[\"systemInstruction\""}}},
      {"google", "body-pairs", {{"hello", "\\ud83d\\u0041"}}},
      {"google", "keys-known", {{"\"includeThoughts\"", "\"include_thought\""}}},
      {"google", "output-limit", {{"99", "0"}}},
      {"google", "thinking-form", {{R"("thinkingLevel":"LOW")", R"("thinkingLevel":"LOW","thinkingBudget":9)"}}},
      {"google", "thinking-level", {{"\"LOW\"", "\"low\""}}},
      {"google", "format-schema", {{"application/json", "text/plain"}}},
      {"google", "system-text", {{"be good", ""}}},
      {"google", "contents-some", {{R"("contents":[)", R"("contents":[],"safetySettings":[)"}}},
      {"google",
       "roles-known",
       {{R"({"role":"user","parts":[{"text":"hello"})", R"({"role":"function","parts":[{"text":"hello"})"}}},
      {"google", "role-first", {{R"("contents":[)", R"("contents":[{"role":"model","parts":[{"text":"x"}]},)"}}},
      {"google", "roles-alternate", {{R"("contents":[)", R"("contents":[{"role":"user","parts":[{"text":"x"}]},)"}}},
      {"google",
       "role-last",
       {{R"({"text":"now"}]})", R"({"text":"now"}]},{"role":"model","parts":[{"text":"so"}]})"}}},
      {"google",
       "parts-some",
       {{R"("contents":[)", R"("contents":[{"role":"user","parts":[]},{"role":"model","parts":[{"text":"x"}]},)"}}},
      {"google", "part-one-kind", {{R"({"text":"now"})", R"({"thought":true})"}}},
      {"google", "text-not-empty", {{"\"hello\"", "\"\""}}},
      {"google",
       "part-place",
       {{R"({"text":"let me","thoughtSignature":"own/1"})",
         R"({"inlineData":{"mimeType":"image/png","data":"AAAA"}})"}}},
      {"google", "media-form", {{"\"AAAA\"", "\"AAA\""}}},
      {"google",
       "call-name",
       {{R"("name":"ls","args")", R"("name":"1s","args")"},
        {R"("name":"ls","response")", R"("name":"1s","response")"}}},
      {"google", "call-args", {{R"("name":"ls","args":{})", R"("name":"ls","args":[])"}}},
      {"google", "call-ids-unique", {{"\"c2\"", "\"c1\""}, {"\"c2\"", "\"c1\""}}},
      {"google",
       "calls-answered",
       {{R"({"functionResponse":{"id":"c1","name":"ls","response":{"output":"a.txt"}}},)", ""},
        {R"({"functionResponse":{"id":"c2","name":"cat","response":{"error":"no"}}},)", ""}}},
      {"google", "results-match", {{R"("name":"cat","response")", R"("name":"dog","response")"}}},
      {"google", "result-form", {{R"("response":{"output":"a.txt"})", R"("response":"a.txt")"}}},
      {"google",
       "results-first",
       {{R"({"functionResponse":{"id":"c1")", R"({"text":"x"},{"functionResponse":{"id":"c1")"}}},
      {"google", "first-call-signed", {{R"(,"thoughtSignature":"own/2")", ""}}},
      {"google", "seals-own", {{"own/2", "other/2"}}},
      {"google", "tool-name", {{R"({"name":"cat"})", R"({"name":"c t"})"}}},
      {"google", "tools-unique", {{R"({"name":"cat"})", R"({"name":"ls"})"}}},
      {"google",
       "tool-schema",
       {{R"("parametersJsonSchema":{"type":"object"})", R"("parametersJsonSchema":{"type":"array"})"}}},
      {"google", "tool-config", {{"\"NONE\"", "\"NEVER\""}}},
      {"google",
       "tools-count",
       {{R"("functionDeclarations":[)", "\"functionDeclarations\":[" +
                                            [] {
                                              std::string out;
                                              for (int i = 0; i < 511; ++i)
                                                out += "{\"name\":\"t" + std::to_string(i) + "\"},";
                                              return out;
                                            }()}}},
      {"google", "body-size", {{"hello", repeated("hello", 4'100'000)}}},
  };
  return all;
}

WireFacts facts() {
  WireFacts out;
  out.foreign = [](std::string_view seal) { return !seal.starts_with("own/"); };
  out.user_behind_results = false;
  out.thinking_back = true;
  return out;
}

const Wire& wire_of(const Control& control) {
  return *std::find_if(wires().begin(), wires().end(),
                       [&](const Wire& wire) { return wire.name == std::string_view(control.wire); });
}

std::string shown(const Breaches& broken) {
  std::string out;
  for (const Breach& each : broken)
    out += std::string(each.rule->name) + " at " + each.place + ": " + each.says.substr(0, 200) + "\n";
  return out;
}

TEST(WireRules, ValidRequestsAreAccepted) {
  for (const Wire& wire : wires()) {
    const Breaches broken = wire.format.breaches(wire.good, facts());
    EXPECT_TRUE(broken.empty()) << wire.name << "\n" << shown(broken);
  }
}

TEST(WireRules, EachViolationIsFoundByItsNameAndNothingElseIs) {
  for (const Control& control : controls()) {
    SCOPED_TRACE(std::string(control.wire) + " " + control.rule);
    const Wire& wire = wire_of(control);
    std::string body = wire.good;
    for (const auto& [good, sin] : control.sins) {
      const std::size_t at = body.find(good);
      ASSERT_NE(at, std::string::npos) << good;
      body.replace(at, good.size(), sin);
    }
    const Breaches broken = wire.format.breaches(body, facts());
    EXPECT_FALSE(broken.empty()) << "nothing is found";
    for (const Breach& each : broken) EXPECT_EQ(each.rule->name, control.rule) << shown(broken);
    for (const Breach& each : broken) EXPECT_FALSE(each.says.empty());
  }
}

TEST(WireRules, EachRuleHasAControlASourceAndANameOfItsOwn) {
  std::set<std::string> controlled;
  for (const Control& control : controls()) controlled.insert(std::string(control.wire) + " " + control.rule);
  std::size_t rules = 0;
  for (const Wire& wire : wires()) {
    std::set<std::string_view> names;
    for (const WireRule& rule : wire.format.rules) {
      const std::string name = std::string(wire.name) + " " + std::string(rule.name);
      EXPECT_TRUE(controlled.contains(name)) << name << " has no control";
      EXPECT_TRUE(names.insert(rule.name).second) << name << " stands twice";
      EXPECT_FALSE(rule.demand.empty() || rule.source.empty()) << name;
    }
    rules += wire.format.rules.size();
  }
  EXPECT_EQ(controlled.size(), rules) << "a control of no rule";
}

TEST(WireRules, ARowsServerMayWantIdsOfOneFormAlone) {
  const Wire& chat = wires()[1];
  WireFacts wants = facts();
  wants.call_id_bytes = 9;
  EXPECT_EQ(shown(chat.format.breaches(chat.good, wants)).find("call-id-form"), 0u);
}

TEST(WireRules, TheSentenceNamesRulePlaceAndSource) {
  const Wire& anthropic = wires()[0];
  std::string body = anthropic.good;
  body.replace(body.find("hello"), 5, " ");
  EXPECT_EQ(breach_sentence("house", anthropic.format.breaches(body, facts())),
            "the request to house breaks the rule text-not-blank at messages[0].content[2].text: messages: text "
            "content blocks must contain non-whitespace text (no text is white space alone; a refusal of the API)");
  EXPECT_EQ(breach_sentence("house", {}), "");
}

TEST(WireRules, WhatPeopleAndToolsPutInIsNoBugOfOurs) {
  const Wire& anthropic = wires()[0];
  std::string body = anthropic.good;
  body.replace(body.find(kPicture), kPicture.size(), repeated(kPicture, 601));
  const Breaches broken = anthropic.format.breaches(body, facts());
  EXPECT_FALSE(broken.empty());
  EXPECT_EQ(breach_sentence("house", broken), "");
}

TEST(WireRules, SealsOfAnotherModelAreForeignAndUnknownOnesAreNot) {
  TestRequest request;
  request.value().model = "m";
  const auto sealed = [](const std::string& seal) {
    Message out = Message::of_text(Role::kAssistant, "so");
    Block block;
    block.kind = BlockKind::kThinking;
    block.opaque = seal;
    out.blocks.insert(out.blocks.begin(), block);
    return out;
  };
  request.user("a").add(sealed("own")).add(sealed("other")).add(sealed(R"({"encrypted_content":"inner"})"));
  request.add(sealed("unknown"));
  Origins origins;
  origins.note(2, {"house", "", "m"});
  origins.note(3, {"house", "", "another"});
  origins.note(4, {"elsewhere", "", "m"});
  request.value().origins = &origins;
  const auto foreign = foreign_seals(request.value(), "house");
  EXPECT_TRUE(foreign("other"));
  EXPECT_TRUE(foreign("inner"));
  for (const char* const known : {"own", "unknown", "never seen"}) EXPECT_FALSE(foreign(known)) << known;
}

TEST(HalfPairs, AreSeenInEscapesAlone) {
  for (const char* const good : {R"("\ud83d\ude00")", R"("\\ud83d")", R"("\u0041")", R"("x")", R"("\\\\ud800")"})
    EXPECT_FALSE(has_half_pair(good)) << good;
  for (const char* const bad : {R"("\ud83d")", R"("\ude00")", R"("\ud83d\ud83d")", R"("\\\ud800")", R"("\uD83Dx")"})
    EXPECT_TRUE(has_half_pair(bad)) << bad;
}

// ---- each provider calls its validator before sending

class CheckedDeathTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<ModelProvider> provider() {
    const std::string name = GetParam();
    if (name == "anthropic") return make_anthropic_provider({.api_key = "k"}, http_, clock_);
    if (name == "google") return make_google_provider({.api_key = "k"}, http_, clock_);
    OpenAiOptions options;
    options.api_key = "k";
    options.api = name == "chat" ? OpenAiApi::kChat : OpenAiApi::kResponses;
    return make_openai_provider(options, http_, clock_);
  }
  // An unanswered call: agents send none.
  void complete() {
    TestRequest request;
    request.user("a").add({Role::kAssistant, 0, {Block::tool_use("c1", "ls", "{}")}}).user("b");
    NullModelSink sink;
    http_.status(400, "no");
    (void)provider()->complete(request.value(), sink, {}, {});
  }

  Sleepless<SystemClock> clock_{waits_};
  FakeHttpClient http_;
  std::vector<Milliseconds> waits_;
};

TEST_P(CheckedDeathTest, ABrokenRuleEndsABuildWithAssertionsAndIsSentByARelease) {
  if constexpr (kRequestsAreChecked) {
    EXPECT_DEATH(complete(), "breaks the rule calls-answered at ");
  } else {
    complete();
    EXPECT_EQ(http_.bodies.size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, CheckedDeathTest, ::testing::Values("anthropic", "chat", "responses", "google"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace agentd
