// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks_trial.h - one hook alone, asked about one event outside of a run.
//
// Nothing else of the configuration is loaded, so that nothing else can run or disturb it.
//
// Threading: one thread.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/app/commands/hooks_shared.h"
#include "core/dialects/dialect.h"
#include "core/hooks/dry_services.h"
#include "core/hooks/payload_record.h"

namespace agentd::app {

// What one hook of the trial did.
struct Tried {
  std::string hook, effect, failure, note;
  agentd_status status = AGENTD_OK;
  std::uint64_t duration_us = 0;
  std::vector<Action> actions;
  // What was run, and what it printed; absent for what is not run.
  bool was_run = false;
  std::string input;
  RawAnswer answer;
};

struct TrialReport {
  std::vector<Tried> hooks;          // in the order in which they were asked
  std::unique_ptr<Outcome> outcome;  // null: no opinion, no failure
};

class Trial final : private TraceSink {
 public:
  // `environment` is for a real run; null for a dry one. The name may be a path outside of every hooks
  // directory: who names it has agreed to it.
  static Result<std::unique_ptr<Trial>, Failure> load(App& app, const HooksHere& here, const std::string& name,
                                                      const ExternalEnvironment* environment);
  ~Trial() override;

  // What it listens to, by name.
  std::vector<std::string> events() const;
  bool listens_to(std::uint32_t event) const;
  // The record's texts are rewritten as the hooks say.
  TrialReport ask(PayloadRecord& record, const CancelToken& cancel, Milliseconds deadline);

 private:
  Trial(App& app, const HooksHere& here);
  Result<void, Failure> find(const HooksHere& here, const std::string& name);
  void leave_alone(const std::string& directory);
  Result<void, Failure> start(const HooksHere& here, const ExternalEnvironment* environment);
  bool is_mine(const std::string& subscription) const;
  void on_hook(const HookTrace& trace) override;
  void heard(const HookDefinition& hook, std::string_view input, const RawAnswer& answer);

  App& app_;
  HookHostOptions options_;
  std::string name_, path_, only_;  // only_: one hook of the file; empty = all of them
  bool loose_ = false;              // outside of every hooks directory
  NullLog log_;
  TokenTable tokens_;
  TokenTable* table_ = &tokens_;
  std::unique_ptr<DryServices> services_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<HookHost> host_;
  std::vector<Subscription> subscriptions_;
  std::vector<Tried> tried_;
  std::mutex mutex_;
  std::map<std::string, Tried> runs_;  // by hook; guarded by mutex_
};

}  // namespace agentd::app
