// SPDX-License-Identifier: Apache-2.0
// What a compaction costs beside the model's call, over histories of 1,000, 10,000 and 100,000 messages:
// the split, the look for old tool results, the request that holds the history and the recipe's prompt,
// the pieces for a summariser that cannot hold it, and the boundary's new view; each next to a memcpy of
// the history's bytes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/micro/summary.h"
#include "core/compaction/compaction.h"
#include "core/conversation/view.h"
#include "core/recipes/recipes.h"
#include "providers/anthropic/request.h"

namespace agentd::bench {
namespace {

constexpr std::string_view kId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

Record message_at(std::uint64_t seq) {
  // A question, a call with its result, an answer; about 400 bytes each.
  const std::string text = "message " + std::to_string(seq) + std::string(380, '.');
  if (seq % 4 == 3) {
    ToolResultRecord result{"c" + std::to_string(seq), "bash", text, "ok", {}, 0, 1};
    return write_tool_result(result);
  }
  Message message = Message::of_text(seq % 4 == 1 ? Role::kUser : Role::kAssistant, text);
  if (seq % 4 == 2)
    message.blocks.push_back(Block::tool_use("c" + std::to_string(seq + 1), "bash", R"({"command":"ls"})"));
  return write_message({message, StopReason::kEndTurn, "user", {}});
}

class History {
 public:
  explicit History(std::int64_t messages) {
    std::vector<StoredRecord> records;
    for (std::int64_t i = 1; i <= messages; ++i)
      records.push_back({static_cast<std::uint64_t>(i), 0, {}, message_at(static_cast<std::uint64_t>(i))});
    conversation_ = std::make_unique<Conversation>(
        std::string(kId), [this](const agentd_message& row) { return estimator_.count_row(row); });
    loaded_ = conversation_->load(records).has_value();
    for (const agentd_message& row : conversation_->rows())
      for (std::uint32_t b = 0; b < row.blocks.count; ++b) bytes_ += full_text(blocks_of(row)[b]);
    request_.phase = AGENTD_PHASE_MID_TURN;
    gauge_ = make_gauge(policy_, 200'000, 16'384, conversation_->rows().tokens(), 4'000);
  }

  bool loaded() const { return loaded_; }
  const Rows& rows() const { return conversation_->rows(); }
  const std::string& bytes() const { return bytes_; }
  const TokenEstimator& estimator() const { return estimator_; }
  CompactionPlan plan() const {
    return plan_compaction(rows(), conversation_->state().ranges(), request_, gauge_, policy_);
  }
  // A copy, and what a committed boundary does to it.
  Conversation copy() const { return *conversation_; }
  std::vector<StoredRecord> boundary(const CompactionPlan& plan) const {
    const std::uint64_t next = conversation_->revision() + 1;
    BoundaryRecord boundary;
    boundary.id = "B";
    boundary.base_seq = conversation_->revision();
    boundary.kept = plan.kept;
    boundary.summary_seq = next;
    const Message summary = Message::of_text(Role::kSummary, std::string(8'000, 's'));
    return {{next, 0, {}, write_message({summary, StopReason::kEndTurn, {}, {}})},
            {next + 1, 0, {}, write_boundary(boundary)}};
  }

 private:
  const SimpleEstimator estimator_;
  const BudgetPolicy policy_;
  std::unique_ptr<Conversation> conversation_;
  CompactionRequest request_;
  Gauge gauge_;
  std::string bytes_;
  bool loaded_ = false;
};

// Benches of all sizes take turns: each history is made once.
const History& history(std::int64_t messages) {
  static std::map<std::int64_t, std::unique_ptr<History>> made;
  std::unique_ptr<History>& one = made[messages];
  if (!one) one = std::make_unique<History>(messages);
  return *one;
}

void HistoryCopy(benchmark::State& state) {
  const std::string& from = history(state.range(0)).bytes();
  std::string to(from.size(), '\0');
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
}

void CompactionSplit(benchmark::State& state) {
  const History& from = history(state.range(0));
  if (!from.loaded()) state.SkipWithError("the history does not load");
  for (auto _ : state) {
    const CompactionPlan plan = from.plan();
    if (plan.nothing_to_do() && from.rows().size() > 1'000) state.SkipWithError("nothing was split");
    benchmark::DoNotOptimize(plan);
  }
}

void CompactionPrunes(benchmark::State& state) {
  const History& from = history(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(plan_prunes(from.rows(), {}, from.estimator()));
}

void CompactionBody(benchmark::State& state) {
  const History& from = history(state.range(0));
  NullLog log;
  const RecipeBook recipes({}, log);
  for (auto _ : state) {
    const auto prompt = recipes.compaction_prompt(kId, {"be brief"});
    ModelRequest request;
    request.model = "claude-haiku-4-5";
    request.messages = {from.rows().begin(), from.rows().size()};
    request.closing_text = *prompt;
    JsonWriter body;
    if (!write_anthropic_request(body, request, AnthropicCache::kMinutes) || body.text().size() < from.bytes().size())
      state.SkipWithError("the request is too short");
    benchmark::DoNotOptimize(body.text().data());
  }
}

void CompactionPieces(benchmark::State& state) {
  const History& from = history(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(render_pieces({from.rows().begin(), from.rows().size()}, 100'000, from.estimator()));
}

void CompactionBoundary(benchmark::State& state) {
  const History& from = history(state.range(0));
  const auto records = from.boundary(from.plan());
  for (auto _ : state) {
    state.PauseTiming();
    Conversation conversation = from.copy();
    state.ResumeTiming();
    if (!conversation.apply(records)) state.SkipWithError("the boundary does not apply");
    benchmark::DoNotOptimize(conversation.rows().size());
  }
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t messages : {1'000, 10'000, 100'000}) bench->Arg(messages);
}

}  // namespace

BENCHMARK(HistoryCopy)->Apply(sizes);
BENCHMARK(CompactionSplit)->Apply(sizes);
BENCHMARK(CompactionPrunes)->Apply(sizes);
BENCHMARK(CompactionBody)->Apply(sizes);
BENCHMARK(CompactionPieces)->Apply(sizes);
void add_compaction_boundary(Effort effort) {
  benchmark::RegisterBenchmark("CompactionBoundary", CompactionBoundary)->Apply(sizes)->Iterations(effort.times(20));
}

}  // namespace agentd::bench
