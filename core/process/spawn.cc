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

#include "core/process/births.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace agentd {
namespace {

std::string_view search_path_of(const std::vector<std::string>& environment) {
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

  // Descriptors of `pass` are above all numbers that the child's get.
  int prepare(const SpawnRequest& request, const int (&standard)[3], const std::vector<UniqueFd>& pass) {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int failed = request.pipes == Pipes::kTerminal ? open_terminal(request.terminal) : 0;
    for (int to = 0; to < 3 && failed == 0; ++to)
      if (standard[to] >= 0) failed = ::posix_spawn_file_actions_adddup2(&actions_, standard[to], to);
    int next = 3;
    for (auto fd = pass.begin(); fd != pass.end() && failed == 0; ++fd)
      failed = ::posix_spawn_file_actions_adddup2(&actions_, fd->get(), next++);
    if (failed == 0) failed = ::posix_spawn_file_actions_addclosefrom_np(&actions_, next);
    if (failed == 0 && !request.cwd.empty())
      failed = ::posix_spawn_file_actions_addchdir_np(&actions_, request.cwd.c_str());
    return failed;
  }

  int start(pid_t* pid, const std::string& program, char** argv, char** environment) const {
    return ::posix_spawn(pid, program.c_str(), &actions_, &attributes_, argv, environment);
  }

 private:
  // The child leads a session without a terminal by then, so the first one that it opens becomes its controlling
  // terminal.
  int open_terminal(const std::string& path) {
    int failed = ::posix_spawn_file_actions_addopen(&actions_, 0, path.c_str(), O_RDWR, 0);
    for (int to = 1; to < 3 && failed == 0; ++to) failed = ::posix_spawn_file_actions_adddup2(&actions_, 0, to);
    return failed;
  }

  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

// posix_spawn() takes pointers to char and does not write to them.
std::vector<char*> pointers(const std::vector<std::string>& texts, const std::string& more = {}) {
  std::vector<char*> out;
  out.reserve(texts.size() + 2);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  if (!more.empty()) out.push_back(const_cast<char*>(more.c_str()));
  out.push_back(nullptr);
  return out;
}

int make_memory_file() {
  const int fd = ::memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd >= 0 || errno != EINVAL) return fd;
  return ::memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);  // before Linux 6.3
}

// Returns the sealed file that the child reads.
Result<UniqueFd> open_input(std::string_view input) {
  if (input.empty()) return above_standard(::open("/dev/null", O_RDONLY | O_CLOEXEC), "opening /dev/null");
  AGENTD_TRY(UniqueFd fd, above_standard(make_memory_file(), "creating the file for standard input"));
  if (auto wrote = write_all(fd.get(), input); !wrote)
    return wrote.error().with_context("keeping the input of a program");
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

struct Pipe {
  UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("creating a pipe", errno);
  UniqueFd raw_write(ends[1]);
  AGENTD_TRY(UniqueFd read_end, above_standard(ends[0], "creating a pipe"));
  AGENTD_TRY(UniqueFd write_end, above_standard(raw_write.release(), "creating a pipe"));
  return Pipe{std::move(read_end), std::move(write_end)};
}

// Holds the child's three descriptors until it has them; the parent's ends go to `child`.
struct Standard {
  UniqueFd input, output, error;

  Result<void> open(const SpawnRequest& request, Child* child) {
    if (request.pipes == Pipes::kTerminal) return {};
    if (request.pipes == Pipes::kDuplex || request.pipes == Pipes::kTalk) {
      AGENTD_TRY(Pipe in, make_pipe());
      child->input = std::move(in.write_end);
      input = std::move(in.read_end);
    } else {
      AGENTD_TRY(input, open_input(request.input));
    }
    AGENTD_TRY(Pipe out, make_pipe());
    child->output = std::move(out.read_end);
    output = std::move(out.write_end);
    if (request.pipes == Pipes::kTogether || request.pipes == Pipes::kTalk) return {};
    AGENTD_TRY(Pipe complaints, make_pipe());
    child->error = std::move(complaints.read_end);
    error = std::move(complaints.write_end);
    return {};
  }
};

// The kernel does not say whether the program or its interpreter is missing. A relative path is relative to the child's
// working directory.
Error missing(const std::string& program, const std::string& name) {
  if (!program.starts_with('/')) return {Code::kNotFound, name + " or the interpreter that it names does not exist"};
  if (::access(program.c_str(), F_OK) != 0) return {Code::kNotFound, name + " does not exist"};
  return {Code::kNotFound, "the interpreter that " + name + " names does not exist"};
}

Error denied(const std::string& program, const std::string& name) {
  if (program.starts_with('/') && is_regular(program) && ::access(program.c_str(), X_OK) == 0)
    return {Code::kDenied, "the interpreter that " + name + " names may not be executed"};
  return {Code::kDenied, name + " may not be executed"};
}

// A program named by a descriptor is reported by its argv[0].
Error spawn_error(const SpawnRequest& request, const std::string& program, int error_number) {
  const std::string& name = program.starts_with("/proc/") ? request.argv[0] : program;
  if (error_number == E2BIG) return {Code::kInvalid, "starting " + name + ": the command line is too long"};
  if (error_number == EAGAIN || error_number == ENOMEM)
    return {Code::kUnavailable, "starting " + name + ": no more processes can be created now"};
  if (error_number == EACCES) return denied(program, name);
  if (error_number == ENOENT) return missing(program, name);
  return errno_error("starting " + name, error_number);
}

// Copies of the child's descriptors above every number that one of them becomes, so that dup2 in the child overwrites
// none that is still needed.
Result<std::vector<UniqueFd>> copies_of(std::span<const int> pass) {
  std::vector<UniqueFd> out;
  const int first = 3 + static_cast<int>(pass.size());
  for (const int fd : pass) {
    out.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, first));
    if (!out.back().valid()) return errno_error("passing a descriptor", errno);
  }
  return out;
}

// Sets `pid` and `brand` of the child.
Result<void> start(const SpawnRequest& request, const std::string& program, const Standard& standard, Child* child) {
  AGENTD_TRY(const std::vector<UniqueFd> pass, copies_of(request.pass));
  SpawnPlan plan;
  const int output = standard.output.get();
  const int error = standard.error.valid() ? standard.error.get() : output;
  if (const int failed = plan.prepare(request, {standard.input.get(), output, error}, pass); failed != 0)
    return spawn_error(request, program, failed);
  std::vector<char*> argv = pointers(request.argv);
  std::vector<char*> environment = pointers(request.environment, request.mark);
  reap_orphans();
  Birth birth(request.offspring);
  pid_t pid = -1;
  int failed = plan.start(&pid, program, argv.data(), environment.data());
  if (failed == ENOEXEC) {  // a script without "#!": the shell runs it, as execvp would
    std::string shell = "/bin/sh";
    std::string script = program;
    argv[0] = script.data();
    argv.insert(argv.begin(), shell.data());
    failed = plan.start(&pid, shell, argv.data(), environment.data());
  }
  if (failed != 0) return spawn_error(request, program, failed);
  birth.made(pid);
  child->pid = pid;
  child->brand = birth.brand();
  return {};
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

Result<void> check_command(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                           const std::string& cwd) {
  if (argv.empty() || argv[0].empty()) return Error{Code::kInvalid, "a command must name a program"};
  if (std::any_of(argv.begin(), argv.end(), has_nul))
    return Error{Code::kInvalid, "a command's arguments must not contain NUL bytes"};
  if (std::any_of(environment.begin(), environment.end(), has_nul))
    return Error{Code::kInvalid, "a command's environment must not contain NUL bytes"};
  if (cwd.empty()) return {};
  struct stat info {};
  if (has_nul(cwd) || ::stat(cwd.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return Error{Code::kInvalid, "the working directory " + cwd + " is not a directory"};
  return {};
}

Result<std::string> find_program(const std::string& name, const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string_view path = search_path_of(environment);
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
  return Error{Code::kNotFound, "no program " + name + " in PATH"};
}

Result<Child> spawn(const SpawnRequest& request) {
  AGENTD_TRY(const std::string program, request.program.empty() ? find_program(request.argv[0], request.environment)
                                                                : Result<std::string>(request.program));
  Child child;
  Standard standard;
  AGENTD_TRY_VOID(standard.open(request, &child));
  AGENTD_TRY_VOID(start(request, program, standard, &child));
  child.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.pidfd.valid()) {
    const int why = errno;
    ::kill(-child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
    forget_child(child.pid);
    return errno_error("watching " + request.argv[0], why);
  }
  return child;
}

namespace {

Exit exit_in(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {info.si_status, 0};
  return {-1, info.si_status};
}

}  // namespace

std::optional<Exit> exit_of(const Child& child) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    if (errno != EINTR) return Exit{};
  if (info.si_pid == 0) return std::nullopt;
  return exit_in(info);
}

void kill_child(const Child& child) { ::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0); }

Result<Exit> reap(const Child& child, const std::string& name, bool ended) {
  siginfo_t info{};
  info.si_status = SIGKILL;  // the result when the process cannot be reaped yet
  const int options = WEXITED | (ended ? 0 : WNOHANG);
  while (::waitid(P_PID, static_cast<id_t>(child.pid), &info, options) != 0) {
    if (errno == EINTR) continue;
    const int why = errno;
    forget_child(child.pid);
    if (why == ECHILD) return Exit{};
    return errno_error("waiting for " + name, why);
  }
  // A child that is not reaped yet is left to the orphans.
  forget_child(child.pid);
  return exit_in(info);
}

}  // namespace agentd
