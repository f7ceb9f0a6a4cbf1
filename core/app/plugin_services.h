// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_services.h - what plugins offer in the current directory, for commands: its hooks are loaded, no model is
// needed and no event is fired.
//
// Threading: one thread.

#include <memory>
#include <string>
#include <string_view>

#include "core/app/app.h"
#include "core/app/failure.h"
#include "core/app/options.h"
#include "core/runtime/runtime.h"
#include "core/workplace/workplace.h"

namespace agentd::app {

class PluginServices {
 public:
  // Opens the store, and makes it where there is none. Warnings go to standard error. `app` outlives the result.
  static Result<std::unique_ptr<PluginServices>, Failure> open(App& app, const Arguments& arguments);

  Store& store() { return runtime_->store(); }
  const std::string& project_id() const { return workplace_->project().id; }
  bool offers(std::string_view interface_id, std::string_view operation) const;
  // The result's JSON. kUnavailable: no plugin offers it, or it cannot do it now; kInvalid: the input.
  Result<std::string> call(std::string_view interface_id, std::string_view operation, std::string_view input_json);

 private:
  explicit PluginServices(Config config) : config_(std::move(config)) {}

  const Config config_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Workplace> workplace_;
};

}  // namespace agentd::app
