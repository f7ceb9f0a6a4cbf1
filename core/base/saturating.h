// SPDX-License-Identifier: Apache-2.0
#pragma once
// saturating.h - sums of untrusted counts: they stop at 2^64 - 1 and at 0 and never wrap around.
//
// Threading: pure functions.

#include <cstdint>

namespace agentd {

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
constexpr std::uint64_t saturating_subtract(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace agentd
