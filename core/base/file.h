// SPDX-License-Identifier: Apache-2.0
#pragma once
// file.h - descriptors that close themselves, and whole files read and written safely.
//
// Threading: functions are thread-safe; UniqueFd is thread-compatible.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace agentd {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// Opens /dev/null for each of standard input, output and error that is closed, so that no file opened later gets its
// number and is written to as if it were a terminal. A program calls it first. Returns the ones that were closed as
// bits: 1 << STDOUT_FILENO.
unsigned open_standard_descriptors();
// Moves `raw` to a number above 2, for what is duplicated onto 0 to 2 later. For -1 it returns the error of errno.
Result<UniqueFd> above_standard(int raw, std::string_view doing);

// Reads a whole regular file. kInvalid for a directory, FIFO or device and for a file over `bytes_max`; the size is
// checked before a byte is read.
Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max);
// Reads all of the descriptor's regular file, from its start.
Result<std::string> read_fd(int fd, std::uint64_t bytes_max, const std::string& name);
// Writes a new file, syncs and renames it; the old file stays intact on any failure. `mode` such as 0600.
Result<void> write_file_atomically(const std::string& path, std::string_view bytes, unsigned mode);
// Makes the directory and its parents with mode 0700; succeeds when it already exists.
Result<void> make_directories(const std::string& path);
// Writes all bytes to a descriptor; a peer that went away is an error, never a signal.
Result<void> write_all(int fd, std::string_view bytes);

}  // namespace agentd
