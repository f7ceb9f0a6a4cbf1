// SPDX-License-Identifier: Apache-2.0
#include "core/model/reported_usage.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {

std::string drop_impossible_usage(std::string_view provider, ModelResponse& response) {
  if (!response.usage) return {};
  const Usage& said = *response.usage;
  const std::uint64_t most =
      std::max({said.input, said.output, said.cache_read, said.cache_write, said.reasoning});
  if (most <= kReportedTokensMax) return {};
  response.usage.reset();
  return std::string(provider) + " reports " + with_commas(most) +
         " tokens, which no answer can have: its figures for this answer are left out, and the "
         "context is estimated";
}

}  // namespace agentd
