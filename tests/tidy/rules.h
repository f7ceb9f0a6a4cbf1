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

// A row of cmake/rooms.txt.
struct Room {
  std::string folder;             // "core/base"
  std::string name;               // "base", "providers_common"
  std::vector<std::string> uses;  // names of the rooms that it includes directly
  std::string purpose;
};

struct Rooms {
  static Rooms read(const std::filesystem::path& rooms_txt);
  const Room* find(const std::string& name) const;
  bool may(const std::string& room, const std::string& used) const;

  std::vector<Room> rows;
};

// #include lines of core, plugins, providers and plugin-api that their row does not have, third-party headers beside
// the one place that wraps them, and <regex>.
Findings layer_breaks(const std::filesystem::path& root, const Rooms& rooms);
// Rows that name a room which nothing there includes, and rooms that include each other, also through others.
Findings idle_rows(const std::filesystem::path& root, const Rooms& rooms);
Findings room_cycles(const Rooms& rooms);
// The table as ARCHITECTURE.md has it, and the lines of a README for the rooms below `top` ("core").
std::string layers_page(const Rooms& rooms);
std::string readme_page(const Rooms& rooms, const std::string& top);
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
