// SPDX-License-Identifier: Apache-2.0
#include "core/agent/token_factors.h"

namespace agentd {
namespace {

constexpr std::string_view kCalibrationSpace = "agentd.calibration";
constexpr std::string_view kKey = "factors";
// Each conflict means that another process has stored its own: one of both gets through.
constexpr int kSaveAttempts = 5;

}  // namespace

Result<std::uint64_t> TokenFactors::read() {
  auto stored = store_.get_key(kCalibrationSpace, kKey);
  if (!stored && stored.error().code == Code::kNotFound) return KeyOp::kAbsent;
  if (!stored) return stored.error();
  // Unreadable factors are written again.
  if (auto read = calibration_.read(stored->value); !read)
    log_.write(LogLevel::kWarning, "tokens", "learned token factors: " + read.error().message);
  return stored->version;
}

void TokenFactors::load() {
  if (auto done = read(); !done)
    log_.write(LogLevel::kWarning, "tokens", "learned token factors cannot be read: " + done.error().message);
}

void TokenFactors::load_once() {
  const MutexLock lock(loading_);
  if (loaded_) return;
  load();
  loaded_ = true;
}

double TokenFactors::of(std::string_view model) {
  load_once();
  return calibration_.factor(model);
}

bool TokenFactors::knows(std::string_view model) {
  load_once();
  return calibration_.knows(model);
}

double TokenFactors::of(std::string_view model, std::string_view otherwise) {
  const double factor = of(otherwise);
  return calibration_.knows(model) ? calibration_.factor(model) : factor;
}

void TokenFactors::learn(std::string_view model, std::uint64_t estimated, std::uint64_t reported) {
  load_once();
  calibration_.learn(model, estimated, reported);
}

void TokenFactors::save() {
  const MutexLock lock(saving_);
  if (!calibration_.moved()) return;
  Error why;
  for (int attempt = 0; attempt < kSaveAttempts; ++attempt) {
    auto version = read();
    if (!version) {
      why = version.error();
      break;
    }
    const KeyOp put{KeyOp::Kind::kPut, std::string(kKey), calibration_.json(), *version};
    auto done = store_.commit_keys(kCalibrationSpace, {&put, 1});
    if (done) return calibration_.saved();
    why = done.error();
    if (why.code != Code::kConflict) break;
  }
  log_.write(LogLevel::kWarning, "tokens", "learned token factors cannot be stored: " + why.message);
}

}  // namespace agentd
