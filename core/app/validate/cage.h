// SPDX-License-Identifier: Apache-2.0
#pragma once
// cage.h - what a process that loads a module to look at it may still do.
//
// Threading: enter_cage() in a forked process that has one thread and has not loaded the module.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/manifest.h"

namespace agentd::app {

// Nothing is left of the environment but PATH, language and time zone.
void shed_environment();

// Sheds the environment, and locks the process up as a worker would be: what the manifest does not
// ask for is closed. Files can be read and written below `directory` alone, none where it is empty.
// `reopened`: descriptors of files that are opened again by their name in /proc. kInternal: the
// process could not be locked up.
Result<void> enter_cage(const Manifest& manifest, const std::string& directory,
                        const std::vector<int>& reopened);

}  // namespace agentd::app
