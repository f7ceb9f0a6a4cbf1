// SPDX-License-Identifier: Apache-2.0
#include "core/codec/json.h"

#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/writer.h>

#include "core/base/bytes.h"
#include "core/codec/json_compare.h"
#include "core/codec/json_mistake.h"

namespace agentd {
namespace {

using Value = rapidjson::Value;

const Value* as(const void* value) { return static_cast<const Value*>(value); }

bool hex4(std::string_view text, std::size_t at, unsigned& out) {
  if (at + 4 > text.size()) return false;
  out = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    out = out * 16 + static_cast<unsigned>(digit);
  }
  return true;
}

// The three bytes that UTF-8 would use for that code unit.
std::string half_bytes(unsigned unit) {
  return {static_cast<char>(0xE0 | (unit >> 12)), static_cast<char>(0x80 | ((unit >> 6) & 0x3F)),
          static_cast<char>(0x80 | (unit & 0x3F))};
}

// Replaces, or keeps as three bytes, each \uD800-\uDFFF escape without its other half.
std::string without_lone_surrogates(std::string_view text, JsonDocument::Halves halves) {
  std::string out(text);
  for (std::size_t at = 0; at + 6 <= out.size(); ++at) {
    if (out[at] != '\\') continue;
    if (out[at + 1] != 'u') {
      ++at;
      continue;
    }
    unsigned unit = 0;
    if (!hex4(out, at + 2, unit) || unit < 0xD800 || unit > 0xDFFF) continue;
    unsigned next = 0;
    const bool pair = unit < 0xDC00 && at + 12 <= out.size() && out[at + 6] == '\\' && out[at + 7] == 'u' &&
                      hex4(out, at + 8, next) && next >= 0xDC00 && next <= 0xDFFF;
    if (pair)
      at += 11;
    else if (halves == JsonDocument::Halves::kReplace)
      out.replace(at + 2, 4, "FFFD");
    else
      out.replace(at, 6, half_bytes(unit)), at += 2;
  }
  return out;
}

// kKeep leaves bytes that an encoding check refuses.
constexpr unsigned kUnchecked =
    rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;
constexpr unsigned kFlags = kUnchecked | rapidjson::kParseValidateEncodingFlag;
constexpr int kJsonDepthMax = 1000;

// RapidJSON turns a lone low surrogate into bytes that are not UTF-8.
bool names_surrogate(std::string_view text) {
  return text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos;
}

// Strings are unescaped in place, so that a long one is held once and not also in a stack and a pool.
using TextStream = rapidjson::InsituStringStream;

// RapidJSON reads a zero with a large exponent ("0e99") as an arbitrary number. `number` begins with that number: while
// it is read, the stream is in front of it.
double mend_zero(double value, std::string_view number) {
  number = number.substr(0, number.find_first_not_of("0123456789+-.eE"));
  if (number.substr(0, number.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos) return value;
  return number.starts_with('-') ? -0.0 : 0.0;
}

// Builds the document up to a depth that recursion can walk.
class DepthGuard {
 public:
  DepthGuard(rapidjson::Document& to, std::string_view text, TextStream& stream)
      : to_(to), text_(text), stream_(stream) {}
  bool Null() { return to_.Null(); }
  bool Bool(bool value) { return to_.Bool(value); }
  bool Int(int value) { return to_.Int(value); }
  bool Uint(unsigned value) { return to_.Uint(value); }
  bool Int64(std::int64_t value) { return to_.Int64(value); }
  bool Uint64(std::uint64_t value) { return to_.Uint64(value); }
  bool Double(double value) { return to_.Double(mend_zero(value, text_.substr(stream_.Tell()))); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool copy) { return to_.RawNumber(text, size, copy); }
  bool String(const char* text, rapidjson::SizeType size, bool copy) { return to_.String(text, size, copy); }
  bool Key(const char* text, rapidjson::SizeType size, bool copy) { return to_.Key(text, size, copy); }
  bool StartObject() { return ++depth_ <= kJsonDepthMax && to_.StartObject(); }
  bool StartArray() { return ++depth_ <= kJsonDepthMax && to_.StartArray(); }
  bool EndObject(rapidjson::SizeType members) { return --depth_ >= 0 && to_.EndObject(members); }
  bool EndArray(rapidjson::SizeType elements) { return --depth_ >= 0 && to_.EndArray(elements); }

 private:
  rapidjson::Document& to_;
  const std::string_view text_;
  TextStream& stream_;
  int depth_ = 0;
};

// RapidJSON's encoding check reads up to three bytes after the first byte of a character without checking for the end
// of the text; the string's own NUL is one of them.
constexpr std::size_t kTakenBehind = 2;

// The document borrows from `text`, which it changes.
template <unsigned kFlagsOfParse = kFlags>
rapidjson::ParseResult read_into(rapidjson::Document& document, std::string& text) {
  const std::size_t size = text.size();
  text.append(kTakenBehind, '\0');
  TextStream bytes(text.data());
  rapidjson::Reader reader;
  rapidjson::ParseResult result;
  auto generate = [&](rapidjson::Document& to) {
    DepthGuard guard(to, std::string_view(text).substr(0, size), bytes);
    result = reader.Parse<kFlagsOfParse>(bytes, guard);
    // The reader takes a NUL for the end of the text.
    if (!result.IsError() && bytes.Tell() != size)
      result.Set(rapidjson::kParseErrorDocumentRootNotSingular, bytes.Tell());
    return !result.IsError();
  };
  document.Populate(generate);
  return result;
}

std::string json_mistake(const rapidjson::ParseResult& result) {
  if (result.Code() == rapidjson::kParseErrorTermination)
    return "more than " + std::to_string(kJsonDepthMax) + " levels";
  return std::string(json_mistake_text(result.Code()));
}

}  // namespace

struct JsonDocument::State {
  std::string text;
  rapidjson::Document document;
};

bool JsonView::is_null() const { return value_ == nullptr || as(value_)->IsNull(); }
bool JsonView::is_object() const { return value_ != nullptr && as(value_)->IsObject(); }
bool JsonView::is_array() const { return value_ != nullptr && as(value_)->IsArray(); }
bool JsonView::is_string() const { return value_ != nullptr && as(value_)->IsString(); }
bool JsonView::is_number() const { return value_ != nullptr && as(value_)->IsNumber(); }
bool JsonView::is_bool() const { return value_ != nullptr && as(value_)->IsBool(); }

JsonView JsonView::operator[](std::string_view key) const {
  if (!is_object()) return {};
  const Value name(rapidjson::StringRef(key.data(), static_cast<rapidjson::SizeType>(key.size())));
  const auto found = as(value_)->FindMember(name);
  return found == as(value_)->MemberEnd() ? JsonView() : JsonView(&found->value);
}

std::size_t JsonView::size() const {
  if (is_array()) return as(value_)->Size();
  return is_object() ? as(value_)->MemberCount() : 0;
}

JsonView JsonView::at(std::size_t index) const {
  if (index >= size()) return {};
  const auto offset = static_cast<rapidjson::SizeType>(index);
  if (is_array()) return JsonView(&(*as(value_))[offset]);
  return JsonView(&(as(value_)->MemberBegin() + offset)->value);
}

std::string_view JsonView::key_at(std::size_t index) const {
  if (!is_object() || index >= size()) return {};
  return text_of((as(value_)->MemberBegin() + static_cast<rapidjson::SizeType>(index))->name);
}

std::string_view JsonView::string_or(std::string_view otherwise) const {
  return is_string() ? text_of(*as(value_)) : otherwise;
}
std::int64_t JsonView::int_or(std::int64_t otherwise) const {
  return value_ != nullptr && as(value_)->IsInt64() ? as(value_)->GetInt64() : otherwise;
}
std::uint64_t JsonView::uint_or(std::uint64_t otherwise) const {
  return value_ != nullptr && as(value_)->IsUint64() ? as(value_)->GetUint64() : otherwise;
}
double JsonView::number_or(double otherwise) const { return is_number() ? as(value_)->GetDouble() : otherwise; }
bool JsonView::bool_or(bool otherwise) const { return is_bool() ? as(value_)->GetBool() : otherwise; }

std::string JsonView::text() const {
  if (value_ == nullptr) return "null";
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  as(value_)->Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

JsonDocument::JsonDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;
JsonView JsonDocument::root() const { return JsonView(&state_->document); }

Result<JsonDocument> JsonDocument::parse(std::string_view text, Halves halves) {
  if (text.starts_with(kByteOrderMark))
    return Error{Code::kInvalid, "bad JSON at byte 0: it begins with a byte order mark"};
  auto state = std::make_unique<State>();
  state->text.reserve(text.size() + kTakenBehind);
  const bool unchecked = halves == Halves::kKeep && names_surrogate(text) && is_utf8(text);
  if (names_surrogate(text))
    state->text = without_lone_surrogates(text, unchecked ? halves : Halves::kReplace);
  else
    state->text = text;
  const auto result =
      unchecked ? read_into<kUnchecked>(state->document, state->text) : read_into(state->document, state->text);
  if (result.IsError())
    return Error{Code::kInvalid, "bad JSON at byte " + std::to_string(result.Offset()) + ": " + json_mistake(result)};
  return JsonDocument(std::move(state));
}

std::string json_line(std::string_view json) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto at = [&](std::size_t next) {
      return i + next < json.size() ? static_cast<unsigned char>(json[i + next]) : 0u;
    };
    const unsigned first = at(0), second = at(1), third = at(2);
    const bool c1 = first == 0xC2 && second >= 0x80 && second <= 0x9F;
    if (first == '\n' || first == '\r') {
      out += ' ';
    } else if (first == 0x7F || c1) {
      const unsigned code = c1 ? second : first;
      out.append("\\u00") += kDigits[code >> 4];
      out += kDigits[code & 15];
      i += c1 ? 1 : 0;
    } else if (first == 0xE2 && second == 0x80 && (third == 0xA8 || third == 0xA9)) {
      out += third == 0xA8 ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

struct JsonWriter::State {
  rapidjson::StringBuffer buffer;
  // Only one of the two writes; the pretty one derives from the plain one and hides its functions.
  rapidjson::Writer<rapidjson::StringBuffer> plain{buffer};
  rapidjson::PrettyWriter<rapidjson::StringBuffer> pretty{buffer};
  bool indent = false;

  template <typename Action>
  void with(Action action) {
    if (indent)
      action(pretty);
    else
      action(plain);
  }
};

JsonWriter::JsonWriter(Layout layout) : state_(std::make_unique<State>()) {
  state_->indent = layout == Layout::kPretty;
  state_->pretty.SetIndent(' ', 2);
}
JsonWriter::~JsonWriter() = default;

JsonWriter& JsonWriter::begin_object() {
  state_->with([](auto& out) { out.StartObject(); });
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  state_->with([](auto& out) { out.EndObject(); });
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  state_->with([](auto& out) { out.StartArray(); });
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  state_->with([](auto& out) { out.EndArray(); });
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  state_->with([&](auto& out) { out.Key(name.data(), static_cast<rapidjson::SizeType>(name.size())); });
  return *this;
}
JsonWriter& JsonWriter::string(std::string_view value) {
  if (!is_utf8(value)) return string(to_utf8(value));
  const char* const text = value.data() == nullptr ? "" : value.data();
  state_->with([&](auto& out) { out.String(text, static_cast<rapidjson::SizeType>(value.size())); });
  return *this;
}
JsonWriter& JsonWriter::number(std::int64_t value) {
  state_->with([&](auto& out) { out.Int64(value); });
  return *this;
}
JsonWriter& JsonWriter::number(std::uint64_t value) {
  state_->with([&](auto& out) { out.Uint64(value); });
  return *this;
}
JsonWriter& JsonWriter::real(double value) {
  state_->with([&](auto& out) { out.Double(value); });
  return *this;
}
JsonWriter& JsonWriter::boolean(bool value) {
  state_->with([&](auto& out) { out.Bool(value); });
  return *this;
}
JsonWriter& JsonWriter::null() {
  state_->with([](auto& out) { out.Null(); });
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  state_->with([&](auto& out) { out.RawValue(json.data(), json.size(), rapidjson::kObjectType); });
  return *this;
}
JsonWriter& JsonWriter::value(JsonView value) {
  if (!value.exists()) return null();
  state_->with([&](auto& out) { as(value.value_)->Accept(out); });
  return *this;
}
std::string_view JsonWriter::text() const { return {state_->buffer.GetString(), state_->buffer.GetSize()}; }

}  // namespace agentd
