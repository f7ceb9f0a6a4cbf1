// SPDX-License-Identifier: Apache-2.0
#pragma once
// sequence.h - numbers that look random and are the same on every machine.
//
// Threading: a pure function of its state.

#include <cstdint>

namespace agentd::validation {

// The next number of the sequence. It is splitmix64: neighbouring seeds give unrelated sequences.
inline std::uint64_t next_of(std::uint64_t& state) {
  std::uint64_t out = (state += 0x9e3779b97f4a7c15u);
  out = (out ^ (out >> 30)) * 0xbf58476d1ce4e5b9u;
  out = (out ^ (out >> 27)) * 0x94d049bb133111ebu;
  return out ^ (out >> 31);
}

}  // namespace agentd::validation
