// SPDX-License-Identifier: Apache-2.0
// Each complete answer is read as the vendor's own SDK reads it (tests/interop).
#include "tests/support/vendor_fixtures.h"

#include <gtest/gtest.h>

#include "providers/google/google.h"
#include "providers/openai/openai.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::FakeHttpClient;
using testing::RecordingSink;
using testing::TestRequest;
using testing::VendorFixture;

ModelResult read(const VendorFixture& fixture, ModelSink& sink) {
  SystemClock clock;
  FakeHttpClient http;
  http.stream({fixture.bytes});
  TestRequest request;
  request.user("go");
  if (fixture.api == "generateContent")
    return make_google_provider({.api_key = "k"}, http, clock)->complete(request.value(), sink, {}, {});
  OpenAiOptions options;
  options.api_key = "k";
  options.api = fixture.api == "chat" ? OpenAiApi::kChat : OpenAiApi::kResponses;
  return make_openai_provider(options, http, clock)->complete(request.value(), sink, {}, {});
}

TEST(VendorFixtures, AreReadAsTheySay) {
  for (const VendorFixture& fixture : testing::vendor_fixtures()) {
    SCOPED_TRACE(fixture.api + " " + fixture.name);
    RecordingSink sink;
    const auto got = read(fixture, sink);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->message.text(), fixture.text);
    EXPECT_EQ(sink.thinking, fixture.thinking);
    std::vector<std::pair<std::string, std::string>> calls;
    for (const Block& block : got->message.blocks)
      if (block.kind == BlockKind::kToolUse) calls.emplace_back(block.name, block.json);
    EXPECT_EQ(calls, fixture.calls);
    EXPECT_EQ(got->stop_reason, fixture.name == "cut" ? StopReason::kMaxTokens
                                : calls.empty()       ? StopReason::kEndTurn
                                                      : StopReason::kToolUse);
  }
}

}  // namespace
}  // namespace agentd
