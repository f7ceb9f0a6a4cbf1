// SPDX-License-Identifier: Apache-2.0
#pragma once
// json_compare.h - compares two JSON values as JSON Schema does: numbers by value ("1.0" is 1), objects without order.
// Inside this room: the values are RapidJSON's.
//
// Threading: pure functions; a WorkLimit belongs to one caller.

#include <rapidjson/document.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agentd {

inline constexpr std::size_t kStepBytes = 64;  // bytes of a text that one step reads, compares or hashes

// The steps that a check may still take, each of about the same cost, so that no schema and no value can keep a thread
// busy for long.
class WorkLimit {
 public:
  explicit WorkLimit(std::uint64_t steps) : left_(steps) {}
  // False if fewer steps are left; from then on it always fails.
  bool spend(std::uint64_t steps) {
    spent_ = spent_ || steps > left_;
    left_ -= spent_ ? 0 : steps;
    return !spent_;
  }
  bool spent() const { return spent_; }

 private:
  std::uint64_t left_;
  bool spent_ = false;
};

// Exact for every number that the JSON reader keeps: 64 bit integers and doubles.
long double number_of(const rapidjson::Value& number);
// True if a number has no fraction, however it is written: 3, 3.0 and 1e3.
bool is_whole(const rapidjson::Value& number);

// A number as people write it: digits * 10^exponent, without its sign. A double takes the shortest decimal that reads
// as it, so that 19.99 is 1999 hundredths and not a sum of powers of two.
struct Decimal {
  std::uint64_t digits = 0;  // never ends in a zero unless it is 0
  int exponent = 0;
};
Decimal decimal_of(const rapidjson::Value& number);
// True if `value` is a whole multiple of `unit`. REQUIRES: unit is not 0.
bool is_multiple(const Decimal& value, const Decimal& unit);

// True if both are the same value. Always false once `work` is spent.
bool same_value(const rapidjson::Value& left, const rapidjson::Value& right, WorkLimit& work);
// True if no two elements of an array are the same value. Always true once `work` is spent.
bool all_differ(const rapidjson::Value& array, WorkLimit& work);

std::string_view text_of(const rapidjson::Value& string);

}  // namespace agentd
