// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the rules of the house that a machine can check, over any tree.
//
// They take the root of a tree, so that a test can show that each rule finds what breaks it.
//
// Threading: pure functions over the files.

#include <filesystem>
#include <string>
#include <vector>

namespace tidy {

// One finding, "path:line: sentence".
using Findings = std::vector<std::string>;

// What AgentdRooms.cmake lets every room include, closed over itself as agentd_closure does.
struct Layers {
  static Layers read(const std::filesystem::path& rooms_cmake);
  bool may(const std::string& room, const std::string& used) const;
  bool knows(const std::string& room) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> direct_;
};

// #include lines of core, plugins, providers and plugin-api that leave their layer, third-party
// headers beside the one place that wraps them, and <regex>.
Findings layer_breaks(const std::filesystem::path& root, const Layers& layers);
// First line without the SPDX identifier.
Findings missing_licenses(const std::filesystem::path& root);
// Headers of C++ without "#pragma once"; a header of C begins with "/*".
Findings missing_guards(const std::filesystem::path& root);
// Sources of more than 1,000 lines.
Findings long_files(const std::filesystem::path& root);
// Lines of more than 100 columns.
Findings long_lines(const std::filesystem::path& root);
// Notes to oneself.
Findings leftovers(const std::filesystem::path& root);
// Sources below tests that no CMakeLists.txt of their folder or one above names.
Findings unregistered_tests(const std::filesystem::path& root);
// First-level folders whose README.md does not have a line for each of their subfolders.
Findings unlisted_folders(const std::filesystem::path& root);

}  // namespace tidy
