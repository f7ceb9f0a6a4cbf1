// SPDX-License-Identifier: Apache-2.0
#include "bench/ratios.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "bench/tally.h"
#include "core/base/file.h"

namespace agentd::bench {
namespace {

// Two runs differ by this share even where the halves of each agree.
constexpr double kNoiseLeast = 0.05;
constexpr std::uint64_t kFileBytesMax = 1u << 20;
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

// The lines of a program's part behind its heading, as a range of the file's; both at the end: there is no such part.
struct Part {
  std::size_t begin = 0, end = 0;
};
Part part_of(const std::vector<std::string_view>& lines, std::string_view program) {
  const auto is_heading = [](std::string_view line) { return line.starts_with("## "); };
  const auto heading = std::find_if(
      lines.begin(), lines.end(), [&](std::string_view line) { return is_heading(line) && line.substr(3) == program; });
  if (heading == lines.end()) return {lines.size(), lines.size()};
  const auto end = std::find_if(heading + 1, lines.end(), is_heading);
  return {static_cast<std::size_t>(heading + 1 - lines.begin()), static_cast<std::size_t>(end - lines.begin())};
}

// The lines of a part with these ratios. Rows that are new stand behind its last line that is not empty.
std::string kept_part(const std::vector<std::string_view>& lines, Part part, const std::vector<Ratio>& now) {
  std::vector<Ratio> before;
  std::string out, blank;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    auto old = read_row(lines[i]);
    const Ratio* const fresh = old ? find(now, old->figure) : nullptr;
    std::string& to = lines[i].empty() ? blank : out.append(std::exchange(blank, {}));
    to += fresh != nullptr ? row(*fresh) : std::string(lines[i]) + "\n";
    if (old) before.push_back(std::move(*old));
  }
  if (before.empty()) out.append(out.empty() ? "" : "\n").append(kHead);
  for (const Ratio& each : now)
    if (find(before, each.figure) == nullptr) out += row(each);
  return out + blank;
}

}  // namespace

std::vector<Ratio> read_ratios(std::string_view file, std::string_view program) {
  std::vector<Ratio> out;
  const auto lines = lines_of(file);
  const Part part = part_of(lines, program);
  for (std::size_t i = part.begin; i < part.end; ++i)
    if (auto ratio = read_row(lines[i])) out.push_back(std::move(*ratio));
  return out;
}

std::string with_ratios(std::string_view file, std::string_view program, const std::vector<Ratio>& now) {
  std::string out;
  const auto lines = lines_of(file);
  const Part part = part_of(lines, program);
  for (std::size_t i = 0; i < part.begin; ++i) out.append(lines[i]).append("\n");
  if (part.begin == lines.size()) out.append(out.empty() ? "" : "\n").append("## ").append(program).append("\n\n");
  out += kept_part(lines, part, now);
  for (std::size_t i = part.end; i < lines.size(); ++i) out.append(lines[i]).append("\n");
  return out;
}

std::string moved_ratios(std::string_view file, std::string_view program, const std::vector<Ratio>& now) {
  std::vector<std::pair<double, std::string>> moved;
  const std::vector<Ratio> before = read_ratios(file, program);
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

RatioFile take_ratio_file(int& argc, char** argv) {
  RatioFile out;
  out.keep = take_word(argc, argv, "--keep");
  constexpr std::string_view kFlag = "--ratios=";
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i]; word.starts_with(kFlag)) out.path = word.substr(kFlag.size());
  if (!out.path.empty()) take_word(argc, argv, std::string(kFlag) + out.path);
  return out;
}

int refuse_ratios_of_once() {
  std::fprintf(stderr, "--once measures too little to be compared: leave out --once or --ratios\n");
  return 2;
}

bool compare_ratios(const RatioFile& file, std::string_view program, const std::vector<Ratio>& now) {
  if (file.path.empty()) return true;
  const auto before = read_file(file.path, kFileBytesMax);
  if (!before && before.error().code != Code::kNotFound) {
    std::fprintf(stderr, "%s\n", before.error().message.c_str());
    return false;
  }
  const std::string text = before ? *before : std::string();
  const std::string moved = moved_ratios(text, program, now);
  std::printf("\nwhat moved against %s%s\n%s", file.path.c_str(), moved.empty() ? ": nothing" : "", moved.c_str());
  if (!file.keep) return true;
  const auto written = write_file_atomically(file.path, with_ratios(text, program, now), 0644);
  if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written.has_value();
}

}  // namespace agentd::bench
