// SPDX-License-Identifier: Apache-2.0
#pragma once
// stage.h - a module in this process, its instances, and what they answer to events.
//
// The real tables of the host stand behind a core of the stage's own that sees what passes. Whatever goes wrong
// kills this process: it is a child that was made for it.
//
// Threading: one thread, but for fire() of one Instance, which may be called from several when its module is
// concurrent.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/base/timed_mutex.h"
#include "core/bridge/module.h"
#include "core/bridge/plugin_context.h"
#include "core/native/ext_tables.h"
#include "core/native/manifest.h"
#include "core/native/plugin.h"
#include "core/trust/sealed_file.h"
#include "core/validate/samples.h"

namespace agentd::validation {

// The module under test, as every check gets it.
struct Subject {
  std::string path, name;  // name: of the file, without its end
  std::string bytes;
  SealedFile sealed;
  Manifest manifest;
  std::string config_json = "{}";
  std::string directory;                      // an empty one to work in
  std::string sidecar;                        // text of NAME.hook.json; empty = none
  std::string worker;                         // the program that runs isolated hooks; empty = there is none
  Isolation profile = Isolation::kInProcess;  // what matters to a hook that runs there is judged
  Milliseconds patience{20'000};              // what a check repeats ends within half of it
};

// What a hook did with one event.
struct Answer {
  agentd_status status = AGENTD_OK;
  std::string effect, failure, note;
  std::vector<std::string> actions;
  std::uint64_t took_ms = 0;

  // Everything but the time, on one line.
  std::string text() const;
  bool operator==(const Answer& other) const { return text() == other.text(); }
};

// What the core of an instance has seen pass.
struct Seen {
  std::atomic<std::uint32_t> illegal{0};  // actions that the event does not allow
  std::atomic<std::uint32_t> malformed{0};
  std::atomic<std::uint32_t> late{0};       // to a token that had ended
  std::atomic<std::uint32_t> pending{0};    // calls that were left pending
  std::atomic<std::int32_t> odd_status{0};  // one that the ABI does not know
};

class Stage {
 public:
  explicit Stage(const Subject& subject);
  ~Stage();
  Result<void> load();
  const Subject& subject() const { return subject_; }
  const PluginRecord& record() const { return record_; }
  // The events of its rows, each once.
  std::vector<std::uint32_t> events() const;

  const Subject& subject_;
  SystemClock clock;
  NullLog log;
  TokenTable tokens;
  std::unique_ptr<Services> services;
  std::unique_ptr<Workspace> workspace;
  std::unique_ptr<ExtTables> tables;

 private:
  PluginRecord record_;
};

class Instance {
 public:
  struct Options {
    bool bare = false;        // nothing is granted but what the manifest requires
    bool deaf = false;        // the host refuses every action and all memory
    bool in_process = false;  // it is told that it runs in the host's process, whatever the profile
  };
  explicit Instance(Stage& stage) : Instance(stage, Options()) {}
  Instance(Stage& stage, Options options);
  ~Instance();

  Result<void> create();
  Answer fire(const SampleEvent& event, const CancelToken& cancel = CancelToken(),
              Milliseconds deadline = Milliseconds(3'000));
  // nullopt = it is stateless.
  Result<std::optional<std::string>> save();
  Result<void> load(std::string_view state);
  Result<void> destroy();
  const Seen& seen() const { return *seen_; }
  void* self() const { return self_; }

  // A row with the eyes of the instance on it.
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
  agentd_create_info create_info() const;
  Stage& stage_;
  const bool in_process_;
  std::unique_ptr<PluginContext> context_;
  std::unique_ptr<Spy> spy_;
  std::unique_ptr<Seen> seen_ = std::make_unique<Seen>();
  std::shared_ptr<TimedMutex> turn_;
  std::vector<Row> rows_;  // as in the record
  void* self_ = nullptr;
  bool created_ = false;
};

}  // namespace agentd::validation
