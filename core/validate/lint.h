// SPDX-License-Identifier: Apache-2.0
#pragma once
// lint.h - reads an ELF file's symbols, libraries and segments. Nothing of the file runs.
//
// Every offset in the file is treated as hostile.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd::validation {

struct ElfFacts {
  std::vector<std::string> exported, undefined, unique;  // names of dynamic symbols; undefined ones without weak ones
  std::vector<std::string> needed;                       // DT_NEEDED
  std::vector<std::string> runpaths;                     // DT_RPATH, DT_RUNPATH
  std::vector<std::string> versions;                     // "GLIBC_2.34": the newest of each family
  bool text_relocations = false, static_tls = false, relro = false;
  bool executable_stack = false, writable_code = false;
  bool program = false;  // a position-independent executable, which has a shared library's type
};

// kInvalid: not a 64-bit little-endian ELF shared library, or one with malformed tables; completes "FILE ...".
Result<ElfFacts> read_elf(std::string_view bytes);

}  // namespace agentd::validation
