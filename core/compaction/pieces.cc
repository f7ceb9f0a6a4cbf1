// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/bytes.h"
#include "core/compaction/compaction.h"

namespace agentd {
namespace {

constexpr std::size_t kOverlapBytes = 512;  // longer than a path or a sentence
constexpr std::string_view kContinued = "[... continued]\n";

std::string_view role_text(const agentd_message& row) {
  if (row.role == AGENTD_ROLE_ASSISTANT) return "[assistant]";
  if (row.role == AGENTD_ROLE_SUMMARY) return "[summary of what was before]";
  return (row.flags & AGENTD_MESSAGE_CONTEXT) != 0 ? "[context]" : "[user]";
}

std::string result_head(const agentd_block& block) {
  const std::string name = block.name.len == 0 ? "the tool" : std::string(view_of(block.name));
  return (block.flags & AGENTD_BLOCK_ERROR) != 0 ? "(" + name + " failed) " : "(result of " + name + ") ";
}

void render_block(const agentd_block& block, std::string& out) {
  const auto line = [&](std::string_view head, std::string_view text) {
    out += head;
    out += text;
    out += '\n';
  };
  switch (block.kind) {
    case AGENTD_BLOCK_TEXT:
      line({}, full_text(block));
      break;
    case AGENTD_BLOCK_THINKING:
      line("(thinking) ", full_text(block));
      break;
    case AGENTD_BLOCK_TOOL_USE:
      line("(calls " + std::string(view_of(block.name)) + ") ", view_of(block.json));
      break;
    case AGENTD_BLOCK_TOOL_RESULT:
      line(result_head(block), full_text(block));
      break;
    case AGENTD_BLOCK_IMAGE:
      line("(an image) ", view_of(block.name));
      break;
    case AGENTD_BLOCK_DOCUMENT:
      line("(a document) ", full_text(block).empty() ? view_of(block.name) : full_text(block));
      break;
    default:
      break;
  }
  const auto* const parts = static_cast<const agentd_block*>(block.parts.first);
  for (std::uint32_t i = 0; i < block.parts.count; ++i) render_block(parts[i], out);
}

std::string render(const agentd_message& row) {
  std::string out(role_text(row));
  out += '\n';
  for (std::uint32_t i = 0; i < row.blocks.count; ++i) render_block(blocks_of(row)[i], out);
  return out;
}

// Where to cut a text so that at most `bytes` are before it: after a line or a word, if one ends near.
std::size_t cut_before(std::string_view text, std::size_t bytes) {
  const std::string_view whole = utf8_prefix(text, bytes);
  if (whole.size() == text.size()) return whole.size();
  const std::size_t near = whole.size() - whole.size() / 8;
  for (const char mark : {'\n', ' '})
    if (const std::size_t at = whole.rfind(mark); at != std::string_view::npos && at >= near) return at + 1;
  return whole.size();
}

// Fills pieces of at most `tokens`.
class Pieces {
 public:
  Pieces(std::uint64_t tokens, const TokenEstimator& estimator)
      : tokens_(std::max<std::uint64_t>(tokens, 1)), estimator_(estimator) {}

  void add(std::string_view text) {
    const std::uint64_t count = estimator_.count_text(text) + 1;
    if (used_ + count > tokens_) flush();
    if (count > tokens_) return cut(text, count);
    if (!piece_.empty()) piece_ += '\n';
    piece_ += text;
    used_ += count;
  }
  std::vector<std::string> take() {
    flush();
    return std::move(out_);
  }

 private:
  void flush() {
    if (!piece_.empty()) out_.push_back(std::move(piece_));
    piece_.clear();
    used_ = 0;
  }

  // The bytes at the text's beginning that make a piece; the density of tokens varies.
  std::size_t piece_bytes(std::string_view rest, std::size_t guess) const {
    std::size_t bytes = cut_before(rest, guess);
    while (bytes > kContinued.size() && estimator_.count_text(rest.substr(0, bytes)) > tokens_)
      bytes = cut_before(rest, bytes * 3 / 4);
    return bytes == 0 ? std::min<std::size_t>(rest.size(), 4) : bytes;
  }

  void cut(std::string_view text, std::uint64_t count) {
    const double share = static_cast<double>(tokens_) / static_cast<double>(count);
    const auto guess = static_cast<std::size_t>(static_cast<double>(text.size()) * share);
    while (!text.empty()) {
      const std::size_t bytes = piece_bytes(text, std::max<std::size_t>(guess, 16));
      out_.push_back((out_of_text_ ? std::string(kContinued) : std::string()) + std::string(text.substr(0, bytes)));
      out_of_text_ = bytes < text.size();
      if (!out_of_text_) return;
      // The next piece begins with the end of this one, but always later than this one began.
      const std::size_t overlap = utf8_suffix(text.substr(0, bytes), std::min(kOverlapBytes, bytes / 4)).size();
      text.remove_prefix(bytes - overlap);
    }
    out_of_text_ = false;
  }

  const std::uint64_t tokens_;
  const TokenEstimator& estimator_;
  std::string piece_;
  std::uint64_t used_ = 0;
  bool out_of_text_ = false;  // the next piece continues a text
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> render_pieces(std::span<const agentd_message> rows, std::uint64_t tokens,
                                       const TokenEstimator& estimator) {
  Pieces pieces(tokens, estimator);
  for (const agentd_message& row : rows) pieces.add(render(row));
  return pieces.take();
}

std::vector<std::string> join_pieces(std::span<const std::string> texts, std::uint64_t tokens,
                                     const TokenEstimator& estimator) {
  Pieces pieces(tokens, estimator);
  for (const std::string& text : texts) pieces.add(text);
  return pieces.take();
}

}  // namespace agentd
