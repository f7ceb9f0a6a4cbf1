// SPDX-License-Identifier: Apache-2.0
#pragma once
// sealed_file.h - the bytes that were looked at, where nobody can change them any more.
//
// A module is read once; its digest is taken over the very bytes that will be mapped: they lie in a
// memory file that is sealed against every change. Where the kernel refuses to run memory files
// (vm.memfd_noexec, a mount without /proc) they lie in a private copy instead, and the log says so.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/result.h"

namespace agentd {

struct SealedFile {
  UniqueFd fd;
  std::string path;    // for dlopen; valid while fd is open
  std::string digest;  // SHA-256, hex
  bool private_copy = false;
};

// `name` is for people. `private_directory` is made with mode 0700 when it is needed; empty = no copies,
// so that such a kernel is an error. kDenied: neither way is open.
Result<SealedFile> seal(std::string_view bytes, const std::string& name, const std::string& private_directory,
                        Log& log);

// Removes the private copy, if there is one, of a module that is not going to be opened.
void discard(const SealedFile& file);

// The second way alone.
Result<SealedFile> make_private_copy(std::string_view bytes, const std::string& name,
                                     const std::string& private_directory);

}  // namespace agentd
