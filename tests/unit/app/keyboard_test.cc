// SPDX-License-Identifier: Apache-2.0
// keyboard_test.cc - what answers a question on a real terminal: one line that is typed.
#include "core/app/keyboard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <termios.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "core/app/approver.h"
#include "core/base/file.h"

namespace agentd::testing {
namespace {

using namespace agentd::app;
using std::chrono::milliseconds;
using Moments = std::chrono::steady_clock;

constexpr char kPromptEnd[] = "of this session): ";
constexpr auto kPatience = std::chrono::seconds(40);

// A person at a terminal of their own, asked by the real approver on a thread.
class Asked {
 public:
  explicit Asked(bool pastes = false) {
    int master = -1, slave = -1;
    AGENTD_ASSERT(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
    ::fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
    master_ = UniqueFd(master);
    TerminalApprover::Place place;
    place.terminal = UniqueFd(slave);
    place.pastes = pastes;
    place.keep = [this](std::string text) { kept_ += text; };
    thread_ = std::thread([this, place = std::move(place)]() mutable {
      TerminalApprover approver(std::move(place));
      Tool tool;
      tool.name = "bash";
      answer_ = approver.ask({}, tool, {"c", "bash", ToolInput::make(R"({"command":"true"})").value_or({})}, {});
      done_.store(true);
    });
  }
  ~Asked() {
    master_.reset();  // whoever still waits sees the end of the terminal
    thread_.join();
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  // Reads until that many prompts were shown, or the question was answered.
  bool prompts(int number) {
    return until([&] { return done_.load() || count(kPromptEnd) >= number; }) && !done_.load();
  }
  bool shows(const std::string& text) {
    return until([&] { return count(text) > 0; });
  }
  bool answered() {
    return until([&] { return done_.load(); });
  }
  // In these pieces, as one burst; the longest time between two of them.
  milliseconds type(const std::vector<std::string>& pieces) {
    Moments::duration longest{};
    Moments::time_point last = Moments::now();
    for (std::string_view rest : pieces) {
      while (!rest.empty()) {
        const ssize_t wrote = ::write(master_.get(), rest.data(), rest.size());
        if (wrote > 0) rest.remove_prefix(static_cast<std::size_t>(wrote));
        if (wrote <= 0) read_shown(1);
      }
      longest = std::max(longest, Moments::now() - last);
      last = Moments::now();
    }
    return std::chrono::duration_cast<milliseconds>(longest);
  }
  void type(const std::string& text) { type(std::vector<std::string>{text}); }
  void hang_up() { master_.reset(); }
  // Reads what was shown meanwhile.
  bool is_done() {
    read_shown(0);
    return done_.load();
  }

  const PermissionAnswer& answer() const { return answer_; }  // after answered()
  const std::string& kept() const { return kept_; }           // after answered()
  const std::string& shown() const { return shown_; }
  int count(const std::string& text) const {
    int out = 0;
    for (std::size_t at = 0; (at = shown_.find(text, at)) != std::string::npos; at += text.size()) ++out;
    return out;
  }

 private:
  template <typename Condition>
  bool until(Condition condition) {
    const auto end = Moments::now() + kPatience;
    while (!condition()) {
      if (Moments::now() > end) return false;
      read_shown(5);
    }
    return true;
  }
  void read_shown(int timeout_ms) {
    pollfd ready{master_.get(), POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) <= 0) return;
    char buffer[4096];
    const ssize_t got = ::read(master_.get(), buffer, sizeof buffer);
    if (got > 0) shown_.append(buffer, static_cast<std::size_t>(got));
  }

  UniqueFd master_;
  std::string shown_, kept_;
  PermissionAnswer answer_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST(Keyboard, ATypedLineAnswersAtOnce) {
  for (const char* line : {"y\n", "Y\n", " yes \n", "y\r"}) {
    Asked asked;
    ASSERT_TRUE(asked.prompts(1));
    asked.type(line);
    const auto typed = Moments::now();
    ASSERT_TRUE(asked.answered()) << asked.shown();
    EXPECT_LT(Moments::now() - typed, std::chrono::seconds(5));
    EXPECT_TRUE(asked.answer().allowed) << line;
    EXPECT_EQ(asked.count(kPromptEnd), 1);
  }
}

TEST(Keyboard, ALineOfSlowKeysWithACorrectionAnswers) {
  Asked asked;
  ASSERT_TRUE(asked.prompts(1));
  for (const char* key : {"n", "\x7f", "y", "\n"}) {
    asked.type(key);
    std::this_thread::sleep_for(milliseconds(30));
  }
  ASSERT_TRUE(asked.answered());
  EXPECT_TRUE(asked.answer().allowed) << asked.shown();
}

TEST(Keyboard, ALineThatBeginsAnotherOneIsNoAnswer) {
  Asked asked;
  ASSERT_TRUE(asked.prompts(1));
  asked.type("y\ny");
  ASSERT_TRUE(asked.prompts(2)) << "the first line of a burst answered\n" << asked.shown();
  EXPECT_EQ(asked.count("not an answer"), 1) << asked.shown();
  asked.type("n\n");
  ASSERT_TRUE(asked.answered());
  EXPECT_FALSE(asked.answer().allowed);
  EXPECT_EQ(asked.kept(), "y\ny");
}

TEST(Keyboard, ABurstIsToldBeforeTheKeyboardRests) {
  Asked asked;
  ASSERT_TRUE(asked.prompts(1));
  asked.type("y\ny\n");
  ASSERT_TRUE(asked.shows("not an answer"));
  ASSERT_TRUE(asked.prompts(2));
  asked.type("y\n");
  ASSERT_TRUE(asked.answered());
  EXPECT_TRUE(asked.answer().allowed) << asked.shown();
}

TEST(Keyboard, TheEndOfAMarkedPasteIsNoAnswer) {
  Asked asked(true);
  ASSERT_TRUE(asked.prompts(1));
  asked.type("y\x1b[201~\n");
  ASSERT_TRUE(asked.prompts(2)) << asked.shown();
  asked.type("n\n");
  ASSERT_TRUE(asked.answered());
  EXPECT_FALSE(asked.answer().allowed);
}

TEST(Keyboard, CtrlDIsANo) {
  for (const char* keys : {"\x04", "y\x04\x04", "y\x04"}) {
    Asked asked;
    ASSERT_TRUE(asked.prompts(1));
    asked.type(keys);
    ASSERT_TRUE(asked.answered());
    EXPECT_FALSE(asked.answer().allowed) << keys;
  }
}

TEST(Keyboard, ATerminalThatGoesAwayIsANo) {
  Asked asked;
  ASSERT_TRUE(asked.prompts(1));
  asked.type("y");
  asked.hang_up();
  ASSERT_TRUE(asked.answered());
  EXPECT_FALSE(asked.answer().allowed);
}

TEST(Keyboard, InputWithoutEndIsANo) {
  Asked asked;
  ASSERT_TRUE(asked.prompts(1));
  const auto begin = Moments::now();
  while (!asked.is_done() && Moments::now() - begin < kPatience) {
    asked.type("y\n");
    std::this_thread::sleep_for(milliseconds(2));
  }
  ASSERT_TRUE(asked.is_done()) << asked.shown();
  EXPECT_FALSE(asked.answer().allowed);
  EXPECT_NE(asked.answer().reason.find("without a pause"), std::string::npos) << asked.answer().reason;
}

// ---- bursts of every form

struct Burst {
  std::string text;
  std::vector<std::string> pieces;
  bool pastes = false;
};

Burst random_burst(std::mt19937& random) {
  const auto pick = [&](std::size_t n) { return random() % n; };
  static constexpr const char* kLines[] = {"y", "yes", "a", "Y", "n", "", " y ", "always", "fix it"};
  static constexpr const char* kEnds[] = {"\n", "\r\n", "\r"};
  Burst out;
  const std::string end = kEnds[pick(3)];
  const std::size_t lines = 2 + pick(4);
  for (std::size_t i = 0; i < lines; ++i)
    out.text += (i == 0 ? "" : end) + (i == 0 ? kLines[pick(3)] : kLines[pick(9)]);
  out.pastes = pick(2) == 0;
  const bool marked = out.pastes && pick(2) == 0;
  const bool ended = pick(2) == 0;
  if (ended && !marked) out.text += end;
  if (marked) out.text = std::string(kPasteBegins) + out.text + std::string(kPasteEnds);
  if (ended && marked) out.text += end;
  // An Enter with nothing behind it would be a whole typed line.
  if (out.text.find_first_of("\r\n") + end.size() >= out.text.size()) out.text += "y";
  for (std::string_view rest = out.text; !rest.empty();) {
    const std::size_t length = pick(3) == 0 ? rest.size() : 1 + pick(rest.size());
    out.pieces.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\x1b' ? "\\e" : std::string(1, c);
  return out;
}

// Nothing in a burst answers, and a line that is typed after it does.
void play_bursts(int bursts, int at_once, unsigned seed) {
  constexpr auto kOneBurst = milliseconds(50);  // a writer that slept longer wrote no burst
  std::atomic<int> left{bursts}, too_slow{0};
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < at_once; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + static_cast<unsigned>(t));
      while (left.fetch_sub(1) > 0) {
        const Burst burst = random_burst(random);
        const bool yes = random() % 2 == 0;
        Asked asked(burst.pastes);
        const bool first = asked.prompts(1);
        if (asked.type(burst.pieces) > kOneBurst) {
          left.fetch_add(1);
          too_slow.fetch_add(1);
          continue;
        }
        const bool second = first && asked.prompts(2);
        if (second) asked.type(yes ? "y\n" : "n\n");
        const bool answered = asked.answered();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(second) << "seed " << seed << ": " << printable(burst.text)
                            << (answered ? " answered" : " left a question that hangs");
        if (answered && second) {
          EXPECT_EQ(asked.answer().allowed, yes) << "seed " << seed << ": " << printable(burst.text);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  ::testing::Test::RecordProperty("bursts_written_too_slowly", too_slow.load());
}

TEST(Keyboard, NoBurstAnswersAndTheNextTypedLineDoes) { play_bursts(300, 30, 1); }

TEST(Keyboard, NoBurstAnswersOnABusyMachine) {
  std::atomic<bool> over{false};
  std::vector<std::thread> spinning;
  for (int i = 0; i < 2; ++i)
    spinning.emplace_back([&] {
      while (!over.load(std::memory_order_relaxed)) continue;
    });
  play_bursts(100, 20, 1000);
  over = true;
  for (std::thread& thread : spinning) thread.join();
}

}  // namespace
}  // namespace agentd::testing
