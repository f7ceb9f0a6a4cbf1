// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/window.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/conversation/rows.h"
#include "tests/unit/isolation/forked.h"
#include "tests/unit/isolation/sample_records.h"

namespace agentd {
namespace {

using Frame = PayloadWindow::Frame;

std::unique_ptr<PayloadWindow> make_window() {
  auto window = PayloadWindow::create();
  EXPECT_TRUE(window) << window.error().message;
  return std::move(*window);
}

// Memory that the machine has given to the window's file.
std::uint64_t bytes_backed(const PayloadWindow& window) {
  struct stat info {};
  EXPECT_EQ(fstat(window.fd(), &info), 0);
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

bool lies_in(const PayloadWindow& window, const void* from, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  return at >= window.base() && at + bytes <= window.base() + bytes_backed(window);
}

agentd_agent_stop stop_with(const agentd_list& messages) {
  agentd_agent_stop stop{};
  stop.size = sizeof(stop);
  stop.messages = messages;
  return stop;
}
const Shape& stop_shape() { return *payload_shape(AGENTD_EVENT_AGENT_STOP); }

// Places the list as an agent_stop with it; the list as the worker sees it.
agentd_list placed(PayloadWindow& window, Frame& frame, const agentd_list& list, std::uint64_t lineage) {
  const agentd_agent_stop stop = stop_with(list);
  const auto at = window.place(frame, stop_shape(), &stop, lineage);
  EXPECT_TRUE(at) << at.error().message;
  return at ? static_cast<const agentd_agent_stop*>(*at)->messages : agentd_list{};
}

// Both lists say the same, and the second lies in the window.
void expect_shown(const PayloadWindow& window, const agentd_list& rows, const agentd_list& shown) {
  const agentd_agent_stop a = stop_with(rows), b = stop_with(shown);
  EXPECT_EQ(difference(stop_shape(), &a, &b), "");
  walk_members(stop_shape(), &b,
               [&](const void* from, std::size_t bytes) { EXPECT_TRUE(lies_in(window, from, bytes)); });
}

void add(Rows& rows, std::size_t bytes, char letter = 'x') {
  rows.append(Message::of_text(Role::kUser, std::string(bytes, letter)), rows.size() + 1u, 1000);
}
Rows history(std::size_t messages, std::size_t bytes) {
  Rows rows;
  for (std::size_t i = 0; i < messages; ++i) add(rows, bytes, static_cast<char>('a' + i % 26));
  return rows;
}

TEST(PayloadWindow, HoldsADeepCopyOfEveryRecord) {
  const auto window = make_window();
  for (const Shape* shape : all_shapes()) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(std::string(shape->name) + " seed " + std::to_string(seed));
      SampleRecords samples(seed);
      const void* const record = samples.make(*shape, seed == 0);
      Frame frame(*window);
      const auto copy = window->place(frame, *shape, record);
      ASSERT_TRUE(copy) << copy.error().message;
      EXPECT_EQ(difference(*shape, record, *copy), "");
      walk(*shape, *copy, [&](const void* from, std::size_t bytes) { EXPECT_TRUE(lies_in(*window, from, bytes)); });
    }
  }
}

TEST(PayloadWindow, PlacesNothingForNothing) {
  const auto window = make_window();
  Frame frame(*window);
  const auto placed_at = window->place(frame, envelope_shape(), nullptr);
  ASSERT_TRUE(placed_at);
  EXPECT_EQ(*placed_at, nullptr);
}

TEST(PayloadWindow, RefusesARecordThatIsBroken) {
  const auto window = make_window();
  Frame frame(*window);
  const agentd_notification text{sizeof(text), 0, {nullptr, 5}};
  EXPECT_EQ(window->place(frame, *payload_shape(AGENTD_EVENT_NOTIFICATION), &text).error().code, Code::kInvalid);
  agentd_block block{};
  block.size = sizeof(block);
  block.parts = {&block, 1, sizeof(block)};
  EXPECT_EQ(window->place(frame, shapes::block, &block).error().code, Code::kInvalid);
}

TEST(PayloadWindow, UsesTheMemoryOfFramesAgain) {
  const auto window = make_window();
  const std::string text(200'000, 'x');
  const agentd_notification record{sizeof(record), 0, {text.data(), text.size()}};
  std::uint64_t first = 0;
  for (int i = 0; i < 100; ++i) {
    Frame frame(*window);
    ASSERT_TRUE(window->place(frame, *payload_shape(AGENTD_EVENT_NOTIFICATION), &record));
    if (i == 0) first = bytes_backed(*window);
  }
  EXPECT_EQ(bytes_backed(*window), first);
}

TEST(PayloadWindow, GivesFramesThatLiveAtOnceDifferentMemory) {
  const auto window = make_window();
  std::vector<Frame> frames;
  std::set<void*> places;
  for (int i = 0; i < 50; ++i) {
    frames.emplace_back(*window);
    for (int n = 0; n < 20; ++n) {
      void* const at = frames.back().allocate(8000, 64);
      ASSERT_NE(at, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 64, 0u);
      std::memset(at, i, 8000);
      EXPECT_TRUE(places.insert(at).second);
    }
  }
  const std::uint64_t used = bytes_backed(*window);
  frames.clear();
  Frame again(*window);
  ASSERT_NE(again.allocate(8000), nullptr);
  EXPECT_EQ(bytes_backed(*window), used);
}

TEST(PayloadWindow, AnswersNullWhenItIsFull) {
  const auto window = make_window();
  Frame frame(*window);
  EXPECT_EQ(frame.allocate(PayloadWindow::kBytes), nullptr);
  EXPECT_EQ(frame.allocate(SIZE_MAX / 2), nullptr);
  EXPECT_NE(frame.allocate(100), nullptr) << "and goes on";
}

TEST(PayloadWindow, TakesTheNextAddressWhenOneIsTaken) {
  const auto first = make_window(), second = make_window();
  EXPECT_NE(first->base(), second->base());
  const auto third = PayloadWindow::create(8);
  ASSERT_TRUE(third);
  EXPECT_NE((*third)->base(), first->base());
  EXPECT_EQ((*third)->base() % PayloadWindow::kBytes, PayloadWindow::kFirstBase % PayloadWindow::kBytes);
}

// ---- what a worker may do with it

TEST(PayloadWindow, IsReadInAnotherProcessAtTheSameAddress) {
  const auto window = make_window();
  const Rows rows = history(200, 500);
  Frame frame(*window);
  const agentd_agent_stop stop = stop_with(rows.list());
  const auto payload = window->place(frame, stop_shape(), &stop, rows.lineage());
  ASSERT_TRUE(payload);
  Forked worker([&] {
    if (!open_payload_window(window->fd(), window->base())) return 1;
    return difference(stop_shape(), &stop, *payload).empty() ? 0 : 2;
  });
  EXPECT_EQ(worker.join(), 0);
}

TEST(PayloadWindow, CannotBeWrittenByAnotherProcess) {
  const auto window = make_window();
  Forked worker([&] {
    constexpr auto kBoth = PROT_READ | PROT_WRITE;
    if (mmap(nullptr, 4096, kBoth, MAP_SHARED, window->fd(), 0) != MAP_FAILED || errno != EACCES) return 1;
    if (pwrite(window->fd(), "x", 1, 0) != -1 || errno != EBADF) return 2;
    if (!open_payload_window(window->fd(), window->base())) return 3;
    if (mprotect(reinterpret_cast<void*>(window->base()), 4096, kBoth) != -1 || errno != EACCES) return 4;
    if (fallocate(window->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != -1) return 5;
    return madvise(reinterpret_cast<void*>(window->base()), 4096, MADV_REMOVE) == -1 ? 0 : 6;
  });
  EXPECT_EQ(worker.join(), 0);
}

TEST(PayloadWindow, CannotBeGivenAnotherSize) {
  const auto window = make_window();
  Forked worker([&] {
    for (const off_t size : {off_t{0}, off_t{4096}, static_cast<off_t>(PayloadWindow::kBytes) + 4096})
      if (ftruncate(window->fd(), size) != -1 || errno != EINVAL) return 1;
    return fallocate(window->fd(), 0, 0, 1 << 30) == -1 && errno == EBADF ? 0 : 2;
  });
  EXPECT_EQ(worker.join(), 0);
}

TEST(PayloadWindow, CannotBeOpenedAgainForWritingWithoutAPrivilege) {
  const auto window = make_window();
  const std::string path = "/proc/self/fd/" + std::to_string(window->fd());
  Forked worker([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (syscall(SYS_capset, &header, none) != 0) return 1;
    if (!UniqueFd(open(path.c_str(), O_RDONLY)).valid()) return 2;
    return open(path.c_str(), O_RDWR) == -1 && errno == EACCES ? 0 : 3;
  });
  EXPECT_EQ(worker.join(), 0);
}

// A worker that reads all 64 GiB must not fill the machine.
TEST(PayloadWindow, EndsWhoReadsBehindItsEndAndAllocatesNothing) {
  const auto window = make_window();
  const std::uint64_t before = bytes_backed(*window);
  Forked worker([&] {
    std::signal(SIGBUS, SIG_DFL);  // a sanitizer has a handler of its own
    if (!open_payload_window(window->fd(), window->base())) return 1;
    const auto* const bytes = reinterpret_cast<const volatile char*>(window->base());
    int sum = 0;
    for (std::uint64_t at = 0; at < 64u << 20; at += 4096) sum += bytes[at];
    return sum == 0 ? 0 : 2;
  });
  EXPECT_EQ(worker.join(), -1) << "by SIGBUS";
  EXPECT_EQ(bytes_backed(*window), before);
}

TEST(PayloadWindow, GrowsUnderAWorkerThatHasOpenedIt) {
  const auto window = make_window();
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  Forked worker([&] {
    if (!open_payload_window(window->fd(), window->base())) return 1;
    std::uintptr_t at = 0;
    if (read(ready[0], &at, sizeof at) != sizeof at) return 2;
    return *reinterpret_cast<const volatile char*>(at) == 'x' ? 0 : 3;
  });
  Frame frame(*window);
  void* const at = frame.allocate(40u << 20);
  ASSERT_NE(at, nullptr);
  std::memset(at, 'x', 40u << 20);
  const auto address = reinterpret_cast<std::uintptr_t>(at) + (40u << 20) - 1;
  EXPECT_EQ(write(ready[1], &address, sizeof address), static_cast<ssize_t>(sizeof address));
  EXPECT_EQ(worker.join(), 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(PayloadWindow, GivesMemoryBackWhenNoCallReadsIt) {
  const auto window = make_window();
  const Rows rows = history(50, 1000);
  {
    Frame running(*window);
    placed(*window, running, rows.list(), rows.lineage());
    {
      Frame big(*window);
      ASSERT_NE(big.allocate(PayloadWindow::kKeptBytesMax), nullptr);
    }
    EXPECT_GT(bytes_backed(*window), PayloadWindow::kKeptBytesMax) << "somebody reads";
  }
  EXPECT_LE(bytes_backed(*window), 1u << 20);
  EXPECT_LE(bytes_backed(*window), 1u << 20);
  Frame frame(*window);
  expect_shown(*window, rows.list(), placed(*window, frame, rows.list(), rows.lineage()));
}

TEST(PayloadWindow, KeepsUsualMemoryBetweenCalls) {
  const auto window = make_window();
  for (int i = 0; i < 3; ++i) {
    Frame frame(*window);
    ASSERT_NE(frame.allocate(20u << 20), nullptr);
  }
  EXPECT_GE(bytes_backed(*window), 20u << 20);
  EXPECT_LE(bytes_backed(*window), PayloadWindow::kKeptBytesMax);
}

TEST(PayloadWindow, TakesNoMoreMemoryThanItMay) {
  const auto window = make_window();
  const std::uint64_t before = bytes_backed(*window);
  Frame frame(*window);
  EXPECT_EQ(frame.allocate(PayloadWindow::kBackedBytesMax), nullptr);
  EXPECT_EQ(bytes_backed(*window), before);
}

TEST(PayloadWindow, IsNotThereInAChildThatDidNotOpenIt) {
  const auto window = make_window();
  Forked child([&] {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer has a handler of its own
    return *reinterpret_cast<const volatile int*>(window->base());
  });
  EXPECT_EQ(child.join(), -1);
}

TEST(OpenPayloadWindow, SaysWhenSomethingLiesThere) {
  const auto window = make_window();
  Forked worker([&] {
    void* const there = mmap(reinterpret_cast<void*>(window->base() + (1 << 20)), 4096, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (there == MAP_FAILED) return 1;
    const auto opened = open_payload_window(window->fd(), window->base());
    return !opened && opened.error().code == Code::kUnavailable ? 0 : 2;
  });
  EXPECT_EQ(worker.join(), 0);
}

TEST(OpenPayloadWindow, RefusesWhatIsNoWindow) {
  UniqueFd small(memfd_create("small", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(small.get(), 4096), 0);
  EXPECT_EQ(open_payload_window(small.get(), PayloadWindow::kFirstBase).error().code, Code::kInvalid);
  EXPECT_FALSE(open_payload_window(-1, PayloadWindow::kFirstBase));
  const auto window = make_window();
  EXPECT_EQ(open_payload_window(window->fd(), window->base() + 1).error().code, Code::kUnavailable);
}

// ---- the mirror of a conversation

TEST(Mirror, ShowsTheRowsOfTheHost) {
  const auto window = make_window();
  const Rows rows = history(200, 300);
  Frame frame(*window);
  expect_shown(*window, rows.list(), placed(*window, frame, rows.list(), rows.lineage()));
}

TEST(Mirror, CostsNothingWhenNothingIsNew) {
  const auto window = make_window();
  const Rows rows = history(200, 5000);
  agentd_list first{};
  std::uint64_t used = 0;
  for (int i = 0; i < 50; ++i) {
    Frame frame(*window);
    const agentd_list shown = placed(*window, frame, rows.list(), rows.lineage());
    if (i == 0) {
      first = shown;
      used = bytes_backed(*window);
    }
    EXPECT_EQ(shown.first, first.first);
    EXPECT_EQ(shown.count, 200u);
  }
  EXPECT_EQ(bytes_backed(*window), used);
}

TEST(Mirror, CostsWhatIsNew) {
  const auto window = make_window();
  Rows rows = history(1000, 2000);
  {
    Frame frame(*window);
    placed(*window, frame, rows.list(), rows.lineage());
  }
  const std::uint64_t before = bytes_backed(*window);
  for (int i = 0; i < 100; ++i) {
    add(rows, 100);
    Frame frame(*window);
    const agentd_list shown = placed(*window, frame, rows.list(), rows.lineage());
    EXPECT_EQ(shown.count, rows.size());
  }
  EXPECT_LE(bytes_backed(*window) - before, 2u << 20) << "one extent of text, one frame";
  Frame frame(*window);
  expect_shown(*window, rows.list(), placed(*window, frame, rows.list(), rows.lineage()));
}

TEST(Mirror, KeepsTheRowsOfACallThatRuns) {
  const auto window = make_window();
  Rows rows = history(60, 100);
  const Rows before = rows;
  Frame running(*window);
  const agentd_list shown = placed(*window, running, before.list(), before.lineage());
  // The array grows over its end, the rows go on.
  for (int i = 0; i < 200; ++i) {
    add(rows, 100, 'y');
    Frame frame(*window);
    expect_shown(*window, rows.list(), placed(*window, frame, rows.list(), rows.lineage()));
  }
  expect_shown(*window, before.list(), shown);
}

// A request has context of its own at the end, of which the conversation knows nothing.
TEST(Mirror, FollowsAListThatParts) {
  const auto window = make_window();
  Rows rows = history(10, 100);
  const auto show_and_compare = [&](const Rows& list) {
    Frame frame(*window);
    const agentd_list shown = placed(*window, frame, list.list(), list.lineage());
    expect_shown(*window, list.list(), shown);
    return shown.first;
  };
  const void* const array = show_and_compare(rows);
  for (int turn = 0; turn < 20; ++turn) {
    Rows request = rows;
    add(request, 50, static_cast<char>('A' + turn));
    add(request, 60, static_cast<char>('a' + turn));
    ASSERT_EQ(request.lineage(), rows.lineage());
    EXPECT_EQ(show_and_compare(request), array) << "nobody reads it: it is edited where it is";
    EXPECT_EQ(show_and_compare(rows), array);
    add(rows, 70, static_cast<char>('0' + turn % 10));
  }
}

TEST(Mirror, KeepsTheRowsOfACallThatRunsWhenAListParts) {
  const auto window = make_window();
  const Rows rows = history(10, 100);
  Rows request = rows, other = rows;
  add(request, 50, 'R');
  add(other, 60, 'O');
  add(other, 60, 'P');
  Frame running(*window), second(*window), third(*window);
  const agentd_list shown = placed(*window, running, request.list(), request.lineage());
  const agentd_list parted = placed(*window, second, other.list(), other.lineage());
  EXPECT_NE(shown.first, parted.first);
  const agentd_list again = placed(*window, third, request.list(), request.lineage());
  expect_shown(*window, request.list(), shown);
  expect_shown(*window, other.list(), parted);
  expect_shown(*window, request.list(), again);
}

TEST(Mirror, ShowsTheBeginningOfWhatItHas) {
  const auto window = make_window();
  Rows rows = history(10, 100);
  const Rows before = rows;
  add(rows, 100);
  Frame frame(*window), second(*window);
  const agentd_list longer = placed(*window, frame, rows.list(), rows.lineage());
  const agentd_list shorter = placed(*window, second, before.list(), before.lineage());
  EXPECT_EQ(longer.first, shorter.first);
  EXPECT_EQ(shorter.count, 10u);
}

TEST(Mirror, IsNotUsedWithoutALineage) {
  const auto window = make_window();
  const Rows rows = history(10, 100);
  Frame frame(*window), second(*window);
  const agentd_list first = placed(*window, frame, rows.list(), 0);
  EXPECT_NE(first.first, placed(*window, second, rows.list(), 0).first);
  expect_shown(*window, rows.list(), first);
}

TEST(Mirror, IsNotUsedForAListThatBeginsElsewhere) {
  const auto window = make_window();
  const Rows rows = history(20, 100);
  Frame frame(*window), second(*window), third(*window);
  const agentd_list whole = placed(*window, frame, rows.list(), rows.lineage());
  const agentd_list part = rows.slice(5, 10);
  expect_shown(*window, part, placed(*window, second, part, rows.lineage()));
  EXPECT_EQ(placed(*window, third, rows.list(), rows.lineage()).first, whole.first);
}

TEST(Mirror, OfAPartGivesWayToTheWhole) {
  const auto window = make_window();
  const Rows rows = history(20, 100);
  {
    Frame frame(*window);
    placed(*window, frame, rows.slice(5, 10), rows.lineage());
  }
  Frame first(*window), second(*window), third(*window);
  expect_shown(*window, rows.list(), placed(*window, first, rows.list(), rows.lineage()));
  const agentd_list shown = placed(*window, second, rows.list(), rows.lineage());
  expect_shown(*window, rows.list(), shown);
  EXPECT_EQ(placed(*window, third, rows.list(), rows.lineage()).first, shown.first);
}

TEST(Mirror, DoesNotMixConversations) {
  const auto window = make_window();
  const Rows a = history(10, 100), b = history(12, 90);
  Frame frame(*window);
  for (int i = 0; i < 3; ++i) {
    expect_shown(*window, a.list(), placed(*window, frame, a.list(), a.lineage()));
    expect_shown(*window, b.list(), placed(*window, frame, b.list(), b.lineage()));
  }
}

TEST(Mirror, OfTheConversationUsedLongestAgoGoes) {
  const auto window = make_window();
  std::uint64_t used = 0;
  for (std::uint32_t i = 0; i < 3 * PayloadWindow::kMirrorsMax; ++i) {
    const Rows rows = history(5, 1'000);
    Frame frame(*window);
    expect_shown(*window, rows.list(), placed(*window, frame, rows.list(), rows.lineage()));
    if (i == 2 * PayloadWindow::kMirrorsMax) used = bytes_backed(*window);
  }
  EXPECT_EQ(bytes_backed(*window), used) << "the memory of those that went is used again";
}

// As many conversations as a process runs at once, in turn: each is copied once.
TEST(Mirror, OfAThousandConversationsStays) {
  const auto window = make_window();
  std::vector<Rows> all;
  std::vector<const void*> shown;
  for (int i = 0; i < 1'000; ++i) {
    all.push_back(history(5, 1'000));
    Frame frame(*window);
    shown.push_back(placed(*window, frame, all.back().list(), all.back().lineage()).first);
  }
  const std::uint64_t backed = bytes_backed(*window);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Frame frame(*window);
    const agentd_list again = placed(*window, frame, all[i].list(), all[i].lineage());
    ASSERT_EQ(again.first, shown[i]) << i;
    expect_shown(*window, all[i].list(), again);
  }
  EXPECT_EQ(bytes_backed(*window), backed);
}

// The control of the test above: beyond the limit the oldest goes, and its conversation is copied again.
TEST(Mirror, BeyondTheLimitIsMadeAgain) {
  const auto window = make_window();
  const Rows first = history(5, 1'000), kept = history(5, 1'000);
  Frame running(*window);  // keeps the memory of both, so that other addresses mean other copies
  const void* const before = placed(*window, running, first.list(), first.lineage()).first;
  const void* const before_kept = placed(*window, running, kept.list(), kept.lineage()).first;
  for (std::uint32_t i = 1; i < PayloadWindow::kMirrorsMax; ++i) {
    const Rows other = history(1, 10);
    Frame frame(*window);
    placed(*window, frame, other.list(), other.lineage());
  }
  Frame second(*window);
  EXPECT_EQ(placed(*window, second, kept.list(), kept.lineage()).first, before_kept);
  const agentd_list again = placed(*window, second, first.list(), first.lineage());
  EXPECT_NE(again.first, before);
  expect_shown(*window, first.list(), again);
}

TEST(Mirror, AllTogetherTakeNoMoreMemoryThanTheyMay) {
  constexpr std::size_t kRows = 32, kMany = 140, kNewest = 20;
  static_assert(kMany * kRows * Rows::kElideBytes > 2 * PayloadWindow::kMirrorBytesMax);
  const auto window = make_window();
  std::vector<Rows> all;
  std::vector<const void*> shown;
  std::uint64_t backed = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    all.push_back(history(kRows, Rows::kElideBytes));
    Frame frame(*window);
    shown.push_back(placed(*window, frame, all.back().list(), all.back().lineage()).first);
    backed = std::max(backed, bytes_backed(*window));
    if (i >= kNewest) all[i - kNewest] = Rows();
  }
  EXPECT_LE(backed, PayloadWindow::kMirrorBytesMax + (8u << 20));
  // The newest are there still.
  for (std::size_t i = kMany - kNewest; i < kMany; ++i) {
    Frame frame(*window);
    const agentd_list again = placed(*window, frame, all[i].list(), all[i].lineage());
    ASSERT_EQ(again.first, shown[i]) << i;
    expect_shown(*window, all[i].list(), again);
  }
}

TEST(Mirror, IsKeptHoweverLongItsConversationIs) {
  const auto window = make_window();
  const Rows rows = history(PayloadWindow::kMirrorBytesMax / Rows::kElideBytes + 100, Rows::kElideBytes);
  Frame first(*window), second(*window);
  const agentd_list shown = placed(*window, first, rows.list(), rows.lineage());
  EXPECT_EQ(placed(*window, second, rows.list(), rows.lineage()).first, shown.first);
}

TEST(Mirror, ThatWentIsReadToTheEndOfItsCall) {
  const auto window = make_window();
  const Rows rows = history(5, 1000);
  Frame running(*window);
  const agentd_list shown = placed(*window, running, rows.list(), rows.lineage());
  for (std::uint32_t i = 0; i < 2 * PayloadWindow::kMirrorsMax; ++i) {
    const Rows other = history(5, 1000 + i);
    Frame frame(*window);
    placed(*window, frame, other.list(), other.lineage());
  }
  expect_shown(*window, rows.list(), shown);
}

TEST(Mirror, DoesNotGrowByWhatIsLeftBehind) {
  const auto window = make_window();
  const Rows rows = history(10, 1000);
  for (int i = 0; i < 5000; ++i) {
    Rows request = rows;
    add(request, 4000, static_cast<char>('a' + i % 26));
    Frame frame(*window);
    const agentd_list shown = placed(*window, frame, request.list(), request.lineage());
    ASSERT_EQ(shown.count, 11u);
    ASSERT_EQ(static_cast<const agentd_block*>(messages_of(shown)[10].blocks.first)->text.ptr[0], 'a' + i % 26);
  }
  EXPECT_LE(bytes_backed(*window), 8u << 20);
}

TEST(Mirror, HasTheBeginningOfAnElidedText) {
  const auto window = make_window();
  Rows rows = history(3, 100);
  add(rows, 10 << 20);
  Frame frame(*window);
  const agentd_list shown = placed(*window, frame, rows.list(), rows.lineage());
  expect_shown(*window, rows.list(), shown);
  const auto* const block = static_cast<const agentd_block*>(messages_of(shown)[3].blocks.first);
  EXPECT_EQ(block->full_len, 10u << 20);
  EXPECT_LE(block->text.len, Rows::kElideBytes);
  EXPECT_LE(bytes_backed(*window), 1u << 20);
}

TEST(Mirror, FollowsRowsWithoutBlocks) {
  const auto window = make_window();
  Rows rows = history(2, 100);
  for (int i = 0; i < 5; ++i) {
    rows.append(Message{}, rows.size() + 1u, 0);
    add(rows, 10);
    Frame frame(*window);
    expect_shown(*window, rows.list(), placed(*window, frame, rows.list(), rows.lineage()));
  }
}

TEST(Mirror, IsUsedByManyThreads) {
  const auto window = make_window();
  const Rows common = history(50, 200);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const Rows own = history(5, 100);
        const Rows& rows = (i + t) % 3 == 0 ? own : common;
        // A part of the history parts nobody; only its own thread may append to a list.
        const auto count = (i + t) % 3 == 0 ? own.size() : 40 + static_cast<std::uint32_t>(i % 10);
        Frame frame(*window);
        const agentd_agent_stop stop = stop_with(rows.slice(0, count));
        const auto at = window->place(frame, stop_shape(), &stop, rows.lineage());
        if (!at || !difference(stop_shape(), &stop, *at).empty()) ++wrong;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Mirror, IsUsedByManyThreadsThatPart) {
  const auto window = make_window();
  Rows common = history(20, 200);
  std::vector<Rows> lists;
  for (int t = 0; t < 8; ++t) {
    lists.push_back(common);
    add(lists.back(), 100, static_cast<char>('a' + t));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 200; ++i) {
        const Rows& rows = lists[(t * 2 + i) % lists.size()];
        Frame frame(*window);
        const agentd_agent_stop stop = stop_with(rows.list());
        const auto at = window->place(frame, stop_shape(), &stop, rows.lineage());
        if (!at || !difference(stop_shape(), &stop, *at).empty()) ++wrong;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

// ---- cancel words

TEST(Live, WordsAreThereForEveryCallAndNoMore) {
  const auto window = make_window();
  std::set<agentd_live*> taken;
  for (std::uint32_t i = 0; i < PayloadWindow::kLiveWords; ++i) {
    agentd_live* const live = window->acquire_live();
    ASSERT_NE(live, nullptr);
    EXPECT_TRUE(lies_in(*window, live, sizeof(*live)));
    EXPECT_TRUE(taken.insert(live).second);
  }
  EXPECT_EQ(window->acquire_live(), nullptr);
  window->release_live(*taken.begin());
  EXPECT_EQ(window->acquire_live(), *taken.begin());
}

TEST(Live, WordsAreFreshWhenTheyAreTakenAgain) {
  const auto window = make_window();
  for (std::uint32_t i = 0; i < PayloadWindow::kLiveWords + 5; ++i) {
    agentd_live* const live = window->acquire_live();
    ASSERT_NE(live, nullptr);
    EXPECT_EQ(live->cancel, 0u);
    EXPECT_EQ(live->deadline_ns, UINT64_MAX);
    live->cancel = AGENTD_CANCEL_USER;
    live->deadline_ns = 5;
    window->release_live(live);
  }
}

TEST(Live, CancelIsSeenInTheWorker) {
  const auto window = make_window();
  agentd_live* const live = window->acquire_live();
  ASSERT_NE(live, nullptr);
  Forked worker([&] {
    if (!open_payload_window(window->fd(), window->base())) return 1;
    while (__atomic_load_n(&live->cancel, __ATOMIC_ACQUIRE) == 0) usleep(100);
    return live->cancel == AGENTD_CANCEL_DEADLINE ? 0 : 2;
  });
  __atomic_store_n(&live->cancel, AGENTD_CANCEL_DEADLINE, __ATOMIC_RELEASE);
  EXPECT_EQ(worker.join(), 0);
}

}  // namespace
}  // namespace agentd
