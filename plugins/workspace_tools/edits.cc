// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/edits.h"

#include <algorithm>
#include <vector>

#include "core/base/bytes.h"
#include "plugins/workspace_tools/near.h"
#include "plugins/workspace_tools/text.h"

namespace workspace_tools {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::Result;

constexpr std::size_t kNumbersShown = 10;

std::string with_crlf(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' && !out.ends_with('\r')) out += '\r';
    out += c;
  }
  return out;
}

// True if the line at `at` ends with "\r\n"; a last line without an end counts as the one before it.
bool has_crlf(std::string_view content, std::size_t at) {
  std::size_t end = content.find('\n', at);
  if (end == std::string_view::npos) end = at == 0 ? end : content.rfind('\n', at - 1);
  return end != std::string_view::npos && end > 0 && content[end - 1] == '\r';
}

// The text as it is written in the file, if it is there.
std::string as_in_file(std::string_view content, std::string_view from) {
  if (content.find(from) != std::string_view::npos) return std::string(from);
  if (std::string dos = with_crlf(from); content.find(dos) != std::string_view::npos) return dos;
  // A last line without its end, as lines are shown with one.
  if (from.size() > 1 && from.ends_with('\n') && !content.ends_with('\n')) {
    const std::string_view open = from.substr(0, from.size() - 1);
    for (const std::string& each : {std::string(open), with_crlf(open)})
      if (content.ends_with(each)) return each;
  }
  return {};
}

// Places that overlap count apart, since either may be meant.
std::vector<std::size_t> places_of(std::string_view content, std::string_view from, bool all) {
  std::vector<std::size_t> out;
  for (std::size_t at = content.find(from); at != std::string_view::npos;
       at = content.find(from, at + (all ? from.size() : 1)))
    out.push_back(at);
  return out;
}

std::string lines_of_places(std::string_view content, std::span<const std::size_t> places) {
  std::string out;
  const std::size_t shown = std::min(places.size(), kNumbersShown);
  std::size_t line = 1, counted_to = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    line += count_of(content.substr(counted_to, places[i] - counted_to), "\n");
    counted_to = places[i];
    out += (i == 0 ? "" : i + 1 == places.size() ? " and " : ", ") + std::to_string(line);
  }
  return out + (shown < places.size() ? ", ..." : "");
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Result<void> apply_one(std::string_view path, const Edit& edit, Edited& out) {
  const std::string from = as_in_file(out.text, edit.from);
  if (from.empty()) return Error{Code::kInvalid, why_missing(path, out.text, edit.from, edit.to)};
  const std::vector<std::size_t> places = places_of(out.text, from, edit.all);
  if (places.size() > 1 && !edit.all)
    return Error{Code::kInvalid, "old_string is " + std::to_string(places.size()) + " times in " + std::string(path) +
                                     ", in lines " + lines_of_places(out.text, places) +
                                     ": include lines around it until it is unique, or set replace_all"};
  if (!is_ascii(edit.to) && !agentd::is_utf8(out.text))
    return Error{Code::kInvalid, std::string(path) +
                                     " is not UTF-8, so that only ASCII text can be put into it: convert the file "
                                     "with bash (iconv), or write the bytes with a command"};
  const bool shortened_end = edit.from.ends_with('\n') && !from.ends_with('\n');
  std::string_view to = edit.to;
  if (shortened_end && to.ends_with('\n')) to.remove_suffix(1);
  const bool own_ends = edit.from.find('\r') != std::string_view::npos || to.find('\r') != std::string_view::npos;
  const std::string dos = own_ends ? std::string(to) : with_crlf(to);
  std::string text;
  std::size_t done = 0;
  for (const std::size_t at : places) {
    text.append(out.text, done, at - done);
    const std::string_view put = has_crlf(out.text, at) ? std::string_view(dos) : to;
    if (done == 0 && at == places.front()) out.at = text.size(), out.length = put.size();
    text.append(put);
    done = at + from.size();
  }
  text.append(out.text, done);
  out.places += places.size();
  out.text = std::move(text);
  return {};
}

}  // namespace

Result<Edited> apply(std::string_view path, std::string_view content, std::span<const Edit> edits) {
  Edited out{std::string(content)};
  for (std::size_t i = 0; i < edits.size(); ++i) {
    auto done = apply_one(path, edits[i], out);
    if (done) continue;
    if (edits.size() == 1) return done.error();
    return done.error().with_context("nothing was changed, since edit " + std::to_string(i + 1) + " of " +
                                     std::to_string(edits.size()) + " does not fit");
  }
  return out;
}

}  // namespace workspace_tools
