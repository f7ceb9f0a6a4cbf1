// SPDX-License-Identifier: Apache-2.0
#pragma once
// calibration.h - the ratio of a model's real tokens to estimated ones, learned from its reports.
//
// A factor belongs to a model and an estimator: a correction for bytes / 4 does not apply to a byte-pair count. It is
// the ratio of two sums, reported and estimated tokens, that fade as later tokens arrive: the current content of a
// conversation weighs most, and one odd report changes little.
//
// Threading: thread-safe.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/result.h"

namespace agentd {

class Calibration {
 public:
  static constexpr double kFactorMin = 0.4, kFactorMax = 4.0;
  // Below it the overhead of a request hides the cost of its text.
  static constexpr std::uint64_t kEstimatedMin = 200;
  // After that many estimated tokens an older one weighs 1/e.
  static constexpr double kMemoryTokens = 2'000;

  // `estimator` is TokenEstimator::name().
  explicit Calibration(std::string estimator) : estimator_(std::move(estimator)) {}

  // The factor for an estimate; 1 for a model without reports.
  double factor(std::string_view model) const;
  // True if the model has reported something.
  bool knows(std::string_view model) const;
  // The provider counted `reported` tokens for what was estimated as `estimated`. Reports that
  // cannot be about the same text (ratio outside 1/8 to 8) and tiny ones change nothing.
  void learn(std::string_view model, std::uint64_t estimated, std::uint64_t reported);

  // {"v":1,"factors":[{"model":...,"estimator":...,"estimated":...,"reported":...}]}; includes factors of other
  // estimators that read() loaded.
  std::string json() const;
  // Loads factors; factors learned here since override the text's. kInvalid: the text is not such JSON; nothing is
  // loaded.
  Result<void> read(std::string_view json);

  // True if a factor is more than 1 % off its value at the last read() or saved().
  bool moved() const;
  // Notes that the current factors are stored.
  void saved();

 private:
  struct Sums {
    double estimated = 0, reported = 0;
    bool learned = false;  // here, since the last read()
    double stored = 1;     // the stored factor
    double factor() const;
  };
  using Key = std::pair<std::string, std::string>;  // estimator, model

  const std::string estimator_;
  mutable Mutex mutex_;
  std::map<Key, Sums> sums_ GUARDED_BY(mutex_);
};

}  // namespace agentd
