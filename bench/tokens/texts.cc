// SPDX-License-Identifier: Apache-2.0
#include "bench/tokens/texts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string_view>

#include "core/base/bytes.h"

namespace agentd::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 1U << 20;

std::string file_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The files below a folder in the order of their names, as often as it takes.
std::string files(const char* folder, std::string_view suffix) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(AGENTD_SOURCE_DIR) / folder))
    if (entry.path().extension() == suffix) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const fs::path& path : paths) text += file_text(path);
  for (const std::string once = text; text.size() < kBytes && !once.empty();) text += once;
  return std::string(utf8_prefix(text, kBytes));
}

class Maker {
 public:
  explicit Maker(unsigned seed) : engine_(seed) {}

  std::string letter() { return {one_of("abcdefghijklmnopqrstuvwxyz")}; }
  std::string base64() { return {one_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}; }
  std::string json(int depth = 0) {
    switch (below(depth > 3 ? 4 : 6)) {
      case 0:
        return std::to_string(below(100'000));
      case 1:
        return below(2) == 0 ? "true" : "false";
      case 4:
        return "[" + list([&] { return json(depth + 1); }) + "]";
      case 5:
        return "{" + list([&] { return word() + ":" + json(depth + 1); }) + "}";
      default:
        return word();
    }
  }
  // Runs of two to nine characters of a natural text in an order of their own: words and their
  // neighbours are natural, no sentence is there twice.
  std::string run_of(std::string_view text) {
    std::size_t from = below(text.size() - 64);
    while (is_within_character(text[from])) ++from;
    std::size_t to = from;
    for (std::size_t left = 2 + below(8); left > 0; --left) do
        ++to;
      while (is_within_character(text[to]));
    return std::string(text.substr(from, to - from));
  }

 private:
  std::size_t below(std::size_t end) { return engine_() % end; }
  char one_of(std::string_view letters) { return letters[below(letters.size())]; }
  static bool is_within_character(char c) { return (c & 0xC0) == 0x80; }
  std::string list(const std::function<std::string()>& item) {
    std::string out = item();
    for (std::size_t more = below(5); more > 0; --more) out += "," + item();
    return out;
  }
  std::string word() {
    constexpr std::string_view kWords[] = {"path",
                                           "status",
                                           "message",
                                           "tool_call",
                                           "arguments",
                                           "created_at",
                                           "core/a.cc",
                                           "ok",
                                           "a sentence in a value",
                                           "read_file",
                                           "naïve",
                                           "is an error",
                                           "tool_use",
                                           "https://example.org/v1/items?page=2"};
    return "\"" + std::string(kWords[below(std::size(kWords))]) + "\"";
  }

  std::mt19937 engine_;
};

std::string filled(const std::function<std::string()>& next) {
  std::string text;
  while (text.size() < kBytes) text += next();
  return std::string(utf8_prefix(text, kBytes));
}

std::string without(std::string text, std::string_view stop) {
  for (std::size_t at; (at = text.find(stop)) != std::string::npos;) text.erase(at, stop.size());
  return text;
}

}  // namespace

std::vector<Text> texts() {
  Maker maker(12'345);
  const fs::path corpus = fs::path(AGENTD_SOURCE_DIR) / "tests/unit/tokens/corpus";
  const std::string natural = file_text(corpus / "chinese.txt") + file_text(corpus / "japanese.txt");
  std::string unbroken = natural;
  for (const char* stop : {"。", "，", "、", "\n", " ", "「", "」", "：", "；", "？", "！"})
    unbroken = without(std::move(unbroken), stop);
  return {{"prose", files("docs", ".md"), false},
          {"code", files("core", ".cc"), false},
          {"JSON", filled([&] { return maker.json() + "\n"; }), false},
          {"CJK", filled([&] { return maker.run_of(natural); }), false},
          {"CJK without stops", filled([&] { return maker.run_of(unbroken); }), true},
          {"one letter", std::string(kBytes, 'a'), true},
          {"spaces", std::string(kBytes, ' '), true},
          {"random letters", filled([&] { return maker.letter(); }), true},
          {"base64", filled([&] { return maker.base64(); }), true}};
}

}  // namespace agentd::bench
