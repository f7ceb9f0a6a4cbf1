// SPDX-License-Identifier: Apache-2.0
#include "core/cage/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <functional>
#include <vector>

#include "core/base/file.h"
#include "core/cage/names.h"
#include "core/cage/physical.h"

namespace agentd::cage {
namespace {

constexpr std::uint64_t kTreeFileMax = 1u << 20;

// Bounds of what is kept of one guarded path.
struct Budget {
  std::size_t entries = 2'000, seen = 200'000;
  std::uint64_t bytes = 8u << 20;
};

std::string target_of(int folder, const std::string& name) {
  std::string out(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(folder, name.c_str(), out.data(), out.size());
  out.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return out;
}

Result<std::string> content_of(int folder, const std::string& name) {
  const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return Error{};
  return read_fd(file.get(), kTreeFileMax, name);
}

// Mixes an entry that is not kept into the sum of all of those.
void add_rest(Tree& out, const std::string& below, const struct stat& info) {
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(std::hash<std::string>()(below)), static_cast<std::uint64_t>(info.st_mode),
        static_cast<std::uint64_t>(info.st_ino), static_cast<std::uint64_t>(info.st_size),
        static_cast<std::uint64_t>(info.st_ctim.tv_sec), static_cast<std::uint64_t>(info.st_ctim.tv_nsec)})
    out.rest = (out.rest ^ part) * 0x100000001b3u + 1;
}

void look_into(int folder, const std::string& name, const std::string& below, bool with_content, Budget& budget,
               Tree& out) {
  struct stat info {};
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || budget.seen == 0) return;
  --budget.seen;
  if (budget.entries == 0) {
    add_rest(out, below, info);
  } else {
    --budget.entries;
    Tree::Entry entry{info.st_mode,        info.st_dev,          info.st_ino, static_cast<std::uint64_t>(info.st_size),
                      info.st_ctim.tv_sec, info.st_ctim.tv_nsec, {},          true};
    if (S_ISLNK(info.st_mode)) {
      entry.content = target_of(folder, name);
    } else if (S_ISREG(info.st_mode) && with_content) {
      entry.whole = entry.bytes <= std::min(kTreeFileMax, budget.bytes);
      if (auto text = entry.whole ? content_of(folder, name) : Result<std::string>(Error{}); text)
        entry.content = std::move(*text);
      else
        entry.whole = false;
      budget.bytes -= std::min<std::uint64_t>(budget.bytes, entry.content.size());
    }
    out.entries.emplace(below, std::move(entry));
  }
  if (!S_ISDIR(info.st_mode)) return;
  const UniqueFd own(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!own.valid()) return;
  for (const std::string& each : names_in(own.get()))
    look_into(own.get(), each, below.empty() ? each : below + "/" + each, with_content, budget, out);
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

bool is_same_tree(const Tree& now, const Tree& before, Compare same) {
  return now.rest == before.rest && now.entries.size() == before.entries.size() &&
         std::equal(now.entries.begin(), now.entries.end(), before.entries.begin(),
                    [&](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); });
}

// `folder` is the directory that is above the path; -1 = there is none.
Tree look_at_tree(int folder, const std::string& path) {
  const std::int64_t began_ns = now_ns();
  Tree out;
  Budget budget;
  if (folder >= 0) look_into(folder, path.substr(path.rfind('/') + 1), {}, true, budget, out);
  out.settled = is_settled(out, began_ns);
  if (out.exists()) out.way = rights_above(path);
  return out;
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
  const bool led = !link_in_the_way(path).empty();
  if (known && known->settled && known->led == led && is_untouched(glance(path), *known)) return known;
  const Physical place = physical(path);
  auto out = std::make_shared<Tree>(look_at_tree(place.folder.get(), path));
  out->led = led;
  return out;
}

TreePointer look_in(int folder, const std::string& path) {
  return std::make_shared<const Tree>(look_at_tree(folder, path));
}

Tree glance(const std::string& path) {
  Tree out;
  Budget budget;
  const Physical place = physical(path);
  if (place.valid()) look_into(place.folder.get(), place.name, {}, false, budget, out);
  return out;
}

bool is_untouched(const Tree& now, const Tree& before) { return is_same_tree(now, before, is_untouched_entry); }

bool has_same_content(const Tree& now, const Tree& before) { return is_same_tree(now, before, has_same_entry); }

namespace {

bool write_file(int folder, const std::string& name, const std::string& content, mode_t mode) {
  const UniqueFd file(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.valid() && write_all(file.get(), content) && ::fchmod(file.get(), mode) == 0;
}

// The entries from `at` on that are in the directory `below`, whose descriptor is `folder`. Each directory gets its
// rights when it is complete.
using Entries = std::map<std::string, Tree::Entry>;
bool restore_in(int folder, const std::string& name, const std::string& below, const Entries& entries) {
  const Tree::Entry& entry = entries.at(below);
  const mode_t mode = entry.mode & 07777;
  if (S_ISLNK(entry.mode)) return ::symlinkat(entry.content.c_str(), folder, name.c_str()) == 0;
  if (S_ISREG(entry.mode)) return entry.whole && write_file(folder, name, entry.content, mode);
  if (!S_ISDIR(entry.mode) || ::mkdirat(folder, name.c_str(), 0700) != 0) return false;
  const UniqueFd own(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!own.valid()) return false;
  bool done = true;
  const std::string prefix = below.empty() ? std::string() : below + "/";
  for (auto each = entries.upper_bound(prefix); each != entries.end() && each->first.starts_with(prefix); ++each) {
    const std::string rest = each->first.substr(prefix.size());
    if (rest.empty() || rest.find('/') != std::string::npos) continue;
    done = restore_in(own.get(), rest, each->first, entries) && done;
  }
  return ::fchmod(own.get(), mode) == 0 && done;
}

}  // namespace

bool restore(const std::string& path, const Tree& before) {
  if (!before.exists()) return true;
  const Physical place = physical(path);
  return place.valid() && restore_in(place.folder.get(), place.name, {}, before.entries);
}

}  // namespace agentd::cage
