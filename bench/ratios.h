// SPDX-License-Identifier: Apache-2.0
#pragma once
// ratios.h - the table of ratios that the tree keeps, and what a run has moved against it.
//
// A ratio is a figure of a run over another of the same run, so that it says little about the machine. The file is
// Markdown: a part for each program, whose heading is its name, and in it words, then a row for each figure with its
// ratio and its noise, a share of the ratio by which two halves of one run differed.
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

// Of a figure that is measured once in a run.
inline constexpr double kNoiseOfOne = 0.2;

// The rows of a program's part; other lines are ignored.
std::vector<Ratio> read_ratios(std::string_view file, std::string_view program);

// The file with `now` in place of the rows of the same figures in the program's part; rows of other figures, words and
// other parts stay. A part that is missing is added at the end. `file` may be empty.
std::string with_ratios(std::string_view file, std::string_view program, const std::vector<Ratio>& now);

// One line for each figure of `now` that differs from the part's by more than the noise of both, or that the part
// lacks; the largest differences first. Empty = none.
std::string moved_ratios(std::string_view file, std::string_view program, const std::vector<Ratio>& now);

// Where a program finds the ratios, and whether it writes its own there: the arguments --ratios=FILE and --keep.
struct RatioFile {
  std::string path;  // empty = none
  bool keep = false;
};
RatioFile take_ratio_file(int& argc, char** argv);
// Says that one round is nothing to compare. Returns the exit code.
int refuse_ratios_of_once();

// Prints what has moved, and writes the ratios of this run to the file if they are to be kept. False: the file can be
// neither read nor written, which was said.
bool compare_ratios(const RatioFile& file, std::string_view program, const std::vector<Ratio>& now);

}  // namespace agentd::bench
