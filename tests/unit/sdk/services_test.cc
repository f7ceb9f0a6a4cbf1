// SPDX-License-Identifier: Apache-2.0
// services_test.cc - services that a plugin offers and calls, with the SDK's drafts and the fake host.
#include <agentd/drafts.hpp>
#include <agentd/fake_host.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace agentd {
namespace {

using testing::fake_host;
using testing::outcome;

constexpr std::string_view kNotes = "org.example.notes/1";

// Keeps notes, and offers them to others.
struct Notes {
  static constexpr std::string_view hook_drafts[] = {id::provide, id::services};

  explicit Notes(init& from) : others(from) {
    provide<&Notes::add>(from, {.interface_id = kNotes, .operation = "add", .timeout_ms = 500});
    provide<&Notes::list>(from,
                          {.interface_id = kNotes, .operation = "list", .flags = AGENTD_SERVICE_READ_ONLY, .tag = 7});
    provide<&Notes::later>(from, {.interface_id = kNotes, .operation = "later"});
    provide<&Notes::scrubbed>(from, {.interface_id = kNotes, .operation = "scrubbed"});
    provide<&Notes::wrong>(from, {.interface_id = kNotes, .operation = "wrong"});
  }

  agentd_status add(call& c, service_view asked) {
    const std::string text = asked.input().text("text");
    if (text.empty()) return c.fail(AGENTD_E_ARG, "a note needs a text");
    notes.push_back(text + " by " + std::string(asked.caller()) + " in " + std::string(asked.project_id()));
    return service_result(c, R"({"ok":true})");
  }
  std::string list(call& c, service_view asked) {
    EXPECT_EQ(asked.tag(), 7u);
    EXPECT_EQ(asked.interface_id(), kNotes);
    EXPECT_EQ(c.json().status(), AGENTD_E_DENIED);  // not asked for
    std::string out = "[";
    for (const std::string& note : notes) out += (out.size() > 1 ? ",\"" : "\"") + note + "\"";
    return out + "]";
  }
  void later(call& c, service_view) { waiting.emplace(c.defer()); }
  std::string scrubbed(call& c, service_view asked) {
    const auto got = others.call(c, "agentd.scrubber/1", "scrub", asked.input_json());
    if (!got) {
      c.fail(got.status(), "no scrubber: " + std::string(status_text(got.status())));
      return "\"unscrubbed\"";
    }
    return std::string(*got);
  }
  std::string wrong(call&, service_view) { return std::string(AGENTD_SERVICE_JSON_MAX, 'x') + "x"; }

  registry others;
  std::vector<std::string> notes;
  std::optional<pending> waiting;
  ~Notes() {
    if (waiting) waiting->complete(AGENTD_E_CANCELLED);
  }
};

class OfferedServices : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(host_.create().status, AGENTD_OK); }
  fake_host host_{&entry_for<Notes>};
};

TEST_F(OfferedServices, AreRowsOfTheConstructor) {
  ASSERT_EQ(host_.provided().size(), 5u);
  EXPECT_EQ(host_.provided()[0].operation, "add");
  EXPECT_EQ(host_.provided()[0].timeout_ms, 500u);
  EXPECT_EQ(host_.provided()[1].flags, AGENTD_SERVICE_READ_ONLY);
}

TEST_F(OfferedServices, AnswerWithJson) {
  EXPECT_EQ(host_.call_service(kNotes, "add", R"({"text":"a"})").service_result(), R"({"ok":true})");
  EXPECT_EQ(host_.call_service(kNotes, "list").service_result(), R"(["a by core in project"])");
  EXPECT_TRUE(host_.breaches().empty());
}

TEST_F(OfferedServices, FailWithAStatusAndASentence) {
  const outcome got = host_.call_service(kNotes, "add", "{}");
  EXPECT_EQ(got.status, AGENTD_E_ARG);
  EXPECT_EQ(got.error, "a note needs a text");
  EXPECT_FALSE(got.has(AGENTD_ACT_SERVICE_RESULT));
}

TEST_F(OfferedServices, MayAnswerLater) {
  outcome got = host_.call_service(kNotes, "later");
  ASSERT_TRUE(got.pending());
  host_.cancel();
  host_.destroy();
  EXPECT_TRUE(host_.wait(got));
  EXPECT_EQ(got.status, AGENTD_E_CANCELLED);
}

TEST_F(OfferedServices, AreUnsupportedUnlessOffered) {
  EXPECT_EQ(host_.call_service(kNotes, "forget").status, AGENTD_E_UNSUPPORTED);
  EXPECT_EQ(host_.call_service("org.example.notes/2", "list").status, AGENTD_E_UNSUPPORTED);
}

TEST_F(OfferedServices, MayCallOthers) {
  host_.registry.script("agentd.scrubber/1", "scrub", R"("***")");
  EXPECT_EQ(host_.call_service(kNotes, "scrubbed", R"("key")").service_result(), R"("***")");
  ASSERT_EQ(host_.registry.calls.size(), 1u);
  EXPECT_EQ(host_.registry.calls[0].input_json, R"("key")");
}

TEST_F(OfferedServices, PassOnTheErrorsOfOthers) {
  const outcome absent = host_.call_service(kNotes, "scrubbed", R"("key")");
  EXPECT_EQ(absent.status, AGENTD_E_UNSUPPORTED);
  EXPECT_FALSE(absent.has(AGENTD_ACT_SERVICE_RESULT));
  host_.registry.fail("agentd.scrubber/1", "scrub", AGENTD_E_BUSY, "it waits for you");
  EXPECT_EQ(host_.call_service(kNotes, "scrubbed", R"("key")").status, AGENTD_E_BUSY);
}

TEST_F(OfferedServices, MayNotReturnMoreThanTheLimit) {
  (void)host_.call_service(kNotes, "wrong");
  const std::vector<std::string> breaches = host_.breaches();
  EXPECT_EQ(std::count(breaches.begin(), breaches.end(), "a service's result of more than 1 MiB"), 1);
}

TEST(OfferedServicesWithoutTheDraft, RefuseThePlugin) {
  fake_host host(&entry_for<Notes>);
  host.deny(id::provide);
  const outcome got = host.create();
  EXPECT_EQ(got.status, AGENTD_E_DENIED);
  EXPECT_NE(got.error.find("hook_drafts"), std::string::npos) << got.error;
}

}  // namespace
}  // namespace agentd
