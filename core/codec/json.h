// SPDX-License-Identifier: Apache-2.0
#pragma once
// json.h - reading and writing JSON. canonical_json.h reads what a model or a hook passes to a tool.
//
// Threading: JsonDocument is immutable after parse; JsonWriter is thread-compatible; views borrow from
// their document.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// A value inside a JsonDocument; a missing one acts as null. Cheap to copy.
class JsonView {
 public:
  JsonView() = default;
  bool exists() const { return value_ != nullptr; }
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_bool() const;

  // The member of an object; missing for any other value.
  JsonView operator[](std::string_view key) const;
  // Elements of an array or members of an object.
  std::size_t size() const;
  JsonView at(std::size_t index) const;
  std::string_view key_at(std::size_t index) const;

  // The value if it has that type, else `otherwise`.
  std::string_view string_or(std::string_view otherwise) const;
  std::int64_t int_or(std::int64_t otherwise) const;
  std::uint64_t uint_or(std::uint64_t otherwise) const;
  double number_or(double otherwise) const;
  bool bool_or(bool otherwise) const;

  // The value as compact JSON; "null" when absent.
  std::string text() const;

 private:
  friend class JsonDocument;
  friend class JsonSchema;
  friend class JsonWriter;
  explicit JsonView(const void* value) : value_(value) {}
  const void* value_ = nullptr;
};

class JsonDocument {
 public:
  // How a \uD800-\uDFFF escape without its other half is read.
  enum class Halves : std::uint8_t {
    kReplace,  // each becomes U+FFFD
    kKeep,  // each becomes three bytes that are not valid UTF-8: for a text in pieces, which may be cut inside a pair
  };
  // Parses one JSON value with white space around it: at most 1,000 levels, valid UTF-8, no byte order mark. kInvalid
  // names the byte and the mistake there.
  static Result<JsonDocument> parse(std::string_view text, Halves halves = Halves::kReplace);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();
  JsonView root() const;

 private:
  struct State;
  explicit JsonDocument(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The same JSON on one line, safe for a terminal: line ends between tokens become spaces, and inside strings DEL,
// U+0080 to U+009F, U+2028 and U+2029, which JSON allows unescaped, become escapes. REQUIRES: valid JSON.
std::string json_line(std::string_view json);

// Writes one value from left to right; ill-formed UTF-8 in strings is replaced.
class JsonWriter {
 public:
  enum class Layout { kCompact, kPretty };
  explicit JsonWriter(Layout layout = Layout::kCompact);
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  JsonWriter& number(std::int64_t value);
  JsonWriter& number(std::uint64_t value);
  JsonWriter& number(int value) { return number(static_cast<std::int64_t>(value)); }
  JsonWriter& number(unsigned value) { return number(static_cast<std::uint64_t>(value)); }
  JsonWriter& real(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  // Writes JSON text unchanged. REQUIRES: valid JSON.
  JsonWriter& raw(std::string_view json);
  JsonWriter& value(JsonView value);

  // Shorthand for a member.
  JsonWriter& member(std::string_view name, std::string_view value) { return key(name).string(value); }
  JsonWriter& member(std::string_view name, const char* value) { return key(name).string(value); }
  JsonWriter& member(std::string_view name, const std::string& value) { return key(name).string(value); }
  JsonWriter& member(std::string_view name, std::uint64_t value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, std::int64_t value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, unsigned value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, int value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, bool value) { return key(name).boolean(value); }
  // Writes nothing when the value is empty.
  JsonWriter& optional(std::string_view name, std::string_view value) {
    return value.empty() ? *this : member(name, value);
  }

  // The text so far; valid until the writer changes.
  std::string_view text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agentd
