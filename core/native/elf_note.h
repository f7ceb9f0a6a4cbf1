// SPDX-License-Identifier: Apache-2.0
#pragma once
// elf_note.h - reads a hook module's manifest from its bytes; no byte of the module runs.
//
// The manifest is the ELF note "agentd" type 1, found through the program headers or, if the linker made none, through
// the section headers. A PE file is passed to pe_section.h. Every offset and length in the file is treated as hostile.
//
// Threading: a pure function.

#include "core/base/result.h"
#include "core/native/module_bytes.h"

namespace agentd {

// kInvalid: the file is not a shared library; the message completes the sentence "FILE ...".
Result<ModuleScan> scan_module(const ModuleBytes& bytes);

}  // namespace agentd
