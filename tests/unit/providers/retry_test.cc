// SPDX-License-Identifier: Apache-2.0
#include "providers/common/retry.h"

#include <gtest/gtest.h>

#include "providers/common/errors.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

constexpr std::int64_t kNow = 1'445'412'480'000;  // Wed, 21 Oct 2015 07:28:00 GMT

std::optional<Milliseconds> asked(std::string name, std::string value) {
  return retry_after_of({429, {{std::move(name), std::move(value)}}}, kNow);
}

TEST(RetryAfter, ReadsSecondsMillisecondsAndDates) {
  EXPECT_EQ(asked("retry-after", "3"), Milliseconds(3000));
  EXPECT_EQ(asked("retry-after", "0.5"), Milliseconds(500));
  EXPECT_EQ(asked("retry-after-ms", "1500"), Milliseconds(1500));
  EXPECT_EQ(asked("retry-after", "Wed, 21 Oct 2015 07:28:42 GMT"), Milliseconds(42'000));
  EXPECT_EQ(asked("retry-after", "0"), Milliseconds(0));
}

TEST(RetryAfter, IgnoresNonsenseNegativesAndThePast) {
  for (const char* value : {"", "soon", "-5", "nan", "1e", "5 s", "Wed, 21 Oct 2015 07:27:00 GMT", "inf-"})
    EXPECT_FALSE(asked("retry-after", value).has_value()) << value;
}

TEST(RetryAfter, BoundsAbsurdNumbers) {
  EXPECT_LE(*asked("retry-after", "1e300"), Milliseconds(366LL * 86'400'000));
  EXPECT_LE(*asked("retry-after", "1000000000"), Milliseconds(366LL * 86'400'000));
}

class RetrierTest : public ::testing::Test {
 protected:
  std::vector<Milliseconds> waits_;
  testing::Sleepless<ManualClock> clock_{waits_};
  testing::RecordingSink sink_;
  Retrier retrier_{RetryPolicy{}, clock_, [] { return 0.0; }};

  static Attempt failing(bool again) {
    ModelError error;
    error.kind = ModelErrorKind::kServer;
    error.message = "it is down";
    return {error, again};
  }
};

TEST_F(RetrierTest, DoublesItsWaitsUpToTheLongest) {
  EXPECT_EQ(retrier_.delay(0, {}), Milliseconds(500));
  EXPECT_EQ(retrier_.delay(1, {}), Milliseconds(1000));
  EXPECT_EQ(retrier_.delay(60, {}), Milliseconds(8000));
}

TEST_F(RetrierTest, TakesUpToAQuarterOffAtRandom) {
  const Retrier late(RetryPolicy{}, clock_, [] { return 1.0; });
  EXPECT_EQ(late.delay(0, {}), Milliseconds(375));
}

TEST_F(RetrierTest, GivesTheTimeThatIsAskedForUpToTheLimit) {
  EXPECT_EQ(retrier_.delay(0, Milliseconds(12'345)), Milliseconds(12'345));
  EXPECT_EQ(retrier_.delay(0, Milliseconds(1'000'000'000)), Milliseconds(60'000));
}

TEST_F(RetrierTest, MakesOneAttemptAndTwoRetriesAtMost) {
  int made = 0;
  const auto result = retrier_.run(
      [&] {
        ++made;
        return failing(true);
      },
      sink_, {}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(made, 3);
  EXPECT_EQ(result.error().attempts, 3u);
  EXPECT_EQ(waits_.size(), 2u);
  EXPECT_EQ(sink_.waits, (std::vector<std::string>{"500 ms: it is down", "1000 ms: it is down"}));
}

TEST_F(RetrierTest, DoesNotRepeatWhatMustNotBeRepeated) {
  int made = 0;
  EXPECT_FALSE(retrier_.run(
      [&] {
        ++made;
        return failing(false);
      },
      sink_, {}, {}));
  EXPECT_EQ(made, 1);
}

TEST_F(RetrierTest, GivesUpWhenTheWaitWouldPassTheDeadline) {
  EXPECT_FALSE(retrier_.run([] { return failing(true); }, sink_, {}, Deadline::after(clock_, Milliseconds(600))));
  EXPECT_EQ(waits_.size(), 1u);
  EXPECT_EQ(sink_.waits.size(), 1u);  // a wait that is not begun is not reported
}

TEST_F(RetrierTest, DoesNotRepeatWhenCancelled) {
  CancelToken cancel;
  int made = 0;
  EXPECT_FALSE(retrier_.run(
      [&] {
        ++made;
        cancel.cancel(1);
        return failing(true);
      },
      sink_, cancel, {}));
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(waits_.empty());
}

TEST(WithoutSecret, HidesEveryOccurrenceAndEndsForOddSecrets) {
  EXPECT_EQ(without_secret("a key b key", "key"), "a *** b ***");
  EXPECT_EQ(without_secret("**", "*"), "******");
  EXPECT_EQ(without_secret("text", ""), "text");
}

}  // namespace
}  // namespace agentd
