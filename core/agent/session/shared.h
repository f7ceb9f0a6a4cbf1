// SPDX-License-Identifier: Apache-2.0
#pragma once
// shared.h - what a session shares with the threads of its hooks: the conversation, whose account a model call
// draws from, what is charged to the run, and compactions that are asked for. Private to this room.
//
// Threading: the first half may be called from any thread. The second half belongs to the session's thread; it
// alone changes the conversation, under the lock, and therefore reads it without.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/account/account.h"
#include "core/agent/agent.h"
#include "core/agent/hook_ledger.h"
#include "core/base/cancel.h"
#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/conversation/view.h"
#include "core/hooks/services.h"
#include "core/store/store.h"

namespace agentd {

class SharedSession {
 public:
  // `store` outlives it. `account` and `ledger` serve until a run brings its own; neither is null. `posted_max`: of
  // posted messages that wait.
  SharedSession(const Store& store, Ulid id, std::unique_ptr<Conversation> conversation,
                std::shared_ptr<Account> account, std::shared_ptr<HookLedger> ledger, std::uint64_t posted_max);

  // ---- any thread

  const std::string& conversation_id() const { return id_text_; }
  // The view of the next request; the run may continue in the meantime.
  struct Seen {
    Rows rows;
    std::vector<SeqRange> ranges;
    std::uint64_t revision = 0;
  };
  Seen seen() const;
  // The origins of the messages seen so far.
  Origins origins() const;
  // Cancelled when the user ends what the session does.
  CancelToken cancel() const;
  // The run writes a summary.
  bool compacts() const;
  // The account and the ledger of the newest run.
  std::shared_ptr<Account> account() const;
  std::shared_ptr<HookLedger> hook_ledger() const;
  // Usage of requests in addition to the turns, recorded with the next commit.
  void charge(const Usage& usage, std::string purpose);
  // A run goes on.
  bool is_running() const;
  // True when a run takes it up; otherwise it waits for the next one.
  bool queue_compaction(const CompactOptions& options);
  // A message whose key waits already is not queued. kUsage: its key cannot be one; kBusy: posted_max wait, and this
  // one is not among them.
  Result<void, RunError> post(PostedMessage message);
  std::vector<PostedMessage> take_posted();
  // As Session::note().
  void note(EndNotes notes);
  EndNotes notes() const;
  // Queues it for the next commit; false: the session is idle. kInvalid: it makes no checkpoints, or nothing was said
  // in it yet.
  Result<bool> want_checkpoint(const CheckpointWish& wish);

  // ---- the session's thread

  // From here on it makes checkpoints that others want.
  void take_wishes();
  // It commits before end_work(). False: wishes have come since, and the work goes on.
  void begin_work();
  bool end_work();
  std::vector<CheckpointWish> wishes() const;
  // The first ones are done with.
  void drop_wishes(std::size_t count);

  const Conversation& conversation() const { return *conversation_; }
  // Takes what was stored. Messages restored by a revert or a boundary are not in memory: the conversation is loaded
  // again, each row counted by `count`.
  Result<void> apply(const std::vector<StoredRecord>& records, const Rows::Count& count);
  // The token that cancels the work from here on.
  void follow(const CancelToken& cancel);
  void begin_run(std::shared_ptr<Account> account, std::shared_ptr<HookLedger> ledger, bool compacts);
  void end_run();
  // Usage of a turn, which is recorded by itself.
  void count_usage(const Usage& usage);
  // Everything that the newest run is charged for.
  Usage run_usage() const;
  // Something is to be recorded that nobody has added.
  bool has_charges() const;
  std::vector<UsageRecord> take_charges();
  std::vector<CompactOptions> take_queued();
  struct Posted {
    std::uint64_t number = 0;  // in the order of their posts
    PostedMessage message{};
  };
  // The oldest message of that kind, or of any.
  std::optional<Posted> next_posted(std::optional<PostedMessage::Kind> kind);
  // It was not stored after all: it goes back to its place, unless an older one with its key waits.
  void put_back(Posted posted);

 private:
  using PostedMessages = std::map<std::uint64_t, PostedMessage>;
  // The message that waits with that key; end() for an empty one.
  PostedMessages::iterator posted_with(std::string_view key);

  const Store& store_;
  const Ulid id_;
  const std::string id_text_;
  mutable Mutex mutex_;  // guards what follows; see Threading of the conversation
  std::unique_ptr<Conversation> conversation_;
  CancelToken cancel_;
  std::shared_ptr<Account> account_;
  std::shared_ptr<HookLedger> hook_ledger_;
  bool running_ = false, compacts_ = false;
  bool must_reload_ = false;          // what was applied last needs texts that are not in memory
  std::vector<UsageRecord> charges_;  // since the last commit
  Usage run_usage_{};
  std::vector<CompactOptions> queued_;
  EndNotes notes_;
  bool takes_wishes_ = false, works_ = false;
  std::vector<CheckpointWish> wishes_;
  const std::uint64_t posted_max_;
  PostedMessages posted_;  // by number
  std::uint64_t posts_ = 0;
};

}  // namespace agentd
