// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace agentd {
namespace {

TEST(Sha256, KnownAnswers) {
  // FIPS 180-4 examples.
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesAreTheWhole) {
  EXPECT_EQ(Sha256().add("a").add("").add("bc").finish(), sha256("abc"));
  const Digest inner = sha256("x");
  const std::string bytes(reinterpret_cast<const char*>(inner.data()), inner.size());
  EXPECT_EQ(Sha256().add(inner).finish(), sha256(bytes));
}

TEST(HmacSha256, KnownAnswers) {
  // RFC 4231, test cases 1, 2 and 6.
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Crc32c, KnownAnswers) {
  // RFC 3720, B.4, and the check value of the polynomial.
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(""), 0u);
}

// Bit by bit, as RFC 3720 defines it.
std::uint32_t plain_crc32c(std::string_view bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<std::uint8_t>(byte);
    for (int i = 0; i < 8; ++i) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return ~sum;
}

TEST(Crc32c, EachLengthAtEachPlaceIsThatOfItsDefinition) {
  std::string bytes;
  for (int i = 0; i < 90; ++i) bytes.push_back(static_cast<char>(i * 37 + 200));
  for (std::size_t from = 0; from < 9; ++from)
    for (std::size_t length = 0; from + length <= bytes.size(); ++length) {
      const std::string_view part = std::string_view(bytes).substr(from, length);
      EXPECT_EQ(crc32c(part), plain_crc32c(part)) << from << " " << length;
    }
}

TEST(Crc32c, OneBitMakesADifference) { EXPECT_NE(crc32c("abc"), crc32c("abb")); }

}  // namespace
}  // namespace agentd
