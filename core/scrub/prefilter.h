// SPDX-License-Identifier: Apache-2.0
#pragma once
// prefilter.h - finds many literals in one pass over a text.
//
// Each literal is indexed by its three rarest consecutive bytes. Every three bytes of the text, folded to lower case,
// are looked up in a bitmap of 8 KiB; only hits are compared. So ordinary text costs one multiplication and one lookup
// per byte, and hardly ever a mispredicted branch.
//
// Threading: immutable after construction.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentd {

class Prefilter {
 public:
  struct Hit {
    std::size_t at = 0;         // of the literal's first byte
    std::uint32_t literal = 0;  // the number that add() returned
  };

  // `any_case`: ASCII letters match in either case. REQUIRES: at least 3 bytes.
  std::uint32_t add(std::string_view literal, bool any_case);
  // Every occurrence of every literal, in order of place.
  std::vector<Hit> find(std::string_view text) const;

 private:
  struct Literal {
    std::string text;  // lower case when any_case
    bool any_case = false;
    std::size_t from = 0;  // of the three bytes
  };
  void compare(std::string_view text, std::size_t at, std::uint32_t slot, std::vector<Hit>& out) const;

  std::vector<Literal> literals_;
  std::vector<std::uint64_t> bitmap_ = std::vector<std::uint64_t>(1024);
  std::vector<std::uint16_t> buckets_ = std::vector<std::uint16_t>(65536);  // 0 = none
  std::vector<std::vector<std::uint32_t>> literals_of_{{}};                 // by bucket
};

}  // namespace agentd
