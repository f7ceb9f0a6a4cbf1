// SPDX-License-Identifier: Apache-2.0
#include "core/app/plugin_services.h"

#include "core/app/exit_codes.h"
#include "core/base/neutral.h"

namespace agentd::app {
namespace {

constexpr Milliseconds kCallTime{60'000};

Code code_of(agentd_status status) {
  switch (status) {
    case AGENTD_E_ARG:
    case AGENTD_E_TOO_BIG:
      return Code::kInvalid;
    case AGENTD_E_NOT_FOUND:
      return Code::kNotFound;
    case AGENTD_E_BUSY:
      return Code::kBusy;
    case AGENTD_E_CONFLICT:
      return Code::kConflict;
    case AGENTD_E_DENIED:
      return Code::kDenied;
    case AGENTD_E_CANCELLED:
      return Code::kCancelled;
    default:
      return Code::kUnavailable;
  }
}

}  // namespace

Result<std::unique_ptr<PluginServices>, Failure> PluginServices::open(App& app, const Arguments& arguments) {
  const auto cwd = app.directory();
  if (!cwd) return Failure{kExitFailure, cwd.error().message};
  auto config = app.config(arguments);
  if (!config) return Failure{kExitUsage, config.error().message};
  std::unique_ptr<PluginServices> out(new PluginServices(std::move(*config)));
  const Warn warn = [&app](const std::string& text) { app.err().line("warning: " + neutral_line(text, 4096)); };
  auto runtime = Runtime::begin(app.surroundings(), out->config_, app.clock(), {true, false}, warn);
  if (!runtime) return failure_of(runtime.error());
  out->runtime_ = std::move(*runtime);
  auto workplace = Workplace::find(*out->runtime_, *cwd, HookWishes(), warn);
  if (!workplace) return failure_of(workplace.error());
  out->workplace_ = std::move(*workplace);
  if (auto opened = out->runtime_->open(); !opened) return failure_of(opened.error());
  if (auto loaded = out->workplace_->hooks().load(out->workplace_->roots_of(*cwd)); !loaded)
    return failure_of(loaded.error());
  return out;
}

bool PluginServices::offers(std::string_view interface_id, std::string_view operation) const {
  return runtime_->registry().offers(interface_id, operation, project_id());
}

Result<std::string> PluginServices::call(std::string_view interface_id, std::string_view operation,
                                         std::string_view input_json) {
  ServiceRequest request;
  request.interface_id = interface_id;
  request.operation = operation;
  request.input_json = input_json;
  request.project_id = project_id();
  request.deadline = Deadline::after(runtime_->clock(), kCallTime);
  ServiceAnswer answer = runtime_->registry().call(request);
  if (!answer) return Error{code_of(answer.error().status), answer.error().message};
  return std::move(*answer);
}

}  // namespace agentd::app
