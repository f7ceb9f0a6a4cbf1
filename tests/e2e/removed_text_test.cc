// SPDX-License-Identifier: Apache-2.0
// removed_text_test.cc - what hooks take out of messages, answers and outputs is nowhere: not in a later nor in an
// earlier event, a request, a file below AGENTD_HOME or an output of any process.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/acp_client.h"
#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

// The words that the gate takes out, one for each place, and those whose message it blocks.
const std::vector<std::string> kRewritten{"canary-first",  "canary-later",  "canary-recipe", "canary-words",
                                          "canary-answer", "canary-stream", "canary-output", "canary-failure",
                                          "canary-goeson", "canary-typed",  "canary-posted", "canary-editor",
                                          "canary-client"};
const std::vector<std::string> kBlocked{"forbidden-first", "forbidden-later", "forbidden-typed", "forbidden-posted",
                                        "forbidden-client"};

constexpr const char* kGate = R"(#!/usr/bin/env python3
import json, re, sys
if sys.argv[1] == "hook":
    print("user_message_send after_model_call after_tool_call tool_call_failed")
    sys.exit()
event = json.load(sys.stdin)
name = event["event"]
text = event["message"] if name == "user_message_send" else \
    event["response"] if name == "after_model_call" else event["output"]["content"]
if name == "user_message_send" and "forbidden-" in text:
    print(json.dumps({"action": "block", "reason": "the message has a forbidden word"}))
elif "canary-" in text:
    key = "message" if name == "user_message_send" else "output"
    print(json.dumps({key: re.sub("canary-[a-z]+", "[cleaned]", text)}))
)";

constexpr const char* kEvents =
    "session_start session_end user_message_send turn_start before_model_call model_delta after_model_call turn_end "
    "before_tool_call permission_request after_tool_call tool_call_failed agent_stop context_threshold "
    "before_compaction after_compaction before_clear after_clear subagent_start subagent_stop agent_error notification";

class RemovedText : public ::testing::Test {
 protected:
  RemovedText()
      : server_([this](const RecordedRequest& got) { return answer(got); }), listener_([](const RecordedRequest&) {
          return Reply::http(200, {{"content-type", "application/json"}}, "{}");
        }) {
    program_.set("NO_PROXY=127.0.0.1");
    program_.set("TERM=xterm");
  }

  // ---- the model

  Reply answer(const RecordedRequest& got) {
    const auto says = [&](const char* text) { return has(got.body, text); };
    const auto text = [](const std::string& words) {
      return Reply::chunked({ChatWire().text({words.substr(0, 5), words.substr(5)}).finish("stop").bytes()});
    };
    const auto call = [&](const char* id, const char* name, const char* input) {
      return Reply::chunked({ChatWire().tool_call(0, id, name, {input}).finish("tool_calls").bytes()});
    };
    if (says("Summarise") || says("summary of the conversation")) return text("the user asked for several things");
    if (says("run the tools") && !says("\"tool_call_id\":\"c1\""))
      return call("c1", "bash", R"({"command":"cat output.txt"})");
    if (says("run the tools") && !says("\"tool_call_id\":\"c2\""))
      return call("c2", "bash", R"({"command":"cat failure.txt >&2; exit 3"})");
    if (says("answer badly")) return text("you said canary-answer and canary-stream");
    return text("an answer like any other");
  }

  // ---- the hooks

  static std::string quoted(const std::string& text) { return "'" + text + "'"; }

  // A gate that removes, and beside it whatever can see an event: a program behind the gate, an observer, a webhook.
  // `shadow`: the gate says the same, and nothing follows from it.
  void prepare(bool shadow) {
    const std::string hooks = program_.home() + "/hooks", seen = program_.directory().file("seen");
    ASSERT_TRUE(make_directories(hooks));
    ASSERT_TRUE(write_file_atomically(program_.directory().file("gate"), kGate, 0755));
    std::string yaml = "hooks:\n";
    for (const char* const event : {"user_message_send", "after_model_call", "after_tool_call", "tool_call_failed"})
      yaml += std::string("  - {name: ") + event + ", on: " + event +
              ", priority: 100, shadow: " + (shadow ? "true" : "false") + ", command: [" +
              program_.directory().file("gate") + ", run]}\n";
    ASSERT_TRUE(write_file_atomically(hooks + "/gate.yaml", yaml, 0600));
    ASSERT_TRUE(write_file_atomically(hooks + "/later",
                                      "#!/bin/bash\ncase \"$1\" in\n  hook) echo " + std::string(kEvents) +
                                          " ;;\n  *) { cat; env; echo; } >> " + seen + " ;;\nesac\n",
                                      0755));
    ASSERT_TRUE(write_file_atomically(hooks + "/watch.yaml",
                                      "hooks:\n  - {name: file, on: [" + listed(kEvents) +
                                          "], observe: true, command: " + quoted("cat >> " + seen + ".observer") +
                                          "}\n  - {name: post, on: [" + listed(kEvents) +
                                          "], observe: true, url: " + quoted(listener_.url()) + "}\n",
                                      0600));
    ASSERT_TRUE(write_file_atomically(hooks + "/goon.yaml",
                                      "on: agent_stop\nonce: conversation\n"
                                      "do: {action: continue, messages: [go on with canary-goeson]}\n",
                                      0600));
    // Hooks that fail before the gate is called, and quote what they were given in each way in which a failure can.
    std::string broken = "hooks:\n";
    const std::string grep = "grep -oE \"(canary|forbidden)-[a-z]+\" | head -n 1";
    for (const char* const event : {"user_message_send", "after_model_call", "after_tool_call", "tool_call_failed"})
      for (const auto& [name, command] : std::vector<std::pair<std::string, std::string>>{
               {"dies", grep + " >&2; exit 1"},
               {"talks", grep},
               {"invents", grep + " | sed \"s/.*/{\\\"&\\\": 1}/\""},
               {"grumbles", "x=$(" + grep + "); echo {\\\"system_message\\\": \\\"noted\\\", \\\"$x\\\": 1}"}})
        broken += "  - {name: " + name + "-" + event + ", on: " + event +
                  ", priority: 200, command: " + quoted(command) + "}\n";
    ASSERT_TRUE(write_file_atomically(hooks + "/broken.yaml", broken, 0600));
    ASSERT_TRUE(make_directories(program_.home() + "/recipes"));
    ASSERT_TRUE(write_file_atomically(program_.home() + "/recipes/ask.md",
                                      "---\nname: ask\ndescription: asks\narguments: {what: the thing}\n---\n"
                                      "Tell me about {{.what}}.\n",
                                      0600));
    program_.file("output.txt", "the output says canary-output\n");
    program_.file("failure.txt", "the failure says canary-failure\n");
    program_.config(
        "model: work/m\nprovider: work\nlog: {level: debug}\npermissions: {mode: allow}\n"
        "agents: {enabled: true}\nserve: {port: 0, drain_seconds: 5}\nhooks:\n  trace: true\n  audit_log: {enabled: "
        "true, sandbox: off, config: "
        "{path: " +
        program_.directory().file("audit.jsonl") + "}}\nproviders: {work: {base_url: " + server_.url() +
        "/v1, max_retries: 0}}\n");
  }
  static std::string listed(std::string words) {
    std::replace(words.begin(), words.end(), ' ', ',');
    return words;
  }

  // ---- what people do

  Finished run(const std::vector<std::string>& words, int code) {
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, code) << words[0] << " " << words[1] << ": " << ran.err;
    said_ += ran.out + ran.err;
    return ran;
  }

  // `refused`: the exit code of a message that is blocked.
  void do_all(int refused) {
    run({"run", "--json", "the forbidden-first message"}, refused);
    run({"run", "my word is canary-first, answer badly", "--json"}, 0);
    run({"run", "--follow", "and canary-later, run the tools"}, 0);
    run({"run", "--follow", "the forbidden-later message"}, refused);
    run({"run", "--follow", "-r", "ask", "--arg", "what=canary-recipe", "with canary-words"}, 0);
    const std::string id = program_.newest();
    type();
    post(refused == 0 ? "\"stop\"" : "\"blocked\"");
    edit();
    call();
    run({"compact", "--follow"}, 0);
    run({"checkpoint", "save", "a place", "--json"}, 0);
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"conversation", "list", "--all"},
                                               {"conversation", "show", id, "--log"},
                                               {"conversation", "search", "word"},
                                               {"conversation", "dump", id},
                                               {"hooks", "trace", "-c", id},
                                               {"memory", "list"},
                                               {"store", "check"},
                                               {"store", "backup", program_.directory().file("backup")}})
      run(words, 0);
  }

  // In a chat; the screen shows what is typed, so that it is not among the outputs.
  void type() {
    const Finished ran = program_.on_terminal({"chat"}, {{" > ", "tell me of canary-typed\n"},
                                                         {"an answer", ""},
                                                         {" > ", "the forbidden-typed line\n"},
                                                         {" > ", "plain words\n"},
                                                         {"an answer", ""},
                                                         {" > ", "\x04"}});
    EXPECT_TRUE(has(ran.out, "plain words")) << ran.out;
    EXPECT_TRUE(has(read_file(program_.home() + "/chat_history", 10'000).value_or(""), "plain words\n"));
  }

  // To the daemon, which is told the first text when the session is made.
  void post(const std::string& refused) {
    Running daemon = program_.start({"serve"});
    ASSERT_TRUE(daemon.wait_for_out("agentd serves ")) << daemon.err();
    ASSERT_TRUE(daemon.wait_for_out("\n"));
    const std::string out = daemon.out();
    std::string token = read_file(program_.home() + "/serve.token", 1'000).value_or("");
    while (token.ends_with('\n')) token.pop_back();
    const HttpClient client(static_cast<std::uint16_t>(std::stoi(out.substr(out.rfind(':') + 1))), token);
    for (const std::string text : {"tell me of canary-posted", "the forbidden-posted message"}) {
      const HttpAnswer made = client.post("/api/v1/conversations",
                                          R"({"cwd":")" + program_.project() + R"(","first_text":")" + text + "\"}");
      ASSERT_EQ(made.status, 201) << made.body;
      const std::string id(made.json().root()["id"].string_or(""));
      const std::string path = "/api/v1/conversations/" + id;
      EventReader events = client.events(path + "/events");
      EXPECT_EQ(client.post(path + "/messages", R"({"text":")" + text + "\"}").status, 202);
      const auto end = events.until("run_ended");
      ASSERT_TRUE(end) << text;
      EXPECT_TRUE(has(end->data, has(text, "forbidden") ? refused : "\"stop\"")) << end->data;
      for (const EventReader::Event& each : events.seen) said_ += each.data + "\n";
    }
    daemon.signal(SIGTERM);
    const Finished ended = daemon.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    said_ += ended.out + ended.err;
  }

  // From an editor.
  void edit() {
    AcpClient editor(program_, {});
    editor.initialize();
    const std::string session = editor.new_session();
    EXPECT_EQ(editor.prompt(session, "tell me of canary-editor"), "end_turn");
    for (const RpcMessage& each : editor.updates()) said_ += std::string(each.params().text()) + "\n";
  }

  // By a client of MCP, whose call is judged before the run begins.
  void call() {
    AcpClient client(program_, {}, "mcp");
    client.call("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{}})");
    client.notify("notifications/initialized", "{}");
    for (const std::string words : {R"("prompt":"tell me of canary-client")", R"("prompt":"the forbidden-client word")",
                                    R"("recipe":"ask","arguments":{"what":"canary-client"})"})
      said_ += std::string(
                   client.call("tools/call", R"({"name":"run_agent","arguments":{)" + words + "}}").result().text()) +
               "\n";
    for (const RpcMessage& each : client.updates()) said_ += std::string(each.params().text()) + "\n";
  }

  // ---- what is left

  std::string everything() const {
    std::string out = said_;
    for (const auto& entry : fs::recursive_directory_iterator(program_.directory().path())) {
      const std::string path = entry.path().string();
      if (!entry.is_regular_file() || path.starts_with(program_.project())) continue;
      // The programs that have the words, and the inputs and outputs of the processes, which are in `said_`.
      const std::string name = entry.path().filename().string();
      if (name == "gate" || name == "goon.yaml" || name.starts_with("out") || name.starts_with("err")) continue;
      out += read_file(path, 1u << 30).value_or("") + "\n";
    }
    for (const LoopbackServer* const each : {&server_, &listener_})
      for (const RecordedRequest& got : each->requests()) out += got.body + "\n";
    return out;
  }
  std::vector<std::string> found(const std::vector<std::string>& words) const {
    const std::string all = everything();
    std::vector<std::string> out;
    for (const std::string& word : words)
      if (has(all, word)) out.push_back(word);
    return out;
  }

  Program program_;
  LoopbackServer server_, listener_;
  std::string said_;
};

TEST_F(RemovedText, IsInNoEventRequestFileOrOutput) {
  prepare(false);
  do_all(3);
  EXPECT_EQ(found(kRewritten), std::vector<std::string>{});
  EXPECT_EQ(found(kBlocked), std::vector<std::string>{});
}

// The control: the same hooks in shadow mode remove nothing, and each word is found. tests/unit/agent has the other
// one, hooks that come after the task was told.
TEST_F(RemovedText, IsFoundWhereTheHooksAreInShadowMode) {
  prepare(true);
  do_all(0);
  EXPECT_EQ(found(kRewritten), kRewritten);
  EXPECT_EQ(found(kBlocked), kBlocked);
}

// Hooks of a tool that calls them together: the context that one of them adds is part of a message that another blocks.
TEST_F(RemovedText, AContextThatQuotesABlockedMessageIsNotKept) {
  const std::string settings = program_.directory().file("settings.json");
  ASSERT_TRUE(write_file_atomically(settings,
                                    R"({"hooks":{"UserPromptSubmit":[{"hooks":[)"
                                    R"({"type":"command","command":"grep -oE 'forbidden-[a-z]+'"},)"
                                    R"({"type":"command","command":"! grep -q forbidden- || exit 2"}]}]}})",
                                    0600));
  program_.config("hooks: {trace: true, adapt: [\"claude:" + settings + "\"]}\n");
  const std::string script = program_.script("- text: thanks\n");
  run({"run", "a plain message", "--script", script}, 0);
  run({"run", "--follow", "the forbidden-first message", "--script", script}, 3);
  EXPECT_EQ(found({"forbidden-first"}), std::vector<std::string>{});
  EXPECT_TRUE(has(run({"hooks", "trace"}, 0).out, "inject_context"));
}

// The control of what session_start begins with: a hook that can neither refuse nor rewrite takes nothing away.
TEST_F(RemovedText, AHookThatOnlyAddsContextDoesNotHideTheTask) {
  const std::string hooks = program_.home() + "/hooks", seen = program_.directory().file("seen");
  ASSERT_TRUE(make_directories(hooks));
  ASSERT_TRUE(
      write_file_atomically(hooks + "/start.yaml", "on: session_start\ncommand: \"cat >> " + seen + "\"\n", 0600));
  const std::string script = program_.script("- text: thanks\n");
  const auto task = [&](const std::string& answer) {
    EXPECT_TRUE(write_file_atomically(hooks + "/more.yaml", "on: user_message_send\ndo: " + answer + "\n", 0600));
    run({"hooks", "trust", "more", "--yes"}, 0);
    std::filesystem::remove(seen);
    run({"run", "a plain message", "--script", script}, has(answer, "block") ? 3 : 0);
    const auto event = JsonDocument::parse(read_file(seen, 100'000).value_or(""));
    return event ? std::string(event->root()["task"].string_or("")) : "nothing";
  };
  EXPECT_EQ(task("{additional_context: be brief}"), "a plain message");
  EXPECT_EQ(task("{action: block, reason: not that}"), "");
  EXPECT_EQ(task("{message: another}"), "");
}

// The bundled redactor, and a guard in one line of YAML: the first message and what its session begins with.
TEST_F(RemovedText, TheBundledRedactorSeesTheFirstMessageBeforeSessionStart) {
  const std::string token = "ghp_abcdefghijklmnopqrst" + std::string("uvwxyz0123456789");
  program_.config("hooks: {redact: {enabled: true}}\n");
  const std::string hooks = program_.home() + "/hooks";
  ASSERT_TRUE(make_directories(hooks));
  ASSERT_TRUE(write_file_atomically(hooks + "/guard.yaml",
                                    "on: user_message_send\nwhen: message contains \"forbidden\"\n"
                                    "do: {action: block, reason: a forbidden word}\n",
                                    0600));
  ASSERT_TRUE(write_file_atomically(hooks + "/start.yaml",
                                    "on: session_start\ncommand: \"cat >> " + program_.directory().file("seen") +
                                        "; echo '{\\\"additional_context\\\": \\\"noted\\\"}'\"\n",
                                    0600));
  const std::string script = program_.script("- text: thanks\n");
  EXPECT_EQ(program_.run({"run", "my token " + token + " thanks", "--script", script}).code, 0);
  EXPECT_EQ(program_.run({"run", "the forbidden-first message", "--script", script}).code, 3);
  EXPECT_TRUE(has(read_file(program_.directory().file("seen"), 100'000).value_or(""), "\"event\":\"session_start\""));
  EXPECT_EQ(found({token, "forbidden-first"}), std::vector<std::string>{});
}

}  // namespace
}  // namespace agentd::testing
