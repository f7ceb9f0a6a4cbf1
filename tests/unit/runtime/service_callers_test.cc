// SPDX-License-Identifier: Apache-2.0
// Secrets that plugins find: which texts they get, and what their places mean.
#include "core/runtime/service_callers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "tests/support/hook_fakes.h"

namespace agentd {
namespace {

constexpr std::string_view kScrubber = "agentd.scrubber/1";

class Finder final : public ServiceProvider {
 public:
  using Answer = std::function<ServiceAnswer(const std::string& text)>;
  Finder(std::string operation, Answer answer) : answer_(std::move(answer)) {
    rows_.push_back({std::string(kScrubber), std::move(operation), 0, Milliseconds{}, nullptr, 0});
  }
  const void* service_instance() const override { return this; }
  std::vector<OfferedService> services() const override { return rows_; }
  ServiceAnswer call_service(const OfferedService&, const ServiceRequest& request) override {
    const auto parsed = JsonDocument::parse(request.input_json);
    EXPECT_TRUE(parsed);
    return answer_(parsed ? std::string(parsed->root()["text"].string_or("")) : std::string());
  }

 private:
  std::vector<OfferedService> rows_;
  const Answer answer_;
};

// Finds each "BADGE-1234".
ServiceAnswer badges(const std::string& text) {
  JsonWriter out;
  out.begin_object().key("findings").begin_array();
  for (std::size_t at = text.find("BADGE-"); at != std::string::npos; at = text.find("BADGE-", at + 1)) {
    if (at + 10 > text.size()) continue;
    out.begin_object().member("at", std::uint64_t{at}).member("length", std::uint64_t{10});
    out.member("rule", "badge").end_object();
  }
  out.end_array().end_object();
  return std::string(out.text());
}

class PluginsFindSecrets : public ::testing::Test {
 protected:
  void offer(const std::string& name, Finder::Answer answer, const std::string& operation = "find") {
    registry().add(std::make_shared<Finder>(operation, std::move(answer)), {"org.test." + name, name, 2, {}, false});
  }
  ServiceRegistry& registry() {
    if (!registry_) registry_.emplace(clock_, log_, options_);
    return *registry_;
  }
  Result<std::vector<ScrubFinding>> find(std::string_view text) {
    return service_scrubber(registry(), clock_)->find(text);
  }
  // Where a badge was found, without those that were found twice, in parts that overlap.
  std::vector<std::size_t> places(std::string_view text) {
    const auto found = find(text);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::size_t> out;
    for (const ScrubFinding& each : found.value_or(std::vector<ScrubFinding>())) {
      EXPECT_EQ(each.length, 10u);
      EXPECT_EQ(text.substr(each.at, 6), "BADGE-") << each.at;
      if (std::find(out.begin(), out.end(), each.at) == out.end()) out.push_back(each.at);
    }
    return out;
  }

  SystemClock clock_;
  testing::RecordingLog log_;
  ServiceRegistryOptions options_;
  std::optional<ServiceRegistry> registry_;
};

TEST_F(PluginsFindSecrets, WithoutAnOfferThereAreNone) {
  EXPECT_EQ(places("a BADGE-1234 b"), std::vector<std::size_t>());
  offer("other", badges, "scrub");
  EXPECT_EQ(places("a BADGE-1234 b"), std::vector<std::size_t>());
}

TEST_F(PluginsFindSecrets, APlaceIsInBytesOfTheText) {
  offer("a", badges);
  EXPECT_EQ(places("ü BADGE-1234 b"), (std::vector<std::size_t>{3}));
}

// A file may be written in Latin-1, or be cut inside of a character.
TEST_F(PluginsFindSecrets, BytesThatAreNoUtf8MoveNoPlace) {
  offer("a", badges);
  EXPECT_EQ(places("\xFC\xE4\x80 BADGE-1234 \xE2\x82"), (std::vector<std::size_t>{4}));
  EXPECT_EQ(places("\xE2\x82 ü\xFF BADGE-1234"), (std::vector<std::size_t>{7}));
}

TEST_F(PluginsFindSecrets, ALongTextOfWhateverBytesIsLookedThroughToItsEnd) {
  offer("a", badges);
  for (const char* const filling : {"x", "\x80", "\xC3\xBC", "\x01"}) {
    std::string text;
    while (text.size() < 400'000) text += filling;
    const std::size_t middle = 128 * 1024 - 5;  // across the border of the first part
    text.replace(middle - middle % 2, 10, "BADGE-1234");
    text += "BADGE-5678";
    EXPECT_EQ(places(text), (std::vector<std::size_t>{middle - middle % 2, text.size() - 10})) << filling;
  }
}

// The setting names who is asked where one must be, and takes no finder away.
TEST_F(PluginsFindSecrets, ASettingThatNamesAnotherPluginTakesNoneAway) {
  options_.chosen = {{"scrubber", "other"}};
  offer("other", badges, "scrub");
  offer("a", badges);
  EXPECT_EQ(places("a BADGE-1234 b"), (std::vector<std::size_t>{2}));
}

TEST_F(PluginsFindSecrets, AnAnswerInAnotherFormIsAnError) {
  std::string json;
  offer("a", [&json](const std::string&) -> ServiceAnswer { return json; });
  for (const char* const wrong :
       {"{}", "[]", R"({"findings":[{"at":9,"length":1}]})", R"({"findings":[{"at":0,"length":0}]})",
        R"({"findings":[{"at":8,"length":9}]})", R"({"findings":[{"at":-1,"length":1}]})", R"({"findings":[7]})"}) {
    json = wrong;
    const auto found = find("123456789");
    ASSERT_FALSE(found) << wrong;
    EXPECT_EQ(found.error().message,
              "agentd.scrubber/1: the answer of org.test.a has not the form that its page describes");
  }
  json = R"({"findings":[{"at":8,"length":1}]})";
  EXPECT_TRUE(find("123456789"));
}

TEST_F(PluginsFindSecrets, AFinderThatFailsIsAnErrorWithItsName) {
  offer("a", badges);
  offer("b", [](const std::string&) -> ServiceAnswer { return ServiceError{AGENTD_E_INTERNAL, "no rules"}; });
  const auto found = find("a BADGE-1234 b");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnavailable);
  EXPECT_EQ(found.error().message, "org.test.b: no rules");
}

}  // namespace
}  // namespace agentd
