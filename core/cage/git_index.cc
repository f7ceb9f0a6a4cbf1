// SPDX-License-Identifier: Apache-2.0
#include "core/cage/git_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/paths.h"
#include "core/cage/git_files.h"
#include "core/cage/git_settings.h"
#include "core/cage/physical.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kIndexMax = 1u << 30;
constexpr std::size_t kKnownMax = 256;  // repositories
constexpr std::size_t kBlockEntriesMax = 1u << 26;
constexpr std::size_t kSha1 = 20, kSha256 = 32;  // bytes

constexpr std::uint32_t kKindMask = 0170000, kGitlink = 0160000, kSparseDirectory = 0040000;
constexpr std::size_t kModeAt = 24, kStatBytes = 40, kHeaderBytes = 12;
constexpr std::uint16_t kNameMask = 0x0FFF, kExtended = 0x4000;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool has(std::size_t from, std::size_t bytes) const { return from <= text_.size() && text_.size() - from >= bytes; }
  std::uint32_t number(std::size_t from, std::size_t bytes) const {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < bytes; ++i) out = out << 8 | static_cast<std::uint8_t>(text_[from + i]);
    return out;
  }
  // A number of Git's variable length; moves `at` behind it.
  std::optional<std::size_t> variable(std::size_t& at) const {
    std::size_t out = 0;
    for (bool first = true;; first = false) {
      if (!has(at, 1) || out > kIndexMax) return std::nullopt;
      const auto byte = static_cast<std::uint8_t>(text_[at++]);
      out = ((first ? 0 : out + 1) << 7) | (byte & 0x7Fu);
      if ((byte & 0x80) == 0) return out;
    }
  }
  std::string_view text() const { return text_; }

 private:
  const std::string_view text_;
};

// Others are made by a program that is not Git, and Git enters them all the same.
bool is_written_by_git(std::string_view path) {
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == ".." || part == ".git") return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

// Entries with names of `hash` bytes. Git reads those that a table names (IEOT) block by block, in several threads, and
// else all in sequence: what both would see is found.
class IndexParser {
 public:
  // `index`: with the zeros behind the end that Git sees there; `size`: without them.
  IndexParser(std::string_view index, std::size_t size, std::size_t hash) : reader_(index), size_(size), hash_(hash) {}

  Gitlinks parse() {
    version_ = reader_.number(4, 4);
    if (version_ < 2 || version_ > 4) return {{}, false};
    const std::uint32_t count = reader_.number(8, 4);
    left_ = std::min<std::size_t>(kBlockEntriesMax, std::size_t{2} * count + 64);
    std::size_t at = kHeaderBytes;
    bool whole = true;
    for (std::uint32_t i = 0; i < count && whole; ++i) {
      begins_.push_back(at);
      whole = entry(at, i == 0);
      fresh_.push_back(kept_ == 0);
    }
    begins_.push_back(at);
    fits_ = whole && extensions(at);
    if (const auto told = told_end(); told && (!fits_ || *told != at)) {
      fits_ = true;
      out_.complete = false;
      (void)extensions(*told);
    }
    out_.complete = out_.complete && fits_;
    return std::move(out_);
  }
  // False: it is no index with such names, as far as Git could tell.
  bool fits() const { return fits_; }

 private:
  struct Block {
    std::size_t at = 0, entries = 0;
  };

  bool is_inside(std::size_t from, std::size_t bytes) const { return from <= size_ && size_ - from >= bytes; }

  // Lengths are taken from where Git takes them. The first one of a block has nothing of the name before.
  bool entry(std::size_t& at, bool first) {
    const std::size_t begin = at;
    if (!reader_.has(begin, kStatBytes + hash_ + 2)) return false;
    const std::uint32_t mode = reader_.number(begin + kModeAt, 4);
    const auto flags = static_cast<std::uint16_t>(reader_.number(begin + kStatBytes + hash_, 2));
    std::size_t name = begin + kStatBytes + hash_ + 2 + ((flags & kExtended) != 0 ? 2 : 0);
    kept_ = 0;
    if (version_ == 4) {
      const auto stripped = reader_.variable(name);
      if (!stripped || (!first && *stripped > name_.size())) return false;
      kept_ = first ? 0 : name_.size() - *stripped;
    }
    std::size_t bytes = flags & kNameMask;
    if (bytes == kNameMask) {
      const std::size_t end = reader_.has(name, 1) ? reader_.text().find('\0', name) : std::string_view::npos;
      if (end == std::string_view::npos) return false;
      bytes = end - name + kept_;
    }
    if (bytes < kept_ || !reader_.has(name, bytes - kept_ + 1)) return false;
    name_.resize(kept_);
    name_ += reader_.text().substr(name, bytes - kept_);
    at = version_ == 4 ? name + (bytes - kept_) + 1 : begin + (((name - begin) + bytes + 8) & ~std::size_t{7});
    if ((mode & kKindMask) == kSparseDirectory) out_.complete = false;
    if ((mode & kKindMask) == kGitlink) add(reader_.text()[name + (bytes - kept_)]);
    return true;
  }

  // Git takes a name up to its zero, also where that is not at the end: `next` is what it finds there.
  void add(char next) {
    const std::string path = name_.substr(0, name_.find('\0'));
    const bool goes_on = next != '\0' && path.size() == name_.size();
    if (goes_on || path.size() < name_.size() || !is_written_by_git(path)) out_.complete = false;
    if (goes_on) out_.paths.push_back(path + next);
    if (!path.empty()) out_.paths.push_back(path);
  }

  // Replacements in a split index have no name: which entries of the shared one they change is not read here. False:
  // they do not fill the index.
  bool extensions(std::size_t at) {
    while (is_inside(at, hash_ + 8)) {
      const std::string_view name = reader_.text().substr(at, 4);
      if (name == "link" || name == "sdir") out_.complete = false;
      const std::size_t bytes = reader_.number(at + 4, 4);
      if (name == "IEOT") table(at + 8, std::min(bytes, size_ - at - 8));
      if (!is_inside(at + 8, bytes)) return false;
      at += 8 + bytes;
    }
    return is_inside(at, hash_);
  }

  // Where the extensions begin, as the last one of them says.
  std::optional<std::size_t> told_end() const {
    for (const std::size_t bytes : {kSha1 + 4, hash_ + 4}) {
      if (size_ < kHeaderBytes + 8 + bytes + hash_) continue;
      const std::size_t at = size_ - hash_ - bytes - 8;
      if (reader_.text().substr(at, 4) == "EOIE") return reader_.number(at + 8, 4);
    }
    return std::nullopt;
  }

  void table(std::size_t at, std::size_t bytes) {
    std::vector<Block> blocks;
    for (std::size_t from = 4; from + 8 <= bytes; from += 8)
      blocks.push_back({reader_.number(at + from, 4), reader_.number(at + from + 4, 4)});
    if (are_in_sequence(blocks)) return;
    out_.complete = false;
    for (const Block& block : blocks) {
      std::size_t next = block.at;
      for (std::size_t i = 0; i < block.entries && left_ > 0 && entry(next, i == 0); ++i) --left_;
    }
  }
  // The blocks are the entries as they were read before.
  bool are_in_sequence(const std::vector<Block>& blocks) const {
    const std::size_t count = begins_.size() - 1;
    std::size_t number = 0;
    for (const Block& block : blocks) {
      if (block.at != begins_[number] || block.entries > count - number) return false;
      if (version_ == 4 && block.entries > 0 && !fresh_[number]) return false;
      number += block.entries;
    }
    return number == count;
  }

  const Reader reader_;
  const std::size_t size_, hash_;
  std::uint32_t version_ = 0;
  std::string name_;                 // of the entry before
  std::size_t kept_ = 0;             // bytes of it that the last entry has, too
  std::vector<std::size_t> begins_;  // of the entries in sequence, and their end
  std::vector<bool> fresh_;          // they have nothing of the name before
  std::size_t left_ = 0;             // entries that blocks may have
  bool fits_ = false;
  Gitlinks out_;
};

// The nearest first. Git needs no list of a directory to enter one in it: where it cannot be listed it is opened for
// this.
struct Below {
  std::set<std::string> repositories;
  bool complete = true;
};
Below repositories_below(const std::string& top, std::size_t left) {
  Below out;
  std::deque<std::string> next{top};
  for (; !next.empty() && left > 0; next.pop_front()) {
    const std::string& directory = next.front();
    std::error_code failed;
    fs::directory_iterator at(directory, failed);
    if (failed == std::errc::permission_denied) {
      const Way way = Way::opened(directory + "/.git");
      at = fs::directory_iterator(directory, failed);
    }
    for (; !failed && at != fs::directory_iterator() && left > 0; at.increment(failed), --left) {
      std::error_code unknown;
      if (directory != top && at->path().filename() == ".git") out.repositories.insert(directory);
      if (!at->is_symlink(unknown) && at->is_directory(unknown)) next.push_back(at->path().string());
    }
  }
  out.complete = left > 0;
  return out;
}

struct Known {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0, changed_ns = 0;
  std::size_t hash = 0;
  Gitlinks links;
};

Mutex known_mutex;
std::map<std::string, Known> known_indexes GUARDED_BY(known_mutex);

// As the settings of the repository say (extensions.objectFormat).
std::size_t hash_of(const std::string& git) {
  std::size_t out = kSha1;
  for (const GitSetting& each : settings_in(common_of(git) + "/config"))
    if (each.name == "extensions.objectformat") out = each.value == "sha256" ? kSha256 : kSha1;
  return out;
}

Gitlinks read_links(const std::string& index, std::size_t hash) {
  struct stat info {};
  if (::stat(index.c_str(), &info) != 0) return {};
  const std::int64_t changed_ns = info.st_ctim.tv_sec * kSecondNs + info.st_ctim.tv_nsec;
  {
    const MutexLock lock(known_mutex);
    const auto found = known_indexes.find(index);
    if (found != known_indexes.end() && found->second.device == info.st_dev && found->second.inode == info.st_ino &&
        found->second.bytes == info.st_size && found->second.changed_ns == changed_ns && found->second.hash == hash)
      return found->second.links;
  }
  const auto text = read_file(index, kIndexMax);
  Gitlinks out = text ? parse_gitlinks(*text, hash) : Gitlinks{{}, false};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  // A file that was written just now may be written again within the same step of the clock.
  if (changed_ns + kSettledNs > now.tv_sec * kSecondNs + now.tv_nsec) return out;
  const MutexLock lock(known_mutex);
  if (known_indexes.size() >= kKnownMax) known_indexes.clear();
  known_indexes[index] = {info.st_dev, info.st_ino, info.st_size, changed_ns, hash, out};
  return out;
}

}  // namespace

Gitlinks parse_gitlinks(std::string_view index, std::size_t hash) {
  constexpr std::size_t kPage = 4096;
  Gitlinks out, others;
  bool read = false, as_said = hash == 0;
  if (index.size() < kHeaderBytes || !index.starts_with("DIRC")) return {{}, false};
  std::string mapped(index);
  mapped.resize((index.size() + kPage - 1) / kPage * kPage, '\0');
  // A command may be changing the settings right now: both are tried.
  for (const std::size_t bytes : {kSha1, kSha256}) {
    IndexParser parser(mapped, index.size(), bytes);
    const Gitlinks part = parser.parse();
    Gitlinks& where = parser.fits() || bytes == hash ? out : others;
    where.complete = where.complete && part.complete;
    where.paths.insert(where.paths.end(), part.paths.begin(), part.paths.end());
    read = read || parser.fits();
    as_said = as_said || (bytes == hash && parser.fits());
  }
  if (!read) out.paths.insert(out.paths.end(), others.paths.begin(), others.paths.end());
  out.complete = out.complete && read && as_said;
  return out;
}

Gitlinks gitlinks(const std::string& top, const std::string& index, const std::string& within, std::size_t walk_max) {
  const std::string git = fs::path(index).parent_path().string();
  const std::size_t hash = hash_of(git);
  Gitlinks links = read_links(index, hash);
  Below found;
  std::set<std::string>& out = found.repositories;
  if (!links.complete) {
    found = repositories_below(within, walk_max);
    for (const std::string& name : names_in(git)) {
      if (!name.starts_with("sharedindex.")) continue;
      const Gitlinks shared = read_links(git + "/" + name, hash);
      links.paths.insert(links.paths.end(), shared.paths.begin(), shared.paths.end());
    }
  }
  for (const std::string& path : links.paths) {
    out.insert(lexical_path(path, top));
    if (is_written_by_git(path)) continue;
    if (const std::string real = resolved(top, path); !real.empty()) out.insert(real);
  }
  return {{out.begin(), out.end()}, found.complete};
}

}  // namespace agentd::cage
