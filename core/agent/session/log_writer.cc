// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/log_writer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/agent/loading.h"

namespace agentd {

RunError store_error(const Error& error) { return {RunError::Kind::kStore, error.message}; }

RunError open_error(const Error& error) {
  if (error.code == Code::kBusy) return {RunError::Kind::kBusy, error.message};
  if (error.code == Code::kNotFound) return {RunError::Kind::kNotFound, error.message};
  return store_error(error);
}

// ---- what is pending

void LogWriter::add(Record record) {
  record.run = position_.run;
  record.turn = position_.turn;
  pending_.push_back(std::move(record));
}

void LogWriter::add_user_message(Record message, std::string text, MessageSource source, std::string key) {
  add(std::move(message));
  messages_.push_back({std::move(text), source, std::move(key)});
}

bool LogWriter::has_genesis() const {
  return shared_.conversation().revision() != 0 || (!pending_.empty() && pending_.front().type == RecordType::kGenesis);
}

namespace {

ToolResultRecord result_of(const std::string& call_id, const std::string& name, ToolStatus status, std::string text) {
  ToolResultRecord result;
  result.call_id = call_id;
  result.name = name;
  result.status = name_of(status);
  result.text = std::move(text);
  return result;
}

}  // namespace

void LogWriter::recover_open_calls() {
  constexpr std::string_view kUnknown = "The call was interrupted and its outcome is unknown; it was not run again.";
  const Conversation& conversation = shared_.conversation();
  for (const auto& [call_id, name] : conversation.open_direct_calls())
    add(write_direct_result(result_of(call_id, name, ToolStatus::kUnknown, std::string(kUnknown))));
  if (conversation.wait() != nullptr && !conversation.wait()->begun) return;
  const bool not_begun = conversation.waits_elsewhere();
  for (const auto& [call_id, name] : conversation.open_calls())
    add(write_tool_result(not_begun ? result_of(call_id, name, ToolStatus::kCancelled,
                                                "not run: a call waited for an answer when the conversation was forked")
                                    : result_of(call_id, name, ToolStatus::kUnknown, std::string(kUnknown))));
}

void LogWriter::supersede_wait() {
  const WaitRecord& wait = shared_.conversation().wait()->wait;
  const std::string denied = "not permitted: the user continued without answering the question; nothing was run";
  add(write_answer({wait.id, std::string(name_of(WaitDecision::kSuperseded)), "user", "run", denied}));
  if (wait.direct) add(write_direct_result(result_of(wait.call_id, wait.tool, ToolStatus::kDenied, denied)));
  for (const auto& [call_id, name] : shared_.conversation().open_calls())
    add(write_tool_result(call_id == wait.call_id
                              ? result_of(call_id, name, ToolStatus::kDenied, denied)
                              : result_of(call_id, name, ToolStatus::kCancelled,
                                          "not run: the user continued while a call before it waited")));
}

bool LogWriter::refute(std::string_view hook, std::string_view event, std::string_view why) {
  const auto answer = std::find_if(receipts_.rbegin(), receipts_.rend(), [&](const HookReceipt& receipt) {
    return receipt.hook == hook && receipt.event == event && receipt.effect == AnswerEffect::kApplied;
  });
  if (answer == receipts_.rend()) return false;
  answer->effect = AnswerEffect::kRefused;
  answer->note += (answer->note.empty() ? "" : "; ") + std::string(why);
  return true;
}

void LogWriter::take_back(std::size_t first, std::size_t last) {
  const auto at = [&](std::size_t i) { return pending_.begin() + static_cast<std::ptrdiff_t>(i); };
  pending_.erase(at(first), at(last));
}

void LogWriter::take_back_messages() {
  std::erase_if(pending_, [](const Record& record) { return carries_message(record.type); });
  messages_.clear();
}

void LogWriter::drop() {
  pending_.clear();
  blobs_.clear();
  puts_.clear();
  messages_.clear();
  told_later_.clear();
  ++batch_;
}

// ---- to the store

void LogWriter::take_charges() {
  for (const UsageRecord& charge : shared_.take_charges())
    if (!(charge.usage == Usage{})) add(write_usage(charge));
}

// Receipts are not part of the log: if they cannot be stored, the records are stored without them.
Result<std::vector<StoredRecord>> LogWriter::append() {
  std::vector<KeyPut> keys = puts_;
  if (first_key_) keys.push_back(*first_key_);
  const auto with = [&](std::span<const HookReceipt> receipts) {
    return agent_.parts().store.append(position_.conversation, shared_.conversation().revision(), pending_, blobs_,
                                       receipts, keys);
  };
  auto stored = with(receipts_);
  if (stored || stored.error().code == Code::kConflict || receipts_.empty()) return stored;
  auto without = with({});
  if (without) {
    drop_receipts(stored.error());
    return without;
  }
  if (receipts_.size() > kReceiptsMax) receipts_.erase(receipts_.begin(), receipts_.end() - kReceiptsMax);
  return stored;
}

Result<void> LogWriter::try_commit() {
  take_charges();
  const std::size_t records = pending_.size(), keys = puts_.size();
  if (last_ != nullptr) last_->add_last();
  if (pending_.empty()) {
    tell_later();
    return {};
  }
  const auto stored = append();
  if (!stored) {
    take_back(records, pending_.size());
    puts_.erase(puts_.begin() + static_cast<std::ptrdiff_t>(keys), puts_.end());
    return stored.error();
  }
  if (last_ != nullptr) last_->stored_last();
  pending_.clear();
  blobs_.clear();
  puts_.clear();
  receipts_.clear();
  if (first_key_) first_written_ = true;
  first_key_.reset();
  ++batch_;
  note_keys(*stored);
  auto applied = shared_.apply(*stored, agent_.row_count());
  tell_messages(*stored);
  tell_later();
  return applied;
}

void LogWriter::tell_later() {
  for (const RunEvent::Body& each : std::exchange(told_later_, {})) surface_.tell(each);
}

// Each is one of the stored records, in order.
void LogWriter::tell_messages(const std::vector<StoredRecord>& stored) {
  auto record = stored.begin();
  for (const ToldMessage& message : std::exchange(messages_, {})) {
    while (record != stored.end() && record->record.type != RecordType::kUserMessage) ++record;
    if (record == stored.end()) return;
    surface_.tell(told::UserMessage{message.source, message.text, (record++)->seq, message.key});
  }
}

// Told once; the log file has every time.
void LogWriter::drop_receipts(const Error& why) {
  const std::string text = "the answers of " + std::to_string(receipts_.size()) +
                           " hooks could not be saved; the conversation was saved: " + why.message;
  agent_.parts().log.write(LogLevel::kWarning, "agent", text);
  receipts_.clear();
  if (!std::exchange(told_receipts_, true)) surface_.tell(told::Warning{text});
}

Result<void, RunError> LogWriter::commit() {
  auto done = try_commit();
  if (!done) return store_error(done.error());
  return {};
}

Result<void, RunError> LogWriter::commit_behind() {
  auto done = try_commit();
  for (int i = 1; !done && done.error().code == Code::kConflict && i < kCommitTriesMax; ++i) {
    if (auto fresh = catch_up(); !fresh) return fresh.error();
    done = try_commit();
  }
  if (!done) return store_error(done.error());
  return {};
}

Result<std::vector<StoredRecord>, RunError> LogWriter::catch_up() {
  std::vector<StoredRecord> fresh;
  auto read = agent_.parts().store.read(position_.conversation, shared_.conversation().revision() + 1, 0,
                                        [&](const StoredRecord& record) {
                                          fresh.push_back(record);
                                          return true;
                                        });
  if (!read) return open_error(read.error());
  note_keys(fresh);
  if (auto applied = shared_.apply(fresh, agent_.row_count()); !applied) return store_error(applied.error());
  return fresh;
}

void LogWriter::flush_receipts() {
  const std::vector<HookReceipt> receipts = std::exchange(receipts_, {});
  if (receipts.empty() || shared_.conversation().revision() == 0) return;
  if (auto done = agent_.parts().store.append_receipts(position_.conversation, receipts); !done)
    agent_.parts().log.write(LogLevel::kError, "agent",
                             "the receipts of hooks could not be saved: " + done.error().message);
}

// ---- messages that a client sends again

bool LogWriter::has_pending(std::string_view key) const {
  return std::any_of(messages_.begin(), messages_.end(), [&](const ToldMessage& each) { return each.key == key; });
}

Result<std::uint64_t, RunError> LogWriter::seq_of(std::string_view key) {
  if (!keys_) {
    auto read = load_message_keys(agent_.parts().store, position_.conversation, shared_.conversation().revision());
    if (!read) return open_error(read.error());
    keys_ = std::move(*read);
  }
  return keys_->seq_of(key);
}

// A record that cannot be read is an error of the next who asks.
void LogWriter::note_keys(const std::vector<StoredRecord>& stored) {
  for (const StoredRecord& record : stored)
    if (keys_ && !keys_->note(record)) keys_.reset();
}

Result<StoredRecord, RunError> LogWriter::tell_again(std::uint64_t seq) {
  auto record = load_record(agent_.parts().store, position_.conversation, seq);
  if (!record) return open_error(record.error());
  const auto message = read_message(record->record);
  if (!message) return store_error(message.error());
  const std::string text = message->message.text();
  const bool of_recipe = message->source == name_of(MessageSource::kRecipe);
  surface_.tell(
      told::UserMessage{of_recipe ? MessageSource::kRecipe : MessageSource::kUser, text, seq, message->key, true});
  return std::move(*record);
}

}  // namespace agentd
