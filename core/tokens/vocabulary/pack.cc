// SPDX-License-Identifier: Apache-2.0
// Runs at build time: turns a vocabulary (tokens in base64 with their ranks, compressed with xz) into the image that
// core/tokens/bpe_tables.h describes. Refuses a vocabulary other than the expected one, or one for which the merges of
// bpe_merge.cc are not exact.
// Usage: pack_vocabulary VOCABULARY.xz SHA256 IMAGE
#include <lzma.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/hash.h"
#include "core/tokens/bpe_tables.h"

namespace agentd {
namespace {

using Tables = BpeTables;
using Ranks = std::unordered_map<std::string_view, TokenId>;

[[noreturn]] void fail(const std::string& why) {
  std::cerr << "pack_vocabulary: " << why << "\n";
  std::exit(1);
}

std::string read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(std::string("cannot read ") + path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string unpack(const std::string& packed) {
  std::string text(16U << 20, '\0');
  std::uint64_t memory = UINT64_MAX;
  std::size_t read = 0, written = 0;
  const lzma_ret done =
      lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(packed.data()), &read,
                                packed.size(), reinterpret_cast<std::uint8_t*>(text.data()), &written, text.size());
  if (done != LZMA_OK) fail("the file is not an xz stream, or is damaged");
  text.resize(written);
  return text;
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0, held = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) fail("a token is not base64");
    held = (held << 6 | static_cast<unsigned>(digit)) & 0xFFFF;
    bits += 6;
    if (bits >= 8) out.push_back(static_cast<char>(held >> (bits -= 8) & 0xFF));
  }
  return out;
}

// Tokens in the order of their ranks, which have no gaps.
std::vector<std::string> read_tokens(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = text.find(' ', at), end = text.find('\n', at);
    if (space == std::string::npos || end == std::string::npos) fail("a line is cut");
    if (text.substr(space + 1, end - space - 1) != std::to_string(tokens.size())) fail("the ranks have a gap");
    tokens.push_back(from_base64(std::string_view(text).substr(at, space - at)));
    if (tokens.back().empty() || tokens.back().size() > Tables::kMaxTokenLength)
      fail("a token has no bytes, or too many");
    if ((tokens.back().size() == 1) != (tokens.size() <= Tables::kBytes))
      fail("the first 256 tokens are not the bytes");
    at = end + 1;
  }
  if (tokens.size() >= Tables::kNone) fail("there are too many tokens");
  return tokens;
}

// The two tokens that merges below the token's own rank leave of its bytes. A token with more could never be merged,
// and the merging of bpe_merge.cc would be wrong.
std::array<TokenId, 2> last_merge(const std::string& token, TokenId rank, const Ranks& ranks) {
  std::vector<std::size_t> cuts(token.size() + 1);
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i] = i;
  const auto piece = [&](std::size_t from, std::size_t to) -> TokenId {
    const auto found = ranks.find(std::string_view(token).substr(cuts[from], cuts[to] - cuts[from]));
    return found == ranks.end() ? Tables::kNone : found->second;
  };
  while (cuts.size() > 3) {
    TokenId least = rank;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 2 < cuts.size(); ++i)
      if (const TokenId made = piece(i, i + 2); made < least) least = made, at = i + 1;
    if (at == 0) fail("no merge makes a token: rank " + std::to_string(rank));
    cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return {piece(0, 1), piece(1, 2)};
}

TokenId longest_prefix(const std::string& token, const Ranks& ranks) {
  for (std::size_t length = token.size() - 1;; --length)
    if (const auto found = ranks.find(std::string_view(token).substr(0, length)); found != ranks.end())
      return found->second;
}

std::vector<std::uint64_t> token_words(const std::vector<std::string>& tokens) {
  Ranks ranks;
  for (TokenId rank = 0; rank < tokens.size(); ++rank) ranks.emplace(tokens[rank], rank);
  if (ranks.size() != tokens.size()) fail("a token is repeated");
  std::vector<std::uint64_t> words;
  for (TokenId rank = 0; rank < tokens.size(); ++rank) {
    const std::string& token = tokens[rank];
    if (token.size() == 1) {
      words.push_back(Tables::pack_token(rank, rank, static_cast<unsigned char>(token[0]), 1));
      continue;
    }
    const auto [left, right] = last_merge(token, rank, ranks);
    words.push_back(Tables::pack_token(left, right, longest_prefix(token, ranks), token.size()));
    words[left] |= Tables::kEverLeft;
    words[right] |= Tables::kEverRight;
  }
  return words;
}

// Calls `use` with the hash of each pair and the token that it makes.
template <typename Use>
void each_pair(const std::vector<std::uint64_t>& tokens, const Use& use) {
  for (TokenId token = Tables::kBytes; token < tokens.size(); ++token)
    use(Tables::pair_hash(Tables::left_of(tokens[token]), Tables::right_of(tokens[token])), token);
}

std::vector<std::uint64_t> pair_filter(const std::vector<std::uint64_t>& tokens) {
  constexpr std::size_t kBitsPerPair = 8;  // one pair in eight that is not a merge passes
  std::vector<std::uint64_t> words(tokens.size() * kBitsPerPair / 64);
  each_pair(tokens, [&](std::uint64_t hash, TokenId) {
    const std::size_t bit = Tables::slot_of(hash, words.size() * 64);
    words[bit / 64] |= std::uint64_t{1} << bit % 64;
  });
  return words;
}

std::vector<std::uint32_t> pair_slots(const std::vector<std::uint64_t>& tokens) {
  std::vector<std::uint32_t> slots(tokens.size() * 2, Tables::kEmptySlot);
  each_pair(tokens, [&](std::uint64_t hash, TokenId token) {
    std::size_t at = Tables::slot_of(hash, slots.size());
    while (slots[at] != Tables::kEmptySlot) at = at + 1 == slots.size() ? 0 : at + 1;
    slots[at] = Tables::fingerprint_of(hash) | token;
  });
  return slots;
}

struct Node {
  TokenId token = Tables::kNone;
  std::vector<std::pair<unsigned char, std::uint32_t>> children;  // by byte
};

// In the order of the sorted tokens, so that related nodes are close to each other.
std::vector<Node> trie_of(const std::vector<std::string>& tokens) {
  std::vector<TokenId> order(tokens.size());
  for (TokenId rank = 0; rank < order.size(); ++rank) order[rank] = rank;
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return tokens[a] < tokens[b]; });
  std::vector<Node> nodes(1);
  for (const TokenId rank : order) {
    std::uint32_t node = 0;
    for (const char c : tokens[rank]) {
      const auto byte = static_cast<unsigned char>(c);
      if (nodes[node].children.empty() || nodes[node].children.back().first != byte) {
        nodes[node].children.emplace_back(byte, static_cast<std::uint32_t>(nodes.size()));
        nodes.emplace_back();
      }
      node = nodes[node].children.back().second;
    }
    nodes[node].token = rank;
  }
  return nodes;
}

// Places the nodes: no two with children share a base, so that a cell's byte identifies its parent.
class Layout {
 public:
  explicit Layout(const std::vector<Node>& nodes) : nodes_(nodes), bases_(nodes.size()) {
    // The cells of base 0, which is the base of nodes without children, stay empty.
    grow(2 * kBlock);
    for (std::size_t i = 0; i < kBlock; ++i) taken_[i] = true;
    taken_[kBlock] = true;
    std::vector<std::uint32_t> order(nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    // The widest first: they need the most space, and the others fill the gaps.
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return nodes[a].children.size() > nodes[b].children.size();
    });
    places_.resize(nodes.size());
    places_[0] = kBlock;
    for (const std::uint32_t node : order)
      if (!nodes[node].children.empty()) place_children(node);
  }

  std::uint64_t root() const { return places_[0]; }

  std::vector<std::uint64_t> cells() const {
    std::vector<std::uint64_t> cells(taken_.size(), Tables::pack_cell(0, Tables::kNoLabel, Tables::kNone));
    cells[places_[0]] = Tables::pack_cell(bases_[0], Tables::kNoLabel, Tables::kNone);
    for (const Node& node : nodes_)
      for (const auto& [byte, child] : node.children)
        cells[places_[child]] = Tables::pack_cell(bases_[child], byte, nodes_[child].token);
    return cells;
  }

 private:
  static constexpr std::size_t kBlock = 256;
  // Cells that a node tries before later nodes of its width start further on; without it the time would grow with the
  // square of the trie.
  static constexpr std::size_t kCellsPerNode = 512;

  void grow(std::size_t size) {
    taken_.resize(size);
    base_taken_.resize(size);
  }

  bool fits(std::size_t base, const Node& node) const {
    if (base < kBlock || base_taken_[base]) return false;
    return std::all_of(node.children.begin(), node.children.end(),
                       [&](const auto& child) { return !taken_[base ^ child.first]; });
  }

  void place_children(std::uint32_t at) {
    const Node& node = nodes_[at];
    if (node.children.size() != width_) start_ = kBlock;  // narrower ones fit into earlier gaps
    width_ = node.children.size();
    std::size_t tried = 0;
    for (std::size_t cell = start_;; ++cell) {
      if (cell >= taken_.size()) grow(taken_.size() + kBlock);
      if (++tried > kCellsPerNode) start_ = cell;
      if (taken_[cell]) continue;
      const std::size_t base = cell ^ node.children.front().first;
      if (!fits(base, node)) continue;
      bases_[at] = base;
      base_taken_[base] = true;
      for (const auto& [byte, child] : node.children) {
        places_[child] = base ^ byte;
        taken_[base ^ byte] = true;
      }
      return;
    }
  }

  const std::vector<Node>& nodes_;
  std::vector<std::size_t> bases_, places_;
  std::vector<bool> taken_, base_taken_;
  std::size_t start_ = kBlock, width_ = 0;
};

template <typename T>
void append(std::string& image, const std::vector<T>& items) {
  image.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
}

std::string image_of(const std::vector<std::string>& tokens) {
  const std::vector<Node> nodes = trie_of(tokens);
  const Layout layout(nodes);
  const std::vector<std::uint64_t> cells = layout.cells();
  if (cells.size() >> Tables::kBaseBits != 0) fail("the trie is too large");
  const std::vector<std::uint64_t> words = token_words(tokens);
  const std::vector<std::uint32_t> slots = pair_slots(words);
  const std::vector<std::uint64_t> filter = pair_filter(words);
  std::vector<std::uint64_t> header{Tables::kMagic, cells.size(), words.size(),
                                    filter.size(),  slots.size(), layout.root()};
  header.resize(Tables::kHeaderWords);
  std::string image;
  append(image, header);
  append(image, cells);
  append(image, words);
  append(image, filter);
  append(image, slots);
  return image;
}

void pack(const char* from, const std::string& expected, const char* to) {
  const std::string text = unpack(read_file(from));
  if (const std::string sum = hex(sha256(text)); sum != expected)
    fail(std::string(from) + " has the SHA-256 " + sum + ", not " + expected);
  const std::string image = image_of(read_tokens(text));
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  out.write(image.data(), static_cast<std::streamsize>(image.size())).flush();
  if (!out) fail(std::string("cannot write ") + to);
}

}  // namespace
}  // namespace agentd

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: pack_vocabulary VOCABULARY.xz SHA256 IMAGE\n";
    return 2;
  }
  agentd::pack(argv[1], argv[2], argv[3]);
  return 0;
}
