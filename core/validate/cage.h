// SPDX-License-Identifier: Apache-2.0
#pragma once
// cage.h - what a process that loads a module to look at it may still do.
//
// Threading: in a forked process that has one thread and has not loaded the module.

#include <string>

#include "core/base/result.h"
#include "core/native/manifest.h"
#include "core/trust/sealed_file.h"

namespace agentd::validation {

// True when it asks for a service that reaches files: from outside of a worker, but here, in one
// process, with what the module may do itself.
bool needs_files(const Manifest& manifest);

// Nothing is left of the environment but PATH, language and time zone; where the rest stood there
// are zeros.
void shed_environment();

// Sheds the environment, closes every descriptor but 0 to 2, the module's and `report`, and locks
// the process up as a worker would be: what the manifest does not ask for is closed. Files can be
// read and written below `directory` alone, by a module that asks for files or for a service that
// has them. kInternal: the process could not be locked up.
Result<void> enter_cage(const Manifest& manifest, const std::string& directory, const SealedFile& module, int report);

}  // namespace agentd::validation
