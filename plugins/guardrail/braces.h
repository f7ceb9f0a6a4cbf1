// SPDX-License-Identifier: Apache-2.0
#pragma once
// braces.h - what a shell makes of {a,b} and {1..3}.
//
// Threading: one thread at a time.

#include <cstddef>
#include <string>
#include <string_view>

namespace guardrail {

// The lists of one command. What they stand for grows with their product, so there is a bound for all
// texts together; behind it a list is "*", and what stands in it is there once more.
class Braces {
 public:
  // The command with every word that holds a list replaced by all words that it stands for. What is
  // in quotation marks stays.
  std::string expanded(std::string_view command);

 private:
  void expand(std::string_view word, std::string& out);
  bool takes(std::size_t words, std::size_t bytes);

  std::size_t words_left_ = 4'096, bytes_left_ = 256 * 1024;
};

}  // namespace guardrail
