// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/engine.h"

#include <algorithm>
#include <set>

#include "core/base/bytes.h"
#include "core/base/ids.h"
#include "plugins/session_memory/consolidate.h"
#include "plugins/session_memory/document.h"

namespace session_memory {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonView;
using agentd::Result;

constexpr int kTries = 5;
constexpr std::size_t kTaskBytesMax = 4096, kSectionsOfADocument = 2, kUsesMax = 1000;
constexpr double kHelped = 0.1, kMisled = 0.15, kTrustLeast = 0.05, kTrustMost = 0.95, kDocumentTrust = 0.8;

std::string document_subject(std::string_view name) { return "document: " + std::string(name); }

Error not_found(std::string_view id) {
  return {Code::kNotFound, "no memory has the id " + agentd::one_line(id, 64) + "; 'agentd memory list' shows them"};
}

// The memory with that id or unique prefix; null for none. kConflict for several.
Result<const Memory*> in_shelf(const Shelf& shelf, std::string_view id) {
  const Memory* found = nullptr;
  for (const Memory& each : shelf.memories) {
    if (each.id == id) return &each;
    if (!each.id.starts_with(id)) continue;
    if (found != nullptr)
      return Error{Code::kConflict,
                   "several memories have ids that begin with " + agentd::one_line(id, 64) + ": give more of it"};
    found = &each;
  }
  return found;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& each : out)
    if (each >= 'a' && each <= 'z') each = static_cast<char>(each - 32);
  return out;
}

bool better(const FoundMemory& a, const FoundMemory& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.memory.created_ms != b.memory.created_ms ? a.memory.created_ms > b.memory.created_ms
                                                    : a.memory.id < b.memory.id;
}

// Worth a model's time: more than one question and its answer.
bool has_substance(const SessionLog& log) {
  const auto asked = std::count_if(log.texts.begin(), log.texts.end(),
                                   [](const LoggedText& each) { return each.by == LoggedText::By::kUser; });
  return !log.calls.empty() || asked > 1;
}

bool is_same_said(const EndedSession& a, const EndedSession& b) {
  return a.outcome == b.outcome && a.task == b.task && a.approach == b.approach && a.notes == b.notes &&
         a.tags == b.tags;
}

}  // namespace

Engine::Engine(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

// ---- helpers

Result<void> Engine::change(KeySpace& keys, const std::string& project, const Decide& decide) {
  for (int tries = 1;; ++tries) {
    AGENTD_TRY(const std::shared_ptr<const Shelf> shelf, library_.shelf(keys, project));
    std::vector<Change> changes;
    AGENTD_TRY_VOID(decide(*shelf, changes));
    if (changes.empty()) return {};
    Library::stamp(changes, *shelf, project);
    const auto kept = keys.commit(changes);
    if (kept || kept.error().code != Code::kConflict || tries == kTries) return kept;
  }
}

Result<Memory> Engine::scrubbed(Memory memory) const {
  for (std::string* const text : {&memory.title, &memory.content, &memory.subject}) {
    AGENTD_TRY(*text, surroundings_.scrub(*text));
  }
  for (std::string& tag : memory.tags) {
    AGENTD_TRY(tag, surroundings_.scrub(tag));
  }
  return fitted(std::move(memory));
}

std::vector<Memory> Engine::scrubbed(std::vector<Memory> memories) const {
  std::vector<Memory> out;
  for (Memory& each : memories)
    if (auto clean = scrubbed(std::move(each)); clean) out.push_back(std::move(*clean));
  return out;
}

void Engine::clean(std::string& text) const {
  auto made = surroundings_.scrub(text);
  text = made ? std::move(*made) : std::string();
}

EndedSession Engine::scrubbed(EndedSession session) const {
  for (std::string* const text : {&session.task, &session.approach, &session.notes}) clean(*text);
  for (std::string& tag : session.tags) clean(tag);
  return session;
}

SessionLog Engine::scrubbed(SessionLog log) const {
  for (LoggedText& each : log.texts) clean(each.text);
  for (LoggedCall& each : log.calls) {
    clean(each.input_json);
    clean(each.output);
  }
  return log;
}

// ---- learning

// The rows for what was learned: those that are known already are seen once more.
std::vector<Remediation> Engine::counted(const Shelf& shelf, std::vector<Remediation> learned) const {
  std::vector<Remediation> out;
  for (Remediation& each : learned) {
    bool clean = true;
    for (std::string* const text : {&each.signature, &each.tried, &each.fix}) {
      auto made = surroundings_.scrub(*text);
      clean = clean && made.has_value();
      if (made) *text = std::move(*made);
    }
    if (!clean) continue;
    each.id = remediation_id(each.signature, each.fix);
    const auto has_id = [&](const Remediation& other) { return other.id == each.id; };
    const auto known = std::find_if(shelf.remediations.begin(), shelf.remediations.end(), has_id);
    if (known != shelf.remediations.end()) {
      const std::vector<Provenance> sources = std::move(each.provenance);
      each = *known;
      ++each.seen;
      for (const Provenance& source : sources)
        if (each.provenance.size() < Memory::kSourcesMax) each.provenance.push_back(source);
    }
    if (std::find_if(out.begin(), out.end(), has_id) == out.end()) out.push_back(std::move(each));
  }
  return out;
}

void Engine::add_uses(const Shelf& shelf, std::vector<Memory>& rows) const {
  const agentd::MutexLock lock(mutex_);
  for (const auto& [id, uses] : uses_) {
    const auto has_id = [&id = id](const Memory& each) { return each.id == id; };
    auto row = std::find_if(rows.begin(), rows.end(), has_id);
    if (row == rows.end()) {
      const auto kept = std::find_if(shelf.memories.begin(), shelf.memories.end(), has_id);
      if (kept == shelf.memories.end()) continue;
      rows.push_back(*kept);
      row = rows.end() - 1;
    }
    row->uses += uses.count;
    row->used_ms = std::max(row->used_ms, uses.last_ms);
  }
}

void Engine::forget_uses(const std::vector<Memory>& rows) {
  const agentd::MutexLock lock(mutex_);
  for (const Memory& each : rows) uses_.erase(each.id);
}

Result<Engine::Learned> Engine::end_session(KeySpace& keys, LogSource* logs, EndedSession session,
                                            const std::string& provider, const std::string& model) {
  if (session.ended_ms == 0) session.ended_ms = surroundings_.now_ms();
  const bool own = !session.conversation.empty();
  if (!own) session.conversation = surroundings_.new_id();
  session = scrubbed(std::move(session));
  Learned out;
  std::vector<Memory> rows;
  const auto decide = [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
    rows.clear();
    out = {};
    EndedSession now = session;
    std::optional<Library::FoundJob> job;
    if (own) {
      AGENTD_TRY(job, Library::job(keys, now.conversation));
    }
    now.from = job ? job->job.revision + 1 : 1;
    if (job && now.is_typed() && is_same_said(now, job->job.typed)) now.outcome.reset();
    if (now.from > now.revision && !now.is_typed()) return {};
    now.revision = std::max(now.from, now.revision);
    SessionLog whole;
    if (own && logs != nullptr) {
      auto read = logs->read(now.conversation, 1, now.revision);
      if (!read && !now.is_typed()) return read.error();
      if (read) whole = scrubbed(std::move(*read));
    }
    const SessionLog log = whole.since(now.from);
    // The same time whenever it is distilled.
    if (whole.last_ms != 0) now.ended_ms = whole.last_ms;
    const std::vector<Memory> made = scrubbed(distil(now, whole));
    rows = consolidate(shelf.memories, made).rows;
    std::vector<Remediation> fixes = remediations_of(log, Borrowed(whole));
    for (Remediation& each : fixes) {
      each.project = now.project;
      each.created_ms = now.ended_ms;
      for (Provenance& source : each.provenance) source.conversation = now.conversation;
    }
    fixes = counted(shelf, std::move(fixes));
    out = {made.size(), fixes.size()};
    const bool refines = own && (!made.empty() || has_substance(log));
    add_uses(shelf, rows);
    Library::put(changes, shelf, now.project, rows);
    Library::put(changes, shelf, now.project, fixes);
    if (!refines) return {};
    std::vector<Memory> drafts = made;
    std::erase_if(drafts, [&](const Memory& each) {
      return std::none_of(rows.begin(), rows.end(), [&](const Memory& row) { return row.id == each.id; });
    });
    Job next = extended(job ? std::move(job->job) : Job(), now, drafts, now.ended_ms);
    next.provider = provider;
    next.model = model;
    changes.push_back(Library::put(next, job ? job->version : Change::kAbsent));
    return {};
  };
  AGENTD_TRY_VOID(change(keys, session.project, decide));
  forget_uses(rows);
  return out;
}

Result<void> Engine::defer_session(KeySpace& keys, const EndedSession& session, const std::string& provider,
                                   const std::string& model) {
  for (int tries = 1;; ++tries) {
    AGENTD_TRY(const std::optional<Library::FoundJob> known, Library::job(keys, session.conversation));
    Job next = known ? known->job : Job();
    if (std::max(next.revision, next.behind) >= session.revision) return {};
    const std::int64_t now_ms = surroundings_.now_ms();
    if (!known) next.created_ms = now_ms;
    next.conversation = session.conversation;
    next.project = session.project;
    next.provider = provider;
    next.model = model;
    next.behind = session.revision;
    next.attempts = 0;
    next = released(std::move(next), now_ms);
    const Change put = Library::put(next, known ? known->version : Change::kAbsent);
    const auto kept = keys.commit({&put, 1});
    // A process that works on it has written it meanwhile.
    if (kept || kept.error().code != Code::kConflict || tries == kTries) return kept;
  }
}

// Step one of a job that was deferred; the job as it is then, or nullopt when nothing is left to do.
Result<std::optional<Library::FoundJob>> Engine::catch_up(KeySpace& keys, LogSource& logs,
                                                          const Library::FoundJob& found) {
  const std::string& id = found.job.conversation;
  EndedSession session;
  session.conversation = id;
  session.project = found.job.project;
  session.revision = found.job.behind;
  AGENTD_TRY_VOID(end_session(keys, &logs, std::move(session), found.job.provider, found.job.model));
  AGENTD_TRY(std::optional<Library::FoundJob> now, Library::job(keys, id));
  if (!now || !now->job.waits_for_step_one()) return now;
  // There was nothing to learn, and nothing to refine.
  Job after = now->job;
  after.revision = std::exchange(after.behind, 0);
  const Change put = Library::put(done(std::move(after), surroundings_.now_ms()), now->version);
  AGENTD_TRY_VOID(keys.commit({&put, 1}));
  return std::optional<Library::FoundJob>();
}

// ---- step two

Result<std::string> Engine::model_for(Talk& talk, const Job& job) const {
  if (!surroundings_.model.empty()) return surroundings_.model;
  if (job.provider.empty() || job.model.empty())
    return Error{Code::kInvalid, "the conversation names no model: set hooks.session_memory.config.model"};
  const std::string vendor = job.provider + "/";
  // Only a model of the vendor that has seen the conversation.
  if (const std::string cheap = talk.cheap_model(job.provider, job.model); cheap.starts_with(vendor)) return cheap;
  return job.model.starts_with(vendor) ? job.model : vendor + job.model;
}

Result<std::vector<Memory>> Engine::refine(KeySpace& keys, LogSource& logs, Talk& talk, const Job& job) {
  AGENTD_TRY(const std::string model, model_for(talk, job));
  AGENTD_TRY(SessionLog read, logs.read(job.conversation, 1, job.revision));
  const SessionLog log = scrubbed(std::move(read));
  AGENTD_TRY(const std::shared_ptr<const Shelf> shelf, library_.shelf(keys, job.project));
  EndedSession session;
  if (job.typed.revision > job.refined) session = job.typed;
  session.conversation = job.conversation;
  session.project = job.project;
  session.from = job.refined + 1;
  session.revision = job.revision;
  session.ended_ms = job.created_ms;
  std::vector<Memory> drafts;
  for (const std::string& id : job.drafts) {
    const auto found =
        std::find_if(shelf->memories.begin(), shelf->memories.end(), [&](const Memory& each) { return each.id == id; });
    if (found != shelf->memories.end() && !found->is_superseded()) drafts.push_back(*found);
  }
  AGENTD_TRY(const std::string answer, talk.ask(model, refinement_system(), refinement_prompt(session, log, drafts)));
  AGENTD_TRY(std::vector<Memory> made, refined(answer, session, log, drafts));
  return scrubbed(std::move(made));
}

// The result and the end of the job in one commit, on the version that this process holds.
Result<void> Engine::keep_refined(KeySpace& keys, const Library::FoundJob& held, std::vector<Memory> made) {
  return change(keys, held.job.project, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
    AGENTD_TRY(const auto now, Library::job(keys, held.job.conversation));
    // It was distilled further, or the lease went to another: that one's result counts.
    if (!now || now->version != held.version) return {};
    std::vector<Memory> existing = shelf.memories, fresh, old;
    for (const Memory& each : made) {
      if (!each.is_superseded()) {
        fresh.push_back(each);
        continue;
      }
      const auto found =
          std::find_if(existing.begin(), existing.end(), [&](const Memory& other) { return other.id == each.id; });
      if (found == existing.end()) continue;
      found->superseded_by = each.superseded_by;
      old.push_back(*found);
    }
    Consolidated merged = consolidate(existing, std::move(fresh));
    for (Memory& each : old) {
      if (const auto other = merged.merged_into.find(each.superseded_by); other != merged.merged_into.end())
        each.superseded_by = other->second;
      merged.rows.push_back(std::move(each));
    }
    Library::put(changes, shelf, held.job.project, merged.rows);
    changes.push_back(Library::put(done(held.job, surroundings_.now_ms()), held.version));
    return {};
  });
}

Result<void> Engine::run_job(KeySpace& keys, LogSource& logs, Talk& talk, const Library::FoundJob& found) {
  const Job mine = taken(found.job, surroundings_.holder, surroundings_.now_ms());
  const Change take = Library::put(mine, found.version);
  AGENTD_TRY_VOID(keys.commit({&take, 1}));
  if (mine.state != Job::State::kRunning) return Error{Code::kUnavailable, mine.error};
  AGENTD_TRY(const auto held, Library::job(keys, mine.conversation));
  if (!held || held->job.holder != mine.holder || held->job.lease_until_ms != mine.lease_until_ms)
    return Error{Code::kConflict, "another process has the job"};
  auto made = refine(keys, logs, talk, held->job);
  if (made) {
    const auto kept = keep_refined(keys, *held, std::move(*made));
    if (kept) return {};
    made = kept.error();
  }
  const bool ends = made.error().code == Code::kCancelled;
  const Job after = ends ? released(held->job, surroundings_.now_ms())
                         : failed(held->job, made.error().message, surroundings_.now_ms());
  const Change give = Library::put(after, held->version);
  if (const auto given = keys.commit({&give, 1}); !given && given.error().code != Code::kConflict) return given;
  return made.error();
}

// Counts an attempt that failed before step two.
Result<void> Engine::fail(KeySpace& keys, const Library::FoundJob& found, const Error& why) {
  Job after = found.job;
  ++after.attempts;
  const Change put = Library::put(failed(std::move(after), why.message, surroundings_.now_ms()), found.version);
  const auto kept = keys.commit({&put, 1});
  return kept || kept.error().code == Code::kConflict ? Result<void>() : kept;
}

// Finished ones are kept to tell what was distilled. When there are too many, the oldest of them go, then those that
// rest, then those that no model has refined: their lessons of step one stay. Never one that has lessons to come.
Result<void> Engine::drop_old_jobs(KeySpace& keys) {
  AGENTD_TRY(const std::vector<Library::FoundJob> all, Library::jobs(keys));
  if (all.size() <= Library::kJobsMax) return {};
  std::size_t over = all.size() - Library::kJobsMax;
  std::vector<Change> old;
  for (const Job::State state : {Job::State::kDone, Job::State::kResting, Job::State::kWaiting})
    for (const Library::FoundJob& each : all) {
      if (over == 0 || each.job.state != state || each.job.waits_for_step_one()) continue;
      old.push_back(Library::erase(each));
      --over;
    }
  if (old.empty()) return {};
  const auto gone = keys.commit(old);
  return gone || gone.error().code == Code::kConflict ? Result<void>() : gone;
}

Result<JobsRun> Engine::run_jobs(KeySpace& keys, LogSource& logs, Talk& talk, std::size_t max, bool retry, bool refine,
                                 const std::vector<std::string>& absent) {
  AGENTD_TRY(std::vector<Library::FoundJob> all, Library::jobs(keys));
  JobsRun out;
  bool ends = false;
  for (Library::FoundJob& each : all) {
    if (retry && each.job.state == Job::State::kResting) {
      each.job.state = Job::State::kWaiting;
      each.job.attempts = 0;
    }
    if (!each.job.is_due(surroundings_.now_ms())) continue;
    if (each.job.waits_for_step_one() && !ends) {
      const auto caught = catch_up(keys, logs, each);
      if (!caught && caught.error().code == Code::kCancelled) {
        ends = true;
      } else if (!caught) {
        AGENTD_TRY_VOID(fail(keys, each, caught.error()));
        ++out.failed;
        continue;
      } else if (!*caught) {
        continue;
      } else {
        each = **caught;
      }
    }
    if (!refine) continue;
    const bool own_model = surroundings_.model.empty();
    if (own_model && std::find(absent.begin(), absent.end(), each.job.provider) != absent.end()) {
      ++out.skipped;
      continue;
    }
    if (ends || out.done + out.failed >= max) {
      ++out.left;
      continue;
    }
    const auto run = run_job(keys, logs, talk, each);
    if (run) {
      ++out.done;
    } else if (run.error().code == Code::kCancelled) {
      ends = true;
      ++out.left;
    } else if (run.error().code != Code::kConflict) {
      ++out.failed;
    }
  }
  AGENTD_TRY_VOID(drop_old_jobs(keys));
  return out;
}

Result<std::vector<Job>> Engine::jobs(KeySpace& keys) {
  AGENTD_TRY(const std::vector<Library::FoundJob> all, Library::jobs(keys));
  std::vector<Job> out;
  for (const Library::FoundJob& each : all) out.push_back(each.job);
  std::reverse(out.begin(), out.end());
  return out;
}

// ---- asking

Result<std::vector<FoundMemory>> Engine::search(KeySpace& keys, const std::string& project, std::string_view query,
                                                std::size_t limit) {
  std::vector<FoundMemory> out;
  std::vector<std::string> places{project};
  if (!project.empty()) places.emplace_back();
  for (const std::string& place : places) {
    AGENTD_TRY(const std::shared_ptr<const Shelf> shelf, library_.shelf(keys, place));
    for (const Hit& hit : shelf->index->search(query, limit, surroundings_.now_ms()))
      out.push_back({shelf->memories[hit.at], hit.score});
  }
  std::sort(out.begin(), out.end(), better);
  if (out.size() > limit) out.resize(limit);
  return out;
}

Result<std::vector<FoundMemory>> Engine::prime(KeySpace& keys, const std::string& project, std::string_view task,
                                               std::size_t limit) {
  constexpr std::size_t kLookedAt = 8;
  AGENTD_TRY(std::vector<FoundMemory> found,
             search(keys, project, agentd::utf8_prefix(task, kTaskBytesMax), limit * kLookedAt));
  std::map<std::string, std::size_t> sections;
  std::erase_if(found, [&](const FoundMemory& each) {
    return each.memory.origin == Origin::kDocument && ++sections[each.memory.subject] > kSectionsOfADocument;
  });
  if (found.size() > limit) found.resize(limit);
  note_use(found);
  return found;
}

void Engine::note_use(const std::vector<FoundMemory>& found) {
  const agentd::MutexLock lock(mutex_);
  for (const FoundMemory& each : found) {
    if (uses_.size() >= kUsesMax && !uses_.contains(each.memory.id)) continue;
    Uses& uses = uses_[each.memory.id];
    ++uses.count;
    uses.last_ms = surroundings_.now_ms();
  }
}

Result<std::vector<Memory>> Engine::list(KeySpace& keys, const std::string& project) {
  AGENTD_TRY(const std::shared_ptr<const Shelf> shelf, library_.shelf(keys, project));
  std::vector<Memory> out = shelf->memories;
  std::stable_sort(out.begin(), out.end(), [](const Memory& a, const Memory& b) {
    return a.created_ms != b.created_ms ? a.created_ms > b.created_ms : a.id > b.id;
  });
  return out;
}

Result<Memory> Engine::show(KeySpace& keys, const std::string& project, std::string_view id, Reach reach) {
  const std::string wanted = upper(id);
  if (wanted.empty()) return Error{Code::kInvalid, "an id of a memory is needed"};
  std::vector<std::string> places{project_key(project)};
  if (reach != Reach::kProject) places.push_back(project_key(""));
  if (reach == Reach::kEverywhere) {
    AGENTD_TRY(const std::vector<std::string> all, Library::projects(keys));
    places.insert(places.end(), all.begin(), all.end());
  }
  for (const std::string& place : places) {
    AGENTD_TRY(const std::shared_ptr<const Shelf> shelf, library_.shelf_at(keys, place));
    AGENTD_TRY(const Memory* const found, in_shelf(*shelf, wanted));
    if (found != nullptr) return *found;
  }
  return not_found(id);
}

// ---- changing

Result<Memory> Engine::change_one(KeySpace& keys, const std::string& project, std::string_view id, Reach reach,
                                  const std::function<Result<void>(Memory&)>& edit) {
  AGENTD_TRY(Memory out, show(keys, project, id, reach));
  const std::string whole = out.id, place = out.project;
  AGENTD_TRY_VOID(change(keys, place, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
    AGENTD_TRY(const Memory* const found, in_shelf(shelf, whole));
    if (found == nullptr) return not_found(whole);
    out = *found;
    if (const auto edited = edit(out); !edited) return edited.error();
    AGENTD_TRY(out, scrubbed(std::move(out)));
    Library::put(changes, shelf, place, std::span<const Memory>(&out, 1));
    return {};
  }));
  return out;
}

Result<std::string> Engine::add(KeySpace& keys, Memory memory, const std::string& supersedes) {
  if (memory.title.empty()) return Error{Code::kInvalid, "a memory needs a title"};
  if (memory.content.empty()) memory.content = memory.title;
  if (memory.subject.empty())
    memory.subject = memory.tags.empty() ? subject_of(memory.title + "\n" + memory.content) : memory.tags.front();
  if (memory.id.empty()) memory.id = surroundings_.new_id();
  if (memory.created_ms == 0) memory.created_ms = surroundings_.now_ms();
  AGENTD_TRY(memory, scrubbed(std::move(memory)));
  std::string id;
  AGENTD_TRY_VOID(change(keys, memory.project, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
    std::vector<Memory> existing = shelf.memories;
    Memory* replaced = nullptr;
    if (!supersedes.empty()) {
      for (Memory& each : existing)
        if (each.id == supersedes) replaced = &each;
      if (replaced == nullptr) return not_found(supersedes);
      replaced->superseded_by = memory.id;
    }
    Consolidated merged = consolidate(existing, {memory});
    const auto other = merged.merged_into.find(memory.id);
    id = other == merged.merged_into.end() ? memory.id : other->second;
    if (replaced != nullptr) {
      replaced->superseded_by = id;
      merged.rows.push_back(*replaced);
    }
    Library::put(changes, shelf, memory.project, merged.rows);
    return {};
  }));
  return id;
}

Result<std::size_t> Engine::add_document(KeySpace& keys, const std::string& project, const std::string& name,
                                         std::string_view text) {
  if (name.empty()) return Error{Code::kInvalid, "a document needs a name"};
  AGENTD_TRY(const std::string whole, surroundings_.scrub(text));
  const std::vector<Chunk> chunks = chunks_of(name, whole);
  if (chunks.empty()) return Error{Code::kInvalid, "the document " + agentd::one_line(name, 200) + " has no text"};
  if (chunks.size() > kChunksMax)
    return Error{Code::kInvalid, "the document " + agentd::one_line(name, 200) + " has more than " +
                                     std::to_string(kChunksMax) + " sections: add it in several files"};
  std::vector<Memory> made;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Memory each;
    each.id = derived_id("document\n" + project + "\n" + name, 0, i);
    each.project = project;
    each.title = chunks[i].title;
    each.content = chunks[i].text;
    each.subject = document_subject(name);
    each.confidence = kDocumentTrust;
    each.created_ms = surroundings_.now_ms();
    each.origin = Origin::kDocument;
    AGENTD_TRY(Memory clean, scrubbed(std::move(each)));
    made.push_back(std::move(clean));
  }
  AGENTD_TRY_VOID(change(keys, project, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
    std::set<std::string> kept;
    std::vector<Memory> rows = made;
    for (Memory& row : rows) {
      kept.insert(row.id);
      for (const Memory& old : shelf.memories) {
        if (old.id != row.id || old.content != row.content || old.title != row.title) continue;
        row = old;
      }
    }
    const std::string subject = fitted(made.front()).subject;
    for (const Memory& old : shelf.memories)
      if (old.origin == Origin::kDocument && old.subject == subject && !kept.contains(old.id))
        Library::erase(changes, shelf, project, old);
    Library::put(changes, shelf, project, rows);
    return {};
  }));
  return chunks.size();
}

Result<Memory> Engine::edit(KeySpace& keys, const std::string& project, std::string_view id, JsonView fields,
                            Reach reach) {
  return change_one(keys, project, id, reach, [&](Memory& memory) -> Result<void> {
    AGENTD_TRY_VOID(session_memory::edit(memory, fields));
    if (memory.title.empty()) return Error{Code::kInvalid, "title must not be empty"};
    if (fields["superseded_by"].is_null() || memory.superseded_by.empty()) return {};
    AGENTD_TRY(const Memory other, show(keys, project, memory.superseded_by, reach));
    memory.superseded_by = other.id;
    if (other.id != memory.id) return {};
    return Error{Code::kInvalid, "superseded_by must be the id of another memory: a memory cannot replace itself"};
  });
}

Result<Memory> Engine::feedback(KeySpace& keys, const std::string& project, std::string_view id, bool helpful,
                                Reach reach) {
  return change_one(keys, project, id, reach, [&](Memory& memory) -> Result<void> {
    ++(helpful ? memory.helpful : memory.unhelpful);
    memory.confidence = helpful ? std::max(memory.confidence, std::min(kTrustMost, memory.confidence + kHelped))
                                : std::min(memory.confidence, std::max(kTrustLeast, memory.confidence - kMisled));
    if (helpful) memory.used_ms = surroundings_.now_ms();
    return {};
  });
}

Result<Memory> Engine::erase(KeySpace& keys, const std::string& project, std::string_view id, Reach reach) {
  AGENTD_TRY(const Memory out, show(keys, project, id, reach));
  AGENTD_TRY_VOID(change(keys, out.project, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
    AGENTD_TRY(const Memory* const found, in_shelf(shelf, out.id));
    if (found == nullptr) return not_found(out.id);
    Library::erase(changes, shelf, out.project, *found);
    return {};
  }));
  return out;
}

Result<Imported> Engine::import(KeySpace& keys, const std::string& project,
                                const std::vector<std::pair<std::string, std::string>>& files) {
  Imported out;
  std::vector<Memory> read;
  for (const auto& [name, text] : files) {
    const auto whole = surroundings_.scrub(text);
    auto made = whole ? memory_from_markdown(*whole, name) : Result<Memory>(whole.error());
    if (made && !made->id.empty() && !agentd::Ulid::parse(made->id))
      made = Error{Code::kInvalid, name + ": id must be 26 letters and digits; omit it for a new memory"};
    if (made) {
      made->project = project;
      if (made->id.empty()) made->id = surroundings_.new_id();
      made->id = upper(made->id);
      if (made->created_ms == 0) made->created_ms = surroundings_.now_ms();
      made = scrubbed(std::move(*made));
    }
    if (made)
      read.push_back(std::move(*made));
    else
      out.problems.push_back(made.error().message);
  }
  AGENTD_TRY_VOID(change(keys, project, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
    out.added = out.changed = 0;
    std::map<std::string, Memory> rows;  // a file that is given twice is written once
    for (const Memory& each : read) {
      AGENTD_TRY(const Memory* const old, in_shelf(shelf, each.id));
      if (old != nullptr && *old == each) continue;
      if (rows.emplace(each.id, each).second) ++(old == nullptr ? out.added : out.changed);
    }
    std::vector<Memory> list;
    for (auto& [id, row] : rows) list.push_back(std::move(row));
    Library::put(changes, shelf, project, list);
    return {};
  }));
  return out;
}

Result<std::size_t> Engine::forget(KeySpace& keys, const std::string& conversation,
                                   const std::vector<std::uint64_t>& seqs) {
  const auto comes_from = [&](const auto& row) {
    if (seqs.empty())
      return std::any_of(row.provenance.begin(), row.provenance.end(),
                         [&](const Provenance& each) { return each.conversation == conversation; });
    return std::any_of(seqs.begin(), seqs.end(), [&](std::uint64_t seq) { return row.comes_from(conversation, seq); });
  };
  AGENTD_TRY(const std::vector<std::string> places, Library::projects(keys));
  std::size_t out = 0;
  for (const std::string& place : places) {
    AGENTD_TRY(const std::optional<Row> stamp, keys.get("stamp/" + place));
    const std::string project = stamp ? stamp->value : std::string();
    std::size_t here = 0;
    AGENTD_TRY_VOID(change(keys, project, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
      for (const Memory& each : shelf.memories)
        if (comes_from(each)) Library::erase(changes, shelf, project, each);
      for (const Remediation& each : shelf.remediations)
        if (comes_from(each)) Library::erase(changes, shelf, project, each);
      here = changes.size();
      return {};
    }));
    out += here;
  }
  for (int tries = 1;; ++tries) {
    AGENTD_TRY(const auto job, Library::job(keys, conversation));
    if (!job) return out;
    // Its typed fields and error may have the text. What it marks as distilled is marked again at the next end.
    Job bare;
    bare.conversation = job->job.conversation;
    bare.project = job->job.project;
    bare.refined = bare.revision = job->job.revision;
    bare.state = Job::State::kDone;
    bare.changed_ms = surroundings_.now_ms();
    const Change change = seqs.empty() ? Library::erase(*job) : Library::put(bare, job->version);
    const auto gone = keys.commit({&change, 1});
    if (gone) return out + 1;
    if (gone.error().code != Code::kConflict || tries == kTries) return gone.error();
  }
}

// ---- remediation

Result<std::vector<Remediation>> Engine::remediations(KeySpace& keys, const std::string& project,
                                                      std::string_view error, std::size_t limit) {
  std::vector<Remediation> all;
  std::vector<std::string> places{project};
  if (!project.empty()) places.emplace_back();
  for (const std::string& place : places) {
    AGENTD_TRY(const std::shared_ptr<const Shelf> shelf, library_.shelf(keys, place));
    all.insert(all.end(), shelf->remediations.begin(), shelf->remediations.end());
  }
  return matching(all, error, limit);
}

Result<Remediation> Engine::record(KeySpace& keys, Remediation remediation, std::string_view error) {
  if (remediation.signature.empty()) remediation.signature = error_signature(error);
  if (remediation.signature.empty()) return Error{Code::kInvalid, "the error has no words that tell it from others"};
  if (remediation.fix.empty()) return Error{Code::kInvalid, "a remediation needs a fix"};
  if (remediation.created_ms == 0) remediation.created_ms = surroundings_.now_ms();
  std::vector<Remediation> rows;
  AGENTD_TRY_VOID(
      change(keys, remediation.project, [&](const Shelf& shelf, std::vector<Change>& changes) -> Result<void> {
        rows = counted(shelf, {remediation});
        if (rows.empty()) return Error{Code::kUnavailable, "the text could not be checked for secrets"};
        Library::put(changes, shelf, remediation.project, rows);
        return {};
      }));
  return rows.front();
}

}  // namespace session_memory
