// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_tools.h - the tools of the loaded plugins, as one source.
//
// Plugins may add and remove tools at any time, so the list is made on request.
//
// Threading: as ToolSource.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/native/plugin.h"
#include "core/tools/tool.h"

namespace agentd {

class PluginTools final : public ToolSource {
 public:
  // `plugins` returns the current ones in order of precedence, on any thread; a call keeps its plugin alive. The
  // arguments outlive the source.
  using Plugins = std::function<std::vector<std::shared_ptr<Plugin>>()>;
  // `why_denied` returns what a failed call of the plugin may be for want of, a sentence for the model and the user;
  // empty = nothing. Called on any thread.
  using WhyDenied = std::function<std::string(const Plugin&)>;
  PluginTools(Plugins plugins, const Clock& clock, WhyDenied why_denied = {});

  // If two tools have one name, the first in order is used.
  std::vector<Tool> tools() const override;
  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline deadline) override;

  // One sentence for each tool that another plugin's tool hides.
  std::vector<std::string> duplicates() const;

 private:
  const Plugins plugins_;
  const Clock& clock_;
  const WhyDenied why_denied_;
};

}  // namespace agentd
