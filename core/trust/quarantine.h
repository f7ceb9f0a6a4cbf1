// SPDX-License-Identifier: Apache-2.0
#pragma once
// quarantine.h - modules that crashed agentd, or their worker repeatedly, and are not loaded again.
//
// Everything is keyed by the SHA-256 of the module's bytes, so a fixed file starts afresh:
//   - a marker is on disk while a module is loaded and created in this process. A marker found at the next
//     start means that the load killed agentd: the module is quarantined and the user is notified. A module that
//     comes with the program has no marker, since a killed start would take away agentd's own tools;
//   - a worker that crashes three times within a minute, in one process or in several in sequence, has its
//     module quarantined; the times of the crashes are stored next to the entries until then;
//   - the user releases a module with `agentd hooks release NAME`.
// One file per entry, in a directory of mode 0700, written beside and renamed into place, so that concurrent processes
// do not disturb each other. The process that makes a marker locks it; a locked marker is not a crash, whatever
// container its process runs in.
//
// Threading: thread-safe; several processes may use one directory.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct QuarantineEntry {
  std::string name, path, digest;
  std::string why;  // completes the sentence "PATH ...": "crashed its worker 3 times in 60 s (signal 11)"
  std::int64_t since_ms = 0;
};

class Quarantine {
 public:
  // Creates `directory` with mode 0700 when something must be stored. Markers of dead processes become entries. With
  // `record` false nothing is written, and the entries hold until the next process records them.
  static Result<std::unique_ptr<Quarantine>> open(std::string directory, const Clock& clock, bool record = true);
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  // Why these bytes are not loaded: a sentence that ends with what to do; empty = they may be loaded.
  std::string why_not(std::string_view digest) const;
  // Entries that open() made from markers, to be reported prominently.
  std::vector<QuarantineEntry> crashed_before() const;
  // Files of the directory that could not be read: one sentence each, with what to do.
  std::vector<std::string> problems() const;

  // Lives around a load in this process; its file exists as long as it does.
  class Marker {
   public:
    Marker() = default;
    Marker(std::string file, UniqueFd lock) : file_(std::move(file)), lock_(std::move(lock)) {}
    Marker(Marker&& other) noexcept : file_(std::move(other.file_)), lock_(std::move(other.lock_)) {
      other.file_.clear();
    }
    Marker& operator=(Marker&&) = delete;
    ~Marker();

   private:
    std::string file_;
    UniqueFd lock_;
  };
  // kDenied, kUnavailable: the marker cannot be written; the load continues without it.
  Result<Marker> mark(const std::string& name, const std::string& path, const std::string& digest);

  // Records that a worker of these bytes crashed now. Returns the crashes within `window`, this one and those of other
  // processes included. On error the crash is not recorded.
  Result<std::size_t> note_crash(std::string_view digest, Milliseconds window);
  Result<void> set_aside(QuarantineEntry entry);
  // Releases every version with that name, path or digest. kNotFound lists the entries; kConflict: the name belongs to
  // several paths.
  Result<QuarantineEntry> release(std::string_view which);
  std::vector<QuarantineEntry> entries() const;

 private:
  struct State;
  explicit Quarantine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "PATH is quarantined since DATE: it WHY; fix it, or run 'agentd hooks release NAME'".
std::string sentence_of(const QuarantineEntry& entry);

}  // namespace agentd
