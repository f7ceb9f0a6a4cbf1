// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/line_scrub.h"

#include <algorithm>
#include <charconv>

namespace agentd {
namespace {

constexpr std::size_t kBeforeBytes = 1024;
constexpr std::size_t kSecretBytes = 4096;
constexpr std::string_view kKey = "PRIVATE KEY", kBegin = "BEGIN ", kEnd = "END ", kPutty = "Private-Lines: ";

std::size_t line_begin(std::string_view text, std::size_t at) {
  const std::size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// True if "BEGIN " or "END " at that place is of a private key's mark.
bool marks_key(std::string_view text, std::size_t at) {
  const std::string_view line = text.substr(at, std::min(text.find('\n', at), text.size()) - at).substr(0, 80);
  return at >= 4 && text.substr(at - 4, 3) == "---" && line.find(kKey) != std::string_view::npos;
}

std::size_t last_mark(std::string_view text, std::string_view word) {
  for (std::size_t at = text.rfind(word); at != std::string_view::npos;
       at = at == 0 ? at - 1 : text.rfind(word, at - 1))
    if (marks_key(text, at)) return at;
  return std::string_view::npos;
}

// The beginning of the line in which a private key begins that does not end in the text; its size if there is none.
std::size_t open_key(std::string_view text) {
  std::size_t out = text.size();
  const std::size_t begin = last_mark(text, kBegin), end = last_mark(text, kEnd);
  if (begin != std::string_view::npos && (end == std::string_view::npos || end < begin)) out = line_begin(text, begin);
  if (const std::size_t putty = text.rfind(kPutty); putty != std::string_view::npos) {
    std::size_t lines = 0;
    const char* const digits = text.data() + putty + kPutty.size();
    std::from_chars(digits, text.data() + text.size(), lines);
    const auto there = static_cast<std::size_t>(std::count(digits, text.data() + text.size(), '\n'));
    if (there <= std::min<std::size_t>(lines, 200)) out = std::min(out, line_begin(text, putty));
  }
  return out;
}

}  // namespace

std::string LineScrub::push(std::string_view piece) {
  held_ += piece;
  if (in_key_) skip_key();
  if (in_key_) return {};
  const std::size_t newline = held_.rfind('\n');
  const std::string_view lines = std::string_view(held_).substr(0, newline == std::string::npos ? 0 : newline + 1);
  std::string out = release(open_key(lines));
  if (held_.size() > held_max_) out += release_full();
  return out;
}

std::string LineScrub::finish() {
  if (in_key_) held_.clear();
  return release(held_.size());
}

std::string LineScrub::release(std::size_t bytes) {
  if (bytes == 0) return {};
  const std::string text = before_ + held_.substr(0, bytes);
  std::size_t at = before_.size();
  held_.erase(0, bytes);
  const auto seen = secrets_.scrub(text);
  std::string out;
  if (!seen) {
    out = secrets_.pass(text.substr(at)).text;  // says why it is withheld
  } else {
    for (const ScrubFinding& finding : seen->findings) {
      if (finding.at + finding.length <= at) continue;
      if (finding.at > at) out.append(text, at, finding.at - at);
      out += finding.mark;
      ++counts_[finding.rule];
      at = finding.at + finding.length;
    }
    out.append(text, std::min(at, text.size()));
  }
  before_ = text.substr(text.size() - std::min(text.size(), kBeforeBytes));
  return out;
}

// Too much is held: a line that does not end, or a private key.
std::string LineScrub::release_full() {
  const std::size_t key = open_key(held_);
  const auto seen = secrets_.scrub(held_);
  std::size_t cut = held_.size() - std::min(kSecretBytes, held_.size() / 2);
  if (seen)
    for (const ScrubFinding& finding : seen->findings) {
      if (finding.at + finding.length <= cut) continue;
      if (key < held_.size() && finding.at >= key) {
        in_key_ = true;
        std::string out = release(finding.at) + finding.mark + "[the rest of it is left out]\n";
        ++counts_[finding.rule];
        before_.clear();
        held_.clear();
        return out;
      }
      cut = std::min(cut, finding.at);
    }
  while (cut > 0 && (static_cast<unsigned char>(held_[cut]) & 0xC0) == 0x80) --cut;
  // One secret, longer than the limit: it goes out as its placeholder.
  return release(cut == 0 ? held_.size() : cut);
}

// Drops the held bytes up to the end of the key, if that has come.
void LineScrub::skip_key() {
  for (std::size_t at = held_.find(kEnd); at != std::string::npos; at = held_.find(kEnd, at + 1)) {
    const std::size_t newline = held_.find('\n', at);
    if (!marks_key(held_, at) || newline == std::string::npos) continue;
    held_.erase(0, newline + 1);
    in_key_ = false;
    return;
  }
  if (held_.size() > kSecretBytes) held_.erase(0, held_.size() - kSecretBytes);
}

}  // namespace agentd
