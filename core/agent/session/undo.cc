// SPDX-License-Identifier: Apache-2.0
// undo.cc - cancels the last boundary that counts: one record, no model, no hook.
#include <utility>

#include "core/agent/session/session.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

// Somebody else may append between plan and commit; a conversation that changes this often is in use.
constexpr int kTriesMax = 16;

RunError failure(std::string message) { return {RunError::Kind::kFailure, std::move(message)}; }

}  // namespace

// What an undo would bring.
struct SessionImpl::Undo {
  BoundaryRecord boundary;
  RevertRecord revert;
  std::uint64_t messages = 0, tokens = 0;
};

// Folds the whole log: what a boundary hid may lie anywhere before it, and the running conversation holds
// no more than its view.
Result<SessionImpl::Undo, RunError> SessionImpl::plan_undo() const {
  const std::string none = "there is no compaction to undo in conversation " + id_text_;
  if (shared_.conversation().revision() == 0) return failure(none);
  std::vector<StoredRecord> log;
  ViewState view;
  Result<void> folded;
  auto read = parts_.store.read(id_, 1, shared_.conversation().revision(), [&](const StoredRecord& record) {
    folded = view.apply(record);
    log.push_back(record);
    return folded.has_value();
  });
  if (read) read = folded;
  if (!read) return store_error(read.error());
  if (view.boundary_seq() == 0) return failure(none);
  Undo out;
  out.revert = view.revert_of_last();
  auto boundary = read_boundary(log[out.revert.to_seq - 1].record);
  if (!boundary) return store_error(boundary.error());
  out.boundary = std::move(*boundary);
  StoredRecord revert;
  revert.seq = log.back().seq + 1;
  revert.record = write_revert(out.revert);
  log.push_back(std::move(revert));
  Conversation next(id_text_, resources_.row_count());
  if (auto loaded = next.load(log); !loaded) return store_error(loaded.error());
  if (auto paired = check_pairs(next.rows().list(), false); !paired)
    return failure("the compaction cannot be undone, the view before it is broken: " + paired.error().message);
  out.messages = next.rows().size();
  out.tokens = gauge().floor + gauge().scaled(next.rows().tokens());
  return out;
}

Result<UndoReport, RunError> SessionImpl::commit_undo(const Undo& undo) {
  UndoReport report;
  report.boundary_id = undo.boundary.id;
  report.boundary_seq = undo.revert.to_seq;
  report.messages_before = shared_.conversation().rows().size();
  report.messages_after = undo.messages;
  report.pre_tokens = gauge().used;
  report.post_tokens = undo.tokens;
  add(write_revert(undo.revert));
  auto done = try_commit();
  if (!done) {
    // Planned on a log that has grown: the next plan makes its own record.
    std::erase_if(pending_, [](const Record& record) { return record.type == RecordType::kRevert; });
    if (done.error().code == Code::kConflict) return RunError{RunError::Kind::kBusy, done.error().message};
    return store_error(done.error());
  }
  report.compactions = shared_.conversation().compactions();
  return report;
}

Result<UndoReport, RunError> SessionImpl::undo(bool force, const CancelToken& cancel) {
  shared_.follow(cancel);
  leave_run();
  refresh_tools();
  for (int attempt = 1;; ++attempt) {
    if (cancel.cancelled()) return RunError{RunError::Kind::kCancelled, "the undo was interrupted"};
    const Gauge now = gauge();
    auto planned = plan_undo();
    if (!planned) return planned.error();
    if (!force && now.limit != 0 && planned->tokens > now.limit)
      return failure("undoing the compaction would put about " + with_commas(planned->tokens) +
                     " tokens into a window that takes " + with_commas(now.limit) + "; --force undoes it all the same");
    auto report = commit_undo(*planned);
    if (!report && report.error().kind == RunError::Kind::kBusy && attempt < kTriesMax) {
      if (auto caught = catch_up(); !caught) return caught.error();
      continue;
    }
    if (!report) return report.error();
    const Gauge gauge_now = gauge();
    RunEvent told{RunEvent::Type::kCompactionUndone};
    told.text = report->boundary_id;
    told.pre_tokens = report->pre_tokens;
    told.post_tokens = report->post_tokens;
    told.gauge = &gauge_now;
    tell(told);
    return report;
  }
}

}  // namespace agentd
