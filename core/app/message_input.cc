// SPDX-License-Identifier: Apache-2.0
#include "core/app/message_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/app/app.h"
#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/file.h"

namespace agentd::app {
namespace {

constexpr Milliseconds kSilent{3000};
constexpr std::size_t kShownPathBytes = 200;

// The kind of a binary file; empty for text.
std::string binary_kind(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {{"\x89PNG"sv, "a PNG picture"},
                                                                      {"\xff\xd8\xff"sv, "a JPEG picture"},
                                                                      {"GIF8"sv, "a GIF picture"},
                                                                      {"%PDF-"sv, "a PDF document"},
                                                                      {"\x1f\x8b"sv, "a gzip file"},
                                                                      {"PK\x03\x04"sv, "a zip file"},
                                                                      {"\x7f"
                                                                       "ELF"sv,
                                                                       "a program"}};
  for (const auto& [magic, kind] : kKinds)
    if (bytes.starts_with(magic)) return std::string(kind);
  if (bytes.starts_with("RIFF") && bytes.substr(0, 16).find("WEBP") != std::string_view::npos) return "a WebP picture";
  return bytes.find('\0') == std::string_view::npos ? "" : "a binary file";
}

Result<std::string> as_text(std::string bytes, const std::string& what) {
  if (const std::string kind = binary_kind(bytes); !kind.empty())
    return Error{Code::kInvalid,
                 what + " is " + kind + ", but a message can only contain text; name the file and let a tool read it"};
  return to_utf8(bytes);
}

bool is_inside(const std::string& path, const std::vector<std::string>& roots) {
  return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
    std::error_code failed;
    const std::string real = std::filesystem::canonical(root, failed).string();
    return !failed && (path.starts_with(real + "/") || real == "/");
  });
}

// Adds the file; false if the word names none.
Result<bool> attach(WithFiles& out, std::set<std::string>& done, const std::string& name, const std::string& cwd,
                    const std::vector<std::string>& roots, const HiddenFiles& hidden) {
  if (name.empty() || name.find('\0') != std::string::npos) return false;
  std::error_code failed;
  const std::filesystem::path given = name.front() == '/' ? name : cwd + "/" + name;
  const std::string path = std::filesystem::canonical(given, failed).string();
  struct stat info {};
  if (failed || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const std::string shown = "@" + one_line(name, kShownPathBytes);
  if (!is_inside(path, roots))
    return Error{Code::kInvalid,
                 shown + " is outside the workspace and was not attached; pipe it in: agentd run \"...\" < FILE"};
  if (!done.insert(path).second) return true;
  auto bytes = hidden.read(path, kDocumentBytesMax, one_line(name, kShownPathBytes));
  if (!bytes) return Error{Code::kInvalid, shown + " was not attached: " + bytes.error().message};
  auto media = media_of(*bytes, name);
  if (!media) return Error{Code::kInvalid, shown + " was not attached: " + media.error().message};
  if (*media) {
    out.media.push_back(std::move(**media));
    return true;
  }
  if (bytes->size() > kAttachedBytesMax)
    return Error{Code::kInvalid, shown + " was not attached: it has " + with_commas(bytes->size()) +
                                     " bytes, and a text may have " + with_commas(kAttachedBytesMax)};
  AGENTD_TRY(const std::string text, as_text(std::move(*bytes), shown));
  out.text += "\n\n--- " + name + " ---\n" + text + (text.ends_with('\n') ? "" : "\n") + "--- end of " + name + " ---";
  return true;
}

}  // namespace

Result<Block> image_in(const std::string& path) {
  const std::string shown = one_line(path, kShownPathBytes);
  auto bytes = read_file(path, kDocumentBytesMax);
  if (!bytes) return Error{Code::kInvalid, "--image " + shown + ": " + bytes.error().message};
  auto media = media_of(*bytes, path);
  if (!media) return Error{Code::kInvalid, "--image " + shown + ": " + media.error().message};
  if (!*media || (**media).kind != BlockKind::kImage)
    return Error{Code::kInvalid, "--image " + shown + ": not a PNG, JPEG, GIF or WebP picture"};
  return std::move(**media);
}

bool is_piped(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || S_ISREG(info.st_mode));
}

Result<std::string> piped_text(int fd, const std::function<void()>& waiting) {
  pollfd ready{fd, POLLIN, 0};
  if (SystemClock().poll_for({&ready, 1}, kSilent) == 0) waiting();
  AGENTD_TRY(std::string bytes, read_all(fd, kMessageBytesMax));
  return as_text(std::move(bytes), "standard input");
}

std::string missing_sentence(const std::vector<std::string>& missing) {
  std::string names;
  for (std::size_t i = 0; i < missing.size(); ++i)
    names += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + one_line(missing[i], kShownPathBytes);
  return names + (missing.size() == 1 ? " names no file here and was sent unchanged"
                                      : " name no files here and were sent unchanged");
}

Result<WithFiles> with_files(const std::string& text, const std::string& cwd, const std::vector<std::string>& roots,
                             const HiddenFiles& hidden) {
  WithFiles attached;
  std::vector<std::string>& missing = attached.missing;
  std::set<std::string> done;
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; ++at) {
    if (at > 0 && std::string_view(" \t\n(\"'").find(text[at - 1]) == std::string_view::npos) continue;
    const bool quoted = at + 1 < text.size() && text[at + 1] == '"';
    const std::size_t begin = at + (quoted ? 2 : 1);
    const std::size_t end = std::min(text.find_first_of(quoted ? "\"" : " \t\r\n", begin), text.size());
    std::string name = text.substr(begin, end - begin);
    bool found = false;
    for (;;) {
      AGENTD_TRY(found, attach(attached, done, name, cwd, roots, hidden));
      // "see @notes.txt, and ..."
      if (found || name.empty() || std::string_view(".,;:!?)\"'").find(name.back()) == std::string_view::npos) break;
      name.pop_back();
    }
    if (found || name.empty()) continue;
    std::string word = quoted ? "@\"" + name + "\"" : "@" + name;
    if (std::find(missing.begin(), missing.end(), word) == missing.end()) missing.push_back(std::move(word));
  }
  if (text.size() + attached.text.size() > kMessageBytesMax)
    return Error{Code::kInvalid,
                 "the attached files make the message longer than " + with_commas(kMessageBytesMax) + " bytes"};
  attached.text.insert(0, text);
  return attached;
}

}  // namespace agentd::app
