// SPDX-License-Identifier: Apache-2.0
#pragma once
// pe_section.h - reads the manifest of a Windows module: the section .agentd of its PE file.
//
// Such a module is never loaded here. It is read so that a hooks directory shared between machines is listed
// completely, with the ids and events of modules that cannot run.
//
// Threading: a pure function.

#include "core/base/result.h"
#include "core/native/module_bytes.h"

namespace agentd {

// REQUIRES: the file begins with "MZ". The scan always has an obstacle. kInvalid: the file is not a DLL; the message
// completes the sentence "FILE ...".
Result<ModuleScan> scan_pe(const ModuleBytes& bytes);

}  // namespace agentd
