// SPDX-License-Identifier: Apache-2.0
// program_start_test.cc - programs of hooks in a cage: both ways of running one start it there, with its input, its
// variables and the descriptor that it is, and say what the cage found.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "core/process/duplex.h"
#include "core/process/filter.h"

namespace agentd {
namespace {

UniqueFd memory_file(const std::string& text) {
  UniqueFd out(::memfd_create("program", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(out.get(), text));
  return out;
}

// Hands its orders to the program in descriptor 3, as the real one.
class CountedCage final : public CommandCage {
 public:
  Result<CagedCommand> wrap(const std::vector<std::string>& argv, const std::string&,
                            const std::vector<std::string>& environment) override {
    if (argv.back() == "forbidden") return Error{Code::kUnavailable, "the cage refuses it"};
    CagedCommand out;
    out.argv = {"/bin/sh", "-c", "CAGED=$(cat <&3); export CAGED; exec \"$@\"", "sh"};
    out.argv.insert(out.argv.end(), argv.begin(), argv.end());
    out.environment = environment;
    out.descriptors.push_back(memory_file("yes"));
    if (::lseek(out.descriptors[0].get(), 0, SEEK_SET) != 0) return Error{Code::kInternal, "lseek"};
    out.finish = [this](std::string_view, int) {
      ++finished;
      return CagedCommand::After{{"it was seen"}, undoes};
    };
    return out;
  }
  std::atomic<int> finished = 0;
  bool undoes = false;
};

class ProgramStarts : public ::testing::Test {
 protected:
  FilterRequest request(std::vector<std::string> argv) const {
    FilterRequest out;
    out.argv = std::move(argv);
    out.cwd = "/";
    out.environment = {"PATH=/usr/bin:/bin"};
    return out;
  }
  Result<FilterResult> run(const FilterRequest& request) const {
    return run_filter(request, clock_, CancelToken(), Deadline::after(clock_, Milliseconds(60'000)));
  }

  SystemClock clock_;
  std::shared_ptr<CountedCage> cage_ = std::make_shared<CountedCage>();
};

TEST_F(ProgramStarts, AFilterRunsInItsCage) {
  FilterRequest asked = request({"sh", "-c", "read line; echo \"$line $CAGED\""});
  asked.input = "hello\n";
  const auto outside = run(asked);
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->output, "hello \n");
  EXPECT_TRUE(outside->after.remarks.empty());
  asked.cage = cage_;
  cage_->undoes = true;
  const auto inside = run(asked);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->output, "hello yes\n");
  EXPECT_EQ(inside->after.remarks, std::vector<std::string>{"it was seen"});
  EXPECT_TRUE(inside->after.undone);
  EXPECT_EQ(cage_->finished, 1);
}

TEST_F(ProgramStarts, ADescriptorIsPassedBehindTheCagesOwn) {
  const UniqueFd program = memory_file("#!/bin/sh\necho \"$1 $CAGED\"\n");
  FilterRequest asked = request({"/no/such/hook", "run"});
  asked.program_fd = program.get();
  asked.program = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(program.get());
  const auto outside = run(asked);
  ASSERT_TRUE(outside) << outside.error().message;
  EXPECT_EQ(outside->output, "run \n");
  asked.cage = cage_;
  const auto inside = run(asked);
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_EQ(inside->output, "run yes\n") << inside->error;
}

TEST_F(ProgramStarts, WhatTheCageRefusesIsNotStarted) {
  FilterRequest asked = request({"sh", "-c", "true", "forbidden"});
  EXPECT_TRUE(run(asked));
  asked.cage = cage_;
  const auto refused = run(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the cage refuses it");
  EXPECT_EQ(cage_->finished, 0);
}

TEST_F(ProgramStarts, ACageIsToldWhenItsProgramCannotBeStarted) {
  FilterRequest asked = request({"sh", "-c", "true"});
  asked.cage = cage_;
  asked.environment.push_back("LONG=" + std::string(std::size_t{4} << 20, 'x'));  // more than the kernel takes
  EXPECT_FALSE(run(asked));
  EXPECT_EQ(cage_->finished, 1);
}

TEST_F(ProgramStarts, ALongRunningProgramRunsInItsCage) {
  DuplexRequest asked;
  asked.argv = {"sh", "-c", "while read line; do echo \"$line $CAGED\"; done"};
  asked.cwd = "/";
  asked.environment = {"PATH=/usr/bin:/bin"};
  asked.cage = cage_;
  std::vector<std::string> found;
  asked.ended = [&found](const CagedCommand::After& after) { found = after.remarks; };
  const Deadline deadline = Deadline::after(clock_, Milliseconds(60'000));
  {
    auto program = DuplexProcess::start(asked, clock_);
    ASSERT_TRUE(program) << program.error().message;
    ASSERT_TRUE((*program)->write("hello\n", CancelToken(), deadline));
    std::string said;
    while (said.find('\n') == std::string::npos) {
      const auto more = (*program)->read(100, CancelToken(), deadline);
      ASSERT_TRUE(more && !more->empty());
      said += *more;
    }
    EXPECT_EQ(said, "hello yes\n");
    EXPECT_EQ(cage_->finished, 0) << "it still runs";
  }
  EXPECT_EQ(cage_->finished, 1);
  EXPECT_EQ(found, std::vector<std::string>{"it was seen"});
  asked.argv.emplace_back("forbidden");
  EXPECT_FALSE(DuplexProcess::start(asked, clock_));
}

}  // namespace
}  // namespace agentd
