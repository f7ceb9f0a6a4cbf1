// SPDX-License-Identifier: Apache-2.0
#pragma once
// record.h - the records of a conversation's log: kinds, payloads, and their JSON.
//
// A record is a header and a payload of compact JSON. Kinds and their numbers never change. A reader skips an unknown
// kind unless the record is CRITICAL, which means "written by a newer agentd". docs/internals/log.md has the
// invariants.
//
// Threading: values and pure functions.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/conversation/hook_use.h"
#include "core/conversation/message.h"
#include "core/conversation/origin.h"

namespace agentd {

// The one list of kinds, a row each; docs/internals/log.md has the same.
//   X(number, Name, name, critical, keys)
//     critical  1: a reader that does not know the kind must stop
//     keys      of the payload, for people; "?" = omitted when empty
// clang-format off
#define AGENTD_RECORD_TYPES(X)                                                                                       \
  X(1, Genesis, genesis, 1,                                                                                          \
    "conversation_id, project_id?, cwd?, provider?, model?, parent?, parent_seq, parent_chain (the last two "        \
    "with parent), agent_type? (of a subagent's conversation)")                                                      \
  X(2, Settings, settings, 0, "provider, model, system_digest, tools_digest")                                        \
  X(3, RunBegin, run_begin, 0, "session_id, run_id, cwd, provider, model, recipe?, sandbox? (off, client)")          \
  X(4, UserMessage, user_message, 1,                                                                                 \
    "blocks, flags?, source?, author?, key? (by which the client names it; of no other kind)")                       \
  X(5, Context, context, 1, "as user_message")                                                                       \
  X(6, AssistantMessage, assistant_message, 1,                                                                       \
    "as user_message, and stop_reason; origin{provider, api, model}: the model that answered, absent in older "      \
    "records, which means unknown")                                                                                  \
  X(7, Usage, usage, 0,                                                                                              \
    "input, output, cache_read?, cache_write?, reasoning?, cost_nano_usd?, for_seq, purpose, estimated?, "           \
    "hidden?")                                                                                                       \
  X(8, ToolIntent, tool_intent, 0, "call_id, name, input_digest, effects, attempt, direct?")                         \
  X(9, ToolResult, tool_result, 1, "call_id, name, status, text, parts?, full_bytes?, scrubbed?, duration_ms")       \
  X(10, Permission, permission, 0, "call_id, tool, decision, by, reason?")                                           \
  X(11, HookEffect, hook_effect, 0, "event, plugin, plugin_digest?, effect, before_digest?, after_digest?, reason?") \
  X(12, Summary, summary, 1, "as user_message")                                                                      \
  X(13, Boundary, boundary, 1,                                                                                       \
    "id, session_id, trigger, reason, phase, strategy, method, result, instructions?, model?, author?, "             \
    "base_seq, summary_seq, kept [[first, last]], prunes? [[seq, block, prefix_bytes]], pre_tokens, "                \
    "post_tokens, duration_ms, useless?, useless_before?, aimed?, hidden?")                                          \
  X(14, CompactionAttempt, compaction_attempt, 0,                                                                    \
    "trigger, reason, phase, outcome, method? (floor, stuck, put_off), error?, tokens")                              \
  X(15, Revert, revert, 1, "to_seq, boundary_seq, first_seq (the last two may be missing)")                          \
  X(16, Child, child, 0, "conversation_id, relation (subagent), agent_type?, call_id?")                              \
  X(17, Checkpoint, checkpoint, 0,                                                                                   \
    "id, conversation_id, name?, why? (threshold, clear, manual, foreign), revision?, percent?, tokens?, "           \
    "texts? [{level (context, summary), text, author?}]")                                                            \
  X(18, Meta, meta, 0, "title?, above_threshold?")                                                                   \
  X(19, Erase, erase, 1, "seq, digest, payload (the erased record's new payload)")                                   \
  X(20, RunEnd, run_end, 0,                                                                                          \
    "run_id, outcome (`core/agent/outcome.h`), error?, turns, hooks? (`core/conversation/hook_use.h`)")              \
  X(21, Wait, wait, 0,                                                                                               \
    "id, conversation_id, call_id, tool, tool_digest?, input, direct?, by?, reason?, hooks? [{name, digest?}], "     \
    "until_ms, child? {conversation_id, wait}, provider, model, cwd, cwd_identity?, roots?, recipe?, recipe_state?, "\
    "turn, max_turns?, continuation?, spent?, output_schema?, options? [text], no_task?, "                           \
    "contexts? [{source?, author, text}], unreadable? [call_id]")                                                    \
  X(22, Answer, answer, 0, "wait, decision (allow, deny, expired, superseded), by, door, reason?")                   \
  X(23, DirectResult, direct_result, 0, "as tool_result")                                                            \
  /* the next kind goes here */
// clang-format on

enum class RecordType : std::uint16_t {
#define AGENTD_RECORD_TYPE(number, Name, ...) k##Name = (number),
  AGENTD_RECORD_TYPES(AGENTD_RECORD_TYPE)
#undef AGENTD_RECORD_TYPE
};
// "user_message"; empty for an unknown number.
std::string_view name_of(RecordType type);

// A record for Store::append.
struct Record {
  static constexpr std::uint8_t kCritical = 1;  // a reader that does not know the type must stop
  static constexpr std::uint8_t kBlob = 2;      // the payload is in a blob; set by stores alone
  static constexpr std::uint8_t kErased = 4;    // the payload was erased; set by stores alone
  RecordType type = RecordType::kMeta;
  std::uint8_t version = 1;
  std::uint8_t flags = 0;
  std::uint32_t run = 0;   // 1-based within the conversation; 0 = outside a run
  std::uint32_t turn = 0;  // 1-based within the run; 0 = outside a turn
  std::string payload;     // one JSON object
};

// A record from Store::read.
struct StoredRecord {
  std::uint64_t seq = 0;
  std::int64_t time_ms = 0;
  Digest digest{};  // SHA-256 of the payload as it was appended
  Record record;
  // The sequence of the erase record whose text is the payload now, instead of the erased one; 0 = as it was appended.
  std::uint64_t erased_by = 0;
  std::uint64_t bytes = 0;  // of the payload as it was appended; set by stores
};
// The table of kinds in docs/internals/log.md.
std::string record_types_table();
// kCorrupt for a critical record of an unknown kind.
Result<void> refuse_unknown(const StoredRecord& record);

// ---- payloads. write_x makes a record, read_x reads one of that type; kCorrupt otherwise.

struct GenesisRecord {
  std::string conversation_id, project_id, cwd, provider, model;
  std::string parent;  // id of the conversation it was forked from, or whose agent started it; empty = none
  std::uint64_t parent_seq = 0;
  std::string parent_chain;  // hex; of a fork
  std::string agent_type{};  // of a subagent's conversation; empty = the user's own
};
Record write_genesis(const GenesisRecord& from);
Result<GenesisRecord> read_genesis(const Record& from);

// The settings of a run, as digests of what was sent; blobs hold the texts.
struct SettingsRecord {
  std::string system, tools_json, provider, model;
};
Record write_settings(const SettingsRecord& from);
Result<SettingsRecord> read_settings(const Record& from);

// user_message, context, assistant_message and summary carry one message each.
struct MessageRecord {
  Message message;
  StopReason stop_reason = StopReason::kEndTurn;  // assistant_message
  std::string source;                             // user_message: user, hook, recipe, client, agent
  std::string author;                             // context, summary: its author
  Origin origin{};                                // assistant_message; unknown in older records
  std::string key{};                              // user_message: the client's name for it (message_keys.h)
};
// Role and flags decide the type. kAssistant: assistant_message; kSummary: summary; kUser with AGENTD_MESSAGE_CONTEXT:
// context; otherwise user_message.
Record write_message(const MessageRecord& from);
// Also reads a tool_result, as a user message with one TOOL_RESULT block.
Result<MessageRecord> read_message(const Record& from);
// True for the types that read_message reads.
bool carries_message(RecordType type);

struct UsageRecord {
  Usage usage;
  std::uint64_t for_seq = 0;  // the assistant_message; 0 = a side call, or an impossible report
  std::string purpose;        // turn, summary, thread, subagent, interrupted
  // For a report with for_seq: the expected tokens of the request, and the reported tokens that nothing sent explains.
  // 0 and 0 = unknown.
  std::uint64_t estimated = 0, hidden = 0;
};
// The figures of a usage as members of the open object, without zeros except input and output; and the reverse.
void write_usage_json(JsonWriter& out, const Usage& usage);
Usage read_usage_json(JsonView from);
Record write_usage(const UsageRecord& from);
Result<UsageRecord> read_usage(const Record& from);

struct ToolIntentRecord {
  std::string call_id, name, input_digest;  // hex
  std::string effects;                      // read_only, idempotent, effects
  std::uint32_t attempt = 1;
  bool direct = false;  // of a call without a model
};
Record write_tool_intent(const ToolIntentRecord& from);
Result<ToolIntentRecord> read_tool_intent(const Record& from);

struct ToolResultRecord {
  std::string call_id, name, text;
  std::string status;  // ok, error, denied, cancelled, unknown
  std::vector<Block> parts;
  std::uint64_t full_bytes = 0;
  std::int64_t duration_ms = 0;
  std::map<std::string, std::size_t> scrubbed{};  // how many secrets were replaced, by rule
};
Record write_tool_result(const ToolResultRecord& from);
Result<ToolResultRecord> read_tool_result(const Record& from);

struct SeqRange {
  std::uint64_t first = 0, last = 0;  // inclusive
  bool operator==(const SeqRange&) const = default;
};
struct Prune {
  std::uint64_t seq = 0;
  std::uint32_t block = 0;
  std::uint64_t prefix_bytes = 0;
  bool operator==(const Prune&) const = default;
};

// The view after a boundary: the summary, the kept ranges in this order (literal messages of a replacement are records
// of their own, listed as ranges), then everything after the boundary.
struct BoundaryRecord {
  std::string id;  // ULID; "uuid" on the event stream
  std::string session_id, trigger, reason, phase, strategy, method, result, instructions, model, author;
  std::uint64_t base_seq = 0;     // the revision it was planned on
  std::uint64_t summary_seq = 0;  // 0 = none
  std::vector<SeqRange> kept;
  std::vector<Prune> prunes;  // all prunes of the new view, including those of earlier boundaries
  std::uint64_t pre_tokens = 0, post_tokens = 0;
  std::int64_t duration_ms = 0;
  // Consecutive boundaries, including this one, that freed less than a tenth by post_tokens. The next report decides,
  // by what the boundary aimed at (0 = unknown) and the number before it.
  std::uint32_t useless = 0, useless_before = 0;
  std::uint64_t aimed = 0;
  std::uint64_t hidden = 0;  // of the last report's tokens, as in UsageRecord

  // True if a new view of `tokens` means that the compaction was in vain.
  bool is_useless(std::uint64_t tokens) const {
    return pre_tokens - (tokens < pre_tokens ? tokens : pre_tokens) < pre_tokens / 10 && tokens > aimed;
  }
};
Record write_boundary(const BoundaryRecord& from);
Result<BoundaryRecord> read_boundary(const Record& from);

// An attempt without a boundary. method: one of these, if it refused the attempt; otherwise empty.
struct CompactionAttemptRecord {
  static constexpr std::string_view kFloor = "floor";  // what cannot be compacted fills too much
  static constexpr std::string_view kStuck = "stuck";  // no summary, and nothing can be left out
  // A temporary failure; a later turn tries again.
  static constexpr std::string_view kPutOff = "put_off";
  std::string trigger, reason, phase, outcome, method, error;
  std::uint64_t tokens = 0;  // of the view
};
Record write_compaction_attempt(const CompactionAttemptRecord& from);
Result<CompactionAttemptRecord> read_compaction_attempt(const Record& from);

// Reverts the boundary at to_seq: the view becomes what it hid, then everything since.
struct RevertRecord {
  std::uint64_t to_seq = 0;
  // The restored state, so that the index need not search for it: the boundary now in effect (0 = none), and the lowest
  // sequence that the view needs. first_seq 0: an older record without it.
  std::uint64_t boundary_seq = 0, first_seq = 0;
};
Record write_revert(const RevertRecord& from);
Result<RevertRecord> read_revert(const Record& from);

struct HookEffectRecord {
  std::string event, plugin, plugin_digest, effect, before_digest, after_digest, reason;
};
Record write_hook_effect(const HookEffectRecord& from);

// A decision about a call; `by` is a person's door, a hook, "rules", "secrets" or "sandbox". The last one denies a part
// of what a command did; its call_id and tool are empty where several calls ran, or none.
struct PermissionRecord {
  std::string call_id, tool, decision, by, reason;
};
Record write_permission(const PermissionRecord& from);
Result<PermissionRecord> read_permission(const Record& from);

// A place in the log to which a session can be resumed: the view at `revision`. It counts in the conversation that it
// names; a fork's copy does not. A later record with the same id, and no `why`, adds texts to it.
struct CheckpointRecord {
  std::string id;  // ULID
  std::string conversation_id;
  std::string name;            // for people; empty = none
  std::string why;             // threshold, clear, manual, foreign
  std::uint64_t revision = 0;  // a sequence before the record
  std::uint32_t percent = 0;   // of the limit that the view filled; 0 = unknown
  std::uint64_t tokens = 0;    // of the view, as the gauge counted; 0 = unknown
  // Takes the history's place when it is resumed at that level: in `context` of all but the newest messages.
  struct Text {
    std::string level, text, author;  // author: the model; empty = the messages' own words
  };
  std::vector<Text> texts{};
};
inline constexpr std::string_view kThresholdCheckpoint = "threshold";
Record write_checkpoint(const CheckpointRecord& from);
Result<CheckpointRecord> read_checkpoint(const Record& from);

// A question to a person about a tool call: which one, on which bytes, and what the run needs to go on. It counts in
// the conversation that it names, until the call has a result; a fork's copy does not.
struct WaitRecord {
  std::string id;  // ULID
  std::string conversation_id;
  std::string call_id, tool;
  std::string tool_digest;  // hex; of the tool's definition
  std::string input;        // canonical JSON: these bytes run, or none
  bool direct = false;      // a call without a model: its result is a direct_result
  std::string by, reason;   // the hook that demands a person's decision, and why; empty = the rules do
  // The hooks that were asked about the call.
  struct AskedHook {
    std::string name, digest;  // digest: hex, of its bytes, and of its configuration if it has one
    bool operator==(const AskedHook&) const = default;
  };
  std::vector<AskedHook> hooks{};
  std::int64_t until_ms = 0;  // wall clock; from then on it is denied
  // The subagent that this one waits for, and the wait that somebody answers: its own, or of an agent below it.
  std::string child_conversation, child_wait;

  // ---- of the run
  std::string provider, model, cwd;
  std::string cwd_identity;  // of the directory itself, as the system tells it; empty = it was not there
  std::vector<std::string> roots{};
  std::string recipe, recipe_state;  // recipe_state: JSON of the client's own; empty = none
  std::uint32_t turn = 0, max_turns = 0, continuation = 0;
  Usage spent{};
  std::string output_schema{};         // that the run's last answer is held to; empty = none
  std::vector<std::string> options{};  // of the client's command line, for those who go on: "--set", "max_turns=3"
  bool no_task = false;                // the tool that starts subagents is not offered
  // Messages that the batch of calls has collected for the model.
  struct Context {
    std::string source, author, text;
  };
  std::vector<Context> contexts{};
  std::vector<std::string> unreadable{};  // calls of the same answer whose input is no JSON object: their ids
};
Record write_wait(const WaitRecord& from);
Result<WaitRecord> read_wait(const Record& from);

// The first answer to a wait counts.
struct AnswerRecord {
  std::string wait;              // its id
  std::string decision;          // allow, deny, expired, superseded
  std::string by, door, reason;  // door: approve, terminal, ...; reason: for the model
  bool allows() const { return decision == "allow"; }
};
Record write_answer(const AnswerRecord& from);
Result<AnswerRecord> read_answer(const Record& from);

// The result of a call without a model, which no view contains.
Record write_direct_result(const ToolResultRecord& from);
Result<ToolResultRecord> read_direct_result(const Record& from);

// A conversation that this one's agent started; `relation` is its purpose.
struct ChildRecord {
  std::string conversation_id, relation;  // relation: subagent
  std::string agent_type, call_id;
};
Record write_child(const ChildRecord& from);

// The payload of the record `seq`, which is gone, and what takes its place at every revision. The record keeps its
// kind, its digest and its place in the chain.
struct EraseRecord {
  std::uint64_t seq = 0;
  std::string digest;   // hex; of the erased payload
  std::string payload;  // one JSON object of the same kind
};
Record write_erase(const EraseRecord& from);
Result<EraseRecord> read_erase(const Record& from);

struct RunBeginRecord {
  std::string session_id, run_id, cwd, provider, model, recipe;
  // Commands of its tools run without agentd's sandbox: "off", by the user's settings; "client", in the client's own
  // terminals. Empty = they run in it, or the run has none.
  std::string sandbox{};
};
Record write_run_begin(const RunBeginRecord& from);
Result<RunBeginRecord> read_run_begin(const Record& from);

struct RunEndRecord {
  // outcome: stop, compacted, max_turns, refused, cut, empty, blocked, stopped, limit, cancelled, error
  std::string run_id, outcome, error;
  std::uint32_t turns = 0;
  std::vector<HookUse>
      hooks{};  // the called hooks, in the order of their first calls; including those of its subagents
};
Record write_run_end(const RunEndRecord& from);
Result<RunEndRecord> read_run_end(const Record& from);

// The title and similar; missing keys stay unchanged.
struct MetaRecord {
  std::optional<std::string> title;
  // Hooks were notified; a boundary and a revert reset it.
  std::optional<bool> above_threshold{};
};
Record write_meta(const MetaRecord& from);
Result<MetaRecord> read_meta(const Record& from);

}  // namespace agentd
