// SPDX-License-Identifier: Apache-2.0
// inputs_test.cc - what goes into a run beside words, and what a program gets out of it: pictures, PDF
// documents, answers held to a schema, messages on standard input; each wire with its strict server.
#include <gtest/gtest.h>

#include "core/base/base64.h"
#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/anthropic_rules.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/google_wire.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_rules.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {
namespace {

const std::string kPng = "\x89PNG\r\n\x1a\nnot much of a picture";
const std::string kPdf = "%PDF-1.7\nnot much of a document";
constexpr const char* kSchema =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false})";

struct Wire {
  const char* model;
  std::string (*answer)(const std::string& text);
  std::string (*refusal)(const std::string& body);
  std::vector<const char*> marks;  // of a picture and a document in a request
  const char* held;                // of an answer that is held to a schema
};

const Wire kWires[] = {
    {"claude-sonnet-5-5",
     [](const std::string& text) { return AnthropicWire().start().text({text}).finish("end_turn").bytes(); },
     [](const std::string& body) { return anthropic_refusal(body, {}); },
     {R"("type":"image","source":{"type":"base64","media_type":"image/png")",
      R"("type":"document","source":{"type":"base64","media_type":"application/pdf")"},
     R"("format":{"type":"json_schema","schema":{"type":"object")"},
    {"openai/gpt-6.1-sol",
     [](const std::string& text) { return ResponsesWire().start().text({text}).finish().bytes(); },
     [](const std::string& body) { return responses_refusal(body, {}); },
     {R"("type":"input_image")", R"("type":"input_file","filename":"plan.pdf","file_data":"data:application/pdf)"},
     R"("text":{"format":{"type":"json_schema","name":"answer")"},
    {"google/gemini-3.8-flash",
     [](const std::string& text) { return GoogleWire().text({text}).finish("STOP").bytes(); },
     [](const std::string& body) { return google_refusal("gemini-3.8-flash", body, {}); },
     {R"("inlineData":{"mimeType":"image/png")", R"("inlineData":{"mimeType":"application/pdf")"},
     R"("responseMimeType":"application/json","responseJsonSchema":{"type":"object")"},
    {"work/some-model",
     [](const std::string& text) { return ChatWire().text({text}).finish("stop").bytes(); },
     [](const std::string& body) { return chat_refusal(body); },
     {R"("type":"image_url")", R"("type":"file","file":{"filename":"plan.pdf")"},
     R"("response_format":{"type":"json_schema","json_schema":{"name":"answer")"},
};

class Inputs : public ::testing::Test {
 protected:
  void use(const LoopbackServer& server, const std::string& more = {}) {
    for (const char* const variable :
         {"ANTHROPIC_API_KEY=sk-a", "OPENAI_API_KEY=sk-o", "GEMINI_API_KEY=sk-g", "NO_PROXY=127.0.0.1"})
      program_.set(variable);
    program_.set("ANTHROPIC_BASE_URL=" + server.url());
    program_.set("GOOGLE_GEMINI_BASE_URL=" + server.url());
    program_.set("OPENAI_BASE_URL=" + server.url() + "/v1");
    program_.config("providers:\n  openai: {api: responses}\n  work: {base_url: " + server.url() + "/v1}\n" + more);
  }
  void user_table(const std::string& yaml) {
    ASSERT_TRUE(write_file_atomically(program_.home() + "/models.yaml", yaml, 0600));
  }

  Program program_;
};

TEST_F(Inputs, PicturesAndDocumentsGoToEveryVendor) {
  const Wire* now = nullptr;
  LoopbackServer server([&](const RecordedRequest& got) {
    EXPECT_EQ(now->refusal(got.body), "");
    return Reply::chunked({now->answer("A cat.")});
  });
  use(server);
  user_table("models:\n  - {pattern: some-model, window: 100000, inputs: [image, pdf]}\n");
  const std::string picture = program_.file("cat.png", kPng);
  program_.file("plan.pdf", kPdf);
  for (const Wire& wire : kWires) {
    SCOPED_TRACE(wire.model);
    now = &wire;
    const Finished ran =
        program_.run({"run", "--model", wire.model, "--image", picture, "what is it, and what says @plan.pdf?"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string body = server.requests().back().body;
    for (const char* const mark : wire.marks) EXPECT_TRUE(has(body, mark)) << mark << "\n" << body;
    EXPECT_TRUE(has(body, base64(kPng)) && has(body, base64(kPdf)));
  }
  const Finished shown = program_.run({"conversation", "show", program_.newest()});
  EXPECT_TRUE(has(shown.out, "(an image, image/png)")) << shown.out;
  EXPECT_TRUE(has(shown.out, "(a document, plan.pdf)")) << shown.out;
}

TEST_F(Inputs, AModelThatCannotSeeIsNotShownAndAnotherOneIsToldInWords) {
  LoopbackServer server([&](const RecordedRequest& got) {
    const bool anthropic = got.target == "/v1/messages";
    return Reply::chunked({kWires[anthropic ? 0 : 3].answer("Well.")});
  });
  use(server);
  user_table("models:\n  - {pattern: blind, window: 100000, inputs: []}\n");
  const std::string picture = program_.file("cat.png", kPng);
  const Finished refused = program_.run({"run", "--model", "work/blind", "--image", picture, "what is it?"});
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_TRUE(has(refused.err, "blind sees no images: choose another model")) << refused.err;
  EXPECT_TRUE(server.requests().empty());
  // A conversation that has one goes on with it.
  ASSERT_EQ(program_.run({"run", "--image", picture, "what is it?"}).code, 0);
  const Finished on = program_.run({"run", "--follow", "--model", "work/blind", "are you sure?"});
  ASSERT_EQ(on.code, 0) << on.err;
  const std::string body = server.requests().back().body;
  EXPECT_TRUE(has(body, "[an image, image/png, which this model cannot see]")) << body;
  EXPECT_FALSE(has(body, base64(kPng)));
}

TEST_F(Inputs, WhatIsNoPictureIsRefusedBeforeAnythingIsAsked) {
  const std::string text = program_.file("notes.txt", "hello");
  const Finished wrong = program_.run({"run", "--image", text, "x"});
  EXPECT_EQ(wrong.code, 2) << wrong.err;
  EXPECT_TRUE(has(wrong.err, "not a PNG, JPEG, GIF or WebP picture")) << wrong.err;
  const Finished missing = program_.run({"run", "--image", "none.png", "x"});
  EXPECT_EQ(missing.code, 2) << missing.err;
  program_.file("a.zip", std::string("PK\x03\x04") + "zip");
  const Finished zip = program_.run({"run", "look at @a.zip"});
  EXPECT_EQ(zip.code, 2) << zip.err;
  EXPECT_TRUE(has(zip.err, "@a.zip is a zip file")) << zip.err;
}

TEST_F(Inputs, AnAnswerIsHeldToASchemaByEveryVendor) {
  const Wire* now = nullptr;
  LoopbackServer server([&](const RecordedRequest& got) {
    EXPECT_EQ(now->refusal(got.body), "");
    return Reply::chunked({now->answer(R"({"n": 7})")});
  });
  use(server);
  const std::string schema = program_.file("schema.json", kSchema);
  for (const Wire& wire : kWires) {
    SCOPED_TRACE(wire.model);
    now = &wire;
    const Finished ran = program_.run({"run", "--model", wire.model, "--output-schema", schema, "count"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "{\"n\":7}\n");
    EXPECT_TRUE(has(server.requests().back().body, wire.held)) << server.requests().back().body;
  }
}

TEST_F(Inputs, AnAnswerThatDoesNotFitIsAskedForAgainAndNeverPrinted) {
  int requests = 0;
  LoopbackServer server([&](const RecordedRequest& got) {
    ++requests;
    if (requests == 1)
      return Reply::http(400, {{"content-type", "application/json"}},
                         anthropic_error_body("invalid_request_error", "output_config.format.schema: too deep"));
    EXPECT_TRUE(has(got.body, "fits this JSON Schema")) << "in words from then on";
    EXPECT_FALSE(has(got.body, "output_config\":{\"format"));
    return Reply::chunked({kWires[0].answer(requests == 2 ? "Seven, I think." : R"({"n":7})")});
  });
  use(server);
  const std::string schema = program_.file("schema.json", kSchema);
  const Finished ran = program_.run({"run", "--output-schema", schema, "count"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "{\"n\":7}\n");
  EXPECT_TRUE(has(ran.err, "too deep; the schema is sent to the model as text instead")) << ran.err;
  EXPECT_TRUE(has(ran.err, "the answer does not fit its schema (it is not one JSON value")) << ran.err;
  // A schema that is none costs nothing.
  const Finished wrong = program_.run({"run", "--output-schema", program_.file("bad.json", "[1]"), "count"});
  EXPECT_EQ(wrong.code, 2) << wrong.err;
  EXPECT_TRUE(has(wrong.err, "bad.json: a JSON Schema is a JSON object")) << wrong.err;
  EXPECT_EQ(requests, 3);
}

TEST_F(Inputs, NothingIsPrintedThatWasNotHeldToTheSchema) {
  LoopbackServer server([&](const RecordedRequest&) { return Reply::chunked({kWires[0].answer("words")}); });
  use(server);
  const std::string schema = program_.file("schema.json", kSchema);
  const Finished ran = program_.run({"run", "--max-turns", "1", "--output-schema", schema, "count"});
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_EQ(ran.out, "");
  const Finished alone = program_.run({"run", "--image", program_.file("cat.png", kPng)});
  EXPECT_EQ(alone.code, 0) << alone.err << "a picture is a message";
}

TEST_F(Inputs, AnAnswerThatNeverFitsIsAFailure) {
  LoopbackServer server([&](const RecordedRequest&) { return Reply::chunked({kWires[0].answer("no")}); });
  use(server);
  const std::string schema = program_.file("schema.json", kSchema);
  const Finished ran = program_.run({"run", "--output-schema", schema, "count"});
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(Inputs, AProgramHoldsAConversationOnStandardInput) {
  int requests = 0;
  LoopbackServer server([&](const RecordedRequest& got) {
    EXPECT_EQ(anthropic_refusal(got.body, {}), "");
    return Reply::chunked({kWires[0].answer("answer " + std::to_string(++requests))});
  });
  use(server);
  const std::string lines =
      R"({"type":"user","message":{"role":"user","content":"first"}})"
      "\nnot json\n"
      R"({"type":"user","message":{"role":"user","content":[{"type":"text","text":"second"},{"type":"image",)"
      R"("source":{"type":"base64","media_type":"image/png","data":")" +
      base64(kPng) + R"("}}]}})" + "\n";
  const Finished ran = program_.run({"run", "--json", "--input-format", "stream-json"}, lines);
  EXPECT_EQ(ran.code, 2) << ran.err << "a line was wrong";
  EXPECT_TRUE(has(ran.err, "line 2 of standard input was skipped: not valid JSON")) << ran.err;
  int ended = 0;
  for (const JsonDocument& line : json_lines(ran.out))
    if (line.root()["type"].string_or("") == "run_ended") ++ended;
  EXPECT_EQ(ended, 2);
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_TRUE(has(server.requests()[1].body, "first") && has(server.requests()[1].body, "answer 1"));
  EXPECT_TRUE(has(server.requests()[1].body, base64(kPng)));
  const Finished good = program_.run({"run", "--result-only", "--input-format", "stream-json", "--follow"},
                                     R"({"type":"user","message":{"role":"user","content":"third"}})");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, "answer 3\n");
  const Finished both = program_.run({"run", "--input-format", "stream-json", "words"});
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(has(both.err, "omit QUERY")) << both.err;
}

TEST_F(Inputs, ARefusalIsToldWithItsReason) {
  LoopbackServer server([](const RecordedRequest&) {
    return Reply::chunked(
        {AnthropicWire()
             .start()
             .event("message_delta", R"({"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":)"
                                     R"({"type":"refusal","category":"cyber","explanation":"It asks for malware."}},)"
                                     R"("usage":{"output_tokens":1}})")
             .event("message_stop", R"({"type":"message_stop"})")
             .bytes()});
  });
  use(server);
  const Finished ran = program_.run({"run", "hello"});
  EXPECT_TRUE(has(ran.err, "the provider gives a reason for the refusal: cyber: It asks for malware.")) << ran.err;
  EXPECT_TRUE(has(ran.err, "the model declined to answer")) << ran.err;
}

TEST_F(Inputs, ACacheForAnHourIsAskedForAndPaidFor) {
  LoopbackServer server([](const RecordedRequest&) {
    return Reply::chunked(
        {AnthropicWire()
             .start(R"({"input_tokens":0,"cache_creation_input_tokens":1000,"output_tokens":1,)"
                    R"("cache_creation":{"ephemeral_1h_input_tokens":1000,"ephemeral_5m_input_tokens":0}})")
             .text({"Hi."})
             .finish("end_turn", R"({"output_tokens":0})")
             .bytes()});
  });
  use(server);
  const Finished ran = program_.run({"run", "--json", "--set", "providers.anthropic.cache=1h", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(server.requests()[0].body, R"("cache_control":{"type":"ephemeral","ttl":"1h"})"));
  EXPECT_TRUE(has(ran.out, R"("cost_usd":0.004)")) << ran.out << "$4 per million";
  // A server that does not say how long it keeps them.
  LoopbackServer plain([](const RecordedRequest&) {
    return Reply::chunked({AnthropicWire()
                               .start(R"({"input_tokens":0,"cache_creation_input_tokens":1000,"output_tokens":1})")
                               .text({"Hi."})
                               .finish("end_turn", R"({"output_tokens":0})")
                               .bytes()});
  });
  const std::vector<std::string> words{"run", "--json", "hello", "--set", "base_url=" + plain.url()};
  std::vector<std::string> longer = words;
  longer.insert(longer.end(), {"--set", "providers.anthropic.cache=1h"});
  EXPECT_TRUE(has(program_.run(longer).out, R"("cost_usd":0.004)"));
  EXPECT_TRUE(has(program_.run(words).out, R"("cost_usd":0.0025)"));
  program_.run({"run", "--set", "providers.anthropic.cache=off", "hello"});
  EXPECT_FALSE(has(server.requests().back().body, "cache_control"));
}

}  // namespace
}  // namespace agentd::testing
