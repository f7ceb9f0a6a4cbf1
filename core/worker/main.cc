// SPDX-License-Identifier: Apache-2.0
// main.cc - agentd-hook-worker: one isolated hook in a process of its own.
//
// argv: the program, the hook's name (shown in process lists), and optionally the starter's process id, which is then
// checked. Descriptors: kWorker...Fd of messages.h. Or a zygote of such processes (core/process/zygote.h): the program,
// "zygote", PROCESS:CAPABILITIES, and one more argument.
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/file.h"
#include "core/process/sandbox.h"
#include "core/process/zygote.h"
#include "core/worker/plugin_runner.h"
#include "core/worker/process_setup.h"

namespace agentd::worker {
namespace {

constexpr std::size_t kStackBytes = 1u << 20;

int usage() {
  (void)write_all(
      STDERR_FILENO,
      "agentd-hook-worker runs one hook for agentd, which starts it automatically; do not start it by hand\n");
  return kExitUsage;
}

bool parse_process(std::string_view text, pid_t* process) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *process);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && *process > 0;
}

// Reads the parent's process id; 0 = not given.
bool parent_of(int argc, char** argv, pid_t* parent) {
  *parent = 0;
  return argc < 3 || parse_process(argv[2], parent);
}

bool has_descriptors() {
  for (const int fd : {kWorkerModuleFd, kWorkerWindowFd, kWorkerAnswerFd})
    if (::fcntl(fd, F_GETFD) < 0) return false;
  return true;
}

// Child processes of the hook inherit none of them.
void keep_from_children() {
  for (const int fd : {kWorkerModuleFd, kWorkerWindowFd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

struct LaneThread {
  PluginRunner& runner;
  Lane lane;
};

void* run_lane(void* raw) {
  const auto* const thread = static_cast<const LaneThread*>(raw);
  thread->runner.serve(thread->lane);
}

// Starts a thread for every lane in use but the first, which the main thread serves.
void start_lanes(PluginRunner& runner, const AnswerRegion& region) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (std::uint32_t i = 1; i < runner.lanes(region.call_lanes()); ++i) {
    // They live as long as the process.
    auto* const lane = new LaneThread{runner, region.call_lane(i, Lane::Side::kWorker)};
    pthread_t thread{};
    if (::pthread_create(&thread, &attributes, run_lane, lane) != 0) give_up("no thread can be made");
  }
  ::pthread_attr_destroy(&attributes);
}

// The process has its descriptors and its parent, and now waits for its host. `ground`: the part of its sandbox that it
// has already entered; absent = none.
int run_worker(std::optional<SandboxGround> ground) {
  if (!has_descriptors()) return usage();
  auto region = AnswerRegion::open(UniqueFd(kWorkerAnswerFd));
  if (!region) return usage();
  keep_from_children();
  // Never destroyed: the plugin's threads may use them to the very end.
  AnswerRegion& answers = *region->release();
  auto& runner = *new PluginRunner(answers, std::move(ground));
  const Lane first = answers.call_lane(0, Lane::Side::kWorker);
  if (!runner.boot(first)) {
    // The host knows the reason and ends this process.
    for (;;) ::pause();
  }
  start_lanes(runner, answers);
  runner.serve(first);
}

int run(int argc, char** argv) {
  pid_t parent = 0;
  if (argc < 2 || !parent_of(argc, argv, &parent) || !has_descriptors()) return usage();
  settle_process(parent, kWorkerAnswerFd);
  report_exceptions();
  return run_worker(std::nullopt);
}

// Work that is the same for all hooks with these capabilities is done once.
int run_zygote(int argc, char** argv) {
  const std::string_view what = argv[2];
  const std::size_t colon = what.find(':');
  pid_t parent = 0;
  if (colon == std::string_view::npos || !parse_process(what.substr(0, colon), &parent)) return usage();
  settle_process(parent, kWorkerModuleFd);
  report_exceptions();
  ZygoteSide side(argc, argv, parent);
  auto ground = SandboxGround::enter(open_for(what.substr(colon + 1)));
  if (!ground) return usage();
  // Each process would tidy up the garbage of the filters in pages of its own, so it is freed here; an allocation
  // larger than any free chunk sorts the rest.
  ::malloc_trim(0);
  constexpr std::size_t kLargerThanAny = 96 * 1024;
  std::free(std::malloc(kLargerThanAny));
  side.serve(ground->forbids_processes() ? Offspring::kNone : Offspring::kAny, SandboxGround::kFirstHeldFd);
  ::close_range(kWorkerAnswerFd + 1, SandboxGround::kFirstHeldFd - 1, 0);
  return run_worker(std::move(*ground));
}

}  // namespace
}  // namespace agentd::worker

int main(int argc, char** argv) {
  // A free number would be given to the next file that the plugin opens.
  agentd::open_standard_descriptors();
  const bool zygote = argc == 4 && std::string_view(argv[1]) == "zygote";
  return zygote ? agentd::worker::run_zygote(argc, argv) : agentd::worker::run(argc, argv);
}
