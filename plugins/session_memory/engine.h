// SPDX-License-Identifier: Apache-2.0
#pragma once
// engine.h - what the memory does: learning from sessions, search, upkeep. It knows neither the ABI nor JSON inputs.
//
// Every text that becomes a memory is scrubbed first; one that cannot be checked is not kept. Writers of one project
// never lose each other's work: a commit that lost is decided again on the new rows, five times.
//
// Threading: thread-safe if the Surroundings are; the services of a call belong to that call.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "plugins/session_memory/distill.h"
#include "plugins/session_memory/store.h"

namespace session_memory {

// Reads a conversation's log.
class LogSource {
 public:
  virtual ~LogSource() = default;
  // The messages from..through, by log sequence, at most the last few thousand of them. kNotFound: no such
  // conversation.
  virtual agentd::Result<SessionLog> read(const std::string& conversation, std::uint64_t from,
                                          std::uint64_t through) = 0;
};

// Asks a model.
class Talk {
 public:
  virtual ~Talk() = default;
  // The cheap model that belongs to a conversation's: "vendor/name"; empty = unknown.
  virtual std::string cheap_model(const std::string& provider, const std::string& model) = 0;
  // One question, one answer. kCancelled: the host wants the call to end.
  virtual agentd::Result<std::string> ask(const std::string& model, const std::string& system,
                                          const std::string& prompt) = 0;
};

struct Surroundings {
  std::function<std::int64_t()> now_ms;
  std::function<std::string()> new_id;  // a ULID
  // The text without its secrets; an error if that cannot be told.
  std::function<agentd::Result<std::string>(std::string_view)> scrub;
  std::string holder;  // this process, in leases
  std::string model;   // the user's choice for step two; empty = the conversation's vendor's
};

// The memories that an id may name.
enum class Reach : std::uint8_t {
  kEverywhere,        // the project's first, then those of all projects, then any other project's
  kProjectAndShared,  // the project's, then those of all projects
  kProject,
};

struct FoundMemory {
  Memory memory;
  double score = 0;
};

struct Imported {
  std::size_t added = 0, changed = 0;
  std::vector<std::string> problems;  // one sentence each, with the file's name
};

struct JobsRun {
  std::size_t done = 0, failed = 0, left = 0;  // left: due, but not tried
  std::size_t skipped = 0;                     // of a provider that cannot be asked now
};

class Engine {
 public:
  explicit Engine(Surroundings surroundings);

  // ---- learning

  struct Learned {
    std::size_t memories = 0, remediations = 0;
  };
  // Step one: one commit with the memories, the remediations, the counted uses and the job. Nothing to learn writes
  // nothing. What was distilled before is left out. `logs` may be null: then only typed fields are distilled.
  agentd::Result<Learned> end_session(KeySpace& keys, LogSource* logs, EndedSession session,
                                      const std::string& provider, const std::string& model);
  // Step one later, by run_jobs(): for a session that was killed, whose end the next one must not wait for. One small
  // commit.
  agentd::Result<void> defer_session(KeySpace& keys, const EndedSession& session, const std::string& provider,
                                     const std::string& model);
  // Step one of all that were deferred, then step two, for at most `max` jobs that are due. Failures are kept in their
  // jobs. `retry`: jobs that rest, too. Without `refine` no model is asked. `absent`: providers that cannot be asked;
  // jobs whose model is one of theirs stay as they are.
  agentd::Result<JobsRun> run_jobs(KeySpace& keys, LogSource& logs, Talk& talk, std::size_t max, bool retry,
                                   bool refine = true, const std::vector<std::string>& absent = {});
  agentd::Result<std::vector<Job>> jobs(KeySpace& keys);

  // ---- asking

  // In the project and among the memories of all projects. An empty query finds nothing.
  agentd::Result<std::vector<FoundMemory>> search(KeySpace& keys, const std::string& project, std::string_view query,
                                                  std::size_t limit);
  // As search(), for a session that begins with the task: at most two sections of one document. The uses are counted,
  // and kept with the next session's end.
  agentd::Result<std::vector<FoundMemory>> prime(KeySpace& keys, const std::string& project, std::string_view task,
                                                 std::size_t limit);
  // Counts a use of each, in memory.
  void note_use(const std::vector<FoundMemory>& found);
  // The newest first. `global` = those of all projects instead of the project's.
  agentd::Result<std::vector<Memory>> list(KeySpace& keys, const std::string& project);
  // By id or a unique prefix. kNotFound; kConflict for several.
  agentd::Result<Memory> show(KeySpace& keys, const std::string& project, std::string_view id,
                              Reach reach = Reach::kEverywhere);

  // ---- changing

  // Consolidated with what is there. Returns the id under which it can be found. `supersedes`: an id that it replaces;
  // empty = none.
  agentd::Result<std::string> add(KeySpace& keys, Memory memory, const std::string& supersedes);
  // Replaces the sections of an earlier document of that name. Returns the number of sections.
  agentd::Result<std::size_t> add_document(KeySpace& keys, const std::string& project, const std::string& name,
                                           std::string_view text);
  agentd::Result<Memory> edit(KeySpace& keys, const std::string& project, std::string_view id, agentd::JsonView fields,
                              Reach reach = Reach::kEverywhere);
  agentd::Result<Memory> erase(KeySpace& keys, const std::string& project, std::string_view id,
                               Reach reach = Reach::kEverywhere);
  agentd::Result<Memory> feedback(KeySpace& keys, const std::string& project, std::string_view id, bool helpful,
                                  Reach reach = Reach::kEverywhere);
  // Files as memory.h writes them. A file with the id of a memory changes it.
  agentd::Result<Imported> import(KeySpace& keys, const std::string& project,
                                  const std::vector<std::pair<std::string, std::string>>& files);
  // Erases what was made from these messages of the conversation (none = from any of them): memories, remediations, its
  // job. Returns the number of rows.
  agentd::Result<std::size_t> forget(KeySpace& keys, const std::string& conversation,
                                     const std::vector<std::uint64_t>& seqs);

  // ---- remediation

  agentd::Result<std::vector<Remediation>> remediations(KeySpace& keys, const std::string& project,
                                                        std::string_view error, std::size_t limit);
  // One with the same signature and fix is counted up.
  agentd::Result<Remediation> record(KeySpace& keys, Remediation remediation, std::string_view error);

 private:
  using Decide = std::function<agentd::Result<void>(const Shelf&, std::vector<Change>&)>;
  agentd::Result<void> change(KeySpace& keys, const std::string& project, const Decide& decide);
  agentd::Result<Memory> change_one(KeySpace& keys, const std::string& project, std::string_view id, Reach reach,
                                    const std::function<agentd::Result<void>(Memory&)>& edit);
  agentd::Result<Memory> scrubbed(Memory memory) const;
  std::vector<Memory> scrubbed(std::vector<Memory> memories) const;
  // Before anything of it is cut: half a secret is not known as one. A text that cannot be checked is left out.
  EndedSession scrubbed(EndedSession session) const;
  SessionLog scrubbed(SessionLog log) const;
  void clean(std::string& text) const;
  std::vector<Remediation> counted(const Shelf& shelf, std::vector<Remediation> learned) const;
  void add_uses(const Shelf& shelf, std::vector<Memory>& rows) const;
  void forget_uses(const std::vector<Memory>& rows);

  agentd::Result<std::optional<Library::FoundJob>> catch_up(KeySpace& keys, LogSource& logs,
                                                            const Library::FoundJob& found);
  agentd::Result<void> drop_old_jobs(KeySpace& keys);
  agentd::Result<void> fail(KeySpace& keys, const Library::FoundJob& found, const agentd::Error& why);
  agentd::Result<void> run_job(KeySpace& keys, LogSource& logs, Talk& talk, const Library::FoundJob& job);
  agentd::Result<std::vector<Memory>> refine(KeySpace& keys, LogSource& logs, Talk& talk, const Job& job);
  agentd::Result<void> keep_refined(KeySpace& keys, const Library::FoundJob& held, std::vector<Memory> made);
  agentd::Result<std::string> model_for(Talk& talk, const Job& job) const;

  const Surroundings surroundings_;
  Library library_;
  mutable agentd::Mutex mutex_;
  struct Uses {
    std::uint64_t count = 0;
    std::int64_t last_ms = 0;
  };
  std::map<std::string, Uses> uses_ GUARDED_BY(mutex_);  // by id, not yet kept
};

}  // namespace session_memory
