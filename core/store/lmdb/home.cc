// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/home.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/shell_word.h"
#include "core/store/lmdb/pages.h"

namespace agentd {
namespace {

// From linux/magic.h, and the kernel's sources for those that it does not list.
constexpr std::array<std::pair<std::uint32_t, std::string_view>, 13> kRemote{{
    {0x6969, "NFS"},
    {0x517b, "SMB"},
    {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},
    {0x01021997, "9p"},
    {0x65735546, "FUSE"},
    {0x00c36400, "Ceph"},
    {0x5346414f, "AFS"},
    {0x73757245, "Coda"},
    {0x0bd00bd0, "Lustre"},
    {0x564c, "NCP"},
    {0x786f4256, "vboxsf"},
    {0xbacbacbc, "VMware shared folder"},
}};

// The layout of an LMDB meta page, in this machine's byte order.
constexpr std::size_t kPageHeaderBytes = 16;
constexpr std::uint32_t kLmdbMagic = 0xbeefc0de;
constexpr std::uint32_t kLmdbDataVersion = 1;
constexpr std::size_t kSmallestFile = 8192;

Error refused(Code code, const std::string& directory, std::string why) {
  return {code, "the store " + directory + " " + std::move(why)};
}

Result<void> check_file_system(const std::string& directory) {
  struct statfs info {};
  if (::statfs(directory.c_str(), &info) != 0) return errno_error("opening the store " + directory, errno);
  const std::string_view remote = remote_file_system(static_cast<long>(info.f_type));
  if (remote.empty()) return {};
  return refused(Code::kInvalid, directory,
                 "is on a remote file system (" + std::string(remote) +
                     "), where its locks do not work: choose a local directory");
}

Result<void> check_owner(const std::string& directory, const struct stat& info) {
  if (info.st_uid != ::geteuid() && ::geteuid() != 0)
    return refused(Code::kDenied, directory, "belongs to another user");
  if ((info.st_mode & S_IWOTH) != 0)
    return refused(Code::kDenied, directory, "is writable by every user: run chmod 700 " + shell_word(directory));
  return {};
}

// Missing directories and the one that they are made in, deepest first.
std::vector<std::string> new_chain(const std::string& directory) {
  std::vector<std::string> out;
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();
  struct stat info {};
  for (;;) {
    out.push_back(path.empty() ? "." : path.string());
    if (::stat(out.back().c_str(), &info) == 0 || errno != ENOENT || path == path.parent_path()) return out;
    path = path.parent_path();
  }
}

Result<void> create_home(const std::string& directory) {
  const std::vector<std::string> chain = new_chain(directory);
  AGENTD_TRY_VOID(check_file_system(chain.back()));
  if (auto made = make_directories(directory); !made)
    return made.error().with_context("creating the store " + directory);
  // A new name is durable once its parent is.
  for (std::size_t i = 1; i < chain.size(); ++i) AGENTD_TRY_VOID(sync_directory(chain[i]));
  return {};
}

Result<HomeState> check_meta(const std::string& directory, int fd) {
  std::array<char, kPageHeaderBytes + 8> head{};
  const ssize_t got = ::pread(fd, head.data(), head.size(), 0);
  if (got < 0) return errno_error("reading the store " + directory, errno);
  std::uint32_t magic = 0, version = 0;
  std::memcpy(&magic, head.data() + kPageHeaderBytes, sizeof magic);
  std::memcpy(&version, head.data() + kPageHeaderBytes + sizeof magic, sizeof version);
  const bool right = magic == kLmdbMagic && version == kLmdbDataVersion;
  // The other meta page identifies it as a damaged store.
  if (!right && Pages::open(directory + "/data.mdb")) return HomeState::kStore;
  if (static_cast<std::size_t>(got) < head.size() || magic != kLmdbMagic)
    return refused(Code::kCorrupt, directory,
                   "contains a data.mdb that is not a store: move it away or choose another directory");
  if (version != kLmdbDataVersion)
    return refused(Code::kInvalid, directory,
                   "was written by another major version of LMDB (data version " + std::to_string(version) + ")");
  return HomeState::kStore;
}

Result<HomeState> check_data_file(const std::string& directory) {
  const std::string file = directory + "/data.mdb";
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && errno == ENOENT) return HomeState::kEmpty;
  if (!fd.valid()) return errno_error("opening the store " + directory, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("opening the store " + directory, errno);
  if (!S_ISREG(info.st_mode))
    return refused(Code::kCorrupt, directory,
                   "contains a data.mdb that is not a file: move it away or choose another directory");
  if (info.st_size == 0)
    return refused(Code::kCorrupt, directory,
                   "contains an empty data.mdb, so its content is lost: restore a backup, or remove that "
                   "file to start again");
  if (info.st_size < static_cast<off_t>(kSmallestFile))
    return refused(Code::kCorrupt, directory,
                   "contains a data.mdb of " + std::to_string(info.st_size) +
                       " bytes, which is not a store: move it away or choose another directory");
  return check_meta(directory, fd.get());
}

}  // namespace

std::string_view remote_file_system(long f_type) {
  const auto type = static_cast<std::uint32_t>(f_type);
  for (const auto& [magic, name] : kRemote)
    if (magic == type) return name;
  return {};
}

Result<void> sync_directory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return errno_error("syncing " + path, errno);
  return {};
}

Result<HomeState> prepare_home(const LmdbOptions& options) {
  const std::string& directory = options.directory;
  if (directory.empty()) return Error{Code::kInvalid, "a store needs a directory"};
  const bool may_create = options.create && !options.read_only;
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) {
    if (errno == ENOTDIR)
      return refused(Code::kInvalid, directory, "has a file in its path where a directory must be: move the file away");
    if (errno != ENOENT) return errno_error("opening the store " + directory, errno);
    if (!may_create) return Error{Code::kNotFound, "no store in " + directory};
    AGENTD_TRY_VOID(create_home(directory));
    return HomeState::kEmpty;
  }
  if (!S_ISDIR(info.st_mode)) return refused(Code::kInvalid, directory, "is not a directory");
  AGENTD_TRY_VOID(check_owner(directory, info));
  AGENTD_TRY_VOID(check_file_system(directory));
  AGENTD_TRY(const HomeState state, check_data_file(directory));
  if (state == HomeState::kEmpty && !may_create) return Error{Code::kNotFound, "no store in " + directory};
  return state;
}

Result<UniqueFd> claim_process(const std::string& directory) {
  const std::string path = directory + "/process.lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return errno_error("opening the store " + directory, errno);
  // Locks of an open file description also conflict within one process. Each process locks the byte of its own pid and
  // pid namespace, because containers may share a store.
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) != 0) space.st_ino = 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(((space.st_ino & 0x7fffffff) << 32) | static_cast<std::uint32_t>(::getpid()));
  lock.l_len = 1;
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno == EAGAIN || errno == EACCES)
    return refused(Code::kBusy, directory, "is already open in this process: use that one");
  return errno_error("locking the store " + directory, errno);
}

}  // namespace agentd
