// SPDX-License-Identifier: Apache-2.0
#include "core/agent/removed_texts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/codec/json.h"
#include "core/conversation/receipt.h"
#include "core/conversation/record.h"

namespace agentd {
namespace {

constexpr std::uint32_t kRemovedTextsPage = 250;
constexpr std::string_view kStart = "session_start", kMessage = "user_message_send";

// The messages of a conversation, as the log has them.
struct LoggedMessages {
  std::vector<std::string> texts;
  std::set<std::string> rewritten;  // digests of the texts before
};
Result<LoggedMessages> messages_of(const Store& store, const Ulid& conversation) {
  LoggedMessages out;
  Result<void> good;
  const auto take = [&](const Record& record) -> Result<void> {
    if (record.type == RecordType::kUserMessage) {
      AGENTD_TRY(const MessageRecord message, read_message(record));
      out.texts.push_back(message.message.text());
    } else if (record.type == RecordType::kHookEffect) {
      AGENTD_TRY(const JsonDocument effect, JsonDocument::parse(record.payload));
      const std::string_view before = effect.root()["before_digest"].string_or("");
      if (effect.root()["event"].string_or("") == kMessage && !before.empty()) out.rewritten.emplace(before);
    }
    return {};
  };
  AGENTD_TRY_VOID(store.read(conversation, 1, 0, [&](const StoredRecord& record) {
    good = take(record.record);
    return good.has_value();
  }));
  if (!good) return good.error();
  return out;
}

Result<void> find_in(const Store& store, const Ulid& conversation, std::vector<RemovedText>& out) {
  std::vector<Digest> starts;
  bool judged = false, blocked = false;
  AGENTD_TRY_VOID(store.receipts(conversation, [&](const HookReceipt& receipt) {
    if (receipt.event == kStart && receipt.payload_kept) starts.push_back(receipt.payload_digest);
    const bool decided = receipt.effect == AnswerEffect::kBlocked || receipt.effect == AnswerEffect::kApplied;
    judged = judged || (receipt.event == kMessage && decided);
    blocked = blocked || (receipt.event == kMessage && receipt.effect == AnswerEffect::kBlocked);
    return true;
  }));
  if (starts.empty() || !judged) return {};
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  AGENTD_TRY(const LoggedMessages messages, messages_of(store, conversation));
  for (const Digest& digest : starts) {
    const auto payload = store.blob(digest);
    if (!payload && payload.error().code == Code::kNotFound) continue;  // removed for its age
    if (!payload) return payload.error();
    const auto document = JsonDocument::parse(*payload);
    if (!document) continue;
    std::string task(document->root()["task"].string_or(""));
    const bool stays = std::any_of(messages.texts.begin(), messages.texts.end(),
                                   [&](const std::string& text) { return text.find(task) != std::string::npos; });
    if (task.empty() || stays) continue;
    if (blocked || messages.rewritten.contains(hex(sha256(task))))
      out.push_back({conversation, digest, std::move(task)});
  }
  return {};
}

}  // namespace

Result<RemovedTexts> removed_texts(const Store& store, const std::optional<Ulid>& conversation) {
  RemovedTexts out;
  if (conversation) {
    AGENTD_TRY_VOID(find_in(store, *conversation, out.found));
    return out;
  }
  ConversationQuery query;
  query.limit = kRemovedTextsPage;
  for (;;) {
    AGENTD_TRY(const std::vector<ConversationInfo> page, store.list(query));
    for (const ConversationInfo& info : page) {
      AGENTD_TRY(const Ulid id, Ulid::parse(info.id));
      const auto looked = find_in(store, id, out.found);
      if (looked || looked.error().code == Code::kNotFound) continue;
      if (looked.error().code != Code::kCorrupt) return looked.error();
      out.damaged.push_back(id);
    }
    if (page.size() < kRemovedTextsPage) return out;
    query.after = page.back().id;
  }
}

}  // namespace agentd
