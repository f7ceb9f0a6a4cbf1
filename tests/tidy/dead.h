// SPDX-License-Identifier: Apache-2.0
#pragma once
// dead.h - functions that a header declares and nothing outside the tests uses.
//
// Threading: pure functions over the files.

#include <filesystem>

#include "tests/tidy/tree.h"

namespace tidy {

// Functions in the headers of core, plugins and providers whose names occur in the code of these folders only where
// they are declared and defined, in order: "core/base/x.h:7: nothing uses f". Names are compared, not symbols, so a
// function that shares its name with a used one is not found.
Findings unused_functions(const std::filesystem::path& root);

}  // namespace tidy
