// SPDX-License-Identifier: Apache-2.0
// contract_pages.cc - the contract as text for a terminal, as JSON and as the reference page.
#include <algorithm>

#include "core/codec/json.h"
#include "core/hooks/contract.h"

namespace agentd {
namespace {

constexpr std::size_t kColumns = 100;

// ---- text

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.append(out.size() < width ? width - out.size() : 1, ' ');
  return out;
}

// The text after `start`, broken between words; later lines begin with `indent` spaces.
std::string wrapped(std::string start, std::string_view text, std::size_t indent) {
  std::string out, line = std::move(start);
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!fresh && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line.assign(indent, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + "\n";
}

std::string fact(std::string_view name, std::string_view text) { return wrapped("  " + padded(name, 10), text, 12); }

std::string meaning_of(const ContractKey& key) {
  std::string text = key.type;
  if (!key.unit.empty()) text += " (" + std::string(key.unit) + ")";
  if (!key.meaning.empty()) text += ": " + std::string(key.meaning);
  return text;
}

std::string keys_text(const std::vector<ContractKey>& keys) {
  std::size_t width = 0;
  for (const ContractKey& key : keys) width = std::max(width, key.path.size() + 2);
  std::string text;
  for (const ContractKey& key : keys) text += wrapped("    " + padded(key.path, width), meaning_of(key), width + 4);
  return text;
}

std::string answers_text(const EventTraits& event) {
  std::string text;
  for (const ContractAnswer& answer : contract_answers(event)) {
    text += wrapped("    " + padded(answer.name, 16), answer.does, 20);
    text += wrapped(std::string(20, ' ') + "in JSON: ", answer.answer, 29);
    text += wrapped(std::string(20, ' ') + "of several: ", answer.merge, 32);
  }
  return text;
}

std::string event_text(const EventTraits& event) {
  std::string text = std::string(event.name) + "\n";
  text += fact("fires", event.fires);
  text += fact("carries", event.carries);
  text += fact("blocking", contract_blocking(event));
  text += fact("failure", contract_failure(event));
  const std::string rewrites = contract_rewrites(event);
  text += fact("rewrites", rewrites.empty() ? "nothing" : rewrites);
  const std::string answers = answers_text(event);
  text += answers.empty() ? fact("answers", "none: hooks only observe") : "  answers\n" + answers;
  const std::vector<ContractKey> keys = contract_keys(event.id);
  return text + (keys.empty() ? fact("keys", "only those of the envelope")
                              : "  keys, in addition to the envelope's\n" + keys_text(keys));
}

std::string answer_names(const EventTraits& event) {
  std::string text;
  for (const ContractAnswer& answer : contract_answers(event))
    text.append(text.empty() ? "" : ", ").append(answer.name);
  return text;
}

std::string overview_text() {
  std::string text = "Events, and what a hook may answer\n";
  for (const EventTraits& event : all_events()) {
    const std::string names = answer_names(event);
    text += wrapped("  " + padded(event.name, 20) +
                        padded(event.blocking    ? "blocks"
                               : event.continues ? "continues"
                                                 : "-",
                               11),
                    names.empty() ? "-" : names, 33);
  }
  text += "\nEvery event has these keys\n" + keys_text(contract_keys(envelope_table(), 0));
  text += "  and a program or a server also gets, below \"" + std::string(kHookKey) + "\",\n" +
          keys_text(contract_keys(hook_table(), 0));
  for (const PayloadTable* const table : shared_objects())
    text += "\n`" + std::string(table->name) + "`\n" + keys_text(contract_keys(*table, 0));
  return text + "\n'agentd hooks contract EVENT' shows one event in detail.\n";
}

// ---- JSON

void keys_json(JsonWriter& out, std::string_view name, const std::vector<ContractKey>& keys) {
  out.key(name).begin_array();
  for (const ContractKey& key : keys) {
    out.begin_object().member("key", key.path).member("type", key.type);
    out.optional("unit", key.unit).optional("meaning", key.meaning);
    if (key.rewritten) out.member("rewritten", true);
    out.end_object();
  }
  out.end_array();
}

void event_json(JsonWriter& out, const EventTraits& event) {
  out.begin_object().member("event", event.name).member("id", event.id);
  out.member("fires", event.fires).member("carries", event.carries);
  out.member("blocking", event.blocking).member("continues", event.continues);
  out.member("fails_closed", fails_closed(event));
  out.member("failure", contract_failure(event));
  const std::string rewrites = contract_rewrites(event);
  out.key("rewrites");
  if (rewrites.empty())
    out.null();
  else
    out.string(rewrites);
  out.key("answers").begin_array();
  for (const ContractAnswer& answer : contract_answers(event)) {
    out.begin_object().member("name", answer.name).optional("answer", answer.answer);
    out.member("does", answer.does).member("merge", answer.merge).end_object();
  }
  out.end_array();
  keys_json(out, "keys", contract_keys(event.id));
  out.key("example").raw(sample_payload(event.id));
  out.end_object();
}

void overview_json(JsonWriter& out) {
  out.begin_object();
  keys_json(out, "envelope", contract_keys(envelope_table(), 0));
  keys_json(out, kHookKey, contract_keys(hook_table(), 0));
  out.key("objects").begin_object();
  for (const PayloadTable* const table : shared_objects()) keys_json(out, table->name, contract_keys(*table, 0));
  out.end_object().key("events").begin_array();
  for (const EventTraits& event : all_events()) event_json(out, event);
  out.end_array().end_object();
}

// ---- the reference page

// Escapes text for a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '|' ? "\\" : "").push_back(c);
  return out;
}

std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out + ".";
}

// Names of shared objects become links.
std::string linked(std::string_view type) {
  std::string out = cell(type);
  for (const PayloadTable* const table : shared_objects()) {
    const std::string name = "`" + std::string(table->name) + "`";
    const std::size_t at = out.find(name);
    if (at != std::string::npos) out.replace(at, name.size(), "[" + name + "](#" + std::string(table->name) + ")");
  }
  return out;
}

std::string keys_page(const std::vector<ContractKey>& keys) {
  std::string page = "| key | type | unit | meaning |\n|---|---|---|---|\n";
  for (const ContractKey& key : keys) {
    page += "| `" + key.path + "` | " + linked(key.type) + " | " + cell(key.unit) + " | " + cell(key.meaning);
    page += std::string(key.rewritten ? ". **An answer may replace it.**" : "") + " |\n";
  }
  return page;
}

// One member per line: shorter than pretty-printing, and still readable.
std::string example_page(std::uint32_t event) {
  const auto sample = JsonDocument::parse(sample_payload(event));
  const JsonView root = sample->root();
  std::string page = "```json\n{\n";
  for (std::size_t i = 0; i < root.size(); ++i)
    page += "  \"" + std::string(root.key_at(i)) + "\": " + root.at(i).text() + (i + 1 < root.size() ? ",\n" : "\n");
  return page + "}\n```\n";
}

std::string answers_page(const EventTraits& event) {
  const std::vector<ContractAnswer> answers = contract_answers(event);
  if (answers.empty()) return "A hook cannot answer: it only observes.\n";
  std::string page = "| answer | in JSON | effect | several hooks |\n|---|---|---|---|\n";
  for (const ContractAnswer& answer : answers)
    page += "| " + std::string(answer.name) + " | " + cell(answer.answer) + " | " + cell(answer.does) + " | " +
            cell(answer.merge) + " |\n";
  return page;
}

std::string event_page(const EventTraits& event) {
  std::string page = "## " + std::string(event.name) + "\n\n" + sentence(event.fires) + "\n\n";
  page += "- Blocking: " + std::string(contract_blocking(event)) + ".\n";
  page += "- Failure: " + contract_failure(event) + ".\n\n";
  page += answers_page(event) + "\n";
  const std::vector<ContractKey> keys = contract_keys(event.id);
  page += keys.empty() ? "It has only the keys of the envelope.\n" : keys_page(keys);
  return page + "\n" + example_page(event.id);
}

constexpr std::string_view kPageHead = R"(# The events, and their JSON

This page is printed from the tables that the program itself reads (`AGENTD_EVENT_ROWS` of
`plugin-api/include/agentd/hook_events.h`, `core/hooks/payload_fields.cc`); a test compares the
two. The same is printed by `agentd hooks contract [EVENT]`.

An executable gets the object on standard input, a webhook as the body of its request, an
expression of a YAML hook as its paths, and a native hook from `agentd.json/1` in addition to its
record in `hook_events.h`. Each is one line of JSON. Keys may be added; a hook must ignore unknown
ones. `unknown` is a value that has no name here.

How answers merge: hooks are called one after another, by falling priority; observers come last, and
their answers are ignored. A missing answer never undoes another hook's answer. The column
*several hooks* shows what happens if more than one hook answers.

)";

}  // namespace

std::string contract_text(std::uint32_t event) {
  if (event == 0) return overview_text();
  const EventTraits* const traits = find_event(event);
  return traits == nullptr ? std::string() : event_text(*traits);
}

std::string contract_json(std::uint32_t event) {
  const EventTraits* const traits = find_event(event);
  if (event != 0 && traits == nullptr) return {};
  JsonWriter out;
  if (traits == nullptr)
    overview_json(out);
  else
    event_json(out, *traits);
  return std::string(out.text());
}

std::string events_reference() {
  std::string page(kPageHead);
  page += "Events:";
  for (const EventTraits& event : all_events())
    page += (event.id == all_events().front().id ? " [" : ", [") + std::string(event.name) + "](#" +
            std::string(event.name) + ")";
  page += ".\n\n## The envelope\n\nEvery event has these keys, before its own.\n\n";
  page += keys_page(contract_keys(envelope_table(), 0));
  page += "\nThe object for a program or a server has `" + std::string(kHookKey) + "` as its last key:\n\n" +
          keys_page(contract_keys(hook_table(), 0));
  page += "\n## Objects shared by several events\n";
  for (const PayloadTable* const table : shared_objects())
    page += "\n### " + std::string(table->name) + "\n\n" + keys_page(contract_keys(*table, 0));
  for (const EventTraits& event : all_events()) page += "\n" + event_page(event);
  return page;
}

}  // namespace agentd
