// SPDX-License-Identifier: Apache-2.0
#pragma once
// json_compare.h - what two JSON values are to each other, as JSON Schema reads them: numbers by what
// they are worth ("1.0" is 1), objects without an order. Inside this room: the values are RapidJSON's.
//
// Threading: pure functions; a WorkLimit belongs to one caller.

#include <rapidjson/document.h>

#include <cstdint>
#include <string_view>

namespace agentd {

// The steps that a check may still take, of the same order of cost each, so that no schema and no value can
// keep a thread busy for long.
class WorkLimit {
 public:
  explicit WorkLimit(std::uint64_t steps) : left_(steps) {}
  // False when there are not so many left; from then on there are none.
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
// Whether a number has no fraction, however it is written: 3, 3.0 and 1e3.
bool is_whole(const rapidjson::Value& number);

// A number as people write it: digits * 10^exponent, without its sign. That of a double is the shortest
// that reads as it, so that 19.99 is 1999 hundredths and no sum of powers of two.
struct Decimal {
  std::uint64_t digits = 0;  // never ends in a zero unless it is 0
  int exponent = 0;
};
Decimal decimal_of(const rapidjson::Value& number);
// Whether `value` is a whole number of times `unit`. REQUIRES: unit is not 0.
bool is_multiple(const Decimal& value, const Decimal& unit);

// Whether both are the same value. False, whatever they are, once `work` is spent.
bool same_value(const rapidjson::Value& left, const rapidjson::Value& right, WorkLimit& work);
// Whether no two elements of an array are the same value. True once `work` is spent.
bool all_differ(const rapidjson::Value& array, WorkLimit& work);

std::string_view text_of(const rapidjson::Value& string);

}  // namespace agentd
