// SPDX-License-Identifier: Apache-2.0
#pragma once
// sealed_file.h - a module's bytes, fixed between check and load.
//
// A module is read once, and its digest is taken over the very bytes that will be mapped: they are in a memory file
// sealed against every change. Where the kernel refuses to run memory files (vm.memfd_noexec, no /proc) they are in a
// private copy instead, with a warning in the log.
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

// `name` is for messages. `private_directory` is made with mode 0700 when needed; empty = no copies, so a kernel
// without runnable memory files is an error. kDenied: neither way works.
Result<SealedFile> seal(std::string_view bytes, const std::string& name, const std::string& private_directory,
                        Log& log);

// Removes the private copy, if any, of a module that will not be opened.
void discard(const SealedFile& file);

// Makes the private copy without trying a memory file.
Result<SealedFile> make_private_copy(std::string_view bytes, const std::string& name,
                                     const std::string& private_directory);

}  // namespace agentd
