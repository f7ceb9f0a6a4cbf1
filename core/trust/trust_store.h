// SPDX-License-Identifier: Apache-2.0
#pragma once
// trust_store.h - which bytes may run: hooks that the user has agreed to, by path and by content.
//
// One JSON file outside every workspace (trust.json in the home directory, mode 0600), rewritten as a whole and
// renamed into place under a lock. An entry is a file's canonical path, the SHA-256 of its bytes and of
// its definition, and whether it is a guard, with the events that it guards: a guard that is missing, unrunnable or not
// trusted any more blocks those events. What a repository brings is keyed by the repository's root as
// well: path, owner, device and inode, so that neither a nested nor a moved copy inherits.
//
// Threading: thread-compatible; several processes may use one file.

#include <cstdint>
#include <map>
#include <optional>
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
  std::string definition;  // SHA-256 of what it subscribes and how, hex; empty = the bytes say it all
  std::string repository;  // "path uid dev inode" of the repository's root; empty = not of one
  bool guard = false;
  std::vector<std::string> events;  // names of the events that it is asked about
  std::int64_t trusted_ms = 0;
};

enum class Trust : std::uint8_t {
  kTrusted,  // these bytes, this definition
  kNew,      // never seen
  kChanged,  // known, but other bytes or another definition
};

class TrustStore {
 public:
  // A file that is not there is an empty store. kDenied: file or directory is not safe (safe_path.h);
  // kCorrupt: not a trust file, with what to do.
  static Result<TrustStore> open(const std::string& file, uid_t user, const Clock& clock);

  // `asked` has name, path, digest, definition and repository.
  Trust judge(const TrustEntry& asked) const;
  // Adds or replaces the entry of that path and writes the file.
  Result<void> record(TrustEntry entry);
  // By name or path; kNotFound lists what there is.
  Result<TrustEntry> forget(std::string_view name_or_path);
  const std::vector<TrustEntry>& entries() const { return entries_; }
  const TrustEntry* find(std::string_view path) const;

  // "path uid dev inode" of a directory; kNotFound.
  static Result<std::string> repository_key(const std::string& root);

 private:
  std::string file_;
  uid_t user_ = 0;
  const Clock* clock_ = nullptr;
  std::vector<TrustEntry> entries_;
};

// What may be done with a hook file.
struct Consent {
  bool runs = false;
  bool first_sight = false;  // its hash was recorded just now, since it lies in the user's own directory
  std::string why_not;       // "its bytes changed: agentd hooks trust NAME"
};

struct ConsentRules {
  bool dev = false;    // hooks.dev: changed bytes in the user's own directory run
  bool record = true;  // false: nothing is written (list, doctor)
};

// system and bundled hooks run; the user's are recorded at first sight, and wait when they changed; a
// project's always wait for `hooks trust`. A store that could not be opened (null) lets no user hook run.
Consent consent(TrustStore* store, const TrustEntry& asked, Precedence precedence, const ConsentRules& rules);

}  // namespace agentd
