// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/support/required.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/worker/test_worker.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

// Memory that the machine has given to the window's file.
std::uint64_t bytes_backed(const PayloadWindow& window) {
  struct stat info {};
  EXPECT_EQ(::fstat(window.fd(), &info), 0);
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

// A worker with those capabilities; the directories of the test are `in` and `out`, of which it may
// be given the first.
// Executed, and forked from a zygote that has entered a part of it.
class Sandbox : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (const char* const name : {"in", "out"}) {
      fs::create_directory(place(name, ""));
      ASSERT_TRUE(write_file_atomically(place(name, "file"), "text", 0600));
    }
  }

  std::string place(const std::string& directory, const std::string& name) const {
    return folder_.path() + "/" + directory + (name.empty() ? "" : "/" + name);
  }

  void start(const std::vector<std::string>& capabilities, bool unconfined = false,
             std::uint64_t memory_bytes_max = 64u << 20) {
    WorkerStartOptions options;
    options.module = AGENTD_WORKER_PLUGINS "/puppet.so";
    options.zygote = GetParam();
    options.capabilities = capabilities;
    options.readable = options.writable = {place("in", ""), "/no/such/directory"};
    options.unconfined = unconfined;
    options.memory_bytes_max = memory_bytes_max;
    worker_ = std::make_unique<TestWorker>(options);
    ASSERT_TRUE(worker_->booted()) << worker_->refusal();
    ASSERT_EQ(worker_->create(), AGENTD_OK);
    if (!unconfined && !worker_->sandbox().empty()) AGENTD_TEST_NEEDS_MORE(worker_->sandbox());
  }

  std::string ask(const std::string& command) { return worker_->ask(command); }
  std::string ask(const std::string& command, const std::string& path) { return ask(command + " " + path); }
  std::string parent() const { return std::to_string(::getpid()); }

  TempDir folder_;
  std::unique_ptr<TestWorker> worker_;
};

INSTANTIATE_TEST_SUITE_P(Ways, Sandbox, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "ForkedFromAZygote" : "Executed"; });

TEST_P(Sandbox, WithoutCapabilitiesKeepsFilesClosed) {
  start({});
  EXPECT_EQ(ask("read /etc/passwd"), "EACCES");
  EXPECT_EQ(ask("read", place("in", "file")), "EACCES");
  EXPECT_EQ(ask("list", place("in", "")), "EACCES");
  EXPECT_EQ(ask("write", place("in", "file")), "EACCES");
  EXPECT_EQ(ask("make", place("in", "new")), "EACCES");
  EXPECT_EQ(ask("make /dev/shm/agentd-worker-test"), "EACCES");
  for (const char* const command : {"remove", "mkdir", "truncate"})
    EXPECT_EQ(ask(command, place("in", "file")), "EPERM") << command;
  EXPECT_EQ(ask("chmod", place("in", "file")), "EPERM");
  EXPECT_EQ(ask("write /proc/self/comm"), "EACCES");
  EXPECT_EQ(*read_file(place("in", "file"), 10), "text");
}

TEST_P(Sandbox, LeavesOpenWhatAProgramNeeds) {
  start({});
  for (const char* const path : {"/usr/bin/env", "/proc/self/maps", "/proc/self/fd/3", "/dev/urandom"})
    EXPECT_EQ(ask("read", path), "ok") << path;
  EXPECT_EQ(ask("write /dev/null"), "ok");
  EXPECT_EQ(ask("kill_self"), "ok");
  EXPECT_EQ(ask("pipe"), "EPIPE");
}

TEST_P(Sandbox, WithoutCapabilitiesKeepsSocketsAndProcessesClosed) {
  start({});
  for (const char* const command : {"socket", "unix", "constructor", "fork", "spawn", "exec"})
    EXPECT_EQ(ask(command), "EPERM") << command;
}

TEST_P(Sandbox, ClosesTheRestOfTheMachineWhateverTheCapabilities) {
  for (const std::vector<std::string>& capabilities :
       {std::vector<std::string>{}, {"network", "processes", "files:read", "files:write", "gate"}}) {
    start(capabilities);
    for (const char* const command : {"raise_limit", "unbrand", "outlive", "unshare", "io_uring"})
      EXPECT_EQ(ask(command), "EPERM") << command;
    EXPECT_EQ(ask("clone3"), "ENOSYS");
    EXPECT_EQ(ask("ptrace", parent()), "EPERM");
    EXPECT_EQ(ask("kill", parent()), "EPERM");
    EXPECT_EQ(ask("kill 1"), "EPERM");
  }
}

TEST_P(Sandbox, KeepsSignalsByDescriptorAndTheHostsMemoryClosed) {
  const std::vector<std::string> ways{"owner F_SETOWN",  "owner F_SETOWN_EX", "owner F_SETSIG", "owner FIOSETOWN",
                                      "owner SIOCSPGRP", "owner FIOASYNC",    "remove_page"};
  for (const std::vector<std::string>& capabilities :
       {std::vector<std::string>{}, {"network", "processes", "files:read", "files:write"}}) {
    start(capabilities);
    for (const std::string& way : ways) EXPECT_EQ(ask(way), "EPERM") << way;
  }
  start({}, true);
  for (const std::string& way : ways) EXPECT_EQ(ask(way), "ok") << way;
}

TEST_P(Sandbox, KeepsThePrioritiesOfOthersClosedAndItsOwnOpen) {
  const std::vector<std::string> ways{"setpriority",    "ioprio_set",    "sched_setscheduler",
                                      "sched_setparam", "sched_setattr", "sched_setaffinity"};
  for (const std::vector<std::string>& capabilities :
       {std::vector<std::string>{}, {"network", "processes", "files:read", "files:write"}}) {
    start(capabilities);
    for (const std::string& way : ways) {
      EXPECT_EQ(ask("priority_of_host", way), "EPERM") << way;
      EXPECT_EQ(ask("own_priority", way), "ok") << way;
    }
    for (const char* const way : {"setpriority_group", "setpriority_user", "ioprio_set_group"})
      EXPECT_EQ(ask("own_priority", way), "EPERM") << way;
  }
  start({}, true);
  for (const std::string& way : ways) {
    EXPECT_EQ(ask("priority_of_host", way), "ok") << way;
    EXPECT_EQ(ask("own_priority", way), "ok") << way;
  }
  EXPECT_EQ(ask("own_priority setpriority_group"), "ok");
  EXPECT_EQ(ask("own_priority ioprio_set_group"), "ok");
}

TEST_P(Sandbox, KeepsModesAndOwnersOfOtherFilesClosed) {
  start({"files:read", "files:write"});
  for (const char* const directory : {"in", "out"}) {
    EXPECT_EQ(ask("chmod", place(directory, "file")), "EPERM") << directory;
    EXPECT_EQ(ask("chown", place(directory, "file")), "EPERM EPERM EPERM") << directory;
  }
  EXPECT_EQ(ask("change", place("in", "file")), "ok ok");
  EXPECT_EQ(ask("change", place("out", "file")), "EACCES");
  start({"files:read"});
  EXPECT_EQ(ask("change", place("in", "file")), "EPERM EPERM");
  start({}, true);
  EXPECT_EQ(ask("chmod", place("out", "file")), "ok");
  EXPECT_EQ(ask("chown", place("out", "file")), "ok ok ok");
  EXPECT_EQ(ask("change", place("out", "file")), "ok ok");
}

TEST_P(Sandbox, OpensSocketsAndNothingElseForTheNetwork) {
  start({"network"});
  EXPECT_EQ(ask("socket"), "ok");
  EXPECT_EQ(ask("unix"), "EPERM");  // who listens there would run what he is told
  EXPECT_EQ(ask("connect"), "ECONNREFUSED");
  EXPECT_EQ(ask("fork"), "EPERM");
  EXPECT_EQ(ask("read /etc/passwd"), "EACCES");
}

// A datagram socket of this machine that somebody listens at, as journal and syslog do.
class NamedSocket {
 public:
  explicit NamedSocket(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    EXPECT_LT(path.size(), sizeof at.sun_path);
    path.copy(at.sun_path, sizeof at.sun_path - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }
  std::string received() const {
    char text[64];
    const ssize_t got = ::recv(fd_.get(), text, sizeof text, 0);
    return got < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(got));
  }

 private:
  const UniqueFd fd_;
};

TEST_P(Sandbox, ReachesNoNamedSocketOfTheMachine) {
  const NamedSocket journal(place("in", "journal"));
  for (const std::vector<std::string>& capabilities :
       {std::vector<std::string>{}, {"network", "processes", "files:read", "files:write"}}) {
    start(capabilities);
    EXPECT_EQ(ask("datagram", place("in", "journal")), "EPERM");
    EXPECT_EQ(journal.received(), "nothing");
    EXPECT_EQ(ask("stream_pair"), "ok");
  }
  start({}, true);
  EXPECT_EQ(ask("datagram", place("in", "journal")), "ok");
  EXPECT_EQ(journal.received(), "a line");
}

TEST_P(Sandbox, LeavesNoPrivilegeOfRoots) {
  for (const std::vector<std::string>& capabilities :
       {std::vector<std::string>{}, {"network", "processes", "files:read", "files:write"}}) {
    start(capabilities);
    EXPECT_EQ(ask("privileges"), "0 0 0 0 0");
    for (const char* const command : {"fanotify", "real_time"}) EXPECT_EQ(ask(command), "EPERM") << command;
  }
  if (::geteuid() != 0) return;  // there was nothing to take away
  start({}, true);
  EXPECT_NE(ask("privileges"), "0 0 0 0 0");
  for (const char* const command : {"fanotify", "real_time"}) EXPECT_EQ(ask(command), "ok");
}

TEST_P(Sandbox, OpensProcessesAndNothingElseForProcesses) {
  start({"processes"});
  EXPECT_EQ(ask("fork"), "ok");
  EXPECT_EQ(ask("spawn"), "ok");
  EXPECT_EQ(ask("socket"), "EPERM");
  EXPECT_EQ(ask("read /etc/passwd"), "EACCES");
}

TEST_P(Sandbox, OpensTheReadableDirectoriesForReading) {
  start({"files:read"});
  EXPECT_EQ(ask("read", place("in", "file")), "ok");
  EXPECT_EQ(ask("list", place("in", "")), "ok");
  EXPECT_EQ(ask("read", place("out", "file")), "EACCES");
  EXPECT_EQ(ask("read", place("in", "../out/file")), "EACCES");
  EXPECT_EQ(ask("write", place("in", "file")), "EACCES");
  EXPECT_EQ(ask("truncate", place("in", "file")), "EPERM");
}

TEST_P(Sandbox, OpensTheWritableDirectoriesForWriting) {
  start({"files:write"});
  for (const char* const command : {"make", "remove", "mkdir"}) EXPECT_EQ(ask(command, place("in", "new")), "ok");
  EXPECT_EQ(ask("chmod", place("in", "file")), "EPERM");  // by name nobody changes a mode
  for (const char* const command : {"write", "truncate"}) EXPECT_EQ(ask(command, place("in", "file")), "ok") << command;
  EXPECT_EQ(ask("read", place("in", "file")), "EACCES");
  EXPECT_EQ(ask("make", place("out", "new")), "EACCES");
  EXPECT_EQ(ask("truncate", place("out", "file")), "EACCES");
}

TEST_P(Sandbox, OpensTheWritableDirectoriesForReadingToThoseWhoMayDoBoth) {
  start({"files:read", "files:write"});
  EXPECT_EQ(ask("read", place("in", "file")), "ok");
  EXPECT_EQ(ask("make", place("in", "new")), "ok");
}

TEST_P(Sandbox, IsNotOpenedByWhatThePluginSaysOfIt) {
  start({"sandbox:off", "unconfined", "files", "gate", "redact"});
  EXPECT_EQ(ask("socket"), "EPERM");
  EXPECT_EQ(ask("read /etc/passwd"), "EACCES");
}

TEST_P(Sandbox, CanBeSwitchedOff) {
  start({}, true);
  EXPECT_EQ(worker_->sandbox(), "the sandbox is off: nothing is guarded");
  for (const char* const command : {"socket", "unix", "fork", "spawn", "read /etc/passwd"})
    EXPECT_EQ(ask(command), "ok") << command;
  EXPECT_EQ(ask("make", place("out", "new")), "ok");
  EXPECT_EQ(ask("kill", parent()), "ok");
  EXPECT_EQ(ask("unbrand"), "ok");
}

TEST_P(Sandbox, HandsTheHookNoDescriptorButItsModule) {
  start({});
  EXPECT_EQ(ask("descriptors"), "0 1 2 3");
}

TEST_P(Sandbox, LimitsWhatTheProcessIs) {
  start({});
  EXPECT_EQ(ask("dumpable"), "0");
  EXPECT_EQ(ask("new_privs"), "1");
  EXPECT_EQ(ask("umask"), "63");
#if !defined(AGENTD_SANITIZED_BUILD)
  EXPECT_EQ(ask("limits"), "0 256 0 " + std::to_string(64u << 20) + " ");
  EXPECT_EQ(ask("allocate 16"), "memory");
  EXPECT_EQ(ask("allocate 100"), "NULL");
#endif
}

#if !defined(AGENTD_SANITIZED_BUILD)
TEST_P(Sandbox, LimitsMemoryThatIsNotCountedAsAllocated) {
  for (const bool unconfined : {false, true}) {
    start({}, unconfined);
    for (const char* const way : {"shared", "sealed"}) {
      EXPECT_EQ(ask(std::string(way) + " 512"), "ok") << way;
      EXPECT_EQ(ask(std::string(way) + " 1100"), "ENOMEM") << way;
      EXPECT_EQ(ask(std::string(way) + " 512"), "ok") << way;
    }
  }
}

TEST_P(Sandbox, WithoutALimitTheSameMemoryIsThere) {
  start({}, false, 0);
  for (const char* const way : {"shared 1100", "sealed 1100"}) EXPECT_EQ(ask(way), "ok") << way;
}

TEST_P(Sandbox, LeavesThreadsTheirStacksAndArenas) {
  start({}, false, 512u << 20);
  EXPECT_EQ(ask("threads 8"), "8");
  EXPECT_EQ(ask("threads 32"), "32");
}

TEST_P(Sandbox, LetsTheWindowGrowBeyondTheLimitOfMemory) {
  start({}, false, 16u << 20);
  // What is asked next lies behind it.
  PayloadWindow::Frame frame(worker_->window());
  void* const memory = frame.allocate(1100u << 20);
  ASSERT_NE(memory, nullptr);
  EXPECT_GE(bytes_backed(worker_->window()), 1100u << 20);
  EXPECT_EQ(ask("echo well"), "well");
}
#endif

// What a worker is shown ends where its host has written; the host has no page more afterwards.
TEST_P(Sandbox, EndsWhoReadsBehindWhatItIsShown) {
  for (const bool unconfined : {false, true}) {
    start({}, unconfined);
    const std::uint64_t backed = bytes_backed(worker_->window());
    EXPECT_EQ(worker_->say("read_window 512"), AGENTD_E_INTERNAL);
    EXPECT_TRUE(WIFSIGNALED(worker_->wait_end()));
    EXPECT_EQ(bytes_backed(worker_->window()), backed);
  }
}

TEST_P(Sandbox, KeepsTheWindowFromBeingOpenedAgain) {
  start({});
  EXPECT_EQ(ask("window_descriptor"), "ENOENT");
  EXPECT_EQ(ask("open_mapping"), "EPERM");
}

// Pipes and pairs of sockets hold memory that is not the process's: as much as their number allows.
TEST_P(Sandbox, LimitsWhatPipesAndSocketsHold) {
  start({});
  EXPECT_EQ(ask("larger_pipe"), "EPERM");
  EXPECT_EQ(ask("larger_buffer"), "EPERM");
  EXPECT_EQ(ask("splice_memory"), "EPERM");
  const long mib = std::stol(ask("fill_pairs"));
  EXPECT_LE(mib, 256) << "of at most 256 descriptors";
  start({}, true);
  EXPECT_EQ(ask("larger_pipe"), "ok");
  EXPECT_EQ(ask("larger_buffer"), "ok");
  EXPECT_EQ(ask("splice_memory"), "ok");
}

TEST_P(Sandbox, LimitsTheDescriptorsThatAreOpen) {
  for (const bool unconfined : {false, true}) {
    start({}, unconfined);
    EXPECT_EQ(ask("many_descriptors"), "255 EMFILE");
  }
}

TEST_P(Sandbox, KeepsMemoryClosedThatNoLimitCounts) {
  const std::vector<std::string> ways{"memory_file", "segment", "queue", "semaphores"};
  for (const std::vector<std::string>& capabilities :
       {std::vector<std::string>{}, {"network", "processes", "files:read", "files:write"}}) {
    start(capabilities);
    for (const std::string& way : ways) EXPECT_EQ(ask(way), "EPERM") << way;
  }
  start({}, true);
  for (const std::string& way : ways) EXPECT_EQ(ask(way), "ok") << way;
}

TEST_P(Sandbox, LimitsFilesToThoseWhoMayWriteSome) {
  start({"files:write"});
  EXPECT_EQ(ask("limits").substr(0, 11), "0 256 none ");
  start({}, true);
  EXPECT_EQ(ask("limits").substr(0, 11), "0 256 none ");
}

}  // namespace
}  // namespace agentd::testing
