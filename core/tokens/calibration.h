// SPDX-License-Identifier: Apache-2.0
#pragma once
// calibration.h - what a model's tokenizer makes of an estimated token, learned from its own
// reports.
//
// A factor belongs to a model and to the estimator that was corrected: what bytes / 4 needs says
// nothing about a count by byte pairs. It is the ratio of two sums, of reported and of estimated
// tokens, that fade with the tokens that come after them: what a conversation holds now counts
// most, and one odd report moves little.
//
// Threading: thread-safe.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace agentd {

class Calibration {
 public:
  static constexpr double kFactorMin = 0.4, kFactorMax = 4.0;
  // Below it the overhead of a request hides what its text costs.
  static constexpr std::uint64_t kEstimatedMin = 200;
  // After that many estimated tokens an older one weighs 1/e.
  static constexpr double kMemoryTokens = 2'000;

  // `estimator` is TokenEstimator::name().
  explicit Calibration(std::string estimator) : estimator_(std::move(estimator)) {}

  // What an estimate is multiplied with; 1 for a model that has reported nothing yet.
  double factor(std::string_view model) const;
  // True when the model has reported something.
  bool knows(std::string_view model) const;
  // The provider counted `reported` tokens for what was estimated as `estimated`. Reports that
  // cannot be about the same text (ratio outside 1/8 to 8) and tiny ones change nothing.
  void learn(std::string_view model, std::uint64_t estimated, std::uint64_t reported);

  // {"v":1,"factors":[{"model":...,"estimator":...,"estimated":...,"reported":...}]}: the factors
  // of other estimators that read() brought are part of it.
  std::string json() const;
  // Takes factors over; what was learned here since wins over what the text says of the same model.
  // kInvalid: the text is no such JSON; nothing is taken.
  Result<void> read(std::string_view json);

  // True when a factor is more than 1 % off what read() or saved() has last seen.
  bool moved() const;
  // The factors are stored as they are now.
  void saved();

 private:
  struct Sums {
    double estimated = 0, reported = 0;
    bool learned = false;  // here, since the last read()
    double stored = 1;     // the factor that is stored
    double factor() const;
  };
  using Key = std::pair<std::string, std::string>;  // estimator, model

  const std::string estimator_;
  mutable std::mutex mutex_;
  std::map<Key, Sums> sums_;  // guarded by mutex_
};

}  // namespace agentd
