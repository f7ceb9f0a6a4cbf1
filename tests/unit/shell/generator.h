// SPDX-License-Identifier: Apache-2.0
#pragma once
// generator.h - shell commands from a grammar, by a seed: wrappers, quotation, here-documents, substitutions, and
// texts that were damaged afterwards.
//
// Threading: one thread per generator.

#include <random>
#include <string>
#include <string_view>

class ShellGenerator {
 public:
  explicit ShellGenerator(unsigned seed) : random_(seed) {}

  std::string next();

 private:
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  bool once_in(unsigned n) { return below(n) == 0; }
  template <std::size_t N>
  std::string_view one_of(const std::string_view (&choices)[N]) {
    return choices[below(N)];
  }

  std::string list(int depth);
  std::string pipeline(int depth);
  std::string command(int depth);
  std::string compound(int depth);
  std::string simple(int depth);
  std::string wrapped(int depth);
  std::string setting();
  std::string disguised();
  std::string word(int depth);
  std::string program();
  std::string in_quotes(const std::string& text);
  std::string redirection(int depth);
  std::string document(int depth);
  void damage(std::string& text);

  std::mt19937 random_;
};
