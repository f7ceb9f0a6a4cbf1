// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/shared.h"

#include <algorithm>
#include <utility>

#include "core/agent/loading.h"
#include "core/base/bytes.h"
#include "core/conversation/message_keys.h"

namespace agentd {

SharedSession::SharedSession(const Store& store, Ulid id, std::unique_ptr<Conversation> conversation,
                             std::shared_ptr<Account> account, std::shared_ptr<HookLedger> ledger,
                             std::uint64_t posted_max)
    : store_(store),
      id_(id),
      id_text_(id.text()),
      conversation_(std::move(conversation)),
      account_(std::move(account)),
      hook_ledger_(std::move(ledger)),
      posted_max_(posted_max) {}

SharedSession::Seen SharedSession::seen() const {
  const MutexLock lock(mutex_);
  return {conversation_->pin(), conversation_->state().ranges(), conversation_->revision()};
}

Origins SharedSession::origins() const {
  const MutexLock lock(mutex_);
  return conversation_->origins();
}

CancelToken SharedSession::cancel() const {
  const MutexLock lock(mutex_);
  return cancel_;
}

bool SharedSession::compacts() const {
  const MutexLock lock(mutex_);
  return compacts_;
}

std::shared_ptr<Account> SharedSession::account() const {
  const MutexLock lock(mutex_);
  return account_;
}

std::shared_ptr<HookLedger> SharedSession::hook_ledger() const {
  const MutexLock lock(mutex_);
  return hook_ledger_;
}

void SharedSession::charge(const Usage& usage, std::string purpose) {
  const MutexLock lock(mutex_);
  charges_.push_back({usage, 0, std::move(purpose)});
  run_usage_ += usage;
}

bool SharedSession::queue_compaction(const CompactOptions& options) {
  const MutexLock lock(mutex_);
  queued_.push_back(options);
  return running_;
}

Result<void, RunError> SharedSession::post(PostedMessage message) {
  if (auto named = check_message_key(message.key); !named)
    return RunError{RunError::Kind::kUsage, named.error().message};
  const MutexLock lock(mutex_);
  if (posted_with(message.key) != posted_.end()) return {};
  if (posted_.size() >= posted_max_)
    return RunError{RunError::Kind::kBusy, counted(posted_.size(), "posted message") +
                                               (posted_.size() == 1 ? " waits" : " wait") +
                                               " in this session, the limit of sessions.posted_messages: try again "
                                               "after the next request of its run"};
  posted_.emplace(++posts_, std::move(message));
  return {};
}

SharedSession::PostedMessages::iterator SharedSession::posted_with(std::string_view key) {
  if (key.empty()) return posted_.end();
  return std::find_if(posted_.begin(), posted_.end(), [&](const auto& each) { return each.second.key == key; });
}

std::vector<PostedMessage> SharedSession::take_posted() {
  const MutexLock lock(mutex_);
  std::vector<PostedMessage> out;
  for (auto& [number, message] : std::exchange(posted_, {})) out.push_back(std::move(message));
  return out;
}

Result<void> SharedSession::apply(const std::vector<StoredRecord>& records, const Rows::Count& count) {
  const MutexLock lock(mutex_);
  if (!must_reload_) {
    auto applied = conversation_->apply(records);
    if (applied || applied.error().code != Code::kConflict) return applied;
  }
  must_reload_ = true;
  AGENTD_TRY(conversation_, load_conversation(store_, id_, count));
  must_reload_ = false;
  return {};
}

bool SharedSession::has_charges() const {
  const MutexLock lock(mutex_);
  return !charges_.empty() || !wishes_.empty();
}

bool SharedSession::is_running() const {
  const MutexLock lock(mutex_);
  return running_;
}

void SharedSession::follow(const CancelToken& cancel) {
  const MutexLock lock(mutex_);
  cancel_ = cancel;
}

void SharedSession::begin_run(std::shared_ptr<Account> account, std::shared_ptr<HookLedger> ledger, bool compacts) {
  const MutexLock lock(mutex_);
  account_ = std::move(account);
  hook_ledger_ = std::move(ledger);
  run_usage_ = {};
  running_ = true;
  compacts_ = compacts;
}

void SharedSession::end_run() {
  const MutexLock lock(mutex_);
  running_ = compacts_ = false;
}

void SharedSession::count_usage(const Usage& usage) {
  const MutexLock lock(mutex_);
  run_usage_ += usage;
}

Usage SharedSession::run_usage() const {
  const MutexLock lock(mutex_);
  return run_usage_;
}

std::vector<UsageRecord> SharedSession::take_charges() {
  const MutexLock lock(mutex_);
  return std::exchange(charges_, {});
}

std::vector<CompactOptions> SharedSession::take_queued() {
  const MutexLock lock(mutex_);
  return std::exchange(queued_, {});
}

std::optional<SharedSession::Posted> SharedSession::next_posted(std::optional<PostedMessage::Kind> kind) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(posted_.begin(), posted_.end(),
                                  [&](const auto& each) { return !kind || each.second.kind == *kind; });
  if (found == posted_.end()) return std::nullopt;
  Posted out{found->first, std::move(found->second)};
  posted_.erase(found);
  return out;
}

void SharedSession::put_back(Posted posted) {
  const MutexLock lock(mutex_);
  if (const auto other = posted_with(posted.message.key); other != posted_.end()) {
    if (other->first < posted.number) return;
    posted_.erase(other);
  }
  posted_.emplace(posted.number, std::move(posted.message));
}

void SharedSession::note(EndNotes notes) {
  const MutexLock lock(mutex_);
  if (notes.whole) notes_ = {};
  const auto take = [](std::string& to, std::string& from) {
    if (!from.empty()) to = std::move(from);
  };
  take(notes_.task, notes.task);
  take(notes_.approach, notes.approach);
  take(notes_.notes, notes.notes);
  if (!notes.tags.empty()) notes_.tags = std::move(notes.tags);
  if (notes.outcome) notes_.outcome = notes.outcome;
}

EndNotes SharedSession::notes() const {
  const MutexLock lock(mutex_);
  return notes_;
}

// ---- checkpoints that others want

Result<bool> SharedSession::want_checkpoint(const CheckpointWish& wish) {
  const MutexLock lock(mutex_);
  if (!takes_wishes_)
    return Error{Code::kInvalid, "no checkpoints are made of a subagent's conversation, or of one that is not saved"};
  if (conversation_->revision() == 0)
    return Error{Code::kInvalid, "nothing was said in the conversation yet: there is nothing to save"};
  if (!works_) return false;
  constexpr std::size_t kWishesMax = 100;
  if (wishes_.size() >= kWishesMax)
    return Error{Code::kBusy, "too many checkpoints wait for the session's next commit: try again after it"};
  wishes_.push_back(wish);
  return true;
}

void SharedSession::take_wishes() {
  const MutexLock lock(mutex_);
  takes_wishes_ = true;
}

void SharedSession::begin_work() {
  const MutexLock lock(mutex_);
  works_ = true;
}

bool SharedSession::end_work() {
  const MutexLock lock(mutex_);
  if (!wishes_.empty()) return false;
  works_ = false;
  return true;
}

std::vector<CheckpointWish> SharedSession::wishes() const {
  const MutexLock lock(mutex_);
  return wishes_;
}

void SharedSession::drop_wishes(std::size_t count) {
  const MutexLock lock(mutex_);
  wishes_.erase(wishes_.begin(), wishes_.begin() + static_cast<std::ptrdiff_t>(std::min(count, wishes_.size())));
}

}  // namespace agentd
