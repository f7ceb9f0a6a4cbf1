// SPDX-License-Identifier: Apache-2.0
#include "core/app/erased_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "core/base/file.h"
#include "core/conversation/erasure.h"

namespace agentd::app {
namespace {

constexpr std::size_t kChunkBytes = 1u << 20;
constexpr std::size_t kFormBytesMax = 256;  // of a text's beginning that is looked for
constexpr std::uint64_t kLinesBytesMax = 64u << 20;

std::vector<std::string> forms_of(std::span<const std::string> texts, std::size_t bytes_max) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    for (std::string& form : written_forms(text)) {
      if (form.empty()) continue;
      form.resize(std::min(form.size(), bytes_max));
      if (std::find(out.begin(), out.end(), form) == out.end()) out.push_back(std::move(form));
    }
  return out;
}

std::size_t longest(const std::vector<std::string>& forms) {
  std::size_t out = 0;
  for (const std::string& form : forms) out = std::max(out, form.size());
  return out;
}

UniqueFd open_file(const std::string& path, int flags) {
  return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// Chunks overlap, so that a text that crosses their border is in one of them; it counts where it begins.
std::uint64_t times_in(const std::string& path, const std::vector<std::string>& forms, std::size_t overlap) {
  const UniqueFd file = open_file(path, O_RDONLY);
  std::uint64_t out = 0;
  std::string chunk(kChunkBytes + overlap, '\0');
  for (off_t at = 0; file.valid(); at += static_cast<off_t>(kChunkBytes)) {
    const ssize_t got = ::pread(file.get(), chunk.data(), chunk.size(), at);
    if (got <= 0) break;
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
    for (const std::string& form : forms)
      for (std::size_t found = 0; (found = bytes.find(form, found)) < kChunkBytes; ++found) ++out;
    if (static_cast<std::size_t>(got) < chunk.size()) break;
  }
  return out;
}

Error failed(const std::string& doing, const std::string& path) { return errno_error(doing + " " + path, errno); }

Result<void> write_at(int fd, const std::string& path, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return failed("overwriting", path);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    at += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

}  // namespace

std::vector<FileWithText> files_with(const std::string& home, std::span<const std::string> texts) {
  std::vector<FileWithText> out;
  const std::vector<std::string> forms = forms_of(texts, kFormBytesMax);
  if (forms.empty()) return out;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(home, std::filesystem::directory_options::skip_permission_denied,
                                                   error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(at->symlink_status(ignored))) continue;
    // It has no texts, and reading it would end LMDB's locks of this process.
    if (at->path().filename() == "lock.mdb") continue;
    const std::string path = at->path().string();
    if (const std::uint64_t times = times_in(path, forms, longest(forms)); times != 0) out.push_back({path, times});
  }
  std::sort(out.begin(), out.end(), [](const FileWithText& a, const FileWithText& b) { return a.path < b.path; });
  return out;
}

Result<std::uint64_t> star_out(const std::string& path, std::span<const std::string> texts) {
  const std::vector<std::string> forms = forms_of(texts, SIZE_MAX);
  const UniqueFd file = open_file(path, O_RDWR);
  if (!file.valid()) return failed("opening", path);
  std::uint64_t out = 0;
  std::string chunk(kChunkBytes + longest(forms), '\0');
  for (std::uint64_t at = 0;; at += kChunkBytes) {
    const ssize_t got = ::pread(file.get(), chunk.data(), chunk.size(), static_cast<off_t>(at));
    if (got < 0) return failed("reading", path);
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
    for (const std::string& form : forms)
      for (std::size_t found = 0; (found = bytes.find(form, found)) < kChunkBytes; found += form.size()) {
        AGENTD_TRY_VOID(write_at(file.get(), path, std::string(form.size(), '*'), at + found));
        ++out;
      }
    if (static_cast<std::size_t>(got) < chunk.size()) break;
  }
  if (out != 0 && ::fdatasync(file.get()) != 0) return failed("syncing", path);
  return out;
}

Result<std::uint64_t> remove_lines(const std::string& path, std::span<const std::string> texts,
                                   std::span<const std::string> whole) {
  AGENTD_TRY(const std::string before, read_file(path, kLinesBytesMax));
  std::uint64_t out = 0;
  std::string after;
  for (std::size_t begin = 0; begin < before.size();) {
    const std::size_t end = std::min(before.find('\n', begin), before.size() - 1) + 1;
    const std::string line = before.substr(begin, end - begin);
    const std::string text = line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
    const bool goes =
        std::any_of(texts.begin(), texts.end(),
                    [&](const std::string& each) { return !each.empty() && text.find(each) != std::string::npos; }) ||
        std::find(whole.begin(), whole.end(), text) != whole.end();
    if (goes)
      ++out;
    else
      after += line;
    begin = end;
  }
  if (out != 0) AGENTD_TRY_VOID(write_file_atomically(path, after, 0600));
  return out;
}

Result<void> overwrite_and_remove(const std::string& path) {
  const UniqueFd file = open_file(path, O_WRONLY);
  if (!file.valid()) return failed("opening", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failed("reading", path);
  const std::string zeros(kChunkBytes, '\0');
  const auto size = static_cast<std::uint64_t>(info.st_size);
  for (std::uint64_t at = 0; at < size; at += kChunkBytes)
    AGENTD_TRY_VOID(write_at(file.get(), path,
                             std::string_view(zeros).substr(0, std::min<std::uint64_t>(kChunkBytes, size - at)), at));
  if (::fdatasync(file.get()) != 0) return failed("syncing", path);
  if (::unlink(path.c_str()) != 0) return failed("removing", path);
  return {};
}

}  // namespace agentd::app
