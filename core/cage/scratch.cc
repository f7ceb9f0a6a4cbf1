// SPDX-License-Identifier: Apache-2.0
#include "core/cage/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cage/names.h"

namespace agentd::cage {
namespace {

constexpr const char* kOwnerFile = "owner";
constexpr std::string_view kMark = "agentd scratch directory\n";
constexpr std::size_t kRandom = 6;
constexpr int kScratchDepthMax = 200;

// Opened for its content even where its mode forbids that.
UniqueFd open_directory(int parent, const std::string& name) {
  const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const UniqueFd place(::openat(parent, name.c_str(), flags | O_PATH));
  if (!place.valid()) return UniqueFd();
  const std::string own = "/proc/self/fd/" + std::to_string(place.get());
  struct stat info {};
  if (::fstat(place.get(), &info) == 0 && (info.st_mode & 0700) != 0700) (void)::chmod(own.c_str(), 0700);
  return UniqueFd(::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool remove_at(int parent, const std::string& name, int depth) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return true;
  const UniqueFd directory = open_directory(parent, name);
  if (!directory.valid() || depth == kScratchDepthMax) return false;
  for (const std::string& each : names_in(directory.get())) (void)remove_at(directory.get(), each, depth + 1);
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

// True where the file "owner" of this user is there and nobody holds it.
bool is_ownerless(int directory) {
  struct stat info {};
  if (::fstat(directory, &info) != 0 || info.st_uid != ::geteuid()) return false;
  const UniqueFd owner(::openat(directory, kOwnerFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!owner.valid() || ::fstat(owner.get(), &info) != 0) return false;
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return false;
  const auto text = read_fd(owner.get(), kMark.size(), kOwnerFile);
  return text && *text == kMark && ::flock(owner.get(), LOCK_EX | LOCK_NB) == 0;
}

// Locked before it has the name by which others look for it.
Result<UniqueFd> make_owner(const std::string& path) {
  const std::string name = path + "/" + kOwnerFile, unnamed = name + ".new";
  UniqueFd out(::open(unnamed.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out.valid()) return errno_error("making the file " + unnamed, errno);
  AGENTD_TRY_VOID(write_all(out.get(), kMark));
  if (::flock(out.get(), LOCK_EX | LOCK_NB) != 0) return errno_error("locking the file " + unnamed, errno);
  if (::rename(unnamed.c_str(), name.c_str()) != 0) return errno_error("making the file " + name, errno);
  return out;
}

// The seconds since 1970 at the beginning of a name that Aside::in_home() gives; -1 = it gives no such name.
long long second_of(std::string_view name) {
  long long parts[3] = {};
  for (int i = 0; i < 3; ++i) {
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), parts[i]);
    if (failed != std::errc() || parts[i] < 0) return -1;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (i == 2 ? !name.empty() : !name.starts_with('-')) return -1;
    if (i < 2) name.remove_prefix(1);
  }
  return parts[0];
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make(const std::string& place, const std::string& prefix) {
  ScratchDirectory out;
  std::string path = place + "/" + prefix + std::string(kRandom, 'X');
  if (::mkdtemp(path.data()) == nullptr) return errno_error("making the directory " + path, errno);
  out.path_ = path;
  AGENTD_TRY(out.owner_, make_owner(path));
  if (::mkdir(out.space().c_str(), 0700) != 0) return errno_error("making the directory " + out.space(), errno);
  return out;
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty()) (void)remove_tree(path_);
}

int remove_ownerless(const std::string& place, const std::string& prefix) {
  const UniqueFd directory(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int out = 0;
  if (!directory.valid()) return out;
  for (const std::string& name : names_in(directory.get())) {
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kRandom) continue;
    const UniqueFd each(::openat(directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (each.valid() && is_ownerless(each.get()) && remove_at(directory.get(), name, 0)) ++out;
  }
  return out;
}

bool remove_tree(const std::string& path) { return remove_at(AT_FDCWD, path, 0); }
bool remove_tree(int folder, const std::string& name) { return remove_at(folder, name, 0); }

void forget_old_undone(const std::string& home) {
  const UniqueFd directory(::open((home + "/undone").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return;
  std::vector<std::pair<long long, std::string>> all;
  for (const std::string& name : names_in(directory.get()))
    if (const long long second = second_of(name); second >= 0) all.emplace_back(second, name);
  std::sort(all.rbegin(), all.rend());
  const long long oldest = ::time(nullptr) - kUndoneDays * 86'400LL;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i >= kUndoneMost || all[i].first < oldest) (void)remove_at(directory.get(), all[i].second, 0);
}

}  // namespace agentd::cage
