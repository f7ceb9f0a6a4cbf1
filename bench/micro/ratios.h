// SPDX-License-Identifier: Apache-2.0
#pragma once
// ratios.h - the table of ratios that the tree keeps, and what a run has moved against it.
//
// A ratio is a figure of a run over another of the same run, so that it says little about the machine. The table is
// Markdown: a head in words, then a row for each figure with its ratio and its noise, a share of the ratio by which two
// halves of one run differed.
//
// Threading: values.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::bench {

struct Ratio {
  std::string figure;  // without '|'
  double value = 0;
  double noise = 0;  // 0.1 = a tenth of the value
};

// The rows of a table; other lines are ignored.
std::vector<Ratio> read_ratios(std::string_view table);

// The table with `now` in place of the rows of the same figures; rows of other figures and the head stay. `table` may
// be empty.
std::string with_ratios(std::string_view table, const std::vector<Ratio>& now);

// One line for each figure of `now` that differs from the table's by more than the noise of both, or that the table
// lacks; the largest differences first. Empty = none.
std::string moved_ratios(std::string_view table, const std::vector<Ratio>& now);

}  // namespace agentd::bench
