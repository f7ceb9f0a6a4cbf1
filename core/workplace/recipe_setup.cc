// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/recipe_setup.h"

#include <unistd.h>

#include "core/base/bytes.h"
#include "core/runtime/user_recipes.h"
#include "core/trust/recipe_files.h"
#include "core/workplace/hook_setup.h"

namespace agentd {

std::vector<RecipeDirectory> recipe_directories(const Config& config, const std::string& home, const Project& project,
                                                const Clock& clock, bool of_the_project) {
  std::vector<RecipeDirectory> out;
  const uid_t user = ::geteuid();
  // A project around the home directory has the user's own recipes there.
  if (of_the_project && !is_same_directory(project.root + "/.agent", home)) {
    RecipeDirectory of_project;
    of_project.path = project.root + "/.agent/recipes";
    of_project.source = RecipeSource::kProject;
    of_project.compact = config.flag("recipes.project_compact");
    of_project.read = [directory = of_project.path, root = project.root, trust_file = home + "/trust.json", user,
                       &clock](const std::string& file) -> Result<RecipeDirectory::File> {
      AGENTD_TRY(std::string text, read_recipe_file(directory, file, user));
      AGENTD_TRY(Untrusted found, why_untrusted(directory, file, text, root, trust_file, user, clock));
      return RecipeDirectory::File{std::move(text), std::move(found.why_not), found.changed};
    };
    out.push_back(std::move(of_project));
  }
  out.push_back(user_recipes(home));
  return out;
}

Result<RecipeValues> recipe_arguments(const std::vector<std::string>& words) {
  RecipeValues out;
  for (const std::string& each : words) {
    const std::size_t equals = each.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error{Code::kInvalid, "--arg " + one_line(each, 80) + ": write NAME=VALUE"};
    out[each.substr(0, equals)] = to_utf8(each.substr(equals + 1));
  }
  return out;
}

}  // namespace agentd
