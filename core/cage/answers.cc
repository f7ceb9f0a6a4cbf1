// SPDX-License-Identifier: Apache-2.0
#include "core/cage/answers.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace agentd::cage {
namespace {

constexpr std::size_t kNameMax = 256, kValueMax = 64 * 1024;

// The process of a thread: descriptors of a process are opened by the number of its first one. The thread's own number
// where that cannot be read.
pid_t process_of(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  constexpr std::string_view kKey = "Tgid:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kKey)) return static_cast<pid_t>(std::atoi(line.c_str() + kKey.size()));
  return thread;
}

// The memory and the descriptors of the thread whose call waits.
class Asker {
 public:
  explicit Asker(pid_t thread) : pid_(thread), proc_("/proc/" + std::to_string(thread)) {}

  bool read(std::uint64_t at, void* to, std::size_t bytes) const {
    iovec own{to, bytes}, other{reinterpret_cast<void*>(at), bytes};
    return ::process_vm_readv(pid_, &own, 1, &other, 1, 0) == static_cast<ssize_t>(bytes);
  }
  // A text up to its NUL; nullopt: it is longer, or nowhere.
  std::optional<std::string> text(std::uint64_t at, std::size_t most) const {
    std::string out;
    while (out.size() < most) {
      // Never beyond a page, which may be the last one.
      std::array<char, 256> part{};
      const std::size_t size = std::min<std::size_t>(part.size(), 4096 - (at + out.size()) % 4096);
      if (!read(at + out.size(), part.data(), size)) return std::nullopt;
      const std::string_view got(part.data(), size);
      const std::size_t end = got.find('\0');
      out += got.substr(0, end);
      if (end != std::string_view::npos) return out;
    }
    return std::nullopt;
  }
  UniqueFd take(int fd) const {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, process_of(pid_), 0)));
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
  }
  // The file that the path means to that process. Its threads may have a directory of their own, which is not looked
  // at: they are refused where the two differ.
  UniqueFd open(int directory, std::string path, bool follow) const {
    for (const char* const own : {"/proc/self/", "/proc/thread-self/"})
      if (path.starts_with(own)) path = proc_ + "/" + path.substr(std::strlen(own));
    if (path.starts_with("/dev/fd/")) path = proc_ + "/fd/" + path.substr(8);
    const std::string place = directory == AT_FDCWD ? proc_ + "/cwd" : proc_ + "/fd/" + std::to_string(directory);
    const int flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    if (path.starts_with('/')) return UniqueFd(::open(path.c_str(), flags));
    const UniqueFd from(::open(place.c_str(), O_PATH | O_CLOEXEC));
    if (!from.valid()) return UniqueFd();
    if (path.empty()) return UniqueFd(::fcntl(from.get(), F_DUPFD_CLOEXEC, 0));
    return UniqueFd(::openat(from.get(), path.c_str(), flags));
  }

 private:
  const pid_t pid_;
  const std::string proc_;
};

std::string own_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

bool is_within(const std::string& path, const std::string& root) {
  return path == root || (path.starts_with(root) && (root.ends_with('/') || path[root.size()] == '/'));
}

int failed() { return -errno; }

using Arguments = const __u64 (&)[6];

// One call: which file it is about, and the change.
class Change {
 public:
  Change(const Asker& asker, int call, Arguments arguments, const std::vector<std::string>& writable)
      : asker_(asker), call_(call), at_(arguments), writable_(writable) {}

  // 0 or a negative errno.
  int make() {
    if (const int wrong = open_file(); wrong != 0) return wrong;
    std::error_code unknown;
    const std::string real = std::filesystem::read_symlink(own_path(file_.get()), unknown).string();
    const bool inside =
        std::any_of(writable_.begin(), writable_.end(), [&](const std::string& root) { return is_within(real, root); });
    if (unknown || !inside) return -EPERM;
    return change();
  }

 private:
  int directory() const { return static_cast<int>(at_[0]); }

  int open_path(int from, unsigned path_argument, bool follow, bool may_be_empty = false) {
    const auto path = asker_.text(at_[path_argument], PATH_MAX);
    if (!path) return -EFAULT;
    if (path->empty() && !may_be_empty) return -ENOENT;
    file_ = asker_.open(from, *path, follow);
    return file_.valid() ? 0 : failed();
  }
  int open_descriptor() {
    file_ = asker_.take(static_cast<int>(at_[0]));
    return file_.valid() ? 0 : failed();
  }
  bool flag(unsigned argument, int bit) const { return (at_[argument] & static_cast<unsigned>(bit)) != 0; }

  int open_file() {
    switch (call_) {
      case SYS_fchmod:
      case SYS_fchown:
      case SYS_fsetxattr:
      case SYS_fremovexattr:
        return open_descriptor();
      case SYS_fchmodat:
        return open_path(directory(), 1, true);
      case SYS_fchownat:
        return open_path(directory(), 1, !flag(4, AT_SYMLINK_NOFOLLOW), flag(4, AT_EMPTY_PATH));
      case SYS_utimensat:
        if (at_[1] == 0) return open_descriptor();
        return open_path(directory(), 1, !flag(3, AT_SYMLINK_NOFOLLOW), flag(3, AT_EMPTY_PATH));
      case SYS_lsetxattr:
      case SYS_lremovexattr:
        return open_path(AT_FDCWD, 0, false);
#ifdef SYS_lchown
      case SYS_lchown:
        return open_path(AT_FDCWD, 0, false);
#endif
#ifdef SYS_futimesat
      case SYS_futimesat:
        return at_[1] == 0 ? open_descriptor() : open_path(directory(), 1, true);
#endif
      default:
        return open_path(AT_FDCWD, 0, true);
    }
  }

  int change() {
    switch (call_) {
      case SYS_fchmod:
        return mode(at_[1]);
      case SYS_fchmodat:
        return mode(at_[2]);
      case SYS_fchown:
        return owner(at_[1], at_[2]);
      case SYS_fchownat:
        return owner(at_[2], at_[3]);
      case SYS_utimensat:
        return times_ns(at_[2]);
      case SYS_setxattr:
      case SYS_lsetxattr:
      case SYS_fsetxattr:
        return set_attribute();
      case SYS_removexattr:
      case SYS_lremovexattr:
      case SYS_fremovexattr:
        return remove_attribute();
#ifdef SYS_chmod
      case SYS_chmod:
        return mode(at_[1]);
      case SYS_chown:
      case SYS_lchown:
        return owner(at_[1], at_[2]);
      case SYS_utime:
        return times_s();
      case SYS_utimes:
        return times_us(at_[1]);
      case SYS_futimesat:
        return times_us(at_[2]);
#endif
      default:
        return -ENOSYS;
    }
  }

  // A directory hands its set-group-ID bit down and runs nothing; a file with such a bit runs as its owner.
  int mode(std::uint64_t bits) {
    struct stat info {};
    if ((bits & (S_ISUID | S_ISGID)) != 0 && (::fstat(file_.get(), &info) != 0 || !S_ISDIR(info.st_mode)))
      return -EPERM;
    return ::chmod(own_path(file_.get()).c_str(), static_cast<mode_t>(bits)) == 0 ? 0 : failed();
  }
  int owner(std::uint64_t user, std::uint64_t group) {
    const int done = ::fchownat(file_.get(), "", static_cast<uid_t>(user), static_cast<gid_t>(group), AT_EMPTY_PATH);
    return done == 0 ? 0 : failed();
  }
  int set_times(const timespec* times) {
    // The wrapper of the C library takes no null path; the call by an empty one does.
    return ::syscall(SYS_utimensat, file_.get(), "", times, AT_EMPTY_PATH) == 0 ? 0 : failed();
  }
  int times_ns(std::uint64_t where) {
    timespec times[2];
    if (where == 0) return set_times(nullptr);
    return asker_.read(where, times, sizeof times) ? set_times(times) : -EFAULT;
  }
  int times_us(std::uint64_t where) {
    timeval given[2];
    if (where == 0) return set_times(nullptr);
    if (!asker_.read(where, given, sizeof given)) return -EFAULT;
    const timespec times[2] = {{given[0].tv_sec, given[0].tv_usec * 1000}, {given[1].tv_sec, given[1].tv_usec * 1000}};
    return set_times(times);
  }
  int times_s() {
    utimbuf given{};
    if (at_[1] == 0) return set_times(nullptr);
    if (!asker_.read(at_[1], &given, sizeof given)) return -EFAULT;
    const timespec times[2] = {{given.actime, 0}, {given.modtime, 0}};
    return set_times(times);
  }
  int set_attribute() {
    const auto name = asker_.text(at_[1], kNameMax);
    if (!name) return -EFAULT;
    if (at_[3] > kValueMax) return -E2BIG;
    std::string value(at_[3], '\0');
    if (!value.empty() && !asker_.read(at_[2], value.data(), value.size())) return -EFAULT;
    const int done =
        ::setxattr(own_path(file_.get()).c_str(), name->c_str(), value.data(), value.size(), static_cast<int>(at_[4]));
    return done == 0 ? 0 : failed();
  }
  int remove_attribute() {
    const auto name = asker_.text(at_[1], kNameMax);
    if (!name) return -EFAULT;
    return ::removexattr(own_path(file_.get()).c_str(), name->c_str()) == 0 ? 0 : failed();
  }

  const Asker& asker_;
  const int call_;
  Arguments at_;
  const std::vector<std::string>& writable_;
  UniqueFd file_;
};

bool is_loopback(const sockaddr_storage& address, std::uint16_t port) {
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return ntohs(in.sin_port) == port && ntohl(in.sin_addr.s_addr) == INADDR_LOOPBACK;
  }
  return false;
}

// Connects the socket of the asker if it leads to the relay.
int connect_for(const Asker& asker, Arguments at, std::uint16_t port) {
  sockaddr_storage address{};
  const std::size_t bytes = at[2];
  if (bytes < sizeof(sa_family_t) || bytes > sizeof address) return -EINVAL;
  if (!asker.read(at[1], &address, bytes)) return -EFAULT;
  if (port == 0 || !is_loopback(address, port)) return -EACCES;
  const UniqueFd socket = asker.take(static_cast<int>(at[0]));
  if (!socket.valid()) return failed();
  const int done = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(bytes));
  return done == 0 ? 0 : failed();
}

}  // namespace

Answers::Answers(UniqueFd questions, std::vector<std::string> writable, std::uint16_t port)
    : questions_(std::move(questions)), writable_(std::move(writable)), port_(port) {}

bool Answers::answer_one() {
  seccomp_notif question{};
  if (::ioctl(questions_.get(), SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) return errno == EINTR || errno == ENOENT;
  const Asker asker(static_cast<pid_t>(question.pid));
  seccomp_notif_resp answer{};
  answer.id = question.id;
  const int call = question.data.nr;
  // The number is of that process as long as its call waits. It is asked again after everything was opened by it: what
  // was done for a process that has ended was its own wish still, or a refusal.
  if (::ioctl(questions_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &question.id) != 0) return true;
  if (call == SYS_connect)
    answer.error = connect_for(asker, question.data.args, port_);
  else if (call == SYS_bind || call == SYS_listen)
    answer.error = -EACCES;
  else
    answer.error = Change(asker, call, question.data.args, writable_).make();
  (void)::ioctl(questions_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return true;
}

}  // namespace agentd::cage
