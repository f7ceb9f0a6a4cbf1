// SPDX-License-Identifier: Apache-2.0
#pragma once
// quarantine.h - hooks that crashed the program or kept crashing their worker, and are not loaded again.
//
// Three things are kept, by the SHA-256 of the bytes, so that a mended file starts afresh:
//   - a marker lies on disk while a module is loaded and created in this process. One that is found at the next
//     start means that the load has killed us: the module is set aside and the user is told;
//   - a worker that crashed three times within a minute, in one process or in several that follow each other, sets
//     its module aside; the times of the crashes lie beside the entries until then;
//   - a user releases a module with `agentd hooks release NAME`.
// One file for each entry in a directory of mode 0700, written beside and renamed into place: processes that start
// at the same time do not disturb each other. A marker is locked by the process that made it; one of a process
// that still lives is no crash, in whatever container it runs.
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
  std::string why;  // ends the sentence "PATH ...": "crashed its worker 3 times in 60 s (signal 11)"
  std::int64_t since_ms = 0;
};

class Quarantine {
 public:
  // `directory` is made with mode 0700 when something is to be kept. Markers of processes that are gone become
  // entries here; who only looks (`record` false) writes nothing, and has them until the next process records
  // them.
  static Result<std::unique_ptr<Quarantine>> open(std::string directory, const Clock& clock, bool record = true);
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  // Why these bytes are not loaded, a sentence that ends with what to do; empty = they may be.
  std::string why_not(std::string_view digest) const;
  // Entries that open() made from markers, for a loud message.
  std::vector<QuarantineEntry> crashed_before() const;
  // Files of the directory that could not be read, and what to do; one sentence each.
  std::vector<std::string> problems() const;

  // A marker for as long as it lives: around a load in this process.
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
  // kDenied, kUnavailable: it cannot be written; the load goes on without.
  Result<Marker> mark(const std::string& name, const std::string& path, const std::string& digest);

  // A worker of these bytes has crashed just now. How often that has happened within `window`, this time and other
  // processes included. An error: it cannot be written, and nobody else hears of it.
  Result<std::size_t> note_crash(std::string_view digest, Milliseconds window);
  Result<void> set_aside(QuarantineEntry entry);
  // By name, path or digest, every version of it; kNotFound lists what there is, kConflict: several paths have
  // that name.
  Result<QuarantineEntry> release(std::string_view which);
  std::vector<QuarantineEntry> entries() const;

 private:
  struct State;
  explicit Quarantine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "PATH is set aside since DATE: it WHY; mend it, or run 'agentd hooks release NAME'".
std::string sentence_of(const QuarantineEntry& entry);

}  // namespace agentd
