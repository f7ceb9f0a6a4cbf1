// SPDX-License-Identifier: Apache-2.0
#pragma once
// store.h - the plugin's rows: memories, remediations and jobs, over any key-value space.
//
// Keys:
//   memory/PROJECT/ID        a memory (memory.h)
//   remediation/PROJECT/ID   a remediation (remediation.h)
//   job/CONVERSATION         a job (job.h)
//   stamp/PROJECT            changes with every change of the project's memories and remediations
// PROJECT is "global", or 32 hexadecimal digits of the SHA-256 of the project's id, which may be a long path.
//
// Invariants: 1. a change of several rows is one commit, so that a kill leaves all or none; 2. every row is written on
// the version that was read: a writer that lost reads again and decides again; 3. a stamp that was read before the rows
// tells whether rows that are kept in memory are still those of the store.
//
// Threading: Library is thread-safe if the KeySpace is; each function takes the KeySpace of the caller's call.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "plugins/session_memory/index.h"
#include "plugins/session_memory/job.h"
#include "plugins/session_memory/memory.h"
#include "plugins/session_memory/remediation.h"

namespace session_memory {

struct Row {
  std::string key, value;
  std::uint64_t version = 0;
};

struct Change {
  enum class Kind : std::uint8_t { kPut, kErase, kCheck };
  static constexpr std::uint64_t kAbsent = 0, kAny = UINT64_MAX;
  Kind kind = Kind::kPut;
  std::string key, value;
  std::uint64_t expect = kAny;
};

// A key-value space with compare-and-swap, as the host's store gives it.
class KeySpace {
 public:
  virtual ~KeySpace() = default;
  virtual agentd::Result<std::optional<Row>> get(std::string_view key) = 0;
  // In byte order, after `after`.
  virtual agentd::Result<std::vector<Row>> scan(std::string_view prefix, std::string_view after,
                                                std::uint32_t limit) = 0;
  // All or none. kConflict: a version was another one.
  virtual agentd::Result<void> commit(std::span<const Change> changes) = 0;
};

// "global", or the digits of the project.
std::string project_key(std::string_view project);

// The memories of a project at one moment, with their index. Immutable.
struct Shelf {
  std::uint64_t stamp = 0;  // version; 0 = the key is absent
  std::vector<Memory> memories;
  std::vector<std::uint64_t> versions;  // of the memories, in their order
  std::vector<Remediation> remediations;
  std::vector<std::uint64_t> remediation_versions;
  std::unique_ptr<const Index> index;

  // The version of the memory's row; absent for an unknown id.
  std::uint64_t version_of(std::string_view id) const;
};

class Library {
 public:
  static constexpr std::size_t kMemoriesMax = 5000, kRemediationsMax = 1000, kJobsMax = 1000;  // of a project; of all

  // The project's rows; from memory while its stamp is unchanged. Rows that cannot be read are left out.
  agentd::Result<std::shared_ptr<const Shelf>> shelf(KeySpace& keys, std::string_view project);

  // ---- building a commit for a project whose shelf was read

  // Rows for these memories, on the shelf's versions; new ones must not exist. Beyond kMemoriesMax the least trusted
  // and longest unused ones are erased in the same commit.
  static void put(std::vector<Change>& to, const Shelf& shelf, std::string_view project, std::span<const Memory> rows);
  static void erase(std::vector<Change>& to, const Shelf& shelf, std::string_view project, const Memory& memory);
  static void put(std::vector<Change>& to, const Shelf& shelf, std::string_view project,
                  std::span<const Remediation> rows);
  static void erase(std::vector<Change>& to, const Shelf& shelf, std::string_view project, const Remediation& row);
  // The stamp's change on the shelf's version, so that two writers of a project never both win.
  static void stamp(std::vector<Change>& to, const Shelf& shelf, std::string_view project);

  // ---- jobs

  struct FoundJob {
    Job job;
    std::uint64_t version = 0;
  };
  static agentd::Result<std::optional<FoundJob>> job(KeySpace& keys, std::string_view conversation);
  // All, oldest change first.
  static agentd::Result<std::vector<FoundJob>> jobs(KeySpace& keys);
  static Change put(const Job& job, std::uint64_t version);
  static Change erase(const FoundJob& job);

  // The keys of all projects that have a stamp: "global" or digits.
  static agentd::Result<std::vector<std::string>> projects(KeySpace& keys);
  // As shelf(), by such a key. The project's id is that of its rows.
  agentd::Result<std::shared_ptr<const Shelf>> shelf_at(KeySpace& keys, const std::string& key);

 private:
  static constexpr std::size_t kShelvesMax = 16;

  agentd::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const Shelf>> shelves_ GUARDED_BY(mutex_);
};

}  // namespace session_memory
