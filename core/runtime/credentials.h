// SPDX-License-Identifier: Apache-2.0
#pragma once
// credentials.h - keys of providers in the user's home, each bound to the host that it was stored for.
//
// The file has a line for each: provider, host and key, with tabs between. It is read when it is a regular
// file (no link) that belongs to this user and that nobody else may open, in a directory that nobody else
// may write in; else it is refused as a whole, with what to do. It is replaced atomically, and one process
// changes it at a time.
//
// Threading: Credentials is immutable; the functions may run in several processes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/secret_text.h"

namespace agentd {

// Views into the Credentials that it comes from.
struct Credential {
  std::string_view provider{}, place{}, key{};  // place: ProviderSetup::place when it was stored
};

class Credentials {
 public:
  // Where the keys of a home lie.
  static std::string file(const std::string& home);
  // Nothing where there is no file. kDenied: it, or its directory, is open to others; kCorrupt: it is no such
  // file.
  static Result<Credentials> load(const std::string& home);

  const std::vector<Credential>& all() const { return all_; }  // as they stand in the file
  // Null when there is none for that provider.
  const Credential* find(std::string_view provider) const;

 private:
  SecretText text_;
  std::vector<Credential> all_;
};

// Adds it, or puts it in the place of the provider's. Makes the home where there is none. Errors as of
// Credentials::load(), which are found before anything is written. REQUIRES: wrong_key() is empty.
Result<void> store_credential(const std::string& home, const Credential& credential);

// Takes the provider's out; the file goes with the last one. The host that it was stored for, and the end
// of the key as shown_end() has it; nullopt when there was none.
struct RemovedCredential {
  std::string place{}, end{};
};
Result<std::optional<RemovedCredential>> remove_credential(const std::string& home, std::string_view provider);

// The fault of a key, as the rest of a sentence that begins with "the key"; empty = it can be sent. Has no part of the
// key.
std::string wrong_key(std::string_view key);
// True for what is rather a key than a provider's name.
bool looks_like_key(std::string_view text);
// The message for a key that was given as an argument.
inline constexpr const char* kKeyIsNoArgument =
    "a key is never an argument: every program on this machine can read arguments, and the shell keeps them. Run "
    "'agentd auth set PROVIDER' and paste the key at the prompt, or pass it on standard input. Replace a key that was "
    "given as an argument";
// "...wxyz", the last four characters; "..." where that would be much of the key.
std::string shown_end(std::string_view key);

}  // namespace agentd
