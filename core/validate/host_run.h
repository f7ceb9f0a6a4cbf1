// SPDX-License-Identifier: Apache-2.0
#pragma once
// host_run.h - runs a module with the real host in a worker, and returns its answers.
//
// No byte of the module runs in this process.
//
// Threading: one thread.

#include <memory>
#include <string>
#include <vector>

#include "core/host/plugin_host.h"
#include "core/validate/stage.h"

namespace agentd::validation {

class HostRun {
 public:
  // kInvalid, kUnavailable: with the host's message.
  static Result<std::unique_ptr<HostRun>> start(const Subject& subject);
  ~HostRun();

  std::vector<std::uint32_t> events() const;
  Answer fire(std::uint32_t event, const agentd_envelope* envelope, const void* payload, Milliseconds deadline);
  std::vector<OfferedService> provided() const;
  ServiceAnswer serve(const OfferedService& service, std::string_view input_json, Milliseconds deadline);
  Result<std::optional<std::string>> save();
  Result<void> load(std::string_view state);

 private:
  HostRun() = default;
  Result<void> begin(const Subject& subject);

  SystemClock clock_;
  NullLog log_;
  TokenTable tokens_;
  ServiceRegistry registry_{clock_, log_};
  std::unique_ptr<Services> services_;
  std::unique_ptr<PluginHost> host_;
  std::unique_ptr<Snapshot> snapshot_;
};

}  // namespace agentd::validation
