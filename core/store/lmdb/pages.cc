// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace agentd {
namespace {

static_assert(std::endian::native == std::endian::little && sizeof(std::size_t) == 8,
              "the file is read as LMDB writes it on such machines");

constexpr std::size_t kHeaderBytes = 16, kNodeBytes = 8, kTreeBytes = 48, kMetaBytes = 136;
constexpr std::uint32_t kMagic = 0xbeefc0de, kVersion = 1;
constexpr std::uint16_t kBranch = 1, kLeaf = 2, kOverflow = 4, kMeta = 8;
constexpr std::uint16_t kBigValue = 1, kTreeValue = 2;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::uint32_t kPageBytesMin = 512, kPageBytesMax = 32'768;
constexpr std::uint64_t kPagesMax = std::uint64_t{1} << 36, kMapBytesMax = std::uint64_t{1} << 46;
constexpr int kDepthMax = 32;
constexpr std::size_t kDamageMax = 10'000;

template <typename T>
T load(const char* at) {
  T out{};
  std::memcpy(&out, at, sizeof out);
  return out;
}

Error corrupt_page(std::string what) { return {Code::kCorrupt, std::move(what)}; }

std::uint16_t flags_of(std::string_view page) { return load<std::uint16_t>(page.data() + 10); }
std::uint32_t lower_of(std::string_view page) { return load<std::uint16_t>(page.data() + 12); }
std::uint32_t upper_of(std::string_view page) { return load<std::uint16_t>(page.data() + 14); }
std::uint32_t nodes_of(std::string_view page) {
  return static_cast<std::uint32_t>((lower_of(page) - kHeaderBytes) / 2);
}

bool is_before(std::string_view a, std::string_view b, bool numbers) {
  if (!numbers || a.size() != 8 || b.size() != 8) return a < b;
  return load<std::uint64_t>(a.data()) < load<std::uint64_t>(b.data());
}

}  // namespace

// ---- one page

Pages::Tree Pages::read_tree(const char* at) {
  Tree out;
  out.flags = load<std::uint16_t>(at + 4);
  out.depth = load<std::uint16_t>(at + 6);
  out.branch_pages = load<std::uint64_t>(at + 8);
  out.leaf_pages = load<std::uint64_t>(at + 16);
  out.overflow_pages = load<std::uint64_t>(at + 24);
  out.rows = load<std::uint64_t>(at + 32);
  out.root = load<std::uint64_t>(at + 40);
  return out;
}

Result<Pages::Meta> Pages::read_meta(std::string_view page, std::uint64_t number_of_page) {
  const char* at = page.data() + kHeaderBytes;
  if (page.size() < kHeaderBytes + kMetaBytes) return corrupt_page("is cut");
  if (load<std::uint32_t>(at) != kMagic || load<std::uint32_t>(at + 4) != kVersion)
    return corrupt_page("is not a page of LMDB");
  if ((flags_of(page) & kMeta) == 0) return corrupt_page("is not marked as a meta page");
  Meta out;
  out.map_bytes = load<std::uint64_t>(at + 16);
  out.page_bytes = load<std::uint32_t>(at + 24);  // stored in the first tree
  out.free = read_tree(at + 24);
  out.main = read_tree(at + 24 + kTreeBytes);
  out.last_page = load<std::uint64_t>(at + 24 + 2 * kTreeBytes);
  out.transaction = load<std::uint64_t>(at + 32 + 2 * kTreeBytes);
  if (!std::has_single_bit(out.page_bytes) || out.page_bytes < kPageBytesMin || out.page_bytes > kPageBytesMax)
    return corrupt_page("names pages of " + std::to_string(out.page_bytes) + " bytes");
  if (out.last_page < 1 || out.last_page > kPagesMax || out.map_bytes > kMapBytesMax)
    return corrupt_page("names an impossible size");
  // Transactions take turns; those of a new file are 0 and 0.
  if (out.transaction != 0 && (out.transaction & 1) != number_of_page)
    return corrupt_page("holds transaction " + std::to_string(out.transaction) + ", which belongs to the other one");
  return out;
}

Result<std::string> Pages::read(std::uint64_t page, std::uint64_t bytes) const {
  std::string out(bytes, '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(file_.get(), out.data() + done, out.size() - done, static_cast<off_t>(page * meta_.page_bytes + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return corrupt_page("cannot be read: " + std::generic_category().message(errno));
    if (got == 0) return corrupt_page("is beyond the end of the file");
    done += static_cast<std::size_t>(got);
  }
  return out;
}

Result<std::string> Pages::read_checked(std::uint64_t page) const {
  AGENTD_TRY(std::string bytes, read(page, meta_.page_bytes));
  if (load<std::uint64_t>(bytes.data()) != page) return corrupt_page("has another page's number");
  const std::uint16_t flags = flags_of(bytes);
  if (flags != kBranch && flags != kLeaf)
    return corrupt_page("is neither branch nor leaf (flags " + std::to_string(flags) + ")");
  const std::uint32_t lower = lower_of(bytes), upper = upper_of(bytes);
  if (lower < kHeaderBytes || lower > upper || upper > meta_.page_bytes || lower % 2 != 0)
    return corrupt_page("has impossible bounds");
  if (nodes_of(bytes) == 0) return corrupt_page("is empty");
  return bytes;
}

Result<Pages::Node> Pages::node_at(std::string_view page, std::uint32_t index) const {
  const std::size_t at = load<std::uint16_t>(page.data() + kHeaderBytes + 2 * index);
  if (at < upper_of(page) || at + kNodeBytes > page.size() || at % 2 != 0)
    return corrupt_page("has an entry outside the page");
  const char* node = page.data() + at;
  const std::uint64_t low = load<std::uint16_t>(node), high = load<std::uint16_t>(node + 2);
  Node out;
  out.flags = load<std::uint16_t>(node + 4);
  const std::size_t key_bytes = load<std::uint16_t>(node + 6);
  const std::size_t left = page.size() - at - kNodeBytes;
  if (key_bytes > left) return corrupt_page("has a key that does not end");
  out.key = {node + kNodeBytes, key_bytes};
  if (flags_of(page) == kBranch) {
    out.child = low | high << 16 | std::uint64_t{out.flags} << 32;
    return out;
  }
  out.bytes = low | high << 16;
  if ((out.flags & ~(kBigValue | kTreeValue)) != 0 || key_bytes == 0)
    return corrupt_page("has an entry of an unknown kind");
  const std::size_t in_page = (out.flags & kBigValue) != 0 ? sizeof(std::uint64_t) : out.bytes;
  if (in_page > left - key_bytes) return corrupt_page("has a value that does not end");
  if ((out.flags & kBigValue) != 0)
    out.overflow = load<std::uint64_t>(node + kNodeBytes + key_bytes);
  else
    out.inlined = {node + kNodeBytes + key_bytes, in_page};
  return out;
}

std::uint64_t Pages::pages_of(std::uint64_t value_bytes) const {
  return (kHeaderBytes + value_bytes + meta_.page_bytes - 1) / meta_.page_bytes;
}

Result<void> Pages::check_overflow(const Node& node) const {
  const std::uint64_t count = pages_of(node.bytes);
  if (node.overflow < 2 || node.overflow > meta_.last_page || count > meta_.last_page - node.overflow + 1)
    return corrupt_page("has a value outside the file");
  auto head = read(node.overflow, kHeaderBytes);
  if (!head) return head.error().with_context("page " + std::to_string(node.overflow));
  if (load<std::uint64_t>(head->data()) != node.overflow || flags_of(*head) != kOverflow ||
      load<std::uint32_t>(head->data() + 12) != count)
    return corrupt_page("has a value whose first page, " + std::to_string(node.overflow) + ", is damaged");
  return {};
}

bool Pages::take(std::uint64_t page) {
  if (page < 2 || page > meta_.last_page || used_[page]) return false;
  used_[page] = true;
  return true;
}

void Pages::note_leftover(std::uint64_t at, std::string_view bytes) {
  if (bytes.find_first_not_of('\0') != std::string_view::npos) leftovers_.push_back({at, bytes.size()});
}

// ---- a tree

// Walks depth first, in the order of the keys.
class Pages::Walk {
 public:
  // Keys of the tree of free pages are numbers in this machine's form, all others are bytes.
  Walk(Pages& pages, std::string table, const Tree& tree, bool numbers)
      : pages_(pages), table_(std::move(table)), tree_(tree), numbers_(numbers) {}

  std::vector<Row> run() {
    if (tree_.root == kNoPage) {
      if (tree_.rows != 0 || tree_.depth != 0) note(0, "has rows but no root", "", "");
      return {};
    }
    if (!numbers_ && tree_.flags != 0) note(0, "has flags that agentd does not use", "", "");
    visit(tree_.root, 1, "", "");
    if (!damaged_ && (branches_ != tree_.branch_pages || leaves_ != tree_.leaf_pages ||
                      overflow_ != tree_.overflow_pages || rows_.size() != tree_.rows))
      note(0, "does not have the pages and rows that its root names", "", "");
    return std::move(rows_);
  }

 private:
  void note(std::uint64_t page, std::string what, const std::string& from, const std::string& until) {
    damaged_ = true;
    if (pages_.damage_.size() < kDamageMax) pages_.damage_.push_back({table_, page, std::move(what), from, until});
  }

  void visit(std::uint64_t number, int depth, const std::string& from, const std::string& until) {
    if (depth > kDepthMax) return note(number, "is too deep", from, until);
    if (!pages_.take(number))
      return note(number, number > pages_.meta_.last_page || number < 2 ? "is outside the file" : "is used twice", from,
                  until);
    const auto page = pages_.read_checked(number);
    if (!page) return note(number, page.error().message, from, until);
    if (!belongs(*page, from, until)) {
      // The page that points here is damaged; this page may belong to another.
      pages_.used_[number] = false;
      return note(number, "has keys that are out of order", from, until);
    }
    const bool branch = flags_of(*page) == kBranch;
    if (branch == (depth == tree_.depth)) return note(number, "is at the wrong depth", from, until);
    // LMDB itself leaves such a page only in the tree of free pages.
    if (branch && nodes_of(*page) < 2 && !numbers_) return note(number, "has one entry", from, until);
    if (pages_.notes_leftovers_)
      pages_.note_leftover(number * pages_.meta_.page_bytes + lower_of(*page),
                           std::string_view(*page).substr(lower_of(*page), upper_of(*page) - lower_of(*page)));
    ++(branch ? branches_ : leaves_);
    if (branch)
      visit_branch(number, *page, depth, from, until);
    else
      visit_leaf(number, *page, from, until);
  }

  // True if the first significant key is where the page above says.
  bool belongs(const std::string& page, const std::string& from, const std::string& until) const {
    const std::uint32_t index = flags_of(page) == kBranch ? 1 : 0;
    if (index >= nodes_of(page)) return true;
    const auto node = pages_.node_at(page, index);
    if (!node) return true;  // reported by the visit
    return !is_before(node->key, from, numbers_) && (until.empty() || is_before(node->key, until, numbers_));
  }

  void visit_branch(std::uint64_t number, const std::string& page, int depth, const std::string& from,
                    const std::string& until) {
    struct Child {
      std::string key;
      std::uint64_t page = 0;
    };
    std::vector<Child> children;
    for (std::uint32_t i = 0; i < nodes_of(page); ++i) {
      const auto node = pages_.node_at(page, i);
      if (!node) {
        note(number, node.error().message, children.empty() ? from : children.back().key, until);
        continue;
      }
      // The first key of a branch represents everything before the second.
      children.push_back({i == 0 ? from : std::string(node->key), node->child});
      const std::string& key = children.back().key;
      if (children.size() > 1 && (is_before(key, children[children.size() - 2].key, numbers_) ||
                                  (!until.empty() && !is_before(key, until, numbers_))))
        return note(number, "has keys that are out of order", from, until);
    }
    for (std::size_t i = 0; i < children.size(); ++i)
      visit(children[i].page, depth + 1, children[i].key, i + 1 < children.size() ? children[i + 1].key : until);
  }

  void visit_leaf(std::uint64_t number, const std::string& page, const std::string& from, const std::string& until) {
    std::string last = from;
    for (std::uint32_t i = 0; i < nodes_of(page); ++i) {
      const auto node = pages_.node_at(page, i);
      if (!node) {
        note(number, node.error().message, last, until);
        continue;
      }
      const bool after_last = i == 0 ? !is_before(node->key, last, numbers_) : is_before(last, node->key, numbers_);
      // A row at a wrong place is kept: its own checksums decide about it.
      if (!after_last || (!until.empty() && !is_before(node->key, until, numbers_)))
        note(number, "has keys that are out of order", last, until);
      last = node->key;
      const bool names_tree = (node->flags & kTreeValue) != 0;
      if (names_tree != (table_.empty() && !numbers_) || (names_tree && node->inlined.size() != kTreeBytes)) {
        note(number, "has an entry of the wrong kind", last, last + '\0');
        continue;
      }
      if ((node->flags & kBigValue) != 0 && !take_overflow(number, *node)) continue;
      rows_.push_back({last, number, i});
    }
  }

  bool take_overflow(std::uint64_t number, const Node& node) {
    const std::string key(node.key);
    const auto checked = pages_.check_overflow(node);
    if (!checked) {
      note(number, checked.error().message, key, key + '\0');
      return false;
    }
    const std::uint64_t count = pages_.pages_of(node.bytes);
    overflow_ += count;
    for (std::uint64_t i = 0; i < count; ++i)
      if (!pages_.take(node.overflow + i)) {
        note(node.overflow + i, "is used twice", key, key + '\0');
        return false;
      }
    if (pages_.notes_leftovers_) note_end_of(node, count);
    return true;
  }

  // Notes the bytes that follow a value in its last page.
  void note_end_of(const Node& node, std::uint64_t count) {
    const std::uint64_t page_bytes = pages_.meta_.page_bytes;
    const std::uint64_t used = (kHeaderBytes + node.bytes) % page_bytes, last = node.overflow + count - 1;
    if (used == 0) return;
    if (const auto page = pages_.read(last, page_bytes); page)
      pages_.note_leftover(last * page_bytes + used, std::string_view(*page).substr(used));
  }

  Pages& pages_;
  const std::string table_;
  const Tree tree_;
  const bool numbers_;
  bool damaged_ = false;
  std::uint64_t branches_ = 0, leaves_ = 0, overflow_ = 0;
  std::vector<Row> rows_;
};

// ---- the file

Result<Pages> Pages::open_at(const std::string& file, std::optional<std::uint64_t> transaction) {
  Pages out;
  out.file_ = UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!out.file_.valid()) return errno_error("opening " + file, errno);
  const auto meta_at = [&](std::uint64_t page, std::uint32_t page_bytes) -> Result<Meta> {
    out.meta_.page_bytes = page_bytes;
    AGENTD_TRY(const std::string bytes, out.read(page, kHeaderBytes + kMetaBytes));
    AGENTD_TRY(Meta meta, read_meta(bytes, page));
    if (page != 0 && meta.page_bytes != page_bytes) return corrupt_page("belongs to another file");
    return meta;
  };
  const auto first = meta_at(0, kPageBytesMin);
  // LMDB finds the second meta page by the first one's page size.
  auto second = meta_at(1, first ? first->page_bytes : kPageBytesMin);
  for (std::uint32_t size = kPageBytesMin; !first && !second && size <= kPageBytesMax; size *= 2)
    second = meta_at(1, size);
  if (!first && !second) return first.error().with_context(file + ": the first meta page");
  // Either one leads to everything stored when it was written; a writer needs both.
  if (!first) out.add_damage("", "the first meta page " + first.error().message);
  if (!second) out.add_damage("", "the second meta page " + second.error().message);
  const std::uint64_t a = first ? first->transaction : 0, b = second ? second->transaction : 0;
  if (first && second && a != b && (a > b ? a - b : b - a) != 1)
    out.add_damage("", "the meta pages belong to different files: transactions " + std::to_string(a) + " and " +
                           std::to_string(b));
  out.meta_ = !first || (second && a < b) ? *second : *first;
  // A process that writes at the same time has begun the next transaction.
  if (transaction && first && second && out.meta_.transaction != *transaction) out.meta_ = a < b ? *first : *second;
  out.may_be_older_ = !out.damage_.empty();
  struct stat info {};
  const std::uint64_t needs = (out.meta_.last_page + 1) * out.meta_.page_bytes;
  if (::fstat(out.file_.get(), &info) != 0) return errno_error("reading " + file, errno);
  if (static_cast<std::uint64_t>(info.st_size) + kUnwrittenMax < needs)
    out.add_damage("", "the store was truncated: data.mdb has " + std::to_string(info.st_size) + " bytes and needs " +
                           std::to_string(needs));
  // A damaged meta page can name 2^36 pages: pages beyond the file's end are not searched. And the older one does not
  // know the last pages.
  const std::uint64_t last_possible = (static_cast<std::uint64_t>(info.st_size) + kUnwrittenMax) / out.meta_.page_bytes;
  if (out.may_be_older_ || out.meta_.last_page > last_possible) out.meta_.last_page = last_possible;
  out.used_.resize(out.meta_.last_page + 1);
  out.free_.resize(out.meta_.last_page + 1);
  return out;
}

Result<Pages> Pages::open(const std::string& file) { return open_at(file, std::nullopt); }

Result<Pages> Pages::open(const std::string& file, std::uint64_t transaction) {
  AGENTD_TRY(Pages out, open_at(file, transaction));
  if (out.transaction() != transaction)
    return Error{Code::kConflict, file + " continued to transaction " + std::to_string(out.transaction())};
  return out;
}

void Pages::add_damage(std::string table, std::string what) {
  damage_.push_back({std::move(table), 0, std::move(what), "", ""});
}

const std::vector<std::string>& Pages::tables() {
  if (main_walked_) return names_;
  main_walked_ = true;
  for (const Row& row : Walk(*this, "", meta_.main, false).run())
    if (const auto tree = value(row); tree) {
      trees_.push_back({row.key, read_tree(tree->data())});
      names_.push_back(row.key);
    }
  return names_;
}

bool Pages::has(std::string_view table) {
  const auto& names = tables();
  return std::find(names.begin(), names.end(), table) != names.end();
}

std::vector<Pages::Row> Pages::rows(std::string_view table) {
  tables();
  for (NamedTree& tree : trees_)
    if (tree.name == table && !std::exchange(tree.walked, true)) return Walk(*this, tree.name, tree.tree, false).run();
  return {};
}

Result<std::string> Pages::value(const Row& row) {
  if (cached_page_ != row.page) {
    AGENTD_TRY(cached_, read_checked(row.page));
    cached_page_ = row.page;
  }
  if (row.node >= nodes_of(cached_)) return corrupt_page("no longer exists");
  AGENTD_TRY(const Node node, node_at(cached_, row.node));
  if ((node.flags & kBigValue) == 0) return std::string(node.inlined);
  AGENTD_TRY_VOID(check_overflow(node));
  AGENTD_TRY(std::string value, read(node.overflow, kHeaderBytes + node.bytes));
  value.erase(0, kHeaderBytes);
  return value;
}

void Pages::check_free() {
  const std::size_t before = damage_.size();
  for (const Row& row : Walk(*this, "", meta_.free, true).run()) {
    const auto list = value(row);
    const std::uint64_t count = list && list->size() >= 8 ? load<std::uint64_t>(list->data()) : ~std::uint64_t{0};
    if (row.key.size() != 8 || !list || count > list->size() / 8 - 1 ||
        load<std::uint64_t>(row.key.data()) > meta_.transaction) {
      add_damage("", "a list of free pages cannot be read");
      continue;
    }
    FreePages& freed = free_pages_.emplace_back();
    freed.transaction = load<std::uint64_t>(row.key.data());
    for (std::uint64_t i = 1; i <= count; ++i) {
      const auto page = load<std::uint64_t>(list->data() + 8 * i);
      if (page < 2 || page > meta_.last_page || used_[page] || free_[page]) {
        add_damage("", "page " + std::to_string(page) + " is free and in use, or free twice");
        break;
      }
      free_[page] = true;
      freed.pages.push_back(page);
    }
  }
  free_known_ = damage_.size() == before && !may_be_older_;
  // The newest data may be in pages that were free before.
  if (may_be_older_) free_.assign(free_.size(), false);
}

std::vector<Pages::Row> Pages::lost_rows() {
  std::vector<Row> out;
  for (std::uint64_t number = 2; number <= meta_.last_page; ++number) {
    if (used_[number] || free_[number]) continue;
    const auto page = read_checked(number);
    if (!page || flags_of(*page) != kLeaf) continue;
    for (std::uint32_t i = 0; i < nodes_of(*page); ++i) {
      const auto node = node_at(*page, i);
      if (!node) break;
      if ((node->flags & kTreeValue) == 0) out.push_back({std::string(node->key), number, i});
    }
  }
  return out;
}

}  // namespace agentd
