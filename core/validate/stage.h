// SPDX-License-Identifier: Apache-2.0
#pragma once
// stage.h - runs a module in this process: its instances, and their answers to events.
//
// The host's real tables are behind a core of the stage's own that observes the calls. A crash kills this process,
// which is a child made for it.
//
// Threading: one thread, but for fire() of an Instance, which several may call if its module is concurrent.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/bridge/module.h"
#include "core/bridge/plugin_context.h"
#include "core/native/ext_tables.h"
#include "core/native/manifest.h"
#include "core/native/plugin.h"
#include "core/services/registry.h"
#include "core/trust/sealed_file.h"
#include "core/validate/samples.h"

namespace agentd::validation {

// The module under test, for every check.
struct Subject {
  std::string path, name;  // name: the file's, without its ending
  std::string bytes;
  SealedFile sealed;
  Manifest manifest;
  std::string config_json = "{}";
  std::string directory;                      // an empty working directory
  std::string sidecar;                        // text of NAME.hook.json; empty = none
  std::string worker;                         // agentd-hook-worker; empty = not installed
  Isolation profile = Isolation::kInProcess;  // where the hook runs; only rules relevant there are checked
  Milliseconds patience{20'000};              // repetitions of a check end within half of it
};

// A hook's answer to one event.
struct Answer {
  agentd_status status = AGENTD_OK;
  AnswerEffect effect = AnswerEffect::kNone;
  std::string failure, note;
  std::vector<std::string> actions;
  std::uint64_t took_ms = 0;

  // Everything but the time, on one line.
  std::string text() const;
  bool operator==(const Answer& other) const { return text() == other.text(); }
};

// Observations of an instance's core.
struct Seen {
  std::atomic<std::uint32_t> illegal{0};  // actions that the event does not allow
  std::atomic<std::uint32_t> malformed{0};
  std::atomic<std::uint32_t> late{0};       // emitted with a stale token
  std::atomic<std::uint32_t> pending{0};    // calls that were left pending
  std::atomic<std::int32_t> odd_status{0};  // a status that the ABI does not have
};

class Stage {
 public:
  explicit Stage(const Subject& subject);
  ~Stage();
  Result<void> load();
  const Subject& subject() const { return subject_; }
  const PluginRecord& record() const { return record_; }
  // The events of its rows, without duplicates.
  std::vector<std::uint32_t> events() const;

  const Subject& subject_;
  SystemClock clock;
  NullLog log;
  TokenTable tokens;
  std::unique_ptr<Services> services;
  std::unique_ptr<Workspace> workspace;
  std::unique_ptr<ExtTables> tables;
  ServiceRegistry registry{clock, log};  // empty: no other plugin is here

 private:
  PluginRecord record_;
};

class Instance {
 public:
  struct Options {
    bool bare = false;        // grants only what the manifest requires
    bool deaf = false;        // refuses every action and all memory
    bool in_process = false;  // claims to be the host's process, whatever the profile
  };
  explicit Instance(Stage& stage) : Instance(stage, Options()) {}
  Instance(Stage& stage, Options options);
  ~Instance();

  Result<void> create();
  Answer fire(const SampleEvent& sample, const CancelToken& cancel = CancelToken(),
              Milliseconds deadline = Milliseconds(3'000));
  // nullopt = the module is stateless.
  // The services that it offers, and one call of one.
  std::vector<OfferedService> provided() const { return context_->provided(); }
  ServiceAnswer serve(const OfferedService& service, std::string_view input_json,
                      Milliseconds deadline = Milliseconds(3'000));
  Result<std::optional<std::string>> save();
  Result<void> load(std::string_view state);
  Result<void> destroy();
  const Seen& seen() const { return *seen_; }
  void* self() const { return self_; }

  // A row whose calls are observed.
  struct Row {
    agentd_fn fn = nullptr;
    void* self = nullptr;
    Seen* seen = nullptr;
  };
  struct Spy {
    agentd_core table{};
    const agentd_core* real = nullptr;
    Seen* seen = nullptr;
    bool deaf = false;
  };

 private:
  agentd_call through_spy(const agentd_call* call) const;
  struct Served;
  static agentd_status AGENTD_CALL run_served(void* self, const agentd_call* call) noexcept;
  agentd_create_info create_info() const;
  Stage& stage_;
  const bool in_process_;
  std::unique_ptr<PluginContext> context_;
  std::unique_ptr<Spy> spy_;
  std::unique_ptr<Seen> seen_ = std::make_unique<Seen>();
  std::shared_ptr<Mutex> turn_;
  std::vector<Row> rows_;  // in the record's order
  void* self_ = nullptr;
  bool created_ = false;
};

}  // namespace agentd::validation
