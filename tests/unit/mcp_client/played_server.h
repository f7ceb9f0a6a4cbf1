// SPDX-License-Identifier: Apache-2.0
#pragma once
// played_server.h - MCP servers as small programs, and a client of them.
//
// Threading: thread-compatible; what a server and its threads write is read with a lock.

#include <gtest/gtest.h>
#include <algorithm>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/net/curl_client.h"
#include "providers/mcp/mcp_tools.h"
#include "tests/support/temp_dir.h"

namespace agentd::mcp {

// The program writes what it hears to "heard", a message on each line; a test changes its functions.
inline constexpr std::string_view kServerBegin = R"PY(
import json, os, sys, time
folder = sys.argv[1]
def note(text):
    with open(os.path.join(folder, "heard"), "a") as out: out.write(text + "\n")
def raw(text):
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode())
    sys.stdout.buffer.flush()
def send(**message): raw(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
def result(id, **members): send(id=id, result=members)
def text(id, said, **more): result(id, content=[{"type": "text", "text": said}], **more)
def fault(id, code, message, **more): send(id=id, error=dict(more, code=code, message=message))
def read():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    note(line.strip())
    return json.loads(line)
def tool(name, **more): return dict({"name": name, "inputSchema": {"type": "object"}}, **more)
ERA, VERSION, INFO = "legacy", "2025-11-25", {"name": "played", "version": "1.2"}
TOOLS = [tool("echo", description="says it again")]
def discover(id):
    if ERA == "modern":
        result(id, resultType="complete", supportedVersions=["2026-07-28"], capabilities={"tools": {}}, ttlMs=0,
               cacheScope="private", _meta={"io.modelcontextprotocol/serverInfo": INFO})
    else: fault(id, -32601, "there is no such method")
def initialize(id):
    if ERA == "modern": fault(id, -32601, "there is no such method")
    else: result(id, protocolVersion=VERSION, serverInfo=INFO, capabilities={"tools": {"listChanged": True}})
def listed(id, params): result(id, tools=TOOLS)
def call(id, name, arguments, params): text(id, name + " " + json.dumps(arguments))
def other(message): pass
)PY";

inline constexpr std::string_view kServerEnd = R"PY(
while True:
    message = read()
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "server/discover": discover(id)
    elif method == "initialize": initialize(id)
    elif method == "tools/list": listed(id, params)
    elif method == "tools/call": call(id, params["name"], params["arguments"], params)
    else: other(message)
)PY";

// Agrees to what it sees first.
class KeptPins final : public Pins {
 public:
  std::vector<Verdict> judge(const std::string& server, const std::vector<Definition>& tools) override {
    const std::lock_guard lock(mutex_);
    const auto [at, first] = agreed_.try_emplace(server);
    std::vector<Verdict> out;
    for (const Definition& tool : tools) {
      if (first || agrees_) at->second[tool.name] = tool.digest();
      const auto found = at->second.find(tool.name);
      out.push_back(found == at->second.end()        ? Verdict::kNew
                    : found->second == tool.digest() ? Verdict::kAgreed
                                                     : Verdict::kChanged);
    }
    return out;
  }
  // To all that is judged from now on.
  void agree() {
    const std::lock_guard lock(mutex_);
    agrees_ = true;
  }

 private:
  std::mutex mutex_;
  bool agrees_ = false;
  std::map<std::string, std::map<std::string, std::string>> agreed_;
};

// A person with one answer, who keeps the questions.
class Answering final : public Elicitor {
 public:
  explicit Answering(ElicitationAnswer answer) : answer_(std::move(answer)) {}
  explicit Answering(std::string values) : answer_{ElicitationAnswer::Kind::kAccepted, std::move(values)} {}
  ElicitationAnswer elicit(const Elicitation& question, const CancelToken&, Deadline) override {
    asked.push_back(question);
    return answer_;
  }
  std::vector<Elicitation> asked;

 private:
  ElicitationAnswer answer_;
};

// Knows how long it was asked to sleep; nobody waits longer than a moment for what would take long.
class RecordingClock final : public SystemClock {
 public:
  bool sleep(Milliseconds time, const CancelToken& cancel) const override {
    {
      const std::lock_guard lock(mutex_);
      sleeps_.push_back(time);
    }
    return SystemClock::sleep(time > Milliseconds(5'000) ? Milliseconds(50) : time, cancel);
  }
  bool has_slept(Milliseconds time) const {
    const std::lock_guard lock(mutex_);
    return std::find(sleeps_.begin(), sleeps_.end(), time) != sleeps_.end();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<Milliseconds> sleeps_;
};

class PlayedServers : public ::testing::Test {
 protected:
  ServerSetup setup(std::string_view changes, std::string name = "srv") {
    ServerSetup out;
    out.name = std::move(name);
    const std::string program =
        dir_.write(out.name + ".py", std::string(kServerBegin) + std::string(changes) + std::string(kServerEnd));
    out.argv = {"python3", "-S", program, dir_.path()};
    out.cwd = dir_.path();
    out.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "TOKEN=s3cr3t-of-the-environment"};
    out.secrets = {"s3cr3t-of-the-environment"};
    return out;
  }

  McpTools& begin(std::vector<ServerSetup> servers) {
    tools_.reset();
    tools_ = std::make_unique<McpTools>(std::move(servers), McpParts{.clock = clock_,
                                                                     .http = *http_,
                                                                     .pins = pins_,
                                                                     .warn =
                                                                         [this](const std::string& text) {
                                                                           const std::lock_guard lock(mutex_);
                                                                           warnings_ += text + "\n";
                                                                         },
                                                                     .client_version = "9.9"});
    tools_->start();
    return *tools_;
  }
  // Starts it and waits for its tools.
  McpTools& up(ServerSetup server) {
    McpTools& out = begin({std::move(server)});
    out.wait(CancelToken(), Deadline::after(clock_, Milliseconds(30'000)));
    return out;
  }
  McpTools& up(std::string_view changes) { return up(setup(changes)); }

  Result<ToolOutcome> call(const std::string& name, const std::string& input = "{}", Elicitor* person = nullptr,
                           const CancelToken& cancel = {}) {
    const auto read = ToolInput::make(input);
    return tools_->call_for({}, {"c1", name, read ? *read : ToolInput()}, person, cancel,
                            Deadline::after(clock_, Milliseconds(60'000)));
  }
  // What came of it, in one text.
  std::string said(const std::string& name, const std::string& input = "{}", Elicitor* person = nullptr) {
    const auto outcome = call(name, input, person);
    if (!outcome) return std::string(agentd::name_of(outcome.error().code)) + ": " + outcome.error().message;
    return (outcome->success ? "" : "failed: ") + outcome->content;
  }
  std::vector<std::string> offered() const {
    std::vector<std::string> out;
    for (const Tool& tool : tools_->tools()) out.push_back(tool.name);
    return out;
  }
  ServerStatus status() const { return tools_->status().at(0); }
  std::string heard() const { return dir_.read("heard"); }
  // How often the programs have heard it.
  std::size_t times(std::string_view text) const {
    const std::string all = heard();
    std::size_t out = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++out;
    return out;
  }
  // Waits until it is true; false: for half a minute it was not.
  bool until(const std::function<bool()>& holds) const {
    for (int i = 0; i < 1'500; ++i) {
      if (holds()) return true;
      clock_.pause(Milliseconds(20));
    }
    return false;
  }
  std::string warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  const RecordingClock clock_;
  const std::unique_ptr<HttpClient> http_ = make_http_client(clock_);
  const testing::TempDir dir_;
  KeptPins pins_;
  std::mutex mutex_;
  std::string warnings_;
  std::unique_ptr<McpTools> tools_;
};

}  // namespace agentd::mcp
