// SPDX-License-Identifier: Apache-2.0
// worker_hooks_test.cc - what a user sees of a native hook whose worker hangs or crashes.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class WorkerHooks : public ::testing::Test {
 protected:
  WorkerHooks() { program_.drop_hook(AGENTD_TROUBLE_HOOK); }
  Finished talk() { return program_.run({"run", "hello", "--script", program_.script("- text: a\n")}); }
  Program program_;
};

TEST_F(WorkerHooks, TimeoutOfOneHookEndsItsCall) {
  // An hour for the event: without the hook's own time this test does not end.
  program_.config("hooks: {deadline_ms: 3600000, trouble: {timeout_ms: 200, config: {do: sleep}}}\n");
  const Finished ran = talk();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.err, "trouble")) << ran.err;
  EXPECT_TRUE(has(ran.err, "it did not answer before its deadline")) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
