// SPDX-License-Identifier: Apache-2.0
#pragma once
// log_writer.h - what a session has to record: pending until it is committed, then stored and part of the
// conversation. Private to this room.
//
// A commit is one append: records, the blobs that they name, the receipts of the hooks that were asked since the
// last one, and what hooks were charged. When it fails nothing was written, and all of it stays pending.
//
// Threading: the session's thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/resources.h"
#include "core/agent/session/position.h"
#include "core/agent/session/shared.h"
#include "core/agent/session/surface.h"
#include "core/conversation/message_keys.h"
#include "core/conversation/receipt.h"
#include "core/conversation/record.h"

namespace agentd {

RunError store_error(const Error& error);
// The same of a conversation that is to be opened: kBusy, kNotFound, kStore.
RunError open_error(const Error& error);

// Adds records behind all others of a commit.
class LastRecords {
 public:
  virtual ~LastRecords() = default;
  // Called before each commit. What it adds is taken back if the commit fails.
  virtual void add_last() = 0;
  virtual void stored_last() = 0;
};

class LogWriter {
 public:
  // All outlive it.
  LogWriter(const AgentResources& agent, const Position& position, SharedSession& shared, const Surface& surface)
      : agent_(agent), position_(position), shared_(shared), surface_(surface) {}

  // ---- what is pending

  // Adds a record with the number of the current run and turn.
  void add(Record record);
  // `last` outlives the writer's last commit.
  void add_last_of(LastRecords& last) { last_ = &last; }
  void add_blob(std::string text) { blobs_.push_back(std::move(text)); }
  // A key of the store's that the next commit puts.
  void add_key(KeyPut key) { puts_.push_back(std::move(key)); }
  // The same for the first commit that succeeds, whatever is dropped before.
  void add_first_key(KeyPut key) { first_key_ = std::move(key); }
  bool has_first_key_written() const { return first_written_; }
  // The surface is notified of the message when it is stored. `key`: the client's; empty = none.
  void add_user_message(Record message, std::string text, MessageSource source, std::string key);
  // Tells the surface once all that is pending is stored, behind the messages in it.
  void tell_when_stored(RunEvent::Body what) { told_later_.push_back(std::move(what)); }
  // A log starts with its genesis, before what session_start left.
  bool has_genesis() const;
  void add_genesis(Record genesis) { pending_.insert(pending_.begin(), std::move(genesis)); }
  // A process that died between an intent and its result leaves a call without one: the model is told
  // that nobody knows, and nothing is run again. A call that waits for an answer stays open.
  void recover_open_calls();
  // The user has gone on without answering: what waits is denied, and the calls behind it are not run.
  // REQUIRES: a call waits.
  void supersede_wait();
  void add_receipt(HookReceipt receipt) { receipts_.push_back(std::move(receipt)); }
  // The receipt of the hook's last answer at the event says that it was not carried out, and why. False: it is
  // stored already, or there is none.
  bool refute(std::string_view hook, std::string_view event, std::string_view why);

  // The sequence that the next added record will have.
  std::uint64_t next_seq() const { return shared_.conversation().revision() + pending_.size() + 1; }
  std::size_t size() const { return pending_.size(); }
  // True if a commit would write something.
  bool has_something() const { return !pending_.empty() || shared_.has_charges(); }
  // Drops the records added from `first` to before `last`.
  void take_back(std::size_t first, std::size_t last);
  void take_back_messages();
  // Records that could not be written are dropped: a later commit must not write a part of them.
  void drop();
  // Another number after each commit and each drop: what belongs to a batch ends with it.
  std::uint64_t batch() const { return batch_; }

  // ---- to the store

  Result<void, RunError> commit();
  // kConflict: somebody else appended since, nothing was written, and what is pending stays so.
  Result<void> try_commit();
  // Appends after records of other processes: for records that name no sequence.
  Result<void, RunError> commit_behind();
  // Takes up what others appended; their records. After a revert or a boundary of theirs the whole
  // conversation is loaded again.
  Result<std::vector<StoredRecord>, RunError> catch_up();
  // Receipts since the last commit. A conversation without messages drops its receipts.
  void flush_receipts();

  // ---- messages that a client sends again

  // A message with that key is pending.
  bool has_pending(std::string_view key) const;
  // The sequence of the stored message with that key; 0 = there is none. The first call reads the whole log.
  Result<std::uint64_t, RunError> seq_of(std::string_view key);
  // Notifies the surface of a stored message once more; its record.
  Result<StoredRecord, RunError> tell_again(std::uint64_t seq);

 private:
  static constexpr int kCommitTriesMax = 1'000;
  static constexpr std::size_t kReceiptsMax = 1'000;  // the newest, while no commit succeeds

  void take_charges();
  Result<std::vector<StoredRecord>> append();
  void drop_receipts(const Error& why);
  void tell_messages(const std::vector<StoredRecord>& stored);
  void tell_later();
  void note_keys(const std::vector<StoredRecord>& stored);

  const AgentResources& agent_;
  const Position& position_;
  SharedSession& shared_;
  const Surface& surface_;
  std::vector<Record> pending_;
  std::vector<std::string> blobs_;
  std::vector<KeyPut> puts_;
  LastRecords* last_ = nullptr;
  std::optional<KeyPut> first_key_;
  bool first_written_ = false;
  struct ToldMessage {
    std::string text;
    MessageSource source;
    std::string key;
  };
  std::vector<ToldMessage> messages_;
  std::vector<RunEvent::Body> told_later_;  // told when they are stored
  std::optional<MessageKeys> keys_;         // of what is stored; nullopt = no client has named a message yet
  std::vector<HookReceipt> receipts_;       // since the last commit
  bool told_receipts_ = false;
  std::uint64_t batch_ = 0;
};

}  // namespace agentd
