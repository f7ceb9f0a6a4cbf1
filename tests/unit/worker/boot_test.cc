// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "core/base/file.h"
#include "core/bridge/module.h"
#include "core/process/filter.h"
#include "tests/unit/worker/test_worker.h"

namespace agentd::testing {
namespace {

WorkerStartOptions booting_puppet() {
  WorkerStartOptions options;
  options.module = AGENTD_WORKER_PLUGINS "/puppet.so";
  return options;
}

// What a plugin in this process would be refused with.
std::string refusal_in_process(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = "/proc/self/fd/" + std::to_string(fd.get());
  auto entry = open_module(std::move(fd), name);
  if (!entry) return entry.error().message;
  auto record = read_plugin(*entry);
  return record ? "" : record.error().message;
}

FilterResult run_by_hand(const std::vector<std::string>& arguments) {
  FilterRequest request;
  request.argv = {AGENTD_WORKER_PROGRAM};
  request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
  request.environment = {"PATH=/usr/bin:/bin"};
  const SystemClock clock;
  auto result = run_filter(request, clock, CancelToken(), Deadline::after(clock, Milliseconds(20'000)));
  EXPECT_TRUE(result);
  return result.value_or({});
}

TEST(Boot, TellsWhatThePluginIs) {
  TestWorker worker(booting_puppet());
  ASSERT_TRUE(worker.booted()) << worker.refusal();
  EXPECT_EQ(worker.id(), "org.agentd.test.puppet");
  EXPECT_EQ(worker.record().concurrency, AGENTD_CONCURRENT);
  EXPECT_EQ(worker.record().functions, kBootedDestroy | kBootedSaveState);
  ASSERT_EQ(worker.record().rows.count, 2u);
  const auto* const rows = static_cast<const RowInfo*>(worker.record().rows.first);
  EXPECT_EQ(rows[0].event, static_cast<std::uint32_t>(AGENTD_EVENT_USER_MESSAGE_SEND));
  EXPECT_EQ(rows[0].flags, AGENTD_HOOK_GATES);
  EXPECT_EQ(rows[0].priority, 5);
  EXPECT_EQ(rows[1].wants, AGENTD_WANTS_MESSAGES);
  EXPECT_TRUE(worker.notes().empty());
}

TEST(Boot, TellsOfRowsThatWereSkipped) {
  WorkerStartOptions options;
  options.module = AGENTD_BROKEN_HOOKS "/unknown_optional_row.so";
  TestWorker worker(options);
  ASSERT_TRUE(worker.booted()) << worker.refusal();
  ASSERT_EQ(worker.notes().size(), 1u);
  EXPECT_NE(worker.notes()[0].find("is skipped"), std::string::npos) << worker.notes()[0];
}

class BrokenModule : public ::testing::TestWithParam<const char*> {};

TEST_P(BrokenModule, IsRefusedWithTheSentenceOfTheProcess) {
  WorkerStartOptions options;
  options.module = std::string(AGENTD_BROKEN_HOOKS "/") + GetParam() + ".so";
  const std::string expected = refusal_in_process(options.module);
  ASSERT_NE(expected, "");
  TestWorker worker(options);
  EXPECT_FALSE(worker.booted());
  EXPECT_EQ(worker.refusal(), expected);
  EXPECT_EQ(worker.refusal_status(), AGENTD_E_ARG);
}

INSTANTIATE_TEST_SUITE_P(Modules, BrokenModule,
                         ::testing::Values("bad_concurrency", "bad_stride", "declines", "missing_symbol", "newer_tail",
                                           "null_fn", "size_garbage", "size_odd", "size_three", "size_zero",
                                           "undefined_symbol", "unknown_flag", "unknown_row", "wrong_magic",
                                           "wrong_major"));

TEST(Boot, RefusesWhatIsNoModule) {
  WorkerStartOptions options;
  options.module = AGENTD_WORKER_PLUGINS "/../CTestTestfile.cmake";
  TestWorker worker(options);
  EXPECT_FALSE(worker.booted());
  EXPECT_EQ(worker.refusal(), "cannot be loaded: invalid ELF header");
}

TEST(Boot, RefusesAHostOfAnotherBuild) {
  WorkerStartOptions options = booting_puppet();
  options.protocol = kWorkerProtocol + 1;
  TestWorker worker(options);
  EXPECT_FALSE(worker.booted());
  EXPECT_NE(worker.refusal().find("different builds"), std::string::npos) << worker.refusal();
}

TEST(Boot, TellsThatTheBaseIsTaken) {
  // The program's own stack lies in the last of all places.
  WorkerStartOptions options = booting_puppet();
  options.window_base = 0x7fff'ffff'f000 - PayloadWindow::kBytes;
  TestWorker worker(options);
  EXPECT_FALSE(worker.booted());
  EXPECT_EQ(worker.refusal_status(), AGENTD_E_CONFLICT);
  EXPECT_NE(worker.refusal().find("is already in use"), std::string::npos) << worker.refusal();
}

TEST(Boot, WorksAtAnotherBase) {
  WorkerStartOptions options = booting_puppet();
  options.window_skip = 3;
  TestWorker worker(options);
  ASSERT_TRUE(worker.booted()) << worker.refusal();
  EXPECT_NE(worker.window().base(), PayloadWindow::kFirstBase);
  ASSERT_EQ(worker.create(), AGENTD_OK);
  EXPECT_EQ(worker.ask("echo hello"), "hello");
}

TEST(Boot, OfAScannerCreatesNothing) {
  WorkerStartOptions options = booting_puppet();
  options.scan_only = true;
  TestWorker worker(options);
  ASSERT_TRUE(worker.booted());
  EXPECT_EQ(worker.requests(ServiceOp::kLog, false), 0u);
}

TEST(Program, SaysOneSentenceToWhoeverStartsItByHand) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"puppet"}, {"puppet", "1x"}, {"puppet", "-4"}, {"--help"}}) {
    const FilterResult result = run_by_hand(arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_EQ(result.error,
              "agentd-hook-worker runs one hook for agentd, which starts it automatically; do not start it by hand\n");
  }
}

TEST(Program, LinksTheCLibraryAlone) {
#if defined(AGENTD_SANITIZED_BUILD)
  GTEST_SKIP() << "a sanitizer's runtime is linked, too";
#endif
  FilterRequest request;
  request.argv = {"readelf", "-dW", AGENTD_WORKER_PROGRAM};
  request.environment = {"PATH=/usr/bin:/bin"};
  const SystemClock clock;
  auto result = run_filter(request, clock, CancelToken(), Deadline::after(clock, Milliseconds(20'000)));
  ASSERT_TRUE(result) << result.error().message;
  std::size_t needed = 0;
  for (std::size_t at = 0; (at = result->output.find("(NEEDED)", at)) != std::string::npos; ++at) {
    const std::size_t begin = result->output.find('[', at) + 1;
    const std::string library = result->output.substr(begin, result->output.find(']', at) - begin);
    EXPECT_TRUE(library.starts_with("libc.so") || library.starts_with("libm.so") || library.starts_with("ld-linux"))
        << library;
    ++needed;
  }
  EXPECT_GE(needed, 1u);
}

}  // namespace
}  // namespace agentd::testing
