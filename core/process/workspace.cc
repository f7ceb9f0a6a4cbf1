// SPDX-License-Identifier: Apache-2.0
#include "core/process/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/process/beneath.h"
#include "core/process/kept_paths.h"

namespace agentd {
namespace {

constexpr std::uint64_t kReadDefault = 16u << 20;
constexpr std::uint64_t kReplaceMax = 256u << 20;
constexpr std::uint32_t kListDefault = 10'000;
constexpr int kLinksMax = 40;  // the kernel's own limit

struct Root {
  std::string path;
  UniqueFd fd;
  dev_t device = 0;
  ino_t inode = 0;
};

// A file as its root, the path below it, and its name in messages.
struct Place {
  int root = -1;
  std::string below;  // never empty; "." is the root itself
  std::string shown;
};

struct Parent {
  UniqueFd fd;
  std::string name;
};

// "a/b//" is the folder "a" and the name "b"; the folder of a single name is ".".
std::pair<std::string, std::string> split(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

Error not_regular(const std::string& shown, mode_t mode) {
  return {Code::kInvalid, shown + (S_ISDIR(mode) ? " is a directory, not a file" : " is not a regular file")};
}

FileEntry::Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileEntry::Kind::kRegular;
  if (S_ISDIR(mode)) return FileEntry::Kind::kDirectory;
  return S_ISLNK(mode) ? FileEntry::Kind::kSymlink : FileEntry::Kind::kOther;
}

// The names in a directory, in byte order.
Result<std::vector<std::string>> names_in(UniqueFd fd, const std::string& shown) {
  DIR* directory = ::fdopendir(fd.get());
  if (directory == nullptr) return errno_error("listing " + shown, errno);
  fd.release();  // closedir closes it
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> temporary_name() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) return errno_error("naming a temporary file", errno);
  return ".agentd-" + std::to_string(random) + ".tmp";
}

// The new contents beside the file; removed unless they replaced it.
class Replacement {
 public:
  static Result<Replacement> make(Parent parent, const std::string& shown, std::string_view bytes,
                                  std::optional<mode_t> mode) {
    AGENTD_TRY(std::string name, temporary_name());
    UniqueFd fd(::openat(parent.fd.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!fd.valid()) return errno_error("writing " + shown, errno);
    Replacement made(std::move(parent), std::move(name), shown);
    if (mode && ::fchmod(fd.get(), *mode) != 0) return errno_error("writing " + shown, errno);
    if (auto wrote = write_all(fd.get(), bytes); !wrote) return wrote.error().with_context(shown);
    if (::fsync(fd.get()) != 0) return errno_error("syncing " + shown, errno);
    return made;
  }
  Replacement(Replacement&& other) noexcept
      : parent_(std::move(other.parent_)), name_(std::exchange(other.name_, {})), shown_(std::move(other.shown_)) {}
  Replacement& operator=(Replacement&&) = delete;
  ~Replacement() {
    if (!name_.empty()) ::unlinkat(parent_.fd.get(), name_.c_str(), 0);
  }

  Result<void> take_place() {
    const int folder = parent_.fd.get();
    if (::renameat(folder, name_.c_str(), folder, parent_.name.c_str()) != 0)
      return errno_error("replacing " + shown_, errno);
    name_.clear();
    // A folder that may be searched but not read cannot be synced; the file is in place all the same.
    const UniqueFd readable(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (readable.valid() && ::fsync(readable.get()) != 0) return errno_error("syncing the folder of " + shown_, errno);
    return {};
  }

 private:
  Replacement(Parent parent, std::string name, std::string shown)
      : parent_(std::move(parent)), name_(std::move(name)), shown_(std::move(shown)) {}

  Parent parent_;
  std::string name_;  // of the temporary file; empty once it is renamed
  std::string shown_;
};

class KernelWorkspace final : public Workspace {
 public:
  KernelWorkspace(std::vector<std::string> paths, std::vector<Root> roots, std::vector<std::string> kept,
                  HiddenFiles hidden, std::function<std::vector<std::string>()> kept_now)
      : paths_(std::move(paths)),
        roots_(std::move(roots)),
        kept_(std::move(kept)),
        kept_now_(std::move(kept_now)),
        hidden_(std::move(hidden)) {}

  const std::vector<std::string>& roots() const override { return paths_; }

  Result<std::string> read(const std::string& path, std::uint64_t offset, std::uint64_t limit,
                           std::uint64_t* total) const override {
    AGENTD_TRY(const Place place, locate(path));
    struct stat info {};
    AGENTD_TRY(UniqueFd fd, open_regular(place, &info));
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (total != nullptr) *total = size;
    if (offset >= size) return std::string();
    return read_at(fd.get(), offset, std::min(limit == 0 ? kReadDefault : limit, size - offset), place);
  }

  Result<void> write(const std::string& path, std::string_view bytes) override {
    AGENTD_TRY(Replacement made, prepare(path, bytes));
    const MutexLock lock(writes_);
    return made.take_place();
  }

  Result<void> replace(const std::string& path, std::string_view expected, std::string_view bytes) override {
    AGENTD_TRY_VOID(expect(path, expected));
    AGENTD_TRY(Replacement made, prepare(path, bytes));
    // Compared once more with the new file ready: another program's change is missed only if it falls between these two
    // lines, and a change of this process cannot.
    const MutexLock lock(writes_);
    AGENTD_TRY_VOID(expect(path, expected));
    return made.take_place();
  }

  Result<FileListing> list(const std::string& path, std::uint32_t depth, std::uint32_t limit) const override;

 private:
  Result<Place> locate(const std::string& path) const;
  Error outside(const std::string& path) const;
  Result<UniqueFd> open_regular(const Place& place, struct stat* info) const;
  Result<std::string> read_at(int fd, std::uint64_t offset, std::uint64_t bytes, const Place& place) const;
  Result<Place> follow(Place place) const;
  KeptPaths kept_paths() const;
  static Result<void> check_missing(const Place& place, std::string folder, std::string below, const KeptPaths& kept);
  static Result<UniqueFd> make_folder(const Place& place, const std::string& folder, const KeptPaths& kept);
  Result<Replacement> prepare(const std::string& path, std::string_view bytes) const;
  Result<void> expect(const std::string& path, std::string_view expected) const;

  const std::vector<std::string> paths_;
  const std::vector<Root> roots_;
  const std::vector<std::string> kept_;
  const std::function<std::vector<std::string>()> kept_now_;
  const HiddenFiles hidden_;
  Mutex writes_;  // held over compare and rename
};

// An absolute path is under a root when device and inode of one of its leading folders are the root's; its spelling
// does not matter. The kernel walks the rest from the root.
Result<Place> KernelWorkspace::locate(const std::string& path) const {
  if (path.empty()) return Error{Code::kInvalid, "a path must not be empty"};
  if (path.find('\0') != std::string::npos) return Error{Code::kInvalid, "a path must not contain a NUL byte"};
  if (path.front() != '/') return Place{roots_.front().fd.get(), path, path};
  for (std::size_t end = 1; end <= path.size(); ++end) {
    if (end != path.size() && path[end] != '/') continue;
    struct stat info {};
    if (::stat(path.substr(0, end).c_str(), &info) != 0) break;
    for (const Root& root : roots_) {
      if (info.st_dev != root.device || info.st_ino != root.inode) continue;
      const std::size_t rest = std::min(path.find_first_not_of('/', end), path.size());
      const std::string below = path.substr(rest);
      return Place{root.fd.get(), below.empty() ? "." : below, path};
    }
  }
  return outside(path);
}

// A root that is gone has nothing below it. The path is compared as text for the message alone.
Error KernelWorkspace::outside(const std::string& path) const {
  for (const std::string& root : paths_) {
    const bool below = path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
    struct stat info {};
    if (below && ::stat(root.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR))
      return {Code::kNotFound, "the workspace directory " + root + " no longer exists"};
  }
  return {Code::kDenied, path + " is outside the workspace"};
}

// Opens with O_PATH first, which does not touch a FIFO or a device, then for reading.
Result<UniqueFd> KernelWorkspace::open_regular(const Place& place, struct stat* info) const {
  AGENTD_TRY(const UniqueFd look, open_beneath(place.root, place.below, {.flags = O_PATH}, place.shown));
  if (::fstat(look.get(), info) != 0) return errno_error("reading " + place.shown, errno);
  if (!S_ISREG(info->st_mode)) return not_regular(place.shown, info->st_mode);
  // Before it is opened: closing some of them has an effect.
  AGENTD_TRY_VOID(hidden_.check(look.get(), place.shown));
  const dev_t device = info->st_dev;
  const ino_t inode = info->st_ino;
  AGENTD_TRY(UniqueFd fd,
             open_beneath(place.root, place.below, {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY}, place.shown));
  if (::fstat(fd.get(), info) != 0) return errno_error("reading " + place.shown, errno);
  if (!S_ISREG(info->st_mode)) return not_regular(place.shown, info->st_mode);
  if (info->st_dev != device || info->st_ino != inode) AGENTD_TRY_VOID(hidden_.check(fd.get(), place.shown));
  return fd;
}

Result<std::string> KernelWorkspace::read_at(int fd, std::uint64_t offset, std::uint64_t bytes,
                                             const Place& place) const {
  std::string out(bytes, '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading " + place.shown, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

// Renaming onto a link would replace the link, so this follows it to the file that it names, as long as that is below
// the root. The composed path is only a request; the kernel checks it again.
Result<Place> KernelWorkspace::follow(Place place) const {
  for (int links = 0; links < kLinksMax; ++links) {
    const auto [folder, name] = split(place.below);
    auto opened = open_beneath(place.root, place.below, {.flags = O_PATH | O_NOFOLLOW}, place.shown);
    if (!opened && opened.error().code == Code::kNotFound) return place;
    if (!opened) return opened.error();
    struct stat info {};
    if (::fstat(opened->get(), &info) != 0) return errno_error("opening " + place.shown, errno);
    if (!S_ISLNK(info.st_mode)) return place;
    std::string target(4096, '\0');
    const ssize_t bytes = ::readlinkat(opened->get(), "", target.data(), target.size());
    if (bytes <= 0) return errno_error("following " + place.shown, errno);
    target.resize(static_cast<std::size_t>(bytes));
    if (target.front() == '/')
      return Error{Code::kDenied, place.shown + " is a link to an absolute path, which is not followed"};
    place.below = folder + "/" + target;
  }
  return Error{Code::kDenied, place.shown + " leads through too many symbolic links"};
}

// Before folders are made: what is refused leaves none behind.
Result<void> KernelWorkspace::check_missing(const Place& place, std::string folder, std::string below,
                                            const KeptPaths& kept) {
  for (;;) {
    const auto opened = open_beneath(place.root, folder, {.flags = O_PATH | O_DIRECTORY}, place.shown);
    if (opened) return kept.check_new(opened->get(), below, place.shown);
    if (opened.error().code != Code::kNotFound || folder == ".") return {};  // make_folder() says why
    auto [above, name] = split(folder);
    below = name + "/" + below;
    folder = std::move(above);
  }
}

Result<UniqueFd> KernelWorkspace::make_folder(const Place& place, const std::string& folder, const KeptPaths& kept) {
  const OpenOptions options{.flags = O_PATH | O_DIRECTORY};
  auto opened = open_beneath(place.root, folder, options, place.shown);
  if (opened || opened.error().code != Code::kNotFound || folder == ".") return opened;
  const auto [above, name] = split(folder);
  if (name.empty() || name == "." || name == "..") return opened;
  AGENTD_TRY(const UniqueFd parent, make_folder(place, above, kept));
  AGENTD_TRY_VOID(kept.check(parent.get(), name, place.shown));
  if (::mkdirat(parent.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
    return errno_error("creating the folder of " + place.shown, errno);
  return open_beneath(place.root, folder, options, place.shown);
}

KeptPaths KernelWorkspace::kept_paths() const {
  std::vector<std::string> all = kept_;
  if (kept_now_)
    for (std::string& each : kept_now_()) all.push_back(std::move(each));
  return KeptPaths(std::move(all));
}

Result<Replacement> KernelWorkspace::prepare(const std::string& path, std::string_view bytes) const {
  AGENTD_TRY(const Place asked, locate(path));
  AGENTD_TRY(const Place place, follow(asked));
  auto [folder, name] = split(place.below);
  if (name == "." || name == ".." || name.empty() || place.below.back() == '/')
    return Error{Code::kInvalid, place.shown + " names a directory, not a file"};
  const KeptPaths kept = kept_paths();
  AGENTD_TRY_VOID(check_missing(place, folder, name, kept));
  AGENTD_TRY(UniqueFd parent, make_folder(place, folder, kept));
  AGENTD_TRY_VOID(kept.check(parent.get(), name, place.shown));
  struct stat info {};
  std::optional<mode_t> mode;
  if (::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(info.st_mode)) return not_regular(place.shown, info.st_mode);
    // A rename would replace it whatever its mode is, and a shell's redirection would not.
    if (::faccessat(parent.get(), name.c_str(), W_OK, AT_EACCESS) != 0 && errno == EACCES)
      return Error{Code::kDenied, place.shown + " is write-protected: 'chmod u+w' lets it be changed"};
    mode = info.st_mode & 0777;  // without set-user-id bits, as the kernel does for a written file
  }
  return Replacement::make({std::move(parent), name}, place.shown, bytes, mode);
}

Result<void> KernelWorkspace::expect(const std::string& path, std::string_view expected) const {
  std::uint64_t total = 0;
  AGENTD_TRY(const std::string now, read(path, 0, kReplaceMax, &total));
  if (total != now.size() || now != expected) return Error{Code::kConflict, path + " has changed since it was read"};
  return {};
}

// Walks with a stack of paths and one open directory at a time, so that depth costs no descriptors.
Result<FileListing> KernelWorkspace::list(const std::string& path, std::uint32_t depth, std::uint32_t limit) const {
  AGENTD_TRY(const Place place, locate(path));
  AGENTD_TRY(const UniqueFd top, open_beneath(place.root, place.below, {.flags = O_PATH}, place.shown));
  struct stat info {};
  if (::fstat(top.get(), &info) != 0) return errno_error("listing " + place.shown, errno);
  if (!S_ISDIR(info.st_mode)) return Error{Code::kInvalid, place.shown + " is not a directory"};

  struct Step {
    std::string path;  // "" = the top
    std::uint32_t level;
  };
  FileListing out;
  const std::uint32_t most = limit == 0 ? kListDefault : limit;
  std::vector<Step> todo{{"", 0}};
  while (!todo.empty()) {
    const Step step = std::move(todo.back());
    todo.pop_back();
    bool descend = step.path.empty();
    if (!step.path.empty()) {
      if (::fstatat(top.get(), step.path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (out.entries.size() == most) {
        out.more = true;
        break;
      }
      out.entries.push_back({kind_of(info.st_mode), step.path, static_cast<std::uint64_t>(info.st_size),
                             info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec});
      descend = S_ISDIR(info.st_mode) && (depth == 0 || step.level < depth);
    }
    if (!descend) continue;
    auto fd = open_beneath(top.get(), step.path.empty() ? "." : step.path,
                           {.flags = O_RDONLY | O_DIRECTORY, .follow_links = false}, place.shown);
    if (!fd && step.path.empty()) return fd.error();
    if (!fd) continue;  // removed or unreadable: it has been reported as an entry
    AGENTD_TRY(std::vector<std::string> names, names_in(std::move(*fd), place.shown));
    for (auto name = names.rbegin(); name != names.rend(); ++name)
      todo.push_back({step.path.empty() ? *name : step.path + "/" + *name, step.level + 1});
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Workspace>> open_workspace(std::vector<std::string> roots, std::vector<std::string> kept,
                                                  std::vector<std::string> hidden,
                                                  std::function<std::vector<std::string>()> kept_now) {
  AGENTD_TRY_VOID(check_openat2());
  if (roots.empty()) return Error{Code::kInvalid, "a workspace needs at least one directory"};
  std::vector<Root> opened;
  for (const std::string& path : roots) {
    if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos)
      return Error{Code::kInvalid, "the workspace root '" + path + "' is not an absolute path"};
    Root root{path, UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), 0, 0};
    if (!root.fd.valid()) return errno_error("opening the workspace root " + path, errno);
    struct stat info {};
    if (::fstat(root.fd.get(), &info) != 0) return errno_error("opening the workspace root " + path, errno);
    root.device = info.st_dev;
    root.inode = info.st_ino;
    opened.push_back(std::move(root));
  }
  return std::unique_ptr<Workspace>(std::make_unique<KernelWorkspace>(
      std::move(roots), std::move(opened), std::move(kept), HiddenFiles(std::move(hidden)), std::move(kept_now)));
}

}  // namespace agentd
