// SPDX-License-Identifier: Apache-2.0
#include "core/serve/tokens.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/runtime/private_file.h"
#include "core/runtime/secret_files.h"

namespace agentd::serve {
namespace {

constexpr const char* kOwn = "serve.token";
constexpr const char* kOwnNew = "serve.token.new";  // while it is made, under the lock
constexpr const char* kNamed = "serve.tokens";
constexpr std::string_view kPrefix = "agentd_", kHexDigits = "0123456789abcdef";
constexpr std::size_t kDigits = 64, kTokenNameBytesMax = 40;
constexpr std::array<std::string_view, 5> kScopes{"none", "read", "run", "approve", "admin"};

constexpr PrivateThings kTokens{"token", "tokens"};

// kNotFound when there is none.
Result<UniqueFd> open_home(const std::string& home) { return open_private_directory(home, kTokens); }

Result<UniqueFd> open_locked(const std::string& home) {
  AGENTD_TRY_VOID(make_directories(home));
  AGENTD_TRY(UniqueFd directory, open_home(home));
  AGENTD_TRY_VOID(lock_directory(directory, home));
  return directory;
}

// The file's text; nullopt when there is none.
Result<std::optional<std::string>> read_private(int directory, const char* name, const std::string& path) {
  AGENTD_TRY(const std::optional<PrivateFile> file, open_private(directory, name, path, kTokens));
  if (!file) return std::optional<std::string>();
  AGENTD_TRY(std::string text, read_fd(file->fd.get(), kPrivateBytesMax, path));
  return std::optional(std::move(text));
}

Result<std::string> new_token() {
  std::array<std::uint8_t, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return errno_error("making a token", errno);
  return std::string(kPrefix) + hex(std::span<const std::uint8_t>(bytes));
}

bool looks_like_token(std::string_view text) {
  return text.size() == kPrefix.size() + kDigits && text.starts_with(kPrefix) &&
         text.find_first_not_of(kHexDigits, kPrefix.size()) == std::string_view::npos;
}

// ---- the daemon's own

Result<std::optional<std::string>> read_own_at(int directory, const std::string& path) {
  AGENTD_TRY(std::optional<std::string> text, read_private(directory, kOwn, path));
  if (!text) return text;
  if (text->ends_with('\n')) text->pop_back();
  if (!looks_like_token(*text))
    return Error{Code::kCorrupt, path + " does not have a token: remove it, and 'agentd serve' makes another"};
  return text;
}

// A link gives the file its name, which fails where there is one: nothing is replaced. REQUIRES: the lock is held.
Result<void> write_own(int directory, const std::string& path) {
  AGENTD_TRY(const std::string token, new_token());
  (void)::unlinkat(directory, kOwnNew, 0);  // of a process that has died
  const UniqueFd fd(::openat(directory, kOwnNew, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return errno_error("writing " + path, errno);
  Result<void> wrote = write_all(fd.get(), token + "\n");
  if (wrote && ::fchmod(fd.get(), 0600) != 0) wrote = errno_error("writing " + path, errno);
  if (wrote && ::fsync(fd.get()) != 0) wrote = errno_error("syncing " + path, errno);
  if (wrote && ::linkat(directory, kOwnNew, directory, kOwn, 0) != 0 && errno != EEXIST)
    wrote = errno_error("writing " + path, errno);
  (void)::unlinkat(directory, kOwnNew, 0);
  if (wrote && ::fsync(directory) != 0) wrote = errno_error("syncing " + path, errno);
  return wrote;
}

Result<std::string> read_or_make_own(const std::string& home) {
  const std::string path = Tokens::own_file(home);
  AGENTD_TRY_VOID(make_directories(home));
  AGENTD_TRY(const UniqueFd directory, open_home(home));
  AGENTD_TRY(std::optional<std::string> there, read_own_at(directory.get(), path));
  if (there) return std::move(*there);
  AGENTD_TRY_VOID(lock_directory(directory, home));
  AGENTD_TRY(there, read_own_at(directory.get(), path));
  if (there) return std::move(*there);
  AGENTD_TRY_VOID(write_own(directory.get(), path));
  AGENTD_TRY(there, read_own_at(directory.get(), path));
  if (there) return std::move(*there);
  return Error{Code::kConflict, path + " was removed while it was made"};
}

// ---- those with a name

int digit_of(char c) {
  const std::size_t at = kHexDigits.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::optional<Digest> digest_of(std::string_view digits) {
  Digest out{};
  if (digits.size() != 2 * out.size()) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return out;
}

std::optional<Tokens::Named> named_of(std::string_view line) {
  const auto json = JsonDocument::parse(line);
  if (!json || !json->root().is_object()) return std::nullopt;
  const JsonView root = json->root();
  const auto scope = scope_of(root["scope"].string_or({}));
  const auto digest = digest_of(root["sha256"].string_or({}));
  const std::string name(root["name"].string_or({}));
  if (!scope || *scope == Scope::kNone || !digest || !wrong_token_name(name).empty()) return std::nullopt;
  return Tokens::Named{name, *scope, *digest, root["created_ms"].int_or(0)};
}

Result<std::vector<Tokens::Named>> parse_named(std::string_view text, const std::string& path) {
  std::vector<Tokens::Named> out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    auto found = named_of(line);
    if (!found || std::any_of(out.begin(), out.end(), [&](const auto& each) { return each.name == found->name; }))
      return Error{Code::kCorrupt, path + ":" + std::to_string(number) +
                                       ": a line must be a JSON object with name, scope, sha256 and created_ms, and a "
                                       "name must not be repeated: remove the line, and make the token again with "
                                       "'agentd auth token add'"};
    out.push_back(std::move(*found));
  }
  return out;
}

Result<std::vector<Tokens::Named>> read_named(int directory, const std::string& path) {
  AGENTD_TRY(const std::optional<std::string> text, read_private(directory, kNamed, path));
  return text ? parse_named(*text, path) : std::vector<Tokens::Named>();
}

Result<void> write_named(const std::string& path, const std::vector<Tokens::Named>& all) {
  if (all.empty()) return ::unlink(path.c_str()) == 0 ? Result<void>() : errno_error("removing " + path, errno);
  std::string text;
  for (const Tokens::Named& each : all) {
    JsonWriter json;
    json.begin_object().member("name", each.name).member("scope", name_of(each.scope));
    json.member("sha256", hex(each.digest)).member("created_ms", each.created_ms).end_object();
    text += std::string(json.text()) + "\n";
  }
  return write_file_atomically(path, text, 0600);
}

// Neither the contents nor the place of a difference changes the time.
bool equal(const Digest& a, const Digest& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

std::string_view name_of(Scope scope) { return kScopes[static_cast<std::size_t>(scope)]; }

std::optional<Scope> scope_of(std::string_view name) {
  const auto* const found = std::find(kScopes.begin(), kScopes.end(), name);
  if (found == kScopes.end()) return std::nullopt;
  return static_cast<Scope>(found - kScopes.begin());
}

bool allows(Scope has, Scope needs) {
  if (needs == Scope::kNone || has == Scope::kAdmin) return true;
  return has != Scope::kNone && (needs == Scope::kRead || has == needs);
}

std::string Tokens::own_file(const std::string& home) { return serve_token_file(home); }
std::string Tokens::named_file(const std::string& home) { return serve_tokens_file(home); }

Result<Tokens> Tokens::load(const std::string& home) {
  Tokens out;
  AGENTD_TRY(out.named_, list(home));
  AGENTD_TRY(const std::string own, read_or_make_own(home));
  out.own_ = sha256(own);
  return out;
}

Result<std::string> Tokens::read_own(const std::string& home) {
  const std::string path = own_file(home);
  AGENTD_TRY(const UniqueFd directory, open_home(home));
  AGENTD_TRY(std::optional<std::string> text, read_own_at(directory.get(), path));
  if (text) return std::move(*text);
  return Error{Code::kNotFound, path + " does not exist: 'agentd serve' makes it when it starts"};
}

Result<std::string> Tokens::add(const std::string& home, const std::string& name, Scope scope, std::int64_t now_ms) {
  AGENTD_ASSERT(scope != Scope::kNone);
  if (const std::string wrong = wrong_token_name(name); !wrong.empty())
    return Error{Code::kInvalid, "the name " + wrong};
  AGENTD_TRY(const UniqueFd directory, open_locked(home));
  AGENTD_TRY(std::vector<Named> all, read_named(directory.get(), named_file(home)));
  if (std::any_of(all.begin(), all.end(), [&](const Named& each) { return each.name == name; }))
    return Error{Code::kConflict, "a token with the name '" + name +
                                      "' exists: choose another name, or remove it with 'agentd auth token remove " +
                                      name + "'"};
  if (all.size() >= kNamedMax)
    return Error{Code::kInvalid, "there are " + with_commas(kNamedMax) + " tokens, the most that a home can have: " +
                                     "remove one with 'agentd auth token remove NAME'"};
  AGENTD_TRY(std::string token, new_token());
  all.push_back({name, scope, sha256(token), now_ms});
  AGENTD_TRY_VOID(write_named(named_file(home), all));
  return token;
}

Result<std::vector<Tokens::Named>> Tokens::list(const std::string& home) {
  auto directory = open_home(home);
  if (!directory && directory.error().code == Code::kNotFound) return std::vector<Named>();
  if (!directory) return directory.error();
  return read_named(directory->get(), named_file(home));
}

Result<Tokens::Named> Tokens::remove(const std::string& home, const std::string& name) {
  const Error none{Code::kNotFound, "no token has that name; 'agentd auth token list' shows the names"};
  auto directory = open_home(home);
  if (!directory) return directory.error().code == Code::kNotFound ? none : directory.error();
  AGENTD_TRY_VOID(lock_directory(*directory, home));
  AGENTD_TRY(std::vector<Named> all, read_named(directory->get(), named_file(home)));
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& each) { return each.name == name; });
  if (found == all.end()) return none;
  Named out = std::move(*found);
  all.erase(found);
  AGENTD_TRY_VOID(write_named(named_file(home), all));
  return out;
}

Tokens::Found Tokens::find(std::string_view token) const {
  Found out;
  if (token.empty()) return out;
  const Digest digest = sha256(token);
  const Named* found = nullptr;
  for (const Named& each : named_) found = equal(each.digest, digest) ? &each : found;
  if (found != nullptr) out = {found->scope, found->name, digest};
  if (own_ && equal(*own_, digest)) out = {Scope::kAdmin, std::string(kOwnName), digest};
  return out;
}

bool Tokens::has(const Digest& token) const {
  return (own_ && equal(*own_, token)) ||
         std::any_of(named_.begin(), named_.end(), [&](const Named& each) { return equal(each.digest, token); });
}

std::string wrong_token_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (name.empty()) return "is empty";
  if (name.size() > kTokenNameBytesMax) return "has more than " + std::to_string(kTokenNameBytesMax) + " characters";
  if (name == Tokens::kOwnName) return "'agentd' is reserved for the daemon's own token";
  const auto fits = [&](char c) {
    return kLetters.find(c) != std::string_view::npos || c == '.' || c == '_' || c == '-';
  };
  if (kLetters.find(name[0]) == std::string_view::npos || !std::all_of(name.begin(), name.end(), fits))
    return "must begin with a letter or a digit, and have only letters, digits, '.', '_' and '-'";
  return {};
}

TokenFiles TokenFiles::of(const std::string& home) {
  TokenFiles out;
  const std::array<std::string, 2> paths{Tokens::own_file(home), Tokens::named_file(home)};
  const auto ns = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
  };
  for (std::size_t i = 0; i < paths.size(); ++i) {
    struct stat info {};
    if (::lstat(paths[i].c_str(), &info) != 0) continue;
    out.states[i] = {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
                     static_cast<std::uint64_t>(info.st_size), ns(info.st_ctim), ns(info.st_mtim)};
  }
  return out;
}

}  // namespace agentd::serve
