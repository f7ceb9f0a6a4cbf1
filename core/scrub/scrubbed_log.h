// SPDX-License-Identifier: Apache-2.0
#pragma once
// scrubbed_log.h - a diagnostic log without secrets: an entry may quote what a plugin, a server or a tool said.
//
// Threading: thread-safe.

#include <memory>
#include <string_view>

#include "core/base/log.h"
#include "core/scrub/secrets.h"

namespace agentd {

class ScrubbedLog final : public Log {
 public:
  // `secrets` outlives it.
  ScrubbedLog(std::unique_ptr<Log> log, const Secrets& secrets) : log_(std::move(log)), secrets_(secrets) {}
  void write(LogLevel level, std::string_view area, std::string_view text) override;

 private:
  const std::unique_ptr<Log> log_;
  const Secrets& secrets_;
};

}  // namespace agentd
