// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/runtime/private_file.h"

namespace agentd {
namespace {

constexpr const char* kFileName = "credentials";
constexpr std::string_view kHead =
    "# Keys of providers, written by 'agentd auth'. A line for each: provider, host, key, with tabs between.\n";
constexpr std::size_t kKeyBytesMax = 4096;
constexpr std::size_t kShownEnd = 4, kShownFrom = 16;

constexpr PrivateThings kKeys{"key", "keys", true};

// The file itself, read into memory of its own. Nothing when there is none.
Result<SecretText> read_keys(int directory, const std::string& path, std::size_t& bytes) {
  bytes = 0;
  AGENTD_TRY(const std::optional<PrivateFile> file, open_private(directory, kFileName, path, kKeys));
  if (!file) return SecretText();
  const std::size_t size = file->size;
  SecretText text(size);
  if (text.room() != size) return Error{Code::kUnavailable, "no memory for the keys of " + path};
  while (bytes < size) {
    const ssize_t got = ::pread(file->fd.get(), text.data() + bytes, size - bytes, static_cast<off_t>(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading " + path, errno);
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  return text;
}

// The three parts of a line; nullopt when it has others.
std::optional<Credential> credential_of(std::string_view line) {
  const std::size_t first = line.find('\t');
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  const std::size_t second = line.find('\t', first + 1);
  if (second == std::string_view::npos || second == first + 1) return std::nullopt;
  const Credential out{line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
  return wrong_key(out.key).empty() ? std::optional(out) : std::nullopt;
}

Result<std::vector<Credential>> parse_keys(std::string_view text, const std::string& path) {
  std::vector<Credential> out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto found = credential_of(line);
    if (!found)
      return Error{Code::kCorrupt, path + ":" + std::to_string(number) +
                                       ": a line must be a provider, a host and a key, separated by tabs: remove it, "
                                       "and store the key again with 'agentd auth set'"};
    out.push_back(*found);
  }
  return out;
}

Result<void> write_keys(const std::string& home, const std::vector<Credential>& all) {
  const std::string path = Credentials::file(home);
  if (all.empty()) return ::unlink(path.c_str()) == 0 ? Result<void>() : errno_error("removing " + path, errno);
  std::string text(kHead);
  for (const Credential& each : all)
    text += std::string(each.provider) + "\t" + std::string(each.place) + "\t" + std::string(each.key) + "\n";
  Result<void> wrote = write_file_atomically(path, text, 0600);
  ::explicit_bzero(text.data(), text.size());
  return wrote;
}

// Held until the descriptor is closed.
Result<UniqueFd> lock(const std::string& home) {
  AGENTD_TRY(UniqueFd directory, open_private_directory(home, kKeys));
  AGENTD_TRY_VOID(lock_directory(directory, home));
  return directory;
}

}  // namespace

std::string Credentials::file(const std::string& home) { return home + "/" + kFileName; }

Result<Credentials> Credentials::load(const std::string& home) {
  Credentials out;
  const std::string path = file(home);
  struct stat info {};
  // Most homes have no key file; problems of the directory do not matter then.
  if (::lstat(path.c_str(), &info) != 0 && errno == ENOENT) return out;
  AGENTD_TRY(const UniqueFd directory, open_private_directory(home, kKeys));
  std::size_t bytes = 0;
  AGENTD_TRY(out.text_, read_keys(directory.get(), path, bytes));
  AGENTD_TRY(out.all_, parse_keys(out.text_.first(bytes), path));
  return out;
}

const Credential* Credentials::find(std::string_view provider) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Credential& each) { return each.provider == provider; });
  return found == all_.end() ? nullptr : &*found;
}

Result<void> store_credential(const std::string& home, const Credential& credential) {
  AGENTD_TRY_VOID(make_directories(home));
  AGENTD_TRY(const UniqueFd locked, lock(home));
  AGENTD_TRY(const Credentials before, Credentials::load(home));
  std::vector<Credential> all = before.all();
  std::erase_if(all, [&](const Credential& each) { return each.provider == credential.provider; });
  all.push_back(credential);
  return write_keys(home, all);
}

Result<std::optional<RemovedCredential>> remove_credential(const std::string& home, std::string_view provider) {
  struct stat info {};
  if (::lstat(Credentials::file(home).c_str(), &info) != 0 && errno == ENOENT)
    return std::optional<RemovedCredential>();
  AGENTD_TRY(const UniqueFd locked, lock(home));
  AGENTD_TRY(const Credentials before, Credentials::load(home));
  const Credential* const found = before.find(provider);
  if (found == nullptr) return std::optional<RemovedCredential>();
  RemovedCredential out{std::string(found->place), shown_end(found->key)};
  std::vector<Credential> all = before.all();
  std::erase_if(all, [&](const Credential& each) { return each.provider == provider; });
  AGENTD_TRY_VOID(write_keys(home, all));
  return std::optional(std::move(out));
}

std::string wrong_key(std::string_view key) {
  if (key.empty()) return "is empty";
  if (key.size() > kKeyBytesMax) return "has more than " + with_commas(kKeyBytesMax) + " characters";
  if (key.find_first_of("\r\n") != std::string_view::npos) return "has more than one line";
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return plain ? std::string() : "has characters that keys cannot have, such as a blank or an accented letter";
}

bool looks_like_key(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kBeginnings{"sk-", "sk_", "gsk_", "xai-", "AIza", "Bearer "};
  if (std::any_of(kBeginnings.begin(), kBeginnings.end(), [&](auto each) { return text.starts_with(each); }))
    return true;
  const bool digits = text.find_first_of("0123456789") != std::string_view::npos;
  return text.size() >= 20 && digits && text.find('/') == std::string_view::npos;
}

std::string shown_end(std::string_view key) {
  return "..." + std::string(key.size() < kShownFrom ? std::string_view() : key.substr(key.size() - kShownEnd));
}

}  // namespace agentd
