// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/store.h"

#include <algorithm>

#include "core/base/hash.h"

namespace session_memory {
namespace {

using agentd::JsonDocument;
using agentd::Result;

constexpr std::string_view kGlobal = "global";
constexpr std::size_t kProjectDigits = 32;
constexpr std::uint32_t kRowsPerScan = 500;

std::string memory_key(std::string_view project, std::string_view id) {
  return "memory/" + project_key(project) + "/" + std::string(id);
}
std::string remediation_key(std::string_view project, std::string_view id) {
  return "remediation/" + project_key(project) + "/" + std::string(id);
}

Result<std::vector<Row>> all_rows(KeySpace& keys, const std::string& prefix) {
  std::vector<Row> out;
  for (;;) {
    AGENTD_TRY(std::vector<Row> page,
               keys.scan(prefix, out.empty() ? std::string_view() : out.back().key, kRowsPerScan));
    const bool last = page.size() < kRowsPerScan;
    for (Row& each : page) out.push_back(std::move(each));
    if (last) return out;
  }
}

Result<std::uint64_t> stamp_version(KeySpace& keys, const std::string& key) {
  AGENTD_TRY(const std::optional<Row> found, keys.get("stamp/" + key));
  return found ? found->version : std::uint64_t{0};
}

Result<std::shared_ptr<const Shelf>> read_shelf(KeySpace& keys, const std::string& key) {
  auto out = std::make_shared<Shelf>();
  // First the stamp: rows that change after it make it stale, never the other way round.
  AGENTD_TRY(out->stamp, stamp_version(keys, key));
  AGENTD_TRY(const std::vector<Row> memories, all_rows(keys, "memory/" + key + "/"));
  for (const Row& row : memories) {
    const auto parsed = JsonDocument::parse(row.value);
    auto made = parsed ? memory_of(parsed->root()) : parsed.error();
    if (!made) continue;
    out->memories.push_back(std::move(*made));
    out->versions.push_back(row.version);
  }
  AGENTD_TRY(const std::vector<Row> remediations, all_rows(keys, "remediation/" + key + "/"));
  for (const Row& row : remediations) {
    const auto parsed = JsonDocument::parse(row.value);
    auto made = parsed ? remediation_of(parsed->root()) : parsed.error();
    if (!made) continue;
    out->remediations.push_back(std::move(*made));
    out->remediation_versions.push_back(row.version);
  }
  out->index = std::make_unique<Index>(out->memories);
  return std::shared_ptr<const Shelf>(std::move(out));
}

// The worth by which memories stay when there are too many.
double worth(const Memory& memory) {
  return memory.is_superseded()
             ? -1
             : memory.confidence + 0.05 * static_cast<double>(std::min<std::uint64_t>(memory.uses, 20));
}

Change put_row(std::string key, std::string value, std::uint64_t version) {
  return {Change::Kind::kPut, std::move(key), std::move(value), version};
}

}  // namespace

std::string project_key(std::string_view project) {
  return project.empty() ? std::string(kGlobal) : agentd::hex(agentd::sha256(project)).substr(0, kProjectDigits);
}

std::uint64_t Shelf::version_of(std::string_view id) const {
  for (std::size_t i = 0; i < memories.size(); ++i)
    if (memories[i].id == id) return versions[i];
  return Change::kAbsent;
}

Result<std::shared_ptr<const Shelf>> Library::shelf(KeySpace& keys, std::string_view project) {
  return shelf_at(keys, project_key(project));
}

Result<std::shared_ptr<const Shelf>> Library::shelf_at(KeySpace& keys, const std::string& key) {
  AGENTD_TRY(const std::uint64_t stamp, stamp_version(keys, key));
  {
    const agentd::MutexLock lock(mutex_);
    const auto found = shelves_.find(key);
    if (found != shelves_.end() && found->second->stamp == stamp) return found->second;
  }
  AGENTD_TRY(std::shared_ptr<const Shelf> made, read_shelf(keys, key));
  const agentd::MutexLock lock(mutex_);
  if (shelves_.size() >= kShelvesMax) shelves_.clear();
  shelves_[key] = made;
  return made;
}

void Library::put(std::vector<Change>& to, const Shelf& shelf, std::string_view project, std::span<const Memory> rows) {
  std::size_t added = 0;
  for (const Memory& each : rows) {
    const std::uint64_t version = shelf.version_of(each.id);
    added += version == Change::kAbsent ? 1 : 0;
    to.push_back(put_row(memory_key(project, each.id), json_of(each), version));
  }
  if (shelf.memories.size() + added <= kMemoriesMax) return;
  std::vector<const Memory*> old;
  for (const Memory& each : shelf.memories) {
    const bool written = std::any_of(rows.begin(), rows.end(), [&](const Memory& row) { return row.id == each.id; });
    if (!written) old.push_back(&each);
  }
  std::stable_sort(old.begin(), old.end(), [](const Memory* a, const Memory* b) {
    if (worth(*a) != worth(*b)) return worth(*a) < worth(*b);
    return std::max(a->created_ms, a->used_ms) < std::max(b->created_ms, b->used_ms);
  });
  const std::size_t over = shelf.memories.size() + added - kMemoriesMax;
  for (std::size_t i = 0; i < std::min(over, old.size()); ++i) erase(to, shelf, project, *old[i]);
}

void Library::erase(std::vector<Change>& to, const Shelf& shelf, std::string_view project, const Memory& memory) {
  to.push_back({Change::Kind::kErase, memory_key(project, memory.id), {}, shelf.version_of(memory.id)});
}

void Library::put(std::vector<Change>& to, const Shelf& shelf, std::string_view project,
                  std::span<const Remediation> rows) {
  std::size_t added = 0;
  for (const Remediation& each : rows) {
    std::uint64_t version = Change::kAbsent;
    for (std::size_t i = 0; i < shelf.remediations.size(); ++i)
      if (shelf.remediations[i].id == each.id) version = shelf.remediation_versions[i];
    added += version == Change::kAbsent ? 1 : 0;
    to.push_back(put_row(remediation_key(project, each.id), json_of(each), version));
  }
  if (shelf.remediations.size() + added <= kRemediationsMax) return;
  std::vector<const Remediation*> old;
  for (const Remediation& each : shelf.remediations) old.push_back(&each);
  std::stable_sort(old.begin(), old.end(),
                   [](const Remediation* a, const Remediation* b) { return a->created_ms < b->created_ms; });
  const std::size_t over = shelf.remediations.size() + added - kRemediationsMax;
  for (std::size_t i = 0; i < std::min(over, old.size()); ++i) {
    const bool written =
        std::any_of(rows.begin(), rows.end(), [&](const Remediation& row) { return row.id == old[i]->id; });
    if (!written) erase(to, shelf, project, *old[i]);
  }
}

void Library::erase(std::vector<Change>& to, const Shelf& shelf, std::string_view project, const Remediation& row) {
  std::uint64_t version = Change::kAny;
  for (std::size_t i = 0; i < shelf.remediations.size(); ++i)
    if (shelf.remediations[i].id == row.id) version = shelf.remediation_versions[i];
  to.push_back({Change::Kind::kErase, remediation_key(project, row.id), {}, version});
}

void Library::stamp(std::vector<Change>& to, const Shelf& shelf, std::string_view project) {
  to.push_back(put_row("stamp/" + project_key(project), std::string(project), shelf.stamp));
}

Result<std::optional<Library::FoundJob>> Library::job(KeySpace& keys, std::string_view conversation) {
  AGENTD_TRY(const std::optional<Row> row, keys.get("job/" + std::string(conversation)));
  if (!row) return std::optional<FoundJob>();
  const auto parsed = JsonDocument::parse(row->value);
  if (!parsed) return parsed.error().with_context("the job of " + std::string(conversation));
  AGENTD_TRY(Job made, job_of(parsed->root()));
  return std::optional<FoundJob>(FoundJob{std::move(made), row->version});
}

Result<std::vector<Library::FoundJob>> Library::jobs(KeySpace& keys) {
  AGENTD_TRY(const std::vector<Row> rows, all_rows(keys, "job/"));
  std::vector<FoundJob> out;
  for (const Row& row : rows) {
    const auto parsed = JsonDocument::parse(row.value);
    auto made = parsed ? job_of(parsed->root()) : parsed.error();
    if (made) out.push_back({std::move(*made), row.version});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const FoundJob& a, const FoundJob& b) { return a.job.changed_ms < b.job.changed_ms; });
  return out;
}

Change Library::put(const Job& job, std::uint64_t version) {
  return put_row("job/" + job.conversation, json_of(job), version);
}

Change Library::erase(const FoundJob& job) {
  return {Change::Kind::kErase, "job/" + job.job.conversation, {}, job.version};
}

Result<std::vector<std::string>> Library::projects(KeySpace& keys) {
  AGENTD_TRY(const std::vector<Row> rows, all_rows(keys, "stamp/"));
  std::vector<std::string> out;
  for (const Row& row : rows) out.push_back(row.key.substr(std::string_view("stamp/").size()));
  return out;
}

}  // namespace session_memory
