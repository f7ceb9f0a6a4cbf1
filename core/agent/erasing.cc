// SPDX-License-Identifier: Apache-2.0
#include "core/agent/erasing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/agent/checkpoints.h"
#include "core/agent/loading.h"
#include "core/agent/removed_texts.h"
#include "core/agent/states.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/erasure.h"
#include "core/conversation/view.h"

namespace agentd {
namespace {

constexpr std::uint32_t kErasingPage = 250;
// Marks behind the words that a title is made of: of one that was cut, and of forks.
constexpr std::string_view kTitleMarks[] = {" (fork)", " (resumed)", "...", "…"};
// A shorter title is that of a text only when it is all of it; a longer one may have been cut (info.cc).
constexpr std::size_t kTitleMin = 8;

// Rows of core's own, which follow the log or name nothing that a person has written: a plugin could not say what they
// mean, and without them sessions and checkpoints are lost.
constexpr std::string_view kOwnSpaces[] = {"agentd.attached", "agentd.calibration", "agentd.checkpoints",
                                           "agentd.foreign",  "agentd.hooks",       "agentd.key_bytes",
                                           "agentd.waits",    "agentd spending",    "agentd spending of conversations"};

std::string without_marks(std::string title) {
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view mark : kTitleMarks)
      if (title.ends_with(mark)) {
        title.resize(title.size() - mark.size());
        cut = true;
      }
  }
  return title;
}

// ---- the conversation and its relatives

struct Relative {
  Ulid id;
  ConversationInfo info;
  std::string relation;
  // The last sequence that is a copy of the same records as in the conversation of the query; 0 = none is.
  std::uint64_t shared = 0;
};

Result<std::vector<ConversationInfo>> all_conversations(const Store& store) {
  std::vector<ConversationInfo> out;
  ConversationQuery query;
  query.limit = kErasingPage;
  for (;;) {
    AGENTD_TRY(std::vector<ConversationInfo> page, store.list(query));
    out.insert(out.end(), page.begin(), page.end());
    if (page.size() < kErasingPage) return out;
    query.after = out.back().id;
  }
}

// Along the links of forks and subagents, in both directions.
Result<std::vector<Relative>> relatives_of(const Store& store, const Ulid& id) {
  AGENTD_TRY(const ConversationInfo own, store.info(id));
  AGENTD_TRY(const std::vector<ConversationInfo> all, all_conversations(store));
  std::multimap<std::string, const ConversationInfo*> children;
  std::map<std::string, const ConversationInfo*> by_id;
  for (const ConversationInfo& info : all) {
    by_id.emplace(info.id, &info);
    if (!info.parent.empty()) children.emplace(info.parent, &info);
  }
  std::vector<Relative> out{{id, own, "", own.revision}};
  std::set<std::string> seen{own.id};
  const auto add = [&](const ConversationInfo& info, std::string relation, std::uint64_t shared) -> Result<void> {
    if (!seen.insert(info.id).second) return {};
    AGENTD_TRY(const Ulid other, Ulid::parse(info.id));
    out.push_back({other, info, std::move(relation), shared});
    return {};
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const ConversationInfo info = out[i].info;
    const std::uint64_t shared = out[i].shared;
    if (const auto parent = by_id.find(info.parent); parent != by_id.end())
      AGENTD_TRY_VOID(add(*parent->second, "parent", info.agent_type.empty() ? std::min(shared, info.parent_seq) : 0));
    // Other forks of a parent that was deleted share its records still.
    if (!info.parent.empty() && !by_id.contains(info.parent)) {
      const auto [sibling, end] = children.equal_range(info.parent);
      for (auto other = sibling; other != end; ++other) {
        const bool forks = info.agent_type.empty() && other->second->agent_type.empty();
        AGENTD_TRY_VOID(add(*other->second, other->second->agent_type.empty() ? "fork" : "subagent",
                            forks ? std::min({shared, info.parent_seq, other->second->parent_seq}) : 0));
      }
    }
    const auto [first, last] = children.equal_range(info.id);
    for (auto child = first; child != last; ++child) {
      const bool fork = child->second->agent_type.empty();
      AGENTD_TRY_VOID(
          add(*child->second, fork ? "fork" : "subagent", fork ? std::min(shared, child->second->parent_seq) : 0));
    }
  }
  return out;
}

// ---- reading

struct ReadLog {
  std::vector<StoredRecord> records;  // dense from sequence 1
  std::set<Digest> attached;
};

// Verified on the way: an erasure of a damaged log would hide the damage.
Result<ReadLog> read_log_of(const Store& store, const Ulid& id) {
  ReadLog out;
  AGENTD_TRY_VOID(store.verify(id, [&](const VerifiedBatch& batch) {
    out.records.insert(out.records.end(), batch.records.begin(), batch.records.end());
    out.attached.insert(batch.attached.begin(), batch.attached.end());
  }));
  return out;
}

std::optional<std::string> without(std::string_view text, std::span<const ErasedText> texts) {
  std::optional<std::string> out;
  for (const ErasedText& each : texts)
    if (auto now = replaced_in(out ? std::string_view(*out) : text, each.text, each.instead)) out = std::move(now);
  return out;
}

// In any form in which a file or a JSON text has it.
class AnyOf {
 public:
  explicit AnyOf(std::span<const ErasedText> texts) {
    for (const ErasedText& each : texts)
      for (std::string& form : written_forms(each.text)) forms_.push_back(std::move(form));
  }
  bool in(std::string_view text) const {
    return std::any_of(forms_.begin(), forms_.end(),
                       [&](const std::string& form) { return text.find(form) != std::string_view::npos; });
  }

 private:
  std::vector<std::string> forms_;
};

// The longest first, so that one that contains another is found.
void put_in_order(std::vector<ErasedText>& texts) {
  std::stable_sort(texts.begin(), texts.end(),
                   [](const ErasedText& a, const ErasedText& b) { return a.text.size() > b.text.size(); });
  std::set<std::string> seen;
  std::erase_if(texts, [&](const ErasedText& each) { return !seen.insert(each.text).second; });
}

// The receipts of a part that lose what they keep. By sequence the hooks of the same run have seen the text, maybe in
// pieces or in other words.
bool loses_texts(const ErasePlan& plan, const PlannedPart& part, const AnyOf& any, const HookReceipt& receipt,
                 std::string_view payload) {
  const bool of_the_run = plan.whole && std::find(part.runs.begin(), part.runs.end(), receipt.run) != part.runs.end();
  return of_the_run || (receipt.payload_kept && part.payloads.contains(receipt.payload_digest)) || any.in(payload) ||
         any.in(receipt.answer) || any.in(receipt.note);
}

// Each receipt that keeps anything, with its payload, empty where none is kept.
Result<void> for_each_receipt(const Store& store, const Ulid& conversation,
                              const std::function<Result<void>(const HookReceipt&, std::string_view)>& visit) {
  std::vector<HookReceipt> all;
  AGENTD_TRY_VOID(store.receipts(conversation, [&](const HookReceipt& receipt) {
    if (receipt.payload_kept || receipt.answer != "[]" || !receipt.note.empty()) all.push_back(receipt);
    return true;
  }));
  for (const HookReceipt& receipt : all) {
    auto payload = receipt.payload_kept ? store.blob(receipt.payload_digest) : Result<std::string>(std::string());
    if (!payload && payload.error().code != Code::kNotFound) return payload.error();  // else removed for its age
    AGENTD_TRY_VOID(visit(receipt, payload.value_or(std::string())));
  }
  return {};
}

Result<void> count_receipts(const Store& store, const ErasePlan& plan, const AnyOf& any, PlannedPart& part) {
  return for_each_receipt(store, part.conversation,
                          [&](const HookReceipt& receipt, std::string_view payload) -> Result<void> {
                            if (loses_texts(plan, part, any, receipt, payload)) ++part.receipts;
                            return {};
                          });
}

// Every text of a JSON value, names of members among them.
void collect_texts(JsonView value, std::set<std::string>& out) {
  if (value.is_string()) out.emplace(value.string_or(""));
  if (!value.is_object() && !value.is_array()) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value.is_object()) out.emplace(value.key_at(i));
    collect_texts(value.at(i), out);
  }
}

// ---- one conversation

class PartPlan {
 public:
  PartPlan(const Relative& relative, const ReadLog& log) : log_(log) {
    out_.conversation = relative.id;
    out_.relation = relative.relation;
    out_.revision = log.records.size();
  }

  bool has(std::uint64_t seq) const { return planned_.contains(seq); }

  // nullopt payload: the record has nothing of it.
  void add(const StoredRecord& record, std::optional<std::string> payload, std::string why) {
    if (!payload || planned_.contains(record.seq)) return;
    planned_.emplace(record.seq, PlannedRecord{record.seq, std::string(name_of(record.record.type)), std::move(why),
                                               std::move(*payload)});
  }
  Result<bool> add_whole(std::uint64_t seq, const std::string& why) {
    const StoredRecord& record = log_.records[static_cast<std::size_t>(seq - 1)];
    AGENTD_TRY(auto payload, without_texts(record.record));
    const bool any = payload.has_value();
    add(record, std::move(payload), why);
    return any;
  }

  // A summary that was made of an erased message, or of such a summary.
  Result<void> add_summaries() {
    for (const StoredRecord& record : log_.records) {
      if (record.record.type != RecordType::kBoundary) continue;
      AGENTD_TRY(const BoundaryRecord boundary, read_boundary(record.record));
      const std::uint64_t seq = boundary.summary_seq;
      if (seq == 0 || seq > log_.records.size() || has(seq)) continue;
      const bool concerned = std::any_of(planned_.begin(), planned_.end(), [&](const auto& each) {
        const bool kept = std::any_of(boundary.kept.begin(), boundary.kept.end(), [&](const SeqRange& range) {
          return range.first <= each.first && each.first <= range.last;
        });
        return each.first <= boundary.base_seq && !kept &&
               carries_message(log_.records[static_cast<std::size_t>(each.first - 1)].record.type);
      });
      if (!concerned) continue;
      AGENTD_TRY(const MessageRecord summary, read_message(log_.records[static_cast<std::size_t>(seq - 1)].record));
      if (summary.author != kCutAuthor) AGENTD_TRY_VOID(add_whole(seq, "summary"));
    }
    return {};
  }

  // The texts of checkpoints that were made of an erased message; their places stay.
  Result<void> add_checkpoints() {
    std::map<std::string, std::uint64_t> places;
    for (const StoredRecord& record : log_.records) {
      if (record.record.type != RecordType::kCheckpoint) continue;
      AGENTD_TRY(CheckpointRecord checkpoint, read_checkpoint(record.record));
      if (!checkpoint.why.empty()) places.emplace(checkpoint.id, checkpoint.revision);
      const auto place = places.find(checkpoint.id);
      if (checkpoint.texts.empty() || has(record.seq) || place == places.end()) continue;
      const bool concerned = std::any_of(planned_.begin(), planned_.end(), [&](const auto& each) {
        return each.first <= place->second &&
               carries_message(log_.records[static_cast<std::size_t>(each.first - 1)].record.type);
      });
      if (!concerned) continue;
      if (checkpoint.why.empty()) checkpoint.texts.clear();
      for (CheckpointRecord::Text& each : checkpoint.texts) each.text = kErasedText;
      std::string payload = write_checkpoint(checkpoint).payload;
      if (payload != record.record.payload) add(record, std::move(payload), "checkpoint");
    }
    return {};
  }

  // Questions and permissions about a call whose input is erased.
  Result<void> add_questions() {
    std::set<std::string> calls;
    for (const auto& [seq, planned] : planned_) {
      const Record& record = log_.records[static_cast<std::size_t>(seq - 1)].record;
      if (record.type != RecordType::kAssistantMessage) continue;
      AGENTD_TRY(const MessageRecord message, read_message(record));
      for (const Block& block : message.message.blocks)
        if (block.kind == BlockKind::kToolUse) calls.insert(block.call_id);
    }
    for (const StoredRecord& record : log_.records) {
      if (record.record.type == RecordType::kWait) {
        AGENTD_TRY(const WaitRecord wait, read_wait(record.record));
        if (calls.contains(wait.call_id)) AGENTD_TRY_VOID(add_whole(record.seq, "question"));
      } else if (record.record.type == RecordType::kPermission) {
        AGENTD_TRY(const PermissionRecord permission, read_permission(record.record));
        if (calls.contains(permission.call_id)) AGENTD_TRY_VOID(add_whole(record.seq, "question"));
      }
    }
    return {};
  }

  // A title is the beginning of the first message; a fork's says behind it that it is one.
  Result<void> add_titles(std::span<const std::string> texts) {
    for (const StoredRecord& record : log_.records) {
      if (record.record.type != RecordType::kMeta) continue;
      AGENTD_TRY(const MetaRecord meta, read_meta(record.record));
      const std::string title = without_marks(meta.title.value_or(""));
      const bool concerned = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
        const std::string line = one_line(text, text.size() + 1);
        return line == title || (title.size() >= kTitleMin && line.starts_with(title));
      });
      if (concerned) AGENTD_TRY_VOID(add_whole(record.seq, "title"));
    }
    return {};
  }

  Result<void> add_copies(std::span<const ErasedText> texts, const std::string& why) {
    const ReplaceText replace = [&](std::string_view text) { return without(text, texts); };
    for (const StoredRecord& record : log_.records) {
      AGENTD_TRY(auto payload, replace_texts(record.record, replace));
      add(record, std::move(payload), why);
    }
    return {};
  }

  // The replacements that earlier erasures have put instead of these records go with them.
  Result<void> add_erasures() {
    for (const StoredRecord& record : log_.records) {
      if (record.record.type != RecordType::kErase) continue;
      AGENTD_TRY(EraseRecord erase, read_erase(record.record));
      const auto planned = planned_.find(erase.seq);
      if (planned == planned_.end()) continue;
      erase.payload = planned->second.payload;
      add(record, write_erase(erase).payload, "erasure");
    }
    return {};
  }

  Result<void> add_attached(const Store& store, const AnyOf& any) {
    for (const Digest& digest : log_.attached) {
      AGENTD_TRY(const std::string text, store.blob(digest));
      if (any.in(text)) out_.attached.push_back(digest);
    }
    return {};
  }

  // The call of an erased question does not run: it has a result, as one that was denied.
  Result<void> end_question(const Store& store) {
    if (planned_.empty()) return {};
    AGENTD_TRY(const auto conversation,
               load_conversation(store, out_.conversation, [](const agentd_message&) { return std::uint64_t{0}; }));
    const OpenWait* const open = conversation->wait();
    if (open == nullptr || open->begun) return {};
    if (!has(open->seq) && !has_call(open->wait.call_id)) return {};
    const std::string denied = "not permitted: the input of the call was erased; nothing was run";
    if (!open->answer)
      out_.append.push_back(
          write_answer({open->wait.id, std::string(name_of(WaitDecision::kSuperseded)), "user", "erase", denied}));
    const auto result = [](std::string call_id, std::string name, ToolStatus status, std::string text) {
      ToolResultRecord out;
      out.call_id = std::move(call_id);
      out.name = std::move(name);
      out.status = name_of(status);
      out.text = std::move(text);
      return out;
    };
    if (open->wait.direct)
      out_.append.push_back(
          write_direct_result(result(open->wait.call_id, open->wait.tool, ToolStatus::kDenied, denied)));
    for (const auto& [call_id, name] : conversation->open_calls())
      out_.append.push_back(write_tool_result(
          call_id == open->wait.call_id
              ? result(call_id, name, ToolStatus::kDenied, denied)
              : result(call_id, name, ToolStatus::kCancelled, "not run: the input of a call before it was erased")));
    return {};
  }

  Result<void> note_texts(std::vector<std::string>& out) const {
    for (const auto& [seq, planned] : planned_) {
      const Record& record = log_.records[static_cast<std::size_t>(seq - 1)].record;
      AGENTD_TRY(std::vector<std::string> texts, texts_of(record));
      // A client's name for the message is no text of it.
      if (record.type == RecordType::kUserMessage) {
        AGENTD_TRY(const MessageRecord message, read_message(record));
        if (!message.key.empty() && !texts.empty() && texts.back() == message.key) texts.pop_back();
      }
      std::move(texts.begin(), texts.end(), std::back_inserter(out));
    }
    return {};
  }

  PlannedPart take() {
    std::set<std::uint32_t> runs;
    for (auto& [seq, planned] : planned_) {
      runs.insert(log_.records[static_cast<std::size_t>(seq - 1)].record.run);
      out_.records.push_back(std::move(planned));
    }
    runs.erase(0);
    out_.runs.assign(runs.begin(), runs.end());
    return std::move(out_);
  }

 private:
  // True if an erased message has the call.
  bool has_call(const std::string& call_id) const {
    return std::any_of(planned_.begin(), planned_.end(), [&](const auto& each) {
      const Record& record = log_.records[static_cast<std::size_t>(each.first - 1)].record;
      if (record.type != RecordType::kAssistantMessage) return false;
      const auto message = read_message(record);
      return message && std::any_of(message->message.blocks.begin(), message->message.blocks.end(),
                                    [&](const Block& block) { return block.call_id == call_id; });
    });
  }

  const ReadLog& log_;
  std::map<std::uint64_t, PlannedRecord> planned_;
  PlannedPart out_;
};

// ---- the plan

class Planner {
 public:
  Planner(const Store& store, const EraseQuery& query) : store_(store), query_(query) {}

  Result<ErasePlan> run() {
    AGENTD_TRY(relatives_, relatives_of(store_, query_.conversation));
    for (const Relative& each : relatives_) {
      auto log = read_log_of(store_, each.id);
      if (!log) return log.error().with_context("conversation " + each.id.text());
      logs_.push_back(std::move(*log));
    }
    for (std::size_t i = 0; i < relatives_.size(); ++i) parts_.emplace_back(relatives_[i], logs_[i]);
    out_.whole = !query_.ranges.empty();
    AGENTD_TRY_VOID(out_.whole ? by_sequence() : by_text());
    const AnyOf any(out_.texts);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      AGENTD_TRY_VOID(parts_[i].add_erasures());
      AGENTD_TRY_VOID(parts_[i].end_question(store_));
      out_.looked_at.push_back(relatives_[i].id);
      PlannedPart part = parts_[i].take();
      AGENTD_TRY_VOID(count_receipts(store_, out_, any, part));
      if (!part.records.empty() || !part.attached.empty() || part.receipts != 0) out_.parts.push_back(std::move(part));
    }
    return std::move(out_);
  }

 private:
  // The texts of the records go as a whole, with those of every copy.
  Result<void> by_sequence() {
    for (const SeqRange& range : query_.ranges) AGENTD_TRY_VOID(add_range(range));
    std::vector<std::string> texts;
    for (const PartPlan& part : parts_) AGENTD_TRY_VOID(part.note_texts(texts));
    for (const std::string& text : texts)
      if (text.size() >= kErasedCopyMin) out_.texts.push_back({text, std::string(kErasedText)});
    put_in_order(out_.texts);
    const AnyOf any(out_.texts);
    for (PartPlan& part : parts_) {
      AGENTD_TRY_VOID(part.add_copies(out_.texts, "copy"));
      AGENTD_TRY_VOID(part.add_titles(texts));
      AGENTD_TRY_VOID(part.add_questions());
      AGENTD_TRY_VOID(part.add_summaries());
      AGENTD_TRY_VOID(part.add_checkpoints());
      AGENTD_TRY_VOID(part.add_attached(store_, any));
    }
    out_.said = std::move(texts);
    return {};
  }

  Result<void> add_range(const SeqRange& range) {
    const std::uint64_t end = logs_[0].records.size();
    if (range.first == 0 || range.last < range.first || range.last > end)
      return Error{Code::kInvalid, "conversation " + query_.conversation.text() + " has no sequences " +
                                       std::to_string(range.first) + " to " + std::to_string(range.last) +
                                       ": its last one is " + std::to_string(end)};
    bool any = false;
    for (std::uint64_t seq = range.first; seq <= range.last; ++seq) {
      AGENTD_TRY(bool had, parts_[0].add_whole(seq, "named"));
      // A record that an earlier command has erased may still be in a fork, and in files.
      had = had || logs_[0].records[static_cast<std::size_t>(seq - 1)].erased_by != 0;
      any = any || had;
      for (std::size_t i = 1; had && i < parts_.size(); ++i)
        if (seq <= relatives_[i].shared) AGENTD_TRY_VOID(parts_[i].add_whole(seq, "copy"));
    }
    if (any) return {};
    return Error{Code::kInvalid, (range.first == range.last ? "sequence " + std::to_string(range.first) + " has"
                                                            : "sequences " + std::to_string(range.first) + " to " +
                                                                  std::to_string(range.last) + " have") +
                                     " no text to erase: 'agentd conversation show " + query_.conversation.text() +
                                     "' has the numbers of the messages"};
  }

  Result<void> by_text() {
    out_.texts = query_.texts;
    if (query_.find) AGENTD_TRY_VOID(find_texts());
    put_in_order(out_.texts);
    const AnyOf any(out_.texts);
    for (PartPlan& part : parts_) {
      AGENTD_TRY_VOID(part.add_copies(out_.texts, "named"));
      AGENTD_TRY_VOID(part.add_attached(store_, any));
    }
    return {};
  }

  // In every text of every record, in the attached ones, and in what receipts keep.
  Result<void> find_texts() {
    const auto find_in = [&](std::string_view text) -> Result<void> {
      AGENTD_TRY(const std::vector<ErasedText> found, query_.find(text));
      for (const ErasedText& each : found) {
        if (each.text.size() >= kErasedTextMin)
          out_.texts.push_back(each);
        else
          ++out_.too_short;
      }
      return {};
    };
    std::set<Digest> looked;
    for (const ReadLog& log : logs_) {
      for (const StoredRecord& record : log.records) {
        AGENTD_TRY(const std::vector<std::string> texts, texts_of(record.record));
        for (const std::string& text : texts) AGENTD_TRY_VOID(find_in(text));
      }
      for (const Digest& digest : log.attached) {
        if (!looked.insert(digest).second) continue;
        AGENTD_TRY(const std::string text, store_.blob(digest));
        AGENTD_TRY_VOID(find_in(text));
      }
    }
    std::set<std::string> kept;
    const auto keep = [&](const HookReceipt& receipt, std::string_view payload) -> Result<void> {
      kept.insert(receipt.note);
      for (const std::string_view json : {payload, std::string_view(receipt.answer)})
        if (const auto document = JsonDocument::parse(json)) collect_texts(document->root(), kept);
      return {};
    };
    for (const Relative& each : relatives_) AGENTD_TRY_VOID(for_each_receipt(store_, each.id, keep));
    for (const std::string& text : kept) AGENTD_TRY_VOID(find_in(text));
    return {};
  }

  const Store& store_;
  const EraseQuery& query_;
  std::vector<Relative> relatives_;
  std::vector<ReadLog> logs_;    // of each
  std::vector<PartPlan> parts_;  // of each
  ErasePlan out_;
};

}  // namespace

Result<ErasePlan> plan_erase(const Store& store, const EraseQuery& query) { return Planner(store, query).run(); }

Result<ErasePlan> plan_erase_removed(const Store& store, const std::optional<Ulid>& conversation) {
  AGENTD_TRY(RemovedTexts removed, removed_texts(store, conversation));
  ErasePlan out;
  out.damaged = std::move(removed.damaged);
  for (const RemovedText& each : removed.found) {
    if (out.parts.empty() || out.parts.back().conversation != each.conversation) {
      AGENTD_TRY(const ConversationInfo info, store.info(each.conversation));
      out.looked_at.push_back(each.conversation);
      PlannedPart& part = out.parts.emplace_back();
      part.conversation = each.conversation;
      part.revision = info.revision;
    }
    out.parts.back().payloads.insert(each.payload);
    // A shorter one may be part of what must stay.
    if (each.text.size() >= kErasedCopyMin) out.texts.push_back({each.text, std::string(kErasedText)});
  }
  put_in_order(out.texts);
  const AnyOf any(out.texts);
  for (PlannedPart& part : out.parts) AGENTD_TRY_VOID(count_receipts(store, out, any, part));
  return out;
}

Result<std::vector<std::unique_ptr<Lease>>> lease_all(Store& store, const ErasePlan& plan) {
  std::vector<std::unique_ptr<Lease>> out;
  for (const PlannedPart& part : plan.parts) {
    AGENTD_TRY(std::unique_ptr<Lease> lease, store.lease(part.conversation));
    out.push_back(std::move(lease));
  }
  return out;
}

namespace {

// Listeners and the rows of checkpoints forget the records.
Result<void> forget_part(Store& store, const PlannedPart& part, std::span<const EraseListener> listeners,
                         ErasedAll& done) {
  std::vector<std::uint64_t> seqs;
  for (const PlannedRecord& planned : part.records) {
    seqs.push_back(planned.seq);
    if (planned.kind != name_of(RecordType::kCheckpoint)) continue;
    Record record;
    record.type = RecordType::kCheckpoint;
    record.payload = planned.payload;
    AGENTD_TRY(const CheckpointRecord checkpoint, read_checkpoint(record));
    if (!checkpoint.why.empty()) AGENTD_TRY_VOID(rename_checkpoint(store, checkpoint.id, checkpoint.name));
  }
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    const auto gone = listeners[i].forget(part.conversation, seqs);
    if (gone) done.forgotten[i].second += *gone;
    if (!gone) done.failed.push_back(listeners[i].name + ": " + gone.error().message);
  }
  return {};
}

}  // namespace

// In an order in which a command that is killed can be given again: what was made of a record goes before it, and the
// named conversation, by which the others are found, is the last one.
Result<void> carry_out(Store& store, const ErasePlan& plan, std::span<const EraseListener> listeners, ErasedAll& done) {
  const AnyOf any(plan.texts);
  for (const EraseListener& listener : listeners) done.forgotten.emplace_back(listener.name, 0);
  for (auto part = plan.parts.rbegin(); part != plan.parts.rend(); ++part) {
    AGENTD_TRY_VOID(forget_part(store, *part, listeners, done));
    EraseRequest request;
    for (const PlannedRecord& record : part->records) request.records.push_back({record.seq, record.payload});
    request.attached = part->attached;
    request.append = part->append;
    request.receipt = [&](const HookReceipt& receipt, std::string_view payload) {
      return loses_texts(plan, *part, any, receipt, payload);
    };
    AGENTD_TRY(const EraseReport report, store.erase(part->conversation, part->revision, request));
    done.parts.insert(done.parts.begin(), {part->conversation, report});
  }
  return {};
}

Result<std::vector<KeyWithText>> keys_with(const Store& store, std::span<const ErasedText> texts) {
  std::vector<KeyWithText> out;
  const AnyOf any(texts);
  AGENTD_TRY(const std::vector<std::string> spaces, store.key_spaces());
  for (const std::string& space : spaces) {
    if (std::find(std::begin(kOwnSpaces), std::end(kOwnSpaces), space) != std::end(kOwnSpaces)) continue;
    std::string after;
    for (;;) {
      AGENTD_TRY(const std::vector<StoredKey> keys, store.scan_keys(space, {}, after, kErasingPage));
      if (keys.empty()) break;
      after = keys.back().key;
      for (const StoredKey& key : keys)
        if (any.in(key.value) || any.in(key.key)) out.push_back({space, key.key});
    }
  }
  return out;
}

}  // namespace agentd
