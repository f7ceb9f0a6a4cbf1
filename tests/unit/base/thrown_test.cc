// SPDX-License-Identifier: Apache-2.0
#include "core/base/thrown.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace agentd {
namespace {

struct Mute : std::exception {
  const char* what() const noexcept override { return ""; }
};

TEST(ThrownBy, SaysInWordsWhatWasThrown) {
  EXPECT_EQ(thrown_by([] {}), "");
  EXPECT_EQ(thrown_by([] { throw std::bad_alloc(); }), "out of memory");
  EXPECT_EQ(thrown_by([] { throw std::runtime_error("a text of its own"); }), "a text of its own");
  EXPECT_EQ(thrown_by([] { throw Mute(); }), "an exception");
  EXPECT_EQ(thrown_by([] { throw 7; }), "an exception");
}

TEST(ThrownBy, IsTheOutermostFrameOfAThread) {
  std::string why;
  std::thread([&] { why = thrown_by([] { throw std::bad_alloc(); }); }).join();
  EXPECT_EQ(why, "out of memory");
}

}  // namespace
}  // namespace agentd
