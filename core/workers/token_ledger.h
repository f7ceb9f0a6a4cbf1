// SPDX-License-Identifier: Apache-2.0
#pragma once
// token_ledger.h - the tokens that one worker holds, their present users, and the worker's copies of cancel word and
// deadline.
//
// A token ends here before its slot does: remove() waits for its users, so that no request of a worker reads a payload
// or an arena that has gone, whatever the worker does on another lane. A service in flight is cancelled: nothing waits
// for a model on behalf of a call that has ended.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <map>
#include <optional>

#include "core/base/clock.h"
#include "core/base/mutex.h"

namespace agentd {

class TokenLedger {
 public:
  // Limits of the memory that a worker can make its host keep until a token ends: actions of one token (64 MiB of texts
  // and their records), results of one token, and both for all live tokens together.
  static constexpr std::uint64_t kAnswerBytesMax = 65ull << 20;
  static constexpr std::uint64_t kResultBytesMax = 192ull << 20;
  static constexpr std::uint64_t kBytesMax = 256ull << 20;

  // `mirror` is the worker's copy of the token's words `live`; both stay valid until remove() has returned. `services`
  // cancels what the host does for the token.
  void add(agentd_token token, const agentd_live& live, agentd_live* mirror, CancelToken services);
  // Waits until no request uses the token, and cancels the services that run for it. Unknown tokens are ignored.
  void remove(agentd_token token);
  // Gives up the worker: cancels the services of all its tokens, present and future. Does not wait.
  void cancel_all();
  // Records that complete() was called for a pending call.
  void set_completed(agentd_token token, agentd_status status);
  // Waits for set_completed(), wake() or `at_most`; absent if it was not completed.
  std::optional<agentd_status> wait_completed(agentd_token token, const Clock& clock, Milliseconds at_most);
  void wake();
  enum class Kept : std::uint8_t { kAnswers, kResults };
  // Reserves `bytes` of what the worker may make its host keep; false = the limit is reached.
  bool spend(agentd_token token, Kept kind, std::uint64_t bytes);
  // Copies the words to the mirror; a cancel word that is already set stays.
  void refresh(agentd_token token);

  // The right to use a token for a moment; false = the worker does not hold it, or it has ended.
  class Use {
   public:
    Use(TokenLedger& ledger, agentd_token token);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const { return held_; }

   private:
    TokenLedger& ledger_;
    const agentd_token token_;
    const bool held_;
  };

 private:
  struct Entry {
    const agentd_live* live = nullptr;
    agentd_live* mirror = nullptr;
    CancelToken services;
    int uses = 0;
    bool ending = false;
    std::optional<agentd_status> completed;
    std::uint64_t spent[2] = {0, 0};  // by Kept
    Condition changed;                // its last user has gone, or the call was completed
  };
  bool take(agentd_token token);
  void give_back(agentd_token token);

  Mutex mutex_;
  // Each has a condition of its own: one call of a thousand does not wake the others.
  std::map<agentd_token, Entry> entries_ GUARDED_BY(mutex_);
  std::uint64_t spent_ GUARDED_BY(mutex_) = 0;  // of all entries
  bool given_up_ GUARDED_BY(mutex_) = false;
};

// Both sides read and write these words with atomic accesses.
std::uint32_t cancel_of(const agentd_live& live);
std::uint64_t deadline_of(const agentd_live& live);
// A reason that is set stays.
void set_cancel(agentd_live& live, std::uint32_t reason);
void set_deadline(agentd_live& live, std::uint64_t at_ns);

}  // namespace agentd
