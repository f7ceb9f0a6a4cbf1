// SPDX-License-Identifier: Apache-2.0
// Counting tokens of a megabyte, next to copying it and to the estimate by size, with the heap
// allocations that a count makes.
#include <benchmark/benchmark.h>

#include <cstring>

#include "bench/micro/allocations.h"
#include "bench/tokens/texts.h"
#include "core/tokens/bpe.h"

namespace agentd::bench {
namespace {

void copy(benchmark::State& state, const std::string& text) {
  std::string target(text.size(), '\0');
  for (auto _ : state) {
    std::memcpy(target.data(), text.data(), text.size());
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
  }
}

void count(benchmark::State& state, const TokenEstimator& estimator, const std::string& text) {
  benchmark::DoNotOptimize(estimator.count_text(text));  // touches the pages of the tables
  const std::uint64_t before = allocations();
  std::uint64_t counted = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimator.count_text(text));
    ++counted;
  }
  state.counters["allocations"] = static_cast<double>(allocations() - before) / static_cast<double>(counted);
}

template <typename Work>
void add(const std::string& name, const Work& work) {
  benchmark::RegisterBenchmark(name.c_str(), work);
}

}  // namespace

void add_token_benches() {
  static const std::vector<Text> kTexts = texts();
  static const SimpleEstimator kSimple;
  static const BpeEstimator kCl100k(Bpe::cl100k_base()), kO200k(Bpe::o200k_base());
  for (const Text& text : kTexts) {
    add("Tokens/memcpy/" + text.name, [&](auto& state) { copy(state, text.bytes); });
    add("Tokens/simple/" + text.name, [&](auto& state) { count(state, kSimple, text.bytes); });
    add("Tokens/cl100k/" + text.name, [&](auto& state) { count(state, kCl100k, text.bytes); });
    add("Tokens/o200k/" + text.name, [&](auto& state) { count(state, kO200k, text.bytes); });
  }
}

}  // namespace agentd::bench
