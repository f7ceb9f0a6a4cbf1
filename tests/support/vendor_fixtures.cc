// SPDX-License-Identifier: Apache-2.0
#include "tests/support/vendor_fixtures.h"

#include "tests/support/google_wire.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {

std::vector<VendorFixture> vendor_fixtures() {
  const std::string wide = "Grüße, 世界 😀";
  return {
      {.api = "chat",
       .name = "text",
       .bytes = ChatWire().text({"Hel", "lo, ", wide}).finish("stop").bytes(),
       .text = "Hello, " + wide,
       .stop_reason = "stop"},
      {.api = "chat",
       .name = "calls",
       .bytes = ChatWire()
                    .text({"Looking."})
                    .tool_call(0, "call_a", "bash", {"{\"command\"", ":\"ls\"}"})
                    .tool_call(1, "call_b", "list", {"{}"})
                    .finish("tool_calls")
                    .bytes(),
       .text = "Looking.",
       .calls = {{"bash", R"({"command":"ls"})"}, {"list", "{}"}},
       .stop_reason = "tool_calls"},
      {.api = "chat",
       .name = "cut",
       .bytes = ChatWire().text({"Half an ans"}).finish("length").bytes(),
       .text = "Half an ans",
       .stop_reason = "length"},
      {.api = "responses",
       .name = "text",
       .bytes = ResponsesWire().start().text({"Hel", "lo, ", wide}, "final_answer").finish().bytes(),
       .text = "Hello, " + wide,
       .stop_reason = "completed"},
      {.api = "responses",
       .name = "calls",
       .bytes = ResponsesWire()
                    .start()
                    .reasoning({"let me ", "see"}, "sealed")
                    .text({"Looking."}, "commentary")
                    .function_call("call_a", "bash", {"{\"command\"", ":\"ls\"}"})
                    .function_call("call_b", "list", {"{}"})
                    .finish()
                    .bytes(),
       .text = "Looking.",
       .thinking = "let me see",
       .calls = {{"bash", R"({"command":"ls"})"}, {"list", "{}"}},
       .stop_reason = "completed"},
      {.api = "responses",
       .name = "cut",
       .bytes = ResponsesWire().start().text({"Half an ans"}).incomplete("max_output_tokens").bytes(),
       .text = "Half an ans",
       .stop_reason = "incomplete"},
      {.api = "generateContent",
       .name = "text",
       .bytes = GoogleWire().text({"Hel", "lo, ", wide}).finish("STOP").bytes(),
       .text = "Hello, " + wide,
       .stop_reason = "STOP"},
      {.api = "generateContent",
       .name = "calls",
       .bytes = GoogleWire()
                    .thinking({"let me ", "see"})
                    .text({"Looking."})
                    .call("call_a", "bash", R"({"command":"ls"})", "sig")
                    .call("", "list", "{}")
                    .finish("STOP")
                    .bytes(),
       .text = "Looking.",
       .thinking = "let me see",
       .calls = {{"bash", R"({"command":"ls"})"}, {"list", "{}"}},
       .stop_reason = "STOP"},
      {.api = "generateContent",
       .name = "cut",
       .bytes = GoogleWire().text({"Half an ans"}).finish("MAX_TOKENS").bytes(),
       .text = "Half an ans",
       .stop_reason = "MAX_TOKENS"},
  };
}

}  // namespace agentd::testing
