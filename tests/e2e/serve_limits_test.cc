// SPDX-License-Identifier: Apache-2.0
// serve_limits_test.cc - what ends with what in the daemon: streams with their tokens, readiness with the disk; and the
// answers of calls that the state does not allow.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/served_home.h"
#include "tests/support/own_mounts.h"

namespace agentd::testing {
namespace {

TEST(ServeLimits, AStreamEndsWithItsToken) {
  ServedHome served;
  served.start("- text: Hello.\n");
  const std::string id = served.create();
  const HttpClient reader = served.client().as(served.token("reader", "read"));
  EventReader theirs = reader.events(ServedHome::path(id, "events")),
              own = served.client().events(ServedHome::path(id, "events"));
  ASSERT_TRUE(comes_true([&] { return served.metric("agentd_http_streams") == 2; }));
  ASSERT_EQ(served.program().run({"auth", "token", "remove", "reader"}).code, 0);
  EXPECT_TRUE(comes_true([&] { return served.metric("agentd_http_streams") == 1; }));
  EXPECT_EQ(served.say(id, "hello").status, 202);
  EXPECT_TRUE(own.until("run_ended")) << "the other token's goes on";
  EXPECT_FALSE(theirs.next()) << "nothing is told to a removed token";
  EXPECT_EQ(served.end().code, 0);
}

TEST(ServeLimits, StreamsHaveABoundAndAClosedOneMakesRoom) {
  constexpr std::size_t kMost = 256, kOfOne = 64;
  ServedHome served;
  served.start("- text: Hello.\n");
  std::vector<EventReader> open;
  std::string id;
  for (std::size_t i = 0; i < kMost; ++i) {
    if (i == kOfOne) {
      ASSERT_TRUE(comes_true([&] { return served.metric("agentd_http_streams") == kOfOne; }));
      const HttpAnswer crowded = served.client().get(ServedHome::path(id, "events"));
      EXPECT_EQ(crowded.status, 503) << crowded.body;
      EXPECT_TRUE(has(crowded.body, "too many read the events of this conversation")) << crowded.body;
    }
    if (i % kOfOne == 0) id = served.create();
    open.push_back(served.client().events(ServedHome::path(id, "events")));
  }
  ASSERT_TRUE(comes_true([&] { return served.metric("agentd_http_streams") == kMost; }));
  id = served.create();
  const HttpAnswer refused = served.client().get(ServedHome::path(id, "events"));
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_TRUE(has(refused.body, "too many streams of events are open")) << refused.body;
  EXPECT_EQ(served.client().get("/readyz").status, 200) << "requests have connections all the same";
  open.pop_back();
  ASSERT_TRUE(comes_true([&] { return served.metric("agentd_http_streams") == kMost - 1; }));
  EventReader again = served.client().events(ServedHome::path(id, "events"));
  EXPECT_EQ(served.say(id, "hello").status, 202);
  EXPECT_TRUE(again.until("run_ended"));
  open.clear();
  EXPECT_EQ(served.end().code, 0);
}

TEST(ServeLimits, AnUndoWithoutACompactionIsAConflict) {
  ServedHome served;
  served.start("- text: Hello.\n");
  const std::string id = served.create();
  EventReader events = served.client().events(ServedHome::path(id, "events"));
  EXPECT_EQ(served.say(id, "hello").status, 202);
  ASSERT_TRUE(events.until("run_ended"));
  const HttpAnswer undone = served.client().post(ServedHome::path(id, "undo"), "{}");
  EXPECT_EQ(undone.status, 409) << undone.body;
  EXPECT_TRUE(has(undone.body, "no compaction to undo in conversation " + id)) << undone.body;
  EXPECT_TRUE(has(undone.body, "\"conflict\"")) << undone.body;
}

TEST(ServeLimits, ReadinessKnowsAFullDisk) {
  ServedHome served;
  ASSERT_TRUE(own_mounts());
  const std::string home = served.program().home(), filler = home + "/filler";
  const std::string config = *read_file(home + "/config.yaml", 1'000);
  ASSERT_EQ(::mount("none", home.c_str(), "tmpfs", 0, "size=100m,mode=700"), 0);
  std::ofstream(home + "/config.yaml") << config;
  served.start("- text: \"" + std::string(900'000, 'l') + "\"\n- text: again\n- text: and again\n", {"--no-hooks"});
  const std::string id = served.create();
  const HttpAnswer before = served.client().get("/readyz");
  EXPECT_EQ(before.status, 200) << before.body;
  EXPECT_TRUE(has(before.body, "\"disk\":\"ok\"")) << before.body;
  {
    const UniqueFd fd(::open(filler.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string page(4'096, 'f');
    while (::write(fd.get(), page.data(), page.size()) > 0) continue;
  }
  const HttpAnswer low = served.client().get("/readyz");
  EXPECT_EQ(low.status, 200) << "nothing has failed yet: " << low.body;
  EXPECT_TRUE(has(low.body, home + " has 0 MiB free")) << low.body;
  EventReader events = served.client().events(ServedHome::path(id, "events"));
  EXPECT_EQ(served.say(id, "hello").status, 202);
  const auto failed = events.until("run_ended");
  ASSERT_TRUE(failed);
  EXPECT_TRUE(has(failed->data, "no space left on the disk")) << failed->data;
  EXPECT_TRUE(comes_true([&] { return served.client().get("/readyz").status == 503; }));
  const HttpAnswer full = served.client().get("/readyz");
  EXPECT_TRUE(has(full.body, "not_ready") && has(full.body, "a write has failed")) << full.body;
  EXPECT_TRUE(has(full.head, "Retry-After") || has(full.head, "retry-after")) << full.head;
  EXPECT_GE(served.metric("agentd_store_failures_total"), 1);
  std::filesystem::remove(filler);
  const HttpAnswer after = served.client().get("/readyz");
  EXPECT_EQ(after.status, 200) << after.body;
  EXPECT_TRUE(has(after.body, "\"store\":\"ok\"")) << after.body;
  EXPECT_EQ(served.end().code, 0);
}

}  // namespace
}  // namespace agentd::testing
