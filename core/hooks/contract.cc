// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/contract.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/hooks/payload_json.h"
#include "core/hooks/payload_record.h"

namespace agentd {
namespace {

// ---- keys

std::string names_in_words(const FieldNames& names) {
  std::vector<std::string_view> told;
  for (const std::string_view name : names.names)
    if (!name.empty() && std::find(told.begin(), told.end(), name) == told.end()) told.push_back(name);
  std::string text;
  for (std::size_t i = 0; i < told.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == told.size() ? " or " : ", ").append(told[i]);
  return text;
}

std::string object_in_words(const PayloadTable& table) {
  return table.name.empty() ? "object" : "`" + std::string(table.name) + "`";
}

std::string kind_in_words(const PayloadField& field) {
  switch (field.kind) {
    case FieldKind::kText:
    case FieldKind::kContent:
    case FieldKind::kEventName:
      return "text";
    case FieldKind::kJson:
      return "any JSON";
    case FieldKind::kName:
      return names_in_words(*field.names);
    case FieldKind::kNumber:
    case FieldKind::kSigned:
    case FieldKind::kMilliseconds:
    case FieldKind::kDollars:
    case FieldKind::kFraction:
    case FieldKind::kVersion:
    case FieldKind::kWindowUsed:
      return "number";
    case FieldKind::kPercent:
      return "number or null";
    case FieldKind::kBool:
    case FieldKind::kFlag:
    case FieldKind::kSummaryMark:
      return "true or false";
    case FieldKind::kTexts:
      return "list of texts";
    case FieldKind::kRecords:
    case FieldKind::kMoreBlocks:
      return "list of " + object_in_words(*field.table);
    case FieldKind::kRecord:
    case FieldKind::kPart:
    case FieldKind::kJoined:
      return object_in_words(*field.table);
  }
  return {};
}

std::string type_in_words(const PayloadField& field) {
  std::string text = kind_in_words(field);
  if (field.presence == Presence::kNullable) text += " or null";
  if (field.presence == Presence::kOptional || (field.bit != 0 && field.kind != FieldKind::kFlag) || field.tags != 0)
    text += ", optional";
  return text;
}

std::string_view unit_of(const PayloadField& field) {
  if (field.kind == FieldKind::kDollars) return "US dollars";
  if (field.kind == FieldKind::kPercent) return "percent";
  return field.unit;
}

void add_keys(const PayloadTable& table, std::uint32_t event, const std::string& prefix,
              std::vector<ContractKey>& keys) {
  const EventTraits* const traits = find_event(event);
  for (const PayloadField& field : table.fields) {
    if ((field.except & event_bit(event)) != 0 && event != 0) continue;
    if (field.key.empty()) {
      add_keys(*field.table, event, prefix, keys);
      continue;
    }
    const std::string path = prefix + std::string(field.key);
    const bool rewritten = field.text_target != 0 && traits != nullptr && field.text_target == traits->text_target;
    keys.push_back({path, type_in_words(field), unit_of(field), field.meaning, rewritten});
    if (field.table == nullptr || !field.table->name.empty()) continue;
    add_keys(*field.table, event, path + (field.kind == FieldKind::kRecords ? "[]." : "."), keys);
  }
}

void add_shared(const PayloadTable& table, std::vector<const PayloadTable*>& found) {
  for (const PayloadField& field : table.fields) {
    if (field.table == nullptr) continue;
    const bool named = !field.table->name.empty();
    if (named && std::find(found.begin(), found.end(), field.table) != found.end()) continue;
    if (named) found.push_back(field.table);
    add_shared(*field.table, found);
  }
}

// ---- answers

std::string_view merge_in_words(ActionMerge merge) {
  switch (merge) {
    case ActionMerge::kBlocks:
      return "the first block is used; of the hooks after it only observers are called";
    case ActionMerge::kAddsUp:
      return "the actions of all hooks are used, in their order";
    case ActionMerge::kExclusive:
      return "the first of compact, summary, replace and callback is used; every other is reported as a conflict";
    case ActionMerge::kChains:
      return "rewrites chain: each hook gets the text of the hooks before it";
    case ActionMerge::kLastWins:
      return "the last hook that sets a key is used";
    case ActionMerge::kStrictest:
      return "deny over defer over ask over allow; the first deny ends the event, and a project's hook cannot allow";
    case ActionMerge::kEndsRun:
      return "it overrides deny, ask and allow; the first one is reported";
    case ActionMerge::kAnswers:
      return "";
  }
  return "";
}

std::string set_answer(const EventTraits& event) {
  std::string text;
  for (const KeyTraits& row : all_keys())
    if ((row.events & event_bit(event.id)) != 0) text.append(text.empty() ? "" : ", ").append(row.answer);
  return text;
}

std::string_view rewrite_answer(std::uint32_t target) {
  switch (target) {
    case AGENTD_TEXT_MESSAGE:
      return "message";
    case AGENTD_TEXT_TOOL_INPUT:
      return "input";
    case AGENTD_TEXT_TOOL_OUTPUT:
    case AGENTD_TEXT_RESPONSE:
      return "output";
  }
  return "";
}

// ---- examples

struct SampleRow {
  std::uint32_t event;
  std::string_view key, json;
};
constexpr std::string_view kFull =
    R"({"used":147200,"limit":183616,"source":"provider","compact_at":146893,"force_at":174435,)"
    R"("floor":9200,"compactions":1})";
constexpr std::string_view kSearcher = R"({"id":"agent-2","type":"search","depth":1})";
// Examples that differ from their record's.
constexpr SampleRow kSamples[] = {
    {AGENTD_EVENT_SESSION_START, "turn_number", "0"},
    {AGENTD_EVENT_SESSION_START, "turn_id", "\"\""},
    {AGENTD_EVENT_SESSION_END, "turn_number", "0"},
    {AGENTD_EVENT_SESSION_END, "turn_id", "\"\""},
    {AGENTD_EVENT_USER_MESSAGE_SEND, "turn_number", "0"},
    {AGENTD_EVENT_USER_MESSAGE_SEND, "turn_id", "\"\""},
    {AGENTD_EVENT_TOOL_CALL_FAILED, "output",
     R"({"content":"make: *** [test] Error 2","success":false,"error":"exit status 2",)"
     R"("full_bytes":24})"},
    {AGENTD_EVENT_BEFORE_COMPACTION, "context", kFull},
    {AGENTD_EVENT_AFTER_COMPACTION, "context", kFull},
    {AGENTD_EVENT_AFTER_COMPACTION, "revision", "18"},
    {AGENTD_EVENT_SUBAGENT_START, "agent", kSearcher},
    {AGENTD_EVENT_SUBAGENT_STOP, "agent", kSearcher},
    {AGENTD_EVENT_SUBAGENT_STOP, "invoked_by", "\"subagent\""},
};

std::string_view own_sample(std::uint32_t event, std::string_view key) {
  const auto found = std::find_if(std::begin(kSamples), std::end(kSamples),
                                  [&](const SampleRow& row) { return row.event == event && row.key == key; });
  return found == std::end(kSamples) ? std::string_view() : found->json;
}

void add_member(std::string& members, std::string_view key, std::string_view json) {
  if (json.empty()) return;
  members.append(members.empty() ? "\"" : ",\"").append(key).append("\":").append(json);
}

// The members of a table's example; `top` = the event may replace them.
std::string sample_members(const PayloadTable& table, std::uint32_t event, bool top) {
  std::string members;
  for (const PayloadField& field : table.fields) {
    if ((field.except & event_bit(event)) != 0) continue;
    const std::string_view own = top ? own_sample(event, field.key) : std::string_view();
    if (!own.empty() || !field.sample.empty()) {
      add_member(members, field.key, own.empty() ? field.sample : own);
      continue;
    }
    if (field.table == nullptr || field.kind == FieldKind::kRecords || field.kind == FieldKind::kMoreBlocks) continue;
    const std::string inner = sample_members(*field.table, event, top && field.key.empty());
    if (inner.empty()) continue;
    if (field.key.empty())
      members.append(members.empty() ? "" : ",").append(inner);
    else
      add_member(members, field.key, "{" + inner + "}");
  }
  return members;
}

}  // namespace

std::vector<ContractKey> contract_keys(const PayloadTable& table, std::uint32_t event) {
  std::vector<ContractKey> keys;
  add_keys(table, event, "", keys);
  return keys;
}

std::vector<ContractKey> contract_keys(std::uint32_t event) { return contract_keys(*payload_table(event), event); }

std::vector<const PayloadTable*> shared_objects() {
  std::vector<const PayloadTable*> found;
  add_shared(envelope_table(), found);
  for (const EventTraits& event : all_events()) add_shared(*payload_table(event.id), found);
  return found;
}

std::vector<ContractAnswer> contract_answers(const EventTraits& event) {
  std::vector<ContractAnswer> answers;
  for (const ActionTraits& action : all_actions()) {
    if (!is_legal(event.id, action.kind)) continue;
    std::string answer(action.answer);
    if (action.kind == AGENTD_ACT_REPLACE_TEXT) answer = rewrite_answer(event.text_target);
    if (action.kind == AGENTD_ACT_SET) answer = set_answer(event);
    answers.push_back({action.kind, action.name, std::move(answer), action.does, merge_in_words(action.merge)});
  }
  return answers;
}

bool fails_closed(const EventTraits& event) { return event.blocking || event.text_target != 0; }

std::string contract_failure(const EventTraits& event) {
  std::string text;
  if (event.blocking) text = "a guard (on_failure: closed) that fails or is late blocks it; ";
  if (event.text_target != 0)
    text += event.blocking ? "if a redactor (on_failure: closed) fails, the text is withheld; "
                           : "if a hook with on_failure: closed fails, the text is withheld; ";
  return text + (text.empty() ? "a hook that fails is reported and changes nothing"
                              : "any other hook that fails is reported and changes nothing");
}

std::string_view contract_blocking(const EventTraits& event) {
  if (event.blocking) return "yes: an answer stops the announced action";
  return event.continues ? "no; but an answer makes the run continue" : "no";
}

std::string contract_rewrites(const EventTraits& event) {
  for (const ContractKey& key : contract_keys(event.id))
    if (key.rewritten) return key.path;
  return {};
}

std::string sample_payload(std::uint32_t event) {
  std::string members;
  add_member(members, "event", "\"" + std::string(find_event(event)->name) + "\"");
  members += "," + sample_members(envelope_table(), event, true);
  const std::string own = sample_members(*payload_table(event), event, true);
  if (!own.empty()) members += "," + own;
  const auto record = PayloadRecord::from_json("{" + members + "}");
  AGENTD_ASSERT(record.has_value());  // the samples of payload_fields.cc fit their fields
  return payload_json(event, record->envelope(), record->payload());
}

}  // namespace agentd
