// SPDX-License-Identifier: Apache-2.0
#pragma once
// plan.h - the agent's plan, as a tool reports it to the surfaces.
//
// A tool that keeps a list of tasks puts it into its structured result: {"plan":[{"content":"...","status":"pending",
// "priority":"medium"}]}. The list replaces the last one of the conversation. The words are those of the Agent Client
// Protocol's plan update (agentclientprotocol.com, "Agent Plan").
//
// Threading: values.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentd {

struct PlanEntry {
  enum class Status { kPending, kInProgress, kCompleted };
  enum class Priority { kHigh, kMedium, kLow };
  std::string content;
  Status status = Status::kPending;
  Priority priority = Priority::kMedium;
  bool operator==(const PlanEntry&) const = default;
};
std::string_view name_of(PlanEntry::Status status);
std::string_view name_of(PlanEntry::Priority priority);

inline constexpr std::size_t kPlanEntriesMax = 100;
inline constexpr std::size_t kPlanContentBytesMax = 2'000;

// nullopt: the result has no plan, or one that is not valid or exceeds the limits. An empty plan is one.
std::optional<std::vector<PlanEntry>> plan_in(std::string_view structured_json);

}  // namespace agentd
