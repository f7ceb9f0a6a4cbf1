// SPDX-License-Identifier: Apache-2.0
// token_table_test.cc - the tokens of many sessions at once, and a watchdog that has nothing to watch.
#include "core/bridge/token_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace agentd {
namespace {

bool is_told(CallSlot& slot) { return std::atomic_ref(slot.live().cancel).load() != 0; }

// Beyond the first blocks of slots, whose sizes are 64, 128, 256 and so on.
TEST(TokenTable, FindsEachOfThousandsOfTokens) {
  constexpr std::size_t kMany = 20'000;
  TokenTable table;
  std::vector<CallSlot*> slots;
  std::vector<agentd_token> tokens;
  std::set<agentd_token> different;
  for (std::size_t i = 0; i < kMany; ++i) {
    slots.push_back(table.acquire());
    tokens.push_back(slots.back()->open(nullptr));
    different.insert(tokens.back());
  }
  EXPECT_EQ(different.size(), kMany);
  EXPECT_FALSE(different.contains(0));
  for (std::size_t i = 0; i < kMany; ++i) ASSERT_EQ(table.find(tokens[i]), slots[i]) << i;
  // The control: an ended call, an index beyond the last one, and no index at all.
  slots[7]->close();
  EXPECT_EQ(table.find(tokens[7]), nullptr);
  EXPECT_EQ(table.find(tokens.back() + 1), nullptr);
  EXPECT_EQ(table.find(tokens.back() | TokenTable::kSlotsMax), nullptr);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(UINT64_MAX << CallSlot::kIndexBits), nullptr);
  for (CallSlot* const slot : slots) table.release(slot);
  for (const agentd_token token : tokens) ASSERT_EQ(table.find(token), nullptr);
}

TEST(TokenTable, CountsSlotsThatAreLentAndKeepsThoseThatWere) {
  constexpr std::size_t kMany = 1'000;
  TokenTable table;
  std::vector<CallSlot*> slots;
  for (std::size_t i = 0; i < kMany; ++i) slots.push_back(table.acquire());
  EXPECT_EQ(table.counts().lent, kMany);
  // In another order than they were lent.
  for (std::size_t i = 0; i < kMany; i += 2) table.release(slots[i]);
  EXPECT_EQ(table.counts().lent, kMany / 2);
  for (std::size_t i = kMany; i-- > 0;)
    if (i % 2 != 0) table.release(slots[i]);
  EXPECT_EQ(table.counts().lent, 0u);
  for (std::size_t i = 0; i < kMany; ++i) slots[i] = table.acquire();
  EXPECT_EQ(table.counts().made, kMany) << "slots are lent again";
  EXPECT_EQ(std::set<CallSlot*>(slots.begin(), slots.end()).size(), kMany) << "each is lent once";
  for (CallSlot* const slot : slots) table.release(slot);
}

TEST(TokenTable, IsReadWhileItGrows) {
  constexpr std::size_t kMany = 5'000;
  TokenTable table;
  std::vector<std::atomic<CallSlot*>> slots(kMany);
  std::vector<std::atomic<agentd_token>> tokens(kMany);
  std::atomic<std::size_t> made{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (made.load() < kMany) {
        const std::size_t seen = made.load();
        if (seen != 0) {
          ASSERT_EQ(table.find(tokens[seen - 1].load()), slots[seen - 1].load());
        }
        (void)table.find((agentd_token{1} << CallSlot::kIndexBits) | (seen + 1));  // may be being made
      }
    });
  for (std::size_t i = 0; i < kMany; ++i) {
    slots[i] = table.acquire();
    tokens[i] = slots[i].load()->open(nullptr);
    ++made;
  }
  for (std::thread& each : readers) each.join();
  for (const auto& slot : slots) table.release(slot.load());
}

TEST(TokenTable, WatchdogSleepsWhileNoSlotIsLent) {
  const SystemClock clock;
  TokenTable table;
  std::vector<CallSlot*> slots;
  for (int i = 0; i < 100; ++i) slots.push_back(table.acquire());
  table.watch(clock);
  EXPECT_FALSE(table.counts().watchdog_sleeps);
  for (CallSlot* const slot : slots) table.release(slot);
  // Idle sessions hold no slot, and the slots that were made stay.
  while (!table.counts().watchdog_sleeps) std::this_thread::sleep_for(Milliseconds(1));
  EXPECT_EQ(table.counts().made, 100u);
  // The next call wakes it and is watched.
  CallSlot* const slot = table.acquire();
  slot->set_deadline(Deadline::after(clock, Milliseconds(20)).at_ns);
  slot->open(nullptr);
  while (!is_told(*slot)) std::this_thread::sleep_for(Milliseconds(1));
  EXPECT_TRUE(slot->end_call(clock));
  table.release(slot);
  while (!table.counts().watchdog_sleeps) std::this_thread::sleep_for(Milliseconds(1));
}

TEST(TokenTable, WatchdogTellsTheOneOfAThousandCallsWhoseTimeIsOver) {
  const SystemClock clock;
  TokenTable table;
  table.watch(clock);
  std::vector<CallSlot*> slots;
  for (int i = 0; i < 1'000; ++i) {
    slots.push_back(table.acquire());
    slots.back()->set_deadline(i == 700 ? Deadline::after(clock, Milliseconds(20)).at_ns : UINT64_MAX);
    slots.back()->open(nullptr);
  }
  while (!is_told(*slots[700])) std::this_thread::sleep_for(Milliseconds(1));
  for (std::size_t i = 0; i < slots.size(); ++i) ASSERT_EQ(is_told(*slots[i]), i == 700) << i;
  for (CallSlot* const slot : slots) {
    slot->end_call(clock);
    table.release(slot);
  }
}

}  // namespace
}  // namespace agentd
