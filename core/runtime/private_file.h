// SPDX-License-Identifier: Apache-2.0
#pragma once
// private_file.h - files of a home that its user alone may read and write: keys of providers, tokens of the daemon.
//
// Threading: the functions may run in several threads and processes.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

inline constexpr std::size_t kPrivateBytesMax = 1u << 20;  // of a file

// Names of the contents of the files, for messages.
struct PrivateThings {
  std::string_view one, many;  // "key", "keys"
  bool links = false;          // the home may be a symbolic link
};

// The directory, which nobody but its user or root may write in. kNotFound: there is none; kDenied.
Result<UniqueFd> open_private_directory(const std::string& home, const PrivateThings& things);
// One process changes the files at a time: until the descriptor is closed.
Result<void> lock_directory(const UniqueFd& directory, const std::string& home);

// A regular file (no link) of this user that nobody else may open. nullopt: there is none; kDenied: it is another one;
// kCorrupt: it is too large.
struct PrivateFile {
  UniqueFd fd{};
  std::size_t size = 0;
};
Result<std::optional<PrivateFile>> open_private(int directory, const char* name, const std::string& path,
                                                const PrivateThings& things);

}  // namespace agentd
