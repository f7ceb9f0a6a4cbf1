// SPDX-License-Identifier: Apache-2.0
#pragma once
// elf_note.h - the manifest of a hook module, read out of its bytes; no byte of the module runs.
//
// Where it is: ELF note "agentd" type 1, found through the program headers or, if a linker made
// none, through the section headers; a PE file is handed to pe_section.h. Every offset and length
// in the file is taken for hostile: any bytes give an answer.
//
// Threading: a pure function.

#include "core/base/result.h"
#include "core/native/module_bytes.h"

namespace agentd {

// kInvalid: the file is no shared library; the message ends the sentence "FILE ...".
Result<ModuleScan> scan_module(const ModuleBytes& bytes);

}  // namespace agentd
