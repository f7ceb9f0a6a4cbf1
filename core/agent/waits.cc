// SPDX-License-Identifier: Apache-2.0
#include "core/agent/waits.h"

#include <algorithm>
#include <utility>

#include "core/agent/session/log_writer.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::string_view kWaitSpace = "agentd.waits";
constexpr std::uint32_t kWaitPage = 250;
// A key is written before its wait: one without a wait is left alone for as long.
constexpr std::int64_t kKeyAgeMs = 24ll * 3'600'000;

RunError not_open(const std::string& wait) {
  return {RunError::Kind::kNotFound,
          "nothing waits for " + wait + " any more: its call has ended, or the conversation has gone on without it"};
}

// The conversation of the user to which a subagent's belongs. nullopt: one in between waits for it no longer.
Result<std::optional<Ulid>> root_of(const Store& store, const Ulid& conversation, const std::string& wait) {
  Ulid id = conversation;
  for (;;) {
    AGENTD_TRY(const ConversationInfo info, store.info(id));
    if (info.agent_type.empty()) return std::optional<Ulid>(id);
    AGENTD_TRY(const Ulid parent, Ulid::parse(info.parent));
    const auto above = wait_of(store, parent);
    if (!above && above.error().code == Code::kNotFound) return std::optional<Ulid>();
    if (!above) return above.error();
    if (!*above || (*above)->wait.child_wait != wait) return std::optional<Ulid>();
    id = parent;
  }
}

// nullopt: the key names no wait that is open.
Result<std::optional<WaitingCall>> waiting_call(const Store& store, const StoredKey& key) {
  AGENTD_TRY(const Ulid conversation, Ulid::parse(key.value));
  auto open = wait_of(store, conversation);
  if (!open && open.error().code == Code::kNotFound) return std::optional<WaitingCall>();
  if (!open) return open.error();
  if (!*open || (*open)->wait.id != key.key) return std::optional<WaitingCall>();
  AGENTD_TRY(const auto root, root_of(store, conversation, key.key));
  if (!root) return std::optional<WaitingCall>();
  return std::optional<WaitingCall>(WaitingCall{conversation, *root, std::move(**open)});
}

// The question that a conversation waits for; nullopt: it does not wait, or does not exist.
Result<std::optional<WaitingCall>> waiting_in(const Store& store, const Ulid& conversation) {
  const auto open = wait_of(store, conversation);
  if (!open && open.error().code != Code::kNotFound) return open.error();
  if (!open || !*open) return std::optional<WaitingCall>();
  AGENTD_TRY(const auto asked, asked_of(store, **open));
  if (!asked) return std::optional<WaitingCall>();
  return waiting_call(store, {asked->wait.id, asked->wait.conversation_id, 0});
}

std::string answered_text(const AnswerRecord& answer, std::int64_t at_ms) {
  return answer.wait + " was answered at " + iso_time(at_ms) + " by " + answer.by + ": " + answer.decision +
         (answer.reason.empty() ? "" : " (" + answer.reason + ")");
}

// Why a wait that once was is not open: kConflict with its answer, or kNotFound.
Error ended(const Store& store, const StoredKey& key) {
  Error out{Code::kNotFound, not_open(key.key).message};
  const auto conversation = Ulid::parse(key.value);
  if (!conversation) return out;
  (void)store.read(*conversation, 1, 0, [&](const StoredRecord& record) {
    const auto answer =
        record.record.type == RecordType::kAnswer ? read_answer(record.record) : Result<AnswerRecord>(out);
    if (!answer || answer->wait != key.key) return true;
    out = {Code::kConflict, answered_text(*answer, record.time_ms)};
    return false;
  });
  return out;
}

}  // namespace

Result<void> name_wait(Store& store, const std::string& wait, const std::string& conversation) {
  const KeyOp put{KeyOp::Kind::kPut, wait, conversation};
  auto done = store.commit_keys(kWaitSpace, {&put, 1});
  if (!done) return done.error();
  return {};
}

Result<std::optional<OpenWait>> wait_of(const Store& store, const Ulid& conversation) {
  AGENTD_TRY(const ConversationInfo info, store.info(conversation));
  if (info.wait.id.empty()) return std::optional<OpenWait>();
  // The rows of the view do not matter here.
  Conversation after(conversation.text(), [](const agentd_message&) { return std::uint64_t{0}; });
  std::vector<StoredRecord> records;
  AGENTD_TRY_VOID(store.read(conversation, info.wait.seq, info.revision, [&](const StoredRecord& record) {
    const RecordType type = record.record.type;
    if (type == RecordType::kWait || type == RecordType::kAnswer || type == RecordType::kToolIntent)
      records.push_back(record);
    return true;
  }));
  AGENTD_TRY_VOID(after.load(records));
  return after.wait() == nullptr ? std::optional<OpenWait>() : std::optional<OpenWait>(*after.wait());
}

Result<std::optional<OpenWait>> asked_of(const Store& store, const OpenWait& open) {
  std::optional<OpenWait> asked = open;
  while (asked && !asked->wait.child_wait.empty()) {
    AGENTD_TRY(const Ulid child, Ulid::parse(asked->wait.child_conversation));
    const std::string wait = asked->wait.child_wait;
    auto below = wait_of(store, child);
    if (!below && below.error().code == Code::kNotFound) return std::optional<OpenWait>();
    if (!below) return below.error();
    asked = std::move(*below);
    if (asked && asked->wait.id != wait && asked->wait.child_wait != wait) asked.reset();
  }
  return asked;
}

Result<std::vector<WaitingCall>> list_waits(Store& store, std::int64_t now_ms) {
  std::vector<WaitingCall> out;
  std::vector<KeyOp> stale;
  std::string after;
  for (;;) {
    AGENTD_TRY(const std::vector<StoredKey> keys, store.scan_keys(kWaitSpace, {}, after, kWaitPage));
    if (keys.empty()) break;
    after = keys.back().key;
    for (const StoredKey& key : keys) {
      auto waiting = waiting_call(store, key);
      // A damaged conversation hides its own wait alone; 'store check' finds it.
      if (!waiting && waiting.error().code == Code::kCorrupt) continue;
      if (!waiting) return waiting.error();
      if (*waiting) {
        out.push_back(std::move(**waiting));
        continue;
      }
      const auto id = Ulid::parse(key.key);
      const bool old = !id || static_cast<std::int64_t>(id->time_ms()) + kKeyAgeMs < now_ms;
      if (old) stale.push_back({KeyOp::Kind::kErase, key.key, {}});
    }
  }
  // A key that stays does no harm.
  if (!stale.empty()) (void)store.commit_keys(kWaitSpace, stale);
  return out;
}

Result<WaitingCall> find_wait(const Store& store, std::string_view id) {
  std::string prefix(id);
  std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                 [](unsigned char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : char(c); });
  std::vector<WaitingCall> found;
  std::string after;
  std::optional<StoredKey> known;
  while (!prefix.empty() && found.size() < 2) {
    AGENTD_TRY(const std::vector<StoredKey> keys, store.scan_keys(kWaitSpace, prefix, after, kWaitPage));
    if (keys.empty()) break;
    after = keys.back().key;
    known = keys.back();
    for (const StoredKey& key : keys) {
      AGENTD_TRY(auto waiting, waiting_call(store, key));
      if (waiting) found.push_back(std::move(*waiting));
    }
  }
  if (found.size() > 1)
    return Error{Code::kInvalid, "several waits begin with " + one_line(prefix, 40) + ": give more of the id"};
  if (!found.empty()) return std::move(found.front());
  if (known) return ended(store, *known);
  if (const auto conversation = Ulid::parse(prefix)) {
    AGENTD_TRY(auto waiting, waiting_in(store, *conversation));
    if (waiting) return std::move(*waiting);
  }
  return Error{Code::kNotFound,
               "no wait has the id " + one_line(id, 40) + ": 'agentd approve --list' shows what waits"};
}

Result<void, RunError> answer_wait(Store& store, const Clock& clock, const WaitingCall& waiting,
                                   const GivenAnswer& answer) {
  const std::string& id = waiting.open.wait.id;
  const auto still_open = [&]() -> Result<void, RunError> {
    const auto now = wait_of(store, waiting.conversation);
    if (!now) return open_error(now.error());
    if (!*now || (*now)->wait.id != id) {
      const Error why = ended(store, {id, waiting.conversation.text(), 0});
      return RunError{why.code == Code::kConflict ? RunError::Kind::kBlocked : RunError::Kind::kNotFound, why.message};
    }
    if ((*now)->answer) return RunError{RunError::Kind::kBlocked, answered_text(*(*now)->answer, (*now)->answered_ms)};
    return {};
  };
  auto lease = store.lease(waiting.conversation);
  if (!lease) {
    // The process that has answered may hold it while it continues the run.
    if (auto open = still_open(); !open) return open;
    return open_error(lease.error());
  }
  if (auto open = still_open(); !open) return open;
  const auto info = store.info(waiting.conversation);
  if (!info) return open_error(info.error());
  const bool late = clock.wall_ms() >= waiting.open.wait.until_ms;
  const WaitDecision decision = late ? WaitDecision::kExpired : answer.decision;
  const std::string expired = "there was no answer until " + iso_time(waiting.open.wait.until_ms);
  const Record record = write_answer(
      {id, std::string(name_of(decision)), late ? "clock" : answer.by, answer.door, late ? expired : answer.reason});
  const auto stored = store.append(waiting.conversation, info->revision, {&record, 1});
  if (!stored) return open_error(stored.error());
  if (late) return RunError{RunError::Kind::kBlocked, id + " is over: " + expired + ", which counts as no"};
  return {};
}

}  // namespace agentd
