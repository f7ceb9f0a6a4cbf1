// SPDX-License-Identifier: Apache-2.0
#pragma once
// trust_store.h - the hooks that the user has agreed to run, by path and by content.
//
// One JSON file outside every workspace (trust.json in the home directory, mode 0600), rewritten as a whole and renamed
// into place under a lock. An entry holds a file's canonical path, the SHA-256 of its bytes and of its definition, and
// whether it is a guard, with the events that it guards: a guard that is missing, unrunnable or no longer trusted
// blocks those events. A repository's hooks are also keyed by its root (path, owner, device, inode), so that neither a
// nested nor a moved copy inherits trust.
//
// Threading: thread-compatible; several processes may use one file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/hooks/dispatcher.h"

namespace agentd {

struct TrustEntry {
  std::string name;        // qualified: "guard", "project/guard"
  std::string path;        // canonical
  std::string digest;      // SHA-256 of the bytes, hex
  std::string definition;  // SHA-256 of what it subscribes to and how, hex; empty = the bytes tell it all
  std::string repository;  // "path uid dev inode" of the repository's root; empty = not in one
  bool guard = false;
  std::vector<std::string> events;  // events that it guards
  std::int64_t trusted_ms = 0;
};

enum class Trust : std::uint8_t {
  kTrusted,  // these bytes, this definition
  kNew,      // never recorded
  kChanged,  // recorded with other bytes or another definition
};

class TrustStore {
 public:
  // A missing file is an empty store. kDenied: file or directory is unsafe (safe_path.h); kCorrupt: not a trust file,
  // with what to do.
  static Result<TrustStore> open(const std::string& file, uid_t user, const Clock& clock);

  // `asked` needs name, path, digest, definition and repository.
  Trust judge(const TrustEntry& asked) const;
  // Adds or replaces the entry for that path and writes the file.
  Result<void> record(TrustEntry entry);
  // Removes the entry with that name or path. kNotFound lists the entries; kConflict: several have the name.
  Result<TrustEntry> forget(std::string_view name_or_path);
  const std::vector<TrustEntry>& entries() const { return entries_; }
  const TrustEntry* find(std::string_view path) const;

  // "path uid dev inode" of a directory, or kNotFound.
  static Result<std::string> repository_key(const std::string& root);

 private:
  std::string file_;
  uid_t user_ = 0;
  const Clock* clock_ = nullptr;
  std::vector<TrustEntry> entries_;
};

// Whether a hook file may run.
struct Consent {
  bool runs = false;
  bool first_sight = false;  // its digest was recorded just now, since it is in the user's own directory
  std::string why_not;       // follows "NAME does not run, since": "you have not trusted it yet; ..."; one clause
};

struct ConsentRules {
  bool dev = false;    // hooks.dev: changed files in the user's own directory run
  bool record = true;  // false: write nothing (list, doctor)
};

// System and bundled hooks run. A user's hook is recorded at first sight and waits for trust when it changed. A
// project's hook always waits for `hooks trust`. With a null store (it could not be opened) no user hook runs.
Consent consent(TrustStore* store, const TrustEntry& asked, Precedence precedence, const ConsentRules& rules);

}  // namespace agentd
