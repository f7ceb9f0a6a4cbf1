// SPDX-License-Identifier: Apache-2.0
#pragma once
// tokens.h - the tokens of a home: who may talk to its daemon, and what for.
//
// The daemon's own token is in serve.token, so that a client of the same user can read it; its scope is admin. Of
// further tokens only the SHA-256 is kept, in serve.tokens: a line of JSON for each. Both files are read when they are
// regular files (no link) of this user that nobody else may open, in a directory (no link) that nobody else may write
// in. They are replaced atomically, and one process changes them at a time.
//
// A token is "agentd_" and 64 hexadecimal digits: 256 bits of the kernel's randomness.
//
// Threading: Tokens is immutable; the functions may run in several threads and processes.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"

namespace agentd::serve {

// The powers of a token. Each has those before it, but for kApprove: who runs may not answer his own questions.
enum class Scope : std::uint8_t {
  kNone,     // no token is needed
  kRead,     // looks
  kRun,      // and lets models and tools work
  kApprove,  // looks, and answers questions
  kAdmin,    // everything
};
std::string_view name_of(Scope scope);  // "none", "read", "run", "approve", "admin"
std::optional<Scope> scope_of(std::string_view name);
bool allows(Scope has, Scope needs);

class Tokens {
 public:
  struct Named {
    std::string name;  // for people, unique
    Scope scope = Scope::kRead;
    Digest digest{};
    std::int64_t created_ms = 0;
  };
  static constexpr std::string_view kOwnName = "agentd";  // of the daemon's own token; no other has it
  static constexpr std::size_t kNamedMax = 1'000;

  static std::string own_file(const std::string& home);    // serve.token
  static std::string named_file(const std::string& home);  // serve.tokens

  // Reads both; the daemon's own is made when it is missing, and the home with it. Of several that start at once all
  // get the same. kDenied: a file, or the home, is open to others, is a link or belongs to somebody else; kCorrupt: it
  // is no such file. Nothing is changed then.
  static Result<Tokens> load(const std::string& home);
  // For a client: the daemon's own token. kNotFound: none was made yet; otherwise as load().
  static Result<std::string> read_own(const std::string& home);

  // A new token, which is shown once. kConflict: the name is taken; kInvalid: it is no name, or there are too many;
  // otherwise as load(). REQUIRES: scope is not kNone.
  static Result<std::string> add(const std::string& home, const std::string& name, Scope scope, std::int64_t now_ms);
  // In the order in which they were made.
  static Result<std::vector<Named>> list(const std::string& home);
  // Takes it out; the file goes with the last one. kNotFound; otherwise as load().
  static Result<Named> remove(const std::string& home, const std::string& name);

  // The scope of a token, and the name of who has it; kNone: it is none of them. The time depends on how many tokens
  // there are, and on nothing of theirs.
  struct Found {
    Scope scope = Scope::kNone;
    std::string name;
    Digest digest{};  // of the token
  };
  Found find(std::string_view token) const;
  // Whether one of them has that digest.
  bool has(const Digest& token) const;

 private:
  std::optional<Digest> own_;
  std::vector<Named> named_;
};

// The fault of a token's name, as the rest of a sentence that begins with "the name"; empty = it is one.
std::string wrong_token_name(std::string_view name);

// Tells whether the files of the tokens have changed: another owner, mode, time or size, or another file.
struct TokenFiles {
  struct State {
    std::uint64_t device = 0, inode = 0, size = 0, changed_ns = 0, written_ns = 0;  // zeros: no file
    bool operator==(const State&) const = default;
  };
  std::array<State, 2> states{};

  static TokenFiles of(const std::string& home);
  bool operator==(const TokenFiles&) const = default;
};

}  // namespace agentd::serve
