// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/embedded.h"

#include "embedded_commit.h"
#include "embedded_compact.h"
#include "embedded_compact_brief.h"
#include "embedded_init.h"

namespace agentd {
namespace {

constexpr EmbeddedRecipe kRecipes[] = {
    {"commit", kCommitRecipe},
    {"compact", kCompactRecipe},
    {"compact-brief", kCompactBriefRecipe},
    {"init", kInitRecipe},
};

}  // namespace

std::span<const EmbeddedRecipe> embedded_recipes() { return kRecipes; }

std::string_view embedded_recipe(std::string_view name) {
  for (const EmbeddedRecipe& recipe : kRecipes)
    if (recipe.name == name) return recipe.text;
  return {};
}

}  // namespace agentd
