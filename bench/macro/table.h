// SPDX-License-Identifier: Apache-2.0
#pragma once
// table.h - samples, what they come to, and how they are printed.
//
// Threading: values.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace agentd::bench {

class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  double min() const { return *std::min_element(values_.begin(), values_.end()); }
  double max() const { return *std::max_element(values_.begin(), values_.end()); }
  double median() const {
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t index) const { return values_[index]; }

 private:
  std::vector<double> values_;
};

// Of the rounds that both took part in: a/b, and a-b.
inline Samples ratios(const Samples& a, const Samples& b) {
  Samples out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) out.add(a[i] / b[i]);
  return out;
}
inline Samples differences(const Samples& a, const Samples& b) {
  Samples out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) out.add(a[i] - b[i]);
  return out;
}

inline void print_samples(const char* label, const Samples& samples, const char* unit) {
  std::printf("  %-44s %8.2f %8.2f %8.2f %s\n", label, samples.min(), samples.median(), samples.max(), unit);
}
inline void print_aim(const char* label, double value, double limit, const char* unit) {
  std::printf("  %-44s %8.2f   aim <= %.2f %-3s %s\n", label, value, limit, unit,
              value <= limit       ? "met"
              : value <= 2 * limit ? "MISSED"
                                   : "MISSED by more than 2 x");
}

}  // namespace agentd::bench
