// SPDX-License-Identifier: Apache-2.0
#include "core/trust/safe_path.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <string_view>
#include <vector>

#include "core/base/shell_word.h"

namespace agentd {
namespace {

constexpr int kLinksMax = 40;

bool is_own(const struct stat& info, uid_t user) { return info.st_uid == 0 || info.st_uid == user; }

Error denied(const std::string& path, const std::string& what) { return {Code::kDenied, path + " " + what}; }

Error not_own(const std::string& path, const struct stat& info) {
  return denied(path, "belongs to uid " + std::to_string(info.st_uid) + ", ignored: chown it to yourself or to root");
}

// Empty if only the owner may write.
std::string writable_by(const struct stat& info) {
  if ((info.st_mode & S_IWOTH) != 0) return "world-writable";
  return (info.st_mode & S_IWGRP) != 0 ? "group-writable" : "";
}

Error writable(const std::string& path, const std::string& who) {
  return denied(path, "is " + who + ", ignored: chmod go-w " + shell_word(path));
}

void push_components(std::deque<std::string>& todo, std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  todo.insert(todo.begin(), parts.begin(), parts.end());
}

// A walk from the root; the stack of passed directories makes ".." a step back.
class Walk {
 public:
  Walk(const std::string& path, uid_t user) : user_(user) { push_components(todo_, path); }

  Result<UniqueFd> run() {
    AGENTD_TRY_VOID(enter("/", UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC))));
    while (!todo_.empty()) {
      const std::string name = todo_.front();
      todo_.pop_front();
      AGENTD_TRY_VOID(step(name));
    }
    const std::string who = writable_by(passed_.back().info);
    if (!who.empty()) return writable(passed_.back().path, who);
    UniqueFd readable(::openat(passed_.back().fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!readable.valid()) return errno_error("opening " + passed_.back().path, errno);
    return readable;
  }

 private:
  struct Passed {
    std::string path;
    UniqueFd fd;
    struct stat info {};
  };

  Result<void> step(const std::string& name) {
    if (name == "..") {
      if (passed_.size() > 1) passed_.pop_back();
      return {};
    }
    const std::string& parent = passed_.back().path;
    const std::string path = parent == "/" ? parent + name : parent + "/" + name;
    UniqueFd fd(::openat(passed_.back().fd.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return enter(path, std::move(fd));
  }

  Result<void> enter(const std::string& path, UniqueFd fd) {
    if (!fd.valid()) return errno_error("opening " + path, errno);
    Passed next{path, std::move(fd), {}};
    if (::fstat(next.fd.get(), &next.info) != 0) return errno_error("looking at " + path, errno);
    if (!is_own(next.info, user_)) return not_own(path, next.info);
    if (S_ISLNK(next.info.st_mode)) return follow(next);
    if (!S_ISDIR(next.info.st_mode)) return Error{Code::kInvalid, path + " is not a directory"};
    const std::string who = writable_by(next.info);
    const bool sticky = (next.info.st_mode & S_ISVTX) != 0 && next.info.st_uid == 0;
    if (!who.empty() && !sticky) return writable(path, who);
    passed_.push_back(std::move(next));
    return {};
  }

  Result<void> follow(const Passed& link) {
    if (++links_ > kLinksMax) return denied(link.path, "is a symbolic link that leads in a circle");
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(link.fd.get(), "", target, sizeof(target));
    if (length <= 0) return errno_error("reading the link " + link.path, errno);
    const std::string_view to(target, static_cast<std::size_t>(length));
    push_components(todo_, to);
    if (to.front() == '/') passed_.erase(passed_.begin() + 1, passed_.end());
    return {};
  }

  const uid_t user_;
  std::deque<std::string> todo_;
  std::vector<Passed> passed_;
  int links_ = 0;
};

}  // namespace

Result<UniqueFd> open_safe_directory(const std::string& path, uid_t user) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos)
    return Error{Code::kInvalid, "the hooks directory \"" + path + "\" must be an absolute path"};
  return Walk(path, user).run();
}

Result<SafeFile> open_safe_file(int directory, const std::string& name, const std::string& path, uid_t user) {
  if (name.empty() || name.find('/') != std::string::npos)
    return Error{Code::kInvalid, path + " is not a plain file name"};
  // O_NONBLOCK: a FIFO of that name must not stop the scan.
  UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && errno == ELOOP) return denied(path, "is a symbolic link, ignored: put the file itself there");
  if (!fd.valid()) return errno_error("opening " + path, errno);
  SafeFile out{std::move(fd), {}};
  if (::fstat(out.fd.get(), &out.info) != 0) return errno_error("looking at " + path, errno);
  if (!S_ISREG(out.info.st_mode)) return Error{Code::kInvalid, path + " is not a regular file"};
  if (!is_own(out.info, user)) return not_own(path, out.info);
  const std::string who = writable_by(out.info);
  if (!who.empty()) return writable(path, who);
  return out;
}

Result<void> make_private_directory(const std::string& path) {
  AGENTD_TRY_VOID(make_directories(path));
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_error("looking at " + path, errno);
  if (!S_ISDIR(info.st_mode)) return Error{Code::kDenied, path + " must be a directory, not a link: remove it"};
  if ((info.st_mode & 0777) == 0700 || ::chmod(path.c_str(), 0700) == 0) return {};
  return errno_error("protecting " + path, errno);
}

}  // namespace agentd
