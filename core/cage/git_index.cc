// SPDX-License-Identifier: Apache-2.0
#include "core/cage/git_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/file.h"
#include "core/base/mutex.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kIndexMax = 1u << 30;
constexpr std::size_t kWalkMax = 1'000'000;  // entries of directories
constexpr std::size_t kKnownMax = 256;       // repositories
constexpr std::int64_t kSecondNs = 1'000'000'000, kSettledNs = 50'000'000;

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

// A path that Git refuses to enter is none.
bool is_usable(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string::npos) return false;
  const fs::path parts(path);
  return std::none_of(parts.begin(), parts.end(),
                      [](const fs::path& part) { return part == ".." || part == "." || part == ".git"; });
}

// Entries with names of `hash` bytes. Absent: it is not such an index.
class Parser {
 public:
  Parser(std::string_view index, std::size_t hash) : reader_(index), hash_(hash) {}

  std::optional<Gitlinks> parse() {
    version_ = reader_.number(4, 4);
    if (version_ < 2 || version_ > 4) return std::nullopt;
    std::size_t at = kHeaderBytes;
    for (std::uint32_t left = reader_.number(8, 4); left > 0; --left)
      if (!entry(at)) return std::nullopt;
    // Replacements in a split index have no name: which entries of the shared one they change is not read here.
    while (reader_.has(at, hash_ + 8)) {
      const std::string_view name = reader_.text().substr(at, 4);
      if (name == "link" || name == "sdir") out_.complete = false;
      const std::size_t bytes = reader_.number(at + 4, 4);
      if (!reader_.has(at + 8, bytes)) return std::nullopt;
      at += 8 + bytes;
    }
    if (!reader_.has(at, hash_)) return std::nullopt;
    return std::move(out_);
  }

 private:
  // Lengths are taken from where Git takes them.
  bool entry(std::size_t& at) {
    const std::size_t begin = at;
    if (!reader_.has(begin, kStatBytes + hash_ + 2)) return false;
    const std::uint32_t mode = reader_.number(begin + kModeAt, 4);
    const auto flags = static_cast<std::uint16_t>(reader_.number(begin + kStatBytes + hash_, 2));
    std::size_t name = begin + kStatBytes + hash_ + 2 + (version_ >= 3 && (flags & kExtended) != 0 ? 2 : 0);
    std::size_t kept = 0;
    if (version_ == 4) {
      const auto stripped = reader_.variable(name);
      if (!stripped || *stripped > name_.size()) return false;
      kept = name_.size() - *stripped;
    }
    std::size_t bytes = flags & kNameMask;
    if (bytes == kNameMask) {
      const std::size_t end = reader_.has(name, 1) ? reader_.text().find('\0', name) : std::string_view::npos;
      if (end == std::string_view::npos) return false;
      bytes = end - name + kept;
    }
    if (bytes < kept || !reader_.has(name, bytes - kept + 1)) return false;
    name_.resize(kept);
    name_ += reader_.text().substr(name, bytes - kept);
    at = version_ == 4 ? name + (bytes - kept) + 1 : begin + (((name - begin) + bytes + 8) & ~std::size_t{7});
    if ((mode & kKindMask) == kSparseDirectory) out_.complete = false;
    if ((mode & kKindMask) == kGitlink && is_usable(name_)) out_.paths.push_back(name_);
    return true;
  }

  const Reader reader_;
  const std::size_t hash_;
  std::uint32_t version_ = 0;
  std::string name_;  // of the entry before
  Gitlinks out_;
};

std::set<std::string> repositories_below(const std::string& top) {
  std::set<std::string> out;
  std::size_t left = kWalkMax;
  std::error_code failed;
  fs::recursive_directory_iterator at(top, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator() && left > 0; at.increment(failed), --left) {
    if (at->path().filename() != ".git") continue;
    at.disable_recursion_pending();
    if (at.depth() > 0) out.insert(at->path().parent_path().string());
  }
  return out;
}

struct Known {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0, changed_ns = 0;
  Gitlinks links;
};

Mutex known_mutex;
std::map<std::string, Known> known GUARDED_BY(known_mutex);

Gitlinks read_links(const std::string& index) {
  struct stat info {};
  if (::stat(index.c_str(), &info) != 0) return {};
  const std::int64_t changed_ns = info.st_ctim.tv_sec * kSecondNs + info.st_ctim.tv_nsec;
  {
    const MutexLock lock(known_mutex);
    const auto found = known.find(index);
    if (found != known.end() && found->second.device == info.st_dev && found->second.inode == info.st_ino &&
        found->second.bytes == info.st_size && found->second.changed_ns == changed_ns)
      return found->second.links;
  }
  const auto text = read_file(index, kIndexMax);
  Gitlinks out = text ? parse_gitlinks(*text) : Gitlinks{{}, false};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  // A file that was written just now may be written again within the same step of the clock.
  if (changed_ns + kSettledNs > now.tv_sec * kSecondNs + now.tv_nsec) return out;
  const MutexLock lock(known_mutex);
  if (known.size() >= kKnownMax) known.clear();
  known[index] = {info.st_dev, info.st_ino, info.st_size, changed_ns, out};
  return out;
}

}  // namespace

Gitlinks parse_gitlinks(std::string_view index) {
  constexpr std::size_t kSha1 = 20, kSha256 = 32;
  Gitlinks out;
  bool read = false;
  if (index.size() < kHeaderBytes || !index.starts_with("DIRC")) return {{}, false};
  // The settings say which hash it is, and a command may have changed them: both are tried.
  for (const std::size_t hash : {kSha1, kSha256}) {
    auto part = Parser(index, hash).parse();
    if (!part) continue;
    read = true;
    out.complete = out.complete && part->complete;
    out.paths.insert(out.paths.end(), part->paths.begin(), part->paths.end());
  }
  out.complete = out.complete && read;
  return out;
}

std::vector<std::string> gitlinks(const std::string& top, const std::string& index, const std::string& within) {
  const Gitlinks links = read_links(index);
  std::set<std::string> out;
  for (const std::string& path : links.paths) out.insert(top + "/" + path);
  if (!links.complete) out.merge(repositories_below(within));
  return {out.begin(), out.end()};
}

}  // namespace agentd::cage
