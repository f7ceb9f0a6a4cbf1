// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipe_tools.h - a workplace's tools, as far as the recipe in use leaves them to a session.
//
// Threading: limit() between runs; the rest as ToolSource.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tools/tool.h"
#include "core/workplace/hooks.h"

namespace agentd {

class RecipeTools final : public ToolSource {
 public:
  // `hooks` outlive it; those that bring tools may be loaded later.
  explicit RecipeTools(const Hooks& hooks) : hooks_(hooks) {}

  struct Limits {
    std::optional<std::vector<std::string>> names{};     // these tools alone
    std::optional<std::vector<std::string>> commands{};  // of the shell tool; see commands.h
  };
  // From the next run on.
  void limit(Limits limits) { limits_ = std::move(limits); }
  bool has(std::string_view name) const;

  std::vector<Tool> tools() const override;
  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline deadline) override;

 private:
  const Hooks& hooks_;
  Limits limits_;
};

}  // namespace agentd
