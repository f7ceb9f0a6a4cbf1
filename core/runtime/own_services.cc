// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/own_services.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/agent/checkpoint_texts.h"
#include "core/agent/checkpoints.h"
#include "core/agent/foreign_sessions.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/scrub/secrets.h"
#include "core/tokens/retirement.h"

namespace agentd {
namespace {

constexpr std::uint64_t kListStandard = 10, kListMax = 100;
constexpr std::size_t kTextBytesMax = 64u << 10;  // of a summary that somebody gives
constexpr std::size_t kLineBytes = 200;
constexpr std::size_t kTagsMax = 16;

// One call of an operation.
struct Asked {
  const OwnServiceParts& own;
  const ServiceRequest& request;
  JsonView input;

  std::string text(std::string_view name) const { return std::string(input[name].string_or("")); }
  // The caller's project, or the one that a caller without a project names.
  std::string project() const {
    return request.project_id.empty() ? text("project_id") : std::string(request.project_id);
  }
  Checkpoints checkpoints(CheckpointTexts* texts = nullptr) const {
    const RuntimeParts& parts = own.runtime;
    return Checkpoints(
        {parts.store, parts.clock, parts.ids, parts.estimator, parts.models, own.settings.budget, texts});
  }
};

Result<std::uint64_t> whole(const Asked& asked, std::string_view name, std::uint64_t least, std::uint64_t most,
                            std::uint64_t otherwise) {
  const JsonView given = asked.input[name];
  if (given.is_null() || !given.exists()) return otherwise;
  const std::uint64_t value = given.uint_or(UINT64_MAX);
  if (value < least || value > most)
    return Error{Code::kInvalid, std::string(name) + " must be a whole number from " + std::to_string(least) + " to " +
                                     std::to_string(most)};
  return value;
}

std::string finished(const JsonWriter& out) { return std::string(out.text()); }

// Names and titles are data: they stand behind a mark.
std::string quoted(std::string_view text) { return "\n> " + one_line(text, kLineBytes); }

std::string described(const Checkpoint& each) {
  const CheckpointRecord& record = each.record;
  std::string out = "checkpoint " + record.id + " of conversation " + record.conversation_id + " at sequence " +
                    std::to_string(record.revision) + ", made by " + one_line(record.why, kLineBytes);
  if (record.percent != 0) out += ", " + std::to_string(record.percent) + " % full";
  if (!record.name.empty()) out += quoted(record.name);
  if (!each.title.empty()) out += quoted(each.title);
  return out;
}

// ---- agentd.checkpoint/1

std::string saved_json(const std::string& id, const std::string& conversation, const std::string& name,
                       std::string_view why, std::uint64_t percent, std::string_view how) {
  JsonWriter out;
  out.begin_object().member("id", id).member("conversation_id", conversation).optional("name", name);
  out.member("why", why);
  if (percent != 0) out.member("percent", percent);
  out.member("message",
             "Saved checkpoint " + id + ". It is resumed with: agentd checkpoint resume " + id + std::string(how));
  out.end_object();
  return finished(out);
}

std::string passed(const Asked& asked, std::string text) {
  const Secrets* const secrets = asked.own.runtime.secrets;
  return secrets == nullptr ? text : secrets->pass(std::move(text)).text;
}

// Its text comes from where nothing was looked through for secrets.
Result<std::string> save_foreign(const Asked& asked, std::uint64_t percent) {
  ForeignSession session;
  session.surface = asked.text("surface");
  session.session_id = asked.text("session_id");
  session.project_id = asked.project();
  session.cwd = asked.text("cwd");
  if (session.project_id.empty())
    return Error{Code::kInvalid, "a checkpoint of a session elsewhere needs its project_id"};
  const RuntimeParts& parts = asked.own.runtime;
  AGENTD_TRY(const Ulid id, ForeignSessions(parts.store, parts.ids, parts.clock).open(session));
  Checkpoints::SaveRequest request{id, passed(asked, asked.text("name")), kForeignCheckpoint,
                                   static_cast<std::uint32_t>(percent), passed(asked, asked.text("summary"))};
  if (is_blank(request.text))
    request.text = percent == 0 ? "The session elsewhere gave no summary."
                                : "The session elsewhere was at " + std::to_string(percent) +
                                      " % of its context; it "
                                      "gave no summary.";
  AGENTD_TRY(const Checkpoint saved, asked.checkpoints().save(request));
  return saved_json(saved.record.id, id.text(), saved.record.name, saved.record.why, percent, " --level summary");
}

Error of_another_project(std::string_view what) {
  return {Code::kNotFound, "this project has no " + std::string(what)};
}

Result<std::string> save(const Asked& asked) {
  AGENTD_TRY(const std::uint64_t percent, whole(asked, "percent", 0, 100, 0));
  const std::string name = passed(asked, asked.text("name")), summary = passed(asked, asked.text("summary"));
  if (summary.size() > kTextBytesMax)
    return Error{Code::kInvalid, "summary has " + std::to_string(summary.size()) + " bytes, more than " +
                                     std::to_string(kTextBytesMax) + ": shorten it"};
  const std::string open = conversation_of(asked.own.services, asked.request.conversation);
  const std::string wanted = asked.text("conversation_id");
  if (!open.empty() && (wanted.empty() || wanted == open)) {
    CheckpointWish wish{name, summary, static_cast<std::uint32_t>(percent)};
    AGENTD_TRY(const std::string id,
               checkpoint_session(asked.own.services, asked.request.conversation, std::move(wish)));
    return saved_json(id, open, one_line(name, 80), kManualCheckpoint, percent, "");
  }
  if (wanted.empty()) {
    if (!asked.text("session_id").empty()) return save_foreign(asked, percent);
    return Error{Code::kInvalid, "no session calls, and none is named: give conversation_id or session_id"};
  }
  AGENTD_TRY(const Ulid id, Ulid::parse(wanted));
  AGENTD_TRY(const ConversationInfo info, asked.own.runtime.store.info(id));
  if (const std::string project = asked.project(); !project.empty() && info.project_id != project)
    return of_another_project("conversation " + id.text());
  AGENTD_TRY(const Checkpoint saved,
             asked.checkpoints().save({id, name, kManualCheckpoint, static_cast<std::uint32_t>(percent), summary}));
  return saved_json(saved.record.id, info.id, saved.record.name, saved.record.why, percent, "");
}

Result<std::string> list(const Asked& asked) {
  AGENTD_TRY(const std::uint64_t limit, whole(asked, "limit", 1, kListMax, kListStandard));
  const std::string project = asked.project();  // empty = all projects
  const std::string_view whose = project.empty() ? "all projects" : "this project";
  AGENTD_TRY(const std::vector<Checkpoint> found, asked.checkpoints().list(project, static_cast<std::uint32_t>(limit)));
  std::string message;
  JsonWriter out;
  out.begin_object().key("checkpoints").begin_array();
  for (const Checkpoint& each : found) {
    out.raw(write_checkpoint_json(each));
    message +=
        (message.empty() ? "Checkpoints of " + std::string(whose) + ", the newest first:\n" : "\n") + described(each);
  }
  if (message.empty()) message = project.empty() ? "No project has checkpoints." : "This project has no checkpoints.";
  out.end_array().member("message", message).end_object();
  return finished(out);
}

Result<Checkpoint> found_checkpoint(const Asked& asked) {
  AGENTD_TRY(Checkpoint found, asked.checkpoints().find(asked.text("id")));
  if (const std::string project = asked.project(); !project.empty() && found.project_id != project)
    return of_another_project("checkpoint " + found.record.id);
  return found;
}

Result<std::string> show(const Asked& asked) {
  AGENTD_TRY(const Checkpoint found, found_checkpoint(asked));
  JsonWriter out;
  out.begin_object().key("checkpoint").raw(write_checkpoint_json(found)).key("texts").begin_array();
  std::string message = described(found);
  for (const CheckpointRecord::Text& each : found.record.texts) {
    out.begin_object().member("level", each.level).member("text", each.text).optional("author", each.author);
    out.end_object();
    message += "\nIt has a text for the level " + each.level + ".";
  }
  out.end_array().member("message", message).end_object();
  return finished(out);
}

Result<std::string> resume(const Asked& asked) {
  const std::string wanted = asked.text("level");
  AGENTD_TRY(const Checkpoint found, found_checkpoint(asked));
  AGENTD_TRY(const ResumeLevel named, parse_resume_level(wanted.empty() ? asked.own.resume_level : wanted));
  const ResumeLevel level = wanted.empty() ? usual_level(found, named) : named;
  const std::unique_ptr<CheckpointTexts> texts = model_checkpoint_texts(asked.own.services, asked.own.settings);
  AGENTD_TRY(const Checkpoints::Resumed done,
             asked.checkpoints(texts.get()).resume(found, level, asked.request.cancel));
  const std::string& id = done.conversation.id;
  std::string message = "Checkpoint " + found.record.id + " was resumed at the level " +
                        std::string(name_of(done.level)) + " as the new conversation " + id +
                        "; this conversation is unchanged. The user continues there with: agentd run --resume " + id;
  if (!done.note.empty()) message += "\nNote: " + one_line(done.note, 500);
  JsonWriter out;
  out.begin_object().member("checkpoint_id", found.record.id).member("conversation_id", id);
  out.member("asked", name_of(done.asked)).member("level", name_of(done.level));
  out.member("tokens", done.tokens).member("full_tokens", done.full_tokens).optional("note", done.note);
  out.member("message", message).end_object();
  return finished(out);
}

// ---- agentd.session/1

Result<std::uint32_t> outcome_named(std::string_view name) {
  if (name == "success") return static_cast<std::uint32_t>(AGENTD_OUTCOME_SUCCESS);
  if (name == "failure") return static_cast<std::uint32_t>(AGENTD_OUTCOME_FAILURE);
  if (name == "partial") return static_cast<std::uint32_t>(AGENTD_OUTCOME_PARTIAL);
  return Error{Code::kInvalid, "outcome must be success, failure or partial"};
}

Result<std::string> note(const Asked& asked) {
  EndNotes notes;
  notes.whole = true;
  notes.task = asked.text("task");
  notes.approach = asked.text("approach");
  notes.notes = asked.text("notes");
  if (const std::string outcome = asked.text("outcome"); !outcome.empty()) {
    AGENTD_TRY(notes.outcome, outcome_named(outcome));
  }
  const JsonView tags = asked.input["tags"];
  for (std::size_t i = 0; i < tags.size() && i < kTagsMax; ++i) notes.tags.emplace_back(tags.at(i).string_or(""));
  AGENTD_TRY_VOID(note_session(asked.own.services, asked.request.conversation, std::move(notes)));
  return std::string(R"({"noted":true})");
}

// The conversation that stands for a session: the caller's own, or that of a session elsewhere.
Result<std::string> open_session(const Asked& asked) {
  std::string id = conversation_of(asked.own.services, asked.request.conversation);
  const std::string project = asked.project();
  const RuntimeParts& parts = asked.own.runtime;
  if (id.empty()) {
    if (project.empty()) return Error{Code::kInvalid, "a session elsewhere needs its project_id"};
    AGENTD_TRY(const Ulid made,
               ForeignSessions(parts.store, parts.ids, parts.clock)
                   .open({asked.text("surface"), asked.text("session_id"), project, asked.text("cwd")}));
    id = made.text();
  }
  JsonWriter out;
  out.begin_object().member("conversation_id", id).member("project_id", project);
  // Nothing of a conversation is stored before its first message.
  if (const auto stored = Ulid::parse(id); stored)
    if (const auto info = parts.store.info(*stored); info)
      out.member("revision", info->revision).member("provider", info->provider).member("model", info->model);
  out.end_object();
  return finished(out);
}

// ---- agentd.distiller/1

Result<std::string> model(const Asked& asked) {
  const std::string vendor = asked.text("provider"), name = asked.text("model");
  if (vendor.empty() || name.empty()) return Error{Code::kInvalid, "give provider and model of the conversation"};
  const std::string& chosen = asked.own.settings.summary_model;
  std::string vendor_of_chosen = asked.own.vendor_of ? asked.own.vendor_of(chosen) : std::string();
  if (vendor_of_chosen.empty()) vendor_of_chosen = asked.own.settings.provider;
  JsonWriter out;
  out.begin_object();
  out.member("model", distiller_model(asked.own.runtime.models, asked.own.settings, vendor_of_chosen, vendor, name,
                                      asked.own.runtime.clock.wall_ms()));
  out.end_object();
  return finished(out);
}

struct Row {
  std::string_view interface_id, operation;
  Result<std::string> (*run)(const Asked&);
};
constexpr Row kOwnOperations[] = {
    {kCheckpointService, "save", save},     {kCheckpointService, "list", list}, {kCheckpointService, "show", show},
    {kCheckpointService, "resume", resume}, {kSessionService, "note", note},    {kSessionService, "open", open_session},
    {kDistillerService, "model", model},
};

}  // namespace

std::string distiller_model(const ModelTable& models, const ModelSettings& settings,
                            const std::string& vendor_of_setting, const std::string& vendor, const std::string& model,
                            std::int64_t wall_ms) {
  const std::string prefix = vendor + "/";
  const auto named = [&](const std::string& name) { return name.starts_with(prefix) ? name : prefix + name; };
  if (!settings.summary_model.empty() && vendor_of_setting == vendor) return named(settings.summary_model);
  const ModelInfo info = models.find(model.starts_with(prefix) ? model.substr(prefix.size()) : model);
  // Another vendor's model that this one serves: its cheap one may have another name there.
  const bool own = info.provider.empty() || info.provider == vendor;
  const std::string cheap = summariser_in_service(models, info, wall_ms);
  return named(own && !cheap.empty() ? cheap : model);
}

void offer_own_services(ServiceRegistry& registry, OwnServiceParts parts) {
  // Shared by the operations, which the registry keeps.
  const auto own = std::make_shared<const OwnServiceParts>(std::move(parts));
  for (const Row& row : kOwnOperations)
    registry.offer_builtin(std::string(row.interface_id), std::string(row.operation),
                           [own, run = row.run](const ServiceRequest& request) -> Result<std::string> {
                             AGENTD_TRY(const JsonDocument input, JsonDocument::parse(request.input_json));
                             if (!input.root().is_object())
                               return Error{Code::kInvalid, "the input is not a JSON object"};
                             return run({*own, request, input.root()});
                           });
}

}  // namespace agentd
