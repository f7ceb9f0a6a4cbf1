// SPDX-License-Identifier: Apache-2.0
#include "plugins/web_fetch/page.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "plugins/web_fetch/html_library.h"

namespace web_fetch {
namespace {

using agentd::Result;

constexpr int kDepthMax = 300;             // of nested elements; libxml2 itself stops at 256
constexpr std::size_t kMainBytes = 200;    // a main part with less is not the page's text
constexpr std::size_t kUrlShownMax = 500;  // a longer link is only noise

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view name_of(const xmlNode& node) {
  return node.type == XML_ELEMENT_NODE && node.name != nullptr ? reinterpret_cast<const char*>(node.name) : "";
}

std::string_view content_of(const xmlNode* node) {
  return node == nullptr || node->content == nullptr ? "" : reinterpret_cast<const char*>(node->content);
}

std::string attribute(const xmlNode& node, std::string_view name) {
  for (const xmlAttr* each = node.properties; each != nullptr; each = each->next) {
    if (name != reinterpret_cast<const char*>(each->name)) continue;
    std::string out;
    for (const xmlNode* part = each->children; part != nullptr; part = part->next) out += content_of(part);
    return out;
  }
  return {};
}

bool is_dropped(std::string_view name) {
  return is_one_of(name, {"script", "style", "noscript", "template", "svg",    "math",  "head",     "nav",
                          "footer", "aside", "form",     "button",   "select", "input", "textarea", "iframe",
                          "object", "embed", "canvas",   "audio",    "video",  "dialog"});
}

bool is_block(std::string_view name) {
  return is_one_of(name,
                   {"p",       "div", "section", "article",    "main",    "header",  "ul",         "ol",      "dl",
                    "dt",      "dd",  "table",   "tr",         "thead",   "tbody",   "tfoot",      "caption", "figure",
                    "address", "hr",  "body",    "blockquote", "details", "summary", "figcaption", "fieldset"});
}

// The first element of that name, in document order; null if there is none.
const xmlNode* find(const xmlNode* node, std::string_view name, int depth = 0) {
  for (; node != nullptr && depth < kDepthMax; node = node->next) {
    if (name_of(*node) == name) return node;
    if (const xmlNode* const below = find(node->children, name, depth + 1)) return below;
  }
  return nullptr;
}

// Stops at the first element that ends a line. `text`: something is there to read.
bool stays_in_line(const xmlNode& node, bool* text, int depth) {
  for (const xmlNode* each = node.children; each != nullptr; each = each->next) {
    const std::string_view name = name_of(*each);
    if (each->type == XML_TEXT_NODE) *text = *text || !agentd::is_blank(content_of(each));
    if (name.empty() || is_dropped(name)) continue;
    if (is_block(name) || is_one_of(name, {"br", "pre", "li", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6"}) ||
        depth >= kDepthMax || !stays_in_line(*each, text, depth + 1))
      return false;
  }
  return true;
}

bool is_text_of_a_line(const xmlNode& node) {
  bool text = false;
  return stays_in_line(node, &text, 0) && text;
}

// Writes elements as Markdown.
class Writer {
 public:
  explicit Writer(std::string_view url) : url_(url) {}

  void children(const xmlNode& node, int depth = 0) {
    if (depth >= kDepthMax) return;
    for (const xmlNode* each = node.children; each != nullptr; each = each->next) {
      if (each->type == XML_TEXT_NODE)
        text(content_of(each));
      else if (each->type == XML_ELEMENT_NODE)
        element(*each, depth + 1);
    }
  }
  std::string take() {
    while (!out_.empty() && (out_.back() == '\n' || out_.back() == ' ')) out_.pop_back();
    return std::move(out_);
  }

 private:
  struct List {
    bool ordered;
    int number = 0;
  };

  void text(std::string_view text) {
    if (literal_) return raw(text);
    for (const char c : text) {
      const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
      if (space)
        gap_ = true;
      else
        put(c);
    }
  }
  void raw(std::string_view text) {
    for (const char c : text) c == '\n' ? line() : put(c);
  }
  // A character, after the line ends and the gap that are due.
  void put(char c) {
    begin();
    if (gap_ && !literal_ && !opened_ && !line_begins_) out_ += ' ';
    gap_ = opened_ = line_begins_ = false;
    out_ += c;
  }
  // Starts the line, if none is open.
  void begin() {
    if (breaks_ == 0 && !out_.empty()) return;
    if (!out_.empty()) {
      out_ += '\n';
      if (breaks_ > 1) out_ += blank_ + '\n';
    }
    breaks_ = 0;
    gap_ = false;
    line_begins_ = true;
    out_ += prefix_;
  }
  void mark(std::string_view text) {
    for (const char c : text) put(c);
  }
  // Opening marks stand behind the gap, closing ones before it.
  void close(std::string_view text) {
    const bool gap = std::exchange(gap_, false);
    out_ += text;
    gap_ = gap;
  }
  void line() {
    if (literal_) {
      begin();
      out_ += '\n' + prefix_;
    } else {
      breaks_ = std::max(breaks_, 1);
    }
  }
  // The empty line belongs to the outer one of the elements that meet at it.
  void paragraph() {
    std::string bare = prefix_;
    while (bare.ends_with(' ')) bare.pop_back();
    if (breaks_ < 2 || bare.size() < blank_.size()) blank_ = bare;
    breaks_ = 2;
  }

  void element(const xmlNode& node, int depth) {
    const std::string_view name = name_of(node);
    if (is_dropped(name) || attribute(node, "hidden") == "hidden" || attribute(node, "aria-hidden") == "true") return;
    if (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6')
      return heading(node, name[1] - '0', depth);
    if (name == "br") return line();
    if (name == "hr") return rule();
    if (name == "a") return link(node, depth);
    if (name == "img") return image(node);
    if (name == "pre") return code_block(node, depth);
    if (is_one_of(name, {"code", "kbd", "samp", "tt"})) return marked(node, "`", depth);
    if (is_one_of(name, {"b", "strong"})) return marked(node, "**", depth);
    if (is_one_of(name, {"i", "em"})) return marked(node, "*", depth);
    if (is_one_of(name, {"ul", "ol"})) return list(node, name == "ol", depth);
    if (name == "li") return item(node, depth);
    if (name == "blockquote") return quote(node, depth);
    if (is_one_of(name, {"td", "th"})) return cell(node, depth);
    const bool block = is_block(name);
    if (block) name == "tr" || name == "dd" || name == "dt" ? line() : paragraph();
    children(node, depth);
    if (block) name == "tr" || name == "dd" || name == "dt" ? line() : paragraph();
  }

  void heading(const xmlNode& node, int level, int depth) {
    paragraph();
    mark(std::string(static_cast<std::size_t>(level), '#'));
    gap_ = true;
    children(node, depth);
    paragraph();
  }
  void rule() {
    paragraph();
    mark("---");
    paragraph();
  }
  void marked(const xmlNode& node, std::string_view sign, int depth) { around(node, sign, sign, depth); }
  void link(const xmlNode& node, int depth) {
    const std::string href = attribute(node, "href"), to = resolved_url(url_, href);
    const bool shown = (to.starts_with("http://") || to.starts_with("https://")) && to.size() <= kUrlShownMax &&
                       !href.empty() && !href.starts_with('#') && !literal_;
    shown ? around(node, "[", "](" + to + ")", depth) : children(node, depth);
  }
  // The element's text between two signs, if it is a text within a line.
  void around(const xmlNode& node, std::string_view opening, std::string_view closing, int depth) {
    if (literal_ || (within_ == 0 && !is_text_of_a_line(node))) return children(node, depth);
    mark(opening);
    opened_ = true;
    ++within_;
    children(node, depth);
    --within_;
    opened_ = false;
    close(closing);
  }
  void image(const xmlNode& node) {
    const std::string alt = agentd::one_line(attribute(node, "alt"), kUrlShownMax);
    if (!agentd::is_blank(alt)) text("[image: " + alt + "]");
  }
  void code_block(const xmlNode& node, int depth) {
    paragraph();
    mark("```");
    out_ += '\n' + prefix_;
    literal_ = true;
    children(node, depth);
    literal_ = false;
    while (out_.ends_with('\n' + prefix_)) out_.resize(out_.size() - prefix_.size() - 1);
    out_ += '\n' + prefix_ + "```";
    paragraph();
  }
  void list(const xmlNode& node, bool ordered, int depth) {
    lists_.empty() ? paragraph() : line();
    lists_.push_back({ordered});
    children(node, depth);
    lists_.pop_back();
    lists_.empty() ? paragraph() : line();
  }
  void item(const xmlNode& node, int depth) {
    line();
    const bool ordered = !lists_.empty() && lists_.back().ordered;
    const std::string sign = ordered ? std::to_string(++lists_.back().number) + "." : "-";
    mark(sign);
    gap_ = true;
    const std::size_t before = prefix_.size();
    prefix_.append(sign.size() + 1, ' ');
    children(node, depth);
    prefix_.resize(before);
    line();
  }
  void quote(const xmlNode& node, int depth) {
    paragraph();
    const std::size_t before = prefix_.size();
    prefix_ += "> ";
    children(node, depth);
    prefix_.resize(before);
    paragraph();
  }
  void cell(const xmlNode& node, int depth) {
    Writer inner(url_);
    inner.children(node, depth);
    std::string text = inner.take();
    std::replace(text.begin(), text.end(), '\n', ' ');
    if (breaks_ == 0 && !out_.empty()) close(" |");
    gap_ = true;
    mark(text);
  }

  const std::string_view url_;
  std::string out_, prefix_, blank_;  // blank_: the prefix of the empty line that is due
  std::vector<List> lists_;
  int breaks_ = 0;  // line ends before the next character: 2 = an empty line
  int within_ = 0;  // elements of around()
  bool gap_ = false, literal_ = false, line_begins_ = true;
  bool opened_ = false;  // right behind an opening sign
};

std::string text_of(const xmlNode& node, std::string_view url) {
  Writer writer(url);
  writer.children(node);
  return writer.take();
}

std::string text_of_page(const xmlNode& root, std::string_view url) {
  for (const char* const name : {"main", "article"})
    if (const xmlNode* const part = find(&root, name)) {
      std::string text = text_of(*part, url);
      if (text.size() >= kMainBytes) return text;
    }
  const xmlNode* const body = find(&root, "body");
  return text_of(body == nullptr ? root : *body, url);
}

}  // namespace

Result<Page> readable(std::string_view html, std::string_view charset, std::string_view url) {
  AGENTD_TRY(const HtmlLibrary* const library, HtmlLibrary::load());
  const std::string named = !charset.empty() ? std::string(charset) : agentd::is_utf8(html) ? "UTF-8" : "";
  const auto parse = [&](const char* encoding) {
    return library->read(html.data(), static_cast<int>(html.size()), nullptr, encoding,
                         HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET);
  };
  std::unique_ptr<xmlDoc, decltype(library->free_document)> document(parse(named.empty() ? nullptr : named.c_str()),
                                                                     library->free_document);
  if (document == nullptr) document.reset(parse(nullptr));  // the name of the charset is unknown
  const xmlNode* const root = document == nullptr ? nullptr : library->root(document.get());
  if (root == nullptr) return Page{};
  Page out;
  if (const xmlNode* const title = find(root, "title"))
    out.title = agentd::one_line(text_of(*title, url), kUrlShownMax);
  std::string base(url);
  if (const xmlNode* const element = find(root, "base"))
    if (const std::string href = attribute(*element, "href"); !href.empty()) base = resolved_url(url, href);
  out.text = agentd::to_utf8(text_of_page(*root, base));
  return out;
}

std::string in_utf8(std::string_view text, std::string_view charset) {
  if (charset.empty() || agentd::is_utf8(text)) return agentd::to_utf8(text);
  const iconv_t made = ::iconv_open("UTF-8", std::string(charset).c_str());
  if (made == reinterpret_cast<iconv_t>(-1)) return agentd::to_utf8(text);
  std::string out;
  std::string in(text);
  char* from = in.data();
  std::size_t left = in.size();
  char piece[4096];
  while (left != 0) {
    char* to = std::begin(piece);
    std::size_t room = sizeof piece;
    const std::size_t done = ::iconv(made, &from, &left, &to, &room);
    out.append(std::begin(piece), to);
    if (done != static_cast<std::size_t>(-1) || errno == E2BIG) continue;
    out += "\xEF\xBF\xBD";
    ++from;
    --left;
  }
  ::iconv_close(made);
  return agentd::to_utf8(out);
}

std::string resolved_url(std::string_view base, std::string_view reference) {
  while (!reference.empty() && static_cast<unsigned char>(reference.front()) <= ' ') reference.remove_prefix(1);
  while (!reference.empty() && static_cast<unsigned char>(reference.back()) <= ' ') reference.remove_suffix(1);
  reference = reference.substr(0, reference.find('#'));
  const std::string_view plain = base.substr(0, base.find('#'));
  if (reference.empty()) return std::string(plain);
  const std::size_t colon = reference.find_first_of(":/?");
  if (colon != std::string_view::npos && colon != 0 && reference[colon] == ':') return std::string(reference);
  const std::size_t host = plain.find("://");
  if (host == std::string_view::npos) return std::string(reference);
  if (reference.starts_with("//")) return std::string(plain.substr(0, host + 1)) + std::string(reference);
  const std::size_t path = std::min(plain.find_first_of("/?", host + 3), plain.size());
  if (reference.front() == '/') return std::string(plain.substr(0, path)) + std::string(reference);
  const std::size_t query = std::min(plain.find('?', path), plain.size());
  if (reference.front() == '?') return std::string(plain.substr(0, query)) + std::string(reference);
  const std::size_t slash = plain.substr(0, query).rfind('/');
  if (slash < path || slash == std::string_view::npos)
    return std::string(plain.substr(0, path)) + "/" + std::string(reference);
  return std::string(plain.substr(0, slash + 1)) + std::string(reference);
}

}  // namespace web_fetch
