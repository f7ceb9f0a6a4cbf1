// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/undo.h"

#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace agentd {
namespace {

// Somebody else may append between plan and commit; a conversation that changes this often is in use.
constexpr int kUndoTriesMax = 16;

RunError failure(std::string message) { return {RunError::Kind::kFailure, std::move(message)}; }

// The plan of an undo.
struct Undo {
  BoundaryRecord boundary;
  RevertRecord revert;
  std::uint64_t messages = 0, tokens = 0;
};

// Folds the whole log: what a boundary hid may lie anywhere before it, and the running conversation holds
// no more than its view.
Result<Undo, RunError> plan_undo(const SessionParts& session) {
  const std::string none = "no compaction to undo in conversation " + session.position.conversation_id;
  if (session.conversation().revision() == 0) return failure(none);
  if (const OpenWait* const open = session.conversation().wait())
    return RunError{RunError::Kind::kBlocked,
                    "the compaction cannot be undone while the tool call " + open->wait.tool +
                        " waits for an answer: agentd approve " +
                        (open->wait.child_wait.empty() ? open->wait.id : open->wait.child_wait) +
                        " comes first, or a message, which denies the call"};
  std::vector<StoredRecord> log;
  ViewState view;
  Result<void> folded;
  auto read = session.base().store.read(session.position.conversation, 1, session.conversation().revision(),
                                        [&](const StoredRecord& record) {
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
  Conversation next(session.position.conversation_id, session.agent.row_count());
  if (auto loaded = next.load(log); !loaded) return store_error(loaded.error());
  if (auto paired = check_pairs(next.rows().list(), false); !paired)
    return failure("the compaction cannot be undone: the view before it is broken: " + paired.error().message);
  out.messages = next.rows().size();
  out.tokens = session.context.gauge().floor + session.context.gauge().scaled(next.rows().tokens());
  return out;
}

Result<UndoReport, RunError> commit_undo(const SessionParts& session, const Undo& undo) {
  UndoReport report;
  report.boundary_id = undo.boundary.id;
  report.boundary_seq = undo.revert.to_seq;
  report.messages_before = session.conversation().rows().size();
  report.messages_after = undo.messages;
  report.pre_tokens = session.context.gauge().used;
  report.post_tokens = undo.tokens;
  const std::size_t first = session.log.size();
  session.log.add(write_revert(undo.revert));
  auto done = session.log.try_commit();
  if (!done) {
    // Planned on a log that has grown: the next plan makes its own record.
    session.log.take_back(first, first + 1);
    if (done.error().code == Code::kConflict) return RunError{RunError::Kind::kBusy, done.error().message};
    return store_error(done.error());
  }
  report.compactions = session.conversation().compactions();
  return report;
}

}  // namespace

Result<UndoReport, RunError> undo_compaction(const SessionParts& session, bool force, const CancelToken& cancel) {
  for (int attempt = 1;; ++attempt) {
    if (cancel.cancelled()) return RunError{RunError::Kind::kCancelled, "the undo was interrupted"};
    const Gauge now = session.context.gauge();
    auto planned = plan_undo(session);
    if (!planned) return planned.error();
    if (!force && now.limit != 0 && planned->tokens > now.limit)
      return failure("undoing the compaction would put about " + with_commas(planned->tokens) +
                     " tokens into a window of " + with_commas(now.limit) + "; pass --force to undo it anyway");
    auto report = commit_undo(session, *planned);
    if (!report && report.error().kind == RunError::Kind::kBusy && attempt < kUndoTriesMax) {
      if (auto caught = session.log.catch_up(); !caught) return caught.error();
      continue;
    }
    if (!report) return report.error();
    session.surface.tell(
        told::CompactionUndone{report->boundary_id, report->pre_tokens, report->post_tokens, session.context.gauge()});
    return report;
  }
}

}  // namespace agentd
