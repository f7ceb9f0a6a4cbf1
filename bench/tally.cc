// SPDX-License-Identifier: Apache-2.0
#include "bench/tally.h"

#include <errno.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace agentd::bench {

bool take_word(int& argc, char** argv, std::string_view word) {
  char** const end = std::remove_if(argv + 1, argv + argc, [&](const char* each) { return each == word; });
  const bool found = end != argv + argc;
  argc = static_cast<int>(end - argv);
  argv[argc] = nullptr;
  return found;
}

Tally::Group& Tally::group(std::string_view name) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& each) { return each.name == name; });
  if (found != groups_.end()) return *found;
  groups_.push_back({std::string(name)});
  return groups_.back();
}

void Tally::expect(std::string_view name, int rows) { group(name).expected += rows; }

void Tally::measured(std::string_view name, std::initializer_list<double> figures) {
  const bool right =
      std::all_of(figures.begin(), figures.end(), [](double each) { return std::isfinite(each) && each > 0; });
  ++(right && figures.size() != 0 ? group(name).measured : group(name).wrong);
}

void Tally::left_out(std::string_view name, int rows, const std::string& why) {
  group(name).left_out += rows;
  std::printf("left out: %d of %.*s: %s\n", rows, static_cast<int>(name.size()), name.data(), why.c_str());
}

int Tally::count() const {
  int out = 0;
  for (const Group& each : groups_) out += each.measured;
  return out;
}

int Tally::finish() const {
  int expected = 0, left_out = 0;
  bool whole = count() > 0;
  for (const Group& each : groups_) {
    expected += each.expected;
    left_out += each.left_out;
    if (each.wrong == 0 && each.measured + each.left_out == each.expected) continue;
    whole = false;
    std::printf("%s: %d of %d rows measured, %d with a figure that is no measurement\n", each.name.c_str(),
                each.measured, each.expected, each.wrong);
  }
  std::printf("%s: rows measured: %d of %d", program_invocation_short_name, count(), expected);
  if (left_out != 0) std::printf(", %d left out", left_out);
  std::printf("\n");
  return whole ? 0 : 1;
}

}  // namespace agentd::bench
