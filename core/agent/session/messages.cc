// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/messages.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/scrub/secrets.h"

namespace agentd {
namespace {

std::uint32_t abi_source_of(MessageSource source) {
  switch (source) {
    case MessageSource::kUser:
      return AGENTD_MESSAGE_SOURCE_USER;
    case MessageSource::kRecipe:
      return AGENTD_MESSAGE_SOURCE_RECIPE;
    case MessageSource::kHook:
    case MessageSource::kAgent:
    case MessageSource::kSchema:
      return AGENTD_MESSAGE_SOURCE_HOOK;
  }
  return AGENTD_MESSAGE_SOURCE_HOOK;
}

constexpr std::string_view kMemorySource = "memory";
// Observers see it in place of a message that a hook has blocked.
constexpr std::string_view kWithdrawn = "[withheld: a hook blocked this message]";

agentd_recollection to_abi_record(const Recollection& from) {
  agentd_recollection out{};
  out.size = sizeof out;
  out.confidence_permille = from.confidence_permille;
  out.id = to_abi(from.id);
  out.title = to_abi(from.title);
  out.text = to_abi(from.text);
  out.created_ms = from.created_ms;
  return out;
}

}  // namespace

std::string Messages::passed(std::string text) const {
  return secrets_ == nullptr ? text : secrets_->pass(std::move(text)).text;
}

// Null: no hook was called. `text` is the text after rewrites by hooks.
std::unique_ptr<Outcome> Messages::ask(std::string& text, MessageSource source, const std::vector<Block>& media) {
  if (!hooks_.wants(AGENTD_EVENT_USER_MESSAGE_SEND)) return nullptr;
  struct Payload {
    agentd_user_message record{};
    std::string& text;
    const Messages& messages;
  } payload{{}, text, *this};
  Rows shown;
  if (!media.empty()) {
    shown.append({Role::kUser, 0, media}, 0, 0);
    payload.record.images = shown[0].blocks;
  }
  payload.record.size = sizeof payload.record;
  payload.record.source = abi_source_of(source);
  payload.record.text = to_abi(text);
  Fired fired;
  fired.event = AGENTD_EVENT_USER_MESSAGE_SEND;
  fired.payload = &payload.record;
  fired.context = &payload;
  fired.rewrite = [](void* context, std::uint32_t, std::string_view rewritten) {
    auto& mine = *static_cast<Payload*>(context);
    mine.text = mine.messages.passed(std::string(rewritten));
    mine.record.text = to_abi(mine.text);
  };
  fired.withdraw = [](void* context) {
    agentd_user_message& record = static_cast<Payload*>(context)->record;
    record.text = to_abi(kWithdrawn);
    record.images = {};
  };
  return hooks_.fire(fired);
}

Result<void, RunError> Messages::send(std::string text, MessageSource source, const std::vector<Block>& media,
                                      const std::string& key) {
  text = passed(std::move(text));
  const std::string original = text;
  const std::unique_ptr<Outcome> outcome = ask(text, source, media);
  if (hooks_.stopped()) return hooks_.check_stopped().error();
  if (outcome && outcome->blocked)
    return hooks_.refused("the message was blocked by " + outcome->blocked_by.hook + ": " + outcome->reason);
  if (is_blank(text) && media.empty())
    return RunError{
        RunError::Kind::kBlocked,
        "the message was not sent: " + std::string(outcome && !outcome->rewrites.empty()
                                                       ? outcome->rewrites.back().by.hook + " left only white space"
                                                       : "it is only white space")};
  add(text, source, media, key);
  prime(text, source);
  if (!outcome) return {};
  // The digests are of what was not kept as well: the original itself is stored nowhere.
  if (!outcome->rewrites.empty())
    hooks_.record_effect(AGENTD_EVENT_USER_MESSAGE_SEND, outcome->rewrites.back().by, HookEffect::kRewrite, original,
                         text, {});
  add_contexts(*outcome);
  return {};
}

// By the text that hooks have left, and behind the event.
void Messages::prime(const std::string& message, MessageSource source) {
  if (source != MessageSource::kUser || prompt_) return;
  const std::string memories = priming_.take(message, shared_.cancel());
  if (!memories.empty()) add_context({std::string(kMemorySource), std::string(kMemorySource), memories});
}

void Messages::add(const std::string& text, MessageSource source, const std::vector<Block>& media,
                   const std::string& key) {
  if (prompt_) {
    *prompt_ += (prompt_->empty() ? "" : "\n\n") + text;
    return;
  }
  if (task_.empty() && source != MessageSource::kHook && source != MessageSource::kRecipe) task_ = text;
  // The media come before the text about them.
  Message message{Role::kUser, 0, media};
  if (!text.empty() || media.empty()) message.blocks.push_back(Block::of_text(text));
  log_.add_user_message(
      write_message({std::move(message), StopReason::kEndTurn, std::string(name_of(source)), {}, {}, key}), text,
      source, key);
}

void Messages::add_contexts(const Outcome& outcome) {
  for (const Outcome::Attributed& context : outcome.contexts)
    if (!is_blank(context.action.text))
      add_context({std::string(name_of(MessageSource::kHook)), context.by.hook, context.action.text});
}

void Messages::add_context(const WaitRecord::Context& context) {
  if (prompt_) {
    *prompt_ += "\n\n" + context.text;
    return;
  }
  Message message = Message::of_text(Role::kUser, context.text);
  message.flags = AGENTD_MESSAGE_CONTEXT;
  log_.add(write_message({message, StopReason::kEndTurn, context.source, context.author}));
}

void Messages::start_session(std::uint32_t source, const Priming::Start* start) {
  if (!hooks_.wants(AGENTD_EVENT_SESSION_START)) return;
  agentd_session_start payload{};
  payload.size = sizeof payload;
  payload.source = source;
  std::vector<agentd_recollection> memories;
  agentd_recollection checkpoint{};
  if (start != nullptr) {
    payload.task = to_abi(start->task);
    for (const Recollection& each : start->memories) memories.push_back(to_abi_record(each));
    payload.memories = {memories.data(), static_cast<std::uint32_t>(memories.size()), sizeof(agentd_recollection)};
    if (start->checkpoint) {
      checkpoint = to_abi_record(*start->checkpoint);
      payload.checkpoint = &checkpoint;
    }
  }
  const auto outcome = hooks_.fire(AGENTD_EVENT_SESSION_START, &payload);
  if (!outcome) return;
  context_.set_session_contexts(*outcome);
  if (const Action* const title = outcome->set_of(AGENTD_KEY_TITLE)) log_.add(write_meta({title->text}));
}

}  // namespace agentd
