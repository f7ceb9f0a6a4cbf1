// SPDX-License-Identifier: Apache-2.0
#include "bench/macro/tool_bench.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "core/cage/layers.h"

namespace agentd::bench {
namespace {

constexpr double kToolExtraMs = 3.0;
constexpr const char* kGroup = "tool";

// What is started without agentd.
enum Bare : std::size_t { kBash, kBwrap, kBares };
constexpr std::array<const char*, kBares> kBareNames{"bash by posix_spawn", "bash by a bare bwrap"};

struct Layer {
  const char *name, *label;
  Bare limit;
  std::vector<double> first{}, later{};  // one of each round
};

// Medians of all rounds, or of one half of them.
enum class Part { kAll, kEven, kOdd };
double median(const std::vector<double>& values, Part part) {
  Samples out;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (part == Part::kAll || (part == Part::kOdd) == (i % 2 == 1)) out.add(values[i]);
  return out.empty() ? 0 : out.median();
}

Ratio ratio_of(std::string figure, const std::vector<double>& values, const std::vector<double>& limits) {
  const auto ratio = [&](Part part) { return median(values, part) / median(limits, part); };
  const double all = ratio(Part::kAll);
  return {std::move(figure), all,
          values.size() < 2 ? kNoiseOfOne : std::abs(ratio(Part::kEven) - ratio(Part::kOdd)) / all};
}

Result<void> run_once(Setting& setting, Layer& layer) {
  setting.server().set_mode(ModelServer::Mode::kTool);
  AGENTD_TRY_VOID(time_program(setting.tool_run(layer.name), setting.errors()));
  const auto arrivals = setting.server().arrivals();
  if (arrivals.size() != kToolCalls + 1 || setting.server().tool_outputs() != kToolCalls)
    return Error{Code::kUnavailable, std::string("a run with ") + layer.label + " sent " +
                                         std::to_string(arrivals.size()) + " requests, the last with " +
                                         std::to_string(setting.server().tool_outputs()) +
                                         " outputs of the tool: " + setting.server().last_body()};
  Samples later;
  for (std::size_t i = 0; i < kToolCalls; ++i) {
    const double gap = std::chrono::duration<double, std::milli>(arrivals[i + 1] - arrivals[i]).count();
    if (i == 0)
      layer.first.push_back(gap);
    else
      later.add(gap);
  }
  layer.later.push_back(later.median());
  return {};
}

void print_row(const std::string& label, const std::vector<double>& ms) {
  Samples samples;
  for (const double each : ms) samples.add(each);
  print_samples(label.c_str(), samples, "ms");
}

std::vector<Layer> layers(Tally& tally) {
  std::vector<Layer> out{{"off", "no sandbox", kBash}};
  const cage::Layers& here = cage::probe(BENCH_CAGE);
  if (here.landlock.holds)
    out.push_back({"landlock", "Landlock", kBash});
  else
    tally.left_out(kGroup, 2, "Landlock does not hold here: " + here.landlock.why);
  // Its calls, and the bare bwrap.
  if (here.bubblewrap.holds)
    out.push_back({"bubblewrap", "bubblewrap", kBwrap});
  else
    tally.left_out(kGroup, 3, "bubblewrap does not hold here: " + here.bubblewrap.why);
  return out;
}

}  // namespace

Result<void> bench_tool(Setting& setting, int rounds, Tally& tally, std::vector<Ratio>& ratios) {
  std::vector<Layer> measured = layers(tally);
  const bool with_bwrap = measured.back().limit == kBwrap;
  std::array<std::vector<double>, kBares> bares;
  for (int round = 0; round < rounds; ++round) {
    for (Layer& layer : measured) AGENTD_TRY_VOID(run_once(setting, layer));
    for (const Bare bare : {kBash, kBwrap}) {
      if (bare == kBwrap && !with_bwrap) continue;
      AGENTD_TRY(const Times times, time_program(setting.bare_tool(bare == kBwrap), setting.errors()));
      bares[bare].push_back(times.wall_ms);
    }
  }
  std::printf(
      "\nfrom a request that is answered by a call of bash to the request with its output\n  %-44s %8s %8s %8s\n", "",
      "min", "median", "max");
  for (const Bare bare : {kBash, kBwrap}) {
    if (bares[bare].empty()) continue;
    print_row(kBareNames[bare], bares[bare]);
    tally.measured(kGroup, {median(bares[bare], Part::kAll)});
  }
  for (const Layer& layer : measured) {
    const std::string first = std::string("a first tool call, ") + layer.label;
    const std::string later = std::string("a later tool call, ") + layer.label;
    const std::vector<double>& limit = bares[layer.limit];
    print_row(first, layer.first);
    print_row(later, layer.later);
    print_aim("  beyond its limit, medians", median(layer.later, Part::kAll) - median(limit, Part::kAll), kToolExtraMs,
              "ms");
    ratios.push_back(ratio_of(first + " / " + kBareNames[layer.limit], layer.first, limit));
    ratios.push_back(ratio_of(later + " / " + kBareNames[layer.limit], layer.later, limit));
    for (const auto& ms : {layer.first, layer.later}) tally.measured(kGroup, {median(ms, Part::kAll)});
  }
  return {};
}

}  // namespace agentd::bench
