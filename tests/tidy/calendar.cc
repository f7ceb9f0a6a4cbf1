// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/calendar.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kList = "tests/calendar/dates.txt";
constexpr std::string_view kRule = ": give it a row with its test in tests/calendar/dates.txt";

constexpr std::array<std::string_view, 11> kReaders = {
    "system_clock", "utc_clock",     "time(nullptr)", "time(NULL)",     "time(0)",         "time(&",
    "utc_day(",     "gettimeofday(", "timespec_get(", "CLOCK_REALTIME", "X509_gmtime_adj("};
// A test that has a clock of its own asks it as well.
constexpr std::string_view kAsked = "wall_ms()", kMachines = "SystemClock";

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// True for the word itself, not as a part of a longer name.
bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::string_view after = line.substr(at + word.size());
    const bool begins = at == 0 || (!is_name(line[at - 1]) && line[at - 1] != '"');
    if (begins && (!is_name(word.back()) || after.empty() || !is_name(after.front()))) return true;
  }
  return false;
}

bool asks_a_clock(std::string_view line) {
  const std::size_t at = line.find(kAsked);
  return at != std::string_view::npos && at != 0 && (line[at - 1] == '.' || line[at - 1] == '>');
}

// "gpt-5" of "gpt-5-2025-08-07" and not of "gpt-5.1" or "my-gpt-5".
bool names_model(std::string_view line, std::string_view model) {
  for (std::size_t at = line.find(model); at != std::string_view::npos; at = line.find(model, at + 1)) {
    const std::string_view after = line.substr(at + model.size());
    const bool begins = at == 0 || (!is_name(line[at - 1]) && line[at - 1] != '-');
    if (begins && (after.empty() || (!is_name(after.front()) && after.front() != '.'))) return true;
  }
  return false;
}

// The models with a last day, but for names that are too short to be told from other text.
std::vector<std::string> retiring_models(const fs::path& root) {
  constexpr std::string_view kPattern = "{\"pattern\": \"";
  std::vector<std::string> out;
  for (const std::string& line : lines_of(root / "core/tokens/models.json")) {
    const std::size_t at = line.find(kPattern);
    if (at == std::string::npos || line.find("\"retires\"") == std::string::npos) continue;
    std::string name = line.substr(at + kPattern.size());
    name.resize(name.find('"'));
    if (name.size() > 3) out.push_back(std::move(name));
  }
  return out;
}

struct Reading {
  std::size_t line = 0;
  std::string what;
};

std::optional<Reading> first_reading(const fs::path& path, bool is_test, const std::vector<std::string>& retiring) {
  const std::string whole = text_of(path);
  const bool asks = !is_test || whole.find(kMachines) != std::string::npos;
  const bool drives = is_test && whole.find("\"tests/e2e/program.h\"") != std::string::npos;
  const std::vector<std::string> lines = lines_of(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view code = std::string_view(lines[i]).substr(0, lines[i].find("// "));
    for (const std::string_view word : kReaders)
      if (has_word(code, word)) return Reading{i + 1, "reads the date (" + std::string(word) + ")"};
    if (asks && asks_a_clock(code)) return Reading{i + 1, "reads the date (" + std::string(kAsked) + ")"};
    if (!drives) continue;
    for (const std::string& model : retiring)
      if (names_model(code, model)) return Reading{i + 1, "names the model " + model + ", which retires"};
  }
  return std::nullopt;
}

bool is_searched(const std::string& name) {
  return !name.starts_with("bench/") && !name.starts_with("tests/tidy/") && !name.starts_with("tests/fuzz/");
}

// The files of tests with a test of that name; "*" = any of the suite.
std::vector<std::string> places_of(const std::map<std::string, std::string>& tests, std::string_view suite,
                                   std::string_view name) {
  std::vector<std::string> out;
  const std::string wanted = "(" + std::string(suite) + ", " + (name == "*" ? std::string() : std::string(name) + ")");
  for (const auto& [path, text] : tests)
    for (const std::string_view macro : {"\nTEST", "\nTEST_F", "\nTEST_P"})
      if (text.find(std::string(macro) + wanted) != std::string::npos) out.push_back(path);
  return out;
}

// True if the file is built into the program: unit_ROOM has a folder, the others a list of sources.
bool is_of(const fs::path& root, const std::string& program, const std::string& file) {
  if (program.starts_with("unit_")) return file.starts_with("tests/unit/" + program.substr(5) + "/");
  const fs::path path(file);
  const std::string text = text_of(root / path.parent_path() / "CMakeLists.txt");
  for (const std::string_view call : {"e2e_suite(", "add_executable("}) {
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      const std::string body = text.substr(at + call.size(), text.find(')', at) - at - call.size());
      const bool is_its = body.starts_with(program) && body.size() > program.size() && !is_name(body[program.size()]);
      if (is_its && body.find(path.filename().string()) != std::string::npos) return true;
    }
  }
  return false;
}

std::vector<std::string> split(std::string_view text, std::string_view between) {
  std::vector<std::string> out;
  for (std::size_t end = text.find(between); end != std::string_view::npos; end = text.find(between)) {
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + between.size());
  }
  out.emplace_back(text);
  return out;
}

}  // namespace

Findings unlisted_dates(const fs::path& root) {
  std::map<std::string, Reading> readers;
  std::map<std::string, std::string> tests;
  const std::vector<std::string> retiring = retiring_models(root);
  for (const fs::path& path : files_of(root, is_code)) {
    const std::string name = shown(root, path);
    const bool is_test = name.starts_with("tests/");
    if (is_test) tests[name] = text_of(path);
    if (!is_searched(name)) continue;
    if (auto found = first_reading(path, is_test, retiring)) readers.emplace(name, std::move(*found));
  }
  Findings out;
  const std::vector<std::string> lines = lines_of(root / kList);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].front() == '#') continue;
    const std::string place = std::string(kList) + ":" + std::to_string(i + 1) + ": ";
    const std::vector<std::string> row = split(lines[i], " | ");
    if (row.size() != 3) {
      out.push_back(place + "a row is SOURCE | PROGRAM | TESTS");
      continue;
    }
    if (readers.erase(row[0]) == 0) out.push_back(place + row[0] + " reads no date: remove the row, or a second one");
    for (const std::string& test : split(row[2], ":")) {
      const std::vector<std::string> parts = split(test, ".");
      const auto found = parts.size() == 2 ? places_of(tests, parts[0], parts[1]) : std::vector<std::string>();
      if (std::none_of(found.begin(), found.end(), [&](const auto& file) { return is_of(root, row[1], file); }))
        out.push_back(place + row[1] + " has no test " + test);
    }
  }
  for (const auto& [name, reading] : readers)
    out.push_back(name + ":" + std::to_string(reading.line) + ": " + reading.what + std::string(kRule));
  return out;
}

}  // namespace tidy
