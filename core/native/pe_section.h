// SPDX-License-Identifier: Apache-2.0
#pragma once
// pe_section.h - the manifest of a module for Windows: the section .agentd of its PE file.
//
// Such a module is never loaded here. It is read so that a hooks directory that travels between
// machines is listed whole, with the id and the events of what cannot run.
//
// Threading: a pure function.

#include "core/base/result.h"
#include "core/native/module_bytes.h"

namespace agentd {

// REQUIRES: the file begins with "MZ". The scan always has an obstacle. kInvalid: the file is no
// DLL; the message ends the sentence "FILE ...".
Result<ModuleScan> scan_pe(const ModuleBytes& bytes);

}  // namespace agentd
