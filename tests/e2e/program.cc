// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/file.h"
#include "tests/support/meeting.h"

namespace agentd::testing {
namespace {

#if defined(AGENTD_SANITIZED_BUILD)
constexpr auto kPatience = std::chrono::seconds(400);
#else
constexpr auto kPatience = std::chrono::seconds(60);
#endif

std::string contents(const std::string& path) { return read_file(path, 64u << 20).value_or(""); }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// What libfaketime leaves of a process that was killed, or that ended without its destructors: a later process of that
// number would not start.
void forget_other_day(pid_t pid) {
  if (std::getenv("FAKETIME") == nullptr) return;
  ::shm_unlink(("/faketime_shm_" + std::to_string(pid)).c_str());
  ::sem_unlink(("/faketime_sem_" + std::to_string(pid)).c_str());
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// Polls until the condition holds; the program that is tested decides when, not the clock.
template <typename Condition>
bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// The program with its words, made before the fork: the threads of the server that a test plays may hold the
// allocator at that moment, and not every allocator (that of a sanitizer) can be used in the child then.
class Image {
 public:
  Image(std::vector<std::string> words, std::vector<std::string> environment,
        const std::vector<std::string>& launcher = {})
      : words_(behind_the_binary(std::move(words), launcher)), environment_(std::move(environment)) {}
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // In the child: system calls alone. Signals that the test was started to ignore, as a shell's job behind '&' is, end
  // the program or reach it.
  [[noreturn]] void become(const std::string& cwd) const {
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    if (::chdir(cwd.c_str()) == 0) ::execve(argv_[0], argv_.data(), envp_.data());
    ::_exit(127);
  }

 private:
  static std::vector<std::string> behind_the_binary(std::vector<std::string> words,
                                                    const std::vector<std::string>& launcher) {
    const char* other = std::getenv("AGENTD_E2E_BINARY");  // a broken build, to see the tests fail
    words.insert(words.begin(), other == nullptr ? AGENTD_BINARY : other);
    words.insert(words.begin(), launcher.begin(), launcher.end());
    return words;
  }

  std::vector<std::string> words_, environment_;
  const std::vector<char*> argv_ = pointers(words_), envp_ = pointers(environment_);
};

}  // namespace

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_path_(std::move(other.out_path_)),
      err_path_(std::move(other.err_path_)),
      input_(std::exchange(other.input_, -1)) {}

Running::~Running() {
  if (input_ >= 0) ::close(input_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  forget_other_day(pid_);
}

void Running::signal(int number) const { ::kill(pid_, number); }

Finished Running::wait() {
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  EXPECT_TRUE(ended) << "the program did not end; it wrote\n" << out() << err();
  if (!ended) return {-1, out(), err()};
  forget_other_day(std::exchange(pid_, -1));
  meet_others();
  return {exit_code(status), out(), err()};
}

std::string Running::out() const { return contents(out_path_); }
std::string Running::err() const { return contents(err_path_); }
bool Running::wait_for_out(const std::string& text) const {
  return eventually([&] { return out().find(text) != std::string::npos; });
}
bool Running::wait_for_err(const std::string& text) const {
  return eventually([&] { return err().find(text) != std::string::npos; });
}

Program::Program() { AGENTD_ASSERT(make_directories(project_)); }

void Program::set(const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('=') + 1);
  std::erase_if(environment_, [&](const std::string& each) { return each.starts_with(name); });
  environment_.push_back(variable);
}

void Program::config(const std::string& yaml) const {
  AGENTD_ASSERT(make_directories(home_));
  AGENTD_ASSERT(write_file_atomically(home_ + "/config.yaml", yaml, 0600));
}

std::string Program::script(const std::string& yaml) { return directory_.write("script.yaml", yaml); }

std::string Program::file(const std::string& name, const std::string& text) const {
  AGENTD_ASSERT(write_file_atomically(project_ + "/" + name, text, 0600));
  return project_ + "/" + name;
}

void Program::drop_hook(const std::string& module) const {
  const std::string name = module.substr(module.rfind('/') + 1);
  AGENTD_ASSERT(make_directories(home_ + "/hooks"));
  AGENTD_ASSERT(write_file_atomically(home_ + "/hooks/" + name, contents(module), 0600));
}

std::vector<std::string> Program::full_environment() const {
  std::vector<std::string> out = environment_;
  for (const std::string& usual : {std::string("PATH=/usr/bin:/bin"), "HOME=" + directory_.path(),
                                   "AGENTD_HOME=" + home_, std::string("LC_ALL=C.UTF-8"), std::string("TERM=dumb"),
                                   // A test counts the requests that it causes.
                                   std::string("AGENTD_MEMORY_REFINE=false")}) {
    const std::string name = usual.substr(0, usual.find('=') + 1);
    if (std::none_of(out.begin(), out.end(), [&](const std::string& set) { return set.starts_with(name); }))
      out.push_back(usual);
  }
  // Another day (tests/calendar), which is the program's as well.
  if (std::getenv("FAKETIME") != nullptr)
    for (const char* name : {"FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC", "FAKE_UTIME", "LD_PRELOAD"})
      if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  // Sanitizers of the test's own build; nothing of the user's.
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"})
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  return out;
}

Running Program::start(const std::vector<std::string>& words, const std::string& input) {
  const std::string number = std::to_string(++runs_);
  const std::string out = directory_.file("out." + number), err = directory_.file("err." + number);
  const std::string in = directory_.write("in." + number, input);
  const Image image(words, full_environment(), launcher_);
  meet_others();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    ::dup2(::open(in.c_str(), O_RDONLY), 0);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 1);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
    if (input_ >= 0) ::dup2(input_, 0);
    if (output_ >= 0) ::dup2(output_, 1);
    if (ignores_children_) ::signal(SIGCHLD, SIG_IGN);
    for (int fd = 0; fd <= 2; ++fd)
      if ((closed_ & 1u << fd) != 0) ::close(fd);
    ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    image.become(project_);
  }
  return {pid, out, err};
}

Finished Program::run(const std::vector<std::string>& words, const std::string& input) {
  return start(words, input).wait();
}

namespace {

// What a terminal shows, without the styles of its parts.
class ShownText {
 public:
  void add(std::string_view bytes) {
    rest_ += bytes;
    std::size_t at = 0;
    while (at < rest_.size()) {
      const std::size_t length = style_at(at);
      if (length == std::string::npos) break;  // not all of it is here
      if (length == 0) text_ += rest_[at];
      at += std::max<std::size_t>(length, 1);
    }
    rest_.erase(0, at);
  }
  const std::string& text() const { return text_; }

 private:
  // The bytes of an SGR sequence there: 0 = there is none.
  std::size_t style_at(std::size_t at) const {
    constexpr std::string_view kBegin = "\x1b[";
    const std::string_view rest = std::string_view(rest_).substr(at);
    if (!kBegin.starts_with(rest.substr(0, kBegin.size())) && !rest.starts_with(kBegin)) return 0;
    const std::size_t end = rest.find_first_not_of("0123456789;", kBegin.size());
    if (rest.size() <= kBegin.size() || end == std::string_view::npos) return std::string::npos;
    return rest[end] == 'm' ? end + 1 : 0;
  }

  std::string text_, rest_;
};

}  // namespace

Finished Program::on_terminal(const std::vector<std::string>& words,
                              const std::vector<std::pair<std::string, std::string>>& dialogue,
                              std::chrono::milliseconds pause, const std::string& early) {
  int terminal = -1;
  const Image image(words, full_environment());
  meet_others();
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) image.become(project_);
  UniqueFd owned(terminal);
  EXPECT_TRUE(write_all(terminal, early));
  Finished finished;
  std::size_t next = 0, seen = 0;
  ShownText shown;
  std::string typed;  // not yet taken: a terminal reads while it writes
  ::fcntl(terminal, F_SETFL, O_RDWR | O_NONBLOCK);
  for (const auto until = std::chrono::steady_clock::now() + kPatience; owned.valid();) {
    if (std::chrono::steady_clock::now() > until) break;
    pollfd ready{terminal, static_cast<short>(typed.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    if ((ready.revents & POLLOUT) != 0 && !typed.empty()) {
      const ssize_t taken = ::write(terminal, typed.data(), typed.size());
      if (taken > 0) typed.erase(0, static_cast<std::size_t>(taken));
    }
    if ((ready.revents & ~POLLOUT) == 0) continue;
    char buffer[4096];
    const ssize_t got = ::read(terminal, buffer, sizeof buffer);
    if (got <= 0) break;  // EIO: the program is gone
    finished.out.append(buffer, static_cast<std::size_t>(got));
    shown.add({buffer, static_cast<std::size_t>(got)});
    while (next < dialogue.size()) {
      const std::size_t at = shown.text().find(dialogue[next].first, seen);
      if (at == std::string::npos) break;
      seen = at + dialogue[next].first.size();
      std::this_thread::sleep_for(pause);
      const std::string& input = dialogue[next++].second;
      if (input == kHangUp)
        owned.reset();
      else if (input == kTerminate)
        ::kill(pid, SIGTERM);
      else
        typed += input;
    }
  }
  EXPECT_EQ(next, dialogue.size()) << "was not shown: " << (next < dialogue.size() ? dialogue[next].first : "");
  if (next < dialogue.size()) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  forget_other_day(pid);
  meet_others();
  finished.code = exit_code(status);
  return finished;
}

std::string Program::newest() {
  const Finished list = run({"conversation", "list", "--all", "--limit", "1", "--json"});
  const auto line = JsonDocument::parse(list.out.substr(0, list.out.find('\n')));
  return line ? std::string(line->root()["id"].string_or("")) : "";
}

std::string Program::record_types(const std::string& id) {
  std::string out;
  for (const JsonDocument& record : json_lines(run({"conversation", "show", id, "--log"}).out))
    out += (out.empty() ? "" : " ") + std::string(record.root()["type"].string_or("?"));
  return out;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::vector<JsonDocument> json_lines(const std::string& text) {
  std::vector<JsonDocument> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    auto document = JsonDocument::parse(line);
    EXPECT_TRUE(document && document->root().is_object()) << line;
    if (document) out.push_back(std::move(*document));
  }
  return out;
}

}  // namespace agentd::testing
