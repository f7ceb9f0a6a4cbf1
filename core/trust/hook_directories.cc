// SPDX-License-Identifier: Apache-2.0
#include "core/trust/hook_directories.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>

#include "core/base/bytes.h"
#include "core/trust/safe_path.h"

namespace agentd {
namespace {

constexpr std::uint64_t kSidecarBytesMax = 256 * 1024;
constexpr std::size_t kHookFilesMax = 1024;  // per directory

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::string qualified(const std::string& stem, Precedence precedence) {
  return precedence == Precedence::kProject ? "project/" + stem : stem;
}

bool matches(std::span<const std::string> globs, const std::string& name, const std::string& stem) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0 || ::fnmatch(glob.c_str(), stem.c_str(), 0) == 0;
  });
}

// REQUIRES: an absolute path.
std::string parent_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

// Opens a file whose name and mode say that it is a hook.
Result<SafeFile> open_hook(int directory, const std::string& file, const std::string& path, uid_t user) {
  if (has_control_character(file))
    return Error{Code::kInvalid, path + " has a control character in its name and is not a hook: rename it"};
  return open_safe_file(directory, file, path, user);
}

class DirectoryScan {
 public:
  DirectoryScan(const HookDirectory& directory, std::span<const std::string> globs,
                std::span<const std::string> allowed, uid_t user, HookScan& out)
      : directory_(directory), globs_(globs), allowed_(allowed), user_(user), out_(out) {}

  void run() {
    auto opened = open_safe_directory(directory_.path, user_);
    if (!opened) {
      // A missing directory holds no hooks, even if the path to it is unsafe.
      struct stat info {};
      const bool is_there =
          !directory_.path.starts_with('/') || ::stat(directory_.path.c_str(), &info) == 0 || errno != ENOENT;
      const bool dangles = !is_there && ::lstat(directory_.path.c_str(), &info) == 0;
      if (opened.error().code != Code::kNotFound && is_there)
        problem_of_directory(opened.error().message);
      else if (dangles)
        dangling();
      else if (!directory_.setting.empty())
        problem_of_directory(directory_.path +
                             " does not exist, so none of its hooks run: create it, or remove it from the setting");
      return;
    }
    fd_ = std::move(*opened);
    std::vector<std::string> names = list();
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) take(name);
  }

 private:
  void problem(const std::string& path, const std::string& name, const std::string& message) {
    out_.problems.push_back({path, name, one_line(message, 2000)});
  }

  void problem_of_directory(const std::string& message) {
    problem(directory_.path, "", directory_.setting.empty() ? message : directory_.setting + ": " + message);
    note_unreadable(AT_FDCWD, directory_.path);
  }

  // The directory's hooks existed and are gone: as serious as an unreadable directory.
  void dangling() {
    problem_of_directory(directory_.path + " is a broken symbolic link: restore its target, or remove the link");
    out_.problems.back().unreadable = directory_.precedence != Precedence::kProject;
  }

  // Its author relies on a hook that would decide nothing, so no run begins.
  void note_unreadable(int directory, const std::string& file) {
    if (directory_.precedence == Precedence::kProject || ::faccessat(directory, file.c_str(), R_OK, AT_EACCESS) == 0 ||
        errno != EACCES)
      return;
    out_.problems.back().unreadable = true;
    out_.problems.back().message += ": make it readable (chmod u+r), or remove it";
  }

  std::vector<std::string> list() {
    std::vector<std::string> names;
    UniqueFd copy(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> stream(copy.valid() ? ::fdopendir(copy.get()) : nullptr);
    if (!stream) {
      problem_of_directory(errno_error("reading " + directory_.path, errno).message);
      return names;
    }
    copy.release();  // the stream closes it
    while (const dirent* const entry = ::readdir(stream.get())) {
      if (is_passed_over(entry->d_name)) continue;
      if (names.size() == kHookFilesMax) {
        problem(directory_.path, "",
                directory_.path + " has more than " + std::to_string(kHookFilesMax) +
                    " files, the rest are ignored: keep only hooks in it");
        break;
      }
      names.emplace_back(entry->d_name);
    }
    return names;
  }

  void take(const std::string& file) {
    const std::string path = directory_.path + "/" + file;
    const HookFileLook look = look_at_hook_file(fd_.get(), file, path);
    if (!look.kind && !look.is_meant) return;
    const std::string& stem = look.stem;
    const std::string name = qualified(stem, directory_.precedence);
    if (matches(globs_, name, stem)) {
      out_.disabled.push_back({name, directory_.precedence});
      return;
    }
    if (!is_allowed(name)) {
      out_.not_allowed.push_back({name, directory_.precedence});
      return;
    }
    if (!look.kind) {
      problem(path, name, look.why_not);
      out_.problems.back().no_hook = true;
      return;
    }
    auto opened = open_hook(fd_.get(), file, path, user_);
    if (!opened) {
      problem(path, name, opened.error().message);
      note_unreadable(fd_.get(), file);
      return;
    }
    HookFile hook;
    hook.kind = *look.kind;
    hook.name = name;
    hook.path = path;
    hook.precedence = directory_.precedence;
    hook.on_by_default = directory_.on_by_default;
    hook.bundled = directory_.bundled;
    hook.fd = std::move(opened->fd);
    hook.info = opened->info;
    if (hook.kind == HookKind::kNative) read_sidecar(stem, hook);
    out_.files.push_back(std::move(hook));
  }

  // A glob for the user's own "lint" does not allow a project's "lint".
  bool is_allowed(const std::string& name) const {
    const auto& always = directory_.always_allowed;
    return allowed_.empty() || matches(allowed_, name, name) ||
           std::find(always.begin(), always.end(), name) != always.end();
  }

  void read_sidecar(const std::string& stem, HookFile& hook) {
    const std::string file = stem + std::string(kSidecarSuffix);
    const std::string path = directory_.path + "/" + file;
    auto opened = open_safe_file(fd_.get(), file, path, user_);
    if (!opened) {
      if (opened.error().code != Code::kNotFound) hook.sidecar_problem = opened.error().message;
      return;
    }
    auto text = read_fd(opened->fd.get(), kSidecarBytesMax, path);
    if (text)
      hook.sidecar = std::move(*text);
    else
      hook.sidecar_problem = text.error().message;
  }

  const HookDirectory& directory_;
  std::span<const std::string> globs_, allowed_;
  const uid_t user_;
  HookScan& out_;
  UniqueFd fd_;
};

}  // namespace

bool is_among(const HookProblem& problem, std::span<const HookProblem> others) {
  const auto ends_with = [](const std::string& longer, const std::string& sentence) {
    return longer == sentence || longer.ends_with(": " + sentence);
  };
  return std::any_of(others.begin(), others.end(), [&](const HookProblem& each) {
    return ends_with(problem.message, each.message) || ends_with(each.message, problem.message);
  });
}

HookScan scan_hook_directories(std::span<const HookDirectory> directories, std::span<const std::string> disable_globs,
                               uid_t user, std::span<const std::string> allow_globs) {
  HookScan out;
  for (const HookDirectory& directory : directories)
    DirectoryScan(directory, disable_globs, allow_globs, user, out).run();
  return out;
}

const HookDirectory* directory_of(std::span<const HookDirectory> directories, const std::string& path) {
  const std::string parent = parent_of(path);
  const auto found = std::find_if(directories.begin(), directories.end(), [&](const HookDirectory& each) {
    std::error_code failed;
    return each.path == parent || std::filesystem::equivalent(each.path, parent, failed);
  });
  return found == directories.end() ? nullptr : &*found;
}

Result<HookKind> judge_hook_file(const std::string& path, const HookDirectory* directory, uid_t user) {
  const std::string parent = parent_of(path);
  UniqueFd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory != nullptr) {
    AGENTD_TRY(fd, open_safe_directory(directory->path, user));
  }
  if (!fd.valid()) return errno_error("opening " + parent, errno);
  const std::string file = path.substr(path.rfind('/') + 1);
  const HookFileLook look = look_at_hook_file(fd.get(), file, path);
  if (!look.kind) return Error{Code::kInvalid, look.why_not};
  AGENTD_TRY_VOID(open_hook(fd.get(), file, path, user));
  return *look.kind;
}

}  // namespace agentd
