// SPDX-License-Identifier: Apache-2.0
#include "core/agent/receipts.h"

#include "core/agent/loading.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/hooks/event.h"
#include "core/hooks/payload_json.h"

namespace agentd {
namespace {

constexpr std::size_t kTextBytesMax = 2'000;

void write_text(JsonWriter& out, std::string_view key, std::string_view text) {
  if (text.empty()) return;
  const std::string_view shown = utf8_prefix(text, kTextBytesMax);
  out.member(key, shown);
  if (shown.size() != text.size()) out.member("bytes", std::uint64_t{text.size()});
}

void write_members(JsonWriter& out, const Action& action) {
  switch (action.kind) {
    case AGENTD_ACT_SET:
      out.member("key", unsigned{action.target});
      if (action.number != 0) out.member("number", action.number);
      write_text(out, "text", action.text);
      break;
    case AGENTD_ACT_PERMISSION:
      out.member("decision", permission_name(action.code));
      if (action.remember != 0) out.member("remember", true);
      write_text(out, "text", action.text);
      break;
    case AGENTD_ACT_COMPACT:
      out.member("strategy", unsigned{action.code}).optional("model", action.model);
      if (action.number != 0) out.member("keep_tokens", action.number);
      write_text(out, "text", action.text);
      break;
    case AGENTD_ACT_REPLACE_MESSAGES:
      out.member("base_revision", action.base_revision);
      out.member("parts", std::uint64_t{action.parts.size()});
      break;
    default:
      write_text(out, "text", action.text);
      write_text(out, "arguments", action.json);
      break;
  }
}

bool is_kept(const Action& action, std::uint32_t event, AnswerTexts texts) {
  switch (action.kind) {
    case AGENTD_ACT_BLOCK:
    case AGENTD_ACT_PERMISSION:
    case AGENTD_ACT_STOP_RUN:
      return true;
    case AGENTD_ACT_CONTINUE:
    case AGENTD_ACT_CALLBACK:
      return texts == AnswerTexts::kAll;
    case AGENTD_ACT_REPLACE_TEXT:
      return event == AGENTD_EVENT_BEFORE_TOOL_CALL;
    default:
      return texts != AnswerTexts::kReasons;
  }
}

void write_action(JsonWriter& out, const Action& action, std::uint32_t event, AnswerTexts texts) {
  out.begin_object().member("action", action_name(action.kind));
  if (is_kept(action, event, texts)) {
    write_members(out, action);
  } else {
    const bool calls = action.kind == AGENTD_ACT_CALLBACK;
    const std::string& text = calls ? action.json : action.text;
    if (calls) write_text(out, "text", action.text);  // the recipe's name
    out.member("sha256", hex(sha256(text))).member("bytes", std::uint64_t{text.size()});
  }
  out.end_object();
}

constexpr std::string_view kMessages = "\"messages\":[";

// "[...]": the messages as a payload has them, taken from one that has little else.
std::string messages_json(const Rows& rows) {
  agentd_agent_stop payload{};
  payload.size = sizeof payload;
  payload.messages = rows.list();
  std::string text = payload_json(AGENTD_EVENT_AGENT_STOP, nullptr, &payload);
  const std::size_t at = text.find(kMessages) + kMessages.size() - 1;
  text.pop_back();  // the object's brace: messages stand last
  return text.substr(at);
}

}  // namespace

std::string answer_json(std::span<const Action> actions, std::uint32_t event, AnswerTexts texts) {
  JsonWriter out;
  out.begin_array();
  for (const Action& action : actions) write_action(out, action, event, texts);
  out.end_array();
  return std::string(out.text());
}

Result<std::string> rebuild_payload(const Store& store, const Ulid& conversation, const HookReceipt& receipt) {
  if (!receipt.payload_kept)
    return Error{Code::kNotFound, "the payload of " + receipt.hook + " at " + receipt.event +
                                      " is not stored: a hook rewrote or refused its text"};
  AGENTD_TRY(std::string text, store.blob(receipt.payload_digest));
  const std::string empty = std::string(kMessages) + "]}";
  if (!text.ends_with(empty)) return text;
  Rows rows;
  if (receipt.revision != 0) {
    AGENTD_TRY(const auto view, load_conversation_at(store, conversation, receipt.revision, {}));
    rows = view->pin();
  }
  text.resize(text.size() - 3);
  return text + messages_json(rows) + "}";
}

}  // namespace agentd
