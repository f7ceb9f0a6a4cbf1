// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/rules.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFolders{"core", "plugins", "providers", "plugin-api", "tests", "bench"};
constexpr std::size_t kLinesMax = 1'000;
constexpr std::size_t kColumnsMax = 120;

// Where a library is wrapped; its headers are included nowhere else.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWrapped{{
    {"rapidjson/", "core/codec/"},
    {"yaml-cpp/", "core/codec/"},
    {"curl/", "core/net/"},
    {"lmdb.h", "core/store/lmdb/"},
    {"spdlog/", "core/base/"},
    {"openssl/", "core/base/"},
    {"boost/dll", "core/bridge/"},
    {"boost/program_options", "core/app/"},
    {"re2/", "core/codec/"},
    {"histedit.h", "core/app/line_editor"},
}};

bool has_suffix(const fs::path& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const char* suffix) { return path.extension() == suffix; });
}
bool is_code(const fs::path& path) { return has_suffix(path, {".h", ".hpp", ".c", ".cc", ".cpp"}); }
bool is_cpp(const fs::path& path) { return has_suffix(path, {".h", ".hpp", ".cc", ".cpp"}); }

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string shown(const fs::path& root, const fs::path& path) { return path.lexically_relative(root).generic_string(); }

// Every file of the project's own folders, in order.
std::vector<fs::path> files_of(const fs::path& root, bool (*wanted)(const fs::path&)) {
  std::vector<fs::path> found;
  for (const char* folder : kFolders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && wanted(entry.path())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Findings each_line(const fs::path& root, bool (*wanted)(const fs::path&),
                   const std::function<std::string(const std::string&)>& complaint) {
  Findings found;
  for (const fs::path& path : files_of(root, wanted)) {
    const std::vector<std::string> lines = lines_of(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string wrong = complaint(lines[i]);
      if (!wrong.empty()) found.push_back(shown(root, path) + ":" + std::to_string(i + 1) + ": " + wrong);
    }
  }
  return found;
}

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// What a line includes, with '<' or '"' before it; empty for other lines.
std::string included_by(const std::string& line) {
  std::size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return "";
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return "";
  at = line.find_first_of("<\"", at);
  if (at == std::string::npos) return "";
  return line.substr(at, line.find_first_of(">\"", at + 1) - at);
}

// "core/base/x.h" has the room base, "providers/scripted/x.h" the room providers_scripted.
std::string room_of(const std::string& path) {
  const std::size_t first = path.find('/');
  const std::size_t second = path.find('/', first + 1);
  if (second == std::string::npos) return "";
  const std::string top = path.substr(0, first);
  const std::string name = path.substr(first + 1, second - first - 1);
  return top == "core" ? name : top + "_" + name;
}

bool is_ours(const std::string& target) {
  return target.starts_with("core/") || target.starts_with("providers/") || target.starts_with("plugins/") ||
         target.starts_with("tests/") || target.starts_with("bench/");
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

Findings missing_licenses(const fs::path& root) {
  Findings found;
  const auto wanted = [](const fs::path& path) {
    return is_code(path) || path.filename() == "CMakeLists.txt" || path.extension() == ".cmake";
  };
  for (const fs::path& path : files_of(root, wanted)) {
    const std::vector<std::string> lines = lines_of(path);
    if (lines.empty() || lines[0].find("SPDX-License-Identifier: Apache-2.0") == std::string::npos)
      found.push_back(shown(root, path) + ":1: the first line must be the SPDX license identifier");
  }
  return found;
}

Findings missing_guards(const fs::path& root) {
  Findings found;
  const auto wanted = [](const fs::path& path) {
    return has_suffix(path, {".h", ".hpp"}) && path.generic_string().find("plugin-api/include/") == std::string::npos;
  };
  for (const fs::path& path : files_of(root, wanted)) {
    const std::vector<std::string> lines = lines_of(path);
    const bool is_c = !lines.empty() && lines[0].starts_with("/*");
    if (!is_c && std::find(lines.begin(), lines.end(), "#pragma once") == lines.end())
      found.push_back(shown(root, path) + ":2: #pragma once is missing");
  }
  return found;
}

Findings long_files(const fs::path& root) {
  Findings found;
  for (const fs::path& path : files_of(root, is_code)) {
    const std::size_t lines = lines_of(path).size();
    if (lines > kLinesMax)
      found.push_back(shown(root, path) + ":1: " + std::to_string(lines) + " lines, more than 1,000");
  }
  return found;
}

Findings long_lines(const fs::path& root) {
  return each_line(root, is_cpp, [](const std::string& line) {
    const std::size_t columns = columns_of(line);
    return columns > kColumnsMax ? std::to_string(columns) + " columns" : std::string();
  });
}

Findings leftovers(const fs::path& root) {
  // Written in two pieces, so that this file does not find itself.
  const std::string notes[] = {std::string("FIX") + "ME", std::string("TO") + "DO", std::string("XX") + "X:"};
  return each_line(root, is_code, [&](const std::string& line) {
    for (const std::string& note : notes)
      if (line.find(note) != std::string::npos) return "do it, or write down why not: " + note;
    return std::string();
  });
}

// A CMakeLists.txt, or a script that one runs.
static bool is_named_in(const fs::path& folder, const fs::path& source) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != "CMakeLists.txt" && entry.path().extension() != ".sh") continue;
    const std::string text = text_of(entry.path());
    if (text.find(source.filename().string()) != std::string::npos ||
        text.find(source.stem().string()) != std::string::npos || text.find("GLOB") != std::string::npos)
      return true;
  }
  return false;
}

Findings unregistered_tests(const fs::path& root) {
  Findings found;
  const auto wanted = [](const fs::path& path) { return has_suffix(path, {".cc", ".cpp"}); };
  for (const fs::path& path : files_of(root, wanted)) {
    if (!shown(root, path).starts_with("tests/")) continue;
    bool named = false;
    for (fs::path at = path.parent_path(); !named && at != root; at = at.parent_path()) named = is_named_in(at, path);
    if (!named) found.push_back(shown(root, path) + ":1: no CMakeLists.txt names this file");
  }
  return found;
}

Findings unlisted_folders(const fs::path& root) {
  Findings found;
  for (const char* top : {"core", "plugins", "providers", "tests", "bench"}) {
    if (!fs::is_directory(root / top)) continue;
    const std::string readme = "\n" + text_of(root / top / "README.md");
    for (const auto& entry : fs::directory_iterator(root / top)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && readme.find("\n- `" + name + "/`") == std::string::npos)
        found.push_back(std::string(top) + "/README.md:1: no line for " + name + "/");
    }
  }
  return found;
}

}  // namespace tidy
