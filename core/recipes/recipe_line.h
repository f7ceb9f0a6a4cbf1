// SPDX-License-Identifier: Apache-2.0
#pragma once
// recipe_line.h - the words behind a recipe's name, as people type them: arguments, then free text.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/recipes/recipes.h"

namespace agentd {

struct RecipeLine {
  RecipeValues arguments;
  std::string words;
};
// "k=v k2='a b' free text": only leading arguments are parsed.
RecipeLine parse_recipe_line(std::string_view text);

}  // namespace agentd
