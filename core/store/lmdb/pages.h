// SPDX-License-Identifier: Apache-2.0
#pragma once
// pages.h - reads LMDB's file page by page without LMDB, which maps the file, trusts every number in it and crashes on
// a wrong one.
//
// Every number is checked before it is followed. A damaged page costs only the rows below it: it is noted, and the walk
// continues with the next page. If a process writes to the file at the same time, the caller keeps the pages of one
// transaction from being reused (snapshot.h).
//
// The format is that of LMDB 0.9 on 64-bit little-endian machines: a page is a header of 16 bytes and its content.
// Pages 0 and 1 are meta pages, which take turns and have the roots of two trees, of free pages and of tables.
//
// Threading: thread-compatible.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

// Pages at the end of the file that a crash may leave unwritten without harm: LMDB counts pages that a transaction took
// and gave back, but does not write them.
inline constexpr std::uint64_t kUnwrittenMax = 1 << 20;  // bytes

class Pages {
 public:
  // A found row; its value is read on request.
  struct Row {
    std::string key;
    std::uint64_t page = 0;
    std::uint32_t node = 0;
  };
  // Unreadable rows of `table`, with keys from `from` up to and not including `until`.
  struct Damage {
    std::string table;  // empty: the file itself
    std::uint64_t page = 0;
    std::string what;
    std::string from, until;  // empty until = no end
  };

  // Opens the newest transaction in the file, or the one of that number. kNotFound: the file is missing; kConflict: the
  // transaction is neither the newest nor the one before; kCorrupt: it is not an LMDB file, or both meta pages are
  // unusable; a single unusable one is damage.
  static Result<Pages> open(const std::string& file);
  static Result<Pages> open(const std::string& file, std::uint64_t transaction);

  std::uint64_t transaction() const { return meta_.transaction; }
  std::uint64_t pages() const { return meta_.last_page + 1; }
  std::uint32_t page_bytes() const { return meta_.page_bytes; }

  // The names of all tables. The first call walks their tree, and the first rows() of each walks that table's; damage
  // on the way is in damage() afterwards.
  const std::vector<std::string>& tables();
  bool has(std::string_view table);
  // All rows, in the order of their keys unless a page is damaged.
  std::vector<Row> rows(std::string_view table);
  // kCorrupt: the row's value is impossible.
  Result<std::string> value(const Row& row);
  // Walks the tree of free pages: a page that is both free and in use is damage.
  void check_free();

  // Rows of leaf pages that are in no tree and not free: the pages below a damaged one. While free_known() is false,
  // deleted rows may be among them. REQUIRES: every table was walked, and check_free().
  std::vector<Row> lost_rows();

  bool free_known() const { return free_known_; }

  // A stretch of the file.
  struct Stretch {
    std::uint64_t at = 0, bytes = 0;
    bool operator==(const Stretch&) const = default;
  };
  // Notes from here on what the pages of a walk hold besides entries: bytes between them that are not zero.
  void note_leftovers() { notes_leftovers_ = true; }
  const std::vector<Stretch>& leftovers() const { return leftovers_; }
  // The pages that a transaction let go, as check_free() found them.
  struct FreePages {
    std::uint64_t transaction = 0;
    std::vector<std::uint64_t> pages;
  };
  const std::vector<FreePages>& free_pages() const { return free_pages_; }

  const std::vector<Damage>& damage() const { return damage_; }
  void add_damage(std::string table, std::string what);

 private:
  struct Tree {
    std::uint16_t flags = 0, depth = 0;
    std::uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0, rows = 0, root = 0;
  };
  struct Meta {
    std::uint32_t page_bytes = 0;
    Tree free, main;
    std::uint64_t map_bytes = 0, last_page = 0, transaction = 0;
  };
  struct Node {
    std::string_view key, inlined;
    std::uint64_t child = 0, bytes = 0,
                  overflow = 0;  // overflow: first page of the value; 0 = it is inlined
    std::uint16_t flags = 0;
  };
  struct NamedTree {
    std::string name;
    Tree tree;
    bool walked = false;
  };
  class Walk;

  static Result<Meta> read_meta(std::string_view page, std::uint64_t number);
  static Tree read_tree(const char* at);
  static Result<Pages> open_at(const std::string& file, std::optional<std::uint64_t> transaction);
  Result<std::string> read(std::uint64_t page, std::uint64_t bytes) const;
  // kCorrupt with the mistake, such as "has flags 7".
  Result<std::string> read_checked(std::uint64_t page) const;
  Result<Node> node_at(std::string_view page, std::uint32_t index) const;
  std::uint64_t pages_of(std::uint64_t value_bytes) const;
  Result<void> check_overflow(const Node& node) const;
  // False when the page was taken before or is outside the file.
  bool take(std::uint64_t page);
  // Notes the bytes, which are those of the file at `at`, unless they are zero.
  void note_leftover(std::uint64_t at, std::string_view bytes);

  UniqueFd file_;
  Meta meta_;
  bool may_be_older_ = false;  // the damaged meta page may be the one of the newest transaction
  std::vector<bool> used_, free_;
  bool free_known_ = false, notes_leftovers_ = false;
  std::vector<Stretch> leftovers_;
  std::vector<FreePages> free_pages_;
  bool main_walked_ = false;
  std::vector<NamedTree> trees_;
  std::vector<std::string> names_;
  std::vector<Damage> damage_;
  std::uint64_t cached_page_ = 0;  // 0 = none; meta pages are never cached
  std::string cached_;
};

}  // namespace agentd
