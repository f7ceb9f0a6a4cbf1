// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipe_setup.h - where recipes come from: the project's .agent/recipes, those in the home
// directory.
//
// Files are read as hooks are: nobody else may be able to write them. What a project brings is used
// only after `agentd hooks trust`, and its `compact` only when recipes.project_compact says so.
//
// Threading: the functions in the result may be called from any thread.

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/config/config.h"
#include "core/recipes/recipes.h"
#include "core/workplace/project.h"

namespace agentd {

// In order of lookup. `clock` outlives the result.
std::vector<RecipeDirectory> recipe_directories(const Config& config, const std::string& home, const Project& project,
                                                const Clock& clock, bool of_the_project = true);

// The words of "NAME=VALUE" as values. kInvalid names the one that is none.
Result<RecipeValues> recipe_arguments(const std::vector<std::string>& words);

}  // namespace agentd
