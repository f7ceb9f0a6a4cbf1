// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/payload_fields.h"

#include <array>
#include <type_traits>

#include "core/hooks/event.h"

namespace agentd {
namespace {

// ---- names by number

using Text = std::string_view;
template <std::size_t N>
constexpr FieldNames names_of(const std::array<Text, N>& names, Text otherwise = "unknown") {
  return {names, otherwise};
}

constexpr std::array<Text, 6> kSessionSourceTexts{"", "startup", "resume", "clear", "compact", "fork"};
constexpr std::array<Text, 4> kOutcomeTexts{"unknown", "success", "failure", "partial"};
constexpr std::array<Text, 5> kMessageSourceTexts{"", "user", "hook", "recipe", "client"};
// The names of a list of hook_events.h, whose numbers begin with `kFirst` and leave none out.
struct Numbered {
  std::uint32_t number;
  Text name;
};
template <std::size_t kFirst, std::size_t N>
constexpr std::array<Text, kFirst + N> by_number(const Numbered (&rows)[N]) {
  std::array<Text, kFirst + N> names{};
  for (const Numbered& row : rows) names[row.number] = row.name;
  return names;
}
#define AGENTD_NUMBERED(NUMBER, name) {AGENTD_##NUMBER, #name},
constexpr auto kTriggerTexts = by_number<1>({AGENTD_TRIGGER_LIST(AGENTD_NUMBERED)});
constexpr auto kReasonTexts = by_number<1>({AGENTD_REASON_LIST(AGENTD_NUMBERED)});
constexpr auto kPhaseTexts = by_number<1>({AGENTD_PHASE_LIST(AGENTD_NUMBERED)});
constexpr auto kStrategyTexts = by_number<AGENTD_STRATEGY_DEFAULT>({AGENTD_STRATEGY_LIST(AGENTD_NUMBERED)});
constexpr auto kResultTexts = by_number<1>({AGENTD_RESULT_LIST(AGENTD_NUMBERED)});
constexpr auto kMethodTexts = by_number<1>({AGENTD_METHOD_LIST(AGENTD_NUMBERED)});
#undef AGENTD_NUMBERED
constexpr std::array<Text, 4> kLevelTexts{"debug", "info", "warning", "error"};
constexpr std::array<Text, 3> kGaugeSourceTexts{"", "estimate", "provider"};
constexpr std::array<Text, 7> kBlockTexts{"", "text", "thinking", "tool_use", "tool_result", "image", "document"};
constexpr std::array<Text, 9> kStopTexts{"",        "end_turn",   "tool_use",       "max_tokens", "stop_sequence",
                                         "refusal", "pause_turn", "context_length", "interrupted"};
constexpr std::array<Text, 3> kInvokedTexts{"", "main", "subagent"};
// A summary is presented as a user message.
constexpr std::array<Text, 4> kRoleTexts{"", "user", "assistant", "user"};

constexpr FieldNames kSessionSources = names_of(kSessionSourceTexts);
constexpr FieldNames kOutcomes = names_of(kOutcomeTexts);
constexpr FieldNames kMessageSources = names_of(kMessageSourceTexts);
constexpr FieldNames kTriggers = names_of(kTriggerTexts);
constexpr FieldNames kReasons = names_of(kReasonTexts);
constexpr FieldNames kPhases = names_of(kPhaseTexts);
constexpr FieldNames kStrategies = names_of(kStrategyTexts);
constexpr FieldNames kResults = names_of(kResultTexts);
constexpr FieldNames kMethods = names_of(kMethodTexts);
constexpr FieldNames kLevels = names_of(kLevelTexts);
constexpr FieldNames kGaugeSources = names_of(kGaugeSourceTexts);
constexpr FieldNames kBlockKinds = names_of(kBlockTexts);
constexpr FieldNames kStops = names_of(kStopTexts);
constexpr FieldNames kInvokers = names_of(kInvokedTexts, "main");
constexpr FieldNames kRoles = names_of(kRoleTexts, "user");

// ---- how rows are written down

#define AT(member) static_cast<std::uint16_t>(offsetof(Record, member))
#define WIDE(member) static_cast<std::uint8_t>(sizeof(Record::member))

constexpr PayloadField field(FieldKind kind, Text key, std::size_t offset, Text meaning, Text sample = {}) {
  PayloadField made;
  made.key = key;
  made.kind = kind;
  made.offset = static_cast<std::uint16_t>(offset);
  made.meaning = meaning;
  made.sample = sample;
  return made;
}
constexpr PayloadField text(Text key, std::size_t offset, Text meaning, Text sample = {}) {
  return field(FieldKind::kText, key, offset, meaning, sample);
}
constexpr PayloadField json(Text key, std::size_t offset, Text meaning, Text sample = {}) {
  return field(FieldKind::kJson, key, offset, meaning, sample);
}
constexpr PayloadField number(Text key, std::size_t offset, std::uint8_t width, Text unit, Text meaning,
                              Text sample = {}) {
  PayloadField made = field(FieldKind::kNumber, key, offset, meaning, sample);
  made.width = width;
  made.unit = unit;
  return made;
}
constexpr PayloadField tokens(Text key, std::size_t offset, Text meaning, Text sample = {}) {
  return number(key, offset, 8, "tokens", meaning, sample);
}
constexpr PayloadField milliseconds(Text key, std::size_t offset, Text meaning, Text sample = {}) {
  PayloadField made = field(FieldKind::kMilliseconds, key, offset, meaning, sample);
  made.unit = "ms";
  return made;
}
constexpr PayloadField name(Text key, std::size_t offset, std::uint8_t width, const FieldNames& names,
                            std::uint64_t initial, Text meaning, Text sample = {}) {
  PayloadField made = field(FieldKind::kName, key, offset, meaning, sample);
  made.width = width;
  made.names = &names;
  made.initial = initial;
  return made;
}
constexpr PayloadField flag(Text key, std::size_t offset, std::uint8_t width, std::uint32_t bit, Text meaning,
                            Text sample = {}) {
  PayloadField made = field(FieldKind::kFlag, key, offset, meaning, sample);
  made.width = width;
  made.bit = bit;
  return made;
}
constexpr PayloadField record(FieldKind kind, Text key, std::size_t offset, const PayloadTable& table, Text meaning,
                              Text sample = {}) {
  PayloadField made = field(kind, key, offset, meaning, sample);
  made.table = &table;
  return made;
}
constexpr PayloadField object(Text key, std::size_t offset, const PayloadTable& table, Text meaning = {},
                              Text sample = {}) {
  return record(FieldKind::kRecord, key, offset, table, meaning, sample);
}
constexpr PayloadField part(Text key, std::size_t offset, const PayloadTable& table, Text meaning) {
  return record(FieldKind::kPart, key, offset, table, meaning);
}
constexpr PayloadField records(Text key, std::size_t offset, const PayloadTable& table, Text meaning,
                               Text sample = {}) {
  return record(FieldKind::kRecords, key, offset, table, meaning, sample);
}
constexpr PayloadField joined(std::size_t offset, const PayloadTable& table) {
  return record(FieldKind::kJoined, {}, offset, table, {});
}
constexpr PayloadField optional(PayloadField made) {
  made.presence = Presence::kOptional;
  return made;
}
constexpr PayloadField nullable(PayloadField made) {
  made.presence = Presence::kNullable;
  return made;
}
constexpr PayloadField except(std::uint64_t events, PayloadField made) {
  made.except = events;
  return made;
}
constexpr PayloadField tagged(unsigned tags, PayloadField made) {
  made.tags = static_cast<std::uint16_t>(tags);
  return made;
}
constexpr PayloadField rewritten(std::uint32_t target, PayloadField made) {
  made.text_target = target;
  return made;
}

constexpr PayloadTable plain(std::size_t size, std::span<const PayloadField> fields,
                             std::span<const HeadMember> head = {}) {
  return {{}, static_cast<std::uint16_t>(size), fields, head};
}
constexpr PayloadTable shared(Text name, std::size_t size, std::span<const PayloadField> fields) {
  return {name, static_cast<std::uint16_t>(size), fields};
}

constexpr std::uint64_t events(std::initializer_list<std::uint32_t> ids) {
  std::uint64_t bits = 0;
  for (const std::uint32_t id : ids) bits |= event_bit(id);
  return bits;
}

// ---- what several payloads have

namespace gauge {
using Record = agentd_gauge;
constexpr PayloadField kFields[] = {
    tokens("used", AT(used), "the size of the next request", "142000"),
    tokens("limit", AT(limit), "the model's window minus the output reserve; 0 = unknown", "183616"),
    field(FieldKind::kPercent, "percent", 0, "`used` of `limit`; null when the limit is unknown"),
    name("source", AT(source), WIDE(source), kGaugeSources, AGENTD_GAUGE_ESTIMATE,
         "counted by agentd, or reported by the provider plus an estimate of later content", R"("provider")"),
    tokens("compact_at", AT(compact_at), "from this size on history is compacted automatically", "146893"),
    tokens("force_at", AT(force_at), "from this size on a compaction ignores vetoes", "174435"),
    tokens("floor", AT(floor), "the part that compaction cannot remove: system prompt, tools, instructions", "9200"),
    number("compactions", AT(compactions), WIDE(compactions), "", "compactions so far", "1"),
};
constexpr PayloadTable kTable = shared("gauge", sizeof(Record), kFields);
}  // namespace gauge

namespace usage {
using Record = agentd_usage;
constexpr PayloadField kFields[] = {
    tokens("input_tokens", AT(input), "sent, without cached ones", "5210"),
    tokens("output_tokens", AT(output), "written by the model", "830"),
    tokens("cache_read_tokens", AT(cache_read), "read from the provider's cache", "120400"),
    tokens("cache_write_tokens", AT(cache_write), "written to the provider's cache", "2100"),
    tokens("reasoning_tokens", AT(reasoning), "thinking, part of the output", "0"),
    optional(field(FieldKind::kDollars, "cost_usd", AT(cost_nano_usd), "the cost", "0.0741")),
};
constexpr PayloadTable kTable = shared("usage", sizeof(Record), kFields);
constexpr PayloadField kTotalFields[] = {
    tokens("input_tokens", AT(input), "total of the conversation before the compaction", "310200"),
    tokens("output_tokens", AT(output), "total of the conversation before the compaction", "20450"),
};
constexpr PayloadTable kTotals = plain(sizeof(Record), kTotalFields);
}  // namespace usage

namespace block {
using Record = agentd_block;
constexpr unsigned tag(unsigned kind) { return 1u << kind; }
constexpr unsigned kReadable =
    tag(0) | tag(AGENTD_BLOCK_TEXT) | tag(AGENTD_BLOCK_THINKING) | tag(AGENTD_BLOCK_TOOL_RESULT);
constexpr unsigned kMedia = tag(AGENTD_BLOCK_IMAGE) | tag(AGENTD_BLOCK_DOCUMENT);
constexpr PayloadField flags(Text key, std::uint32_t bit, Text meaning) {
  return optional(flag(key, AT(flags), WIDE(flags), bit, meaning));
}
constexpr PayloadField with_bit(std::uint32_t bit, PayloadField made) {
  made.bit = bit;
  return made;
}
extern const PayloadTable kTable;
constexpr PayloadField kFields[] = {
    name("type", AT(kind), WIDE(kind), kBlockKinds, AGENTD_BLOCK_TEXT, "the kind of block"),
    tagged(tag(AGENTD_BLOCK_TOOL_USE) | tag(AGENTD_BLOCK_TOOL_RESULT),
           text("call_id", AT(call_id), "tool_use, tool_result: the call's id")),
    tagged(tag(AGENTD_BLOCK_TOOL_USE), text("name", AT(name), "tool_use: the tool")),
    tagged(tag(AGENTD_BLOCK_TOOL_USE), json("input", AT(json), "tool_use: the input of the call")),
    tagged(kMedia, text("media_type", AT(name), "image, document: such as image/png")),
    tagged(kMedia, text("data", AT(opaque), "image, document: base64")),
    tagged(tag(AGENTD_BLOCK_DOCUMENT), optional(text("title", AT(text), "document: its name"))),
    tagged(kReadable, text("text", AT(text), "text, thinking, tool_result: the text")),
    tagged(tag(AGENTD_BLOCK_THINKING), optional(text("signature", AT(opaque), "thinking: the provider's signature"))),
    flags("is_error", AGENTD_BLOCK_ERROR, "tool_result: the tool failed"),
    flags("pruned", AGENTD_BLOCK_PRUNED, "the text was shortened in the view; the log has all of it"),
    flags("elided", AGENTD_BLOCK_ELIDED, "`text` is only the beginning"),
    with_bit(AGENTD_BLOCK_ELIDED,
             number("full_bytes", AT(full_len), 8, "bytes", "elided: the length of the whole text")),
    optional(records("parts", AT(parts), kTable, "tool_result: further blocks, such as images")),
};
constexpr PayloadTable kTable{"block", sizeof(Record), kFields, {}, AT(kind), AT(flags)};

constexpr PayloadField kCallFields[] = {
    text("name", AT(name), "the tool", R"("bash")"),
    text("call_id", AT(call_id), "the model's id of the call", R"("toolu_01")"),
    json("input", AT(json), "the input of the call", R"({"command":"make test"})"),
};
constexpr PayloadTable kCall = plain(sizeof(Record), kCallFields);
}  // namespace block

namespace message {
using Record = agentd_message;
constexpr PayloadField kFields[] = {
    name("role", AT(role), WIDE(role), kRoles, AGENTD_ROLE_USER, "the speaker"),
    optional(field(FieldKind::kSummaryMark, "summary", AT(role),
                   "true for the summary of a compaction, which is presented as a user message")),
    field(FieldKind::kContent, "content", AT(blocks), "the texts that a reader would see, joined"),
    optional(record(FieldKind::kMoreBlocks, "blocks", AT(blocks), block::kTable,
                    "the complete message; present if `content` is not everything")),
    optional(number("seq", AT(seq), 8, "", "its position in the log, the message's identity")),
    optional(flag("interrupted", AT(flags), WIDE(flags), AGENTD_MESSAGE_INTERRUPTED, "the answer was cut short")),
    optional(flag("context", AT(flags), WIDE(flags), AGENTD_MESSAGE_CONTEXT, "context that a hook or agentd added")),
};
constexpr PayloadTable kTable = shared("message", sizeof(Record), kFields);
constexpr Text kSample = R"([{"role":"user","content":"make the tests pass","seq":2},)"
                         R"({"role":"assistant","content":"I look first.","blocks":[)"
                         R"({"type":"text","text":"I look first."},)"
                         R"({"type":"tool_use","call_id":"toolu_01","name":"bash","input":{"command":"make test"}}],)"
                         R"("seq":3}])";
}  // namespace message

namespace recollection {
using Record = agentd_recollection;
constexpr PayloadField kFields[] = {
    text("id", AT(id), "its id"),
    text("title", AT(title), "one line"),
    text("text", AT(text), "all of it"),
    field(FieldKind::kFraction, "confidence", AT(confidence_permille), "from 0 to 1"),
    [] {
      PayloadField made = field(FieldKind::kSigned, "created_ms", AT(created_ms), "the time of its creation");
      made.unit = "ms since 1970, UTC";
      return made;
    }(),
};
constexpr PayloadTable kTable = shared("recollection", sizeof(Record), kFields);
}  // namespace recollection

// ---- the envelope

namespace envelope {
using Record = agentd_envelope;
constexpr PayloadField kAgentFields[] = {
    text("id", AT(agent_id), "the agent", R"("main")"),
    text("type", AT(agent_type), "its kind", R"("main")"),
    number("depth", AT(agent_depth), WIDE(agent_depth), "", "0 = the main agent", "0"),
};
constexpr PayloadTable kAgent = plain(sizeof(Record), kAgentFields);
constexpr PayloadField kFields[] = {
    field(FieldKind::kVersion, "v", 0, "the version of this form: 1"),
    text("id", AT(event_id), "the id of this dispatch; unique", R"("01JZ8Q4T6Y0000000000000001")"),
    field(FieldKind::kEventName, "event", 0, "the event's name"),
    text("conv_id", AT(conversation_id), "the conversation", R"("01JZ8Q3M5V0000000000000000")"),
    text("session_id", AT(session_id), "the session", R"("01JZ8Q3M5V0000000000000001")"),
    text("run_id", AT(run_id), "the run: one request of the user and all that it leads to",
         R"("01JZ8Q4RS20000000000000000")"),
    text("turn_id", AT(turn_id), "the turn; empty outside of one", R"("01JZ8Q4SZK0000000000000000")"),
    number("turn_number", AT(turn_number), WIDE(turn_number), "",
           "1 for the first turn of the run; 0 outside of a turn", "3"),
    number("revision", AT(revision), 8, "", "the conversation's last log sequence", "17"),
    text("cwd", AT(cwd), "the working directory, absolute", R"("/home/user/project")"),
    text("project_id", AT(project_id), "the project", R"("user/project")"),
    name("invoked_by", AT(invoked_by), WIDE(invoked_by), kInvokers, AGENTD_INVOKED_BY_MAIN, "the kind of agent",
         R"("main")"),
    part("agent", AT(agent_id), kAgent, "the agent that the event is about"),
    text("recipe_name", AT(recipe), "the run's recipe; empty = none", R"("")"),
    text("provider", AT(provider), "the provider", R"("anthropic")"),
    text("model", AT(model), "the model that is used, or about to be", R"("claude-sonnet-4-5")"),
    nullable(object("context", AT(context), gauge::kTable, "the fill of the context window")),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace envelope

namespace hook {
using Record = HookKeys;
constexpr PayloadField kFields[] = {
    text("name", AT(name), "the hook that is called", R"("guard")"),
    number("attempt", AT(attempt), WIDE(attempt), "", "1 the first time", "1"),
    number("deadline_ms", AT(deadline_ms), 8, "ms", "the time left until the hook is ended", "30000"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace hook

#define TO(member) static_cast<std::uint16_t>(offsetof(agentd_envelope, member))
using Head = HeadMember::Kind;

// ---- the payloads

namespace session_start {
using Record = agentd_session_start;
constexpr Text kCheckpoint =
    R"({"id":"chk_7","title":"login form","text":"The form validates; the server does not yet.",)"
    R"("confidence":0.9,"created_ms":1751500000000})";
constexpr Text kMemories = R"([{"id":"mem_3","title":"how tests are run","text":"make test, never ctest alone",)"
                           R"("confidence":0.85,"created_ms":1751400000000}])";
constexpr PayloadField kFields[] = {
    name("source", AT(source), WIDE(source), kSessionSources, AGENTD_SOURCE_STARTUP, "the reason why it begins",
         R"("startup")"),
    optional(text("task", AT(task), "the first user text; absent: it is not known yet, or hooks check it first",
                  R"("make the tests pass")")),
    nullable(object("checkpoint", AT(checkpoint), recollection::kTable, "the offered checkpoint", kCheckpoint)),
    records("memories", AT(memories), recollection::kTable, "at most 3 that fit the task", kMemories),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace session_start

namespace session_end {
using Record = agentd_session_end;
constexpr PayloadField kFields[] = {
    text("reason", AT(reason), "exit, clear, interrupted, error or crash", R"("exit")"),
    name("outcome", AT(outcome), WIDE(outcome), kOutcomes, AGENTD_OUTCOME_UNKNOWN, "the outcome", R"("success")"),
    text("task", AT(task), "the task", R"("make the tests pass")"),
    text("approach", AT(approach), "the approach", R"("fixed the off-by-one in the parser")"),
    field(FieldKind::kTexts, "tags", AT(tags), "words to find it by", R"(["parser","tests"])"),
    text("notes", AT(notes), "notes worth remembering", R"("")"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace session_end

namespace user_message {
using Record = agentd_user_message;
constexpr PayloadField kFields[] = {
    rewritten(AGENTD_TEXT_MESSAGE, text("message", AT(text), "the text", R"("make the tests pass")")),
    name("source", AT(source), WIDE(source), kMessageSources, AGENTD_MESSAGE_SOURCE_USER,
         "its author: the user, a hook that continues the run, a recipe, or a client", R"("user")"),
    optional(records("images", AT(images), block::kTable, "images that came with it")),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace user_message

namespace turn {
using Record = agentd_turn;
constexpr std::uint64_t kNotStart = events({AGENTD_EVENT_TURN_START});
constexpr PayloadField kFields[] = {
    except(kNotStart, text("response", AT(response), "the text of the answer", R"("I look first.")")),
    except(kNotStart, flag("final", AT(flags), WIDE(flags), AGENTD_TURN_FINAL,
                           "true if no tool was requested; agent_stop follows", "false")),
    except(kNotStart, name("stop_reason", AT(stop_reason), WIDE(stop_reason), kStops, AGENTD_STOP_END_TURN,
                           "why the model stopped", R"("tool_use")")),
    except(kNotStart, records("tool_calls", AT(tool_calls), block::kCall, "the tool calls that the model requests",
                              R"([{"name":"bash","call_id":"toolu_01",)"
                              R"("input":{"command":"make test"}}])")),
    except(kNotStart, optional(object("usage", AT(usage), usage::kTable, "the usage of this turn"))),
};
constexpr HeadMember kHead[] = {{Head::kNumber, AT(turn_number), TO(turn_number)}};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields, kHead);
}  // namespace turn

namespace tool_info {
using Record = agentd_tool_info;
constexpr PayloadField kFields[] = {
    text("name", AT(name), "the tool"),
    text("description", AT(description), "its description for the model"),
    text("origin", AT(origin), "its provider: a plugin's id, mcp:SERVER, core"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace tool_info

namespace model_call {
using Record = agentd_model_call;
constexpr PayloadField kFields[] = {
    number("message_count", AT(message_count), 8, "", "messages in the request", "2"),
    tokens("max_output_tokens", AT(max_output_tokens), "the most that the model may write", "16384"),
    text("system", AT(system), "the system prompt", R"("You work in the user's project.")"),
    records("tools", AT(tools), tool_info::kTable, "the tools offered to the model",
            R"([{"name":"bash","description":"Runs a command.","origin":"org.agentd.workspace"}])"),
    records("messages", AT(messages), message::kTable, "the conversation as the model sees it", message::kSample),
};
constexpr HeadMember kHead[] = {{Head::kText, AT(model), TO(model)}, {Head::kPointer, AT(context), TO(context)}};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields, kHead);
}  // namespace model_call

namespace model_delta {
using Record = agentd_model_delta;
constexpr PayloadField kFields[] = {
    field(FieldKind::kTexts, "text", AT(text), "the pieces in order of arrival", R"(["I look"," first."])"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace model_delta

namespace model_response {
using Record = agentd_model_response;
constexpr PayloadField kFields[] = {
    rewritten(AGENTD_TEXT_RESPONSE,
              text("response", AT(text), "all texts of the answer, joined", R"("I look first.")")),
    name("stop_reason", AT(stop_reason), WIDE(stop_reason), kStops, AGENTD_STOP_END_TURN, "why the model stopped",
         R"("end_turn")"),
    // Other events use `message` for the user's text.
    optional(object("answer", AT(message), message::kTable, "the whole answer",
                    R"({"role":"assistant","content":"I look first."})")),
    optional(object("usage", AT(usage), usage::kTable, "the usage of this call")),
    milliseconds("duration_ms", AT(duration_ns), "the time that the model took", "2140"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace model_response

namespace tool_result {
using Record = agentd_tool_result;
constexpr PayloadField success(Text meaning, Text sample = {}) {
  PayloadField made = field(FieldKind::kBool, "success", AT(success), meaning, sample);
  made.initial = 1;
  made.initial_except = event_bit(AGENTD_EVENT_TOOL_CALL_FAILED);
  return made;
}
constexpr PayloadField kFields[] = {
    rewritten(AGENTD_TEXT_TOOL_OUTPUT, text("content", AT(content), "the text for the model", R"("12 tests passed")")),
    success("true if the tool succeeded", "true"),
    text("error", AT(error), "the error; empty = none", R"("")"),
    optional(json("structured", AT(structured_json), "the output as data")),
    optional(text("spill_path", AT(spill_path), "the file with the rest of an output over the cap")),
    optional(records("blocks", AT(blocks), block::kTable, "further blocks, such as images")),
    number("full_bytes", AT(full_len), 8, "bytes", "the length of the tool's complete output", "15"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
constexpr PayloadField kTimeFields[] = {
    milliseconds("duration_ms", AT(duration_ns), "the time that the tool ran", "840"),
};
constexpr PayloadTable kTime = plain(sizeof(Record), kTimeFields);
constexpr PayloadField kFlatFields[] = {
    success("repeats `output.success`"),
    optional(text("error", AT(error), "repeats `output.error`")),
    text("content", AT(content), "repeats `output.content`"),
};
constexpr PayloadTable kFlat = plain(sizeof(Record), kFlatFields);
}  // namespace tool_result

namespace tool_call {
using Record = agentd_tool_call;
constexpr std::uint64_t kBefore = events({AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_PERMISSION_REQUEST});
constexpr std::uint64_t kNotAsking =
    events({AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_EVENT_TOOL_CALL_FAILED});
constexpr std::uint64_t kNotFailed = kBefore | events({AGENTD_EVENT_AFTER_TOOL_CALL});
constexpr PayloadField kToolFields[] = {
    text("name", AT(name), "the tool", R"("bash")"),
    text("call_id", AT(call_id), "the model's id of the call", R"("toolu_01")"),
    rewritten(AGENTD_TEXT_TOOL_INPUT,
              json("input", AT(input_json), "the tool's input, one object", R"({"command":"make test"})")),
    text("origin", AT(origin), "the tool's provider: a plugin's id, mcp:SERVER, core", R"("org.agentd.workspace")"),
};
constexpr PayloadTable kTool = plain(sizeof(Record), kToolFields);
constexpr PayloadField kFlatFields[] = {
    text("toolName", AT(name), "repeats `tool.name`"),
    optional(joined(AT(result), tool_result::kFlat)),
};
constexpr PayloadTable kFlat = plain(sizeof(Record), kFlatFields);
constexpr PayloadField kFields[] = {
    part("tool", AT(name), kTool, "the call"),
    text("tool_name", AT(name), "repeats `tool.name`"),
    json("tool_input", AT(input_json), "repeats `tool.input`"),
    text("tool_user_id", AT(call_id), "repeats `tool.call_id`"),
    except(kNotAsking, optional(json("suggestions", AT(suggestions_json), "rules that would allow it", R"(["bash"])"))),
    except(kBefore, optional(object("output", AT(result), tool_result::kTable, "the result"))),
    except(kBefore, optional(joined(AT(result), tool_result::kTime))),
    except(kBefore, optional(part("tool_output", AT(result), kFlat, "repeats `output`"))),
    except(kNotFailed, flag("denied", AT(flags), WIDE(flags), AGENTD_TOOL_CALL_DENIED,
                            "the call was refused and the tool did not run; `output.error` has the reason", "false")),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace tool_call

namespace agent_stop {
using Record = agentd_agent_stop;
constexpr PayloadField kUsageFields[] = {
    joined(AT(usage), usage::kTable),
    [] {
      PayloadField made = field(FieldKind::kWindowUsed, "current_context_window", 0, "`context.used`");
      made.unit = "tokens";
      return made;
    }(),
    tokens("max_context_window", AT(max_context_window), "the model's window; 0 = unknown", "200000"),
};
constexpr PayloadTable kUsage = plain(sizeof(Record), kUsageFields);
constexpr PayloadField kFields[] = {
    part("usage", AT(usage), kUsage, "totals of the conversation"),
    text("response", AT(response), "the last answer", R"("All tests pass.")"),
    name("stop_reason", AT(stop_reason), WIDE(stop_reason), kStops, AGENTD_STOP_END_TURN, "why the model stopped",
         R"("end_turn")"),
    number("continuation", AT(continuation), WIDE(continuation), "",
           "how often hooks have continued this run, at most 8", "0"),
    flag("stop_hook_active", AT(flags), WIDE(flags), AGENTD_AGENT_STOP_HOOK_ACTIVE, "true if a hook continued this run",
         "false"),
    records("messages", AT(messages), message::kTable, "the conversation as the model sees it", message::kSample),
};
constexpr HeadMember kHead[] = {{Head::kPointer, AT(context), TO(context)}};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields, kHead);
}  // namespace agent_stop

namespace context_threshold {
using Record = agentd_context_threshold;
constexpr PayloadField kFields[] = {
    number("percent", AT(percent), WIDE(percent), "percent", "used part of the limit", "77"),
    number("threshold", AT(threshold), WIDE(threshold), "percent", "the crossed threshold", "70"),
    text("checkpoint_id", AT(checkpoint_id), "the new checkpoint; empty = none", R"("chk_8")"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace context_threshold

namespace before_compaction {
using Record = agentd_before_compaction;
constexpr PayloadField seq(Text key, std::size_t offset, Text meaning, Text sample) {
  return number(key, offset, 8, "", meaning, sample);
}
constexpr PayloadField kSummarizedFields[] = {
    seq("first", AT(summarized_first), "log sequence of the first message", "2"),
    seq("last", AT(summarized_last), "log sequence of the last message", "11"),
};
constexpr PayloadTable kSummarized = plain(sizeof(Record), kSummarizedFields);
constexpr PayloadField kKeptFields[] = {
    seq("first", AT(kept_first), "log sequence of the first message", "12"),
    seq("last", AT(kept_last), "log sequence of the last message", "17"),
};
constexpr PayloadTable kKept = plain(sizeof(Record), kKeptFields);
constexpr PayloadField kRangeFields[] = {
    nullable(part("summarized", AT(summarized_first), kSummarized, "the messages that a summary replaces")),
    nullable(part("kept", AT(kept_first), kKept, "the messages that stay unchanged")),
};
constexpr PayloadTable kRange = plain(sizeof(Record), kRangeFields);
constexpr PayloadField kRequestFields[] = {
    name("trigger", AT(trigger), WIDE(trigger), kTriggers, AGENTD_TRIGGER_AUTO, "requested, or automatic", R"("auto")"),
    name("reason", AT(reason), WIDE(reason), kReasons, AGENTD_REASON_THRESHOLD, "the reason", R"("threshold")"),
    name("phase", AT(phase), WIDE(phase), kPhases, AGENTD_PHASE_PRE_REQUEST, "the place in the run",
         R"("pre_request")"),
    name("strategy", AT(strategy), WIDE(strategy), kStrategies, AGENTD_STRATEGY_DEFAULT,
         "summarizes everything, all but the tail, or all but the user's messages", R"("tail")"),
    tokens("tokens", AT(tokens), "in the context now", "147200"),
    tokens("limit", AT(limit), "the limit of the context", "183616"),
    tokens("keep_tokens", AT(keep_tokens), "the tail that stays", "20000"),
    tokens("floor_tokens", AT(floor_tokens), "the part that compaction cannot remove", "9200"),
    part("range", AT(summarized_first), kRange, "the planned ranges of messages"),
    text("custom_instructions", AT(custom_instructions), "for the summary; empty = none", R"("keep the file names")"),
    number("vetoes", AT(vetoes), WIDE(vetoes), "", "vetoes in a row so far", "0"),
};
constexpr HeadMember kHead[] = {{Head::kText, AT(model), TO(model)}, {Head::kPointer, AT(context), TO(context)}};
constexpr PayloadTable kRequest = plain(sizeof(Record), kRequestFields, kHead);
constexpr PayloadField kFields[] = {
    record(FieldKind::kPart, {}, 0, kRequest, {}),
    records("messages", AT(messages), message::kTable, "the conversation as the model sees it", message::kSample),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields, kHead);
}  // namespace before_compaction

namespace after_compaction {
using Record = agentd_after_compaction;
constexpr PayloadField kFields[] = {
    joined(AT(request), before_compaction::kRequest),
    name("result", AT(result), WIDE(result), kResults, AGENTD_RESULT_APPLIED, "the result", R"("applied")"),
    name("method", AT(method), WIDE(method), kMethods, AGENTD_METHOD_SUMMARY, "the method", R"("summary")"),
    tokens("pre_tokens", AT(pre_tokens), "in the context before", "147200"),
    tokens("post_tokens", AT(post_tokens), "in the context after", "24100"),
    joined(AT(usage_before), usage::kTotals),
    optional(object("usage", AT(usage_spent), usage::kTable, "the usage of the compaction itself")),
    milliseconds("duration_ms", AT(duration_ns), "the time that it took", "5300"),
    text("summary", AT(summary), "the summary; empty = none was made", R"("The parser is fixed; two tests are left.")"),
    text("boundary_id", AT(boundary_id), "names the compaction, to undo it", R"("01JZ8QB0000000000000000000")"),
    number("boundary_seq", AT(boundary_seq), 8, "", "its log sequence", "18"),
    optional(text("error", AT(error), "the error")),
};
constexpr HeadMember kHead[] = {{Head::kVia, AT(request), 0, &before_compaction::kTable},
                                {Head::kLongNumber, AT(revision), TO(revision)}};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields, kHead);
}  // namespace after_compaction

namespace clear {
using Record = agentd_clear;
constexpr PayloadField kFields[] = {
    text("reason", AT(reason), "the origin of the request", R"("user")"),
    except(events({AGENTD_EVENT_BEFORE_CLEAR}),
           optional(text("new_conv_id", AT(new_conversation_id), "the empty conversation",
                         R"("01JZ8QC0000000000000000000")"))),
    except(events({AGENTD_EVENT_AFTER_CLEAR}),
           optional(text("checkpoint_id", AT(checkpoint_id), "the checkpoint that was made before it",
                         R"("01JZ8QB0000000000000000000")"))),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace clear

namespace subagent {
using Record = agentd_subagent;
constexpr PayloadField kFields[] = {
    text("prompt", AT(prompt), "the subagent's task", R"("find the callers of parse_line")"),
};
constexpr HeadMember kHead[] = {{Head::kTextAlways, AT(agent_id), TO(agent_id)},
                                {Head::kTextAlways, AT(agent_type), TO(agent_type)},
                                {Head::kNumberAlways, AT(depth), TO(agent_depth)}};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields, kHead);
}  // namespace subagent

namespace agent_error {
using Record = agentd_agent_error;
constexpr PayloadField kFields[] = {
    text("code", AT(code), "the kind of error", R"("overloaded")"),
    text("message", AT(message), "one sentence", R"("the provider is overloaded")"),
    text("phase", AT(phase), "model, tool, store, hook or compaction", R"("model")"),
    field(FieldKind::kBool, "retryable", AT(retryable), "true if a retry may succeed", "true"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace agent_error

namespace notification {
using Record = agentd_notification;
constexpr PayloadField kFields[] = {
    name("level", AT(level), WIDE(level), kLevels, AGENTD_LEVEL_INFO, "the importance", R"("warning")"),
    text("text", AT(text), "one sentence", R"("the model's window is 90 percent full")"),
};
constexpr PayloadTable kTable = plain(sizeof(Record), kFields);
}  // namespace notification

#undef AT
#undef WIDE
#undef TO

// ---- the table of each record

template <typename Record>
constexpr const PayloadTable* table_of = nullptr;
#define AGENTD_TABLE(name) \
  template <>              \
  constexpr const PayloadTable* table_of<agentd_##name> = &name::kTable;
AGENTD_TABLE(session_start)
AGENTD_TABLE(session_end)
AGENTD_TABLE(user_message)
AGENTD_TABLE(turn)
AGENTD_TABLE(model_call)
AGENTD_TABLE(model_delta)
AGENTD_TABLE(model_response)
AGENTD_TABLE(tool_call)
AGENTD_TABLE(agent_stop)
AGENTD_TABLE(context_threshold)
AGENTD_TABLE(before_compaction)
AGENTD_TABLE(after_compaction)
AGENTD_TABLE(clear)
AGENTD_TABLE(subagent)
AGENTD_TABLE(agent_error)
AGENTD_TABLE(notification)
#undef AGENTD_TABLE

#define AGENTD_CHECK(NAME, name, id, payload)                                                    \
  static_assert(table_of<payload> != nullptr, "the record " #payload " needs a table above");    \
  static_assert(sizeof(payload) <= kRecordSizeMax, "the record " #payload " has become larger"); \
  static_assert(std::is_standard_layout_v<payload>);
AGENTD_EVENT_LIST(AGENTD_CHECK)
#undef AGENTD_CHECK

constexpr std::array<const PayloadTable*, 64> tables() {
  std::array<const PayloadTable*, 64> made{};
#define AGENTD_PLACE(NAME, name, id, payload) made[id] = table_of<payload>;
  AGENTD_EVENT_LIST(AGENTD_PLACE)
#undef AGENTD_PLACE
  return made;
}
constexpr std::array<const PayloadTable*, 64> kTables = tables();

}  // namespace

const PayloadTable& envelope_table() { return envelope::kTable; }

const PayloadTable& hook_table() { return hook::kTable; }

const PayloadTable* payload_table(std::uint32_t event) { return event < kTables.size() ? kTables[event] : nullptr; }

}  // namespace agentd
