// SPDX-License-Identifier: Apache-2.0
#include "core/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace agentd {
namespace {

std::string_view path_of(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment)
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  return "/usr/local/bin:/usr/bin:/bin";
}

bool is_regular(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// posix_spawn's records, freed on every way out.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int prepare(const std::string& cwd, int input, int output) {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int failed = ::posix_spawn_file_actions_adddup2(&actions_, input, 0);
    if (failed == 0) failed = ::posix_spawn_file_actions_adddup2(&actions_, output, 1);
    if (failed == 0) failed = ::posix_spawn_file_actions_adddup2(&actions_, output, 2);
    if (failed == 0) failed = ::posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    if (failed == 0 && !cwd.empty())
      failed = ::posix_spawn_file_actions_addchdir_np(&actions_, cwd.c_str());
    return failed;
  }

  int start(pid_t* pid, const std::string& program, char** argv, char** environment) const {
    return ::posix_spawn(pid, program.c_str(), &actions_, &attributes_, argv, environment);
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// A descriptor above 2: the host may run with 0 to 2 closed, and dup2 in the child must not hit one
// that is still needed.
Result<UniqueFd> above_standard(int raw, std::string_view doing) {
  UniqueFd fd(raw);
  if (!fd.valid()) return errno_error(doing, errno);
  if (fd.get() > 2) return fd;
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!moved.valid()) return errno_error(doing, errno);
  return moved;
}

int make_memory_file() {
  const int fd = ::memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd >= 0 || errno != EINVAL) return fd;
  return ::memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);  // before Linux 6.3
}

Result<UniqueFd> open_input(const std::string& input) {
  if (input.empty())
    return above_standard(::open("/dev/null", O_RDONLY | O_CLOEXEC), "opening /dev/null");
  AGENTD_TRY(UniqueFd fd, above_standard(make_memory_file(), "making room for standard input"));
  AGENTD_TRY_VOID(write_all(fd.get(), input));
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

Error spawn_error(const std::string& program, int error_number) {
  if (error_number == E2BIG)
    return {Code::kInvalid, "starting " + program + ": the command line is too long"};
  if (error_number == EAGAIN || error_number == ENOMEM)
    return {Code::kUnavailable, "starting " + program + ": no more processes can be made now"};
  if (error_number == EACCES) return {Code::kDenied, program + " may not be executed"};
  if (error_number == ENOENT)
    return {Code::kNotFound, program + " or the interpreter that it names does not exist"};
  return errno_error("starting " + program, error_number);
}

Result<pid_t> start(const SpawnRequest& request, const std::string& program, int input,
                    int output) {
  SpawnPlan plan;
  if (const int failed = plan.prepare(request.cwd, input, output); failed != 0)
    return spawn_error(program, failed);
  std::vector<char*> argv = pointers(request.argv);
  std::vector<char*> environment = pointers(request.environment);
  pid_t pid = -1;
  int failed = plan.start(&pid, program, argv.data(), environment.data());
  if (failed == ENOEXEC) {  // a script without "#!": the shell runs it, as execvp would
    std::string shell = "/bin/sh";
    std::string script = program;
    argv[0] = script.data();
    argv.insert(argv.begin(), shell.data());
    failed = plan.start(&pid, shell, argv.data(), environment.data());
  }
  if (failed != 0) return spawn_error(program, failed);
  return pid;
}

}  // namespace

Result<std::string> find_program(const std::string& name,
                                 const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string_view path = path_of(environment);
  bool found_one_denied = false;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string_view folder = path.substr(0, end);
    const std::string candidate = std::string(folder) + "/" + name;
    path.remove_prefix(std::min(end + 1, path.size()));
    if (!folder.starts_with('/') || !is_regular(candidate)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    found_one_denied = true;
  }
  if (found_one_denied) return Error{Code::kDenied, name + " may not be executed"};
  return Error{Code::kNotFound, "there is no program " + name + " in PATH"};
}

Result<Child> spawn(const SpawnRequest& request) {
  AGENTD_TRY(const std::string program, find_program(request.argv[0], request.environment));
  AGENTD_TRY(UniqueFd input, open_input(request.input));
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("making a pipe", errno);
  UniqueFd raw_write(ends[1]);
  AGENTD_TRY(UniqueFd read_end, above_standard(ends[0], "making a pipe"));
  AGENTD_TRY(UniqueFd write_end, above_standard(raw_write.release(), "making a pipe"));
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  AGENTD_TRY(const pid_t pid, start(request, program, input.get(), write_end.get()));
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    const int why = errno;
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return errno_error("watching " + program, why);
  }
  return Child{pid, std::move(pidfd), std::move(read_end)};
}

}  // namespace agentd
