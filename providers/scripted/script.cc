// SPDX-License-Identifier: Apache-2.0
#include "providers/scripted/script.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/codec/yaml.h"

namespace agentd {
namespace {

constexpr std::uint64_t kFileBytesMax = 64ull << 20;
constexpr int kDepthMax = 64;

using Kind = YamlNode::Kind;

// Converts JSON of one line to a tree like YAML's, so that one reader handles both.
YamlNode tree_of(JsonView value, int line, int depth) {
  YamlNode node;
  node.line = line;
  node.column = 1;
  if (value.is_null() || depth > kDepthMax) return node;
  if (value.is_object()) {
    node.kind = Kind::kMap;
    for (std::size_t i = 0; i < value.size(); ++i)
      node.members.emplace_back(value.key_at(i), tree_of(value.at(i), line, depth + 1));
  } else if (value.is_array()) {
    node.kind = Kind::kList;
    for (std::size_t i = 0; i < value.size(); ++i) node.items.push_back(tree_of(value.at(i), line, depth + 1));
  } else {
    node.kind = Kind::kScalar;
    node.quoted = value.is_string();
    node.scalar = value.is_string() ? std::string(value.string_or("")) : value.text();
  }
  return node;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<ScriptedTurn> turn(const YamlNode& node) {
    if (node.kind != Kind::kMap) return wrong(node, "a turn must be a mapping such as {text: \"hello\"}");
    ScriptedTurn turn;
    turn.line = node.line;
    for (const auto& [key, value] : node.members) AGENTD_TRY_VOID(member(turn, key, value));
    const bool silent = turn.text.empty() && turn.thinking.empty() && turn.calls.empty();
    if (silent && !turn.error && !turn.stop_reason)
      return wrong(node, "a turn needs text, thinking, calls, stop_reason or error");
    return turn;
  }

  Result<void> flag(bool& out, const std::string& key, const YamlNode& value) const {
    out = value.scalar == "true";
    if (value.kind == Kind::kScalar && (out || value.scalar == "false")) return {};
    return wrong(value, "'" + key + "' must be true or false");
  }

  Error wrong(const YamlNode& node, const std::string& what) const {
    return {Code::kInvalid, path_ + ":" + std::to_string(node.line) + ":" + std::to_string(node.column) + ": " + what};
  }

 private:
  Result<void> member(ScriptedTurn& turn, const std::string& key, const YamlNode& value) {
    if (key == "for") return purpose(turn.purpose, value);
    if (key == "text") return text(turn.text, key, value);
    if (key == "thinking") return text(turn.thinking, key, value);
    if (key == "signature") return text(turn.signature, key, value);
    if (key == "calls") return calls(turn.calls, value);
    if (key == "stop_reason") return stop_reason(turn.stop_reason, value);
    if (key == "error") return error(turn.error, value);
    if (key == "usage") return usage(turn.usage, value);
    if (key == "expect") return expect(turn.expect, value);
    if (key == "delay_ms") return time(turn.delay, key, value);
    if (key == "pace_ms") return time(turn.pace, key, value);
    return wrong(value, "'" + key +
                            "' is not a key of a turn; it has for, text, thinking, signature, calls, "
                            "stop_reason, error, usage, expect, delay_ms and pace_ms");
  }

  Result<void> text(std::string& out, const std::string& key, const YamlNode& value) const {
    if (value.kind != Kind::kScalar) return wrong(value, "'" + key + "' must be text");
    out = value.scalar;
    return {};
  }

  Result<void> number(std::uint64_t& out, const std::string& key, const YamlNode& value) const {
    const char* const end = value.scalar.data() + value.scalar.size();
    const auto [at, failed] = std::from_chars(value.scalar.data(), end, out);
    if (value.kind == Kind::kScalar && failed == std::errc() && at == end) return {};
    return wrong(value, "'" + key + "' must be a whole number of at least 0");
  }

  Result<void> time(Milliseconds& out, const std::string& key, const YamlNode& value) const {
    std::uint64_t ms = 0;
    AGENTD_TRY_VOID(number(ms, key, value));
    out = Milliseconds(std::min<std::uint64_t>(ms, 3'600'000));
    return {};
  }

  Result<void> purpose(std::string& out, const YamlNode& value) const {
    AGENTD_TRY_VOID(text(out, "for", value));
    if (out == "turn" || out == "summary" || out == "thread") return {};
    return wrong(value, "'for' must be turn, summary or thread, not '" + out + "'");
  }

  Result<void> calls(std::vector<ScriptedCall>& out, const YamlNode& value) {
    if (value.kind != Kind::kList) return wrong(value, "'calls' must be a list of {name, input}");
    for (const YamlNode& item : value.items) {
      AGENTD_TRY(ScriptedCall one, call(item));
      out.push_back(std::move(one));
    }
    return {};
  }

  Result<ScriptedCall> call(const YamlNode& node) {
    if (node.kind != Kind::kMap) return wrong(node, "a call must be a mapping with name and input");
    ScriptedCall out;
    out.input_json = "{}";
    for (const auto& [key, value] : node.members) {
      if (key == "name") {
        AGENTD_TRY_VOID(text(out.name, key, value));
      } else if (key == "id") {
        AGENTD_TRY_VOID(text(out.id, key, value));
      } else if (key == "input") {
        AGENTD_TRY_VOID(input(out.input_json, value));
      } else if (key == "raw_input") {
        // A model may write anything here, valid or not.
        AGENTD_TRY_VOID(text(out.input_json, key, value));
      } else {
        return wrong(value, "'" + key + "' is not a key of a call; it has name, input, raw_input and id");
      }
    }
    if (out.name.empty()) return wrong(node, "a call needs the name of a tool");
    return out;
  }

  // A mapping, or its JSON as text, which is kept unchanged.
  Result<void> input(std::string& out, const YamlNode& value) const {
    if (value.kind == Kind::kMap) {
      out = value.json();
      return {};
    }
    const auto parsed = JsonDocument::parse(value.scalar);
    if (value.kind != Kind::kScalar || !parsed || !parsed->root().is_object())
      return wrong(value, "'input' must be a mapping, or text that is a JSON object");
    out = value.scalar;
    return {};
  }

  Result<void> stop_reason(std::optional<StopReason>& out, const YamlNode& value) const {
    std::string name;
    AGENTD_TRY_VOID(text(name, "stop_reason", value));
    const StopReason reason = stop_reason_of(name);
    if (name_of(reason) != name) return wrong(value, "'" + name + "' is not a stop reason");
    out = reason;
    return {};
  }

  Result<void> error(std::optional<ScriptedError>& out, const YamlNode& value) {
    if (value.kind != Kind::kMap) return wrong(value, "'error' must be a mapping with kind and message");
    ScriptedError made;
    bool has_kind = false;
    for (const auto& [key, item] : value.members) {
      if (key == "message") {
        AGENTD_TRY_VOID(text(made.message, key, item));
      } else if (key == "status") {
        std::uint64_t status = 0;
        AGENTD_TRY_VOID(number(status, key, item));
        made.status = static_cast<int>(std::min<std::uint64_t>(status, 599));
      } else if (key == "kind") {
        AGENTD_TRY_VOID(error_kind(made.kind, item));
        has_kind = true;
      } else {
        return wrong(item, "'" + key + "' is not a key of an error; it has kind, message and status");
      }
    }
    if (!has_kind) return wrong(value, "an error needs its kind, such as overloaded");
    out = made;
    return {};
  }

  Result<void> error_kind(ModelErrorKind& out, const YamlNode& value) const {
    constexpr std::array kKinds = {
        ModelErrorKind::kAuth,          ModelErrorKind::kBilling,   ModelErrorKind::kInvalid,
        ModelErrorKind::kContextLength, ModelErrorKind::kRateLimit, ModelErrorKind::kOverloaded,
        ModelErrorKind::kServer,        ModelErrorKind::kNetwork,   ModelErrorKind::kInterrupted,
        ModelErrorKind::kProtocol,      ModelErrorKind::kCancelled};
    std::string known;
    for (const ModelErrorKind kind : kKinds) {
      if (value.scalar == name_of(kind)) {
        out = kind;
        return {};
      }
      known += (known.empty() ? "" : ", ") + std::string(name_of(kind));
    }
    return wrong(value, "'" + value.scalar + "' is not a kind of error; use " + known);
  }

  Result<void> usage(std::optional<Usage>& out, const YamlNode& value) const {
    if (value.kind != Kind::kMap) return wrong(value, "'usage' must be a mapping such as {input: 10}");
    Usage sum;
    for (const auto& [key, item] : value.members) {
      std::uint64_t* const field = key == "input"         ? &sum.input
                                   : key == "output"      ? &sum.output
                                   : key == "cache_read"  ? &sum.cache_read
                                   : key == "cache_write" ? &sum.cache_write
                                   : key == "reasoning"   ? &sum.reasoning
                                                          : nullptr;
      if (field == nullptr)
        return wrong(item, "'" + key +
                               "' is not a key of usage; it has input, output, cache_read, "
                               "cache_write and reasoning");
      AGENTD_TRY_VOID(number(*field, key, item));
    }
    out = sum;
    return {};
  }

  Result<void> expect(ScriptedExpect& out, const YamlNode& value) const {
    if (value.kind != Kind::kMap) return wrong(value, "'expect' must be a mapping with contains and not_contains");
    for (const auto& [key, item] : value.members) {
      if (key != "contains" && key != "not_contains")
        return wrong(item, "'" + key + "' is not a key of expect; it has contains and not_contains");
      AGENTD_TRY_VOID(strings(key == "contains" ? out.contains : out.not_contains, key, item));
    }
    return {};
  }

  Result<void> strings(std::vector<std::string>& out, const std::string& key, const YamlNode& value) const {
    if (value.kind == Kind::kScalar) {
      out.push_back(value.scalar);
      return {};
    }
    const bool texts = std::all_of(value.items.begin(), value.items.end(),
                                   [](const YamlNode& item) { return item.kind == Kind::kScalar; });
    if (value.kind != Kind::kList || !texts) return wrong(value, "'" + key + "' must be text or a list of texts");
    for (const YamlNode& item : value.items) out.push_back(item.scalar);
    return {};
  }

  const std::string& path_;
};

// One JSON object per line; empty lines are ignored.
Result<Script> parse_lines(std::string_view text, const std::string& path) {
  Script script{path, {}};
  Reader reader(path);
  int line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto document = JsonDocument::parse(one);
    if (!document) return Error{Code::kInvalid, path + ":" + std::to_string(line) + ":1: " + document.error().message};
    AGENTD_TRY(ScriptedTurn turn, reader.turn(tree_of(document->root(), line, 0)));
    script.turns.push_back(std::move(turn));
  }
  return script;
}

Result<Script> parse_tree(std::string_view text, const std::string& path) {
  AGENTD_TRY(const YamlNode root, parse_yaml(text, path));
  Reader reader(path);
  const YamlNode* list = &root;
  Script script{path, {}};
  if (root.kind == Kind::kMap) {
    list = root.find("turns");
    for (const auto& [key, value] : root.members) {
      if (key == "repeat")
        AGENTD_TRY_VOID(reader.flag(script.repeats, key, value));
      else if (key != "turns")
        return reader.wrong(value, "'" + key + "' is not a key of a script; it has turns and repeat");
    }
  }
  if (list == nullptr || list->kind != Kind::kList)
    return reader.wrong(root, "a script is a list of turns, or a mapping whose 'turns' is that list");
  for (const YamlNode& item : list->items) {
    AGENTD_TRY(ScriptedTurn turn, reader.turn(item));
    script.turns.push_back(std::move(turn));
  }
  return script;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

Result<Script> parse_script(std::string_view text, const std::string& path) {
  const bool lines = ends_with(path, ".jsonl") || ends_with(path, ".ndjson");
  AGENTD_TRY(Script script, lines ? parse_lines(text, path) : parse_tree(text, path));
  if (script.turns.empty()) return Error{Code::kInvalid, path + ":1:1: the script has no turns"};
  return script;
}

Result<Script> load_script(const std::string& path) {
  auto text = read_file(path, kFileBytesMax);
  if (!text) return text.error().with_context("the script of --script or scripted.file cannot be read");
  return parse_script(*text, path);
}

}  // namespace agentd
