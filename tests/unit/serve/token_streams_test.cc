// SPDX-License-Identifier: Apache-2.0
#include "core/serve/token_streams.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd::serve {
namespace {

class Stream final : public HttpStream {
 public:
  bool send(std::string) override { return !closed; }
  void close() override { closed = true; }
  bool closed = false;
};

Digest digest_of(std::uint8_t first) {
  Digest out{};
  out[0] = first;
  return out;
}

TEST(TokenStreams, EndWithTheirTokenAlone) {
  TokenStreams streams;
  const auto removed = std::make_shared<Stream>(), also = std::make_shared<Stream>(), kept = std::make_shared<Stream>();
  streams.add(digest_of(1), removed);
  streams.add(digest_of(2), kept);
  streams.add(digest_of(1), also);
  streams.end_unless([](const Digest&) { return true; });
  EXPECT_FALSE(removed->closed || also->closed || kept->closed);
  streams.end_unless([](const Digest& token) { return token != digest_of(1); });
  EXPECT_TRUE(removed->closed && also->closed);
  EXPECT_FALSE(kept->closed);
  streams.end_unless([](const Digest&) { return false; });
  EXPECT_TRUE(kept->closed);
}

TEST(TokenStreams, AreNotKeptAndTheirTokensNotAskedForOnceTheyAreGone) {
  TokenStreams streams;
  auto gone = std::make_shared<Stream>();
  const std::weak_ptr<Stream> watched = gone;
  streams.add(digest_of(1), gone);
  gone.reset();
  EXPECT_TRUE(watched.expired());
  int asked = 0;
  const auto count = [&](const Digest&) { return ++asked > 0; };
  streams.end_unless(count);
  EXPECT_EQ(asked, 0);
  const auto open = std::make_shared<Stream>();
  streams.add(digest_of(1), open);
  streams.end_unless(count);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace agentd::serve
