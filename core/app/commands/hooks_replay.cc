// SPDX-License-Identifier: Apache-2.0
// hooks replay - the decisions of today's hooks about a recorded conversation. Nothing is changed.
#include <algorithm>
#include <chrono>
#include <map>

#include "core/agent/receipts.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_records.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/commands/hooks_trial.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/hooks/dry_services.h"
#include "core/hooks/payload_record.h"
#include "core/net/curl_client.h"
#include "core/runtime/provider_setup.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownReplayBytes = 500;

// One past event, as hooks would have received it.
struct Past {
  std::string payload;
  std::string about;  // "bash call_1"; empty for other events
  std::uint64_t seq = 0;
};

// Reads the log and lists its events. A payload stored with a receipt is used byte for byte; others are built from
// the records, without the history.
class PastEvents {
 public:
  Result<std::vector<Past>> read(const Store& store, const Ulid& id) {
    conversation_ = id.text();
    AGENTD_TRY_VOID(read_receipts(store, id));
    Result<void> told;
    const auto done = store.read(id, 1, 0, [&](const StoredRecord& record) {
      told = take(record);
      return static_cast<bool>(told);
    });
    if (!done) return done.error();
    if (!told) return told.error();
    return std::move(events_);
  }

 private:
  Result<void> read_receipts(const Store& store, const Ulid& id) {
    return store.receipts(id, [&](const HookReceipt& receipt) {
      if (!receipt.payload_kept || receipt.attempt > 1) return true;
      const auto text = rebuild_payload(store, id, receipt);
      if (!text) return true;
      const auto payload = JsonDocument::parse(*text);
      if (!payload) return true;
      const std::string_view call = payload->root()["tool"]["call_id"].string_or({});
      if (!call.empty()) kept_.try_emplace(receipt.event + " " + std::string(call), *text);
      return true;
    });
  }

  Result<void> take(const StoredRecord& from) {
    switch (from.record.type) {
      case RecordType::kGenesis:
        return take_genesis(from);
      case RecordType::kSettings:
        return take_settings(from);
      case RecordType::kUserMessage:
        return take_user(from);
      case RecordType::kAssistantMessage:
        return take_assistant(from);
      case RecordType::kToolResult:
        return take_result(from);
      case RecordType::kRunEnd:
        return take_end(from);
      default:
        return {};
    }
  }

  Result<void> take_genesis(const StoredRecord& from) {
    AGENTD_TRY(const GenesisRecord genesis, read_genesis(from.record));
    cwd_ = genesis.cwd;
    project_ = genesis.project_id;
    return {};
  }
  Result<void> take_settings(const StoredRecord& from) {
    AGENTD_TRY(const SettingsRecord settings, read_settings(from.record));
    provider_ = settings.provider;
    model_ = settings.model;
    return {};
  }

  void begin(JsonWriter& out, const char* event, const StoredRecord& from) const {
    out.begin_object().member("event", event).member("conv_id", conversation_);
    out.member("turn_number", std::uint64_t{from.record.turn}).member("cwd", cwd_);
    out.member("project_id", project_).member("provider", provider_).member("model", model_);
  }
  void add(JsonWriter& out, const char* event, const std::string& call, std::string about, const StoredRecord& from) {
    out.end_object();
    const auto kept = kept_.find(std::string(event) + " " + call);
    events_.push_back({kept == kept_.end() ? std::string(out.text()) : kept->second, std::move(about), from.seq});
  }

  Result<void> take_user(const StoredRecord& from) {
    AGENTD_TRY(const MessageRecord record, read_message(from.record));
    JsonWriter out;
    begin(out, "user_message_send", from);
    out.member("message", record.message.text());
    out.member("source", record.source.empty() ? "user" : record.source.c_str());
    add(out, "user_message_send", "", "", from);
    return {};
  }

  Result<void> take_assistant(const StoredRecord& from) {
    AGENTD_TRY(const MessageRecord record, read_message(from.record));
    last_text_ = record.message.text();
    for (const Block& block : record.message.blocks)
      if (block.kind == BlockKind::kToolUse) calls_[block.call_id] = block;
    return {};
  }

  void write_tool(JsonWriter& out, const Block& call) const {
    out.key("tool").begin_object().member("name", call.name).member("call_id", call.call_id);
    const bool readable = static_cast<bool>(JsonDocument::parse(call.json));
    out.key("input").raw(readable ? std::string_view(call.json) : std::string_view("{}"));
    out.end_object();
  }

  Result<void> take_result(const StoredRecord& from) {
    AGENTD_TRY(const ToolResultRecord result, read_tool_result(from.record));
    const auto call = calls_.find(result.call_id);
    if (call == calls_.end()) return {};
    const std::string about = result.name + " " + result.call_id;
    JsonWriter before;
    begin(before, "before_tool_call", from);
    write_tool(before, call->second);
    add(before, "before_tool_call", result.call_id, about, from);
    const bool ran = result.status == "ok" || result.status == "error";
    if (!ran) return {};
    const char* const event = result.status == "ok" ? "after_tool_call" : "tool_call_failed";
    JsonWriter after;
    begin(after, event, from);
    write_tool(after, call->second);
    after.key("output").begin_object().member("content", result.text);
    after.member("success", result.status == "ok").member("error", result.status == "ok" ? "" : result.text.c_str());
    after.end_object().member("duration_ms", static_cast<std::uint64_t>(result.duration_ms));
    add(after, event, result.call_id, about, from);
    return {};
  }

  Result<void> take_end(const StoredRecord& from) {
    AGENTD_TRY(const RunEndRecord end, read_run_end(from.record));
    constexpr RunOutcome kAnswered[] = {RunOutcome::kStop, RunOutcome::kRefused, RunOutcome::kCut, RunOutcome::kEmpty};
    const bool answered = std::any_of(std::begin(kAnswered), std::end(kAnswered),
                                      [&](RunOutcome outcome) { return end.outcome == name_of(outcome); });
    if (!answered) return {};
    JsonWriter out;
    begin(out, "agent_stop", from);
    out.member("response", last_text_);
    add(out, "agent_stop", "", "", from);
    return {};
  }

  std::string conversation_, cwd_, project_, provider_, model_, last_text_;
  std::map<std::string, Block> calls_;       // by call id
  std::map<std::string, std::string> kept_;  // "before_tool_call call_1" -> payload
  std::vector<Past> events_;
};

// ---- asking

class Verdicts final : public TraceSink {
 public:
  struct Each {
    std::string hook, text, note;
    AnswerEffect effect = AnswerEffect::kNone;
  };
  void on_hook(const HookTrace& trace) override {
    std::string text;
    for (const Action& action : trace.actions) text += (text.empty() ? "" : "; ") + action_text(action);
    if (!trace.failure.empty()) text += (text.empty() ? "" : "; ") + std::string(trace.failure);
    said.push_back({std::string(trace.hook), std::move(text), std::string(trace.note), trace.effect});
  }
  // True if a line says "would be applied".
  bool applied() const {
    return std::any_of(said.begin(), said.end(),
                       [](const Each& each) { return each.effect == AnswerEffect::kApplied; });
  }
  std::vector<Each> said;
};

class Replay {
 public:
  Replay(App& app, const HooksHere& here) : app_(app), here_(here) {}
  ~Replay() {
    snapshot_.reset();
    host_.reset();
  }

  Result<void, Failure> load(const std::vector<std::string>& names) {
    HookHostOptions options = here_.setup.options;
    options.consent.record = false;
    options.native.roots = {here_.project.cwd};
    host_ = std::make_unique<HookHost>(
        options, ExternalEnvironment{tokens_,
                                     services_,
                                     app_.clock(),
                                     log_,
                                     [this]() -> HttpClient& {
                                       if (!http_) http_ = make_http_client(app_.clock(), http_settings(here_.config));
                                       return *http_;
                                     },
                                     app_.surroundings().environment,
                                     {here_.config.list("hooks.allow_hosts")},
                                     here_.project.root,
                                     here_.home + "/transcripts",
                                     [mode = here_.config.text("permissions.mode")](std::string_view) { return mode; },
                                     {},
                                     here_.config.list("hooks.pass_environment")});
    host_->load_all();
    std::vector<Subscription> asked;
    for (Subscription& each : host_->subscriptions()) {
      const bool named = names.empty() || std::find(names.begin(), names.end(), each.name) != names.end();
      // Observers decide nothing, and may have side effects.
      if (named && (each.flags & AGENTD_HOOK_OBSERVES) == 0) asked.push_back(std::move(each));
    }
    for (const std::string& name : names)
      if (std::none_of(asked.begin(), asked.end(), [&](const Subscription& s) { return s.name == name; }))
        return Failure{kExitNotFound,
                       "no deciding hook named '" + one_line(name, 80) + "'; 'agentd hooks list' shows all hooks"};
    snapshot_ = std::make_unique<Snapshot>(std::move(asked), here_.config.list("hooks.order"), app_.clock());
    return {};
  }

  bool wants(const Past& past) const {
    const auto payload = JsonDocument::parse(past.payload);
    const EventTraits* const event = payload ? find_event(payload->root()["event"].string_or({})) : nullptr;
    return event != nullptr && snapshot_->wants(event->id);
  }

  Result<std::unique_ptr<Outcome>> ask(const Past& past, Verdicts& verdicts, const CancelToken& cancel) {
    AGENTD_TRY(PayloadRecord record, PayloadRecord::from_json(past.payload));
    const SlotLease slot(tokens_);
    const CancelBinding binding(*slot, cancel);
    Dispatch event;
    event.event = record.event();
    event.envelope = record.envelope();
    event.payload = record.payload();
    const Milliseconds time(here_.config.whole("hooks.deadline_ms"));
    event.deadline_ns = Deadline::after(app_.clock(), time).at_ns;
    event.budget_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
    event.context = &record;
    event.rewrite = [](void* context, std::uint32_t target, std::string_view text) {
      (void)!static_cast<PayloadRecord*>(context)->rewrite(target, text);
    };
    event.slots = &tokens_;
    return dispatch(*snapshot_, *slot, event, &verdicts);
  }

 private:
  App& app_;
  const HooksHere& here_;
  NullLog log_;
  TokenTable tokens_;
  DryServices services_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<HookHost> host_;
  std::unique_ptr<Snapshot> snapshot_;
};

struct ReplayCount {
  std::size_t asked = 0, blocked = 0, changed = 0, failed = 0;
};

std::string event_of(const Past& past) {
  const auto payload = JsonDocument::parse(past.payload);
  return payload ? std::string(payload->root()["event"].string_or({})) : std::string();
}

void print(App& app, const Past& past, const Verdicts& verdicts, bool json) {
  for (const Verdicts::Each& each : verdicts.said) {
    if (each.effect == AnswerEffect::kNone || each.effect == AnswerEffect::kSkipped) continue;
    if (!json) {
      app.out().print(neutral_line("#" + std::to_string(past.seq) + "  " + event_of(past) +
                                       (past.about.empty() ? "" : "  " + past.about) + "  " + each.hook +
                                       "  would be " + std::string(name_of(each.effect)) +
                                       (each.text.empty() ? "" : ": ") + each.text,
                                   kShownReplayBytes) +
                      "\n");
      continue;
    }
    JsonWriter out;
    out.begin_object().member("seq", past.seq).member("event", event_of(past));
    out.optional("about", past.about).member("hook", each.hook).member("effect", name_of(each.effect));
    out.optional("said", each.text).optional("note", each.note).end_object();
    app.out().print(std::string(out.text()) + "\n");
  }
}

void print_count(App& app, const ReplayCount& count, bool json) {
  if (json) {
    JsonWriter out;
    out.begin_object().member("asked", std::uint64_t{count.asked}).member("blocked", std::uint64_t{count.blocked});
    out.member("changed", std::uint64_t{count.changed}).member("failed", std::uint64_t{count.failed}).end_object();
    app.out().print(std::string(out.text()) + "\n");
    return;
  }
  app.out().print("these hooks would have blocked " + with_commas(count.blocked) + " of " + with_commas(count.asked) +
                  " events, changed " + with_commas(count.changed) + " and failed at " + with_commas(count.failed) +
                  "; their answers were ignored\n");
}

}  // namespace

int hooks_replay_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const std::string which = arguments.words().empty() ? std::string() : arguments.words()[0];
  const auto records = records_here(app, which);
  if (!records) return app.fail(records.error().code, records.error().message);
  Replay replay(app, *here);
  if (auto loaded = replay.load(arguments.values("hook")); !loaded)
    return app.fail(loaded.error().code, loaded.error().message);
  const auto past = PastEvents().read(*records->store, records->id);
  if (!past) return app.fail(kExitStore, past.error().message);
  SignalScope signals;
  const CancelToken cancel = signals.next();
  const bool json = arguments.has("json");
  ReplayCount count;
  for (const Past& each : *past) {
    if (arguments.has("event") && event_of(each) != arguments.value("event")) continue;
    if (!replay.wants(each)) continue;
    if (cancel.cancelled()) break;
    Verdicts verdicts;
    const auto outcome = replay.ask(each, verdicts, cancel);
    if (!outcome) return app.fail(kExitFailure, "record " + std::to_string(each.seq) + ": " + outcome.error().message);
    ++count.asked;
    if (const Outcome* const said = outcome->get()) {
      count.blocked += said->blocked || said->stop.has_value();
      count.changed += !said->blocked && !said->stop && verdicts.applied();
      count.failed += !said->failures.empty();
    }
    print(app, each, verdicts, json);
  }
  print_count(app, count, json);
  return signals.caught() != 0 ? 128 + signals.caught() : kExitOk;
}

}  // namespace agentd::app
