// SPDX-License-Identifier: Apache-2.0
// The messages of an MCP server as any bytes, a message on each line: each request is answered by the lines up to one
// that names ID, which becomes the request's. Whatever they are, each request ends, names are those that models take,
// and texts are UTF-8.
#include <set>
#include <string>

#include "core/base/bytes.h"
#include "providers/mcp/call_result.h"
#include "providers/mcp/definitions.h"
#include "providers/mcp/handshake.h"
#include "providers/mcp/questions.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;
using namespace agentd::mcp;
using agentd::fuzz::require;

class PlayedLink final : public Link {
 public:
  explicit PlayedLink(std::string_view bytes) : rest_(bytes) {}
  void start(Ears ears) override { ears_ = std::move(ears); }
  void send(Outgoing message) override {
    require(std::holds_alternative<RpcMessage>(read_rpc(message.text)), "what is sent is a message");
    if (message.id.is_null()) return;
    while (!rest_.empty() && !play(message.id)) {
    }
  }
  void flush(const CancelToken&, Deadline) override {}
  void drop(const RpcId&) override {}
  void agree(std::string_view, bool) override {}
  void listen() override {}
  bool is_http() const override { return true; }

 private:
  // True: the line was for that request.
  bool play(const RpcId& id) {
    std::string line(rest_.substr(0, rest_.find('\n')));
    rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
    const std::size_t at = line.find("ID");
    if (at != std::string::npos) line.replace(at, 2, id.json());
    auto read = read_rpc(line, {kMessageMax});
    if (auto* const refusal = std::get_if<RpcRefusal>(&read))
      ears_.refuse(std::move(*refusal), {});
    else
      ears_.take(std::move(std::get<RpcMessage>(read)), {});
    return at != std::string::npos;
  }

  std::string_view rest_;
  Ears ears_;
};

void check_names(const std::vector<Definition>& tools) {
  const std::vector<std::string> names = names_of("server", tools, std::vector<bool>(tools.size(), true));
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    require(name.size() <= 64 && name.starts_with("mcp__server__"), "a name is one that models take");
    require(
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string::npos,
        "a name has plain characters");
    require(seen.insert(name).second, "a name is one tool's");
  }
  for (const Definition& tool : tools) {
    require(tool.digest().size() == 64, "a definition has a digest");
    (void)flags_of(tool.annotations_json, true);
    const auto schema = JsonDocument::parse(tool.input_schema_json);
    require(schema && param_fields(schema->root()), "a listed tool has a schema with good marks");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const SystemClock clock;
  const CancelToken cancel;
  const Deadline now{0};  // nothing comes later
  Connection connection({[] {}, [](const std::string&) {}, [](const std::string&) {}}, "1", clock);
  connection.set_link(std::make_unique<PlayedLink>(agentd::fuzz::view(data, size)));
  const auto agreed = shake_hands(connection, true, cancel, now);
  if (!agreed) {
    require(!agreed.error().why.empty() && is_utf8(agreed.error().why), "a failure has a sentence");
    return 0;
  }
  const auto listed = list_tools(connection, cancel, now);
  if (!listed) return 0;
  ++agentd::fuzz::got_through;
  check_names(listed->tools);
  Patience patience{cancel, now};
  patience.question = [&](JsonView params) { return ask_person({"server", "tool"}, params, nullptr, cancel, now); };
  const auto answer = connection.ask({"tools/call"}, patience);
  if (!answer) return 0;
  for (const bool modern : {false, true}) {
    const auto outcome = outcome_of((*answer)->root()["result"], modern);
    if (!outcome) continue;
    require(is_utf8(outcome->content), "a result is text");
    require(outcome->structured_json.empty() || JsonDocument::parse(outcome->structured_json), "a structure is JSON");
  }
  return 0;
}
