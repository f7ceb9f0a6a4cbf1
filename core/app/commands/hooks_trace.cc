// SPDX-License-Identifier: Apache-2.0
// hooks trace, hooks why - calls and answers of hooks, from the receipts stored with the log.
#include <algorithm>
#include <map>

#include "core/agent/receipts.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_records.h"
#include "core/app/exit_codes.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownTraceBytes = 2000;
constexpr std::uint32_t kSearchedConversations = 200;

// "block: no shell here; inject_context: ...".
std::string answer_text(const std::string& json) {
  const auto parsed = JsonDocument::parse(json);
  if (!parsed) return json;
  std::string out;
  for (std::size_t i = 0; i < parsed->root().size(); ++i) {
    const JsonView action = parsed->root().at(i);
    if (!out.empty()) out += "; ";
    out += action["action"].string_or("?");
    if (action["decision"].exists()) out += " " + std::string(action["decision"].string_or({}));
    if (action["text"].exists()) out += ": " + std::string(action["text"].string_or({}));
    if (action["sha256"].exists()) out += " (" + action["bytes"].text() + " bytes)";
  }
  return out.empty() ? "no answer" : out;
}

std::string line_of(const HookReceipt& receipt) {
  std::string out = time_text(receipt.time_ms) + "  run " + std::to_string(receipt.run) + " turn " +
                    std::to_string(receipt.turn) + "  " + receipt.event + "  " + receipt.hook;
  if (receipt.attempt > 1) out += " (again)";
  out += "  " + with_commas(receipt.duration_us) + " µs  ";
  out += receipt.effect == AnswerEffect::kSkipped
             ? "not asked"
             : answer_text(receipt.answer) + " → " + std::string(name_of(receipt.effect));
  if (!receipt.note.empty()) out += "  [" + receipt.note + "]";
  return out;
}

std::string json_of(const std::string& conversation, const HookReceipt& receipt) {
  JsonWriter out;
  out.begin_object().member("conversation_id", conversation).key("receipt").raw(write_receipt(receipt));
  out.end_object();
  return std::string(out.text());
}

// ---- the ledger: the use of each hook in each run, from the end of the run in the log

using RunUses = std::map<std::uint32_t, std::vector<HookUse>>;

// The uses of hooks in finished runs; `hook`: only that one, empty = all.
Result<RunUses> uses_of(const Store& store, const Ulid& id, const std::string& hook) {
  RunUses out;
  Result<void> understood;
  AGENTD_TRY_VOID(store.read(id, 1, 0, [&](const StoredRecord& stored) {
    if (stored.record.type != RecordType::kRunEnd) return true;
    const auto end = read_run_end(stored.record);
    if (!end) understood = end.error();
    if (!end) return false;
    for (const HookUse& use : end->hooks)
      if (hook.empty() || use.hook == hook) out[stored.record.run].push_back(use);
    return true;
  }));
  if (!understood) return understood.error();
  return out;
}

const std::string& name_of(const HookUse& use) { return use.hook.empty() ? use.plugin : use.hook; }

void print_uses(Output& out, const std::string& id, const RunUses& runs, bool json) {
  for (const auto& [run, uses] : runs) {
    if (json) {
      JsonWriter line;
      line.begin_object().member("conversation_id", id).member("run", run).key("hooks").begin_array();
      for (const HookUse& use : uses) write_hook_use(line, use);
      line.end_array().end_object();
      out.print(std::string(line.text()) + "\n");
      continue;
    }
    out.print("hooks of run " + std::to_string(run) + "\n");
    for (const HookUse& use : uses)
      out.print(neutral_line("  " + name_of(use) + ": " + describe(use), kShownTraceBytes) + "\n");
  }
}

bool wanted(const HookReceipt& receipt, const Arguments& arguments) {
  const auto is = [&](const char* option, const std::string& value) {
    return !arguments.has(option) || arguments.value(option) == value;
  };
  return is("event", receipt.event) && is("hook", receipt.hook);
}

// ---- why

struct Decision {
  std::string conversation;
  std::vector<HookReceipt> receipts;  // of one dispatch, in order
  std::vector<HookUse> uses{};        // of its hooks in its run; empty before the end of the run
};

// True if the dispatch's payload names this call id.
bool names_call(const Store& store, const Ulid& id, const HookReceipt& receipt, const std::string& call) {
  if (!receipt.payload_kept) return false;
  const auto text = rebuild_payload(store, id, receipt);
  if (!text) return false;
  const auto payload = JsonDocument::parse(*text);
  return payload && payload->root()["tool"]["call_id"].string_or({}) == call;
}

Result<std::vector<Decision>, Failure> decisions(const Store& store, const Ulid& id, const std::string& asked) {
  std::vector<Decision> out;
  std::map<std::string, bool> calls;  // dispatch -> whether it is about that call
  const auto read = store.receipts(id, [&](const HookReceipt& receipt) {
    bool mine = receipt.event_id == asked ||
                (asked.size() >= 6 && asked.size() < receipt.event_id.size() && receipt.event_id.starts_with(asked));
    if (!mine) {
      const auto [known, fresh] = calls.try_emplace(receipt.event_id, false);
      if (fresh || !known->second) known->second = known->second || names_call(store, id, receipt, asked);
      mine = known->second;
    }
    if (!mine) return true;
    if (out.empty() || out.back().receipts.front().event_id != receipt.event_id) out.push_back({id.text(), {}, {}});
    out.back().receipts.push_back(receipt);
    return true;
  });
  if (!read) return Failure{kExitStore, read.error().message};
  if (out.empty()) return out;
  const auto runs = uses_of(store, id, {});
  if (!runs) return Failure{kExitStore, runs.error().message};
  for (Decision& decision : out) {
    const auto run = runs->find(decision.receipts.front().run);
    if (run == runs->end()) continue;
    for (const HookUse& use : run->second)
      if (std::any_of(decision.receipts.begin(), decision.receipts.end(),
                      [&](const HookReceipt& each) { return each.hook == use.hook; }))
        decision.uses.push_back(use);
  }
  return out;
}

std::string verdict_of(const Decision& decision) {
  const auto found = [&](AnswerEffect effect) {
    return std::find_if(decision.receipts.begin(), decision.receipts.end(),
                        [&](const HookReceipt& each) { return each.effect == effect; });
  };
  const auto end = decision.receipts.end();
  if (const auto by = found(AnswerEffect::kBlocked); by != end)
    return by->hook + " blocked it; the hooks after it were not called";
  std::string out;
  for (const HookReceipt& each : decision.receipts)
    if (each.effect == AnswerEffect::kApplied) out += (out.empty() ? "" : ", ") + each.hook;
  if (found(AnswerEffect::kConflict) != end)
    return "the answer of " + out + " was applied; a later conflicting answer was dropped";
  if (!out.empty()) out = "the answer of " + out + " was applied";
  if (const auto by = found(AnswerEffect::kRefused); by != end) {
    out += (out.empty() ? "the answer of " : "; the answer of ") + by->hook + " was refused";
    return by->note.empty() ? out : out + ": " + by->note;
  }
  if (!out.empty()) return out;
  if (found(AnswerEffect::kFailed) != end) return "none: a hook failed, but fails open, so the run continued";
  return "none: no hook answered, so the run continued";
}

void print_decision(Output& out, const Store& store, const Ulid& id, const Decision& decision) {
  const HookReceipt& first = decision.receipts.front();
  out.print(first.event + " · " + first.event_id + " · " + time_text(first.time_ms) + " · run " +
            std::to_string(first.run) + " turn " + std::to_string(first.turn) + "\n");
  for (const HookReceipt& each : decision.receipts) {
    std::string line = "  " + each.hook + " (" + (each.kind.empty() ? "hook" : each.kind) + ")";
    if (each.attempt > 1) line += ", again for the final input";
    if (each.effect == AnswerEffect::kSkipped)
      line += ": not called";
    else
      line += ": " + answer_text(each.answer) + " → " + std::string(name_of(each.effect));
    if (!each.note.empty()) line += ", " + each.note;
    out.print(neutral_line(line, kShownTraceBytes) + "\n");
  }
  out.print(neutral_line("  decision: " + verdict_of(decision), kShownTraceBytes) + "\n");
  for (const HookUse& use : decision.uses)
    out.print(neutral_line("  in this run: " + name_of(use) + ": " + describe(use), kShownTraceBytes) + "\n");
  if (const auto payload = rebuild_payload(store, id, first))
    out.print("  payload: " + neutral_line(*payload, kShownTraceBytes) + "\n");
}

void print_json(Output& out, const Decision& decision) {
  JsonWriter json;
  json.begin_object().member("conversation_id", decision.conversation);
  json.member("event_id", decision.receipts.front().event_id);
  json.member("event", decision.receipts.front().event).key("hooks").begin_array();
  for (const HookReceipt& each : decision.receipts) json.raw(write_receipt(each));
  json.end_array().member("decided", verdict_of(decision)).key("uses").begin_array();
  for (const HookUse& use : decision.uses) write_hook_use(json, use);
  json.end_array().end_object();
  out.print(std::string(json.text()) + "\n");
}

int tell(App& app, const Arguments& arguments, const Store& store, const Ulid& id, const std::vector<Decision>& found) {
  for (const Decision& decision : found) {
    if (arguments.has("json"))
      print_json(app.out(), decision);
    else
      print_decision(app.out(), store, id, decision);
  }
  return kExitOk;
}

}  // namespace

int hooks_trace_command(App& app, const Arguments& arguments) {
  const auto records = records_here(app, arguments.value("conversation"));
  if (!records) return app.fail(records.error().code, records.error().message);
  const std::string id = records->id.text();
  std::size_t shown = 0;
  const auto read = records->store->receipts(records->id, [&](const HookReceipt& receipt) {
    if (!wanted(receipt, arguments)) return true;
    ++shown;
    app.out().print((arguments.has("json") ? json_of(id, receipt) : neutral_line(line_of(receipt), kShownTraceBytes)) +
                    "\n");
    return true;
  });
  if (!read) return app.fail(kExitStore, read.error().message);
  if (shown == 0 && !arguments.has("json"))
    app.out().print("no hook answered in " + id + "; run with --trace-hooks to see calls without an answer\n");
  if (arguments.has("event")) return kExitOk;  // a run's ledger is about all events
  const auto runs = uses_of(*records->store, records->id, arguments.value("hook"));
  if (!runs) return app.fail(kExitStore, runs.error().message);
  print_uses(app.out(), id, *runs, arguments.has("json"));
  return kExitOk;
}

int hooks_why_command(App& app, const Arguments& arguments) {
  const std::string asked = arguments.words()[0];
  const auto records = records_here(app, arguments.value("conversation"));
  if (!records) return app.fail(records.error().code, records.error().message);
  auto found = decisions(*records->store, records->id, asked);
  if (!found) return app.fail(found.error().code, found.error().message);
  if (!found->empty()) return tell(app, arguments, *records->store, records->id, *found);
  if (!arguments.has("conversation")) {
    ConversationQuery query;
    query.limit = kSearchedConversations;
    const auto others = records->store->list(query);
    if (!others) return app.fail(kExitStore, others.error().message);
    for (const ConversationInfo& info : *others) {
      const auto id = Ulid::parse(info.id);
      if (!id || *id == records->id) continue;
      found = decisions(*records->store, *id, asked);
      if (found && !found->empty()) return tell(app, arguments, *records->store, *id, *found);
    }
  }
  return app.fail(kExitNotFound, "no hook answered at '" + one_line(asked, 80) +
                                     "': name the id of an event or a tool call from 'agentd hooks trace --json'");
}

}  // namespace agentd::app
