// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/user_recipes.h"

#include <unistd.h>

#include "core/trust/recipe_files.h"

namespace agentd {

RecipeDirectory user_recipes(const std::string& home) {
  RecipeDirectory out;
  out.path = home + "/recipes";
  out.read = [directory = out.path, user = ::geteuid()](const std::string& file) -> Result<RecipeDirectory::File> {
    AGENTD_TRY(std::string text, read_recipe_file(directory, file, user));
    return RecipeDirectory::File{std::move(text)};
  };
  return out;
}

}  // namespace agentd
