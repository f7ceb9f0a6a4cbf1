// SPDX-License-Identifier: Apache-2.0
#include "core/trust/trust_store.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/shell_word.h"
#include "core/codec/json.h"
#include "core/trust/trust_file.h"

namespace agentd {
namespace {

constexpr std::size_t kTrustEntriesMax = 20'000;
constexpr int kTrustFormat = 1;

Error corrupt_trust_store(const std::string& file, const std::string& what) {
  return {Code::kCorrupt,
          file + " is not a trust store (" + one_line(what, 200) + "): move it away, then trust your hooks again"};
}

// ---- text

void write_entry(JsonWriter& json, const TrustEntry& entry) {
  json.begin_object().member("name", entry.name).member("path", entry.path);
  json.member("digest", entry.digest).optional("definition", entry.definition);
  json.optional("repository", entry.repository);
  if (entry.guard) json.member("guard", true);
  json.key("events").begin_array();
  for (const std::string& event : entry.events) json.string(event);
  json.end_array().member("trusted_ms", entry.trusted_ms).end_object();
}

std::string text_of_trust_entries(const std::vector<TrustEntry>& entries) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.begin_object().member("trust", kTrustFormat).key("hooks").begin_array();
  for (const TrustEntry& entry : entries) write_entry(json, entry);
  json.end_array().end_object();
  return std::string(json.text()) + "\n";
}

bool is_text(JsonView value) { return !value.exists() || value.is_string(); }

// Empty if the entry is valid; otherwise what is wrong with it.
std::string read_entry(JsonView json, TrustEntry& out) {
  if (!json.is_object()) return "an entry is not an object";
  for (const char* key : {"name", "path", "digest", "definition", "repository"})
    if (!is_text(json[key])) return std::string(key) + " is not a string";
  out.name = json["name"].string_or("");
  out.path = json["path"].string_or("");
  out.digest = json["digest"].string_or("");
  out.definition = json["definition"].string_or("");
  out.repository = json["repository"].string_or("");
  out.guard = json["guard"].bool_or(false);
  out.trusted_ms = json["trusted_ms"].int_or(0);
  const JsonView events = json["events"];
  for (std::size_t i = 0; i < events.size(); ++i) out.events.emplace_back(events.at(i).string_or(""));
  if (out.name.empty() || out.path.empty() || out.path[0] != '/') return "an entry has no path";
  if (!is_sha256(out.digest)) return "the digest of " + out.path + " is not a SHA-256";
  return {};
}

void put(std::vector<TrustEntry>& entries, TrustEntry entry) {
  const auto same =
      std::find_if(entries.begin(), entries.end(), [&](const TrustEntry& each) { return each.path == entry.path; });
  if (same == entries.end())
    entries.push_back(std::move(entry));
  else
    *same = std::move(entry);
}

Result<std::vector<TrustEntry>> parse_trust_entries(const std::string& text, const std::string& file) {
  const auto json = JsonDocument::parse(text);
  if (!json) return corrupt_trust_store(file, json.error().message);
  const JsonView root = json->root();
  if (!root.is_object() || !root["trust"].is_number() || !root["hooks"].is_array())
    return corrupt_trust_store(file, "it has no list of hooks");
  if (root["trust"].int_or(0) != kTrustFormat)
    return Error{Code::kCorrupt,
                 file + " has format " + root["trust"].text() + ", which this version does not know: update agentd"};
  std::vector<TrustEntry> entries;
  for (std::size_t i = 0; i < root["hooks"].size(); ++i) {
    TrustEntry entry;
    const std::string problem = read_entry(root["hooks"].at(i), entry);
    if (!problem.empty()) return corrupt_trust_store(file, problem);
    put(entries, std::move(entry));
  }
  return entries;
}

// ---- file

// A missing file has no entries.
Result<std::vector<TrustEntry>> entries_of(const std::optional<std::string>& text, const std::string& file) {
  return text ? parse_trust_entries(*text, file) : std::vector<TrustEntry>{};
}

// Entries that other processes have written stay.
template <typename Change>
Result<std::vector<TrustEntry>> update(const std::string& file, uid_t user, Change change) {
  std::vector<TrustEntry> entries;
  const auto changed = change_trust_file(file, user, [&](const auto& text) -> Result<std::string> {
    AGENTD_TRY(entries, entries_of(text, file));
    AGENTD_TRY_VOID(change(entries));
    return text_of_trust_entries(entries);
  });
  if (!changed) return changed.error();
  return entries;
}

std::string names_of(const std::vector<TrustEntry>& entries) {
  std::string out;
  for (const TrustEntry& entry : entries) out += (out.empty() ? "" : ", ") + entry.name;
  return out.empty() ? "nothing is trusted yet" : "trusted are " + out;
}

Result<std::size_t> find_one(const std::vector<TrustEntry>& entries, std::string_view what) {
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].path == what) return i;
    if (entries[i].name == what) named.push_back(i);
  }
  const std::string shown = "\"" + one_line(what, 200) + "\"";
  if (named.empty())
    return Error{Code::kNotFound, "no hook " + shown + " is trusted: " + one_line(names_of(entries), 2000)};
  if (named.size() > 1)
    return Error{Code::kConflict, "more than one trusted hook is called " + shown + ", such as " +
                                      entries[named[0]].path + " and " + entries[named[1]].path + ": give the path"};
  return named[0];
}

}  // namespace

Result<TrustStore> TrustStore::open(const std::string& file, uid_t user, const Clock& clock) {
  TrustStore store;
  store.file_ = file;
  store.user_ = user;
  store.clock_ = &clock;
  const auto text = read_trust_file(file, user);
  if (!text) return text.error().with_context("the trust store");
  AGENTD_TRY(store.entries_, entries_of(*text, file));
  return store;
}

const TrustEntry* TrustStore::find(std::string_view path) const {
  for (const TrustEntry& entry : entries_)
    if (entry.path == path) return &entry;
  return nullptr;
}

Trust TrustStore::judge(const TrustEntry& asked) const {
  const TrustEntry* const known = find(asked.path);
  // Another repository at the same path does not inherit trust.
  if (known == nullptr || known->repository != asked.repository) return Trust::kNew;
  const bool same = known->digest == asked.digest && known->definition == asked.definition;
  return same ? Trust::kTrusted : Trust::kChanged;
}

Result<void> TrustStore::record(TrustEntry entry) {
  if (entry.name.empty() || entry.path.empty() || entry.path[0] != '/' || !is_sha256(entry.digest))
    return Error{Code::kInvalid, "trust needs a name, an absolute path and a digest"};
  // The file is JSON, which would not keep such a path.
  for (const std::string& text : {entry.name, entry.path, entry.repository})
    if (!is_utf8(text))
      return Error{Code::kInvalid, one_line(text, 1000) + " is not valid UTF-8 and cannot be trusted: rename it"};
  entry.trusted_ms = clock_->wall_ms();
  auto entries = update(file_, user_, [&](std::vector<TrustEntry>& all) -> Result<void> {
    put(all, entry);
    if (all.size() <= kTrustEntriesMax) return {};
    return Error{Code::kInvalid, file_ + " holds " + std::to_string(kTrustEntriesMax) +
                                     " hooks, the most it can: remove some with 'agentd hooks untrust'"};
  });
  if (!entries) return entries.error();
  entries_ = std::move(*entries);
  return {};
}

Result<TrustEntry> TrustStore::forget(std::string_view name_or_path) {
  // Checked before anything is created or locked: a wrong name leaves no trace.
  AGENTD_TRY_VOID(find_one(entries_, name_or_path));
  TrustEntry gone;
  auto entries = update(file_, user_, [&](std::vector<TrustEntry>& all) -> Result<void> {
    AGENTD_TRY(const std::size_t at, find_one(all, name_or_path));
    gone = std::move(all[at]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
  });
  if (!entries) return entries.error();
  entries_ = std::move(*entries);
  return gone;
}

Result<std::string> TrustStore::repository_key(const std::string& root) {
  char canonical[PATH_MAX];
  if (::realpath(root.c_str(), canonical) == nullptr) return errno_error("looking at " + root, errno);
  struct stat info {};
  if (::stat(canonical, &info) != 0) return errno_error("looking at " + root, errno);
  if (!S_ISDIR(info.st_mode)) return Error{Code::kNotFound, root + " is not a directory"};
  return std::string(canonical) + " " + std::to_string(info.st_uid) + " " + std::to_string(info.st_dev) + " " +
         std::to_string(info.st_ino);
}

namespace {

std::string what_changed(const TrustStore& store, const TrustEntry& asked) {
  const TrustEntry* const known = store.find(asked.path);
  const bool bytes = known == nullptr || known->digest != asked.digest;
  return std::string(bytes ? "its bytes" : "its list of events") + " changed after it was trusted; " +
         shell_command("agentd hooks trust", asked.name) + " trusts " + (bytes ? "them" : "it");
}

// The user put the file there, which is consent to its present bytes.
Consent first_sight(TrustStore& store, const TrustEntry& asked, const ConsentRules& rules) {
  if (!rules.record) return {true, true, ""};
  const Result<void> recorded = store.record(asked);
  if (recorded) return {true, true, ""};
  return {false, false, "its digest could not be recorded: " + recorded.error().message};
}

Consent judged(TrustStore& store, const TrustEntry& asked, bool own, const ConsentRules& rules) {
  switch (store.judge(asked)) {
    case Trust::kTrusted:
      return {true, false, ""};
    case Trust::kNew:
      if (own) return first_sight(store, asked, rules);
      return {false, false,
              "you have not trusted it yet; " + shell_command("agentd hooks trust", asked.name) + " trusts it"};
    case Trust::kChanged:
      if (own && rules.dev) return {true, false, ""};
      return {false, false, what_changed(store, asked)};
  }
  return {};
}

}  // namespace

Consent consent(TrustStore* store, const TrustEntry& asked, Precedence precedence, const ConsentRules& rules) {
  const bool of_repository = precedence == Precedence::kProject || !asked.repository.empty();
  const bool given = precedence == Precedence::kSystem || precedence == Precedence::kRecipe;
  if (given && !of_repository) return {true, false, ""};
  if (store == nullptr) return {false, false, "the trust store cannot be used: run 'agentd doctor'"};
  return judged(*store, asked, !of_repository, rules);
}

}  // namespace agentd
