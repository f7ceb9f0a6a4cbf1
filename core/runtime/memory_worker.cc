// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/memory_worker.h"

#include <agentd/hook_abi.h>

#include <string>
#include <system_error>

#include "core/base/bytes.h"
#include "core/base/signals_blocked.h"
#include "core/codec/json.h"
#include "core/runtime/provider_table.h"

namespace agentd {
namespace {

constexpr std::string_view kMemoryService = "agentd.memory/1", kRunJobs = "run_jobs";
constexpr const char* kOwnSettings = "hooks.session_memory.config";

bool names_a_model(const Config& config) {
  if (!config.is_set(kOwnSettings)) return false;
  const auto settings = JsonDocument::parse(config.json(kOwnSettings));
  return settings && !settings->root()["model"].string_or("").empty();
}

// A session that a script answered waits for the next one with a script.
std::string input_of(const Config& config, bool asks_model) {
  JsonWriter out;
  out.begin_object().member("max", 1).member("refine", asks_model).key("absent").begin_array();
  if (config.text("scripted.file").empty()) out.string(kScripted);
  out.end_array().end_object();
  return std::string(out.text());
}

void run_jobs(Runtime& runtime, const CancelToken& cancel, bool asks_model) {
  const std::string input = input_of(runtime.config(), asks_model);  // which the request borrows
  ServiceRequest request;
  request.interface_id = kMemoryService;
  request.operation = kRunJobs;
  request.input_json = input;
  request.cancel = cancel;
  const ServiceAnswer done = runtime.registry().call(request);
  if (done || cancel.cancelled()) return;
  runtime.log().write(LogLevel::kWarning, "memory",
                      "no earlier session was distilled: " + one_line(done.error().message, 500));
}

}  // namespace

std::unique_ptr<MemoryWorker> MemoryWorker::start(Runtime& runtime) {
  const Config& config = runtime.config();
  if (!runtime.saves()) return nullptr;
  if (!runtime.registry().offers(kMemoryService, kRunJobs)) return nullptr;
  const bool plays = runtime.model_settings().provider == kScripted;
  const bool asks_model = config.flag("memory.refine") && (!plays || names_a_model(config));
  // They belong to the threads that handle them.
  const SignalsBlocked blocked;
  try {
    return std::unique_ptr<MemoryWorker>(new MemoryWorker(runtime, asks_model));
  } catch (const std::system_error& failed) {
    runtime.log().write(LogLevel::kWarning, "memory", std::string("no thread for memories: ") + failed.what());
    return nullptr;
  }
}

MemoryWorker::MemoryWorker(Runtime& runtime, bool asks_model)
    : thread_([&runtime, cancel = cancel_, asks_model] { run_jobs(runtime, cancel, asks_model); }) {}

MemoryWorker::~MemoryWorker() { cancel_.cancel(AGENTD_CANCEL_SHUTDOWN); }

}  // namespace agentd
