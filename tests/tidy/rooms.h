// SPDX-License-Identifier: Apache-2.0
#pragma once
// rooms.h - which room may include which: cmake/rooms.txt, the rules that hold the tree to it, the pages that show it.
//
// Threading: pure functions over the files.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tidy/tree.h"

namespace tidy {

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

}  // namespace tidy
