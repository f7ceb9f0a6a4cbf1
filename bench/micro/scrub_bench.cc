// SPDX-License-Identifier: Apache-2.0
// Looking for secrets in 64 KiB of a tool's output, next to copying it: without anything like a secret, of the
// project's own sources, and with a hundred secrets.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>

#include "bench/micro/summary.h"
#include "bench/tokens/texts.h"
#include "core/scrub/secrets.h"

namespace agentd::bench {
namespace {

constexpr std::size_t kBytes = 64 * 1024;

void copy(benchmark::State& state, const std::string& text) {
  std::string target(text.size(), '\0');
  for (auto _ : state) {
    std::memcpy(target.data(), text.data(), text.size());
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
  }
}

void scrub(benchmark::State& state, const Secrets& secrets, const std::string& text) {
  benchmark::DoNotOptimize(secrets.pass(text));  // loads the library and makes the expressions
  std::size_t found = 0;
  for (auto _ : state) {
    const Secrets::Passed passed = secrets.pass(text);
    found = passed.counts.size();
    benchmark::DoNotOptimize(passed.text.data());
  }
  state.counters["kinds"] = static_cast<double>(found);
}

std::string prose() {
  std::string out;
  while (out.size() < kBytes) out += "The file was copied to the other folder, and all of its lines were counted.\n";
  return out;
}

std::string with_secrets() {
  std::string out = prose();
  for (std::size_t i = 0; i < 100; ++i) {
    std::string token = "ghp_" + std::to_string(100'000'000'000 + i * 7'919) + "abcdefghijklmnopqrstuvwx";
    out.replace(i * (kBytes / 100), token.size() + 2, " " + token + "\n");
  }
  return out;
}

std::string sources() {
  for (const Text& text : texts())
    if (text.name == "code") return text.bytes.substr(0, kBytes);
  return prose();
}

}  // namespace

void add_scrub_benches() {
  static const std::unique_ptr<Secrets> kSecrets =
      std::move(*Secrets::make({}, [] { return Result<std::string>(std::string(32, 'k')); }));
  static const std::pair<const char*, std::string> kTexts[] = {
      {"nothing", prose()}, {"sources", sources()}, {"100_secrets", with_secrets()}};
  for (const auto& [name, text] : kTexts) {
    const std::string of = std::string("/") + name;
    benchmark::RegisterBenchmark(("Scrub/memcpy" + of).c_str(), [&text = text](auto& state) { copy(state, text); });
    benchmark::RegisterBenchmark(("Scrub/pass" + of).c_str(),
                                 [&text = text](auto& state) { scrub(state, *kSecrets, text); });
  }
}

}  // namespace agentd::bench
