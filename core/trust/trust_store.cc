// SPDX-License-Identifier: Apache-2.0
#include "core/trust/trust_store.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/shell_word.h"
#include "core/codec/json.h"
#include "core/trust/safe_path.h"

namespace agentd {
namespace {

constexpr std::uint64_t kFileBytesMax = 16u << 20;
constexpr std::size_t kEntriesMax = 20'000;
constexpr int kFormat = 1;
constexpr int kLockTries = 5000;
constexpr Milliseconds kLockPause{2};

struct Place {
  std::string directory, name;
};

Result<Place> place_of(const std::string& file) {
  const std::filesystem::path path(file);
  if (!path.is_absolute() || !path.has_filename())
    return Error{Code::kInvalid, "the trust store \"" + file + "\" must be an absolute path"};
  return Place{path.parent_path().string(), path.filename().string()};
}

Error corrupt(const std::string& file, const std::string& what) {
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

std::string text_of(const std::vector<TrustEntry>& entries) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.begin_object().member("trust", kFormat).key("hooks").begin_array();
  for (const TrustEntry& entry : entries) write_entry(json, entry);
  json.end_array().end_object();
  return std::string(json.text()) + "\n";
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
  if (!is_digest(out.digest)) return "the digest of " + out.path + " is not a SHA-256";
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

Result<std::vector<TrustEntry>> parse(const std::string& text, const std::string& file) {
  const auto json = JsonDocument::parse(text);
  if (!json) return corrupt(file, json.error().message);
  const JsonView root = json->root();
  if (!root.is_object() || !root["trust"].is_number() || !root["hooks"].is_array())
    return corrupt(file, "it has no list of hooks");
  if (root["trust"].int_or(0) != kFormat)
    return Error{Code::kCorrupt,
                 file + " has format " + root["trust"].text() + ", which this version does not know: update agentd"};
  std::vector<TrustEntry> entries;
  for (std::size_t i = 0; i < root["hooks"].size(); ++i) {
    TrustEntry entry;
    const std::string problem = read_entry(root["hooks"].at(i), entry);
    if (!problem.empty()) return corrupt(file, problem);
    put(entries, std::move(entry));
  }
  return entries;
}

// ---- file

// A missing file has no entries.
Result<std::vector<TrustEntry>> read_at(int directory, const Place& place, const std::string& file, uid_t user) {
  auto opened = open_safe_file(directory, place.name, file, user);
  if (!opened && opened.error().code == Code::kNotFound) return std::vector<TrustEntry>{};
  if (!opened) return opened.error();
  AGENTD_TRY(const std::string text, read_fd(opened->fd.get(), kFileBytesMax, file));
  return parse(text, file);
}

// The lock holds until the descriptor is closed. Each caller opens its own, so threads exclude each other too.
Result<UniqueFd> lock(int directory, const Place& place, const std::string& file, uid_t user) {
  const std::string name = place.name + ".lock", path = file + ".lock";
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::openat(directory, name.c_str(), kFlags, 0600));
  if (!fd.valid()) return errno_error("opening " + path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("looking at " + path, errno);
  if (!S_ISREG(info.st_mode) || (info.st_uid != user && info.st_uid != 0))
    return Error{Code::kDenied, path + " is not a file of yours: remove it"};
  for (int tries = 0; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("locking " + path, errno);
    if (tries == kLockTries)
      return Error{Code::kBusy, path + " is locked by another process: try again, or end that process"};
    SystemClock().pause(kLockPause);
  }
  return fd;
}

Result<void> replace_at(int directory, const Place& place, const std::string& file, std::string_view text) {
  const std::string beside = place.name + ".new";
  ::unlinkat(directory, beside.c_str(), 0);  // of a writer that was killed; the lock is ours
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd(::openat(directory, beside.c_str(), kFlags, 0600));
  if (!fd.valid()) return errno_error("writing " + file, errno);
  Result<void> wrote = write_all(fd.get(), text);
  if (wrote && ::fchmod(fd.get(), 0600) != 0) wrote = errno_error("protecting it", errno);
  if (wrote && ::fsync(fd.get()) != 0) wrote = errno_error("syncing it", errno);
  if (wrote && ::renameat(directory, beside.c_str(), directory, place.name.c_str()) != 0)
    wrote = errno_error("replacing it", errno);
  if (!wrote) {
    ::unlinkat(directory, beside.c_str(), 0);
    return wrote.error().with_context(file);
  }
  if (::fsync(directory) != 0) return errno_error("syncing the directory of " + file, errno);
  return {};
}

// Changes the file under its lock, so that entries written by other processes stay.
template <typename Change>
Result<std::vector<TrustEntry>> update(const std::string& file, uid_t user, Change change) {
  AGENTD_TRY(const Place place, place_of(file));
  AGENTD_TRY_VOID(make_directories(place.directory));
  AGENTD_TRY(const UniqueFd directory, open_safe_directory(place.directory, user));
  AGENTD_TRY(const UniqueFd held, lock(directory.get(), place, file, user));
  AGENTD_TRY(std::vector<TrustEntry> entries, read_at(directory.get(), place, file, user));
  AGENTD_TRY_VOID(change(entries));
  AGENTD_TRY_VOID(replace_at(directory.get(), place, file, text_of(entries)));
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
  AGENTD_TRY(const Place place, place_of(file));
  TrustStore store;
  store.file_ = file;
  store.user_ = user;
  store.clock_ = &clock;
  auto directory = open_safe_directory(place.directory, user);
  if (!directory && directory.error().code == Code::kNotFound) return store;
  if (!directory) return directory.error().with_context("the trust store");
  auto entries = read_at(directory->get(), place, file, user);
  if (!entries && entries.error().code != Code::kCorrupt) return entries.error().with_context("the trust store");
  if (!entries) return entries.error();
  store.entries_ = std::move(*entries);
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
  if (entry.name.empty() || entry.path.empty() || entry.path[0] != '/' || !is_digest(entry.digest))
    return Error{Code::kInvalid, "trust needs a name, an absolute path and a digest"};
  // The file is JSON, which would not keep such a path.
  for (const std::string& text : {entry.name, entry.path, entry.repository})
    if (!is_utf8(text))
      return Error{Code::kInvalid, one_line(text, 1000) + " is not valid UTF-8 and cannot be trusted: rename it"};
  entry.trusted_ms = clock_->wall_ms();
  auto entries = update(file_, user_, [&](std::vector<TrustEntry>& all) -> Result<void> {
    put(all, entry);
    if (all.size() <= kEntriesMax) return {};
    return Error{Code::kInvalid, file_ + " holds " + std::to_string(kEntriesMax) +
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
