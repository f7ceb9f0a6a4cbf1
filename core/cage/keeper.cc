// SPDX-License-Identifier: Apache-2.0
#include "core/cage/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/cage/answers.h"
#include "core/cage/confinement.h"
#include "core/cage/relay.h"
#include "core/process/confine.h"

namespace agentd::cage {
namespace {

constexpr int kNotStarted = 126, kNotFound = 127;
constexpr int kKillRounds = 1'000;
constexpr Milliseconds kRelayPause{100};

void say(const std::string& text) { (void)write_all(STDERR_FILENO, "agentd-cage: " + text + "\n"); }

// ---- a descriptor from the child to the keeper

void send_descriptor(int socket, int fd) {
  char nothing = 0;
  iovec part{&nothing, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

UniqueFd receive_descriptor(int socket) {
  char nothing = 0;
  iovec part{&nothing, 1};
  int fd = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return UniqueFd(fd);
}

// ---- the command

// Programs read one of the two spellings; ALL_PROXY is for those that speak SOCKS.
void name_proxy(std::uint16_t port, bool reaches_machine) {
  const std::string host = "127.0.0.1:" + std::to_string(port);
  for (const char* const name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "npm_config_proxy",
                                 "npm_config_https_proxy", "CARGO_HTTP_PROXY"})
    ::setenv(name, ("http://" + host).c_str(), 1);
  for (const char* const name : {"ALL_PROXY", "all_proxy"}) ::setenv(name, ("socks5h://" + host).c_str(), 1);
  // Servers of the command itself are reached without it, unless one of this machine is to be reached.
  for (const char* const name : {"NO_PROXY", "no_proxy"})
    ::setenv(name, reaches_machine ? "" : "localhost,127.0.0.1,::1", 1);
}

[[noreturn]] void become(const Orders& orders, char** argv, int socket, const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto questions = confine(orders);
  if (!questions) {
    say(questions.error().message);
    ::_exit(kNoCage);
  }
  send_descriptor(socket, questions->get());
  ::close(socket);
  questions->reset();
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(argv[0], argv);
  const int why = errno;
  say("starting " + std::string(argv[0]) + ": " +
      (why == EACCES ? "the sandbox lets nothing be started there ('agentd sandbox explain " + std::string(argv[0]) +
                           "' says why)"
                     : std::strerror(why)));
  ::_exit(why == ENOENT ? kNotFound : kNotStarted);
}

// ---- the keeper

std::vector<pid_t> children_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  std::ifstream list("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> out;
  for (pid_t each = 0; list >> each;) out.push_back(each);
  return out;
}

void kill_below(pid_t pid, int depth) {
  constexpr int kDepthMax = 64;
  for (const pid_t child : children_of(pid)) {
    ::kill(child, SIGKILL);
    if (depth < kDepthMax) kill_below(child, depth + 1);
  }
}

// Orphans come to this process, so every round finds what the one before has made one.
void end_rest() {
  for (int round = 0; round < kKillRounds; ++round) {
    kill_below(::getpid(), 0);
    int status = 0;
    while (::waitpid(-1, &status, WNOHANG) > 0) {
    }
    if (::waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD) return;
    SystemClock().pause(Milliseconds(1));
  }
}

class Keeper {
 public:
  // `owner`: the process whose end ends the command, too; -1 = none.
  Keeper(pid_t child, int owner, UniqueFd signals, std::optional<Relay>& relay, Answers& answers)
      : child_(child), owner_(owner), signals_(std::move(signals)), relay_(relay), answers_(answers) {}

  // How the command ended; where its owner ended first, as if it had been killed.
  int wait() {
    while (!status_) {
      std::vector<pollfd> list{{signals_.get(), POLLIN, 0}, {answers_.fd(), POLLIN, 0}, {owner_, POLLIN, 0}};
      const std::size_t own = list.size();
      if (relay_) relay_->wait_for(list);
      if (clock_.poll(list, relay_ && relay_->pauses() ? Deadline::after(clock_, kRelayPause) : Deadline()) < 0)
        continue;
      if (list[0].revents != 0) reap();
      if ((list[1].revents & POLLIN) != 0) (void)answers_.answer_one();
      if (list[2].revents != 0 && !status_) status_ = SIGKILL;
      if (relay_) relay_->serve(list.data() + own);
    }
    return *status_;
  }

 private:
  void reap() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) > 0) {
    }
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == child_) status_ = status;
  }

  const SystemClock clock_;
  const pid_t child_;
  const int owner_;
  const UniqueFd signals_;
  std::optional<Relay>& relay_;
  Answers& answers_;
  std::optional<int> status_;
};

int end_like(int status, bool first_process) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  if (!first_process) {
    ::signal(number, SIG_DFL);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(number);
  }
  return 128 + number;
}

}  // namespace

int keep(const Orders& orders, char** argv) {
  if (orders.apart) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const auto checked = check_noted(orders.noted); !checked) return say(checked.error().message), kNoCage;
  if (orders.confines) (void)drop_privileges();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::optional<Relay> relay;
  if (!orders.proxy.empty()) {
    auto made = Relay::listen(orders.proxy);
    if (!made) return say(made.error().message), kNoCage;
    relay = std::move(*made);
    name_proxy(relay->port(), orders.reaches_machine);
  }
  // A request to end is the command's to answer; this ends after it.
  sigset_t handled, before;
  ::sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&handled, number);
  ::sigprocmask(SIG_BLOCK, &handled, &before);
  ::signal(SIGCHLD, SIG_DFL);
  UniqueFd signals(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  int pair[2] = {-1, -1};
  if (!signals.valid() || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return say("no descriptors are left"), kNoCage;
  const UniqueFd own(pair[0]);
  UniqueFd theirs(pair[1]);
  const pid_t child = ::fork();
  if (child < 0) return say("no more processes can be created now"), kNoCage;
  if (child == 0) become(orders, argv, theirs.get(), before);
  theirs.reset();
  Answers answers(receive_descriptor(own.get()), orders.writable, relay ? relay->port() : std::uint16_t{0});
  const int status = Keeper(child, orders.owner, std::move(signals), relay, answers).wait();
  end_rest();
  return end_like(status, orders.apart);
}

}  // namespace agentd::cage
