// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/rooms.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace tidy {
namespace {

namespace fs = std::filesystem;

// Where a library is wrapped; its headers are included nowhere else.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kWrapped{{
    {"rapidjson/", "core/codec/"},
    {"yaml-cpp/", "core/codec/"},
    {"curl/", "core/net/"},
    {"lmdb.h", "core/store/lmdb/"},
    {"spdlog/", "core/base/"},
    {"openssl/", "core/base/"},
    {"boost/asio", "core/serve/"},
    {"boost/beast", "core/serve/"},
    {"boost/dll", "core/bridge/"},
    {"boost/program_options", "core/app/"},
    {"re2/", "core/codec/"},
    {"histedit.h", "core/app/line_editor"},
    {"sqlite3.h", "core/search/"},
}};

// "core/base/x.h" has the room base, "providers/scripted/x.h" the room providers_scripted.
std::string room_of(const std::string& path) {
  const std::size_t first = path.find('/');
  const std::size_t second = path.find('/', first + 1);
  if (second == std::string::npos) return "";
  const std::string top = path.substr(0, first);
  const std::string name = path.substr(first + 1, second - first - 1);
  return top == "core" ? name : top + "_" + name;
}

// Why `from`, a path below the root, may not include `target`; empty when it may.
std::string layer_complaint(const std::string& from, const std::string& include, const Rooms& rooms) {
  const std::string target = include.substr(1);
  const bool quoted = include.front() == '"';
  if (from.starts_with("plugin-api/include/") && !quoted && target != "stddef.h" && target != "stdint.h")
    return "the C headers include stddef.h and stdint.h only, not " + target;
  if (from.starts_with("plugin-api/")) return is_ours(target) ? "plugin-api may not include " + target : "";
  if (!is_ours(target)) {
    // The build writes embedded_NAME.h beside its objects.
    const bool known = target.starts_with("agentd/") || target.starts_with("embedded_");
    return quoted && !known ? "write the path from the root: " + target : "";
  }
  const std::string room = room_of(from), used = room_of(target);
  if (room == used) return "";
  if (rooms.find(room) == nullptr) return "cmake/rooms.txt has no row for " + room;
  return rooms.may(room, used) ? "" : room + " may not include " + target;
}

std::string library_complaint(const std::string& from, const std::string& include) {
  const std::string target = include.substr(1);
  if (target == "regex") return "<regex> is slow to compile and to run: use RE2 or write the few lines";
  for (const auto& [prefix, place] : kWrapped)
    if (target.starts_with(prefix) && !from.starts_with(place)) return target + " is wrapped by " + std::string(place);
  return "";
}

}  // namespace

Rooms Rooms::read(const fs::path& rooms_txt) {
  Rooms rooms;
  for (const std::string& line : lines_of(rooms_txt)) {
    const std::size_t first = line.find(" | "), second = line.find(" | ", first + 1);
    if (line.starts_with('#') || second == std::string::npos) continue;
    Room room{line.substr(0, first), room_of(line.substr(0, first) + "/"), {}, line.substr(second + 3)};
    std::istringstream words(line.substr(first + 3, second - first - 3));
    for (std::string word; words >> word;)
      if (word != "-") room.uses.push_back(word);
    rooms.rows.push_back(std::move(room));
  }
  return rooms;
}

const Room* Rooms::find(const std::string& name) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Room& room) { return room.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

bool Rooms::may(const std::string& room, const std::string& used) const {
  const Room* const row = find(room);
  return row != nullptr && std::find(row->uses.begin(), row->uses.end(), used) != row->uses.end();
}

Findings idle_rows(const fs::path& root, const Rooms& rooms) {
  std::set<std::pair<std::string, std::string>> used;
  for (const fs::path& path : files_of(root, is_code))
    for (const std::string& line : lines_of(path))
      if (const std::string include = included_by(line); !include.empty() && is_ours(include.substr(1)))
        used.emplace(room_of(shown(root, path)), room_of(include.substr(1)));
  Findings found;
  for (const Room& room : rooms.rows)
    for (const std::string& name : room.uses)
      if (!used.contains({room.name, name}))
        found.push_back("cmake/rooms.txt: nothing in " + room.folder + " includes " + name);
  return found;
}

Findings room_cycles(const Rooms& rooms) {
  Findings found;
  for (const Room& room : rooms.rows) {
    std::vector<std::string> todo = room.uses;
    std::set<std::string> seen;
    while (!todo.empty()) {
      const Room* const next = rooms.find(todo.back());
      todo.pop_back();
      if (next == nullptr || !seen.insert(next->name).second) continue;
      todo.insert(todo.end(), next->uses.begin(), next->uses.end());
    }
    if (seen.contains(room.name)) found.push_back("cmake/rooms.txt: " + room.folder + " reaches itself");
  }
  return found;
}

std::string layers_page(const Rooms& rooms) {
  constexpr std::size_t kIndent = 25, kWidth = 100;
  std::string out;
  for (const Room& room : rooms.rows) {
    std::string line = room.folder;
    line.resize(kIndent, ' ');
    if (room.uses.empty()) line += "- ";
    for (const std::string& used : room.uses) {
      if (line.size() + used.size() > kWidth) {
        out += line.substr(0, line.size() - 1) + "\n";
        line.assign(kIndent, ' ');
      }
      line += used + " ";
    }
    out += line.substr(0, line.size() - 1) + "\n";
  }
  return out;
}

std::string readme_page(const Rooms& rooms, const std::string& top) {
  std::string out;
  for (const Room& room : rooms.rows)
    if (room.folder.starts_with(top + "/"))
      out += "- `" + room.folder.substr(top.size() + 1) + "/` " + room.purpose + "\n";
  return out;
}

Findings layer_breaks(const fs::path& root, const Rooms& rooms) {
  Findings found;
  for (const fs::path& path : files_of(root, is_code)) {
    const std::string from = shown(root, path);
    if (from.starts_with("tests/") || from.starts_with("bench/")) continue;
    const std::vector<std::string> lines = lines_of(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string include = included_by(lines[i]);
      if (include.empty()) continue;
      for (const std::string& wrong : {layer_complaint(from, include, rooms), library_complaint(from, include)})
        if (!wrong.empty()) found.push_back(from + ":" + std::to_string(i + 1) + ": " + wrong);
    }
  }
  return found;
}

}  // namespace tidy
