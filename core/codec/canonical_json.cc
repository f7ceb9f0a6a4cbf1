// SPDX-License-Identifier: Apache-2.0
#include "core/codec/canonical_json.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/base/bytes.h"
#include "core/codec/json_mistake.h"

namespace agentd {
namespace {

constexpr std::int64_t kWholeMax = std::int64_t{1} << 53;
constexpr std::size_t kShownBytes = 80;

Error not_canonical(std::string what) { return {Code::kInvalid, std::move(what)}; }

std::string quoted(std::string_view text) { return '"' + one_line(text, kShownBytes) + '"'; }

template <typename Number>
Result<Number> parsed_number(std::string_view digits) {
  Number number{};
  const char* const end = digits.data() + digits.size();
  const auto [at, failed] = std::from_chars(digits.data(), end, number);
  if (failed == std::errc() && at == end) return number;
  return not_canonical("");
}

Result<std::string> whole_number(std::string_view digits) {
  const auto number = parsed_number<std::int64_t>(digits);
  if (number && *number <= kWholeMax && *number >= -kWholeMax) return std::to_string(*number);
  return not_canonical("has the whole number " + one_line(digits, kShownBytes) +
                       ", which some programs round: write numbers beyond 9007199254740992 as a string");
}

// A whole number of any length, such as "-9223372036854775808".
bool is_digits(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<std::string> canonical_number(std::string_view digits) {
  const std::size_t exponent = std::min(digits.find_first_of("eE"), digits.size());
  if (exponent == digits.size() && digits.find('.') == std::string_view::npos) return whole_number(digits);
  const auto number = parsed_number<double>(digits);
  const bool zero = digits.substr(0, exponent).find_first_of("123456789") == std::string_view::npos;
  if (!zero && (!number || !std::isfinite(*number) || *number == 0))
    return not_canonical("has the number " + one_line(digits, kShownBytes) +
                         ", which is too large or too small for a program to hold");
  if (zero) return std::string("0");
  const bool fits = std::fabs(*number) <= static_cast<double>(kWholeMax);
  if (fits && std::trunc(*number) == *number) return std::to_string(static_cast<std::int64_t>(*number));
  std::array<char, 64> text{};
  // Without an exponent, a reader would take the digits for a whole number.
  const auto end = fits ? std::to_chars(text.data(), text.data() + text.size(), *number)
                        : std::to_chars(text.data(), text.data() + text.size(), *number, std::chars_format::scientific);
  return std::string(text.data(), end.ptr);
}

// Writes each value that the reader finds; false and `problem` end the reading.
class Canonical {
 public:
  Canonical(const CanonicalJsonLimits& limits, const MemberText& member_text)
      : limits_(limits), member_text_(member_text) {}

  bool Null() { return no_object() && writer_.Null(); }
  bool Bool(bool value) { return no_object() && writer_.Bool(value); }
  // The reader passes numbers as they are written (kParseNumbersAsStringsFlag).
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    if (!no_object()) return false;
    const auto number = canonical_number({text, size});
    if (!number && limits_.wide_numbers && is_digits({text, size}))
      return writer_.RawValue(text, size, rapidjson::kNumberType);
    if (!number) return refuse(number.error().message);
    return writer_.RawValue(number->data(), number->size(), rapidjson::kNumberType);
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (!no_object() || !is_whole({text, size})) return false;
    if (depth_ != 1 || !member_text_) return writer_.String(text, size);
    const std::string changed = member_text_(key_, {text, size});
    return writer_.String(changed.data(), static_cast<rapidjson::SizeType>(changed.size()));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (!is_whole({text, size})) return false;
    if (depth_ == 1) key_.assign(text, size);
    if (!keys_.back().emplace(text, size).second) return refuse("has the key " + quoted({text, size}) + " twice");
    return writer_.Key(text, size);
  }
  bool StartObject() {
    keys_.emplace_back();
    return enter() && writer_.StartObject();
  }
  bool StartArray() { return no_object() && enter() && writer_.StartArray(); }
  bool EndObject(rapidjson::SizeType) {
    keys_.pop_back();
    --depth_;
    return writer_.EndObject();
  }
  bool EndArray(rapidjson::SizeType) {
    --depth_;
    return writer_.EndArray();
  }

  const std::string& problem() const { return problem_; }
  std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  bool refuse(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
    return false;
  }
  // A text must begin with an object.
  bool no_object() { return depth_ != 0 || refuse("is not a JSON object"); }
  bool enter() {
    return ++depth_ <= limits_.depth || refuse("has more than " + std::to_string(limits_.depth) + " levels");
  }
  // The text is UTF-8, so only an escape can have made anything else.
  bool is_whole(std::string_view text) {
    return is_utf8(text) || refuse("has half a surrogate pair (\\ud800 to \\udfff) in a string");
  }

  const CanonicalJsonLimits& limits_;
  const MemberText& member_text_;
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects
  std::string key_;                                    // of the current member of the outermost object
  std::string problem_;
  int depth_ = 0;
};

Error too_long(std::size_t bytes, std::size_t most) {
  return not_canonical("has " + with_commas(bytes) + " bytes; the limit is " + with_commas(most));
}

}  // namespace

Result<std::string> canonical_object(std::string_view text, const CanonicalJsonLimits& limits,
                                     const MemberText& member_text) {
  if (text.size() > limits.bytes) return too_long(text.size(), limits.bytes);
  if (text.starts_with(kByteOrderMark)) return not_canonical("begins with a byte order mark");
  if (!is_utf8(text)) return not_canonical("is not valid UTF-8");
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseStopWhenDoneFlag;
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::Reader reader;
  Canonical canonical(limits, member_text);
  const rapidjson::ParseResult result = reader.Parse<kFlags>(bytes, canonical);
  if (!canonical.problem().empty()) return not_canonical(canonical.problem());
  if (result.IsError())
    return not_canonical("is not a JSON object: byte " + std::to_string(result.Offset()) + ": " +
                         std::string(json_mistake_text(result.Code())));
  const std::string_view rest = text.substr(bytes.Tell());
  if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos)
    return not_canonical("has text after its JSON object, at byte " +
                         std::to_string(bytes.Tell() + rest.find_first_not_of(" \t\r\n")));
  std::string out = canonical.text();
  if (out.size() > limits.bytes) return too_long(out.size(), limits.bytes);
  return out;
}

}  // namespace agentd
