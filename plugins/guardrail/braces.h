// SPDX-License-Identifier: Apache-2.0
#pragma once
// braces.h - expands {a,b} and {1..3} as a shell does.
//
// Threading: one thread at a time.

#include <cstddef>
#include <string>
#include <string_view>

namespace guardrail {

// The lists of one command. Expansions grow with their product, so all texts together have a limit; beyond it a list
// becomes "*", and its contents are added once.
class Braces {
 public:
  // The command with each word that has a list replaced by all words of its expansion. Quoted text is unchanged.
  std::string expanded(std::string_view command);

 private:
  void expand(std::string_view word, std::string& out);
  bool takes(std::size_t words, std::size_t bytes);

  std::size_t words_left_ = 4'096, bytes_left_ = 256 * 1024;
};

}  // namespace guardrail
