// SPDX-License-Identifier: Apache-2.0
// replay_main.cc - runs a fuzz target without a fuzzer: its seeds, then mutations of them.
//
//   TARGET DIRECTORY [ROUNDS [SEED]]   every file of the directory, then ROUNDS mutations
//   TARGET FILE                        that file alone: how a finding is looked at
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kBytesMax = 1u << 16;

Bytes contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A copy of its own, so that a sanitizer sees a read beyond its end.
void feed(const Bytes& bytes) {
  const Bytes copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  Bytes next() {
    Bytes out = seeds_[random_() % seeds_.size()];
    for (std::size_t steps = 1 + random_() % 6; steps > 0; --steps) mutate(out);
    return out;
  }

 private:
  std::size_t place(const Bytes& bytes) { return bytes.empty() ? 0 : random_() % bytes.size(); }

  void mutate(Bytes& bytes) {
    static constexpr std::uint8_t kTelling[] = {0, 1, 7, 8, 0x10, 0x7f, 0x80, 0xff};
    switch (random_() % 7) {
      case 0:
        if (!bytes.empty()) bytes[place(bytes)] ^= static_cast<std::uint8_t>(1u << random_() % 8);
        return;
      case 1:
        if (!bytes.empty()) bytes[place(bytes)] = kTelling[random_() % std::size(kTelling)];
        return;
      case 2:
        if (!bytes.empty()) bytes[place(bytes)] = static_cast<std::uint8_t>(random_());
        return;
      case 3:
        bytes.resize(place(bytes));
        return;
      case 4:
        splice(bytes, bytes);
        return;
      case 5:
        splice(bytes, seeds_[random_() % seeds_.size()]);
        return;
      case 6: {
        const std::size_t at = place(bytes), count = std::min(bytes.size() - at, std::size_t{1 + random_() % 8});
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + count));
        return;
      }
    }
  }

  void splice(Bytes& into, const Bytes& from) {
    if (from.empty() || into.size() > kBytesMax) return;
    const std::size_t at = place(from), count = std::min(from.size() - at, std::size_t{1 + random_() % 64});
    const Bytes piece(from.begin() + static_cast<std::ptrdiff_t>(at),
                      from.begin() + static_cast<std::ptrdiff_t>(at + count));
    into.insert(into.begin() + static_cast<std::ptrdiff_t>(place(into)), piece.begin(), piece.end());
  }

  const std::vector<Bytes>& seeds_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: %s DIRECTORY [ROUNDS [SEED]]\n", words[0]), 2;
  if (fs::is_regular_file(words[1])) return feed(contents(words[1])), 0;
  const std::size_t rounds = count > 2 ? std::strtoull(words[2], nullptr, 10) : 2'000;
  const std::uint64_t seed = count > 3 ? std::strtoull(words[3], nullptr, 10) : std::random_device()();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(words[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Bytes> seeds;
  for (const fs::path& file : files) feed(seeds.emplace_back(contents(file)));
  const std::size_t good = agentd::fuzz::got_through;
  std::printf("%zu seeds, of which %zu get through; %zu mutations, seed %llu\n", seeds.size(), good, rounds,
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);  // whoever sees it end early wants to know the seed
  if (good * 3 < seeds.size() || seeds.empty())
    return std::fprintf(stderr, "too few seeds of %s get through\n", words[1]), 1;
  Mutator mutator(seeds, seed);
  feed({});
  for (std::size_t round = 0; round < rounds; ++round) feed(mutator.next());
  std::printf("%zu mutations got through\n", agentd::fuzz::got_through - good);
  return 0;
}
