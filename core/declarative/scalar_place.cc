// SPDX-License-Identifier: Apache-2.0
#include "core/declarative/scalar_place.h"

#include <algorithm>

namespace agentd {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Walks over the source and counts the bytes of the value that it produces.
class Walk {
 public:
  Walk(std::string_view text, const YamlNode& node) : text_(text) {
    for (int line = 1; line < node.value_line && at_ < text_.size(); ++line)
      at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    at_ = std::min(at_ + static_cast<std::size_t>(std::max(node.value_column - 1, 0)), text_.size());
    skip_properties();
  }

  TextPlace place_of(std::size_t offset) {
    const char style = here();
    if (style == '|' || style == '>') {
      in_block(style == '|', offset);
    } else {
      if (style == '"' || style == '\'') ++at_;
      in_flow(style, offset);
    }
    return place();
  }

 private:
  char here(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  // Skips "!!str" and "&anchor" before the value.
  void skip_properties() {
    while (here() == '!' || here() == '&') {
      while (at_ < text_.size() && !is_blank(here()) && here() != '\n') ++at_;
      while (is_blank(here())) ++at_;
    }
  }

  // Skips line ends, empty lines and the indentation after them. One break is a space in the value; of several, each
  // but the first is a line end.
  std::size_t fold() {
    std::size_t breaks = 0;
    while (is_blank(here()) || here() == '\n') {
      if (here() == '\n') ++breaks;
      ++at_;
    }
    return breaks <= 1 ? breaks : breaks - 1;
  }

  bool only_blanks_ahead() const {
    const std::size_t end = text_.find_first_not_of(" \t\r", at_);
    return end != std::string_view::npos && text_[end] == '\n';
  }

  // The number of UTF-8 bytes for an escape such as \x41 or \u00e9; `length` receives the escape's own length.
  std::size_t escaped(std::size_t& length) const {
    const char kind = here(1);
    const std::size_t digits = kind == 'x' ? 2u : kind == 'u' ? 4u : kind == 'U' ? 8u : 0u;
    length = 2 + digits;
    unsigned long code = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char c = here(2 + i);
      code = code * 16 + static_cast<unsigned long>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    if (kind == 'N' || kind == '_') return 2;
    if (kind == 'L' || kind == 'P') return 3;
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }

  // Skips an escaped line end and the indentation after it, which add nothing to the value.
  void skip_joints(char style) {
    while (style == '"' && here() == '\\' && (here(1) == '\n' || (here(1) == '\r' && here(2) == '\n'))) {
      ++at_;
      fold();
    }
  }

  void in_flow(char style, std::size_t offset) {
    skip_joints(style);
    for (std::size_t made = 0; made < offset && at_ < text_.size(); skip_joints(style)) {
      if (here() == '\n' || (is_blank(here()) && only_blanks_ahead())) {
        made += fold();
      } else if (style == '"' && here() == '\\') {
        std::size_t length = 0;
        made += escaped(length);
        at_ = std::min(at_ + length, text_.size());
      } else {
        at_ += style == '\'' && here() == '\'' ? 2u : 1u;
        ++made;
      }
    }
  }

  // The indentation of the first line that is not empty.
  std::size_t indentation() const {
    std::size_t at = at_;
    while (at < text_.size()) {
      const std::size_t content = std::min(text_.find_first_not_of(' ', at), text_.size());
      if (content == text_.size() || (text_[content] != '\n' && text_[content] != '\r')) return content - at;
      at = std::min(text_.find('\n', content), text_.size() - 1) + 1;
    }
    return 0;
  }

  void skip_indentation(std::size_t indentation) {
    for (std::size_t i = 0; i < indentation && here() == ' '; ++i) ++at_;
  }

  void in_block(bool literal, std::size_t offset) {
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    const std::size_t indent = indentation();
    skip_indentation(indent);
    for (std::size_t made = 0; made < offset && at_ < text_.size();) {
      if (here() == '\r' && here(1) == '\n') {
        ++at_;
      } else if (here() == '\n' && !literal) {
        made += fold();
      } else if (here() == '\n') {
        ++at_;
        ++made;
        skip_indentation(indent);
      } else {
        ++at_;
        ++made;
      }
    }
  }

  TextPlace place() const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const std::size_t line_begin = before.rfind('\n');  // npos + 1 is 0
    return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
            1 + static_cast<int>(before.size() - (line_begin + 1))};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

TextPlace place_in_scalar(std::string_view file_text, const YamlNode& node, std::size_t offset) {
  return Walk(file_text, node).place_of(offset);
}

}  // namespace agentd
