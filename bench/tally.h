// SPDX-License-Identifier: Apache-2.0
#pragma once
// tally.h - what a benchmark has measured of what it has to measure.
//
// Its last line is "NAME: rows measured: 12 of 12", or "..., 2 left out" where the machine lacks something; once.sh
// checks it. A row that is missing is named, and the exit code is 1. With --once, which each benchmark takes, each row
// is measured once and with little data: whether everything runs, not how fast it is.
//
// Threading: values.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::bench {

inline constexpr std::string_view kOnce = "--once";

// Takes the word out of the arguments. Returns whether it was there.
bool take_word(int& argc, char** argv, std::string_view word);

class Tally {
 public:
  // A group of rows, such as one table, has so many; more than before.
  void expect(std::string_view group, int rows);
  // A row of the group was measured. Its figures are finite and above 0: others are of nothing that was measured.
  void measured(std::string_view group, std::initializer_list<double> figures);
  // Rows of the group that this machine cannot measure. Prints why.
  void left_out(std::string_view group, int rows, const std::string& why);

  int count() const;
  // Prints what is missing, and the last line. Returns the exit code.
  int finish() const;

 private:
  struct Group {
    std::string name;
    int expected = 0, measured = 0, left_out = 0, wrong = 0;
  };
  Group& group(std::string_view name);

  std::vector<Group> groups_;
};

}  // namespace agentd::bench
