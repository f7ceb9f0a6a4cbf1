// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/prices.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/saturating.h"

namespace agentd {
namespace {

constexpr std::uint64_t kPicoPerNano = 1'000;
constexpr std::uint64_t kNanoPerDollar = 1'000'000'000;
constexpr int kPriceDecimals = 6, kMoneyDecimals = 9;
constexpr std::uint64_t kPriceWholeMax = 1'000'000;
// The smallest amount that is shown as a number.
constexpr std::uint64_t kShownMin = 100'000;  // $0.0001

std::uint64_t nano_of(std::uint64_t pico) {
  return pico == UINT64_MAX ? pico : pico / kPicoPerNano + (pico % kPicoPerNano != 0 ? 1 : 0);
}

std::uint64_t power_of_ten(int exponent) {
  std::uint64_t out = 1;
  while (exponent-- > 0) out *= 10;
  return out;
}

// Digits, and at most `decimals` more after a point, as a whole number of 10^-decimals.
std::optional<std::uint64_t> parse_decimal(std::string_view text, int decimals, std::uint64_t whole_max) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (whole.empty() || whole.size() > 10 || rest.size() > static_cast<std::size_t>(decimals) ||
      (point != std::string_view::npos && rest.empty()))
    return std::nullopt;
  std::uint64_t out = 0;
  for (const std::string_view part : {whole, rest})
    for (const char c : part) {
      if (c < '0' || c > '9') return std::nullopt;
      out = out * 10 + static_cast<std::uint64_t>(c - '0');
    }
  out *= power_of_ten(decimals - static_cast<int>(rest.size()));
  if (out > whole_max * power_of_ten(decimals)) return std::nullopt;
  return out;
}

// `value` is in 10^-decimals dollars. At least two decimals are shown, and no more than `shown`.
std::string dollars(std::uint64_t value, int decimals, int shown) {
  const std::uint64_t step = power_of_ten(decimals - shown);
  value = saturating_add(value, step / 2) / step;
  const std::uint64_t unit = power_of_ten(shown);
  std::string rest = std::to_string(value % unit);
  rest.insert(0, static_cast<std::size_t>(shown) - rest.size(), '0');
  while (rest.size() > 2 && rest.back() == '0') rest.pop_back();
  return "$" + with_commas(value / unit) + "." + rest;
}

}  // namespace

std::uint64_t Rates::dearest_input() const { return std::max({input, cache_read, cache_write, cache_write_long}); }

const Rates& Prices::rates_of(std::uint64_t prompt_tokens) const {
  const Rates* out = &rates;
  for (const Tier& tier : tiers)
    if (prompt_tokens > tier.above) out = &tier.rates;
  return *out;
}

std::uint64_t cost_of(const Prices& prices, const Usage& usage) {
  const Rates& rates = prices.rates_of(usage.prompt_tokens());
  const std::uint64_t kept_long = std::min(usage.cache_write_long, usage.cache_write);
  std::uint64_t pico = 0;
  const auto charge = [&](std::uint64_t tokens, std::uint64_t rate) {
    pico = saturating_add(pico, saturating_multiply(tokens, rate));
  };
  charge(usage.input, rates.input);
  charge(usage.output, rates.output);
  charge(usage.cache_read, rates.cache_read);
  charge(usage.cache_write - kept_long, rates.cache_write);
  charge(kept_long, rates.cache_write_long);
  return nano_of(pico);
}

std::uint64_t cost_of(std::uint64_t tokens, std::uint64_t rate) { return nano_of(saturating_multiply(tokens, rate)); }

std::optional<std::uint64_t> parse_price(std::string_view text) {
  return parse_decimal(text, kPriceDecimals, kPriceWholeMax);
}

std::string price_text(std::uint64_t price) { return dollars(price, kPriceDecimals, kPriceDecimals); }

std::string money_text(std::uint64_t nano_usd) {
  if (nano_usd == 0) return "$0.00";
  if (nano_usd < kShownMin) return "less than $0.0001";
  return dollars(nano_usd, kMoneyDecimals, nano_usd < kNanoPerDollar ? 4 : 2);
}

std::string enough_text(std::uint64_t nano_usd) {
  const std::uint64_t step = nano_usd < kNanoPerDollar ? kShownMin : kNanoPerDollar / 100;
  return money_text(saturating_add(nano_usd, step - 1) / step * step);
}

std::string cost_text(const Usage& usage) {
  if (usage.unpriced == 0) return usage.cost_nano_usd == 0 ? std::string() : money_text(usage.cost_nano_usd);
  if (usage.cost_nano_usd == 0) return "cost not known";
  return money_text(usage.cost_nano_usd) + " and " + counted(usage.unpriced, "request") + " of unknown price";
}

}  // namespace agentd
