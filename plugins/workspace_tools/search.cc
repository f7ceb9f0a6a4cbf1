// SPDX-License-Identifier: Apache-2.0
// search.cc - the tools glob and grep.

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/regex.h"
#include "plugins/workspace_tools/pattern.h"
#include "plugins/workspace_tools/text.h"
#include "plugins/workspace_tools/walk.h"
#include "plugins/workspace_tools/workspace_tools.h"

namespace workspace_tools {
namespace {

constexpr std::int64_t kGlobLimit = 100;
constexpr std::int64_t kGlobLimitMax = 1'000;
constexpr std::int64_t kContextMax = 50;
constexpr std::int64_t kGrepLimit = 200;
constexpr std::int64_t kGrepLimitMax = 5'000;
constexpr std::uint64_t kSearchedBytesMax = 16u << 20;
constexpr std::uint64_t kSearchBytesMax = 512u << 20;  // per call, which keeps everything read in memory

constexpr std::string_view kTypes =
    "c, cpp, cs, css, go, html, java, js, json, kotlin, lua, markdown, php, python, ruby, rust, shell, sql, swift, ts, "
    "xml, yaml";

constexpr Key kGlobKeys[] = {{"pattern", Key::Type::kFilledText, true},
                             {"path", Key::Type::kFilledText},
                             {"include_ignored", Key::Type::kBoolean},
                             {"limit", Key::Type::kInteger, false, 1, kGlobLimitMax}};
constexpr Key kGrepKeys[] = {{"pattern", Key::Type::kFilledText, true},
                             {"path", Key::Type::kFilledText},
                             {"glob", Key::Type::kFilledText},
                             {"type", Key::Type::kChoice, false, 0, 0, kTypes},
                             {"ignore_case", Key::Type::kBoolean},
                             {"include_ignored", Key::Type::kBoolean},
                             {"output_mode", Key::Type::kChoice, false, 0, 0, "files, content, count"},
                             {"context", Key::Type::kInteger, false, 0, kContextMax},
                             {"before", Key::Type::kInteger, false, 0, kContextMax},
                             {"after", Key::Type::kInteger, false, 0, kContextMax},
                             {"limit", Key::Type::kInteger, false, 1, kGrepLimitMax}};

// The names of files of a type, as a glob; one row for each name of kTypes.
struct TypeRow {
  std::string_view name, glob;
};
constexpr TypeRow kTypeRows[] = {{"c", "**/*.{c,h}"},
                                 {"cpp", "**/*.{cc,cpp,cxx,c++,h,hh,hpp,hxx,h++,inl,ipp,tpp}"},
                                 {"cs", "**/*.cs"},
                                 {"css", "**/*.{css,scss,sass,less}"},
                                 {"go", "**/{*.go,go.mod}"},
                                 {"html", "**/*.{html,htm,xhtml}"},
                                 {"java", "**/*.java"},
                                 {"js", "**/*.{js,jsx,mjs,cjs}"},
                                 {"json", "**/*.{json,jsonl}"},
                                 {"kotlin", "**/*.{kt,kts}"},
                                 {"lua", "**/*.lua"},
                                 {"markdown", "**/*.{md,markdown,mdx}"},
                                 {"php", "**/*.php"},
                                 {"python", "**/*.{py,pyi}"},
                                 {"ruby", "**/{*.rb,*.rake,Rakefile,Gemfile}"},
                                 {"rust", "**/*.rs"},
                                 {"shell", "**/*.{sh,bash,zsh,ksh}"},
                                 {"sql", "**/*.sql"},
                                 {"swift", "**/*.swift"},
                                 {"ts", "**/*.{ts,tsx,mts,cts}"},
                                 {"xml", "**/*.{xml,xsd,xsl,xslt,svg}"},
                                 {"yaml", "**/*.{yaml,yml}"}};

std::string not_read(std::uint64_t count) {
  if (count == 0) return {};
  return "[" + (count == 1 ? "1 file or folder" : std::to_string(count) + " files or folders") +
         " could not be read, as permissions do not allow it]\n";
}

struct Hit {
  std::string path;
  std::int64_t modified_ns = 0;
};

void newest_first(std::vector<Hit>& hits) {
  std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.modified_ns > b.modified_ns; });
}

std::string paths_of(const std::vector<Hit>& hits, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(hits.size(), most); ++i) out += shortened(hits[i].path) + "\n";
  if (hits.size() > most)
    out += "[" + agentd::counted(hits.size() - most, "more file") + ": narrow the pattern or the path]\n";
  return out;
}

std::string ended_early(std::string_view why, std::string_view narrow) {
  return "[the search ended early, since " + std::string(why) + "; there may be more: narrow " + std::string(narrow) +
         "]\n";
}

std::string left_out(std::uint64_t withheld) {
  if (withheld == 0) return {};
  return "[" + agentd::counted(withheld, "path") + " left out by permission rules]\n";
}

// The file itself is kept from this call: its folder says so.
bool is_withheld(const agentd::context& c, const agentd::workspace& files, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const auto listing = files.list(c, folder, 1);
  if (!listing) return false;
  return std::any_of(listing->entries.begin(), listing->entries.end(), [&](agentd::file_entry_view entry) {
    return entry.is_withheld() && entry.path() == std::string_view(path).substr(slash + 1);
  });
}

enum class Mode { kFiles, kContent, kCount };

// The mode that the tool's input names; its schema has checked the name.
Mode mode_of(std::string_view name) {
  return name == "content" ? Mode::kContent : name == "count" ? Mode::kCount : Mode::kFiles;
}

// A grep's request and its results so far.
class Search {
 public:
  Search(const Input& input, agentd::Regex expression, const agentd::context& c, const agentd::workspace& files)
      : c_(c),
        files_(files),
        expression_(std::move(expression)),
        mode_(mode_of(input.text("output_mode", "files"))),
        before_(static_cast<std::size_t>(input.integer("before", input.integer("context", 0)))),
        after_(static_cast<std::size_t>(input.integer("after", input.integer("context", 0)))),
        limit_(static_cast<std::size_t>(input.integer("limit", kGrepLimit))) {
    const std::string_view glob = input.text("glob");
    const bool name_only = glob.find('/') == std::string_view::npos;
    if (!glob.empty()) filters_.emplace_back((name_only ? "**/" : "") + std::string(glob));
    for (const TypeRow& row : kTypeRows)
      if (row.name == input.text("type")) filters_.emplace_back(row.glob);
  }

  // Returns false when more than enough was found.
  bool file(const FoundFile& found) {
    for (const Glob& filter : filters_)
      if (!filter.matches(found.below)) return true;
    if (found.bytes > kSearchedBytesMax) {
      ++too_big_;
      return true;
    }
    if (searched_ + found.bytes > kSearchBytesMax) {
      exhausted_ = true;
      return false;
    }
    const auto content = files_.read(c_, found.path, 0, kSearchedBytesMax);
    if (content.status() == AGENTD_E_DENIED) ++unreadable_;
    if (!content || is_binary(content->bytes)) return true;
    searched_ += content->bytes.size();
    std::size_t start = 0, end = 0;
    // The text that may be shown is made of those files alone that match.
    if (next_line(content->bytes, 0, &start, &end))
      if (const auto shown = files_.view(c_, found.path, kSearchedBytesMax)) search(found, shown->text);
    return !more_;
  }

  // Files that their permissions keep from being searched.
  std::uint64_t unreadable() const { return unreadable_; }

  std::string result(std::string_view incomplete) {
    std::string out;
    if (mode_ == Mode::kFiles) newest_first(files_hit_);
    out = mode_ == Mode::kFiles ? paths_of(files_hit_, limit_) : std::move(text_);
    if (out.empty()) out = "(no match)\n";
    if (more_)
      out +=
          "[there are more: stopped after " + std::to_string(limit_) + " results: narrow the search or raise limit]\n";
    if (too_big_ != 0) out += "[" + agentd::counted(too_big_, "file") + " over 16 MiB not searched]\n";
    if (exhausted_) incomplete = "its files are too large together";
    if (!incomplete.empty()) out += ended_early(incomplete, "path or glob");
    return out;
  }

 private:
  bool full() const { return results_ >= limit_; }

  // The next matching line at or after `from`; false if there is none.
  bool next_line(std::string_view text, std::size_t from, std::size_t* start, std::size_t* end) const {
    const auto match = expression_.find(text, from);
    if (!match || match->at >= text.size()) return false;  // none, or an empty match after the last line
    const std::size_t at = match->at;
    *start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    *end = std::min(text.find('\n', at), text.size());
    return true;
  }

  void search(const FoundFile& found, std::string_view text) {
    std::size_t start = 0;
    std::size_t end = 0;
    if (mode_ == Mode::kFiles) {
      if (next_line(text, 0, &start, &end)) files_hit_.push_back({found.path, found.modified_ns});
      return;
    }
    std::vector<std::size_t> hits;  // starts of the matching lines
    for (std::size_t from = 0; next_line(text, from, &start, &end); from = end + 1) {
      if (full()) {
        more_ = true;
        break;
      }
      hits.push_back(start);
      if (mode_ == Mode::kContent) ++results_;
    }
    if (hits.empty()) return;
    if (mode_ == Mode::kCount) {
      ++results_;
      text_ += shortened(found.path) + ":" + std::to_string(hits.size()) + "\n";
    } else {
      show(found.path, text, hits);
    }
  }

  // "path:12:line" for matches, "path-11-line" for context, "--" between pieces, as in grep.
  void show(const std::string& path, std::string_view text, const std::vector<std::size_t>& hits) {
    const std::vector<std::string_view> lines = lines_of(text);
    std::vector<std::size_t> numbers;
    std::size_t number = 0;
    for (const std::size_t hit : hits) {
      while (number < lines.size() && lines[number].data() < text.data() + hit) ++number;
      numbers.push_back(number);
    }
    std::size_t next = 0;  // the first line not shown yet
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t first = std::max(next, numbers[i] - std::min(numbers[i], before_));
      if (before_ + after_ != 0 && !text_.empty() && (next == 0 || first > next)) text_ += "--\n";
      const std::size_t following = i + 1 < numbers.size() ? numbers[i + 1] : lines.size();
      const std::size_t stop = std::min(numbers[i] + after_ + 1, following);
      for (next = first; next < stop; ++next) {
        const char mark = next == numbers[i] ? ':' : '-';
        text_ += path + mark + std::to_string(next + 1) + mark + shortened(lines[next]) + "\n";
      }
    }
  }

  const agentd::context& c_;
  const agentd::workspace& files_;
  const agentd::Regex expression_;
  const Mode mode_;
  const std::size_t before_, after_, limit_;
  std::vector<Glob> filters_;
  std::vector<Hit> files_hit_;
  std::string text_;
  std::size_t results_ = 0;
  std::uint64_t searched_ = 0, too_big_ = 0, unreadable_ = 0;
  bool exhausted_ = false;
  bool more_ = false;  // than limit_
};

}  // namespace

agentd_status WorkspaceTools::glob(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kGlobKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string_view pattern = input->text("pattern");
  if (pattern.starts_with('/'))
    return refuse(c, "\"pattern\" is relative to the folder that is searched, which \"path\" names");
  const std::string path(input->text("path", "."));
  const Glob wanted(pattern);
  std::vector<Hit> hits;
  Walk walk(c, files_, input->boolean("include_ignored"));
  const agentd_status status = walk.run(path, cwd_of(c), [&](const FoundFile& found) {
    if (wanted.matches(found.below)) hits.push_back({found.path, found.modified_ns});
    return true;
  });
  if (status == AGENTD_E_ARG) return refuse(c, path + " is not a directory");
  if (status != AGENTD_OK) return refuse_access(c, status, path);
  newest_first(hits);
  std::string text = hits.empty() ? "(no file matches)\n"
                                  : paths_of(hits, static_cast<std::size_t>(input->integer("limit", kGlobLimit)));
  text += left_out(walk.withheld()) + not_read(walk.unreadable());
  if (!walk.incomplete().empty()) text += ended_early(walk.incomplete(), "path");
  return answer(c, capped(std::move(text)));
}

agentd_status WorkspaceTools::grep(agentd::call& c, agentd::tool_view tool) {
  const auto input = Input::parse(tool.input_json(), kGrepKeys);
  if (!input) return refuse(c, input.error().message);
  const std::string path(input->text("path", "."));
  auto expression = agentd::Regex::compile(input->text("pattern"), {input->boolean("ignore_case"), true});
  if (!expression && expression.error().code == agentd::Code::kInvalid)
    return refuse(c, "\"pattern\" is not a valid RE2 expression: " + expression.error().message);
  if (!expression) return refuse(c, expression.error().message);
  Search search(*input, std::move(*expression), c, files_);
  Walk walk(c, files_, input->boolean("include_ignored"));
  agentd_status status = walk.run(path, cwd_of(c), [&](const FoundFile& found) { return search.file(found); });
  if (status == AGENTD_E_ARG || status == AGENTD_E_NOT_FOUND) {  // perhaps a file
    const auto one = files_.read(c, path, 0, 1);
    status = one.status();
    if (one) search.file({path, path.substr(path.rfind('/') + 1), one->total, 0});
  }
  const bool kept = status == AGENTD_E_DENIED && is_withheld(c, files_, path);
  if (status != AGENTD_OK && !kept) return refuse_access(c, status, path);
  return answer(c, capped(search.result(walk.incomplete()) + left_out(kept ? 1 : walk.withheld()) +
                          not_read(walk.unreadable() + search.unreadable())));
}

}  // namespace workspace_tools
