// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipe_tools.h - the tools of a session: those of its client, of its workplace's plugins and MCP servers and of its
// own servers, as far as the recipe in use leaves them to it.
//
// A name is that of the client's tool, else of a plugin's, else of a server's.
//
// Threading: limit() and own_servers() between turns; the rest as ToolSource.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tools/elicitor.h"
#include "core/tools/missing_tools.h"
#include "core/tools/tool.h"
#include "core/workplace/workplace.h"

namespace agentd {

class RecipeTools final : public ToolSource, public MissingTools {
 public:
  // `workplace` outlives it, which may be loaded later, and so does `person`, whom servers may ask for values (null =
  // nobody is there). `own`: the client's; null = none.
  RecipeTools(Workplace& workplace, std::shared_ptr<ToolSource> own, Elicitor* person)
      : workplace_(workplace), own_(std::move(own)), person_(person) {}

  // The servers of this session alone; null = there are none.
  std::unique_ptr<mcp::McpTools>& own_servers() { return servers_; }
  // Waits until those have listed their tools, or the deadline.
  void wait(Deadline deadline) {
    if (servers_) servers_->wait({}, deadline);
  }

  struct Limits {
    std::optional<std::vector<std::string>> names{};     // these tools alone
    std::optional<std::vector<std::string>> commands{};  // of the shell tool; see commands.h
  };
  // From the next run on.
  void limit(Limits limits) { limits_ = std::move(limits); }
  bool has(std::string_view name) const;
  // The MCP servers that still start for the first time, by name: those of the workplace, then the session's own.
  std::vector<std::string> starting() const;

  std::vector<Tool> tools() const override;
  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline deadline) override;
  std::string why_missing(std::string_view name) const override;

 private:
  std::vector<mcp::McpTools*> servers() const;
  // The sources, the first of which counts for a name.
  std::vector<ToolSource*> sources() const;

  Workplace& workplace_;
  const std::shared_ptr<ToolSource> own_;  // shared with the client
  Elicitor* const person_;
  std::unique_ptr<mcp::McpTools> servers_;
  Limits limits_;
};

}  // namespace agentd
