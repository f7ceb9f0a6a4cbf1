// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/record.h"

#include <agentd/hook_abi.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace agentd {
namespace {

// A plugin record in a buffer of which everything behind `size` is poison.
struct Buffer {
  alignas(8) std::array<unsigned char, kRecordBytesMax + 64> bytes{};
  explicit Buffer(std::uint32_t size) {
    bytes.fill(0xAA);
    agentd_plugin plugin{};
    plugin.size = size;
    plugin.concurrency = AGENTD_CONCURRENT;
    std::memcpy(bytes.data(), &plugin, sizeof(plugin));
  }
};

Result<agentd_plugin> read(const Buffer& buffer, std::size_t first = 88) {
  return normalise<agentd_plugin>(buffer.bytes.data(), first, "its plugin record");
}

TEST(NormalisedRecord, OwnSizeIsReadAsItIs) {
  const auto plugin = read(Buffer(sizeof(agentd_plugin)));
  ASSERT_TRUE(plugin);
  EXPECT_EQ(plugin->concurrency, AGENTD_CONCURRENT);
}

TEST(NormalisedRecord, ShorterOneIsFilledWithZeros) {
  Buffer buffer(24);
  std::memset(buffer.bytes.data() + 24, 0xAA, 64);
  const auto plugin = read(buffer, 24);
  ASSERT_TRUE(plugin);
  EXPECT_EQ(plugin->concurrency, AGENTD_CONCURRENT);
  EXPECT_EQ(plugin->create, nullptr);
  EXPECT_EQ(plugin->hooks.count, 0u);
  EXPECT_EQ(plugin->size, sizeof(agentd_plugin));
}

TEST(NormalisedRecord, LongerOneWithAZeroTailIsAccepted) {
  Buffer buffer(kRecordBytesMax);
  std::memset(buffer.bytes.data() + sizeof(agentd_plugin), 0, kRecordBytesMax - sizeof(agentd_plugin));
  EXPECT_TRUE(read(buffer));
}

TEST(NormalisedRecord, LastByteOfALongerTailCounts) {
  Buffer buffer(kRecordBytesMax);
  std::memset(buffer.bytes.data() + sizeof(agentd_plugin), 0, kRecordBytesMax - sizeof(agentd_plugin));
  buffer.bytes[kRecordBytesMax - 1] = 1;
  const auto plugin = read(buffer);
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().code, Code::kConflict);
}

TEST(NormalisedRecord, ImpossibleSizesAreRefused) {
  for (const std::uint32_t size : {0u, 3u, 80u, 87u, 89u, 100u, kRecordBytesMax + 8, 0x7fffffffu, 0xffffffffu}) {
    const auto plugin = read(Buffer(size));
    ASSERT_FALSE(plugin) << size;
    EXPECT_EQ(plugin.error().code, Code::kInvalid) << size;
  }
}

}  // namespace
}  // namespace agentd
