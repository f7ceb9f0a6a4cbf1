// SPDX-License-Identifier: Apache-2.0
#pragma once
// spill.h - the complete output of a command: in memory while it is short, then in a file.
//
// A spill file is NUMBER.out in the directory of its conversation, mode 0600. It may contain secrets, so it is read
// through the border behind tools like any file. It stays when the command ends, until the conversation is erased or
// remove_spilled() finds it too old.
//
// Threading: SpillFile and CommandOutput are thread-compatible; functions are thread-safe.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/process/output.h"

namespace agentd {

struct SpillPlace {
  std::string directory{};                // absolute; made with mode 0700 when it is needed; empty = nothing is spilled
  std::uint64_t bytes_max = 64ull << 20;  // of one file; what follows is not in it
};

class SpillFile {
 public:
  // Creates a new file.
  static Result<SpillFile> make(const SpillPlace& place);

  // Appends what fits. A full disk counts as the limit.
  void append(std::string_view bytes);
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }
  // Something was left out.
  bool full() const { return full_; }
  // Bytes from `offset` on; empty at the end.
  Result<std::string> read(std::uint64_t offset, std::size_t most) const;

 private:
  SpillFile(UniqueFd fd, std::string path, std::uint64_t bytes_max)
      : fd_(std::move(fd)), path_(std::move(path)), bytes_max_(bytes_max) {}

  UniqueFd fd_;
  std::string path_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  bool full_ = false;
};

class CommandOutput {
 public:
  // Keeps at most `kept` bytes in memory, as BoundedOutput says; beyond them all of the output is in a spill file.
  CommandOutput(std::uint64_t kept, SpillPlace place);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  void append(std::string_view bytes);
  std::uint64_t total() const { return kept_.total(); }
  bool truncated() const { return kept_.truncated(); }
  std::string text() const { return kept_.text(); }
  // At most `most` bytes from `position` on, from the file or from memory; begins at a later position where neither has
  // them any more.
  BoundedOutput::Part from(std::uint64_t position, std::size_t most) const;

  // Empty: there is no file.
  std::string spill_path() const;
  std::uint64_t spill_bytes() const;
  bool spill_full() const;

 private:
  void open_file();

  BoundedOutput kept_;
  const SpillPlace place_;
  const std::uint64_t kept_max_;
  bool tried_ = false;
  std::unique_ptr<SpillFile> file_;  // null: the output is short, or there can be no file
};

// True if `path` is directly in `directory` and named like a spill file. Compares text.
bool is_spill_path(const std::string& directory, const std::string& path);
// Bytes of a spill file; `total` is its size. REQUIRES: is_spill_path(). kNotFound: it was removed.
Result<std::string> read_spilled(const std::string& path, std::uint64_t offset, std::uint64_t most,
                                 std::uint64_t* total);

// The directory of a conversation's spill files in agentd's home.
std::string spill_directory(const std::string& home, std::string_view conversation_id);
// Removes the spill files of a conversation.
void remove_spilled(const std::string& home, std::string_view conversation_id);
// Removes spill files that were last written more than `age` before `now_ms` (milliseconds since 1970), and directories
// that are empty then.
void remove_spilled_before(const std::string& home, std::int64_t now_ms, std::chrono::hours age);

}  // namespace agentd
