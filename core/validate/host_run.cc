// SPDX-License-Identifier: Apache-2.0
#include "core/validate/host_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/validate/sample_services.h"

namespace agentd::validation {
namespace {

// Installs the module in a directory of its own, as a user would.
Result<std::string> install(const Subject& subject) {
  const std::string directory = subject.directory + "/hooks";
  if (::access((directory + "/" + subject.name + ".so").c_str(), F_OK) == 0) return directory;
  AGENTD_TRY_VOID(make_directories(directory));
  AGENTD_TRY_VOID(write_file_atomically(directory + "/" + subject.name + ".so", subject.bytes, 0600));
  if (!subject.sidecar.empty())
    AGENTD_TRY_VOID(write_file_atomically(directory + "/" + subject.name + ".hook.json", subject.sidecar, 0600));
  return directory;
}

class HeardInHost final : public TraceSink {
 public:
  explicit HeardInHost(Answer& out) : out_(out) {}
  void on_hook(const HookTrace& trace) override {
    out_.status = trace.status;
    out_.effect = trace.effect;
    out_.failure = trace.failure;
    out_.note = trace.note;
    out_.took_ms = trace.duration_ns / 1'000'000;
    for (const Action& action : trace.actions) out_.actions.push_back(action_text(action));
  }

 private:
  Answer& out_;
};

}  // namespace

Result<std::unique_ptr<HostRun>> HostRun::start(const Subject& subject) {
  std::unique_ptr<HostRun> out(new HostRun());
  AGENTD_TRY_VOID(out->begin(subject));
  return out;
}

HostRun::~HostRun() {
  snapshot_.reset();
  host_.reset();
}

Result<void> HostRun::begin(const Subject& subject) {
  AGENTD_TRY(const std::string directory, install(subject));
  services_ = std::make_unique<SampleServices>();
  PluginHostOptions options;
  options.directories = {{directory, Precedence::kUser}};
  options.private_copy_directory = subject.directory + "/private";
  options.roots = {subject.directory};
  options.worker.program = subject.worker;
  options.registry = &registry_;
  PluginConfig& config = options.plugins[subject.name];
  config.config_json = subject.config_json;
  config.isolation = Isolation::kProcess;
  config.grants.emplace();  // everything it asks for
  const Manifest& manifest = subject.manifest;
  for (const auto* const asked : {&manifest.required, &manifest.wanted, &manifest.drafts, &manifest.capabilities})
    config.grants->insert(asked->begin(), asked->end());
  host_ = std::make_unique<PluginHost>(options, tokens_, *services_, clock_, log_);
  host_->load_all();
  if (host_->plugins().empty())
    return Error{Code::kInvalid, host_->problems().empty() ? "it was not loaded" : host_->problems()[0].message};
  snapshot_ = std::make_unique<Snapshot>(host_->subscriptions(), std::vector<std::string>{}, clock_);
  return {};
}

std::vector<std::uint32_t> HostRun::events() const {
  std::vector<std::uint32_t> out;
  for (const Subscription& each : snapshot_->subscriptions())
    if (std::find(out.begin(), out.end(), each.event) == out.end()) out.push_back(each.event);
  return out;
}

Answer HostRun::fire(std::uint32_t event, const agentd_envelope* envelope, const void* payload, Milliseconds deadline) {
  const SlotLease slot(tokens_);
  Dispatch dispatched;
  dispatched.event = event;
  dispatched.conversation = 1;
  dispatched.envelope = envelope;
  dispatched.payload = payload;
  dispatched.deadline_ns = Deadline::after(clock_, deadline).at_ns;
  dispatched.slots = &tokens_;
  Answer out;
  HeardInHost heard(out);
  (void)dispatch(*snapshot_, *slot, dispatched, &heard);
  return out;
}

std::vector<OfferedService> HostRun::provided() const { return host_->plugins()[0]->services(); }

// Not by the registry, which would judge the answer.
ServiceAnswer HostRun::serve(const OfferedService& service, std::string_view input_json, Milliseconds deadline) {
  ServiceRequest request;
  request.interface_id = service.interface_id;
  request.operation = service.operation;
  request.input_json = input_json;
  request.project_id = "project";
  request.deadline = Deadline::after(clock_, deadline);
  return host_->plugins()[0]->call_service(service, request);
}

Result<std::optional<std::string>> HostRun::save() { return host_->plugins()[0]->save_state(); }

Result<void> HostRun::load(std::string_view state) {
  return host_->plugins()[0]->load_state(state, host_->plugins()[0]->identity().version);
}

}  // namespace agentd::validation
