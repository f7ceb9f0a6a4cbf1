// SPDX-License-Identifier: Apache-2.0
#pragma once
// host_fixture.h - a PluginHost over a hooks directory of the test's own, with services that refuse.
//
// Threading: one test thread.

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/host/plugin_host.h"
#include "tests/support/temp_dir.h"
#include "tests/support/unavailable_services.h"

namespace agentd::testing {

class RecordingLog final : public Log {
 public:
  void write(LogLevel level, std::string_view area, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(area) + " " + std::string(text));
  }
  bool has(std::string_view part) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(lines_.begin(), lines_.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// The directory is `hooks` of a temporary one; files are put there with modes that pass.
class HostFixture {
 public:
  explicit HostFixture(const std::string& modules) : modules_(modules) {
    ::mkdir(hooks().c_str(), 0700);
    options.directories = {{hooks(), Precedence::kUser}};
    options.private_copy_directory = temp.file("copies");
    options.isolation = Isolation::kInProcess;
  }

  std::string hooks() const { return temp.file("hooks"); }
  std::string path(const std::string& file) const { return hooks() + "/" + file; }
  // Copies a module that the build made; returns its path.
  std::string install(const std::string& module, const std::string& as = "") const {
    return install_from(modules_, module, as.empty() ? module : as);
  }
  std::string install_from(const std::string& directory, const std::string& module, const std::string& as) const {
    const std::string to = path(as + ".so");
    std::filesystem::copy_file(directory + "/" + module + ".so", to);
    ::chmod(to.c_str(), 0644);
    return to;
  }
  std::string put(const std::string& file, std::string_view bytes) const {
    temp.write("hooks/" + file, bytes);
    ::chmod(path(file).c_str(), 0644);
    return path(file);
  }

  // Loads, and publishes what was loaded.
  PluginHost& load() {
    host = std::make_unique<PluginHost>(options, tokens, services, clock, log);
    host->load_all();
    dispatcher.publish(host->subscriptions());
    return *host;
  }

  // Dispatches a before_tool_call of `tool`, which has `time`; 0 = as long as it takes.
  std::unique_ptr<Outcome> before_tool_call(std::string_view tool, TraceSink* trace = nullptr,
                                            Milliseconds time = Milliseconds(0)) {
    agentd_tool_call payload{};
    payload.size = sizeof(payload);
    payload.name = to_abi(tool);
    payload.input_json = to_abi("{}");
    agentd_envelope envelope{};
    envelope.size = sizeof(envelope);
    Dispatch event;
    event.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
    event.envelope = &envelope;
    event.payload = &payload;
    if (time.count() != 0) event.deadline_ns = Deadline::after(clock, time).at_ns;
    const SlotLease slot(tokens);
    return dispatch(*dispatcher.pin(), *slot, event, trace);
  }

  TempDir temp;
  PluginHostOptions options;
  SystemClock clock;
  RecordingLog log;
  UnavailableServices services;
  TokenTable tokens;
  std::unique_ptr<PluginHost> host;
  Dispatcher dispatcher{clock};

 private:
  const std::string modules_;
};

}  // namespace agentd::testing
