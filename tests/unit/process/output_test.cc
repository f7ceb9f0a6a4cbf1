// SPDX-License-Identifier: Apache-2.0
#include "core/process/output.h"

#include <gtest/gtest.h>

#include <random>

namespace agentd {
namespace {

TEST(BoundedOutput, KeepsEverythingUpToTheLimit) {
  BoundedOutput output(10);
  output.append("01234");
  output.append("56789");
  EXPECT_FALSE(output.truncated());
  EXPECT_EQ(output.text(), "0123456789");
}

TEST(BoundedOutput, CountsWhatItLeavesOut) {
  BoundedOutput output(10);
  output.append("0123456789ABCDE");
  EXPECT_TRUE(output.truncated());
  EXPECT_EQ(output.text(), "01234\n[... 5 bytes left out ...]\nABCDE");
}

TEST(BoundedOutput, KeepsNothingButTheMarkerWhenNothingMayBeKept) {
  BoundedOutput output(0);
  output.append("abc");
  EXPECT_EQ(output.text(), "[... 3 bytes left out ...]\n");
}

TEST(BoundedOutput, KeepsTheLastByteWhenOneMayBeKept) {
  BoundedOutput output(1);
  output.append("abc");
  output.append("d");
  EXPECT_EQ(output.text(), "[... 3 bytes left out ...]\nd");
}

TEST(BoundedOutput, NeverTearsACharacter) {
  for (std::uint64_t most = 2; most < 40; ++most) {
    BoundedOutput output(most);
    for (int i = 0; i < 50; ++i) output.append("ä€😀");
    for (const char byte : output.text().substr(0, 1)) EXPECT_NE(static_cast<unsigned char>(byte) & 0xC0u, 0x80u);
    std::string text = output.text();
    const std::size_t marker = text.find("[...");
    const std::string head = text.substr(0, marker);
    const std::string tail = text.substr(text.find("...]\n") + 5);
    const std::string whole = "ä€😀ä€😀ä€😀ä€😀ä€😀ä€😀";
    const std::string kept = head.empty() ? head : head.substr(0, head.size() - 1);
    EXPECT_TRUE(whole.starts_with(kept)) << most;
    for (const std::string& part : {kept, tail}) {
      std::size_t at = 0;
      while (at < part.size()) {
        const auto lead = static_cast<unsigned char>(part[at]);
        ASSERT_NE(lead & 0xC0u, 0x80u) << most;
        at += lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
      }
      EXPECT_EQ(at, part.size()) << most;
    }
  }
}

TEST(BoundedOutput, IsTheSameHoweverTheBytesArrive) {
  const unsigned seed = 20240601;
  std::mt19937 random(seed);
  std::string all;
  for (int i = 0; i < 5'000; ++i) all += static_cast<char>('a' + random() % 26);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t most = random() % 6'000;
    BoundedOutput pieces(most);
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t take = 1 + random() % 900;
      pieces.append(std::string_view(all).substr(at, take));
      at += take;
    }
    BoundedOutput whole(most);
    whole.append(all);
    ASSERT_EQ(pieces.text(), whole.text()) << "seed " << seed << " round " << round;
    if (most >= all.size()) {
      ASSERT_EQ(whole.text(), all);
    } else {
      ASSERT_TRUE(whole.text().ends_with(all.substr(all.size() - (most - most / 2))));
    }
  }
}

}  // namespace
}  // namespace agentd
