// SPDX-License-Identifier: Apache-2.0
#include "core/process/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/process/births.h"

namespace agentd {
namespace {

constexpr int kSocketFd = 3;
constexpr int kFirstPassedFd = 3;  // in a forked process
constexpr std::size_t kPassedMax = 8;
constexpr std::size_t kNameBytes = 160;  // room for the arguments of the forked processes
constexpr int kExitNoZygote = 72;

struct ZygotePipe {
  UniqueFd read, write;
};

Result<ZygotePipe> make_zygote_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("creating a pipe", errno);
  return ZygotePipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Sends a packet of at least one byte with descriptors.
bool send_packet(int socket, std::string_view bytes, std::span<const int> descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kPassedMax)]{};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};  // sendmsg() does not write to it
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

// The zygote's first word: it is ready, and its forks start no processes, or may.
constexpr std::int32_t kReadyWithNone = 0, kReadyWithAny = 1;

// The zygote's words: its readiness, then a forked process or a negative errno.
std::optional<std::int32_t> next_word(int socket, Milliseconds at_most) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, at_most);
  for (;;) {
    pollfd wait{socket, POLLIN, 0};
    const int ready = clock.poll({&wait, 1}, deadline);
    if (ready < 0 && errno == EINTR) continue;
    std::int32_t word = 0;
    if (ready <= 0 || ::recv(socket, &word, sizeof word, MSG_DONTWAIT) != sizeof word) return std::nullopt;
    return word;
  }
}

// ---- in the zygote

// Where the C library keeps the number of the only thread, which a raw fork has to set. Null where the kernel does not
// say or the library keeps something else there.
int* place_of_thread_number() {
  constexpr int kGetTidAddress = 40;  // PR_GET_TID_ADDRESS
  int* place = nullptr;
  if (::prctl(kGetTidAddress, &place, 0, 0, 0) != 0 || place == nullptr) return nullptr;
  return *place == static_cast<int>(::syscall(SYS_gettid)) ? place : nullptr;
}

bool has_one_thread() {
  struct stat info {};
  return ::stat("/proc/self/task", &info) == 0 && info.st_nlink == 3;
}

// Places standard output and error, then 3, 4, ...; the given numbers rise and are above all of those.
bool place_descriptors(std::span<const int> given, int kept_from) {
  if (::dup2(given[0], STDOUT_FILENO) < 0 || ::dup2(given[0], STDERR_FILENO) < 0) return false;
  int next = kFirstPassedFd;
  for (const int fd : given.subspan(1))
    if (fd <= next || ::dup2(fd, next++) < 0) return false;
  return ::close_range(static_cast<unsigned>(next), static_cast<unsigned>(kept_from - 1), 0) == 0;
}

struct Request {
  std::string names;
  std::array<int, kPassedMax> descriptors{};
  std::size_t count = 0;
};

// False when the host has closed its end.
bool receive(Request& request) {
  char names[kNameBytes];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kPassedMax)];
  iovec part{names, sizeof names};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = -1;
  do got = ::recvmsg(kSocketFd, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  request.names.assign(names, static_cast<std::size_t>(got));
  request.count = 0;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return true;
  request.count = std::min((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), kPassedMax);
  std::memcpy(request.descriptors.data(), CMSG_DATA(header), request.count * sizeof(int));
  return true;
}

void say(std::int32_t word) {
  if (::send(kSocketFd, &word, sizeof word, MSG_NOSIGNAL) != sizeof word) ::_exit(0);
}

}  // namespace

ZygoteSide::ZygoteSide(int argc, char** argv, pid_t parent)
    : parent_(parent), thread_number_(place_of_thread_number()) {
  if (argc < 2 || thread_number_ == nullptr || !has_one_thread() ||
      ::syscall(SYS_get_robust_list, 0, &robust_list_, &robust_list_bytes_) != 0)
    ::_exit(kExitNoZygote);
  names_ = argv[1];
  const char* const last = argv[argc - 1];
  names_bytes_ = static_cast<std::size_t>(last - names_) + std::strlen(last) + 1;
  ::fcntl(kSocketFd, F_SETFD, FD_CLOEXEC);
}

// Does what the C library's fork() does, which cannot make a sibling, and what spawn() does.
bool ZygoteSide::become_child(std::span<const int> given, std::string_view names, int kept_from) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_) return false;  // the parent ended before it was watched
  (void)::syscall(SYS_set_robust_list, robust_list_, robust_list_bytes_);
  ::setsid();
  const std::size_t used = std::min(names.size(), names_bytes_ - 1);
  std::memcpy(names_, names.data(), used);
  std::memset(names_ + used, 0, names_bytes_ - used);
  return place_descriptors(given, kept_from);
}

void ZygoteSide::serve(Offspring offspring, int kept_from) {
  say(offspring == Offspring::kNone ? kReadyWithNone : kReadyWithAny);
  for (Request request; receive(request);) {
    const std::span<const int> given(request.descriptors.data(), request.count);
    // The last two arguments are equal, because machines differ in their order.
    constexpr long kHow = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
    errno = EINVAL;
    const long pid = given.empty() ? -1 : ::syscall(SYS_clone, kHow, nullptr, nullptr, thread_number_, thread_number_);
    if (pid == 0) {
      if (!become_child(given, request.names, kept_from)) ::_exit(kExitNoZygote);
      return;
    }
    const int why = errno;
    for (const int fd : given) ::close(fd);
    say(pid > 0 ? static_cast<std::int32_t>(pid) : -why);
  }
  ::_exit(0);
}

// ---- in the host

namespace {

// `word`: the zygote's answer.
Result<Child> adopt(std::int32_t word, UniqueFd output, Birth& birth) {
  if (word <= 0) return errno_error("forking the zygote", -word);
  Child child;
  child.pid = word;
  birth.made(child.pid);
  child.output = std::move(output);
  child.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (child.pidfd.valid()) return child;
  const int why = errno;
  ::kill(child.pid, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
  forget_child(child.pid);
  return errno_error("watching a forked process", why);
}

}  // namespace

Result<Zygote> Zygote::start(std::vector<std::string> argv, const std::vector<std::string>& environment,
                             Offspring offspring, Milliseconds at_most) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("creating a socket pair", errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  argv.emplace_back(kNameBytes, ' ');
  const std::string name = argv[0];
  const int pass[] = {theirs.get()};
  SpawnRequest request{argv, environment, {}};
  request.pass = pass;
  request.offspring = offspring;
  AGENTD_TRY(Child child, spawn(request));
  theirs.reset();  // so that the zygote's end is noticed
  Zygote out(std::move(child), std::move(ours));
  const auto ready = next_word(out.socket_.get(), at_most);
  const bool without = ready == kReadyWithNone;
  out.offspring_ = without ? Offspring::kNone : Offspring::kAny;
  if (without || ready == kReadyWithAny) return out;
  kill_child(out.process_);
  (void)reap(out.process_, name, true);
  return Error{Code::kUnavailable, name + " was not ready to be forked in time"};
}

Result<UniqueFd> Zygote::ask(const Wish& wish) const {
  AGENTD_ASSERT(wish.pass.size() < kPassedMax);
  AGENTD_TRY(ZygotePipe output, make_zygote_pipe());
  std::string names;
  for (const std::string& each : wish.arguments) names += each + '\0';
  names.resize(std::clamp<std::size_t>(names.size(), 1, kNameBytes));
  std::vector<int> given{output.write.get()};
  given.insert(given.end(), wish.pass.begin(), wish.pass.end());
  if (send_packet(socket_.get(), names, given)) return std::move(output.read);
  return Error{Code::kUnavailable, "the zygote closed its socket"};
}

std::vector<Result<Child>> Zygote::fork(std::span<const Wish> wishes, Milliseconds at_most) {
  AGENTD_ASSERT(wishes.size() <= kWishesMax);
  reap_orphans();
  Birth birth(offspring_);
  std::vector<Result<UniqueFd>> outputs;
  for (const Wish& wish : wishes) outputs.push_back(ask(wish));
  std::vector<Result<Child>> out;
  bool answers = true;  // a late answer would be taken for the next one
  for (Result<UniqueFd>& output : outputs) {
    const auto word = output && answers ? next_word(socket_.get(), at_most) : std::nullopt;
    answers = answers && (word || !output);
    out.push_back(word      ? adopt(*word, std::move(*output), birth)
                  : !output ? output.error()
                            : Error{Code::kUnavailable, "the zygote stopped answering"});
  }
  return out;
}

}  // namespace agentd
