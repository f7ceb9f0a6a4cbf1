// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/message_keys.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

StoredRecord message(std::uint64_t seq, const std::string& key, Role role = Role::kUser) {
  StoredRecord out;
  out.seq = seq;
  out.record = write_message({Message::of_text(role, "x"), StopReason::kEndTurn, {}, {}, {}, key});
  return out;
}

TEST(MessageKeys, AKeyIsShortTextWithoutControlCharacters) {
  const std::string longest(kMessageKeyBytesMax, 'k');
  for (const std::string& key :
       {std::string(), std::string("01JZ/8 x"), longest, std::string("\xC3\x84\xC2\xA0\xE4\xBA\xBA")})
    EXPECT_TRUE(check_message_key(key)) << key;
  for (const std::string& key : {longest + "k", std::string("a\nb"), std::string("a\0b", 3), std::string("\x7F"),
                                 std::string("a\xC2\x85"), std::string("\xFF"), std::string("\xC3")}) {
    const auto refused = check_message_key(key);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, Code::kInvalid);
    EXPECT_EQ(refused.error().message.find_first_of("\n\x7F"), std::string::npos) << refused.error().message;
  }
  EXPECT_NE(check_message_key(longest + "k").error().message.find("129 bytes: use at most 128"), std::string::npos);
}

TEST(MessageKeys, TheFirstRecordWithAKeyCounts) {
  MessageKeys keys;
  EXPECT_EQ(keys.seq_of("a"), 0u);
  for (const StoredRecord& record : {message(2, "a"), message(3, ""), message(4, "b"), message(9, "a")})
    EXPECT_TRUE(keys.note(record));
  EXPECT_EQ(keys.seq_of("a"), 2u);
  EXPECT_EQ(keys.seq_of("b"), 4u);
  EXPECT_EQ(keys.seq_of(""), 0u);
  EXPECT_EQ(keys.seq_of("A"), 0u);
}

TEST(MessageKeys, OtherRecordsHaveNone) {
  MessageKeys keys;
  StoredRecord other = message(2, "");
  other.record = write_answer({"w", "allow", "user", "approve", {}});
  EXPECT_TRUE(keys.note(other));
  EXPECT_TRUE(keys.note(message(3, "a", Role::kAssistant)));
  EXPECT_EQ(keys.seq_of("a"), 0u);
}

TEST(MessageKeys, ABrokenRecordIsAnError) {
  MessageKeys keys;
  StoredRecord broken = message(2, "a");
  broken.record.payload = "[]";
  const auto noted = keys.note(broken);
  ASSERT_FALSE(noted);
  EXPECT_EQ(noted.error().code, Code::kCorrupt);
}

TEST(MessageKeys, TheNewestThousandAreKept) {
  MessageKeys keys;
  for (std::uint64_t i = 1; i <= MessageKeys::kKept; ++i) ASSERT_TRUE(keys.note(message(i, "k" + std::to_string(i))));
  EXPECT_EQ(keys.seq_of("k1"), 1u);
  ASSERT_TRUE(keys.note(message(5'000, "more")));
  EXPECT_EQ(keys.seq_of("k1"), 0u);
  EXPECT_EQ(keys.seq_of("k2"), 2u);
  EXPECT_EQ(keys.seq_of("more"), 5'000u);
}

}  // namespace
}  // namespace agentd
