// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/memory.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/bytes.h"

namespace session_memory {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonDocument;
using agentd::JsonView;
using agentd::JsonWriter;
using agentd::Result;

constexpr std::size_t kFileStemBytesMax = 48, kIdTailBytes = 6;

std::string cut(std::string_view text, std::size_t bytes_max) {
  return std::string(agentd::utf8_prefix(agentd::to_utf8(text), bytes_max));
}

// One line: a title, subject or tag.
std::string line_of(std::string_view text, std::size_t bytes_max) {
  std::string out;
  for (const char each : agentd::to_utf8(text)) {
    const bool blank = static_cast<unsigned char>(each) <= ' ' || each == '\x7f';
    if (!blank)
      out += each;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  out = cut(out, bytes_max);
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::vector<std::string> fitted_tags(const std::vector<std::string>& tags) {
  std::vector<std::string> out;
  for (const std::string& each : tags) {
    std::string tag = line_of(each, Memory::kTagBytesMax);
    if (tag.empty() || out.size() == Memory::kTagsMax || std::find(out.begin(), out.end(), tag) != out.end()) continue;
    out.push_back(std::move(tag));
  }
  return out;
}

Result<void> check_sizes(const Memory& memory) {
  const auto too_long = [](std::string_view name, std::size_t bytes, std::size_t most) {
    return Error{Code::kInvalid, std::string(name) + " has " + std::to_string(bytes) + " bytes, more than " +
                                     std::to_string(most) + ": shorten it"};
  };
  if (memory.title.size() > Memory::kTitleBytesMax)
    return too_long("title", memory.title.size(), Memory::kTitleBytesMax);
  if (memory.content.size() > Memory::kContentBytesMax)
    return too_long("content", memory.content.size(), Memory::kContentBytesMax);
  if (memory.subject.size() > Memory::kSubjectBytesMax)
    return too_long("subject", memory.subject.size(), Memory::kSubjectBytesMax);
  if (memory.tags.size() > Memory::kTagsMax)
    return Error{Code::kInvalid, "there are " + std::to_string(memory.tags.size()) + " tags, more than " +
                                     std::to_string(Memory::kTagsMax) + ": omit some"};
  for (const std::string& tag : memory.tags)
    if (tag.size() > Memory::kTagBytesMax) return too_long("a tag", tag.size(), Memory::kTagBytesMax);
  return {};
}

Result<std::vector<std::string>> texts_of(JsonView from, std::string_view name) {
  std::vector<std::string> out;
  if (from.is_null()) return out;
  if (!from.is_array()) return wrong(name, "a list of texts");
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!from.at(i).is_string()) return wrong(name, "a list of texts");
    out.emplace_back(from.at(i).string_or(""));
  }
  return out;
}

Result<std::string> text_member(JsonView from, std::string_view name, std::string_view otherwise) {
  const JsonView found = from[name];
  if (found.is_null()) return std::string(otherwise);
  if (!found.is_string()) return wrong(name, "a text");
  return std::string(found.string_or(""));
}

Result<double> confidence_member(JsonView from, double otherwise) {
  const JsonView found = from["confidence"];
  if (found.is_null()) return otherwise;
  const double value = found.number_or(-1);
  if (!found.is_number() || !(value >= 0 && value <= 1)) return wrong("confidence", "a number from 0 to 1");
  return value;
}

Result<std::vector<Provenance>> provenance_member(JsonView from) {
  std::vector<Provenance> out;
  const JsonView list = from["provenance"];
  if (list.is_null()) return out;
  if (!list.is_array()) return wrong("provenance", "a list of {conversation, seq}");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonView each = list.at(i);
    if (each.is_string()) {
      out.push_back(provenance_of(each.string_or("")));
      continue;
    }
    if (!each.is_object()) return wrong("provenance", "a list of {conversation, seq}");
    out.push_back(
        {std::string(each["conversation"].string_or("")), each["seq"].uint_or(0), each["through"].uint_or(0)});
  }
  return out;
}

// Reads the members that a person may edit.
Result<void> read_edited(Memory& out, JsonView from) {
  AGENTD_TRY(out.title, text_member(from, "title", out.title));
  AGENTD_TRY(out.content, text_member(from, "content", out.content));
  AGENTD_TRY(out.subject, text_member(from, "subject", out.subject));
  AGENTD_TRY(out.superseded_by, text_member(from, "superseded_by", out.superseded_by));
  AGENTD_TRY(out.confidence, confidence_member(from, out.confidence));
  AGENTD_TRY(const std::string polarity, text_member(from, "polarity", name_of(out.polarity)));
  AGENTD_TRY(out.polarity, polarity_of(polarity));
  AGENTD_TRY(const std::string outcome, text_member(from, "outcome", name_of(out.outcome)));
  AGENTD_TRY(out.outcome, outcome_of(outcome));
  if (from["tags"].is_null()) return {};
  AGENTD_TRY(out.tags, texts_of(from["tags"], "tags"));
  return {};
}

// ---- Markdown

// A text that reads the same without quotes.
bool is_plain(std::string_view text) {
  if (text.empty() || text != trimmed(text)) return false;
  if (text == "true" || text == "false" || text == "null" || text.find(": ") != std::string_view::npos) return false;
  if (text.find(" #") != std::string_view::npos || text.ends_with(':')) return false;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; };
  return is_word(text.front()) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '"' || c == '\\';
         });
}

std::string json_text(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return std::string(out.text());
}

void put_text(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out += std::string(name) + ": " + (is_plain(value) ? std::string(value) : json_text(value)) + "\n";
}

void put_list(std::string& out, std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  out += std::string(name) + ": [";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ", ") + json_text(values[i]);
  out += "]\n";
}

template <typename Number>
void put_number(std::string& out, std::string_view name, Number value) {
  if (value == 0) return;
  out += std::string(name) + ": " + std::to_string(value) + "\n";
}

// "[a, b]" as a person writes it: without quotes.
std::vector<std::string> loose_list(std::string_view text) {
  std::vector<std::string> out;
  if (text.starts_with('[')) text.remove_prefix(1);
  if (text.ends_with(']')) text.remove_suffix(1);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view one = trimmed(text.substr(0, comma));
    if (one.size() >= 2 && (one.front() == '"' || one.front() == '\'') && one.back() == one.front())
      one = one.substr(1, one.size() - 2);
    if (!one.empty()) out.emplace_back(one);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return out;
}

// A line's value as JSON: as it is, or as the text or list that a person wrote.
std::string value_json(std::string_view name, std::string_view text) {
  if (name == "tags" || name == "provenance") {
    if (text.starts_with('[') && JsonDocument::parse(text)) return std::string(text);
    JsonWriter out;
    out.begin_array();
    for (const std::string& each : loose_list(text)) out.string(each);
    out.end_array();
    return std::string(out.text());
  }
  const bool number = name == "confidence" || name == "uses" || name == "helpful" || name == "unhelpful" ||
                      name == "created_ms" || name == "used_ms";
  if ((number || text.starts_with('"')) && JsonDocument::parse(text)) return std::string(text);
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') text = text.substr(1, text.size() - 2);
  return json_text(text);
}

constexpr std::string_view kHeadNames[] = {"id",         "title",      "subject",       "polarity",   "outcome",
                                           "tags",       "confidence", "uses",          "helpful",    "unhelpful",
                                           "created_ms", "used_ms",    "superseded_by", "provenance", "origin"};

Error at_line(std::string_view name, std::size_t line, std::string_view what) {
  return {Code::kInvalid, std::string(name) + ":" + std::to_string(line) + ": " + std::string(what)};
}

// The head's lines as a JSON object.
Result<std::string> head_json(std::string_view head, std::string_view file) {
  JsonWriter out;
  out.begin_object();
  std::vector<std::string_view> seen;
  for (std::size_t line = 2; !head.empty(); ++line) {
    const std::size_t end = head.find('\n');
    const std::string_view text = trimmed(head.substr(0, end));
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
    if (text.empty() || text.starts_with('#')) continue;
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return at_line(file, line, "a line of the front matter is NAME: VALUE");
    const std::string_view name = trimmed(text.substr(0, colon)), value = trimmed(text.substr(colon + 1));
    if (std::find(std::begin(kHeadNames), std::end(kHeadNames), name) == std::end(kHeadNames))
      return at_line(file, line, "unknown name '" + std::string(name) + "'");
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return at_line(file, line, "'" + std::string(name) + "' is repeated");
    seen.push_back(name);
    if (!value.empty()) out.key(name).raw(value_json(name, value));
  }
  out.end_object();
  return std::string(out.text());
}

std::string_view file_stem(std::string_view name) {
  name = name.substr(name.find_last_of('/') + 1);
  return name.ends_with(".md") ? name.substr(0, name.size() - 3) : name;
}

Memory plain_memory(std::string_view text, std::string_view name) {
  Memory out;
  out.origin = Origin::kImported;
  out.title = std::string(file_stem(name));
  const std::string_view first = trimmed(text);
  if (first.starts_with("# ")) out.title = std::string(trimmed(first.substr(2, first.find('\n') - 2)));
  out.content = std::string(trimmed(text));
  return out;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

Error wrong(std::string_view name, std::string_view must) {
  return {Code::kInvalid, std::string(name) + " must be " + std::string(must)};
}

std::string_view name_of(Polarity value) { return value == Polarity::kDo ? "do" : "avoid"; }

std::string_view name_of(Outcome value) {
  switch (value) {
    case Outcome::kSuccess:
      return "success";
    case Outcome::kFailure:
      return "failure";
    case Outcome::kPartial:
      return "partial";
  }
  return "success";
}

std::string_view name_of(Origin value) {
  switch (value) {
    case Origin::kDistilled:
      return "distilled";
    case Origin::kRecorded:
      return "recorded";
    case Origin::kImported:
      return "imported";
    case Origin::kDocument:
      return "document";
  }
  return "recorded";
}

Result<Polarity> polarity_of(std::string_view text) {
  if (text == "do") return Polarity::kDo;
  if (text == "avoid") return Polarity::kAvoid;
  return wrong("polarity", "do or avoid");
}

Result<Outcome> outcome_of(std::string_view text) {
  for (const Outcome each : {Outcome::kSuccess, Outcome::kFailure, Outcome::kPartial})
    if (name_of(each) == text) return each;
  return wrong("outcome", "success, failure or partial");
}

Result<Origin> origin_of(std::string_view text) {
  for (const Origin each : {Origin::kDistilled, Origin::kRecorded, Origin::kImported, Origin::kDocument})
    if (name_of(each) == text) return each;
  return wrong("origin", "distilled, recorded, imported or document");
}

bool Provenance::covers(std::string_view id, std::uint64_t at) const {
  if (conversation != id) return false;
  return (seq == 0 && through == 0) || at == seq || (at > seq && at <= through);
}

bool Memory::comes_from(std::string_view conversation, std::uint64_t seq) const {
  return std::any_of(provenance.begin(), provenance.end(),
                     [&](const Provenance& each) { return each.covers(conversation, seq); });
}

Memory fitted(Memory memory) {
  memory.title = line_of(memory.title, Memory::kTitleBytesMax);
  memory.subject = line_of(memory.subject, Memory::kSubjectBytesMax);
  memory.project = cut(memory.project, Memory::kProjectBytesMax);
  memory.content = cut(memory.content, Memory::kContentBytesMax);
  memory.tags = fitted_tags(memory.tags);
  memory.confidence = std::isfinite(memory.confidence) ? std::clamp(memory.confidence, 0.0, 1.0) : 0;
  if (memory.provenance.size() > Memory::kSourcesMax) memory.provenance.resize(Memory::kSourcesMax);
  return memory;
}

void write(JsonWriter& out, const Memory& memory) {
  out.begin_object().member("id", memory.id).optional("project_id", memory.project);
  out.member("title", memory.title).member("content", memory.content).optional("subject", memory.subject);
  out.member("polarity", name_of(memory.polarity)).member("outcome", name_of(memory.outcome));
  out.key("tags").begin_array();
  for (const std::string& tag : memory.tags) out.string(tag);
  out.end_array();
  out.key("confidence").real(memory.confidence);
  out.member("uses", memory.uses).member("helpful", memory.helpful).member("unhelpful", memory.unhelpful);
  out.member("created_ms", memory.created_ms).member("used_ms", memory.used_ms);
  out.optional("superseded_by", memory.superseded_by);
  out.key("provenance").begin_array();
  for (const Provenance& each : memory.provenance) {
    out.begin_object().member("conversation", each.conversation).member("seq", each.seq);
    if (each.through != 0) out.member("through", each.through);
    out.end_object();
  }
  out.end_array();
  out.member("origin", name_of(memory.origin)).end_object();
}

std::string json_of(const Memory& memory) {
  JsonWriter out;
  write(out, memory);
  return std::string(out.text());
}

Result<Memory> memory_of(JsonView from) {
  if (!from.is_object()) return wrong("a memory", "an object");
  Memory out;
  AGENTD_TRY(out.id, text_member(from, "id", ""));
  AGENTD_TRY(out.project, text_member(from, "project_id", ""));
  AGENTD_TRY_VOID(read_edited(out, from));
  for (const std::string_view name : {"uses", "helpful", "unhelpful", "created_ms", "used_ms"})
    if (const JsonView found = from[name]; !found.is_null() && found.int_or(-1) < 0)
      return wrong(name, "an integer that is not negative");
  out.uses = from["uses"].uint_or(0);
  out.helpful = from["helpful"].uint_or(0);
  out.unhelpful = from["unhelpful"].uint_or(0);
  out.created_ms = from["created_ms"].int_or(0);
  out.used_ms = from["used_ms"].int_or(0);
  AGENTD_TRY(out.provenance, provenance_member(from));
  AGENTD_TRY(const std::string origin, text_member(from, "origin", name_of(out.origin)));
  AGENTD_TRY(out.origin, origin_of(origin));
  AGENTD_TRY_VOID(check_sizes(out));
  return fitted(std::move(out));
}

Result<void> edit(Memory& memory, JsonView fields) {
  constexpr std::string_view kNames[] = {"title",   "content", "subject",    "polarity",
                                         "outcome", "tags",    "confidence", "superseded_by"};
  if (!fields.is_object()) return wrong("fields", "an object");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = fields.key_at(i);
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
      return Error{Code::kInvalid, std::string(name) +
                                       " cannot be edited: title, content, subject, polarity, outcome, tags, "
                                       "confidence and superseded_by can"};
  }
  AGENTD_TRY_VOID(read_edited(memory, fields));
  AGENTD_TRY_VOID(check_sizes(memory));
  memory = fitted(std::move(memory));
  return {};
}

std::string text_of(const Provenance& source) {
  std::string out = source.conversation;
  if (source.seq == 0 && source.through == 0) return out;
  out += "#" + std::to_string(source.seq);
  return source.through == 0 ? out : out + "-" + std::to_string(source.through);
}

Provenance provenance_of(std::string_view text) {
  Provenance out;
  const std::size_t mark = text.rfind('#');
  if (mark == std::string_view::npos) return {std::string(text), 0, 0};
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data() + mark + 1, end, out.seq);
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
    read = std::from_chars(read.ptr + 1, end, out.through);
  if (read.ec != std::errc() || read.ptr != end) return {std::string(text), 0, 0};
  out.conversation = std::string(text.substr(0, mark));
  return out;
}

std::string markdown_of(const Memory& memory) {
  std::string out = "---\n";
  put_text(out, "id", memory.id);
  put_text(out, "title", memory.title);
  put_text(out, "subject", memory.subject);
  put_text(out, "polarity", name_of(memory.polarity));
  put_text(out, "outcome", name_of(memory.outcome));
  put_list(out, "tags", memory.tags);
  JsonWriter confidence;
  confidence.real(memory.confidence);
  out += "confidence: " + std::string(confidence.text()) + "\n";
  put_number(out, "uses", memory.uses);
  put_number(out, "helpful", memory.helpful);
  put_number(out, "unhelpful", memory.unhelpful);
  put_number(out, "created_ms", memory.created_ms);
  put_number(out, "used_ms", memory.used_ms);
  put_text(out, "superseded_by", memory.superseded_by);
  std::vector<std::string> sources;
  for (const Provenance& each : memory.provenance) sources.push_back(text_of(each));
  put_list(out, "provenance", sources);
  put_text(out, "origin", name_of(memory.origin));
  return out + "---\n" + memory.content + "\n";
}

Result<Memory> memory_from_markdown(std::string_view text, std::string_view name) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return at_line(name, 1, "the file has no text");
  if (text.find('\0') != std::string_view::npos || agentd::to_utf8(text) != text)
    return at_line(name, 1, "the file is not text in UTF-8");
  if (text.size() > 4 * Memory::kContentBytesMax)
    return at_line(name, 1, "longer than a memory can be; add it with 'agentd memory add', as a document");
  if (!text.starts_with("---\n") && !text.starts_with("---\r\n")) {
    Memory plain = plain_memory(text, name);
    if (plain.content.size() > Memory::kContentBytesMax)
      return at_line(name, 1, "longer than a memory can be; add it with 'agentd memory add', as a document");
    return fitted(std::move(plain));
  }
  const std::string_view rest = text.substr(text.find('\n') + 1);
  std::size_t end = rest.starts_with("---") ? 0 : rest.find("\n---");
  if (end == std::string_view::npos) return at_line(name, 1, "the front matter has no closing line of ---");
  if (!rest.starts_with("---")) ++end;
  AGENTD_TRY(const std::string json, head_json(rest.substr(0, end), name));
  const auto head = JsonDocument::parse(json);
  if (!head) return at_line(name, 1, head.error().message);
  auto out = memory_of(head->root());
  if (!out) return at_line(name, 1, out.error().message);
  if (head->root()["origin"].is_null()) out->origin = Origin::kImported;
  const std::size_t line_end = rest.find('\n', end);
  std::string_view body = line_end == std::string_view::npos ? std::string_view() : rest.substr(line_end + 1);
  if (body.ends_with('\n')) body.remove_suffix(1);
  out->content = std::string(body);
  if (const auto fits = check_sizes(*out); !fits) return at_line(name, 1, fits.error().message);
  if (out->title.empty()) out->title = std::string(file_stem(name));
  return fitted(std::move(*out));
}

std::string file_name_of(const Memory& memory) {
  std::string stem;
  for (const char each : memory.title) {
    const char lower = each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each;
    const bool word = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || (lower & 0x80) != 0;
    if (word)
      stem += lower;
    else if (!stem.empty() && stem.back() != '-')
      stem += '-';
  }
  stem = std::string(agentd::utf8_prefix(stem, kFileStemBytesMax));
  while (stem.ends_with('-')) stem.pop_back();
  const std::size_t tail = memory.id.size() > kIdTailBytes ? memory.id.size() - kIdTailBytes : 0;
  return (stem.empty() ? "memory" : stem) + "-" + memory.id.substr(tail) + ".md";
}

}  // namespace session_memory
