// SPDX-License-Identifier: Apache-2.0
// Compaction against somebody who appends to the same conversation all the time, on the store on disk.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "core/store/lmdb/lmdb_store.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::TempDir;

constexpr int kAppends = 1'000;

class Race : public AgentTest {
 protected:
  void SetUp() override {
    options_.auto_compact = false;
    LmdbOptions options;
    options.directory = directory_.file("store");
    auto store = open_lmdb_store(options, clock_);
    ASSERT_TRUE(store) << store.error().message;
    raw_ = store->get();
    store_.put_behind(std::move(*store));
  }
  // Compare-and-swap by hand, as any client of the store does it.
  void append(const Ulid& to, const std::string& text) {
    const Record record = write_message({Message::of_text(Role::kUser, text), StopReason::kEndTurn, "client", {}});
    for (;;) {
      const auto info = raw_->info(to);
      ASSERT_TRUE(info) << info.error().message;
      const auto done = raw_->append(to, info->revision, {{record}});
      if (done) return;
      ASSERT_EQ(done.error().code, Code::kConflict) << done.error().message;
    }
  }

  TempDir directory_;
  Store* raw_ = nullptr;  // behind store_, which one thread alone may use
};

TEST_F(Race, OfAThousandAppendsEachIsInTheViewOrWasSummarised) {
  open();
  model_.say("answer");
  ASSERT_TRUE(run("the first question"));
  const Ulid same = id();
  std::atomic<int> appended = 0;
  // Every summary is made while something is appended.
  model_.during = [&](const ModelRequest&) {
    for (const int seen = appended; appended == seen && seen < kAppends;) std::this_thread::yield();
  };
  std::thread writer([&] {
    for (int i = 0; i < kAppends; ++i) {
      append(same, "append " + std::to_string(i));
      ++appended;
    }
  });
  int compactions = 0;
  while (appended < kAppends) {
    while (model_.answers.size() < 60) model_.say("a summary");
    const auto report = session_->compact({}, false, cancel_);
    EXPECT_TRUE(report) << report.error().message;
    if (!report) break;
    EXPECT_TRUE(report->changed() || report->outcome == AGENTD_RESULT_NOOP) << report->text;
    if (report->changed()) ++compactions;
  }
  writer.join();
  model_.during = {};
  EXPECT_GE(compactions, 1);
  EXPECT_TRUE(store_.verify(same));

  std::set<std::uint64_t> summarised;
  for (const auto& request : model_.requests)
    if (request.purpose == "summary") summarised.insert(request.seqs.begin(), request.seqs.end());
  std::set<std::uint64_t> shown;
  const Conversation now = stored_view();
  for (const agentd_message& row : now.rows()) shown.insert(row.seq);
  int found = 0;
  for (const StoredRecord& record : log()) {
    if (record.record.type != RecordType::kUserMessage) continue;
    ++found;
    EXPECT_TRUE(shown.contains(record.seq) || summarised.contains(record.seq)) << record.seq;
  }
  EXPECT_EQ(found, kAppends + 1);

  // Undone one by one, everything is in the view again, in the order in which it was said.
  for (; compactions > 0; --compactions) ASSERT_TRUE(session_->undo(true, cancel_));
  int next = 0;
  const Conversation whole = stored_view();
  for (const agentd_message& row : whole.rows()) {
    const std::string text = to_message(row).text();
    if (!text.starts_with("append ")) continue;
    EXPECT_EQ(text, "append " + std::to_string(next++));
  }
  EXPECT_EQ(next, kAppends);
}

}  // namespace
}  // namespace agentd
