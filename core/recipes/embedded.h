// SPDX-License-Identifier: Apache-2.0
#pragma once
// embedded.h - the built-in recipes.
//
// Threading: immutable data.

#include <span>
#include <string_view>

namespace agentd {

struct EmbeddedRecipe {
  std::string_view name, text;
};

// Sorted by name.
std::span<const EmbeddedRecipe> embedded_recipes();
// The text of that recipe; empty for an unknown name.
std::string_view embedded_recipe(std::string_view name);

}  // namespace agentd
