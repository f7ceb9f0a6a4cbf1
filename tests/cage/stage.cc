// SPDX-License-Identifier: Apache-2.0
#include "tests/cage/stage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/process/process.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text, mode_t mode = 0644) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
  ::chmod(path.c_str(), mode);
}

UniqueFd listener(int type, const sockaddr* address, socklen_t bytes) {
  UniqueFd out(::socket(address->sa_family, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(out.get(), address, bytes), 0);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(::listen(out.get(), 16), 0);
  }
  return out;
}

UniqueFd inet_listener(int type, int* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  UniqueFd out = listener(type, any, sizeof address);
  socklen_t bytes = sizeof address;
  ::getsockname(out.get(), any, &bytes);
  *port = ntohs(address.sin_port);
  return out;
}

UniqueFd unix_listener(int type, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return listener(type, reinterpret_cast<const sockaddr*>(&address), bytes);
}

std::string text_of(const std::string& path) { return read_file(path, 1u << 20).value_or(""); }

}  // namespace

Sink::Sink(const std::string& directory) {
  static std::atomic<int> next{0};
  abstract_ = "agentd-test-" + std::to_string(::getpid()) + "-" + std::to_string(next++);
  sockets_.push_back(inet_listener(SOCK_STREAM, &tcp_));
  sockets_.push_back(inet_listener(SOCK_DGRAM, &udp_));
  sockets_.push_back(unix_listener(SOCK_STREAM, directory + "/stream"));
  sockets_.push_back(unix_listener(SOCK_DGRAM, directory + "/dgram"));
  sockets_.push_back(unix_listener(SOCK_STREAM, std::string(1, '\0') + abstract_));
  thread_ = std::thread([this] {
    std::vector<pollfd> list;
    for (const UniqueFd& each : sockets_) list.push_back({each.get(), POLLIN, 0});
    while (!ends_) {
      ::poll(list.data(), list.size(), 20);
      for (const pollfd& each : list) {
        if (each.revents == 0) continue;
        char some[256];
        // A connection is enough: its name or its time could be the message.
        if (::recv(each.fd, some, sizeof some, MSG_DONTWAIT) < 0)
          (void)UniqueFd(::accept4(each.fd, nullptr, nullptr, SOCK_CLOEXEC));
        ++arrived_;
      }
    }
  });
}

Sink::~Sink() {
  ends_ = true;
  thread_.join();
}

std::string Sink::environment() const {
  return "export TCP=" + std::to_string(tcp_) + " UDP=" + std::to_string(udp_) + " ABSTRACT=" + abstract_ + "\n";
}

Stage::Stage() {
  for (const char* const name :
       {".ssh/id_ed25519", ".aws/credentials", ".bashrc", ".bash_history", ".agent/credentials", ".netrc", ".gnupg/key",
        "Documents/letter", ".npmrc", ".kube/config", ".git-credentials", ".cargo/credentials.toml"})
    put(home() + "/" + name, std::string(kCanary) + "\n");
  put(home() + "/.gitconfig", "[user]\n\tname = n\n\temail = a@b\n");
  put(outside() + "/secret", std::string(kCanary) + "\n");
  put(outside() + "/program", "#!/bin/sh\necho " + std::string(kCanary) + "\n", 0755);
  fs::copy_file("/bin/cat", outside() + "/binary");
  fs::create_directory(outside() + "/empty");
  put(project() + "/a", "a\n");
  EXPECT_EQ(run(nullptr, "git init -q . && git add a && git commit -qm one").code, 0);
  sink_ = std::make_unique<Sink>(outside());
  victim_ = ::fork();
  if (victim_ == 0) {
    const std::string name = "cage-victim-" + std::to_string(::getpid());
    ::execl("/bin/sleep", name.c_str(), "300", nullptr);
    ::_exit(127);
  }
  outside_before_ = outside_now();
  guarded_before_ = guarded_now();
}

Stage::~Stage() {
  ::kill(victim_, SIGKILL);
  ::waitpid(victim_, nullptr, 0);
}

cage::CageSettings Stage::settings() const {
  cage::CageSettings out;
  out.helper = cage_helper();
  out.user_home = home();
  out.agentd_home = home() + "/.agent";
  out.path = "/usr/bin:/bin";
  out.roots = {project()};
  return out;
}

std::string Stage::names() const {
  return "export OUT=" + outside() + " AGENTD_HOME=" + home() + "/.agent VICTIM=" + std::to_string(victim_) + "\n" +
         (sink_ ? sink_->environment() : "");
}

Ran Stage::run(CommandCage* cage, const std::string& script) const {
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin", "HOME=" + home(), "LC_ALL=C.UTF-8"};
  ProcessRequest request;
  request.argv = {"bash", "-c", names() + script};
  request.cwd = project();
  request.environment = environment;
  CagedCommand caged;
  if (cage != nullptr) {
    auto wrapped = cage->wrap(request.argv, request.cwd, environment);
    if (!wrapped) return {-1, wrapped.error().message, {}};
    caged = std::move(*wrapped);
    request.argv = caged.argv;
    request.environment = caged.environment;
    for (const UniqueFd& each : caged.descriptors) request.pass.push_back(each.get());
  }
  const SystemClock clock;
  const auto ran = run_process(request, clock, CancelToken(), Deadline::after(clock, Milliseconds(60'000)));
  Ran out;
  if (caged.finish) out.remarks = caged.finish(ran ? ran->output : "", ran ? ran->exit_code : -1).remarks;
  if (!ran) return {-1, ran.error().message, out.remarks};
  out.code = ran->exit_code;
  out.output = ran->output;
  return out;
}

// Modes, contents, links and times, but not the times of directories.
void Stage::look(const std::string& directory, Files& out) {
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::recursive_directory_iterator(directory, ignored)) {
    const std::string path = each.path().string();
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) continue;
    std::string row = std::to_string(info.st_mode);
    if (S_ISREG(info.st_mode))
      row +=
          " " + std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + " " + text_of(path);
    if (S_ISLNK(info.st_mode)) row += " " + fs::read_symlink(path, ignored).string();
    out[path] = row;
  }
}

Stage::Files Stage::outside_now() const {
  Files out;
  look(home(), out);
  look(outside(), out);
  // The cage's own: its cache, its journal, and what it has undone.
  std::erase_if(out, [&](const auto& each) {
    return each.first.starts_with(home() + "/.cache") || each.first.starts_with(home() + "/.agent/undone") ||
           each.first.starts_with(home() + "/.agent/cage");
  });
  struct stat info {};
  ::stat(outside().c_str(), &info);
  out[outside()] = std::to_string(info.st_mode) + " " + std::to_string(info.st_mtim.tv_sec);
  // What the program itself writes, where it is the program that runs the scripts.
  for (const char* const name : {"store", "agentd.log", "permissions", "checkpoints", "cage"})
    std::erase_if(out, [&](const auto& each) { return each.first.starts_with(home() + "/.agent/" + name); });
  return out;
}

Stage::Files Stage::guarded_now() const {
  Files out;
  for (const char* const name : {".agent", ".mcp.json", ".claude", ".codex", ".cursor", ".gemini", ".vscode", ".idea",
                                 ".zed", ".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir"}) {
    const std::string path = project() + "/" + name;
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) continue;
    out[path] = std::to_string(info.st_mode & S_IFMT);
    if (S_ISREG(info.st_mode)) out[path] += text_of(path);
    if (S_ISDIR(info.st_mode))
      for (const fs::directory_entry& each : fs::recursive_directory_iterator(path))
        out[each.path().string()] = text_of(each.path().string());
  }
  return out;
}

namespace {

// A file with a set-user-ID or set-group-ID bit; empty = there is none.
std::string file_with_identity(const std::string& directory) {
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::recursive_directory_iterator(directory, ignored)) {
    struct stat info {};
    const bool known = ::lstat(each.path().c_str(), &info) == 0;
    if (known && !S_ISDIR(info.st_mode) && (info.st_mode & (S_ISUID | S_ISGID)) != 0) return each.path().string();
  }
  return {};
}

}  // namespace

std::string Stage::harm(const Ran& ran) const {
  if (ran.output.find(kCanary) != std::string::npos) return "the canary is in the output: " + ran.output;
  if (sink_->arrived() != 0) return "something arrived at the sink";
  if (outside_now() != outside_before_) return "something changed outside of the project";
  if (guarded_now() != guarded_before_) return "a guarded path is other than before";
  if (const std::string path = file_with_identity(project()); !path.empty())
    return path + " runs as its owner or group";
  int status = 0;
  if (::waitpid(victim_, &status, WNOHANG) != 0) return "the victim has ended";
  return {};
}

std::string cage_helper() {
  const char* const copy = std::getenv("AGENTD_TEST_CAGE");
  return copy != nullptr ? copy : AGENTD_CAGE;
}

std::vector<cage::Layer> layers_here() {
  const cage::Layers layers = cage::probe(cage_helper());
  std::vector<cage::Layer> out;
  for (const cage::Layer each : {cage::Layer::kBubblewrap, cage::Layer::kLandlock})
    if (layers.of(each).holds) out.push_back(each);
  return out;
}

}  // namespace agentd::testing
