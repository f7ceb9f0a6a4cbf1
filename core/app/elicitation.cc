// SPDX-License-Identifier: Apache-2.0
// elicitation.cc - the person at the terminal gives values to an MCP server that asks for them.
#include <charconv>
#include <cmath>

#include "core/app/approver.h"
#include "core/app/keyboard.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/neutral.h"
#include "core/codec/json.h"
#include "core/config/config_keys.h"
#include "core/tools/form_values.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownQuestionBytes = 2'000, kFormLineBytes = 200;
constexpr int kTriesMax = 10;

using Ask = std::function<Result<std::string>(const std::string& body, const std::string& prompt)>;

// " [a, b, c] (from 1 to 9)": what a property may be; empty = anything of its type.
std::string room_of(JsonView property) {
  const bool list = property["type"].string_or("") == "array";
  const JsonView choices = form_choices(list ? property["items"] : property);
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i)
    out += (out.empty() ? "" : ", ") + neutral_line(form_choice(choices.at(i)), kFormLineBytes);
  if (!out.empty()) out = " [" + out + "]";
  if (list) out += out.empty() ? "" : ", with commas";
  if (const std::string limits = form_limits(property); !limits.empty()) out += ", " + limits;
  return out;
}

// The typed text as a value of the property's type, in JSON; where it is none of that type, as the text.
std::string value_of(JsonView property, const std::string& text) {
  const std::string_view type = property["type"].string_or("string");
  const char* const end = text.data() + text.size();
  JsonWriter out;
  if (type == "boolean") {
    const std::string low = ascii_lower(text);
    const bool yes = low == "y" || low == "yes" || low == "true", no = low == "n" || low == "no" || low == "false";
    if (yes || no) return yes ? "true" : "false";
  } else if (type == "integer") {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end) return std::to_string(value);
  } else if (type == "number") {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && std::isfinite(value)) return std::string(out.real(value).text());
  } else if (type == "array") {
    out.begin_array();
    for (const std::string& each : split(text, ',')) out.string(without_blanks(each));
    return std::string(out.end_array().text());
  }
  return std::string(out.string(text).text());
}

// Writes the typed text as the property's value. A sentence when it is none; empty = written.
std::string write_value(JsonWriter& out, const std::string& name, JsonView property, const std::string& text) {
  const std::string value = value_of(property, text);
  const auto document = JsonDocument::parse(value);
  const std::string unmet = document ? form_value_unmet(property, document->root()) : "another text";
  if (property["type"].string_or("") == "boolean" && !unmet.empty()) return "Please answer yes or no.";
  if (property["type"].string_or("") == "integer" && unmet == "a number") return "Please give a whole number.";
  if (!unmet.empty()) return "Please give " + neutral_line(unmet, kShownQuestionBytes) + ".";
  out.key(name).raw(value);
  return {};
}

bool is_required(JsonView schema, std::string_view name) {
  const JsonView required = schema["required"];
  for (std::size_t i = 0; i < required.size(); ++i)
    if (required.at(i).string_or("") == name) return true;
  return false;
}

// nullopt: the person gave no more answers.
std::optional<std::string> fill(JsonView schema, const Ask& ask) {
  JsonWriter out;
  out.begin_object();
  const JsonView properties = schema["properties"];
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const std::string name(properties.key_at(i));
    const JsonView property = properties.at(i);
    const bool required = is_required(schema, name);
    std::string body = neutral_line(property["description"].string_or(""), kShownQuestionBytes);
    if (!body.empty()) body += "\n";
    const std::string prompt = neutral_line(property["title"].string_or(name), kFormLineBytes) + room_of(property) +
                               (required ? ": " : " (Enter: none): ");
    for (int tries = 0;; ++tries) {
      const auto line = ask(body, prompt);
      if (!line || tries == kTriesMax) return std::nullopt;
      if (line->empty() && !required) break;
      const std::string wrong = line->empty() ? "A value is required." : write_value(out, name, property, *line);
      if (wrong.empty()) break;
      body = wrong + "\n";
    }
  }
  out.end_object();
  return std::string(out.text());
}

}  // namespace

ElicitationAnswer TerminalApprover::elicit(const Elicitation& question, const CancelToken& cancel, Deadline) {
  const MutexLock one_at_a_time(asking_);
  if (unheard_.contains(question.server)) return {ElicitationAnswer::Kind::kDeclined};
  if (place_.before) place_.before();
  const int terminal = place_.terminal.get();
  const auto write = [&](std::string_view text) { return write_all(terminal, text).has_value(); };
  const QuestionPlace place{terminal, write, place_.pastes, place_.keep,
                            [&] { return cancel.cancelled() || (place_.withdrawn && place_.withdrawn()); }};
  const Ask ask = [&](const std::string& body, const std::string& prompt) { return ask_person(place, body, prompt); };
  const auto shown = [](const std::string& text, std::size_t most) { return neutral_line(visible(text), most); };
  std::string body = "The MCP server " + shown(question.server, kFormLineBytes) +
                     " asks you during a call of its tool " + shown(question.tool, kFormLineBytes) +
                     ", and gets your answer:\n  " + shown(question.message, kShownQuestionBytes) + "\n";
  if (!question.url.empty()) body += "  at " + shown(question.url, kShownQuestionBytes) + "\n";
  ElicitationAnswer out;
  const auto agreed = ask(body, std::string(question.url.empty() ? "Answer it?" : "Was it done there?") +
                                    " [y]es, [n]o, [d]ecline all of this server in this session: ");
  if (agreed) {
    out.kind = ElicitationAnswer::Kind::kDeclined;
    const std::string word = ascii_lower(std::string(without_blanks(*agreed)));
    if (word == "d" || word == "decline") unheard_.insert(question.server);
    const auto schema = JsonDocument::parse(question.schema_json.empty() ? "{}" : question.schema_json);
    if (parse_answer(*agreed).kind == Answer::Kind::kYes && schema) {
      const auto values = fill(schema->root(), ask);
      out.kind = values ? ElicitationAnswer::Kind::kAccepted : ElicitationAnswer::Kind::kCancelled;
      out.values_json = values.value_or("");
    }
  }
  if (place_.after) place_.after();
  return out;
}

}  // namespace agentd::app
