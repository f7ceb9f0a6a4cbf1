// SPDX-License-Identifier: Apache-2.0
#pragma once
// instructions.h - AGENTS.md, CLAUDE.md and the files that they import, for the model.
//
// `@PATH` in such a file imports another one: relative to the file, "~" for the user's home, absolute; not in
// code, at most five files deep, each file once. An import that names no file is left as text. A project's files
// import only from the project, and files with stored keys are never read.
//
// Threading: one thread.

#include <string>
#include <string_view>
#include <vector>

#include "core/agent/agent.h"
#include "core/workplace/project.h"

namespace agentd {

struct Instructions {
  std::string text;  // each file after a line with its path, an importing one before its imports
  std::vector<std::string> files;
  std::vector<std::string> warnings;  // files that could not be read, imports that were not followed
};

// The places of instructions.
struct InstructionPlaces {
  Project project{};
  std::string home{};       // agentd's own directory
  std::string user_home{};  // for "~"; empty = it is a name
};

// AGENTS.md, else CLAUDE.md, of `home` and of every directory from the project's root down to the cwd. A link that
// leads out of the project is not followed: a repository must not send other files.
Instructions read_instructions(const InstructionPlaces& places);

// The same files of the directories from the project's root down to `path` or its directory, except those that
// read_instructions() reads. `path` is absolute; one outside the project has none. Each file comes with its
// imports; warnings are added to `warnings`.
std::vector<PathRules> rules_near(const InstructionPlaces& places, const std::string& path,
                                  std::vector<std::string>& warnings);

// The imports of the text, in order: words that begin with "@", outside of code, without the "@".
std::vector<std::string> imports_of(std::string_view markdown);

}  // namespace agentd
