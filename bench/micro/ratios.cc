// SPDX-License-Identifier: Apache-2.0
#include "bench/micro/ratios.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

namespace agentd::bench {
namespace {

// Two runs differ by this share even where the halves of each agree.
constexpr double kNoiseLeast = 0.05;
constexpr std::string_view kHead = "| figure | ratio | noise |\n|---|---|---|\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "| figure | 4.4 | 0.05 |"
std::optional<Ratio> read_row(std::string_view line) {
  std::array<std::string_view, 3> cells;
  if (!line.starts_with('|')) return std::nullopt;
  line.remove_prefix(1);
  for (std::string_view& cell : cells) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    cell = trimmed(line.substr(0, bar));
    line.remove_prefix(bar + 1);
  }
  const auto value = number(cells[1]), noise = number(cells[2]);
  if (!value || !noise) return std::nullopt;
  return Ratio{std::string(cells[0]), *value, *noise};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

const Ratio* find(const std::vector<Ratio>& ratios, std::string_view figure) {
  const auto found =
      std::find_if(ratios.begin(), ratios.end(), [&](const Ratio& each) { return each.figure == figure; });
  return found == ratios.end() ? nullptr : &*found;
}

std::string row(const Ratio& ratio) {
  std::array<char, 64> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "%.2f | %.2f |", ratio.value, ratio.noise);
  return "| " + ratio.figure + " | " + numbers.data() + "\n";
}

}  // namespace

std::vector<Ratio> read_ratios(std::string_view table) {
  std::vector<Ratio> out;
  for (const std::string_view line : lines_of(table))
    if (auto ratio = read_row(line)) out.push_back(std::move(*ratio));
  return out;
}

std::string with_ratios(std::string_view table, const std::vector<Ratio>& now) {
  std::string out;
  const std::vector<Ratio> before = read_ratios(table);
  for (const std::string_view line : lines_of(table)) {
    const auto old = read_row(line);
    const Ratio* const fresh = old ? find(now, old->figure) : nullptr;
    out += fresh != nullptr ? row(*fresh) : std::string(line) + "\n";
  }
  if (before.empty()) out += kHead;
  for (const Ratio& each : now)
    if (find(before, each.figure) == nullptr) out += row(each);
  return out;
}

std::string moved_ratios(std::string_view table, const std::vector<Ratio>& now) {
  std::vector<std::pair<double, std::string>> moved;
  const std::vector<Ratio> before = read_ratios(table);
  for (const Ratio& each : now) {
    std::array<char, 256> text{};
    const Ratio* const old = find(before, each.figure);
    if (old == nullptr) {
      std::snprintf(text.data(), text.size(), "%-60s %8.2f x   is new\n", each.figure.c_str(), each.value);
      moved.emplace_back(0, text.data());
      continue;
    }
    const double change = each.value / old->value - 1;
    const double noise = std::max(each.noise, kNoiseLeast) + std::max(old->noise, kNoiseLeast);
    if (std::abs(change) <= noise) continue;
    std::snprintf(text.data(), text.size(), "%-60s %8.2f x   after %.2f x: %+.0f %%, noise %.0f %%\n",
                  each.figure.c_str(), each.value, old->value, change * 100, noise * 100);
    moved.emplace_back(std::abs(change), text.data());
  }
  std::stable_sort(moved.begin(), moved.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (const auto& [change, text] : moved) out += text;
  return out;
}

}  // namespace agentd::bench
