// SPDX-License-Identifier: Apache-2.0
// vendors_test.cc - one conversation that moves between vendors at every run, with tools and
// thinking on: each server keeps the rules of its own wire format, and what one vendor has sealed
// reaches no other.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

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

struct Vendor {
  const char *model, *path;  // as it is named on the command line; where it is asked
  std::string (*refusal)(const std::string& body);
  std::string (*call)(const std::string& id, const std::string& seal);      // thinks, and calls `glob`
  std::string (*answer)(const std::string& text, const std::string& seal);  // thinks, and answers
};

std::string anthropic_rules(const std::string& body) { return anthropic_refusal(body, {.own_signatures_alone = true}); }
std::string responses_rules(const std::string& body) { return responses_refusal(body, {.own_seals_alone = true}); }
std::string google_rules(const std::string& body) {
  return google_refusal("gemini-3.8-flash", body, {.own_signatures_alone = true});
}
std::string chat_rules(const std::string& body) { return chat_refusal(body); }

constexpr const char* kInput = R"({"pattern":"*.none"})";

const Vendor kVendors[] = {
    {"claude-sonnet-5-5", "/v1/messages", anthropic_rules,
     [](const std::string& id, const std::string& seal) {
       return AnthropicWire()
           .start()
           .thinking({"hm"}, "claude-sonnet-5-5/" + seal)
           .tool_use(id, "glob", {kInput})
           .finish("tool_use")
           .bytes();
     },
     [](const std::string& text, const std::string& seal) {
       return AnthropicWire()
           .start()
           .thinking({"so"}, "claude-sonnet-5-5/" + seal)
           .text({text})
           .finish("end_turn")
           .bytes();
     }},
    {"openai/gpt-6.1-sol", "/v1/responses", responses_rules,
     [](const std::string& id, const std::string& seal) {
       return ResponsesWire()
           .start()
           .reasoning({"hm"}, "gpt-6.1-sol/" + seal)
           .text({"Looking."}, "commentary")
           .function_call(id, "glob", {kInput})
           .finish()
           .bytes();
     },
     [](const std::string& text, const std::string& seal) {
       return ResponsesWire()
           .start()
           .reasoning({"so"}, "gpt-6.1-sol/" + seal)
           .text({text}, "final_answer")
           .finish()
           .bytes();
     }},
    {"google/gemini-3.8-flash", "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse", google_rules,
     [](const std::string& id, const std::string& seal) {
       return GoogleWire().thinking({"hm"}).call(id, "glob", kInput, "gemini-3.8-flash/" + seal).finish("STOP").bytes();
     },
     [](const std::string& text, const std::string& seal) {
       return GoogleWire().thinking({"so"}).text({text}, "gemini-3.8-flash/" + seal).finish("STOP").bytes();
     }},
    {"work/some/model", "/v1/chat/completions", chat_rules,
     [](const std::string& id, const std::string&) {
       return ChatWire().thinking({"hm"}).tool_call(0, id, "glob", {kInput}).finish("tool_calls").bytes();
     },
     [](const std::string& text, const std::string&) {
       return ChatWire().thinking({"so"}).text({text}).finish("stop").bytes();
     }},
};

class Vendors : public ::testing::Test {
 protected:
  // Each run is two requests: one that is answered by a call, and one with its result.
  Reply answer(const RecordedRequest& got) {
    for (const Vendor& vendor : kVendors) {
      if (got.target != vendor.path) continue;
      if (const std::string why = vendor.refusal(got.body); !why.empty()) {
        refusals_.push_back(why + "\n" + got.body);
        return Reply::http(400, {{"content-type", "application/json"}},
                           openai_error_body("invalid_request_error", "", why));
      }
      const int number = requests_++;
      const std::string text = std::to_string(number);
      return Reply::chunked(
          {number % 2 == 0 ? vendor.call("call" + text, text) : vendor.answer("answer " + text + ".", text)});
    }
    return Reply::http(404, {}, "");
  }

  Program program_;
  int requests_ = 0;
  std::vector<std::string> refusals_;
};

TEST_F(Vendors, OneConversationMovesBetweenThemAtEveryRun) {
  LoopbackServer server([this](const RecordedRequest& got) { return answer(got); });
  for (const char* const variable :
       {"ANTHROPIC_API_KEY=sk-a", "OPENAI_API_KEY=sk-o", "GEMINI_API_KEY=sk-g", "WORK_KEY=sk-w", "NO_PROXY=127.0.0.1"})
    program_.set(variable);
  program_.set("ANTHROPIC_BASE_URL=" + server.url());
  program_.set("GOOGLE_GEMINI_BASE_URL=" + server.url());
  program_.set("OPENAI_BASE_URL=" + server.url() + "/v1");
  program_.config("providers:\n  openai: {api: responses}\n  work: {base_url: " + server.url() +
                  "/v1, api_key_env: WORK_KEY}\npermissions: {allow: [glob]}\n");
  constexpr int kRuns = 30;
  for (int run = 0; run < kRuns; ++run) {
    const Vendor& vendor = kVendors[(run * run + run / 4) % 4];  // each follows each, and itself
    std::vector<std::string> words{"run", "--model", vendor.model, "question " + std::to_string(run)};
    if (run != 0) words.emplace_back("--follow");
    const Finished ran = program_.run(words);
    ASSERT_EQ(ran.code, 0) << run << ran.err << (refusals_.empty() ? "" : refusals_.back());
    EXPECT_EQ(ran.out, (std::string(vendor.path) == "/v1/responses" ? "Looking.\n" : "") +
                           ("answer " + std::to_string(2 * run + 1) + ".\n"))
        << run;
  }
  EXPECT_TRUE(refusals_.empty());
  ASSERT_EQ(server.requests().size(), 2u * kRuns);
  // Everything that was said is in the last request, and each vendor got its own key alone.
  const std::string last = server.requests().back().body;
  for (int run = 0; run < kRuns; ++run) EXPECT_TRUE(has(last, "question " + std::to_string(run))) << run;
  for (const RecordedRequest& got : server.requests()) {
    const bool anthropic = got.target == "/v1/messages", google = got.target.starts_with("/v1beta/");
    EXPECT_EQ(got.header("x-api-key"), anthropic ? "sk-a" : "");
    EXPECT_EQ(got.header("x-goog-api-key"), google ? "sk-g" : "");
    EXPECT_EQ(got.header("authorization"), anthropic || google             ? ""
                                           : got.target == "/v1/responses" ? "Bearer sk-o"
                                                                           : "Bearer sk-w");
  }
  // The log knows who said what.
  const std::string log = program_.run({"conversation", "show", program_.newest(), "--log"}).out;
  for (const char* const origin : {R"("provider":"anthropic","api":"messages","model":"claude-sonnet-5-5")",
                                   R"("provider":"openai","api":"responses","model":"gpt-6.1-sol")",
                                   R"("provider":"google","api":"generateContent","model":"gemini-3.8-flash")",
                                   R"("provider":"work","api":"chat","model":"some/model")"})
    EXPECT_TRUE(has(log, origin)) << origin;
}

TEST_F(Vendors, AnotherOneIsAskedWhenTheFirstIsBusyAndHooksJudgeIt) {
  LoopbackServer server([](const RecordedRequest& got) {
    if (got.target == "/v1/messages")
      return Reply::http(529, {{"content-type", "application/json"}},
                         anthropic_error_body("overloaded_error", "Overloaded"));
    return Reply::chunked({ChatWire().text({"Here."}).finish("stop").bytes()});
  });
  program_.set("ANTHROPIC_API_KEY=sk-a");
  program_.set("ANTHROPIC_BASE_URL=" + server.url());
  program_.config("providers:\n  anthropic: {max_retries: 0}\n  work: {base_url: " + server.url() +
                  "/v1}\nfallback: [work/model-x]\n");
  const Finished ran = program_.run({"run", "hello"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "Here.\n");
  EXPECT_TRUE(has(ran.err, "for the rest of this run work/model-x is used instead")) << ran.err;
  const std::string log = program_.run({"conversation", "show", program_.newest(), "--log"}).out;
  EXPECT_TRUE(has(log, R"("provider":"work","api":"chat","model":"model-x")")) << log;
  // A hook that lets no other vendor answer is asked about that one.
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  for (const char* const other : {"provider == \"work\"", "model == \"model-x\""}) {
    ASSERT_TRUE(write_file_atomically(
        program_.home() + "/hooks/stay.yaml",
        std::string("on: before_model_call\nguard: true\nwhen: '") + other + "'\ndo: block\n", 0600));
    const Finished kept = program_.run({"run", "hello"});
    EXPECT_EQ(kept.code, 3) << other << kept.err;
    EXPECT_EQ(server.requests().back().target, "/v1/messages") << other;
    // As it is when that one is asked from the start.
    EXPECT_EQ(program_.run({"run", "--model", "work/model-x", "hello"}).code, 3) << other;
    EXPECT_EQ(server.requests().back().target, "/v1/messages") << other;
  }
}

TEST_F(Vendors, EveryEventNamesTheModelThatIsAsked) {
  LoopbackServer server([](const RecordedRequest& got) {
    if (got.target == "/v1/messages")
      return Reply::chunked({AnthropicWire().start().text({"Hi."}).finish("end_turn").bytes()});
    return Reply::chunked({ChatWire().text({"Here."}).finish("stop").bytes()});
  });
  program_.set("ANTHROPIC_API_KEY=sk-a");
  program_.set("ANTHROPIC_BASE_URL=" + server.url());
  program_.config("providers: {work: {base_url: " + server.url() + "/v1}}\n");
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  const std::string seen = program_.directory().file("seen");
  const auto put = [&](const std::string& name, const std::string& yaml) {
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/" + name, yaml, 0600));
  };
  put("choose.yaml", "on: before_model_call\ndo: {model: work/model-x}\n");
  put("look.yaml", "on: [before_model_call, after_model_call, agent_stop]\npriority: -5\nenvironment: {SEEN: " + seen +
                       "}\ncommand: 'cat >> \"$SEEN\"; echo >> \"$SEEN\"'\n");
  ASSERT_EQ(program_.run({"run", "hello"}).code, 0);
  std::string told;
  const auto written = read_file(seen, 1 << 20);
  ASSERT_TRUE(written);
  for (const JsonDocument& one : json_lines(*written))
    told += std::string(one.root()["event"].string_or("")) + " " + std::string(one.root()["provider"].string_or("")) +
            "/" + std::string(one.root()["model"].string_or("")) + "\n";
  EXPECT_EQ(told,
            "before_model_call anthropic/claude-sonnet-5-5\nbefore_model_call work/model-x\n"
            "after_model_call work/model-x\nagent_stop work/model-x\n");
  // Blank is no model.
  std::filesystem::remove(program_.home() + "/hooks/choose.yaml");
  put("blank.yaml", "on: before_model_call\ndo: {model: ' '}\n");
  const Finished blank = program_.run({"run", "hello"});
  EXPECT_EQ(blank.code, 0) << blank.err;
  EXPECT_TRUE(has(blank.err, "blank failed at before_model_call: it names no model")) << blank.err;
  EXPECT_EQ(server.requests().back().target, "/v1/messages");
  // A guard hears of the vendor that a hook has chosen.
  put("choose_again.yaml", "on: before_model_call\ndo: {model: work/model-x}\n");
  put("stay.yaml", "on: before_model_call\nguard: true\nwhen: provider == \"work\"\ndo: block\n");
  const std::size_t before = server.requests().size();
  EXPECT_EQ(program_.run({"run", "hello"}).code, 3);
  EXPECT_EQ(server.requests().size(), before);
}

TEST_F(Vendors, AServerWithoutAKeyGetsNone) {
  LoopbackServer server([](const RecordedRequest&) {
    return Reply::chunked({AnthropicWire().start().text({"Hi."}).finish("end_turn").bytes()});
  });
  for (const char* const key : {"ANTHROPIC_API_KEY=sk-a", "ANTHROPIC_AUTH_TOKEN=sk-t"}) program_.set(key);
  program_.config("providers: {gate: {kind: anthropic, base_url: " + server.url() + "}}\nmodel: gate/claude-x\n");
  const Finished ran = program_.run({"run", "hello"});
  EXPECT_EQ(ran.out, "Hi.\n") << ran.err;
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].header("x-api-key"), "");
  EXPECT_EQ(server.requests()[0].header("authorization"), "");
}

TEST_F(Vendors, AServerThatCutsThePromptIsTold) {
  LoopbackServer server([](const RecordedRequest&) {
    return Reply::stream(
        ChatWire().text({"Well."}).finish("stop", R"({"prompt_tokens":4096,"completion_tokens":2})").bytes());
  });
  program_.config("providers: {work: {base_url: " + server.url() + "/v1}}\nmodel: work/qwen\ncontext_window: 200000\n");
  const Finished short_one = program_.run({"run", "--no-tools", "hello"});
  EXPECT_FALSE(has(short_one.err, "truncated the prompt")) << short_one.err;
  std::string words;
  for (int i = 0; i < 20'000; ++i) words += "word " + std::to_string(i) + " ";
  program_.file("long.txt", words);
  const Finished long_one = program_.run({"run", "--no-tools", "read @long.txt"});
  EXPECT_EQ(long_one.code, 0) << long_one.err;
  EXPECT_TRUE(has(long_one.err, "the server has read 4,096 tokens of a request of about ")) << long_one.err;
  EXPECT_TRUE(has(long_one.err, "Set context_window")) << long_one.err;
}

TEST_F(Vendors, AnUnknownProviderAndAMissingKeyAreToldBeforeAnythingIsAsked) {
  const Finished unknown = program_.run({"run", "x", "--provider", "opnai"});
  EXPECT_EQ(unknown.code, 2) << unknown.err;
  EXPECT_TRUE(has(unknown.err, "did you mean 'openai'?")) << unknown.err;
  const Finished keyless = program_.run({"run", "x", "--model", "openai/gpt-6.1-sol"});
  EXPECT_EQ(keyless.code, 5) << keyless.err;
  EXPECT_TRUE(has(keyless.err, "no key for openai: set OPENAI_API_KEY")) << keyless.err;
  program_.set("GROQ_API_KEY=sk-g");
  const Finished foreign =
      program_.run({"run", "x", "--model", "groq/m", "--set", "base_url=https://other.example/v1"});
  EXPECT_EQ(foreign.code, 2) << foreign.err;
  EXPECT_TRUE(has(foreign.err, "was not set for other.example")) << foreign.err;
}

}  // namespace
}  // namespace agentd::testing
