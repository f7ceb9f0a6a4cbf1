// SPDX-License-Identifier: Apache-2.0
#pragma once
// external_hook.h - one external hook and its calls. Private to this folder.
//
// Threading: ask() may run on any number of threads at once.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/recent_texts.h"
#include "core/dialects/dialect.h"
#include "core/external/external_environment.h"
#include "core/external/kodelet_extension.h"
#include "core/hooks/dispatcher.h"

namespace agentd {

// AGENTD_WANTS_ bits: whether the hook needs the history in its payload.
std::uint64_t wants_of(const HookDefinition& definition);

// agentd's own variables for a hook: AGENTD_EVENT, AGENTD_CONV_ID, AGENTD_CONTEXT_PERCENT, _USED and _MAX. `payload` is
// the canonical object.
std::vector<std::string> hook_environment(const HookDefinition& definition, JsonView payload);

// True if calling both would call one command twice, with the same effect of a failure.
bool is_repeated(const HookDefinition& a, const HookDefinition& b);

// The environment of every program of a hook: the clean one and the variables that the user passes on.
std::vector<std::string> environment_of_hooks(const ExternalEnvironment& environment);

// Runs of hooks in the background; at most kRunsMax at once, further ones are refused.
class BackgroundRuns {
 public:
  static constexpr std::size_t kRunsMax = 64;
  // False if too many are running.
  bool start(std::function<void(const CancelToken&)> run);
  // Waits up to `patience` for the running ones, then cancels them and waits for their end.
  void finish(const Clock& clock, Milliseconds patience);

 private:
  Mutex mutex_;
  Condition ended_;
  std::size_t running_ GUARDED_BY(mutex_) = 0;
  CancelToken cancel_;
};

class ExternalHook {
 public:
  ExternalHook(HookDefinition definition, HookBytes bytes, const ExternalEnvironment& environment,
               BackgroundRuns& background, std::shared_ptr<KodeletExtension> extension);

  const HookDefinition& definition() const { return definition_; }
  Subscription subscription();
  // Marks it as a repetition: its tool runs a command once per event, however often its settings name it. It is not
  // called when `earlier`, which must outlive it, is.
  void repeats(ExternalHook& earlier) { earlier_.push_back(&earlier); }

 private:
  struct Asked {
    agentd_token token = 0;
    CallSlot* slot = nullptr;
    const agentd_call* call = nullptr;
  };
  static agentd_status AGENTD_CALL enter(void* self, const agentd_call* call) noexcept;
  agentd_status ask(const Asked& asked);
  agentd_status cannot_be_asked(const Asked& asked, const std::string& why);
  // Why it is not called, or empty. An error: its `when` or `if` cannot be evaluated.
  Result<std::string> why_not(const Asked& asked, JsonView payload);
  Result<std::string> asked_by_another(const Asked& asked, JsonView payload);
  Result<std::string> spent(const Asked& asked);
  void mark_spent(const Asked& asked);
  agentd_status run_aside(const Asked& asked, const std::string& payload_text);
  agentd_status answer_with(const Asked& asked, Verdict verdict);

  // Runs it (external_run.cc). `allow` as in KodeletExtension::call().
  Verdict run(JsonView payload, std::string_view payload_text, const CancelToken& cancel, Deadline deadline,
              const std::function<void(Deadline)>& allow = {});
  RawAnswer run_program(JsonView payload, const DialectContext& context, std::string input, const CancelToken& cancel,
                        Deadline deadline) const;
  RawAnswer run_webhook(std::string_view input, const CancelToken& cancel, Deadline deadline) const;
  void judge_sandbox(const RawAnswer& answer, Verdict& verdict) const;
  DialectContext context_of(JsonView payload) const;
  std::string input_of(JsonView payload, const DialectContext& context, Deadline deadline) const;
  std::string once_key(const Asked& asked) const;

  const HookDefinition definition_;
  const HookBytes bytes_;
  const ExternalEnvironment& environment_;
  BackgroundRuns& background_;
  // Conversations whose newest run it remembers. One of which it has not heard for so many others is forgotten: it
  // would be called once more in that run.
  static constexpr std::size_t kRunsKept = 16'384;
  Mutex mutex_;
  RecentTexts spent_ GUARDED_BY(mutex_){kRunsKept, SIZE_MAX};  // conversation -> run
  // kExtension: shared by the hooks of one long-lived process; null for the others.
  const std::shared_ptr<KodeletExtension> extension_;
  std::vector<ExternalHook*> earlier_;
};

}  // namespace agentd
