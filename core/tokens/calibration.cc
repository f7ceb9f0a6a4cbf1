// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr double kPlausible = 8;
constexpr double kMoved = 0.01;
// More models than anyone uses: a tampered file must not grow without end.
constexpr std::size_t kCalibratedModelsMax = 256;

bool is_plausible(double estimated, double reported) {
  return reported * kPlausible >= estimated && reported <= estimated * kPlausible;
}

}  // namespace

double Calibration::Sums::factor() const {
  if (estimated <= 0) return 1;
  return std::clamp(reported / estimated, kFactorMin, kFactorMax);
}

double Calibration::factor(std::string_view model) const {
  const MutexLock lock(mutex_);
  const auto found = sums_.find({estimator_, std::string(model)});
  return found == sums_.end() ? 1 : found->second.factor();
}

bool Calibration::knows(std::string_view model) const {
  const MutexLock lock(mutex_);
  return sums_.find({estimator_, std::string(model)}) != sums_.end();
}

void Calibration::learn(std::string_view model, std::uint64_t estimated, std::uint64_t reported) {
  const auto weight = static_cast<double>(estimated), truth = static_cast<double>(reported);
  if (estimated < kEstimatedMin || !is_plausible(weight, truth)) return;
  // As if the tokens had come one by one: a long report fades its own beginning, too.
  const double fade = std::exp(-weight / kMemoryTokens);
  const double fresh = kMemoryTokens * (1 - fade);
  const MutexLock lock(mutex_);
  const Key key{estimator_, std::string(model)};
  if (sums_.size() >= kCalibratedModelsMax && sums_.find(key) == sums_.end()) return;
  Sums& sums = sums_[key];
  sums.estimated = sums.estimated * fade + fresh;
  sums.reported = sums.reported * fade + fresh * truth / weight;
  sums.learned = true;
}

std::string Calibration::json() const {
  const MutexLock lock(mutex_);
  JsonWriter out;
  out.begin_object().member("v", 1).key("factors").begin_array();
  for (const auto& [key, sums] : sums_) {
    out.begin_object().member("model", key.second).member("estimator", key.first);
    out.key("estimated").real(sums.estimated).key("reported").real(sums.reported).end_object();
  }
  out.end_array().end_object();
  return std::string(out.text());
}

Result<void> Calibration::read(std::string_view json) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(json));
  const JsonView factors = document.root()["factors"];
  if (document.root()["v"].uint_or(0) != 1 || !factors.is_array())
    return Error{Code::kInvalid, "learned token factors must be {\"v\":1,\"factors\":[...]}"};
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < std::min(factors.size(), kCalibratedModelsMax); ++i) {
    const JsonView one = factors.at(i);
    Sums read;
    read.estimated = one["estimated"].number_or(0);
    read.reported = one["reported"].number_or(0);
    const Key key{std::string(one["estimator"].string_or({})), std::string(one["model"].string_or({}))};
    if (key.first.empty() || key.second.empty() || !(read.estimated > 0) || read.estimated > kMemoryTokens + 1 ||
        !is_plausible(read.estimated, read.reported))
      continue;
    read.stored = read.factor();
    Sums& here = sums_[key];
    if (!here.learned) here = read;
    here.stored = read.stored;
  }
  return {};
}

bool Calibration::moved() const {
  const MutexLock lock(mutex_);
  return std::any_of(sums_.begin(), sums_.end(), [](const auto& one) {
    const Sums& sums = one.second;
    return sums.learned && std::abs(sums.factor() - sums.stored) > kMoved * sums.stored;
  });
}

void Calibration::saved() {
  const MutexLock lock(mutex_);
  for (auto& [key, sums] : sums_) {
    sums.learned = false;
    sums.stored = sums.factor();
  }
}

}  // namespace agentd
