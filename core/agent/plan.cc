// SPDX-License-Identifier: Apache-2.0
#include "core/agent/plan.h"

#include <array>
#include <utility>

#include "core/codec/json.h"

namespace agentd {
namespace {

template <class Value, std::size_t N>
using Names = std::array<std::pair<Value, std::string_view>, N>;

constexpr Names<PlanEntry::Status, 3> kStatuses{{{PlanEntry::Status::kPending, "pending"},
                                                 {PlanEntry::Status::kInProgress, "in_progress"},
                                                 {PlanEntry::Status::kCompleted, "completed"}}};
constexpr Names<PlanEntry::Priority, 3> kPriorities{{{PlanEntry::Priority::kHigh, "high"},
                                                     {PlanEntry::Priority::kMedium, "medium"},
                                                     {PlanEntry::Priority::kLow, "low"}}};

template <class Value, std::size_t N>
std::string_view name_in(const Names<Value, N>& names, Value value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return names.front().second;
}

template <class Value, std::size_t N>
bool find_in(const Names<Value, N>& names, std::string_view name, Value& out) {
  for (const auto& [known, its_name] : names) {
    if (its_name != name) continue;
    out = known;
    return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(PlanEntry::Status status) { return name_in(kStatuses, status); }
std::string_view name_of(PlanEntry::Priority priority) { return name_in(kPriorities, priority); }

std::optional<std::vector<PlanEntry>> plan_in(std::string_view structured_json) {
  if (structured_json.find("\"plan\"") == std::string_view::npos) return std::nullopt;  // most results
  const auto parsed = JsonDocument::parse(structured_json);
  if (!parsed) return std::nullopt;
  const JsonView plan = parsed->root()["plan"];
  if (!plan.is_array() || plan.size() > kPlanEntriesMax) return std::nullopt;
  std::vector<PlanEntry> out;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const JsonView from = plan.at(i);
    PlanEntry entry;
    entry.content = std::string(from["content"].string_or({}));
    if (entry.content.empty() || entry.content.size() > kPlanContentBytesMax) return std::nullopt;
    if (!find_in(kStatuses, from["status"].string_or({}), entry.status)) return std::nullopt;
    if (from["priority"].exists() && !find_in(kPriorities, from["priority"].string_or({}), entry.priority))
      return std::nullopt;
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace agentd
