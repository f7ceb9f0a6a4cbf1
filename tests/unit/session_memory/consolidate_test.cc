// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/consolidate.h"

#include <gtest/gtest.h>

#include "tests/unit/session_memory/support.h"

namespace session_memory {
namespace {

using testing::kNow;
using testing::lesson;

Memory with(std::string id, std::int64_t created_ms, Memory memory) {
  memory.id = std::move(id);
  memory.created_ms = created_ms;
  memory.provenance = {{"C" + memory.id, 1, 0}};
  return memory;
}

const Memory kOld = with("A", kNow, lesson("Build with ninja", "Use ninja to build; make is slow here.", "build"));

TEST(Consolidate, MergesWhatSaysTheSame) {
  const Memory again =
      with("B", kNow + 5, lesson("Build with ninja", "Use ninja to build, since make is slow here.", "Builds"));
  const Consolidated made = consolidate({kOld}, {again});
  ASSERT_EQ(made.rows.size(), 1u);
  const Memory& one = made.rows[0];
  EXPECT_EQ(one.id, "A");
  EXPECT_EQ(one.content, again.content);
  EXPECT_EQ(one.created_ms, kNow);
  EXPECT_GT(one.confidence, kOld.confidence);
  EXPECT_EQ(one.provenance.size(), 2u);
  EXPECT_EQ(made.merged_into.at("B"), "A");
}

// An erasure finds by its sources what has a text of theirs.
TEST(Consolidate, TheSourceOfTheTextThatStaysIsNeverTheOneTooMany) {
  Memory kept = kOld;
  for (std::size_t i = 0; i <= Memory::kSourcesMax; ++i) {
    const std::string id = "B" + std::to_string(i);
    kept = merged(kept, with(id, kNow + 1 + static_cast<std::int64_t>(i), kOld));
    EXPECT_TRUE(kept.comes_from("C" + id, 1)) << i;
  }
  EXPECT_EQ(kept.provenance.size(), Memory::kSourcesMax);
}

TEST(Consolidate, KeepsTheTextOfTheNewerOne) {
  const Memory older =
      with("B", kNow - 5, lesson("Build with ninja", "Use ninja to build; make is too slow here.", "build"));
  EXPECT_EQ(consolidate({kOld}, {older}).rows[0].content, kOld.content);
}

TEST(Consolidate, DoesNotMergeAcrossSubjectsOrPolarities) {
  Memory other = with("B", kNow + 5, lesson(kOld.title, kOld.content, "packaging"));
  EXPECT_EQ(consolidate({kOld}, {other}).rows.size(), 1u);
  EXPECT_EQ(consolidate({kOld}, {other}).rows[0].id, "B");
  other.subject.clear();
  EXPECT_EQ(consolidate({kOld}, {other}).rows[0].id, "B");
  other.subject = kOld.subject;
  other.polarity = Polarity::kAvoid;
  const Consolidated made = consolidate({kOld}, {other});
  EXPECT_EQ(made.rows.size(), 2u);
  EXPECT_TRUE(made.merged_into.empty());
}

TEST(Consolidate, AContradictionKeepsBothWithLessTrustTheNewerFirst) {
  Memory against =
      with("B", kNow + 5, lesson("Do not build with ninja", "Use make to build; ninja is slow here.", "build"));
  against.polarity = Polarity::kAvoid;
  const Consolidated made = consolidate({kOld}, {against});
  ASSERT_EQ(made.rows.size(), 2u);
  EXPECT_LT(made.rows[0].confidence, kOld.confidence);
  EXPECT_LT(made.rows[1].confidence, against.confidence);
  EXPECT_GE(made.rows[1].confidence, made.rows[0].confidence);
  EXPECT_EQ(made.rows[0].content, kOld.content);
  EXPECT_EQ(made.rows[1].content, against.content);
  // In the other order the newer one is still first.
  const Consolidated back = consolidate({against}, {kOld});
  ASSERT_EQ(back.rows.size(), 2u);
  EXPECT_GE(back.rows[1].confidence, back.rows[0].confidence);
}

TEST(Consolidate, SupersededOnesAndDocumentsTakeNoPart) {
  Memory hidden = kOld;
  hidden.superseded_by = "Z";
  const Memory again = with("B", kNow + 5, lesson(kOld.title, kOld.content, "build"));
  EXPECT_EQ(consolidate({hidden}, {again}).rows[0].id, "B");
  Memory section = again;
  section.origin = Origin::kDocument;
  EXPECT_EQ(consolidate({kOld}, {section}).rows[0].id, "B");
}

TEST(Consolidate, AddingAgainChangesNothing) { EXPECT_TRUE(consolidate({kOld}, {kOld}).rows.empty()); }

TEST(Consolidate, MergesAmongTheAdded) {
  const Memory again = with("B", kNow + 5, lesson(kOld.title, kOld.content, "build"));
  EXPECT_EQ(consolidate({}, {kOld, again}).rows.size(), 1u);
}

}  // namespace
}  // namespace session_memory
