// SPDX-License-Identifier: Apache-2.0
// The exact token counter as a program, for the scripts of this folder.
//   bpe_tokens encode ENCODING text|special   standard input: records of a 32-bit length and bytes;
//                                             standard output: per record a 32-bit number of tokens
//                                             and the tokens, numbers as the machine has them
//   bpe_tokens time ENCODING FILE SECONDS     tokens, and nanoseconds of the best of the rounds of so long, at least
//   one bpe_tokens texts FOLDER BYTES             writes the texts of the bench there, cut to so many bytes at most; a
//   line
//                                             for each: file, "normal" or "pathological"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "bench/tokens/texts.h"
#include "core/base/bytes.h"
#include "core/tokens/bpe.h"

namespace agentd::bench {
namespace {

int encode(const Bpe& bpe, bool special) {
  const auto how = special ? Bpe::Special::kRecognise : Bpe::Special::kAsText;
  for (std::uint32_t size = 0; std::cin.read(reinterpret_cast<char*>(&size), sizeof size);) {
    std::string text(size, '\0');
    if (!std::cin.read(text.data(), size)) return 1;
    const std::vector<TokenId> tokens = bpe.encode(text, how);
    if (bpe.count(text, how) != tokens.size()) return 1;
    const auto count = static_cast<std::uint32_t>(tokens.size());
    std::cout.write(reinterpret_cast<const char*>(&count), sizeof count);
    std::cout.write(reinterpret_cast<const char*>(tokens.data()),
                    static_cast<std::streamsize>(tokens.size() * sizeof(TokenId)));
  }
  return std::cout.flush() ? 0 : 1;
}

int time(const Bpe& bpe, const char* path, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::ifstream in(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::uint64_t tokens = 0;
  double best = 0, all = 0;
  do {
    const auto from = Clock::now();
    tokens = bpe.count(text);
    const double took = std::chrono::duration<double, std::nano>(Clock::now() - from).count();
    best = best == 0 ? took : std::min(best, took);
    all += took;
  } while (all < seconds * 1e9);
  std::cout << tokens << " " << static_cast<std::uint64_t>(best) << "\n";
  return 0;
}

int write_texts(const std::string& folder, std::size_t bytes) {
  for (const Text& text : texts()) {
    std::ofstream out(folder + "/" + text.name, std::ios::binary);
    if (!(out << utf8_prefix(text.bytes, bytes) << std::flush)) return 1;
    std::cout << text.name << "|" << (text.pathological ? "pathological" : "normal") << "\n";
  }
  return 0;
}

int run(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "texts") == 0)
    return write_texts(argv[2], static_cast<std::size_t>(std::atol(argv[3])));
  if (argc == 4 || argc == 5) {
    const Bpe* const bpe = Bpe::find(argv[2]);
    if (bpe != nullptr && argc == 4 && std::strcmp(argv[1], "encode") == 0)
      return encode(*bpe, std::strcmp(argv[3], "special") == 0);
    if (bpe != nullptr && argc == 5 && std::strcmp(argv[1], "time") == 0)
      return time(*bpe, argv[3], std::atof(argv[4]));
  }
  std::cerr << "usage: bpe_tokens encode ENCODING text|special | bpe_tokens time ENCODING FILE SECONDS"
               " | bpe_tokens texts FOLDER BYTES\n";
  return 2;
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) { return agentd::bench::run(argc, argv); }
