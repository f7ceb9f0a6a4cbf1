// SPDX-License-Identifier: Apache-2.0
#include "core/cage/tree.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/cage/names.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFileMax = 1u << 20;
constexpr std::int64_t kSettledNs = 50'000'000;  // more than a step of the kernel's clock for files
constexpr std::int64_t kSecondNs = 1'000'000'000;

// Bounds of what is kept of one guarded path.
struct Budget {
  std::size_t entries = 2'000;
  std::uint64_t bytes = 8u << 20;
};

std::string target_of(const std::string& path) {
  std::error_code failed;
  return fs::read_symlink(path, failed).string();
}

std::string at(const std::string& path, const std::string& below) { return below.empty() ? path : path + "/" + below; }

void look_into(const std::string& path, const std::string& below, bool with_content, Budget& budget, Tree& out) {
  struct stat info {};
  const std::string whole = at(path, below);
  if (::lstat(whole.c_str(), &info) != 0 || budget.entries == 0) return;
  --budget.entries;
  Tree::Entry entry{info.st_mode,        info.st_dev,          info.st_ino, static_cast<std::uint64_t>(info.st_size),
                    info.st_ctim.tv_sec, info.st_ctim.tv_nsec, {},          true};
  if (S_ISLNK(info.st_mode)) {
    entry.content = target_of(whole);
  } else if (S_ISREG(info.st_mode) && with_content) {
    entry.whole = entry.bytes <= std::min(kFileMax, budget.bytes);
    if (auto text = entry.whole ? read_file(whole, kFileMax) : Result<std::string>(Error{}); text)
      entry.content = std::move(*text);
    else
      entry.whole = false;
    budget.bytes -= std::min<std::uint64_t>(budget.bytes, entry.content.size());
  }
  out.entries.emplace(below, std::move(entry));
  if (!S_ISDIR(info.st_mode)) return;
  for (const std::string& name : names_in(whole))
    look_into(path, below.empty() ? name : below + "/" + name, with_content, budget, out);
}

bool is_settled(const Tree& tree, std::int64_t before_ns) {
  return std::all_of(tree.entries.begin(), tree.entries.end(), [&](const auto& each) {
    return each.second.changed_s * kSecondNs + each.second.changed_ns + kSettledNs < before_ns;
  });
}

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

using Compare = bool (*)(const Tree::Entry&, const Tree::Entry&);

bool is_same(const Tree& now, const Tree& before, Compare same) {
  return now.entries.size() == before.entries.size() &&
         std::equal(now.entries.begin(), now.entries.end(), before.entries.begin(),
                    [&](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); });
}

bool is_untouched_entry(const Tree::Entry& now, const Tree::Entry& before) {
  if (now.mode != before.mode || now.device != before.device || now.inode != before.inode) return false;
  return S_ISDIR(now.mode) ||
         (now.changed_s == before.changed_s && now.changed_ns == before.changed_ns && now.bytes == before.bytes);
}

// A file that is too large to be kept is the same only if it is untouched.
bool has_same_entry(const Tree::Entry& now, const Tree::Entry& before) {
  if (now.mode != before.mode) return false;
  if (S_ISREG(now.mode) && !(now.whole && before.whole)) return is_untouched_entry(now, before);
  return now.content == before.content;
}

}  // namespace

TreePointer look(const std::string& path, const TreePointer& known) {
  if (known && known->settled && is_untouched(glance(path), *known)) return known;
  const std::int64_t began_ns = now_ns();
  auto out = std::make_shared<Tree>();
  Budget budget;
  look_into(path, {}, true, budget, *out);
  out->settled = is_settled(*out, began_ns);
  return out;
}

Tree glance(const std::string& path) {
  Tree out;
  Budget budget;
  look_into(path, {}, false, budget, out);
  return out;
}

bool is_untouched(const Tree& now, const Tree& before) { return is_same(now, before, is_untouched_entry); }

bool has_same_content(const Tree& now, const Tree& before) { return is_same(now, before, has_same_entry); }

// Parents come before what is in them.
bool restore(const std::string& path, const Tree& before) {
  bool done = true;
  for (const auto& [below, entry] : before.entries) {
    const std::string whole = at(path, below);
    const mode_t mode = entry.mode & 07777;
    if (S_ISDIR(entry.mode))
      done = ::mkdir(whole.c_str(), 0700) == 0 && done;
    else if (S_ISLNK(entry.mode))
      done = ::symlink(entry.content.c_str(), whole.c_str()) == 0 && done;
    else if (S_ISREG(entry.mode) && entry.whole)
      done = static_cast<bool>(write_file_atomically(whole, entry.content, mode)) && done;
    else
      done = false;
  }
  for (auto each = before.entries.rbegin(); each != before.entries.rend(); ++each)
    if (S_ISDIR(each->second.mode)) (void)::chmod(at(path, each->first).c_str(), each->second.mode & 07777);
  return done;
}

}  // namespace agentd::cage
