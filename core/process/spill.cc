// SPDX-License-Identifier: Apache-2.0
#include "core/process/spill.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace agentd {
namespace {

constexpr std::string_view kEnding = ".out";
constexpr int kFilesMax = 100'000;  // of one conversation

// pread(2) until `most` bytes or the end.
Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t most, const std::string& shown) {
  std::string out(most, '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading " + shown, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The number after the largest one there, so that a file that was removed leaves no gap to be filled.
int next_number(const std::string& directory) {
  int last = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(directory, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string stem = at->path().stem().string();
    if (is_number(stem) && stem.size() < 7) last = std::max(last, std::stoi(stem));
  }
  return last + 1;
}

}  // namespace

Result<SpillFile> SpillFile::make(const SpillPlace& place) {
  AGENTD_TRY_VOID(make_directories(place.directory));
  for (int number = next_number(place.directory); number < kFilesMax; ++number) {
    std::string path = place.directory + "/" + std::to_string(number) + std::string(kEnding);
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.valid()) return SpillFile(std::move(fd), std::move(path), place.bytes_max);
    if (errno != EEXIST) return errno_error("creating " + path, errno);
  }
  return Error{Code::kUnavailable, place.directory + " has too many files"};
}

void SpillFile::append(std::string_view bytes) {
  if (full_) return;
  const std::string_view fits = bytes.substr(0, bytes_max_ - bytes_);
  const bool wrote = static_cast<bool>(write_all(fd_.get(), fits));
  struct stat info {};
  if (wrote)
    bytes_ += fits.size();
  else if (::fstat(fd_.get(), &info) == 0)
    bytes_ = static_cast<std::uint64_t>(info.st_size);
  full_ = !wrote || fits.size() < bytes.size();
}

Result<std::string> SpillFile::read(std::uint64_t offset, std::size_t most) const {
  return read_at(fd_.get(), offset, most, path_);
}

// ---- output

CommandOutput::CommandOutput(std::uint64_t kept, SpillPlace place)
    : kept_(kept), place_(std::move(place)), kept_max_(kept) {}
CommandOutput::~CommandOutput() = default;

void CommandOutput::open_file() {
  tried_ = true;
  if (place_.directory.empty()) return;
  auto made = SpillFile::make(place_);
  if (!made) return;  // head and tail are kept
  file_ = std::make_unique<SpillFile>(std::move(*made));
  file_->append(kept_.text());
}

// The file begins while memory still has everything.
void CommandOutput::append(std::string_view bytes) {
  if (!tried_ && kept_.total() + bytes.size() > kept_max_) open_file();
  if (file_) file_->append(bytes);
  kept_.append(bytes);
}

BoundedOutput::Part CommandOutput::from(std::uint64_t position, std::size_t most) const {
  if (file_ && position < file_->bytes()) {
    const std::uint64_t there = file_->bytes() - position;
    auto bytes = file_->read(position, static_cast<std::size_t>(std::min<std::uint64_t>(most, there)));
    if (bytes && !bytes->empty()) return {position, std::move(*bytes)};
  }
  return kept_.from(position, most);
}

std::string CommandOutput::spill_path() const { return file_ ? file_->path() : std::string(); }
std::uint64_t CommandOutput::spill_bytes() const { return file_ ? file_->bytes() : 0; }
bool CommandOutput::spill_full() const { return file_ && file_->full(); }

// ---- files of earlier commands

bool is_spill_path(const std::string& directory, const std::string& path) {
  if (directory.empty() || !path.starts_with(directory + "/")) return false;
  const std::string_view name = std::string_view(path).substr(directory.size() + 1);
  return name.ends_with(kEnding) && is_number(name.substr(0, name.size() - kEnding.size()));
}

Result<std::string> read_spilled(const std::string& path, std::uint64_t offset, std::uint64_t most,
                                 std::uint64_t* total) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT)
    return Error{Code::kNotFound, path + " does not exist: the output of an earlier command is removed after a while"};
  if (!fd.valid()) return errno_error("reading " + path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("reading " + path, errno);
  if (!S_ISREG(info.st_mode)) return Error{Code::kInvalid, path + " is not a regular file"};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (total != nullptr) *total = size;
  if (offset >= size) return std::string();
  return read_at(fd.get(), offset, static_cast<std::size_t>(std::min(most, size - offset)), path);
}

namespace {

std::string spill_root(const std::string& home) { return home + "/spill"; }

}  // namespace

std::string spill_directory(const std::string& home, std::string_view conversation_id) {
  if (home.empty() || conversation_id.empty()) return {};
  return spill_root(home) + "/" + std::string(conversation_id);
}

void remove_spilled(const std::string& home, std::string_view conversation_id) {
  const std::string directory = spill_directory(home, conversation_id);
  if (directory.empty() || conversation_id.find('/') != std::string_view::npos || conversation_id.starts_with('.'))
    return;
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

void remove_spilled_before(const std::string& home, std::int64_t now_ms, std::chrono::hours age) {
  if (home.empty()) return;
  const std::int64_t before_s = now_ms / 1000 - std::chrono::seconds(age).count();
  std::error_code failed;
  std::vector<std::string> directories;
  for (std::filesystem::directory_iterator at(spill_root(home), failed), end; !failed && at != end;
       at.increment(failed))
    directories.push_back(at->path().string());
  for (const std::string& directory : directories) {
    std::error_code ignored;
    std::vector<std::string> old;
    for (std::filesystem::directory_iterator at(directory, ignored), end; !ignored && at != end;
         at.increment(ignored)) {
      struct stat info {};
      const std::string path = at->path().string();
      if (is_spill_path(directory, path) && ::lstat(path.c_str(), &info) == 0 && info.st_mtim.tv_sec < before_s)
        old.push_back(path);
    }
    for (const std::string& path : old) ::unlink(path.c_str());
    ::rmdir(directory.c_str());  // only when it is empty
  }
}

}  // namespace agentd
