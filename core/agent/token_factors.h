// SPDX-License-Identifier: Apache-2.0
#pragma once
// token_factors.h - the corrections of token estimates (calibration.h), kept in the store from
// session to session. Private to this room.
//
// They are read when the first estimate is asked for and written when a session ends, if they
// moved: never during a run. A store that fails here is a line of the log and nothing else: a run
// without corrections is a run with rougher estimates.
//
// Threading: thread-safe.

#include <string_view>

#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/store/store.h"
#include "core/tokens/calibration.h"

namespace agentd {

class TokenFactors {
 public:
  // Both outlive this. `estimator` is TokenEstimator::name().
  TokenFactors(Store& store, Log& log, std::string_view estimator)
      : store_(store), log_(log), calibration_(std::string(estimator)) {}

  double of(std::string_view model);
  // True when the model has reported something.
  bool knows(std::string_view model);
  // The same; a model that has reported nothing yet is taken for another one, which read the same
  // conversation.
  double of(std::string_view model, std::string_view otherwise);
  void learn(std::string_view model, std::uint64_t estimated, std::uint64_t reported);
  // Stores the factors when one moved by more than 1 %. What another process stored meanwhile for
  // other models is kept.
  void save();

 private:
  // The stored factors; their version, 0 = there are none.
  Result<std::uint64_t> read();
  void load();
  void load_once();

  Store& store_;
  Log& log_;
  Calibration calibration_;
  Mutex loading_;
  bool loaded_ GUARDED_BY(loading_) = false;
  Mutex saving_;
};

}  // namespace agentd
