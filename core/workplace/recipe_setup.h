// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipe_setup.h - the recipe directories: the project's .agent/recipes, recipes in the home directory.
//
// Files are checked like hooks: other users must not be able to write them. A project's recipe is used only after
// `agentd hooks trust`, and its `compact` only with recipes.project_compact.
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

// Parses words "NAME=VALUE". kInvalid names the first one that has another form.
Result<RecipeValues> recipe_arguments(const std::vector<std::string>& words);

}  // namespace agentd
