// SPDX-License-Identifier: Apache-2.0
#pragma once
// lint.h - what an ELF file says of itself: symbols, libraries, segments. Nothing of it runs.
//
// Every offset in the file is taken for hostile.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd::validation {

struct ElfFacts {
  std::vector<std::string> exported, undefined, unique;  // names of dynamic symbols; undefined without weak ones
  std::vector<std::string> needed;                       // DT_NEEDED
  std::vector<std::string> runpaths;                     // DT_RPATH, DT_RUNPATH
  std::vector<std::string> versions;                     // "GLIBC_2.34": the newest of each family
  bool text_relocations = false, static_tls = false, relro = false;
  bool executable_stack = false, writable_code = false;
  bool program = false;  // a position-independent executable: a shared library by its type alone
};

// kInvalid: no 64-bit little-endian ELF shared library, or one whose tables make no sense; ends "FILE ...".
Result<ElfFacts> read_elf(std::string_view bytes);

}  // namespace agentd::validation
