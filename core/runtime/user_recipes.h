// SPDX-License-Identifier: Apache-2.0
#pragma once
// user_recipes.h - the recipes in the home directory, read as hooks are: nobody else may be able to write them.
//
// Threading: the function in the result may be called from any thread.

#include <string>

#include "core/recipes/recipes.h"

namespace agentd {

RecipeDirectory user_recipes(const std::string& home);

}  // namespace agentd
