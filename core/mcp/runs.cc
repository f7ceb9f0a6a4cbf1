// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/runs.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/session/chat_calls.h"

namespace agentd::mcp {
namespace {

constexpr Milliseconds kRunLook{50};
constexpr std::int64_t kPollMs = 1'000;
constexpr std::size_t kShownIdBytes = 80;

// The id of a task: "CONVERSATION.KEY".
struct TaskName {
  Ulid conversation;
  std::string key;
};
std::optional<TaskName> parse_task(std::string_view id) {
  const std::size_t dot = id.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto conversation = Ulid::parse(id.substr(0, dot));
  const auto key = Ulid::parse(id.substr(dot + 1));
  if (!conversation || !key) return std::nullopt;
  return TaskName{*conversation, key->text()};
}

Error no_task(std::string_view id) {
  return {Code::kNotFound, "there is no task '" + one_line(id, kShownIdBytes) + "'"};
}

// The run that a message began, as the log has it.
struct RunInLog {
  std::uint32_t run = 0;  // 0: no message has that key
  std::int64_t begun_ms = 0, last_ms = 0;
  std::string answer;
  std::optional<RunEndRecord> end;
};
Result<RunInLog> run_in_log(const Store& store, const TaskName& task) {
  RunInLog out;
  Result<void> good;
  const auto note = [&](const StoredRecord& record) -> Result<void> {
    const Record& each = record.record;
    if (out.run == 0) {
      if (each.type != RecordType::kUserMessage) return {};
      AGENTD_TRY(const MessageRecord message, read_message(each));
      if (message.key != task.key) return {};
      out.run = each.run;
      out.begun_ms = record.time_ms;
    }
    if (each.run != out.run) return {};
    out.last_ms = record.time_ms;
    if (each.type == RecordType::kAssistantMessage) {
      AGENTD_TRY(const MessageRecord message, read_message(each));
      if (std::string said = message.message.text(); !said.empty()) out.answer = std::move(said);
    }
    if (each.type == RecordType::kRunEnd) {
      AGENTD_TRY(out.end, read_run_end(each));
    }
    return {};
  };
  AGENTD_TRY_VOID(store.read(task.conversation, 1, 0, [&](const StoredRecord& record) {
    good = note(record);
    return good.has_value() && !out.end;
  }));
  if (!good) return good.error();
  return out;
}

std::string_view status_of(TaskState::Kind kind) {
  switch (kind) {
    case TaskState::Kind::kWorking:
    case TaskState::Kind::kWaiting:
      return "working";
    case TaskState::Kind::kEnded:
      return "completed";
    case TaskState::Kind::kCancelled:
      return "cancelled";
    case TaskState::Kind::kInterrupted:
      break;
  }
  return "failed";
}

std::string in_place_of(std::string_view words) {
  return "[" + counted(words.size(), "byte") + ", which the hooks of messages see first, in the run]";
}

// `object` with `change` of the name and the words of each of its words.
template <typename Change>
void write_words(JsonWriter& out, JsonView object, bool nested, const Change& change) {
  out.begin_object();
  for (std::size_t i = 0; i < object.size(); ++i) {
    const std::string_view name = object.key_at(i);
    const JsonView value = object.at(i);
    out.key(name);
    if (value.is_string() && (nested || name == "prompt"))
      out.string(change(name, value.string_or(""), nested));
    else if (!nested && name == "arguments" && value.is_object())
      write_words(out, value, true, change);
    else
      out.value(value);
  }
  out.end_object();
}

}  // namespace

std::string without_words(JsonView input) {
  JsonWriter out;
  write_words(out, input, false, [](std::string_view, std::string_view words, bool) { return in_place_of(words); });
  return std::string(out.text());
}

std::string with_words(JsonView left, JsonView given) {
  JsonWriter out;
  write_words(out, left, false, [&](std::string_view name, std::string_view words, bool nested) {
    const std::string was((nested ? given["arguments"] : given)[name].string_or(""));
    const std::string mark = in_place_of(was);
    const std::size_t at = words.find(mark);
    // A hook may have written something beside it.
    if (at == std::string_view::npos) return std::string(words);
    return std::string(words.substr(0, at)) + was + std::string(words.substr(at + mark.size()));
  });
  return std::string(out.text());
}

Result<RunWish> read_run_wish(JsonView input) {
  RunWish out;
  out.prompt = input["prompt"].string_or("");
  out.recipe = input["recipe"].string_or("");
  out.model = input["model"].string_or("");
  const JsonView arguments = input["arguments"];
  for (std::size_t i = 0; i < arguments.size(); ++i)
    out.arguments.emplace(arguments.key_at(i), arguments.at(i).string_or(""));
  if (out.recipe.empty() && is_blank(out.prompt))
    return Error{Code::kInvalid, "run_agent needs a prompt, or the name of a recipe"};
  if (const std::string_view id = input["conversation_id"].string_or(""); !id.empty()) {
    const auto parsed = Ulid::parse(id);
    if (!parsed) return Error{Code::kInvalid, "'" + one_line(id, kShownIdBytes) + "' is no id of a conversation"};
    out.conversation = *parsed;
  }
  return out;
}

// ---- tasks

Result<TaskState> task_in_log(Store& store, const std::string& id) {
  const auto task = parse_task(id);
  if (!task) return no_task(id);
  const auto info = store.info(task->conversation);
  if (!info) return info.error().code == Code::kNotFound ? no_task(id) : info.error();
  AGENTD_TRY(const RunInLog run, run_in_log(store, *task));
  if (run.run == 0) return no_task(id);
  TaskState out;
  out.id = id;
  out.conversation = info->id;
  out.created_ms = run.begun_ms;
  out.updated_ms = run.last_ms;
  if (run.end) {
    out.outcome = run.end->outcome;
    out.kind = out.outcome == "cancelled" ? TaskState::Kind::kCancelled : TaskState::Kind::kEnded;
    out.failed = !run.end->error.empty() || out.outcome == "error" || out.outcome == "blocked" ||
                 out.outcome == "stopped" || out.outcome == "limit" || out.outcome == "refused";
    out.text = !run.end->error.empty() ? run.end->error : run.answer;
    return out;
  }
  if (!info->wait.id.empty() && info->runs == run.run) {
    out.kind = TaskState::Kind::kWaiting;
    out.waits_for = info->wait.id;
    return out;
  }
  // A session that works holds the conversation.
  const auto lease = store.lease(task->conversation);
  out.kind = lease || info->runs != run.run ? TaskState::Kind::kInterrupted : TaskState::Kind::kWorking;
  return out;
}

std::string message_of(const TaskState& state) {
  if (state.kind == TaskState::Kind::kWaiting)
    return "a tool call waits for a person's answer: agentd approve " + state.waits_for;
  if (state.kind == TaskState::Kind::kInterrupted)
    return "the process of the run has ended; run_agent with conversation_id " + state.conversation + " continues it";
  return {};
}

void write_task(JsonWriter& out, const TaskState& state) {
  out.member("taskId", state.id).member("status", status_of(state.kind));
  out.optional("statusMessage", message_of(state));
  out.member("createdAt", iso_time(state.created_ms)).member("lastUpdatedAt", iso_time(state.updated_ms));
  out.key("ttlMs").null().member("pollIntervalMs", kPollMs);
}

std::string run_result(const TaskState& state) {
  JsonWriter inner;
  inner.begin_object().member("conversation_id", state.conversation).member("task_id", state.id);
  const std::string outcome = state.kind == TaskState::Kind::kWaiting       ? "waiting"
                              : state.kind == TaskState::Kind::kInterrupted ? "interrupted"
                                                                            : state.outcome;
  inner.member("outcome", outcome).member("text", state.text).optional("message", message_of(state)).end_object();
  JsonWriter out;
  out.begin_object().key("content").begin_array().begin_object().member("type", "text");
  out.member("text", inner.text()).end_object().end_array().key("structuredContent").raw(inner.text());
  if (state.failed || state.kind == TaskState::Kind::kInterrupted) out.member("isError", true);
  out.end_object();
  return std::string(out.text());
}

// ---- one run

std::string Runs::Run::id() const {
  const MutexLock lock(mutex_);
  return stored_ ? conversation_ + "." + key_ : std::string();
}

void Runs::Run::on_event(const RunEvent& event) {
  const MutexLock lock(mutex_);
  if (event.agent_depth != 0) return;
  switch (event.type()) {
    case RunEvent::Type::kUserMessage:
      conversation_ = event.conversation_id;
      stored_ = true;
      break;
    case RunEvent::Type::kTurnStarted:
      now_ = "turn " + std::to_string(event.turn);
      break;
    case RunEvent::Type::kToolCall:
      now_ = "calls " + std::string(std::get<told::ToolCalled>(event.body).name);
      break;
    default:
      return;
  }
  ++steps_;
  changed_.notify_all();
}

void Runs::Run::ended(Result<void, RunError> how) {
  const MutexLock lock(mutex_);
  ended_ = std::move(how);
  changed_.notify_all();
}

bool Runs::Run::wait_stored(const CancelToken& cancel) {
  const MutexLock lock(mutex_);
  while (!stored_ && !ended_) {
    if (cancel.cancelled()) cancel_.cancel(AGENTD_CANCEL_USER);
    changed_.wait_for(mutex_, clock_, kRunLook);
  }
  return stored_;
}

Result<void, RunError> Runs::Run::wait(const CancelToken& cancel, const Progress& progress) {
  std::uint64_t told = 0;
  for (;;) {
    std::uint64_t step = 0;
    std::string now;
    {
      const MutexLock lock(mutex_);
      if (steps_ == told && !ended_) changed_.wait_for(mutex_, clock_, kRunLook);
      if (cancel.cancelled()) cancel_.cancel(AGENTD_CANCEL_USER);
      if (ended_) return *ended_;
      step = steps_;
      now = now_;
    }
    if (step == told) continue;
    told = step;
    if (progress) progress(step, now);
  }
}

// ---- all of them

Runs::~Runs() {
  const MutexLock lock(mutex_);
  for (const auto& run : runs_) run->cancel_.cancel(AGENTD_CANCEL_SHUTDOWN);
  while (!runs_.empty()) ended_.wait_for(mutex_, means_.runtime.clock(), kRunLook);
}

Result<std::shared_ptr<Runs::Run>, RunError> Runs::begin(const std::string& cwd, RunWish wish,
                                                         const CancelToken& cancel) {
  if (!means_.no_model.empty()) return RunError{RunError::Kind::kUsage, means_.no_model};
  const auto run = std::make_shared<Run>(means_.runtime.clock(), means_.runtime.agent_parts().ids.next().text());
  {
    const MutexLock lock(mutex_);
    runs_.push_back(run);
  }
  if (!means_.start([this, run, cwd, wish = std::move(wish)] { work(run, cwd, wish); })) {
    forget(*run);
    return RunError{RunError::Kind::kBusy, "too many runs and requests are active: try again later"};
  }
  if (run->wait_stored(cancel)) return run;
  AGENTD_TRY_VOID(run->wait(cancel, {}));
  return RunError{RunError::Kind::kFailure, "the run ended without a message"};
}

void Runs::forget(const Run& run) {
  const MutexLock lock(mutex_);
  std::erase_if(runs_, [&](const auto& each) { return each.get() == &run; });
  ended_.notify_all();
}

void Runs::work(const std::shared_ptr<Run>& run, const std::string& cwd, const RunWish& wish) {
  auto how = work_now(*run, cwd, wish);
  // It is in the log now.
  run->ended(std::move(how));
  forget(*run);
}

Result<void, RunError> Runs::work_now(Run& run, const std::string& cwd, const RunWish& wish) {
  Runtime& runtime = means_.runtime;
  std::string place = cwd;
  if (wish.conversation) {
    const auto info = runtime.store().info(*wish.conversation);
    if (!info) return RunError{RunError::Kind::kNotFound, "there is no conversation " + wish.conversation->text()};
    if (!info->cwd.empty()) place = info->cwd;
  }
  AGENTD_TRY(const std::shared_ptr<Workplace> workplace, means_.workplace_at(place));
  NobodyThere nobody;
  OpenRequest request{place, run, &nobody};
  request.model = wish.model;
  AGENTD_TRY(auto client, ClientSession::prepare(*workplace, std::move(request)));
  AGENTD_TRY_VOID(client->open(wish.conversation, run.cancel_, wish.prompt));
  RunRequest message;
  message.text = wish.prompt;
  if (!wish.recipe.empty()) {
    AGENTD_TRY(message, begin_recipe(*client, {wish.recipe, wish.arguments, wish.prompt}));
    if (message.compaction_run)
      return RunError{RunError::Kind::kUsage, "the recipe " + wish.recipe + " compacts: call the tool compact"};
  }
  message.key = run.key_;
  const auto report = client->session()->run(message, run.cancel_);
  client->end("exit");
  if (!report) return report.error();
  return {};
}

void Runs::cancel_all() {
  const MutexLock lock(mutex_);
  for (const auto& run : runs_) run->cancel_.cancel(AGENTD_CANCEL_SHUTDOWN);
}

bool Runs::cancel(const std::string& id) {
  const MutexLock lock(mutex_);
  for (const auto& run : runs_)
    if (run->id() == id) {
      run->stop();
      return true;
    }
  return false;
}

Result<TaskState> Runs::state(const std::string& id) {
  bool here = false;
  {
    const MutexLock lock(mutex_);
    here = std::any_of(runs_.begin(), runs_.end(), [&](const auto& run) { return run->id() == id; });
  }
  AGENTD_TRY(TaskState out, task_in_log(means_.runtime.store(), id));
  // Its session is being opened or closed: nobody holds the conversation for a moment.
  if (here && out.kind == TaskState::Kind::kInterrupted) out.kind = TaskState::Kind::kWorking;
  return out;
}

// ---- compaction

Result<std::string, RunError> compact_conversation(const Means& means, JsonView input, const CancelToken& cancel) {
  if (!means.no_model.empty()) return RunError{RunError::Kind::kUsage, means.no_model};
  const std::string_view named = input["conversation_id"].string_or("");
  const auto id = Ulid::parse(named);
  const auto info = id ? means.runtime.store().info(*id) : Result<ConversationInfo>(id.error());
  if (!info)
    return RunError{RunError::Kind::kNotFound, "there is no conversation '" + one_line(named, kShownIdBytes) + "'"};
  CompactOptions options;
  if (const std::string_view strategy = input["strategy"].string_or(""); !strategy.empty()) {
    const auto parsed = parse_strategy(strategy);
    if (!parsed) return RunError{RunError::Kind::kUsage, parsed.error().message};
    options.strategy = *parsed;
  }
  options.instructions = input["instructions"].string_or("");
  AGENTD_TRY(const std::shared_ptr<Workplace> workplace, means.workplace_at(info->cwd));
  NobodyThere nobody;
  Unheard unheard;
  AGENTD_TRY(auto client, ClientSession::prepare(*workplace, OpenRequest{info->cwd, unheard, &nobody}));
  AGENTD_TRY_VOID(client->open(*id, cancel));
  const auto report = client->session()->compact(options, input["dry_run"].bool_or(false), cancel);
  client->end("exit");
  if (!report) return report.error();
  JsonWriter out;
  out.begin_object().member("result", result_name(report->outcome)).member("changed", report->changed());
  out.member("messages_before", report->messages_before).member("messages_after", report->messages_after);
  out.member("pre_tokens", report->pre_tokens).member("post_tokens", report->post_tokens);
  out.optional("summary", report->summary).optional("message", report->text).end_object();
  return std::string(out.text());
}

}  // namespace agentd::mcp
