// SPDX-License-Identifier: Apache-2.0
#pragma once
// prices.h - the price of a model's tokens, and the cost of an answer.
//
// A price is in US dollars per million tokens, as vendors publish it, and is kept as 10^-12 dollars per token: no
// published price has more than six decimals. Vendors whose prices depend on the prompt's length charge the complete
// request, including its answer, at the rates of that length.
//
// Threading: values and pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/conversation/message.h"

namespace agentd {

// 10^-12 dollars per token.
struct Rates {
  std::uint64_t input = 0;
  std::uint64_t output = 0;  // thinking included
  std::uint64_t cache_read = 0;
  std::uint64_t cache_write = 0;       // kept for the provider's usual time: minutes
  std::uint64_t cache_write_long = 0;  // kept for an hour or more

  // The highest cost of a prompt token, cached or not.
  std::uint64_t dearest_input() const;
  bool operator==(const Rates&) const = default;
};

struct Prices {
  struct Tier {
    std::uint64_t above = 0;  // tokens of the prompt; longer prompts have these rates
    Rates rates{};
    bool operator==(const Tier&) const = default;
  };
  Rates rates{};
  std::vector<Tier> tiers{};  // ascending

  // The rates of a request with a prompt of that many tokens.
  const Rates& rates_of(std::uint64_t prompt_tokens) const;
  bool operator==(const Prices&) const = default;
};

// In 10^-9 dollars, rounded up; 2^64 - 1 on overflow.
std::uint64_t cost_of(const Prices& prices, const Usage& usage);
// The cost of tokens at one rate.
std::uint64_t cost_of(std::uint64_t tokens, std::uint64_t rate);

// Parses a price such as "0.075" or "12.5", in dollars per million tokens. Absent for anything but a number from 0 to
// 1,000,000 with at most six decimals.
std::optional<std::uint64_t> parse_price(std::string_view text);
// "$0.075", "$12.50": a price as vendors write it.
std::string price_text(std::uint64_t price);
// "$0.0123", "$1.20", "less than $0.0001": an amount of money for a reader.
std::string money_text(std::uint64_t nano_usd);
// The same, rounded up, so that the amount suffices.
std::string enough_text(std::uint64_t nano_usd);
// The cost of requests for a reader: "$0.0123", "$0.0123 and 2 requests of unknown price", "cost not known"; empty when
// nothing was paid for.
std::string cost_text(const Usage& usage);

}  // namespace agentd
