// SPDX-License-Identifier: Apache-2.0
// hostile_test.cc - with the model in the hands of an attacker nothing leaves, nothing changes outside, nothing outside
// ends: every row of hostile.txt in every layer. Without a layer the same rows do harm.
#include <gtest/gtest.h>

#include "tests/cage/rows.h"
#include "tests/cage/stage.h"

namespace agentd::testing {
namespace {

void attack(cage::Layer layer) {
  for (const HostileRow& row : hostile_rows()) {
    SCOPED_TRACE(row.name);
    const Stage stage;
    auto cage = cage::Cage::make(stage.settings(), layer);
    ASSERT_TRUE(cage) << cage.error().message;
    EXPECT_EQ(stage.harm(stage.run(cage->get(), row.script)), "");
  }
}

bool holds(cage::Layer layer) { return cage::probe(cage_helper()).of(layer).holds; }

TEST(HostileModel, HasAtLeastAHundredAndFiftyScripts) { EXPECT_GE(hostile_rows().size(), 150u); }

TEST(HostileModel, DoesNoHarmInBubblewrap) {
  if (!holds(cage::Layer::kBubblewrap)) GTEST_SKIP() << cage::probe(cage_helper()).bubblewrap.why;
  attack(cage::Layer::kBubblewrap);
}

TEST(HostileModel, DoesNoHarmUnderLandlockAlone) {
  if (!holds(cage::Layer::kLandlock)) GTEST_SKIP() << cage::probe(cage_helper()).landlock.why;
  attack(cage::Layer::kLandlock);
}

// The control: a row that does nothing without a cage proves nothing with one.
TEST(HostileModel, DoesHarmWithoutACage) {
  std::size_t harmed = 0;
  for (const HostileRow& row : hostile_rows()) {
    if (!row.harms) continue;
    SCOPED_TRACE(row.name);
    const Stage stage;
    // The one process whose environment has the canary is the parent of the script.
    const Ran ran = stage.run(nullptr, "CANARY=" + std::string(kCanary) +
                                           " bash -c 'env -u CANARY bash -c \"$0\"; sleep 0.6' \"$(cat <<'ROW'\n" +
                                           row.script + "\nROW\n)\"");
    EXPECT_NE(stage.harm(ran), "") << ran.output;
    ++harmed;
  }
  EXPECT_GE(harmed, 100u);
}

}  // namespace
}  // namespace agentd::testing
