// SPDX-License-Identifier: Apache-2.0
// checkpoint.cc - lists, saves and shows checkpoints, and resumes them as new conversations.
#include "core/agent/checkpoint_texts.h"
#include "core/agent/checkpoints.h"
#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/failure.h"
#include "core/app/message_input.h"
#include "core/app/signals.h"
#include "core/app/table.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/runtime/lookup.h"
#include "core/runtime/own_services.h"
#include "core/runtime/runtime.h"
#include "core/workplace/project.h"

namespace agentd::app {
namespace {

constexpr std::uint32_t kCheckpointsStandard = 20;

int checkpoint_exit(const Error& error) { return error.code == Code::kInvalid ? kExitUsage : store_exit(error); }

// Needs no provider: for lists and names.
struct Offline {
  explicit Offline(const App& app, Store& store)
      : ids(app.clock()), models(ModelTable::embedded()), checkpoints({store, app.clock(), ids, estimator, models}) {}
  IdSource ids;
  const SimpleEstimator estimator;
  const ModelTable models;
  Checkpoints checkpoints;
};

std::string shown_name(const Checkpoint& each) {
  return neutral_line(each.record.name.empty() ? "(no name)" : each.record.name, 80);
}

void print_list(Output& out, const std::vector<Checkpoint>& list) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(list.size());
  for (const Checkpoint& each : list)
    rows.push_back({each.record.id, time_text(each.created_ms), each.record.why,
                    each.record.percent == 0 ? "" : std::to_string(each.record.percent) + " %", shown_name(each),
                    neutral_line(each.title.empty() ? "(no title)" : each.title, 80)});
  out.print(
      table_text({{"ID"}, {"CREATED"}, {"WHY"}, {"CONTEXT", true}, {"NAME"}, {"CONVERSATION"}}, rows, out.columns()));
}

// The same as JSON with the texts that are there.
std::string whole_json(const Checkpoint& each) {
  std::string out = write_checkpoint_json(each);
  JsonWriter texts;
  texts.begin_array();
  for (const CheckpointRecord::Text& text : each.record.texts)
    texts.begin_object()
        .member("level", text.level)
        .member("text", text.text)
        .optional("author", text.author)
        .end_object();
  texts.end_array();
  out.pop_back();
  return out + ",\"texts\":" + std::string(texts.text()) + "}";
}

void print_whole(Output& out, const Checkpoint& each) {
  const CheckpointRecord& record = each.record;
  std::string text = "checkpoint " + record.id + "\nname " + shown_name(each) + "\nconversation " +
                     record.conversation_id + " \"" + neutral_line(each.title, 80) + "\"\nsequence " +
                     std::to_string(record.revision) + "\ncreated " + time_text(each.created_ms) + "\nwhy " +
                     neutral_line(record.why, 40) + "\n";
  if (record.tokens != 0)
    text += "context " + with_commas(record.tokens) + " tokens" +
            (record.percent == 0 ? "" : ", " + std::to_string(record.percent) + " %") + "\n";
  for (const CheckpointRecord::Text& each_text : record.texts)
    text += "\n" + neutral_line(each_text.level, 40) +
            (each_text.author.empty() ? "" : " by " + neutral_line(each_text.author, 80)) + ":\n" +
            neutral(each_text.text) + "\n";
  out.print(text);
}

struct FoundCheckpoint {
  std::unique_ptr<Store> store;
  Checkpoint checkpoint;
};
Result<FoundCheckpoint, Failure> found_checkpoint(const App& app, const std::string& id) {
  auto store = existing_store(app);
  if (!store) return store.error();
  if (*store == nullptr)
    return Failure{kExitNotFound, "no checkpoint " + one_line(id, 40) + ": nothing has been saved yet"};
  auto checkpoint = Offline(app, **store).checkpoints.find(id);
  if (!checkpoint) return Failure{checkpoint_exit(checkpoint.error()), checkpoint.error().message};
  return FoundCheckpoint{std::move(*store), std::move(*checkpoint)};
}

// With a model that writes the text of that level, unless it is there already or none can be asked.
class Resuming {
 public:
  Resuming(App& app, Config config) : app_(app), config_(std::move(config)) {}

  Result<void, Failure> begin(bool needs_model) {
    auto opened = open(needs_model);
    if (!opened && needs_model) {
      no_model_ = opened.error().message;
      needs_model = false;
      opened = open(false);
    }
    if (!opened) return failure_of(opened.error());
    if (needs_model) texts_ = model_checkpoint_texts(runtime_->services(), runtime_->model_settings());
    return {};
  }

  Result<Checkpoints::Resumed> resume(const Checkpoint& found, ResumeLevel level, const CancelToken& cancel) {
    const RuntimeParts parts = runtime_->agent_parts();
    return Checkpoints({parts.store, parts.clock, parts.ids, parts.estimator, parts.models,
                        runtime_->model_settings().budget, texts_.get()})
        .resume(found, level, cancel);
  }
  // Why no model can be asked; empty = one can, or none is needed.
  const std::string& no_model() const { return no_model_; }

 private:
  Result<void, RunError> open(bool needs_model) {
    runtime_.reset();
    AGENTD_TRY(runtime_, Runtime::begin(app_.surroundings(), config_, app_.clock(), {true, needs_model},
                                        [](const std::string&) {}));
    return runtime_->open();
  }

  App& app_;
  const Config config_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<CheckpointTexts> texts_;
  std::string no_model_;
};

std::string resumed_json(const Checkpoint& from, const Checkpoints::Resumed& done) {
  JsonWriter out;
  out.begin_object().member("checkpoint_id", from.record.id).member("conversation_id", done.conversation.id);
  out.member("asked", name_of(done.asked)).member("level", name_of(done.level));
  out.member("tokens", done.tokens).member("full_tokens", done.full_tokens).optional("note", done.note);
  out.end_object();
  return std::string(out.text());
}

bool has_text(const Checkpoint& checkpoint, ResumeLevel level) {
  for (const CheckpointRecord::Text& each : checkpoint.record.texts)
    if (each.level == name_of(level)) return true;
  return level == ResumeLevel::kFull;
}

}  // namespace

int checkpoint_list_command(App& app, const Arguments& arguments) {
  std::uint32_t limit = kCheckpointsStandard;
  if (arguments.has("limit")) {
    const auto count = parse_count("limit", arguments.value("limit"));
    if (!count) return app.fail(kExitUsage, count.error().message);
    limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(*count, UINT32_MAX));
  }
  if (const auto cwd = app.directory(); !cwd && !arguments.has("all"))
    return app.fail(kExitFailure, cwd.error().message + ", or list all projects with --all");
  const auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  Result<std::vector<Checkpoint>> list = std::vector<Checkpoint>{};
  const std::string project = arguments.has("all") ? std::string() : find_project(app.surroundings().cwd).id;
  if (*store != nullptr) list = Offline(app, **store).checkpoints.list(project, limit);
  if (!list) return app.fail(checkpoint_exit(list.error()), list.error().message);
  if (arguments.has("json")) {
    for (const Checkpoint& each : *list) app.out().line(write_checkpoint_json(each));
  } else if (!list->empty()) {
    print_list(app.out(), *list);
  } else {
    app.out().line(arguments.has("all") ? "no checkpoints"
                                        : "no checkpoints in this project; --all lists all projects");
  }
  return kExitOk;
}

namespace {

constexpr std::size_t kTextBytesMax = 64u << 10;

// Saves a checkpoint of another agent's session, by the service that such agents call.
int save_foreign(App& app, const Arguments& arguments) {
  if (arguments.has("conversation"))
    return app.fail(kExitUsage, "--session names a session elsewhere, and --conversation one of agentd's: give one");
  const Result<std::string> cwd = app.directory();
  if (!cwd) return app.fail(kExitFailure, cwd.error().message);
  std::string text = arguments.value("text");
  if (text == "-") {
    auto piped = piped_text(app.surroundings().input, [] {});
    if (!piped) return app.fail(kExitUsage, piped.error().message);
    text = std::string(utf8_prefix(to_utf8(*piped), kTextBytesMax));
  }
  JsonWriter input;
  input.begin_object().member("session_id", to_utf8(arguments.value("session"))).member("cwd", to_utf8(*cwd));
  input.optional("surface", to_utf8(arguments.value("surface"))).optional("summary", to_utf8(text));
  if (!arguments.words().empty()) input.member("name", to_utf8(arguments.words().front()));
  if (arguments.has("percent")) {
    const auto percent = parse_count("percent", arguments.value("percent"));
    if (!percent) return app.fail(kExitUsage, percent.error().message);
    input.member("percent", *percent);
  }
  input.end_object();
  Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const auto warn = [&](const std::string& sentence) { app.err().line("warning: " + neutral_line(sentence, 2000)); };
  auto runtime = Runtime::begin(app.surroundings(), *config, app.clock(), {true, false}, warn);
  if (!runtime) return app.fail(failure_of(runtime.error()).code, runtime.error().message);
  if (auto opened = (*runtime)->open(); !opened)
    return app.fail(failure_of(opened.error()).code, opened.error().message);
  const std::string project = find_project(*cwd).id;
  ServiceRequest request;
  request.interface_id = kCheckpointService;
  request.operation = "save";
  request.input_json = input.text();
  request.project_id = project;
  const ServiceAnswer saved = (*runtime)->registry().call(request);
  if (!saved) {
    const agentd_status status = saved.error().status;
    const int code = status == AGENTD_E_ARG ? kExitUsage : status == AGENTD_E_BUSY ? kExitBusy : kExitFailure;
    return app.fail(code, saved.error().message);
  }
  if (arguments.has("json")) {
    app.out().line(*saved);
  } else if (const auto answer = JsonDocument::parse(*saved)) {
    app.out().confirm(std::string(answer->root()["message"].string_or("")) + "\n");
  }
  return kExitOk;
}

}  // namespace

int checkpoint_save_command(App& app, const Arguments& arguments) {
  if (arguments.has("session")) return save_foreign(app, arguments);
  for (const char* name : {"percent", "text", "surface"})
    if (arguments.has(name))
      return app.fail(kExitUsage, "--" + std::string(name) + " is for a session elsewhere: name it with --session ID");
  auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  const Result<std::string> cwd = app.directory();
  if (!cwd) return app.fail(kExitFailure, cwd.error().message);
  if (*store == nullptr) return app.fail(kExitNotFound, "there is no conversation to save: nothing has been saved yet");
  const auto id = arguments.has("conversation") ? find_conversation(**store, arguments.value("conversation"))
                                                : newest_conversation(**store, find_project(*cwd).id);
  if (!id) return app.fail(failure_of(id.error()).code, id.error().message);
  const auto name =
      app.pass_text(arguments, arguments.words().empty() ? std::string() : to_utf8(arguments.words().front()));
  if (!name) return app.fail(checkpoint_exit(name.error()), name.error().message);
  if (name->size() > kNameBytesMax)
    return app.fail(kExitUsage, "the name has " + std::to_string(name->size()) + " bytes, more than " +
                                    std::to_string(kNameBytesMax) + ": shorten it");
  const auto saved = Offline(app, **store).checkpoints.save({*id, *name});
  if (!saved) return app.fail(checkpoint_exit(saved.error()), saved.error().message);
  if (arguments.has("json"))
    app.out().line(write_checkpoint_json(*saved));
  else
    app.out().confirm("Saved checkpoint " + saved->record.id + " of conversation " + saved->record.conversation_id +
                      " at sequence " + std::to_string(saved->record.revision) + "\n");
  return kExitOk;
}

int checkpoint_show_command(App& app, const Arguments& arguments) {
  const auto found = found_checkpoint(app, arguments.words().front());
  if (!found) return app.fail(found.error().code, found.error().message);
  if (arguments.has("json"))
    app.out().line(whole_json(found->checkpoint));
  else
    print_whole(app.out(), found->checkpoint);
  return kExitOk;
}

int checkpoint_resume_command(App& app, const Arguments& arguments) {
  Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const auto named =
      parse_resume_level(arguments.has("level") ? arguments.value("level") : config->text("lifecycle.resume_level"));
  if (!named) return app.fail(kExitUsage, named.error().message);
  auto found = found_checkpoint(app, arguments.words().front());
  if (!found) return app.fail(found.error().code, found.error().message);
  const Checkpoint checkpoint = std::move(found->checkpoint);
  const ResumeLevel level = arguments.has("level") ? *named : usual_level(checkpoint, *named);
  found->store.reset();  // a process opens it once
  SignalScope signals;
  const CancelToken cancel = signals.next();
  Resuming resuming(app, std::move(*config));
  if (auto begun = resuming.begin(!has_text(checkpoint, level)); !begun)
    return app.fail(begun.error().code, begun.error().message);
  auto done = resuming.resume(checkpoint, level, cancel);
  if (!done) {
    const bool cancelled = done.error().code == Code::kCancelled;
    return app.fail(cancelled ? signal_exit(signals.caught()) : checkpoint_exit(done.error()), done.error().message);
  }
  if (!done->note.empty() && !resuming.no_model().empty()) done->note += " (" + resuming.no_model() + ")";
  if (arguments.has("json")) {
    app.out().line(resumed_json(checkpoint, *done));
    return kExitOk;
  }
  if (!done->note.empty()) app.err().line("note: " + neutral_line(done->note, 2000));
  app.err().flush();
  const std::string& id = done->conversation.id;
  app.out().print("Resumed checkpoint " + checkpoint.record.id + " at the level " + std::string(name_of(done->level)) +
                  ": about " + with_commas(done->tokens) +
                  (done->full_tokens == 0 ? "" : " of " + with_commas(done->full_tokens)) +
                  " tokens\nNew conversation " + id + "\nContinue with: agentd run --resume " + id + " \"...\"\n");
  return kExitOk;
}

}  // namespace agentd::app
