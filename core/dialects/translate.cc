// SPDX-License-Identifier: Apache-2.0
// translate.cc - shared by all dialects: reading outputs and ends, names and small conversions.
#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/codec/canonical_json.h"
#include "core/dialects/dialect.h"
#include "core/dialects/edit_lists.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

constexpr std::size_t kShownOutputBytes = 80;
constexpr std::string_view kBlanks = " \t\r\n\v\f";

// The end of the object that begins at `from` (one past its brace), by braces and strings alone; npos if it is not
// closed.
std::size_t end_of_object(std::string_view text, std::size_t from) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// True if an object looks like an answer in any dialect.
bool looks_like_answer(JsonView object) {
  static constexpr std::array<std::string_view, 14> kAnswerKeys{
      "decision",          "continue",           "hookSpecificOutput", "hook_specific_output", "action",
      "blocked",           "permission",         "permissionDecision", "systemMessage",        "system_message",
      "additionalContext", "additional_context", "stopReason",         "follow_up_messages"};
  return std::any_of(kAnswerKeys.begin(), kAnswerKeys.end(),
                     [&](std::string_view key) { return object[key].exists(); });
}

// Tries the first brace and those at the beginning of a line, where an answer may follow log lines.
bool holds_answer(std::string_view text) {
  constexpr int kTriesMax = 64;
  std::size_t at = text.find('{');
  for (int i = 0; i < kTriesMax && at != std::string_view::npos; ++i) {
    const std::size_t end = end_of_object(text, at);
    if (end == std::string_view::npos) return false;
    const auto object = JsonDocument::parse(text.substr(at, end - at));
    if (object && looks_like_answer(object->root())) return true;
    at = text.find("\n{", at);
    if (at != std::string_view::npos) ++at;
  }
  return false;
}

std::string bad_object(std::string_view text, const Error& error) {
  const std::size_t end = end_of_object(text, 0);
  if (end == std::string_view::npos) return "its output ends in the middle of a JSON object";
  if (!JsonDocument::parse(text.substr(0, end))) return "its output is not valid JSON: " + error.message;
  const std::string_view rest = trimmed(text.substr(end));
  if (rest.substr(0, 1) == "{") return "its output holds two JSON objects where one is expected";
  return "text follows the JSON object in its output: '" + first_line(rest, kShownOutputBytes) + "'";
}

std::string bad_bytes(std::string_view out, bool over_cap) {
  if (over_cap) return "its output is larger than the cap of " + std::to_string(out.size()) + " bytes";
  const std::size_t nul = out.find('\0');
  if (nul != std::string_view::npos) return "its output holds a NUL byte at byte " + std::to_string(nul);
  return is_utf8(out) ? "" : "its output is not valid UTF-8";
}

}  // namespace

ParsedOutput parse_output(std::string_view out, bool over_cap) {
  ParsedOutput parsed;
  parsed.problem = bad_bytes(out, over_cap);
  if (!parsed.problem.empty()) {
    parsed.kind = ParsedOutput::Kind::kBroken;
    return parsed;
  }
  if (out.substr(0, 3) == "\xef\xbb\xbf") out.remove_prefix(3);
  parsed.text = trimmed(out);
  if (parsed.text.empty()) return parsed;
  if (parsed.text[0] != '{') {
    parsed.kind = ParsedOutput::Kind::kText;
    if (holds_answer(parsed.text))
      parsed.problem =
          "text precedes the JSON object in its output: '" + first_line(parsed.text, kShownOutputBytes) + "'";
    return parsed;
  }
  auto object = JsonDocument::parse(parsed.text);
  parsed.kind = ParsedOutput::Kind::kBroken;
  if (!object) {
    parsed.problem = bad_object(parsed.text, object.error());
    return parsed;
  }
  // An object that two JSON readers may understand differently is refused.
  const auto one_reading = canonical_object(parsed.text, {.bytes = SIZE_MAX, .depth = INT_MAX});
  if (!one_reading) {
    parsed.problem = "its output " + one_reading.error().message;
    return parsed;
  }
  parsed.kind = ParsedOutput::Kind::kObject;
  parsed.object = std::move(*object);
  return parsed;
}

FailureText quoting(std::string own, std::string_view quote) {
  const std::size_t words = own.size();
  return {quote.empty() ? std::move(own) : own + ": " + std::string(quote), words};
}

FailureText not_one_object(const ParsedOutput& output) {
  const std::string own = "its output must be one JSON object";
  return {own + "; it begins with '" + first_line(output.text, 80) + "'", own.size()};
}

FailureText broken_end(const HookDefinition& hook, const RawAnswer& answer) {
  const auto all = [](std::string text) { return FailureText(std::move(text), FailureText::kAll); };
  // A program that makes a sandbox is quoted behind a colon, and so may be the hook itself.
  const auto or_else = [&](std::string_view otherwise) {
    if (answer.problem.empty()) return all(std::string(otherwise));
    return FailureText(answer.problem, hook.sandbox ? answer.problem.find(':') : FailureText::kAll);
  };
  switch (answer.end) {
    case RawAnswer::End::kSignalled:
      return all("it was killed by signal " + std::to_string(answer.code));
    case RawAnswer::End::kTimedOut:
      return all("it did not answer before its deadline");
    case RawAnswer::End::kCancelled:
      return all("it was cancelled");
    case RawAnswer::End::kNotStarted:
      return or_else("it could not be started");
    case RawAnswer::End::kExited:
      break;
  }
  if (hook.runs != HookRuns::kWebhook) return "";
  if (answer.http_status == 0) return or_else("the webhook did not answer");
  if (answer.http_status >= 200 && answer.http_status < 300) return "";
  const std::string line = first_line(answer.out);
  return quoting("the webhook answered with status " + std::to_string(answer.http_status), line);
}

FailureText exit_sentence(const RawAnswer& answer) {
  return quoting("it exited with code " + std::to_string(answer.code), telling_line(answer.err));
}

std::string telling_line(std::string_view error, std::size_t most) {
  // A trace ends with the error, its frames are indented; Node adds its version below it.
  std::string_view rest = trimmed(error), last;
  while (!rest.empty()) {
    const std::size_t end = rest.rfind('\n');
    const std::string_view line = end == std::string_view::npos ? rest : rest.substr(end + 1);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
    if (trimmed(line).empty() || line.starts_with("Node.js v")) continue;
    if (last.empty()) last = trimmed(line);
    if (line[0] != ' ' && line[0] != '\t') return one_line(trimmed(line), most);
  }
  return one_line(last, most);
}

std::string error_text(const RawAnswer& answer, std::size_t most) {
  const std::string text = to_utf8(answer.err);
  return std::string(utf8_prefix(trimmed(text), most));
}

std::string first_line(std::string_view text, std::size_t most) {
  const std::string_view rest = trimmed(text);
  return one_line(rest.substr(0, rest.find('\n')), most);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string snake_case(std::string_view camel) {
  std::string out;
  for (const char c : camel) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) != 0) {
      if (!out.empty()) out += '_';
      out += static_cast<char>(std::tolower(byte));
    } else {
      out += c;
    }
  }
  return out;
}

std::string camel_case(std::string_view snake) {
  std::string out;
  for (std::size_t i = 0; i < snake.size(); ++i) {
    if (snake[i] == '_' && i + 1 < snake.size() && !out.empty())
      out += static_cast<char>(std::toupper(static_cast<unsigned char>(snake[++i])));
    else
      out += snake[i];
  }
  return out;
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) { return nearest(word, names); }

std::string one_of(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

std::string in_quotes(std::string_view name) { return "'" + one_line(name, kShownOutputBytes) + "'"; }

std::string_view type_name(JsonView value) {
  if (!value.exists() || value.is_null()) return "null";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a text";
  if (value.is_number()) return "a number";
  return "true or false";
}

std::uint32_t permission_of(std::string_view word) {
  if (word == "allow" || word == "approve") return AGENTD_PERMISSION_ALLOW;
  if (word == "deny" || word == "block") return AGENTD_PERMISSION_DENY;
  if (word == "defer") return AGENTD_PERMISSION_DEFER;
  return word == "ask" ? AGENTD_PERMISSION_ASK : 0;
}

std::string event_label(const HookDefinition& hook) {
  if (!hook.foreign_event.empty()) return hook.foreign_event;
  return std::string(foreign_event(hook.dialect, hook.event));
}

std::string_view tool_of(JsonView payload) { return payload["tool"]["name"].string_or(""); }
JsonView tool_input_of(JsonView payload) { return payload["tool"]["input"]; }

bool is_tool_event(std::uint32_t event) {
  return event == AGENTD_EVENT_BEFORE_TOOL_CALL || event == AGENTD_EVENT_PERMISSION_REQUEST ||
         event == AGENTD_EVENT_AFTER_TOOL_CALL || event == AGENTD_EVENT_TOOL_CALL_FAILED;
}

bool is_stop_event(std::uint32_t event) {
  return event == AGENTD_EVENT_AGENT_STOP || event == AGENTD_EVENT_SUBAGENT_STOP;
}

std::string default_block_reason(const HookDefinition& hook) {
  return "the hook " + hook.name + " blocked it and gave no reason";
}

bool has_edit_list(JsonView payload) {
  const JsonView input = tool_input_of(payload);
  if (tool_of(payload) != "edit_file" || !input["edits"].is_array()) return false;
  return !input["old_string"].exists() && !input["new_string"].exists() && !input["replace_all"].exists();
}

std::optional<std::uint32_t> strategy_of(std::string_view name) {
#define AGENTD_WHEN(NUMBER, word) \
  if (name == #word) return AGENTD_##NUMBER;
  AGENTD_STRATEGY_LIST(AGENTD_WHEN)
#undef AGENTD_WHEN
  return std::nullopt;
}

std::string merged_object(JsonView base, JsonView patch) {
  JsonWriter out;
  out.begin_object();
  for (std::size_t i = 0; i < base.size(); ++i)
    if (const std::string_view key = base.key_at(i); !patch[key].exists()) out.key(key).value(base.at(i));
  for (std::size_t i = 0; i < patch.size(); ++i) out.key(patch.key_at(i)).value(patch.at(i));
  out.end_object();
  return std::string(out.text());
}

Result<std::string> rewritten_input(Dialect dialect, JsonView payload, JsonView input, bool patch) {
  const std::string_view tool = tool_of(payload);
  if (!patch) return without_view(payload, canonical_input(dialect, tool, input));
  const auto seen = JsonDocument::parse(shown_input(dialect, payload));
  std::string merged = seen && seen->root().is_object() ? merged_object(seen->root(), input) : input.text();
  const auto whole = JsonDocument::parse(merged);
  return whole ? without_view(payload, canonical_input(dialect, tool, whole->root())) : std::move(merged);
}

}  // namespace agentd
