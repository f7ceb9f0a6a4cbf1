// SPDX-License-Identifier: Apache-2.0
// What an agent without a configuration uses, and what the table of settings says that it uses, are the same.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/agent/agent.h"
#include "core/agent/run_queue.h"
#include "core/config/config_keys.h"

namespace agentd {
namespace {

TEST(Defaults, OfTheAgentAreThoseOfTheTableOfSettings) {
  const RuntimeSettings runtime;
  const WorkplaceSettings workplace;
  const RunQueue::Limits runs;
  const std::pair<const char*, std::uint64_t> defaults[] = {
      {"max_output_tokens", runtime.max_output_tokens},
      {"compaction.summary_tokens", runtime.summary_tokens},
      {"budget.hook_call_tokens", runtime.hook_call_tokens},
      {"budget.hook_run_tokens", runtime.hook_run_tokens},
      {"network.retries_per_run", runtime.retries_per_run},
      {"sessions.active_runs", runs.active_runs},
      {"sessions.queued_runs", runs.queued_runs},
      {"sessions.open", runs.open},
      {"sessions.posted_messages", runtime.posted_messages},
      {"hooks.deadline_ms", static_cast<std::uint64_t>(workplace.hook_deadline.count())}};
  for (const auto& [name, value] : defaults) {
    const KeySpec* const key = find_key(name);
    ASSERT_NE(key, nullptr) << name;
    EXPECT_EQ(key->standard, std::to_string(value)) << name;
  }
}

}  // namespace
}  // namespace agentd
