// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/json_places.h"

#include <algorithm>
#include <charconv>

namespace agentd {
namespace {

constexpr std::size_t kDepthMax = 8;  // deeper than any handler of a hook

// Walks valid JSON once. The path of the current value grows and shrinks with the nesting.
class Walker {
 public:
  Walker(std::string_view text, std::map<std::string, int, std::less<>>& lines, std::string& twice)
      : text_(text), lines_(lines), twice_(twice) {}

  void value(std::size_t depth) {
    blanks();
    if (depth <= kDepthMax && !lines_.emplace(path_, line_).second && twice_.empty()) twice_ = path_;
    if (at_ >= text_.size()) return;
    if (text_[at_] == '{' || text_[at_] == '[')
      members(text_[at_] == '{', depth);
    else if (text_[at_] == '"')
      string();
    else
      while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) ++at_;
  }

 private:
  void members(bool named, std::size_t depth) {
    ++at_;
    const std::size_t here = path_.size();
    for (std::size_t index = 0;; ++index) {
      blanks();
      if (at_ >= text_.size()) return;
      if (text_[at_] == '}' || text_[at_] == ']') break;
      path_ += '/';
      path_ += named ? std::string(string()) : std::to_string(index);
      blanks();
      if (named && at_ < text_.size()) ++at_;  // ":"
      value(depth + 1);
      path_.resize(here);
      blanks();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    ++at_;
  }

  std::string_view string() {
    const std::size_t from = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2u : 1u;
    const std::size_t end = std::min(at_, text_.size());
    ++at_;
    return text_.substr(from, end - from);
  }

  void blanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return;
    }
  }

  std::string_view text_;
  std::map<std::string, int, std::less<>>& lines_;
  std::string& twice_;
  std::string path_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// One past the comment that begins at `at`; `at` itself if there is none.
std::size_t end_of_comment(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) != "/*") return at;
  const std::size_t end = text.find("*/", at + 2);
  return end == std::string_view::npos ? text.size() : end + 2;
}

}  // namespace

JsonPlaces::JsonPlaces(std::string_view json) { Walker(json, lines_, twice_).value(0); }

int JsonPlaces::line(std::string_view path) const {
  for (;;) {
    const auto found = lines_.find(path);
    if (found != lines_.end()) return found->second;
    if (path.empty()) return 1;
    path = path.substr(0, path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/'));
  }
}

std::string without_comments(std::string_view text) {
  std::string out(text);
  std::size_t comma = std::string::npos;
  for (std::size_t i = 0; i < out.size();) {
    const char c = out[i];
    if (c == '"') {
      for (++i; i < out.size() && out[i] != '"'; ++i)
        if (out[i] == '\\') ++i;
      ++i;
      comma = std::string::npos;
    } else if (const std::size_t end = end_of_comment(out, i); end != i) {
      for (; i < end; ++i)
        if (out[i] != '\n') out[i] = ' ';
    } else {
      if ((c == '}' || c == ']') && comma != std::string::npos) out[comma] = ' ';
      if (c == ',')
        comma = i;
      else if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
        comma = std::string::npos;
      ++i;
    }
  }
  return out;
}

std::string json_mistake(std::string_view path, std::string_view text, std::string_view message) {
  constexpr std::string_view kHead = "bad JSON at byte ";
  std::size_t byte = 0;
  const char* const end = message.data() + message.size();
  if (message.substr(0, kHead.size()) != kHead) return std::string(path) + ": " + std::string(message);
  const auto read = std::from_chars(message.data() + kHead.size(), end, byte);
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return std::string(path) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": bad JSON" +
         std::string(read.ptr, static_cast<std::size_t>(end - read.ptr));
}

}  // namespace agentd
