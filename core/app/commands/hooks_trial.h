// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks_trial.h - calls one hook with one event outside a run.
//
// No other hook is loaded, so that none can run or interfere.
//
// Threading: one thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/app/commands/hooks_shared.h"
#include "core/base/mutex.h"
#include "core/dialects/dialect.h"
#include "core/hooks/dry_services.h"
#include "core/hooks/payload_record.h"

namespace agentd::app {

// The result of one hook.
struct Tried {
  std::string hook, failure, note;
  AnswerEffect effect = AnswerEffect::kNone;
  agentd_status status = AGENTD_OK;
  std::uint64_t duration_us = 0;
  std::vector<Action> actions;
  // The program's run and its output; absent for hooks that run no program.
  bool was_run = false;
  std::string input;
  RawAnswer answer;
};

struct TrialReport {
  std::vector<Tried> hooks;          // in call order
  std::unique_ptr<Outcome> outcome;  // null: no answer, no failure
};

class Trial final : private TraceSink {
 public:
  // `environment` is for a real run; null for a dry one. The name may be a path outside every hooks directory:
  // naming it is consent.
  static Result<std::unique_ptr<Trial>, Failure> load(App& app, const HooksHere& here, const std::string& name,
                                                      const ExternalEnvironment* environment);
  ~Trial() override;

  // The names of its events.
  std::vector<std::string> events() const;
  bool listens_to(std::uint32_t event) const;
  // The record's texts are rewritten as the hooks answer.
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
  bool loose_ = false;              // outside every hooks directory
  NullLog log_;
  TokenTable tokens_;
  TokenTable* table_ = &tokens_;
  std::unique_ptr<DryServices> services_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<HookHost> host_;
  std::vector<Subscription> subscriptions_;
  std::vector<Tried> tried_;
  Mutex mutex_;
  std::map<std::string, Tried> runs_ GUARDED_BY(mutex_);  // by hook
};

}  // namespace agentd::app
