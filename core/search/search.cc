// SPDX-License-Identifier: Apache-2.0
#include "core/search/search.h"

#include <optional>
#include <utility>

#include "core/search/catch_up.h"
#include "core/search/database.h"
#include "core/search/finder.h"
#include "core/search/sqlite_library.h"
#include "core/search/terms.h"

namespace agentd {
namespace {

constexpr std::string_view kArea = "search";
constexpr int kBuildsMax = 3;  // a removal during a build begins it again
constexpr Milliseconds kForgetWait{10'000};

using Part = IndexLock::Part;
using Way = IndexLock::Way;

constexpr std::string_view kMissing = "there is none yet";
constexpr std::string_view kDamaged = "it is damaged: ";
constexpr std::string_view kDiffers = "it has a text that the store does not have";

LogLevel level_of(std::string_view reason) {
  return reason == kDiffers || reason.starts_with(kDamaged) ? LogLevel::kWarning : LogLevel::kInfo;
}

Error busy(const IndexFiles& files) {
  return {Code::kBusy, "the search index " + files.index +
                           " is in use by another process, which is building it: try again in a moment"};
}

}  // namespace

// An index that no process changes as long as it is open. The lock is released last; none: the directory cannot be
// written, and nothing in it changes.
struct SearchIndex::Opened {
  std::optional<IndexLock> lock;
  Database database;
};

SearchIndex::SearchIndex(const std::string& directory, const Store& store, const Clock& clock, Log& log,
                         Milliseconds wait)
    : files_(directory), store_(store), clock_(clock), log_(log), wait_(wait) {}

Result<SearchAnswer> SearchIndex::search(const SearchQuery& query) const {
  AGENTD_TRY(const std::string expression, match_expression(query.text));
  AGENTD_TRY(const SqliteLibrary library, SqliteLibrary::load());
  std::string rebuild_because;
  for (bool first = true;; first = false) {
    std::vector<std::string> notes;
    AGENTD_TRY(const Opened opened, open(library, notes, rebuild_because));
    auto found = find_in(opened.database, store_, query, expression);
    const bool damaged = !found && found.error().code == Code::kCorrupt;
    if (first && (damaged || (found && found->differs))) {
      rebuild_because = std::string(damaged ? kDamaged : kDiffers) + (damaged ? found.error().message : "");
      continue;
    }
    if (!found) return found.error();
    found->answer.notes.insert(found->answer.notes.begin(), notes.begin(), notes.end());
    return std::move(found->answer);
  }
}

// Up to date if possible; else as it is, with a note.
Result<SearchIndex::Opened> SearchIndex::open(const SqliteLibrary& library, std::vector<std::string>& notes,
                                              std::string rebuild_because) const {
  auto lock = IndexLock::open(files_);
  if (!lock) {
    if (!files_.exist()) return lock.error().with_context("the search index cannot be built");
    notes.push_back("messages may be missing, because the search index cannot be brought up to date: " +
                    lock.error().message);
    AGENTD_TRY(Database database, Database::open(library, files_.index, Database::Mode::kRead));
    return Opened{std::nullopt, std::move(database)};
  }
  AGENTD_TRY(const bool ours, lock->take(Part::kUpdate, Way::kAlone, wait_, clock_));
  if (!ours)
    return open_to_read(library, std::move(*lock), notes, "another process is bringing the search index up to date");
  Result<std::string> reason = std::move(rebuild_because);
  if (reason->empty()) reason = update(library, *lock, notes, CancelToken());
  if (!reason) {
    lock->release(Part::kUpdate);
    return open_to_read(library, std::move(*lock), notes, reason.error().message);
  }
  AGENTD_TRY_VOID(complete(library, *lock, *reason, notes, CancelToken()));
  AGENTD_TRY(const bool free, lock->take(Part::kFile, Way::kShared, wait_, clock_));
  if (!free) return busy(files_);
  lock->release(Part::kUpdate);
  AGENTD_TRY(Database database, Database::open(library, files_.index, Database::Mode::kWrite));
  return Opened{std::move(*lock), std::move(database)};
}

Result<void> SearchIndex::follow(const CancelToken& cancel) const {
  AGENTD_TRY(const SqliteLibrary library, SqliteLibrary::load());
  AGENTD_TRY(const IndexLock lock, IndexLock::open(files_));
  AGENTD_TRY(const bool ours, lock.take(Part::kUpdate, Way::kAlone, wait_, clock_));
  if (!ours) return busy(files_);
  std::vector<std::string> notes;
  AGENTD_TRY(const std::string reason, update(library, lock, notes, cancel));
  return complete(library, lock, reason, notes, cancel);
}

// After update(): builds the index again if there is a reason.
Result<void> SearchIndex::complete(const SqliteLibrary& library, const IndexLock& lock, const std::string& reason,
                                   std::vector<std::string>& notes, const CancelToken& cancel) const {
  if (!reason.empty()) {
    log_.write(level_of(reason), kArea, "the search index " + files_.index + " is built again: " + reason);
    notes.clear();
    AGENTD_TRY_VOID(build(library, lock, notes, cancel));
  }
  for (const std::string& note : notes) log_.write(LogLevel::kWarning, kArea, note);
  return {};
}

// The index as it is.
Result<SearchIndex::Opened> SearchIndex::open_to_read(const SqliteLibrary& library, IndexLock lock,
                                                      std::vector<std::string>& notes, std::string why) const {
  AGENTD_TRY(const bool free, lock.take(Part::kFile, Way::kShared, wait_, clock_));
  if (!free || !files_.exist()) return busy(files_);
  notes.push_back("the newest messages may be missing: " + std::move(why));
  AGENTD_TRY(Database database, Database::open(library, files_.index, Database::Mode::kWrite));
  return Opened{std::move(lock), std::move(database)};
}

// Adds what is new. A reason: it must be built again. An error: it can be searched as it is.
Result<std::string> SearchIndex::update(const SqliteLibrary& library, const IndexLock& lock,
                                        std::vector<std::string>& notes, const CancelToken& cancel) const {
  if (!files_.exist()) return std::string(kMissing);
  AGENTD_TRY(const bool free, lock.take(Part::kFile, Way::kAlone, wait_, clock_));
  if (!free) return busy(files_);
  const auto caught_up = [&]() -> Result<std::optional<std::string>> {
    AGENTD_TRY(const Database database, Database::open(library, files_.index, Database::Mode::kWrite));
    return catch_up(database, store_, notes, cancel);
  }();
  lock.release(Part::kFile);
  if (!caught_up && caught_up.error().code == Code::kCorrupt) return std::string(kDamaged) + caught_up.error().message;
  if (!caught_up) return caught_up.error();
  return caught_up->value_or("");
}

// The old index stays searchable until the new one is complete.
Result<void> SearchIndex::build(const SqliteLibrary& library, const IndexLock& lock, std::vector<std::string>& notes,
                                const CancelToken& cancel) const {
  for (int builds = 0; builds < kBuildsMax; ++builds) {
    AGENTD_TRY_VOID(files_.begin_build());
    const auto built = [&]() -> Result<std::optional<std::string>> {
      AGENTD_TRY(const Database database, Database::open(library, files_.being_built, Database::Mode::kWrite));
      AGENTD_TRY_VOID(create_index(database, store_));
      return catch_up(database, store_, notes, cancel);
    }();
    if (!built) files_.abandon_build();
    if (!built && built.error().code == Code::kCorrupt)
      return Error{Code::kInternal, "building the search index: " + built.error().message};
    if (!built) return built.error().with_context("building the search index");
    if (built->has_value()) continue;
    AGENTD_TRY(const bool free, lock.take(Part::kFile, Way::kAlone, wait_, clock_));
    return free ? files_.finish_build() : Result<void>(busy(files_));
  }
  return Error{Code::kBusy, "conversations are being removed while the search index is built: try again"};
}

Result<void> forget_search_index(const std::string& directory, const Clock& clock) {
  const IndexFiles files(directory);
  if (!files.any()) return {};
  AGENTD_TRY(const IndexLock lock, IndexLock::open(files));
  for (const Part part : {Part::kUpdate, Part::kFile}) {
    AGENTD_TRY(const bool free, lock.take(part, Way::kAlone, kForgetWait, clock));
    if (!free) return busy(files);
  }
  return files.remove();
}

}  // namespace agentd
