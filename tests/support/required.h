// SPDX-License-Identifier: Apache-2.0
#pragma once
// required.h - what a test of a wall needs of the machine.
//
// Threading: macros for the body of a test.

#include <gtest/gtest.h>

#include <cstdlib>

// Ends the test: skipped on a machine of one's own, failed where CI is set, since a wall that was
// not tried is not proven. `what` is a sentence: "this kernel has no seccomp".
#define AGENTD_TEST_NEEDS_MORE(what)                                                                           \
  do {                                                                                                         \
    if (std::getenv("CI") != nullptr)                                                                          \
      GTEST_FAIL() << (what) << ": run the tests where it has, since a skipped test of a wall proves nothing"; \
    GTEST_SKIP() << (what);                                                                                    \
  } while (false)
