// SPDX-License-Identifier: Apache-2.0
#pragma once
// cage.h - confines the process that loads a module for checks.
//
// Threading: in a forked process that has one thread and has not loaded the module.

#include <string>

#include "core/base/result.h"
#include "core/native/manifest.h"
#include "core/trust/sealed_file.h"

namespace agentd::validation {

// True if it asks for a service that accesses files. In a worker the host does that; here, in one process, it happens
// with the module's own rights.
bool needs_files(const Manifest& manifest);

// Removes everything from the environment but PATH, language and time zone, and overwrites the removed text with zeros.
void shed_environment();

// Clears the environment, closes every descriptor but 0 to 2, the module's and `report`, and confines the process like
// a worker: what the manifest does not ask for is closed. A module that asks for files, or for a service with file
// access, can read and write only below `directory`. kInternal: the process could not be confined.
Result<void> enter_cage(const Manifest& manifest, const std::string& directory, const SealedFile& module, int report);

}  // namespace agentd::validation
