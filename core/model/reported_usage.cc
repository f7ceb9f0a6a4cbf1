// SPDX-License-Identifier: Apache-2.0
#include "core/model/reported_usage.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {

namespace {

std::uint64_t largest_figure(const Usage& usage) {
  return std::max({usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning});
}

}  // namespace

bool is_possible(const Usage& usage) { return largest_figure(usage) <= kReportedTokensMax; }

std::string drop_impossible_usage(std::string_view provider, ModelResponse& response) {
  if (!response.usage || is_possible(*response.usage)) return {};
  const std::uint64_t most = largest_figure(*response.usage);
  response.usage.reset();
  return std::string(provider) + " reports " + with_commas(most) +
         " tokens, which is impossible: its figures for this answer are ignored, and the "
         "context is estimated";
}

}  // namespace agentd
