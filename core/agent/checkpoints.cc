// SPDX-License-Identifier: Apache-2.0
#include "core/agent/checkpoints.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/agent/conversation_mode.h"
#include "core/agent/loading.h"
#include "core/agent/states.h"
#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/codec/json.h"
#include "core/compaction/compaction.h"
#include "core/conversation/erasure.h"

namespace agentd {
namespace {

constexpr std::string_view kCheckpointSpace = "agentd.checkpoints";
constexpr std::string_view kById = "id/", kByProject = "project/", kNewest = "newest/";
constexpr std::size_t kProjectKeyDigits = 32;  // a project's id may be a path, which is too long for a key
constexpr std::size_t kPrefixMin = 4;
constexpr std::uint32_t kCheckpointPage = 1'000;
constexpr int kSaveTries = 5;
constexpr std::uint64_t kTailShare = 4;            // the tail of `context` is a quarter of the view
constexpr std::size_t kExtractBytes = 6'000;       // of the user's texts
constexpr std::size_t kExtractMessageBytes = 400;  // of one of them
constexpr std::size_t kExtractAnswerBytes = 2'000;

std::string project_key(std::string_view prefix, const std::string& project_id) {
  return std::string(prefix) + hex(sha256(project_id)).substr(0, kProjectKeyDigits);
}

std::string row_json(const CheckpointRecord& record, const std::string& project_id, std::uint64_t seq,
                     std::int64_t now_ms) {
  CheckpointRecord plain = record;
  plain.texts.clear();
  JsonWriter out;
  out.begin_object().member("seq", seq).member("created_ms", now_ms).member("project_id", project_id);
  out.key("checkpoint").raw(write_checkpoint(plain).payload).end_object();
  return std::string(out.text());
}

Result<Checkpoint> read_row(const std::string& json) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(json));
  const JsonView root = document.root();
  Record record;
  record.type = RecordType::kCheckpoint;
  record.payload = root["checkpoint"].text();
  Checkpoint out;
  AGENTD_TRY(out.record, read_checkpoint(record));
  out.project_id = std::string(root["project_id"].string_or({}));
  out.created_ms = root["created_ms"].int_or(0);
  out.seq = root["seq"].uint_or(0);
  return out;
}

Error gone(std::string_view id) {
  return {Code::kNotFound, "the conversation of checkpoint " + std::string(id) + " was deleted"};
}

Error no_checkpoint(std::string_view id) {
  return {Code::kNotFound,
          "no checkpoint begins with '" + one_line(id, 40) + "'; 'agentd checkpoint list --all' lists them"};
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

const CheckpointRecord::Text* text_at(const CheckpointRecord& record, ResumeLevel level) {
  const auto found = std::find_if(record.texts.begin(), record.texts.end(),
                                  [&](const CheckpointRecord::Text& each) { return each.level == name_of(level); });
  return found == record.texts.end() ? nullptr : &*found;
}

std::string resumed_title(const std::string& title) {
  constexpr std::string_view kMark = "(resumed)";
  if (title.empty()) return std::string(kMark);
  return title.ends_with(kMark) ? title : title + " " + std::string(kMark);
}

std::string text_of(const agentd_message& row) { return to_message(row).text(); }

}  // namespace

// ---- levels

std::string_view name_of(ResumeLevel level) {
  switch (level) {
    case ResumeLevel::kSummary:
      return "summary";
    case ResumeLevel::kContext:
      return "context";
    case ResumeLevel::kFull:
      return "full";
  }
  return "full";
}

Result<ResumeLevel> parse_resume_level(std::string_view name) {
  for (const ResumeLevel each : {ResumeLevel::kSummary, ResumeLevel::kContext, ResumeLevel::kFull})
    if (name == name_of(each)) return each;
  return Error{Code::kInvalid, "'" + one_line(name, 40) + "' is no level: use full, context or summary"};
}

// ---- rows

std::string write_checkpoint_json(const Checkpoint& from) {
  const CheckpointRecord& record = from.record;
  JsonWriter out;
  out.begin_object().member("id", record.id).member("conversation_id", record.conversation_id);
  out.optional("name", record.name).member("why", record.why).member("revision", record.revision);
  if (record.percent != 0) out.member("percent", static_cast<unsigned>(record.percent));
  if (record.tokens != 0) out.member("tokens", record.tokens);
  out.member("project_id", from.project_id).member("created_ms", from.created_ms).optional("title", from.title);
  out.end_object();
  return std::string(out.text());
}

std::vector<KeyPut> rows_of_checkpoint(const CheckpointRecord& record, const std::string& project_id, std::uint64_t seq,
                                       std::int64_t now_ms) {
  const std::string json = row_json(record, project_id, seq, now_ms);
  const std::string space(kCheckpointSpace);
  return {{space, std::string(kById) + record.id, json},
          {space, project_key(kByProject, project_id) + "/" + record.id, {}},
          {space, project_key(kNewest, project_id), json}};
}

Result<void> rename_checkpoint(Store& store, const std::string& id, const std::string& name) {
  std::string key = std::string(kById) + id;
  for (int tries = 0; tries < kSaveTries;) {
    const auto stored = store.get_key(kCheckpointSpace, key);
    if (!stored && stored.error().code == Code::kNotFound) return {};
    if (!stored) return stored.error();
    AGENTD_TRY(Checkpoint row, read_row(stored->value));
    Result<std::uint64_t> done = stored->version;
    if (row.record.id == id && row.record.name != name) {
      row.record.name = name;
      const KeyOp put{KeyOp::Kind::kPut, key, row_json(row.record, row.project_id, row.seq, row.created_ms),
                      stored->version};
      done = store.commit_keys(kCheckpointSpace, {&put, 1});
    }
    if (!done && done.error().code != Code::kConflict) return done.error();
    if (!done) {
      ++tries;
      continue;
    }
    const std::string newest = project_key(kNewest, row.project_id);
    if (key == newest) return {};
    key = newest;
  }
  return Error{Code::kConflict, "checkpoint " + id + " is being changed by others: try again"};
}

namespace {

// Puts the newest row that is left in the place of one of a conversation that is gone.
Result<void> move_newest(Store& store, const std::string& project_id, const std::string& conversation) {
  const std::string key = project_key(kNewest, project_id), prefix = project_key(kByProject, project_id) + "/";
  const auto stored = store.get_key(kCheckpointSpace, key);
  if (!stored) return stored.error().code == Code::kNotFound ? Result<void>() : stored.error();
  AGENTD_TRY(const Checkpoint newest, read_row(stored->value));
  if (newest.record.conversation_id != conversation) return {};
  std::string last;
  for (std::string after;;) {
    AGENTD_TRY(const std::vector<StoredKey> page, store.scan_keys(kCheckpointSpace, prefix, after, kCheckpointPage));
    if (!page.empty()) last = page.back().key.substr(prefix.size());
    if (page.size() < kCheckpointPage) break;
    after = page.back().key;
  }
  const auto next =
      last.empty() ? Error{Code::kNotFound, ""} : store.get_key(kCheckpointSpace, std::string(kById) + last);
  if (!next && next.error().code != Code::kNotFound) return next.error();
  const KeyOp op = next ? KeyOp{KeyOp::Kind::kPut, key, next->value, stored->version}
                        : KeyOp{KeyOp::Kind::kErase, key, {}, stored->version};
  const auto done = store.commit_keys(kCheckpointSpace, {&op, 1});
  // In a conflict somebody has saved a newer one.
  return done || done.error().code == Code::kConflict ? Result<void>() : done.error();
}

}  // namespace

Result<void> forget_checkpoints(Store& store, const std::string& conversation) {
  std::vector<KeyOp> gone;
  std::set<std::string> projects;
  for (std::string after;;) {
    AGENTD_TRY(const std::vector<StoredKey> page, store.scan_keys(kCheckpointSpace, kById, after, kCheckpointPage));
    for (const StoredKey& each : page) {
      const auto row = read_row(each.value);
      if (!row || row->record.conversation_id != conversation) continue;
      gone.push_back({KeyOp::Kind::kErase, each.key, {}});
      gone.push_back({KeyOp::Kind::kErase, project_key(kByProject, row->project_id) + "/" + row->record.id, {}});
      projects.insert(row->project_id);
    }
    if (page.size() < kCheckpointPage) break;
    after = page.back().key;
  }
  if (gone.empty()) return {};
  AGENTD_TRY([[maybe_unused]] const std::uint64_t version, store.commit_keys(kCheckpointSpace, gone));
  for (const std::string& project : projects) AGENTD_TRY_VOID(move_newest(store, project, conversation));
  return {};
}

Result<Checkpoint> Checkpoints::row(const std::string& key) const {
  AGENTD_TRY(const StoredKey stored, parts_.store.get_key(kCheckpointSpace, key));
  return read_row(stored.value);
}

Result<Checkpoint> Checkpoints::save(const SaveRequest& request) {
  AGENTD_TRY(const std::unique_ptr<Lease> lease, parts_.store.lease(request.conversation));
  AGENTD_TRY(const ConversationInfo info, parts_.store.info(request.conversation));
  if (info.messages == 0 && is_blank(request.text))
    return Error{Code::kInvalid, "conversation " + info.id + " has no messages: there is nothing to save"};
  Checkpoint out;
  out.record.id = parts_.ids.next().text();
  out.record.conversation_id = info.id;
  out.record.name = one_line(request.name, 80);
  out.record.why = request.why;
  out.record.revision = info.revision;
  out.record.percent = request.percent;
  if (!is_blank(request.text))
    out.record.texts.push_back({std::string(name_of(ResumeLevel::kSummary)), request.text, {}});
  out.project_id = info.project_id;
  out.created_ms = parts_.clock.wall_ms();
  out.seq = info.revision + 1;
  out.title = info.title;
  const Record record = write_checkpoint(out.record);
  AGENTD_TRY([[maybe_unused]] const auto stored,
             parts_.store.append(request.conversation, info.revision, {&record, 1}, {}, {},
                                 rows_of_checkpoint(out.record, out.project_id, out.seq, out.created_ms)));
  return out;
}

Result<std::vector<Checkpoint>> Checkpoints::list(const std::string& project_id, std::uint32_t limit) const {
  const std::string prefix = project_id.empty() ? std::string(kById) : project_key(kByProject, project_id) + "/";
  std::vector<std::string> ids;  // oldest first
  for (std::string after;;) {
    AGENTD_TRY(const std::vector<StoredKey> page,
               parts_.store.scan_keys(kCheckpointSpace, prefix, after, kCheckpointPage));
    for (const StoredKey& each : page) ids.push_back(each.key.substr(prefix.size()));
    if (page.size() < kCheckpointPage) break;
    after = page.back().key;
  }
  std::vector<Checkpoint> out;
  for (auto id = ids.rbegin(); id != ids.rend() && (limit == 0 || out.size() < limit); ++id) {
    auto found = row(std::string(kById) + *id);
    if (!found && found.error().code == Code::kNotFound) continue;
    if (!found) return found.error();
    const auto conversation = Ulid::parse(found->record.conversation_id);
    const auto info = conversation ? parts_.store.info(*conversation) : conversation.error();
    if (!info && info.error().code != Code::kNotFound) return info.error();
    if (!info) continue;
    found->title = info->title;
    out.push_back(std::move(*found));
  }
  return out;
}

Result<std::optional<Checkpoint>> Checkpoints::newest(const std::string& project_id) const {
  auto found = row(project_key(kNewest, project_id));
  if (!found && found.error().code == Code::kNotFound) return std::optional<Checkpoint>();
  if (!found) return found.error();
  AGENTD_TRY(const Ulid conversation, Ulid::parse(found->record.conversation_id));
  if (const auto info = parts_.store.info(conversation)) {
    found->title = info->title;
    return std::optional<Checkpoint>(std::move(*found));
  } else if (info.error().code != Code::kNotFound) {
    return info.error();
  }
  // Its conversation was deleted: an older one is the newest now.
  AGENTD_TRY(std::vector<Checkpoint> rest, list(project_id, 1));
  return rest.empty() ? std::optional<Checkpoint>() : std::optional<Checkpoint>(std::move(rest.front()));
}

Result<std::optional<Checkpoint>> Checkpoints::offer(const std::string& project_id) const {
  constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;
  AGENTD_TRY(std::optional<Checkpoint> out, newest(project_id));
  if (out && parts_.clock.wall_ms() - out->created_ms > kOfferDays * kDayMs) out.reset();
  return out;
}

Result<Checkpoint> Checkpoints::find(std::string_view id) const {
  const std::string wanted = upper(id);
  if (wanted.size() < kPrefixMin || wanted.size() > Ulid::kTextBytes)
    return Error{Code::kNotFound, "'" + one_line(id, 40) + "' is not a checkpoint: give an id, or at least " +
                                      std::to_string(kPrefixMin) + " characters of its beginning"};
  AGENTD_TRY(const std::vector<StoredKey> rows,
             parts_.store.scan_keys(kCheckpointSpace, std::string(kById) + wanted, {}, 2));
  if (rows.empty()) return no_checkpoint(id);
  if (rows.size() > 1)
    return Error{Code::kInvalid,
                 "'" + one_line(id, 40) + "' is the beginning of several checkpoints; give more characters"};
  AGENTD_TRY(Checkpoint out, read_row(rows.front().value));
  AGENTD_TRY(const Ulid conversation, Ulid::parse(out.record.conversation_id));
  const auto info = parts_.store.info(conversation);
  if (!info) return info.error().code == Code::kNotFound ? gone(out.record.id) : info.error();
  out.title = info->title;
  Result<void> failed;
  AGENTD_TRY_VOID(parts_.store.read(conversation, out.record.revision + 1, 0, [&](const StoredRecord& each) {
    if (each.record.type != RecordType::kCheckpoint) return true;
    auto record = read_checkpoint(each.record);
    if (!record) failed = record.error();
    if (record && record->id == out.record.id)
      for (CheckpointRecord::Text& text : record->texts) {
        // It is made again, of what is left; one of a session elsewhere cannot be.
        if (text.text == kErasedText && out.record.why != kForeignCheckpoint) continue;
        out.record.texts.push_back(std::move(text));
      }
    return record.has_value();
  }));
  if (!failed) return failed.error();
  return out;
}

// ---- resuming

struct Checkpoints::Source {
  Ulid id;
  ConversationInfo info;
  std::unique_ptr<Conversation> view;
  CompactionPlan plan;  // of the level context
};

struct Checkpoints::Candidate {
  ResumeLevel level = ResumeLevel::kFull;
  std::string text{}, author{};
  std::vector<SeqRange> kept{};
  std::uint64_t tokens = 0;
  std::string note{};
};

Result<Checkpoints::Source> Checkpoints::source_of(const Checkpoint& found) const {
  Source out;
  AGENTD_TRY(out.id, Ulid::parse(found.record.conversation_id));
  auto info = parts_.store.info(out.id);
  if (!info) return info.error().code == Code::kNotFound ? gone(found.record.id) : info.error();
  out.info = std::move(*info);
  const TokenEstimator& estimator = parts_.estimator;
  AGENTD_TRY(out.view,
             load_conversation_at(parts_.store, out.id, found.record.revision,
                                  [&estimator](const agentd_message& row) { return estimator.count_row(row); }));
  const Rows& rows = out.view->rows();
  const ModelInfo model = parts_.models.find(out.info.model);
  Gauge gauge = make_gauge(parts_.budget, model.window, model.max_output, 0, 0);
  gauge.used = rows.tokens();
  CompactionRequest request;
  request.trigger = AGENTD_TRIGGER_MANUAL;
  request.reason = AGENTD_REASON_MANUAL;
  request.phase = AGENTD_PHASE_STANDALONE;
  request.strategy = AGENTD_STRATEGY_TAIL;
  request.keep_tokens = std::max<std::uint64_t>(rows.tokens() / kTailShare, 1);
  if (!rows.empty()) out.plan = plan_compaction(rows, out.view->state().ranges(), request, gauge, parts_.budget);
  return out;
}

Result<void> Checkpoints::check_not_erased(const Source& source) const {
  bool erased = false;
  AGENTD_TRY_VOID(parts_.store.read(source.id, source.info.revision + 1, 0, [&](const StoredRecord& each) {
    erased = each.record.type == RecordType::kErase;
    return !erased;
  }));
  if (!erased) return {};
  return Error{Code::kConflict, "something was erased from conversation " + source.id.text() +
                                    " while its checkpoint was being resumed: resume it again"};
}

void Checkpoints::keep(const Source& source, const Checkpoint& found, ResumeLevel level,
                       const CheckpointTexts::Written& text) {
  CheckpointRecord added;
  added.id = found.record.id;
  added.conversation_id = found.record.conversation_id;
  added.texts.push_back({std::string(name_of(level)), text.text, text.model});
  // Somebody who works there now is not kept from it: the text is made again the next time.
  const auto lease = parts_.store.lease(source.id);
  const auto info = lease ? parts_.store.info(source.id) : lease.error();
  // A text made of what is erased now is not kept.
  if (!info || !check_not_erased(source)) return;
  const std::vector<Record> records{write_checkpoint(added),
                                    write_usage({text.usage, 0, std::string(name_of(UsagePurpose::kSummary))})};
  (void)parts_.store.append(source.id, info->revision, records);
}

Result<Checkpoints::Candidate> Checkpoints::candidate(const Source& source, const Checkpoint& found, ResumeLevel level,
                                                      const CancelToken& cancel) {
  const Rows& rows = source.view->rows();
  Candidate out;
  out.level = level;
  if (level == ResumeLevel::kFull) {
    out.tokens = rows.tokens();
    return out;
  }
  const bool whole = level == ResumeLevel::kSummary;
  if (const CheckpointRecord::Text* const known = text_at(found.record, level)) {
    out.text = known->text;
    out.author = known->author;
  } else {
    const std::uint32_t count = whole ? rows.size() : source.plan.split;
    Result<CheckpointTexts::Written> written = Error{Code::kUnavailable, "no model was asked"};
    if (parts_.texts != nullptr)
      written = parts_.texts->write({source.id, source.info, rows, source.view->origins(), count}, cancel);
    if (!written && written.error().code == Code::kCancelled) return written.error();
    if (written) {
      keep(source, found, level, *written);
      out.text = std::move(written->text);
      out.author = std::move(written->model);
    } else {
      out.text = extract_of(rows, count);
      out.note = "the text is an extract of the messages, since " + written.error().message;
    }
  }
  if (!whole) {
    out.kept = source.plan.kept;
    out.tokens = source.plan.kept_tokens;
  }
  out.tokens += parts_.estimator.count_text(render_summary(out.text));
  return out;
}

Result<Checkpoints::Candidate> Checkpoints::choose(const Source& source, const Checkpoint& found, ResumeLevel level,
                                                   const CancelToken& cancel) {
  const std::uint64_t full = source.view->rows().tokens();
  const auto is_no_smaller = [&](ResumeLevel larger) {
    return "the level " + std::string(name_of(level)) + " would not be smaller than " + std::string(name_of(larger));
  };
  Candidate whole;
  whole.tokens = full;
  if (level != ResumeLevel::kFull) whole.note = is_no_smaller(ResumeLevel::kFull);
  // Nothing stands before the newest messages.
  if (level == ResumeLevel::kContext && source.plan.nothing_to_do()) return whole;
  AGENTD_TRY(Candidate out, candidate(source, found, level, cancel));
  if (level == ResumeLevel::kFull || found.record.why == kForeignCheckpoint) return out;
  // The tail alone says whether the next level may be as small; its text is made only then.
  if (level == ResumeLevel::kSummary && source.plan.split != 0 && !source.plan.kept.empty() &&
      out.tokens >= source.plan.kept_tokens) {
    AGENTD_TRY(Candidate context, candidate(source, found, ResumeLevel::kContext, cancel));
    if (context.tokens < full && out.tokens >= context.tokens) {
      out = std::move(context);
      out.note = is_no_smaller(ResumeLevel::kContext) + (out.note.empty() ? "" : "; " + out.note);
    }
  }
  return out.tokens < full ? std::move(out) : std::move(whole);
}

Result<ConversationInfo> Checkpoints::fork(const Source& source, const Checkpoint& found, const Candidate& chosen) {
  GenesisRecord genesis;
  const Ulid id = parts_.ids.next();
  genesis.conversation_id = id.text();
  genesis.project_id = source.info.project_id;
  genesis.cwd = source.info.cwd;
  genesis.provider = source.info.provider;
  genesis.model = source.info.model;
  AGENTD_TRY_VOID(copy_mode(parts_.store, source.info.id, genesis.conversation_id));
  AGENTD_TRY(ConversationInfo out,
             parts_.store.fork(source.id, found.record.revision, genesis, resumed_title(source.info.title)));
  if (chosen.level == ResumeLevel::kFull) return out;
  const Message summary = Message::of_text(Role::kSummary, render_summary(chosen.text));
  BoundaryRecord boundary;
  boundary.id = parts_.ids.next().text();
  boundary.trigger = trigger_name(AGENTD_TRIGGER_MANUAL);
  boundary.reason = reason_name(AGENTD_REASON_MANUAL);
  boundary.phase = phase_name(AGENTD_PHASE_STANDALONE);
  boundary.strategy =
      strategy_name(chosen.level == ResumeLevel::kContext ? AGENTD_STRATEGY_TAIL : AGENTD_STRATEGY_FULL);
  boundary.method = method_name(AGENTD_METHOD_SUMMARY);
  boundary.result = result_name(AGENTD_RESULT_APPLIED);
  boundary.model = chosen.author;
  boundary.base_seq = out.revision;
  boundary.summary_seq = out.revision + 1;
  boundary.kept = chosen.kept;
  for (const Prune& prune : source.view->state().prunes())
    if (std::any_of(chosen.kept.begin(), chosen.kept.end(),
                    [&](const SeqRange& range) { return prune.seq >= range.first && prune.seq <= range.last; }))
      boundary.prunes.push_back(prune);
  boundary.pre_tokens = source.view->rows().tokens();
  boundary.post_tokens = chosen.tokens;
  const std::vector<Record> records{write_message({summary, StopReason::kEndTurn, {}, chosen.author}),
                                    write_boundary(boundary)};
  AGENTD_TRY([[maybe_unused]] const auto stored, parts_.store.append(id, out.revision, records));
  return parts_.store.info(id);
}

ResumeLevel usual_level(const Checkpoint& of, ResumeLevel set) {
  return of.record.why == kForeignCheckpoint ? ResumeLevel::kSummary : set;
}

Result<Checkpoints::Resumed> Checkpoints::resume(const Checkpoint& found, ResumeLevel level,
                                                 const CancelToken& cancel) {
  if (found.record.why == kForeignCheckpoint && level != ResumeLevel::kSummary)
    return Error{Code::kInvalid, "checkpoint " + found.record.id +
                                     " is of a session elsewhere, whose messages are not here: use the level summary"};
  AGENTD_TRY(const Source source, source_of(found));
  AGENTD_TRY(const Candidate chosen, choose(source, found, level, cancel));
  if (cancel.cancelled()) return Error{Code::kCancelled, "interrupted: nothing was resumed"};
  AGENTD_TRY_VOID(check_not_erased(source));
  Resumed out;
  AGENTD_TRY(out.conversation, fork(source, found, chosen));
  out.asked = level;
  out.level = chosen.level;
  out.tokens = chosen.tokens;
  out.full_tokens = source.view->rows().tokens();
  out.note = chosen.note;
  return out;
}

// ---- without a model

std::string extract_of(const Rows& rows, std::uint32_t count) {
  std::string summary, answer;
  std::vector<std::string> words;  // newest first
  std::size_t bytes = 0;
  for (std::uint32_t i = std::min(count, rows.size()); i-- > 0;) {
    const agentd_message& row = rows[i];
    const std::string text = text_of(row);
    if (is_blank(text)) continue;
    if (row.role == AGENTD_ROLE_SUMMARY) {
      summary = text;
      break;
    }
    if (row.role == AGENTD_ROLE_ASSISTANT && answer.empty()) answer = utf8_prefix(text, kExtractAnswerBytes);
    if (row.role != AGENTD_ROLE_USER || (row.flags & AGENTD_MESSAGE_CONTEXT) != 0 || bytes > kExtractBytes) continue;
    words.push_back(one_line(text, kExtractMessageBytes));
    bytes += words.back().size();
  }
  std::string out = "No model has written this: it is what was said, shortened.";
  if (!summary.empty()) out += "\n\nThe last summary:\n" + summary;
  if (!words.empty()) out += "\n\nThe user's messages, oldest first:";
  for (auto each = words.rbegin(); each != words.rend(); ++each) out += "\n- " + *each;
  if (!answer.empty()) out += "\n\nThe last answer:\n" + answer;
  return out;
}

}  // namespace agentd
