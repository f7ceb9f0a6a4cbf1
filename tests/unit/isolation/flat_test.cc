// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/flat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "tests/unit/isolation/sample_records.h"

namespace agentd {
namespace {

std::vector<const Shape*> every_shape() {
  std::vector<const Shape*> out = all_shapes();
  for (std::uint32_t op = 0; op < 100; ++op)
    for (std::uint32_t kind = 0; kind <= AGENTD_ACT_SERVICE_RESULT; ++kind)
      if (args_shape(op, kind) != nullptr && (kind == 0 || op == 1)) out.push_back(args_shape(op, kind));
  for (std::uint32_t op = 0; op < 100; ++op)
    if (reply_shape(op) != nullptr) out.push_back(reply_shape(op));
  out.push_back(&boot_args_shape());
  out.push_back(&boot_reply_shape());
  return out;
}

std::string flat_of(const Shape& shape, const void* record) {
  std::string out;
  const auto done = flatten(shape, record, out);
  EXPECT_TRUE(done) << done.error().message;
  return out;
}

// Nothing that the record reaches lies outside of the bytes or in them twice.
void expect_inside(const Shape& shape, const void* record, FlatBytes& bytes) {
  const std::byte* const begin = bytes.data();
  std::size_t sum = 0;
  walk(shape, record, [&](const void* from, std::size_t length) {
    const auto* const at = static_cast<const std::byte*>(from);
    ASSERT_TRUE(at >= begin && length <= bytes.size() && at <= begin + (bytes.size() - length));
    sum += length;
  });
  EXPECT_LE(sum, bytes.size());
}

TEST(Flat, EveryRecordComesBackAsItWas) {
  for (const Shape* shape : every_shape()) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(std::string(shape->name) + " seed " + std::to_string(seed));
      SampleRecords samples(seed);
      const void* const record = samples.make(*shape, seed == 0);
      FlatBytes bytes(flat_of(*shape, record));
      const auto back = relocate(*shape, {bytes.data(), bytes.size()});
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(difference(*shape, record, *back), "");
      expect_inside(*shape, *back, bytes);
    }
  }
}

TEST(Flat, HasNoAddressOfTheProcessInIt) {
  // Memory far away from the numbers that samples are made of.
  for (const Shape* shape : every_shape()) {
    SampleRecords samples(3);
    const void* const record = samples.make(*shape, true);
    const std::string flat = flat_of(*shape, record);
    walk(*shape, record, [&](const void* from, std::size_t) {
      const auto address = reinterpret_cast<std::uintptr_t>(from);
      for (std::size_t at = 0; at + 8 <= flat.size(); at += 8)
        ASSERT_NE(value_at<std::uint64_t>(flat.data(), at), address) << shape->name << "+" << at;
    });
  }
}

TEST(Flat, IsAppendedToWhatIsThere) {
  agentd_notification record{sizeof(record), AGENTD_LEVEL_INFO, {"hello", 5}};
  std::string out = "12345678";
  ASSERT_TRUE(flatten(*payload_shape(AGENTD_EVENT_NOTIFICATION), &record, out));
  EXPECT_EQ(out.substr(0, 8), "12345678");
  EXPECT_EQ(out.substr(8), flat_of(*payload_shape(AGENTD_EVENT_NOTIFICATION), &record));
}

TEST(Flat, TellsAnEmptyTextFromNone) {
  agentd_clear record{sizeof(record), 0, {"", 0}, {nullptr, 0}, {nullptr, 0}};
  const Shape& shape = *payload_shape(AGENTD_EVENT_AFTER_CLEAR);
  FlatBytes bytes(flat_of(shape, &record));
  const auto back = relocate(shape, {bytes.data(), bytes.size()});
  ASSERT_TRUE(back);
  const auto* const clear = static_cast<const agentd_clear*>(*back);
  EXPECT_NE(clear->reason.ptr, nullptr);
  EXPECT_EQ(clear->new_conversation_id.ptr, nullptr);
}

TEST(Flat, FillsAnOlderRecordWithZeros) {
  agentd_turn record{};
  std::memset(static_cast<void*>(&record), 0x77, sizeof(record));
  record.size = 16;
  const Shape& shape = *payload_shape(AGENTD_EVENT_TURN_END);
  FlatBytes bytes(flat_of(shape, &record));
  const auto back = relocate(shape, {bytes.data(), bytes.size()});
  ASSERT_TRUE(back);
  const auto* const turn = static_cast<const agentd_turn*>(*back);
  EXPECT_EQ(turn->size, 16u);
  EXPECT_EQ(turn->stop_reason, 0x77777777u);
  EXPECT_EQ(turn->response.ptr, nullptr);
  EXPECT_EQ(turn->tool_calls.count, 0u);
  EXPECT_EQ(turn->usage, nullptr);
}

TEST(Flat, CutsANewerRecord) {
  struct {
    agentd_notification known;
    std::uint64_t more;
  } record{{sizeof(record), AGENTD_LEVEL_ERROR, {"x", 1}}, 7};
  const Shape& shape = *payload_shape(AGENTD_EVENT_NOTIFICATION);
  FlatBytes bytes(flat_of(shape, &record));
  const auto back = relocate(shape, {bytes.data(), bytes.size()});
  ASSERT_TRUE(back);
  EXPECT_EQ(static_cast<const agentd_notification*>(*back)->size, sizeof(agentd_notification));
}

TEST(Flat, KeepsASizeThatCannotBe) {
  for (const std::uint32_t size : {0u, 7u, 4097u, 0xffffffffu}) {
    agentd_act_text record{{size, AGENTD_ACT_BLOCK, 0}, 0, 0, {"no", 2}};
    const Shape& shape = action_shape(AGENTD_ACT_BLOCK);
    FlatBytes bytes(flat_of(shape, &record));
    const auto back = relocate(shape, {bytes.data(), bytes.size()});
    ASSERT_TRUE(back);
    const auto* const action = static_cast<const agentd_act_text*>(*back);
    EXPECT_EQ(action->h.size, size);
    EXPECT_EQ(action->h.kind, AGENTD_ACT_BLOCK);
    EXPECT_EQ(action->text.ptr, nullptr) << "no byte behind an impossible size is read";
  }
}

TEST(Flat, ReadsNoMoreOfAnElementThanItsStride) {
  // The second block says that it is whole, its place has room for 16 bytes.
  std::array<std::uint64_t, 4> rows{};
  const std::uint32_t whole = sizeof(agentd_block);
  std::memcpy(&rows[0], &whole, 4);
  std::memcpy(&rows[2], &whole, 4);
  rows[1] = rows[3] = 0;
  agentd_message record{sizeof(record), AGENTD_ROLE_USER, 0, 1, 0, 0, {rows.data(), 2, 16}};
  FlatBytes bytes(flat_of(message_shape(), &record));
  EXPECT_TRUE(relocate(message_shape(), {bytes.data(), bytes.size()}));
}

void expect_refused(const Shape& shape, const void* record, Code code, std::string_view part) {
  std::string out = "untouched.......";
  const std::string before = out;
  const auto done = flatten(shape, record, out);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, code);
  EXPECT_NE(done.error().message.find(part), std::string::npos) << done.error().message;
  EXPECT_EQ(out, before);
}

TEST(Flat, RefusesATextWithoutMemory) {
  const agentd_notification record{sizeof(record), 0, {nullptr, 5}};
  expect_refused(*payload_shape(AGENTD_EVENT_NOTIFICATION), &record, Code::kInvalid,
                 "agentd_notification has a text without memory");
}

TEST(Flat, RefusesAListWithoutMemory) {
  const agentd_message record{sizeof(record), 1, 0, 0, 0, 0, {nullptr, 3, sizeof(agentd_block)}};
  expect_refused(message_shape(), &record, Code::kInvalid, "list without memory");
}

TEST(Flat, RefusesAStrideThatCannotBe) {
  const agentd_block block{};
  for (const std::uint32_t stride : {0u, 7u, 4097u}) {
    const agentd_message record{sizeof(record), 1, 0, 0, 0, 0, {&block, 1, stride}};
    expect_refused(message_shape(), &record, Code::kInvalid, "impossible stride");
  }
  const agentd_str tag{"x", 1};
  agentd_session_end end{};
  end.size = sizeof(end);
  end.tags = {&tag, 1, 8};  // a text is 16 bytes
  expect_refused(*payload_shape(AGENTD_EVENT_SESSION_END), &end, Code::kInvalid, "impossible stride");
}

TEST(Flat, RefusesARecordThatLiesInItself) {
  agentd_block block{};
  block.size = sizeof(block);
  block.parts = {&block, 1, sizeof(block)};
  expect_refused(shapes::block, &block, Code::kInvalid, "too deep");
}

TEST(Flat, EndsSoonWhenARecordLiesInItselfManyTimes) {
  std::array<agentd_block, 64> blocks{};
  for (agentd_block& each : blocks) {
    each.size = sizeof(each);
    each.parts = {blocks.data(), 64, sizeof(each)};
  }
  std::string out;
  EXPECT_FALSE(flatten(shapes::block, &blocks[0], out));
  EXPECT_TRUE(out.empty());
}

TEST(Flat, RefusesMoreThanItsLimit) {
  const std::string big(1u << 20, 'x');
  std::vector<agentd_str> tags(65, {big.data(), big.size()});
  agentd_session_end end{};
  end.size = sizeof(end);
  end.tags = {tags.data(), 65, sizeof(agentd_str)};
  expect_refused(*payload_shape(AGENTD_EVENT_SESSION_END), &end, Code::kUnavailable, "over the limit");
  end.reason = {big.data(), SIZE_MAX - 3};
  end.tags = {};
  expect_refused(*payload_shape(AGENTD_EVENT_SESSION_END), &end, Code::kUnavailable, "over the limit");
}

TEST(Flat, RefusesCountsThatNoMemoryHas) {
  const agentd_block block{};
  const agentd_message record{sizeof(record), 1, 0, 0, 0, 0, {&block, 0xffffffff, sizeof(block)}};
  expect_refused(message_shape(), &record, Code::kUnavailable, "over the limit");
}

// ---- what a hostile writer sends

bool opens(const Shape& shape, const std::string& flat) {
  FlatBytes bytes(flat);
  return relocate(shape, {bytes.data(), bytes.size()}).has_value();
}

TEST(Relocate, RefusesEveryTruncation) {
  for (const Shape* shape : every_shape()) {
    SampleRecords samples(11);
    const std::string flat = flat_of(*shape, samples.make(*shape, false));
    ASSERT_TRUE(opens(*shape, flat));
    for (std::size_t bytes = 0; bytes < flat.size(); ++bytes)
      ASSERT_FALSE(opens(*shape, flat.substr(0, bytes))) << shape->name << " " << bytes;
  }
}

TEST(Relocate, RefusesBytesThatNobodyAccountsFor) {
  for (const Shape* shape : every_shape()) {
    SampleRecords samples(12);
    const std::string flat = flat_of(*shape, samples.make(*shape, false));
    EXPECT_FALSE(opens(*shape, flat + std::string(8, '\0'))) << shape->name;
    EXPECT_FALSE(opens(*shape, flat + "x")) << shape->name;
  }
}

TEST(Relocate, StaysInsideWhateverIsMutated) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::array<std::uint64_t, 8> nasty{0, 1, 8, 0xffffffff, UINT64_MAX, UINT64_MAX - 7, 1ull << 32, 64};
  unsigned accepted = 0;
  for (const Shape* shape : every_shape()) {
    SampleRecords samples(seed);
    const std::string flat = flat_of(*shape, samples.make(*shape, false));
    for (int round = 0; round < 300; ++round) {
      std::string hostile = flat;
      for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
        const std::uint64_t word = below(2) == 0 ? nasty[below(nasty.size())] : below(flat.size() + 16);
        if (below(3) == 0)
          hostile[below(hostile.size())] = static_cast<char>(below(256));
        else
          std::memcpy(hostile.data() + below(hostile.size() / 8) * 8, &word, 8);
      }
      FlatBytes bytes(hostile);
      const auto back = relocate(*shape, {bytes.data(), bytes.size()});
      if (!back) continue;
      ++accepted;
      expect_inside(*shape, *back, bytes);
    }
  }
  EXPECT_GT(accepted, 0u);
}

// A message with two blocks; the words of its flat form.
struct FlatMessage {
  std::array<agentd_block, 2> blocks{};
  agentd_message record{sizeof(record), AGENTD_ROLE_USER, 0, 1, 0, 0, {}};
  std::string flat;
  FlatMessage() {
    for (agentd_block& each : blocks) {
      each.size = sizeof(each);
      each.text = {"eight by", 8};
    }
    record.blocks = {blocks.data(), 2, sizeof(agentd_block)};
    flat = flat_of(message_shape(), &record);
  }
  template <typename T>
  bool opens_with(std::size_t offset, T value) const {
    std::string changed = flat;
    std::memcpy(changed.data() + offset, &value, sizeof(value));
    return opens(message_shape(), changed);
  }
};
constexpr std::size_t kBlocks = offsetof(agentd_message, blocks);
constexpr std::size_t kFirstBlock = sizeof(agentd_message);
constexpr std::size_t kSecondBlock = kFirstBlock + sizeof(agentd_block);

TEST(Relocate, AcceptsWhatWasNotTouched) {
  const FlatMessage message;
  EXPECT_TRUE(opens(message_shape(), message.flat));
  EXPECT_TRUE(message.opens_with(kBlocks, std::uint64_t{kFirstBlock}));
}

TEST(Relocate, RefusesTwoTextsInOnePlace) {
  const FlatMessage message;
  const auto first = value_at<std::uint64_t>(message.flat.data(), kFirstBlock + offsetof(agentd_block, text));
  EXPECT_FALSE(message.opens_with(kSecondBlock + offsetof(agentd_block, text), first));
}

TEST(Relocate, RefusesAListThatLiesInItself) {
  const FlatMessage message;
  EXPECT_FALSE(message.opens_with(kBlocks, std::uint64_t{8}));
  EXPECT_FALSE(message.opens_with(kBlocks, std::uint64_t{kFirstBlock + 8}));
}

TEST(Relocate, RefusesHugeCountsAndLengths) {
  const FlatMessage message;
  for (const std::uint32_t count : {3u, 0x7fffffffu, 0xffffffffu, 1u})
    EXPECT_FALSE(message.opens_with(kBlocks + offsetof(agentd_list, count), count)) << count;
  for (const std::uint64_t length : {std::uint64_t{17}, std::uint64_t{0}, UINT64_MAX, UINT64_MAX - 8})
    EXPECT_FALSE(message.opens_with(kFirstBlock + offsetof(agentd_block, text) + 8, length)) << length;
}

TEST(Relocate, RefusesAnotherStride) {
  const FlatMessage message;
  for (const std::uint32_t stride : {0u, 8u, 120u, 136u})
    EXPECT_FALSE(message.opens_with(kBlocks + offsetof(agentd_list, stride), stride)) << stride;
}

// A reader that checks the tail of a longer record would leave its memory.
TEST(Relocate, RefusesASizeThatReachesBeyondTheRecord) {
  const FlatMessage message;
  for (const std::uint32_t size : {56u, 4096u}) EXPECT_FALSE(message.opens_with(0, size)) << size;
  for (const std::uint32_t size : {136u, 4096u}) EXPECT_FALSE(message.opens_with(kFirstBlock, size)) << size;
  EXPECT_TRUE(message.opens_with(0, std::uint32_t{4097})) << "who reads it refuses that";
}

TEST(Relocate, RefusesPaddingThatIsNotZero) {
  agentd_notification record{sizeof(record), 0, {"abc", 3}};
  const Shape& shape = *payload_shape(AGENTD_EVENT_NOTIFICATION);
  std::string flat = flat_of(shape, &record);
  ASSERT_TRUE(opens(shape, flat));
  flat.back() = 'x';
  EXPECT_FALSE(opens(shape, flat));
}

TEST(Relocate, RefusesAnAddressWhereAnOpHasNone) {
  ServiceArgs args;
  args.op = static_cast<std::uint32_t>(ServiceOp::kLog);
  args.text[0] = {"line", 4};
  const agentd_gauge gauge{sizeof(gauge), 0, 0, 0, 0, 0, 0, 0, 0};
  args.record[0] = &gauge;
  args.list = {&gauge, 1, sizeof(gauge)};
  const Shape& shape = *args_shape(args.op, 0);
  std::string flat = flat_of(shape, &args);
  FlatBytes bytes(flat);
  const auto back = open_args({bytes.data(), bytes.size()});
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ((*back)->record[0], nullptr);
  EXPECT_EQ((*back)->list.count, 0u);
  const std::uint64_t address = flat.size();
  std::memcpy(flat.data() + offsetof(ServiceArgs, record), &address, 8);
  EXPECT_FALSE(opens(shape, flat));
}

// ---- the bodies of service calls

std::string emitted(const agentd_action& action, std::uint64_t kind) {
  ServiceArgs args;
  args.op = static_cast<std::uint32_t>(ServiceOp::kEmit);
  args.number[0] = kind;
  args.record[0] = &action;
  return flat_of(*args_shape(args.op, static_cast<std::uint32_t>(kind)), &args);
}

TEST(ServiceArgs, BringAnActionOfItsKind) {
  const agentd_act_text action{{sizeof(action), AGENTD_ACT_BLOCK, 0}, 0, 0, {"no", 2}};
  FlatBytes bytes(emitted(action.h, AGENTD_ACT_BLOCK));
  const auto args = open_args({bytes.data(), bytes.size()});
  ASSERT_TRUE(args);
  const auto* const back = static_cast<const agentd_act_text*>((*args)->record[0]);
  EXPECT_EQ(std::string(back->text.ptr, back->text.len), "no");
}

// Otherwise a number would be read as an address.
TEST(ServiceArgs, RefuseAnActionOfAnotherKindThanAnnounced) {
  const agentd_act_set action{{sizeof(action), AGENTD_ACT_BLOCK, 0}, 1, 0, 0x4141414141414141, {"x", 1}};
  FlatBytes bytes(emitted(action.h, AGENTD_ACT_SET));
  const auto args = open_args({bytes.data(), bytes.size()});
  ASSERT_FALSE(args);
  EXPECT_NE(args.error().message.find("not of the announced kind"), std::string::npos);
}

TEST(ServiceArgs, BringOnlyTheHeaderOfAnUnknownAction) {
  const agentd_act_text action{{sizeof(action), 99, 0}, 0, 0, {"no", 2}};
  FlatBytes bytes(emitted(action.h, 99));
  const auto args = open_args({bytes.data(), bytes.size()});
  ASSERT_TRUE(args);
  EXPECT_EQ(static_cast<const agentd_action*>((*args)->record[0])->size, sizeof(agentd_action));
}

TEST(ServiceArgs, RefuseAnUnknownServiceAndShortBytes) {
  ServiceArgs args;
  std::string flat = flat_of(*args_shape(static_cast<std::uint32_t>(ServiceOp::kLog), 0), &args);
  for (const std::uint32_t op : {0u, 99u, 0xffffffffu}) {
    std::memcpy(flat.data(), &op, sizeof(op));
    FlatBytes bytes(flat);
    const auto back = open_args({bytes.data(), bytes.size()});
    ASSERT_FALSE(back);
    EXPECT_NE(back.error().message.find("unknown service"), std::string::npos);
  }
  FlatBytes few(flat.substr(0, 20));
  EXPECT_FALSE(open_args({few.data(), few.size()}));
  EXPECT_FALSE(open_args({}));
}

TEST(BootReply, BringsItsRows) {
  const std::array<RowInfo, 2> rows{RowInfo{13, 4, -5, 1}, RowInfo{15, 1, 9, 0}};
  BootReply reply;
  reply.id = {"org.example", 11};
  reply.rows = {rows.data(), 2, sizeof(RowInfo)};
  FlatBytes bytes(flat_of(boot_reply_shape(), &reply));
  const auto back = relocate(boot_reply_shape(), {bytes.data(), bytes.size()});
  ASSERT_TRUE(back);
  const auto* const list = static_cast<const RowInfo*>(static_cast<const BootReply*>(*back)->rows.first);
  EXPECT_EQ(list[0].priority, -5);
  EXPECT_EQ(list[1].event, 15u);
}

}  // namespace
}  // namespace agentd
