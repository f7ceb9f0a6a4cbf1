// SPDX-License-Identifier: Apache-2.0
#pragma once
// token_ledger.h - which tokens one worker was handed, who uses one right now, and what the worker
// sees of its cancel word and deadline.
//
// A token ends here before its slot does: remove() waits for those that use it, so that no request
// of a worker reads a payload or an arena that has gone, whatever the worker does at the same time
// in another lane. A service that is in flight then is cancelled: nobody waits for a model on
// behalf of a call that has ended.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "core/base/clock.h"

namespace agentd {

class TokenLedger {
 public:
  // What a worker may make its host keep until a token ends: actions of one token (64 MiB of texts
  // and what carries them), results of one token, and both of all tokens that live at once.
  static constexpr std::uint64_t kAnswerBytesMax = 65ull << 20;
  static constexpr std::uint64_t kResultBytesMax = 192ull << 20;
  static constexpr std::uint64_t kBytesMax = 256ull << 20;

  // `mirror` is the worker's copy of the token's words, `live`; both stay until remove() has
  // returned. `services` ends what the host does for the token.
  void add(agentd_token token, const agentd_live& live, agentd_live* mirror, CancelToken services);
  // Nobody can use it any more when it returns; what the host does for it is cancelled. Unknown
  // ones are ignored.
  void remove(agentd_token token);
  // The worker is given up: what the host does for its tokens is cancelled, for those to come too.
  // Does not wait.
  void cancel_all();
  // complete() was called for a pending call.
  void set_completed(agentd_token token, agentd_status status);
  // Waits for that, for wake(), or for so long; absent when it was not completed.
  std::optional<agentd_status> wait_completed(agentd_token token, Milliseconds at_most);
  void wake();
  enum class Kept : std::uint8_t { kAnswers, kResults };
  // Takes `bytes` from what the worker may make its host keep; false = that is spent.
  bool spend(agentd_token token, Kept kind, std::uint64_t bytes);
  // Copies the words to the mirror; a cancel word that is set stays.
  void refresh(agentd_token token);

  // The right to use a token for a moment; false = the worker was not handed it, or it has ended.
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
  };
  bool take(agentd_token token);
  void give_back(agentd_token token);

  std::mutex mutex_;
  std::condition_variable changed_;        // a token is used less, or was completed
  std::map<agentd_token, Entry> entries_;  // guarded by mutex_
  std::uint64_t spent_ = 0;                // of all entries; guarded by mutex_
  bool given_up_ = false;                  // guarded by mutex_
};

// What both sides read and write with atomic accesses.
std::uint32_t cancel_of(const agentd_live& live);
std::uint64_t deadline_of(const agentd_live& live);
// Once set it stays.
void set_cancel(agentd_live& live, std::uint32_t reason);
void set_deadline(agentd_live& live, std::uint64_t at_ns);

}  // namespace agentd
