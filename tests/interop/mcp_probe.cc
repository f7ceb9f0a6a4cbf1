// SPDX-License-Identifier: Apache-2.0
// Usage: mcp_probe [--header NAME:VALUE] [--values JSON] (--url URL | --program COMMAND...) < ORDERS
// Drives the client of MCP servers by lines: `list` writes the tools, `call NAME JSON` calls one, `time COUNT NAME
// JSON` calls one so often and writes the microseconds of a call, `status` and `again` (judges them again); each
// answers with one line of JSON. --values: what a person answers to each question of a server, `defaults` = what its
// form has as such; without it each is declined. mcp_client.mjs plays it.
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/net/curl_client.h"
#include "providers/mcp/mcp_tools.h"

extern char** environ;

namespace {

using namespace agentd;

class AllAgreed final : public mcp::Pins {
 public:
  std::vector<Verdict> judge(const std::string&, const std::vector<mcp::Definition>& tools) override {
    return std::vector<Verdict>(tools.size(), Verdict::kAgreed);
  }
};

class Person final : public Elicitor {
 public:
  explicit Person(std::string values) : values_(std::move(values)) {}
  ElicitationAnswer elicit(const Elicitation& question, const CancelToken&, Deadline) override {
    std::cerr << "asked: " << question.message << "\n";
    const auto schema = JsonDocument::parse(question.schema_json);
    if (values_ != "defaults" || !schema) return {ElicitationAnswer::Kind::kAccepted, values_};
    const JsonView properties = schema->root()["properties"];
    JsonWriter out;
    out.begin_object();
    for (std::size_t i = 0; i < properties.size(); ++i)
      if (const JsonView value = properties.at(i)["default"]; value.exists())
        out.key(properties.key_at(i)).value(value);
    return {ElicitationAnswer::Kind::kAccepted, std::string(out.end_object().text())};
  }

 private:
  std::string values_;
};

void write_list(const mcp::McpTools& tools) {
  JsonWriter out;
  out.begin_array();
  for (const Tool& tool : tools.tools()) {
    out.begin_object().member("name", tool.name).member("description", tool.description);
    out.member("flags", tool.flags).key("schema").raw(tool.input_schema_json).end_object();
  }
  std::cout << out.end_array().text() << std::endl;
}

void write_status(const mcp::McpTools& tools) {
  JsonWriter out;
  out.begin_array();
  for (const mcp::ServerStatus& server : tools.status()) {
    out.begin_object().member("state", name_of(server.state)).member("why", server.why);
    out.member("title", server.title).member("version", server.version).member("protocol", server.protocol);
    out.member("errors", server.error_text).end_object();
  }
  std::cout << out.end_array().text() << std::endl;
}

void write_call(mcp::McpTools& tools, const std::string& name, const std::string& json, Elicitor* person) {
  JsonWriter out;
  out.begin_object();
  auto input = ToolInput::make(json);
  if (!input) std::cerr << "the input " << input.error().message << "\n";
  const auto outcome = tools.call_for({}, {"1", name, input ? *input : ToolInput()}, person, CancelToken(), Deadline{});
  if (!outcome) {
    out.member("error", outcome.error().message).member("code", name_of(outcome.error().code));
  } else {
    out.member("success", outcome->success).member("content", outcome->content);
    out.key("parts").begin_array();
    for (const Block& part : outcome->parts) out.string(part.name);
    out.end_array();
    if (!outcome->structured_json.empty()) out.key("structured").raw(outcome->structured_json);
  }
  std::cout << out.end_object().text() << std::endl;
}

// COUNT NAME JSON
void write_time(mcp::McpTools& tools, const Clock& clock, const std::string& order) {
  const std::size_t first = order.find(' '), second = order.find(' ', first + 1);
  const int count = std::stoi(order.substr(0, first));
  const std::string name = order.substr(first + 1, second - first - 1);
  const auto input = ToolInput::make(order.substr(second + 1));
  if (!input) return;
  const std::uint64_t begin = clock.monotonic_ns();
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    const auto outcome = tools.call_for({}, {"1", name, *input}, nullptr, CancelToken(), Deadline{});
    if (!outcome || !outcome->success) ++failed;
  }
  JsonWriter out;
  out.begin_object().key("microseconds").real(static_cast<double>(clock.monotonic_ns() - begin) / 1e3 / count);
  std::cout << out.member("failed", failed).end_object().text() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  mcp::ServerSetup setup;
  setup.name = "probe";
  setup.cwd = std::filesystem::current_path();
  std::string values;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string next = argv[i + 1];
    if (word == "--header")
      setup.headers.emplace_back(next.substr(0, next.find(':')), next.substr(next.find(':') + 1)), ++i;
    else if (word == "--values")
      values = next, ++i;
    else if (word == "--url")
      setup.url = next, ++i;
    else if (word == "--program") {
      setup.argv.assign(argv + i + 1, argv + argc);
      break;
    }
  }
  for (char** each = environ; *each != nullptr; ++each) setup.environment.emplace_back(*each);
  const SystemClock clock;
  const auto http = make_http_client(clock);
  AllAgreed pins;
  Person person(values);
  mcp::McpTools tools({setup}, {.clock = clock,
                                .http = *http,
                                .pins = pins,
                                .warn = [](const std::string& text) { std::cerr << text << "\n"; },
                                .client_version = "0"});
  tools.start();
  tools.wait(CancelToken(), Deadline::after(clock, Milliseconds(60'000)));
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t space = line.find(' ');
    const std::size_t second = space == std::string::npos ? space : line.find(' ', space + 1);
    if (line == "list") write_list(tools);
    if (line == "status") write_status(tools);
    if (line == "again") tools.judge_again();
    if (line.starts_with("time ")) write_time(tools, clock, line.substr(5));
    if (line.starts_with("call ") && second != std::string::npos)
      write_call(tools, line.substr(space + 1, second - space - 1), line.substr(second + 1),
                 values.empty() ? nullptr : &person);
  }
}
