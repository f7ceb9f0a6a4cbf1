// SPDX-License-Identifier: Apache-2.0
// Kodelet's long-lived extensions, against real programs.
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/external/kodelet_extension.h"
#include "core/process/process.h"
#include "dialect_support.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

// One extension with a behaviour for each command line; it writes down what it hears.
constexpr std::string_view kScript = R"PY(
import json, os, sys
mode, folder = sys.argv[1], sys.argv[2]
def note(line):
    with open(os.path.join(folder, "heard"), "a") as out: out.write(line + "\n")
def send(value):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
def read():
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line: sys.exit(0)
        line = line.strip()
        if not line: break
        name, value = line.split(b":")
        if name.lower() == b"content-length": length = int(value)
    return json.loads(sys.stdin.buffer.read(length))
note("started")
if mode == "dies": sys.stderr.write("Traceback\nno module named x\n"); sys.exit(1)
if mode == "log": print("starting up..."); sys.stdout.flush()
if mode == "huge": sys.stdout.write("Content-Length: 2000000\r\n\r\n"); sys.stdout.flush()
events = ["tool.call", "tool.result", "user.message", "agent.init", "agent.end"]
subscriptions = [{"event": e, "priority": 5} for e in events]
if mode == "impatient": subscriptions[0]["timeoutInSec"] = 0.2
if mode == "extras": subscriptions.append({"event": "moon.phase"})
held = None
while True:
    message = read()
    method, id = message.get("method"), message.get("id")
    note((method or "answer") + " " + json.dumps(message.get("params", message.get("error"))))
    if method == "extension.initialize":
        if mode == "mute": continue
        if mode == "refuses":
            send({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "not today"}})
            continue
        result = {"name": "t", "version": "1", "subscriptions": subscriptions}
        if mode == "extras": result["tools"] = [{"name": "get_weather"}]
        if mode == "quiet": result["subscriptions"] = []
        send({"jsonrpc": "2.0", "id": id, "result": result})
    elif method == "extension.event.handle":
        event, payload = message["params"]["event"], message["params"]["payload"]
        if event == "agent.init":
            send({"jsonrpc": "2.0", "id": id, "result": {"systemPrompt": {"append": "be brief"}}})
            continue
        text = payload.get("message", "")
        if event == "tool.call": text = payload["tool"]["input"].get("command", "")
        if text == "crash": sys.stderr.write("it hurts\n"); sys.exit(3)
        if text == "hang": held = id; continue
        if text == "garbage": sys.stdout.write("oops, a print\n"); sys.stdout.flush(); continue
        if text == "no json": send(b"{nonsense"); continue
        if text == "error":
            send({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "bad"}})
            continue
        if text == "void": send({"jsonrpc": "2.0", "id": id}); continue
        if text == "ask":
            send({"jsonrpc": "2.0", "id": "q1", "method": "kodelet.ui.input", "params": {}})
        if held is not None:
            send({"jsonrpc": "2.0", "id": held, "result": {"block": {"reason": "late"}}})
            held = None
        send({"jsonrpc": "2.0", "id": 987654, "result": {"block": {"reason": "nobody asked"}}})
        if event == "user.message": result = {"message": text.upper()}
        else: result = {"block": {"reason": "saw " + text}}
        send({"jsonrpc": "2.0", "id": id, "result": result})
)PY";

class ExtensionTest : public ::testing::Test {
 protected:
  KodeletExtensionRequest request(const std::string& mode) const {
    KodeletExtensionRequest out;
    out.name = "guard";
    out.process.argv = {"python3", dir_.file("extension.py"), mode, dir_.path()};
    out.process.cwd = dir_.path();
    out.process.environment = clean_environment();
    out.data_directory = dir_.path();
    out.handshake = Milliseconds(60'000);
    return out;
  }

  Verdict tool_call(KodeletExtension& extension, std::string_view command, Milliseconds limit = Milliseconds(60'000)) {
    return extension.call(AGENTD_EVENT_BEFORE_TOOL_CALL, bash_payload(command).root(), CancelToken(),
                          Deadline::after(clock_, limit));
  }

  int times_heard(std::string_view what) const {
    const std::string all = dir_.read("heard");
    int count = 0;
    for (std::size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1)) ++count;
    return count;
  }

  void SetUp() override { dir_.write("extension.py", kScript); }

  testing::TempDir dir_;
  SystemClock clock_;
};

TEST_F(ExtensionTest, ShakesHandsAndTellsItsSubscriptions) {
  KodeletExtension extension(request("ok"), clock_);
  const auto started = extension.start(CancelToken());
  ASSERT_TRUE(started) << started.error().message;
  const auto subscriptions = extension.subscriptions();
  ASSERT_EQ(subscriptions.size(), 5u);
  EXPECT_EQ(subscriptions[0].event, "tool.call");
  EXPECT_EQ(subscriptions[0].priority, 5);
  EXPECT_EQ(times_heard(R"("protocolVersion": "2026-05-30")"), 1);
  EXPECT_EQ(times_heard(R"("id": "guard")"), 1);
}

TEST_F(ExtensionTest, OneProgramAnswersEveryEvent) {
  KodeletExtension extension(request("ok"), clock_);
  EXPECT_EQ(only_action(tool_call(extension, "ls")).text, "saw ls");
  EXPECT_EQ(only_action(tool_call(extension, "pwd")).text, "saw pwd");
  const Verdict message =
      extension.call(AGENTD_EVENT_USER_MESSAGE_SEND, message_payload("hi").root(), CancelToken(), Deadline{});
  EXPECT_EQ(only_action(message).text, "HI");
  EXPECT_EQ(times_heard("started"), 1);
}

TEST_F(ExtensionTest, AnAnswerWithoutAResultIsNoOpinion) {
  KodeletExtension extension(request("ok"), clock_);
  const Verdict verdict = tool_call(extension, "void");
  EXPECT_FALSE(verdict.failed) << verdict.failure.text;
  EXPECT_TRUE(verdict.actions.empty());
}

TEST_F(ExtensionTest, ThreadsAskAtTheSameTime) {
  KodeletExtension extension(request("ok"), clock_);
  std::array<std::string, 8> texts;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < texts.size(); ++i)
    threads.emplace_back([&, i] {
      const Verdict verdict = tool_call(extension, "c" + std::to_string(i));
      texts[i] = verdict.actions.empty() ? verdict.failure.text : verdict.actions[0].text;
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], "saw c" + std::to_string(i));
  EXPECT_EQ(times_heard("started"), 1);
}

TEST_F(ExtensionTest, AtTheDeadlineTheRequestIsCancelledAndItsLateAnswerDropped) {
  KodeletExtension extension(request("ok"), clock_);
  ASSERT_TRUE(extension.start(CancelToken()));
  const Verdict late = tool_call(extension, "hang", Milliseconds(100));
  EXPECT_TRUE(late.failed);
  EXPECT_TRUE(late.timed_out);
  // The answer to "hang" comes first; it must not be taken for this one's.
  EXPECT_EQ(only_action(tool_call(extension, "ls")).text, "saw ls");
  EXPECT_EQ(times_heard("$/cancelRequest"), 1);
  EXPECT_EQ(times_heard("started"), 1);
}

TEST_F(ExtensionTest, AnEventsOwnTimeoutCounts) {
  KodeletExtension extension(request("impatient"), clock_);
  ASSERT_TRUE(extension.start(CancelToken()));
  EXPECT_TRUE(tool_call(extension, "hang").timed_out);
}

TEST_F(ExtensionTest, ACancelledCallReturnsAndTheProgramStays) {
  KodeletExtension extension(request("ok"), clock_);
  ASSERT_TRUE(extension.start(CancelToken()));
  const CancelToken cancel;
  std::thread canceller([&] {
    while (times_heard("hang") == 0) std::this_thread::yield();
    cancel.cancel(AGENTD_CANCEL_USER);
  });
  const Verdict verdict =
      extension.call(AGENTD_EVENT_BEFORE_TOOL_CALL, bash_payload("hang").root(), cancel, Deadline{});
  canceller.join();
  EXPECT_TRUE(verdict.failed);
  EXPECT_FALSE(verdict.timed_out);
  EXPECT_EQ(only_action(tool_call(extension, "ls")).text, "saw ls");
  EXPECT_EQ(times_heard("started"), 1);
}

TEST_F(ExtensionTest, ProgramThatIsSilentTwiceIsStartedAgain) {
  KodeletExtension extension(request("ok"), clock_);
  ASSERT_TRUE(extension.start(CancelToken()));
  EXPECT_TRUE(tool_call(extension, "hang", Milliseconds(50)).timed_out);
  EXPECT_TRUE(tool_call(extension, "hang", Milliseconds(50)).timed_out);
  EXPECT_EQ(only_action(tool_call(extension, "ls")).text, "saw ls");
  EXPECT_EQ(times_heard("started"), 2);
}

TEST_F(ExtensionTest, ACrashIsAFailureWithItsLastWordsAndTheNextCallStartsItAgain) {
  KodeletExtension extension(request("ok"), clock_);
  const Verdict crash = tool_call(extension, "crash");
  EXPECT_TRUE(crash.failed);
  EXPECT_TRUE(contains(crash.failure.text, "it hurts")) << crash.failure.text;
  EXPECT_TRUE(contains(crash.failure.text, "guard")) << crash.failure.text;
  EXPECT_EQ(only_action(tool_call(extension, "ls")).text, "saw ls");
  EXPECT_FALSE(extension.off());
}

TEST_F(ExtensionTest, TheThirdEndWithinAMinuteIsTheLast) {
  KodeletExtension extension(request("ok"), clock_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(tool_call(extension, "crash").failed);
  const Verdict verdict = tool_call(extension, "ls");
  EXPECT_TRUE(verdict.failed);
  EXPECT_TRUE(contains(verdict.failure.text, "is disabled")) << verdict.failure.text;
  EXPECT_TRUE(contains(verdict.failure.text, "3 times within 60 s")) << verdict.failure.text;
  EXPECT_TRUE(extension.off());
  EXPECT_EQ(times_heard("started"), 3);
}

TEST_F(ExtensionTest, EndsOfLongAgoAreForgotten) {
  ManualClock clock;
  KodeletExtension extension(request("ok"), clock);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(
        extension.call(AGENTD_EVENT_BEFORE_TOOL_CALL, bash_payload("crash").root(), CancelToken(), Deadline{}).failed);
    clock.advance(Milliseconds(31'000));
  }
  EXPECT_FALSE(extension.off());
}

TEST_F(ExtensionTest, AProgramThatNeverStartsIsOffToo) {
  KodeletExtension extension(request("dies"), clock_);
  const auto started = extension.start(CancelToken());
  ASSERT_FALSE(started);
  EXPECT_TRUE(contains(started.error().message, "no module named x")) << started.error().message;
  EXPECT_FALSE(extension.start(CancelToken()));
  EXPECT_FALSE(extension.start(CancelToken()));
  EXPECT_TRUE(extension.off());
}

TEST_F(ExtensionTest, AProgramThatIsNotThereIsSaidToBe) {
  KodeletExtensionRequest missing = request("ok");
  missing.process.argv = {dir_.file("nothing")};
  KodeletExtension extension(missing, clock_);
  const auto started = extension.start(CancelToken());
  ASSERT_FALSE(started);
  EXPECT_TRUE(contains(started.error().message, "nothing")) << started.error().message;
}

TEST_F(ExtensionTest, AHandshakeWithoutAnAnswerIsAFailure) {
  KodeletExtensionRequest mute = request("mute");
  mute.handshake = Milliseconds(300);
  KodeletExtension extension(mute, clock_);
  const auto started = extension.start(CancelToken());
  ASSERT_FALSE(started);
  EXPECT_TRUE(contains(started.error().message, "handshake within 300 ms")) << started.error().message;
}

// A start that takes longer than one event waits is not begun again by each event.
TEST_F(ExtensionTest, ASlowStartOutlivesTheCallThatBeganIt) {
  KodeletExtension extension(request("mute"), clock_);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(tool_call(extension, "ls", Milliseconds(50)).timed_out);
  EXPECT_FALSE(extension.off());
  EXPECT_LE(times_heard("started"), 1);
}

TEST_F(ExtensionTest, ARefusedHandshakeIsAFailure) {
  KodeletExtension extension(request("refuses"), clock_);
  const auto started = extension.start(CancelToken());
  ASSERT_FALSE(started);
  EXPECT_TRUE(contains(started.error().message, "not today"));
}

TEST_F(ExtensionTest, TextOnStandardOutputIsAFailureThatShowsIt) {
  KodeletExtension extension(request("log"), clock_);
  const auto started = extension.start(CancelToken());
  ASSERT_FALSE(started);
  EXPECT_TRUE(contains(started.error().message, "starting up...")) << started.error().message;
}

TEST_F(ExtensionTest, AFrameBeyondTheBoundIsAFailure) {
  KodeletExtension extension(request("huge"), clock_);
  const auto started = extension.start(CancelToken());
  ASSERT_FALSE(started);
  EXPECT_TRUE(contains(started.error().message, "2000000 bytes")) << started.error().message;
}

TEST_F(ExtensionTest, GarbageEndsTheCallAndNotTheNextOne) {
  for (const char* what : {"garbage", "no json"}) {
    KodeletExtension extension(request("ok"), clock_);
    const Verdict verdict = tool_call(extension, what);
    EXPECT_TRUE(verdict.failed) << what;
    EXPECT_FALSE(verdict.timed_out) << what;
    EXPECT_EQ(only_action(tool_call(extension, "ls")).text, "saw ls") << what;
  }
}

TEST_F(ExtensionTest, AnErrorIsAFailureAndTheProgramStays) {
  KodeletExtension extension(request("ok"), clock_);
  const Verdict verdict = tool_call(extension, "error");
  EXPECT_TRUE(verdict.failed);
  EXPECT_TRUE(contains(verdict.failure.text, "-32603: bad")) << verdict.failure.text;
  EXPECT_EQ(only_action(tool_call(extension, "ls")).text, "saw ls");
  EXPECT_EQ(times_heard("started"), 1);
}

TEST_F(ExtensionTest, WhatItAsksOfUsIsRefused) {
  KodeletExtension extension(request("ok"), clock_);
  EXPECT_EQ(only_action(tool_call(extension, "ask")).text, "saw ask");
  tool_call(extension, "ls");
  tool_call(extension, "ls");
  // The program writes down the refusal when it has read it, which may be behind its answers.
  for (int i = 0; i < 500 && times_heard("-32601") == 0; ++i) clock_.pause(Milliseconds(10));
  EXPECT_EQ(times_heard("-32601"), 1);
}

TEST_F(ExtensionTest, WhatAgentdDoesNotTakeIsToldOnce) {
  KodeletExtension extension(request("extras"), clock_);
  const auto warnings = tool_call(extension, "ls").warnings;
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(contains(warnings[0], "'moon.phase'"));
  EXPECT_TRUE(contains(warnings[1], "get_weather"));
  EXPECT_TRUE(tool_call(extension, "ls").warnings.empty());
}

TEST_F(ExtensionTest, AnEventWithoutASubscriptionIsAWarningOnce) {
  KodeletExtension extension(request("quiet"), clock_);
  EXPECT_EQ(tool_call(extension, "ls").warnings.size(), 1u);
  const Verdict again = tool_call(extension, "ls");
  EXPECT_TRUE(again.warnings.empty());
  EXPECT_FALSE(again.failed);
  EXPECT_EQ(times_heard("extension.event.handle"), 0);
}

TEST_F(ExtensionTest, AgentInitIsAskedOncePerRunAndLasts) {
  KodeletExtension extension(request("ok"), clock_);
  for (const char* turn : {"1", "2", "3"}) {
    const auto payload = parsed(std::string(R"({"conv_id":"c","turn_number":)") + turn + "}");
    const Verdict verdict = extension.call(AGENTD_EVENT_BEFORE_MODEL_CALL, payload.root(), CancelToken(), Deadline{});
    EXPECT_EQ(only_action(verdict).text, "be brief") << turn;
  }
  EXPECT_EQ(times_heard("extension.event.handle"), 1);
}

TEST_F(ExtensionTest, AgentInitIsAskedOncePerRunOfEachOfManyConversations) {
  constexpr int kConversations = 150;
  KodeletExtension extension(request("ok"), clock_);
  for (const char* turn : {"1", "2", "3"})
    for (int i = 0; i < kConversations; ++i) {
      const auto payload = parsed(R"({"conv_id":"c)" + std::to_string(i) + R"(","turn_number":)" + turn + "}");
      const Verdict verdict = extension.call(AGENTD_EVENT_BEFORE_MODEL_CALL, payload.root(), CancelToken(), Deadline{});
      ASSERT_EQ(only_action(verdict).text, "be brief") << turn << " of " << i;
    }
  EXPECT_EQ(times_heard("extension.event.handle"), kConversations);
}

}  // namespace
}  // namespace agentd
