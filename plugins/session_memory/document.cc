// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/document.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "plugins/session_memory/memory.h"

namespace session_memory {
namespace {

// The fence that the line opens or closes: ``` or ~~~, at least three; empty for another line.
std::string_view fence_of(std::string_view line) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  if (indent > 3) return {};
  line.remove_prefix(indent);
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return {};
  const std::size_t length = std::min(line.find_first_not_of(line.front()), line.size());
  return length < 3 ? std::string_view() : line.substr(0, length);
}

// The text of an ATX heading; empty for another line.
std::string_view heading_of(std::string_view line) {
  const std::size_t marks = std::min(line.find_first_not_of('#'), line.size());
  if (marks == 0 || marks > 6 || marks == line.size() || (line[marks] != ' ' && line[marks] != '\t')) return {};
  std::string_view text = trimmed(line.substr(marks));
  while (text.ends_with('#')) text.remove_suffix(1);
  return trimmed(text);
}

bool is_underline(std::string_view line) {
  line = trimmed(line);
  return line.size() >= 3 && (line.find_first_not_of('=') == std::string_view::npos ||
                              line.find_first_not_of('-') == std::string_view::npos);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Collects lines into pieces of bounded size.
class Pieces {
 public:
  void line(std::string_view text) {
    const std::string_view fence = fence_of(text);
    const bool closes = !fence_.empty() && !fence.empty() && fence.front() == fence_.front() &&
                        fence.size() >= fence_.size() && trimmed(text) == fence;
    // A blank line between paragraphs is the best place to cut.
    if (fence_.empty() && trimmed(text).empty()) soft_ = piece_.size();
    // A line of its own size is cut between characters.
    while (text.size() > kChunkBytesMax / 2) {
      const std::string_view head = agentd::utf8_prefix(text, kChunkBytesMax / 2);
      put(head, fence, closes);
      text.remove_prefix(head.size());
    }
    put(text, fence, closes);
  }

  std::vector<std::string> end() {
    flush(piece_.size());
    return std::move(out_);
  }
  bool in_fence() const { return !fence_.empty(); }

 private:
  void put(std::string_view text, std::string_view fence, bool closes) {
    if (piece_.size() + text.size() + 1 > kChunkBytesMax) cut();
    if (fence_.empty() && !fence.empty()) {
      fence_ = std::string(fence);
      opening_ = std::string(text);
      fence_at_ = piece_.size();
    } else if (closes) {
      fence_.clear();
    }
    piece_ += text;
    piece_ += '\n';
  }

  void cut() {
    if (!fence_.empty() && fence_at_ > 0) {
      flush(fence_at_);
      fence_at_ = 0;
      if (piece_.size() < kChunkBytesMax / 2) return;
    }
    if (fence_.empty()) {
      flush(soft_ > kChunkBytesMax / 4 ? soft_ : piece_.size());
      return;
    }
    piece_ += fence_ + "\n";
    flush(piece_.size());
    piece_ = opening_ + "\n";
    fence_at_ = 0;
  }

  void flush(std::size_t at) {
    const std::string_view text = trimmed(std::string_view(piece_).substr(0, at));
    if (!text.empty()) out_.emplace_back(text);
    piece_.erase(0, at);
    soft_ = 0;
  }

  std::vector<std::string> out_;
  std::string piece_, fence_, opening_;
  std::size_t soft_ = 0, fence_at_ = 0;
};

}  // namespace

std::vector<Chunk> chunks_of(std::string_view name, std::string_view text) {
  std::vector<Chunk> out;
  std::string heading;
  Pieces pieces;
  const auto end_section = [&] {
    for (std::string& piece : pieces.end()) {
      if (out.size() > kChunksMax) return;
      out.push_back({std::string(name) + (heading.empty() ? "" : " › " + heading), std::move(piece)});
    }
    pieces = Pieces();
  };
  const std::string clean = agentd::to_utf8(text);
  const std::vector<std::string_view> lines = lines_of(clean);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view found = pieces.in_fence() ? std::string_view() : heading_of(lines[i]);
    const bool after_blank = i == 0 || trimmed(lines[i - 1]).empty();
    const bool underlined = !pieces.in_fence() && found.empty() && after_blank && i + 1 < lines.size() &&
                            !trimmed(lines[i]).empty() && is_underline(lines[i + 1]) && !is_underline(lines[i]);
    if (underlined) found = trimmed(lines[i]);
    if (found.empty()) {
      pieces.line(lines[i]);
      continue;
    }
    end_section();
    heading = std::string(found);
    if (underlined) ++i;
  }
  end_section();
  return out;
}

}  // namespace session_memory
