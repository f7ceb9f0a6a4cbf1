// SPDX-License-Identifier: Apache-2.0
#include "core/codec/json_compare.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace agentd {
namespace {

using rapidjson::Value;

// A long double holds every std::uint64_t, every std::int64_t and every double.
static_assert(std::numeric_limits<long double>::digits >= 64);
constexpr long double kTwoTo64 = 18446744073709551616.0L;

__extension__ using Wide = unsigned __int128;

std::uint64_t product(std::uint64_t left, std::uint64_t right, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(Wide{left} * right % modulus);
}

std::uint64_t power_of_ten(unsigned exponent, std::uint64_t modulus) {
  std::uint64_t out = 1 % modulus, square = 10 % modulus;
  for (; exponent != 0; exponent >>= 1, square = product(square, square, modulus))
    if ((exponent & 1) != 0) out = product(out, square, modulus);
  return out;
}

Decimal shortened(Decimal number) {
  if (number.digits == 0) return {};
  for (; number.digits % 10 == 0; ++number.exponent) number.digits /= 10;
  return number;
}

Decimal written(double number) {
  std::array<char, 40> text{};  // "1.7976931348623157e+308"
  const auto end = std::to_chars(text.begin(), text.end(), std::fabs(number), std::chars_format::scientific).ptr;
  Decimal out;
  bool fraction = false;
  const char* at = text.begin();
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      fraction = true;
      continue;
    }
    out.digits = out.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    out.exponent -= fraction ? 1 : 0;
  }
  int power = 0;
  if (at != end) ++at;
  if (at != end && *at == '+') ++at;
  std::from_chars(at, end, power);
  out.exponent += power;
  return out;
}

std::uint64_t mixed(std::uint64_t bits) {  // the final mix of MurmurHash3
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdULL;
  bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return bits ^ (bits >> 33);
}

std::uint64_t hash_of_text(std::string_view text) { return mixed(std::hash<std::string_view>()(text)); }

// Equal values have equal hashes.
std::uint64_t hash_of(const Value& value, WorkLimit& work) {
  if (!work.spend(1)) return 0;
  switch (value.GetType()) {
    case rapidjson::kNullType:
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      return mixed(static_cast<std::uint64_t>(value.GetType()) + 1);
    case rapidjson::kStringType:
      if (!work.spend(value.GetStringLength() / kStepBytes)) return 0;
      return hash_of_text(text_of(value));
    case rapidjson::kNumberType:
      return mixed(std::bit_cast<std::uint64_t>(static_cast<double>(number_of(value)) + 0.0));  // no -0.0
    case rapidjson::kArrayType: {
      std::uint64_t out = mixed(value.Size() + 11u);
      for (const Value& each : value.GetArray()) out = mixed(out + hash_of(each, work));
      return out;
    }
    case rapidjson::kObjectType: {
      std::uint64_t out = mixed(value.MemberCount() + 13u);
      for (const auto& member : value.GetObject())
        out += mixed(hash_of_text(text_of(member.name)) + hash_of(member.value, work));
      return out;
    }
  }
  return 0;
}

// Compares the member at the same position first: it is usually the right one, also among duplicate names.
bool same_members(const Value& left, const Value& right, WorkLimit& work) {
  if (left.MemberCount() != right.MemberCount()) return false;
  auto other = right.MemberBegin();
  for (const auto& member : left.GetObject()) {
    auto found = other++;
    if (text_of(found->name) != text_of(member.name)) {
      if (!work.spend(1 + right.MemberCount() / 8)) return false;
      found = right.FindMember(member.name);
    }
    if (found == right.MemberEnd() || !same_value(member.value, found->value, work)) return false;
  }
  return true;
}

}  // namespace

std::string_view text_of(const Value& string) { return {string.GetString(), string.GetStringLength()}; }

long double number_of(const Value& number) {
  if (number.IsInt64()) return static_cast<long double>(number.GetInt64());
  if (number.IsUint64()) return static_cast<long double>(number.GetUint64());
  return static_cast<long double>(number.GetDouble());
}

bool is_whole(const Value& number) {
  const long double value = number_of(number);
  return value == std::trunc(value);
}

Decimal decimal_of(const Value& number) {
  const long double value = std::fabs(number_of(number));
  if (value < kTwoTo64 && value == std::trunc(value)) return shortened({static_cast<std::uint64_t>(value), 0});
  return shortened(written(number.GetDouble()));
}

bool is_multiple(const Decimal& value, const Decimal& unit) {
  if (value.digits == 0) return true;
  // Digits without a trailing zero are not a multiple of ten times anything.
  if (value.exponent < unit.exponent) return false;
  const auto more = static_cast<unsigned>(value.exponent - unit.exponent);
  return product(value.digits % unit.digits, power_of_ten(more, unit.digits), unit.digits) == 0;
}

bool same_value(const Value& left, const Value& right, WorkLimit& work) {
  if (!work.spend(1)) return false;
  if (left.GetType() != right.GetType()) return false;
  switch (left.GetType()) {
    case rapidjson::kNullType:
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      return true;
    case rapidjson::kNumberType:
      return number_of(left) == number_of(right);
    case rapidjson::kStringType:
      return left.GetStringLength() == right.GetStringLength() && work.spend(left.GetStringLength() / kStepBytes) &&
             text_of(left) == text_of(right);
    case rapidjson::kArrayType:
      return left.Size() == right.Size() &&
             std::equal(left.Begin(), left.End(), right.Begin(),
                        [&](const Value& a, const Value& b) { return same_value(a, b, work); });
    case rapidjson::kObjectType:
      return same_members(left, right, work);
  }
  return false;
}

// Compares only elements of the same hash; comparing all pairs would take quadratic time.
bool all_differ(const Value& array, WorkLimit& work) {
  std::vector<std::pair<std::uint64_t, const Value*>> seen;
  seen.reserve(array.Size());
  for (const Value& each : array.GetArray()) seen.emplace_back(hash_of(each, work), &each);
  if (work.spent()) return true;
  std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < seen.size(); ++i)
    for (std::size_t j = i + 1; j < seen.size() && seen[j].first == seen[i].first; ++j)
      if (same_value(*seen[i].second, *seen[j].second, work)) return false;
  return true;
}

}  // namespace agentd
