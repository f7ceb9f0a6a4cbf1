// SPDX-License-Identifier: Apache-2.0
#pragma once
// checkpoints.h - places in logs to which a session can be resumed.
//
// A checkpoint is a revision with a name (CheckpointRecord), so that saving one costs no model call. Rows of the store
// name the newest one of a project and each by its id; the log decides. A session writes its own at the threshold and
// before a clear; this is for everybody else.
//
// Resuming opens a fork. At the level `full` it has the view at that revision, at `context` a summary and the newest
// messages, at `summary` a summary alone. The two texts are made when they are first needed, and kept in the log of the
// conversation. A level that would not be smaller than the next larger one is that one.
//
// Undo, compaction and erasure add records, so that a checkpoint's revision stays what it was. A fork has the records
// of its parent's checkpoints, but none of its own; a checkpoint goes with its conversation.
//
// Threading: thread-safe, as its store is; `texts` is called on the caller's thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cancel.h"
#include "core/base/ids.h"
#include "core/conversation/view.h"
#include "core/store/store.h"
#include "core/tokens/tokens.h"

namespace agentd {

// Bytes of a checkpoint's name; a longer one is cut.
inline constexpr std::size_t kNameBytesMax = 80;

// From the smallest to the largest.
enum class ResumeLevel { kSummary, kContext, kFull };
std::string_view name_of(ResumeLevel level);
// kInvalid: the message lists the names.
Result<ResumeLevel> parse_resume_level(std::string_view name);

// Why a checkpoint was made; threshold is kThresholdCheckpoint.
inline constexpr std::string_view kClearCheckpoint = "clear";
inline constexpr std::string_view kManualCheckpoint = "manual";
inline constexpr std::string_view kForeignCheckpoint = "foreign";  // of a session elsewhere, whose text is all there is

struct Checkpoint {
  CheckpointRecord record;  // its texts from find() alone
  std::string project_id;
  std::int64_t created_ms = 0;
  std::uint64_t seq = 0;  // of the record
  std::string title{};    // of its conversation; not from a row alone
};
// The level that a resume has where none is named: `set` by lifecycle.resume_level, or the only one that a session
// elsewhere has.
ResumeLevel usual_level(const Checkpoint& of, ResumeLevel set);
// The checkpoint as one JSON object, without its texts: id, conversation_id, name?, why, revision, percent?, tokens?,
// project_id, created_ms, title?.
std::string write_checkpoint_json(const Checkpoint& from);

// The rows of a checkpoint, for the append that brings its record at `seq`.
std::vector<KeyPut> rows_of_checkpoint(const CheckpointRecord& record, const std::string& project_id, std::uint64_t seq,
                                       std::int64_t now_ms);

// Gives the checkpoint another name in its rows; its record says the same, or will. Succeeds when there are none.
Result<void> rename_checkpoint(Store& store, const std::string& id, const std::string& name);

// Removes the rows of the checkpoints of a conversation that was deleted, with their names. The project's newest one is
// then the newest that is left.
Result<void> forget_checkpoints(Store& store, const std::string& conversation);

// Writes what stands for messages; a model does.
class CheckpointTexts {
 public:
  virtual ~CheckpointTexts() = default;
  struct Wanted {
    const Ulid& conversation;
    const ConversationInfo& info;
    const Rows& rows;  // of the view; the first `count` are to be summarised
    const Origins& origins;
    std::uint32_t count = 0;
  };
  struct Written {
    std::string text, model;
    Usage usage{};
  };
  // After any error but kCancelled the messages' own words are used instead.
  virtual Result<Written> write(const Wanted& wanted, const CancelToken& cancel) = 0;
};

// All outlive the checkpoints.
struct CheckpointParts {
  Store& store;
  const Clock& clock;
  IdSource& ids;
  const TokenEstimator& estimator;
  const ModelTable& models;
  BudgetPolicy budget{};
  CheckpointTexts* texts = nullptr;  // null: no model is asked
};

class Checkpoints {
 public:
  explicit Checkpoints(CheckpointParts parts) : parts_(parts) {}

  struct SaveRequest {
    Ulid conversation;
    std::string name{};
    std::string_view why = kManualCheckpoint;
    std::uint32_t percent = 0;
    std::string text{};  // of the level summary, for a session elsewhere; empty = none
  };
  // A checkpoint of the conversation's head. kNotFound; kBusy: another process or run works in it; kInvalid: it has no
  // messages and `text` is empty.
  Result<Checkpoint> save(const SaveRequest& request);

  // The project's, newest first; 0 = all; an empty project = those of all. Checkpoints of deleted conversations are
  // left out.
  Result<std::vector<Checkpoint>> list(const std::string& project_id, std::uint32_t limit) const;
  // The newest one of a project: one look-up. nullopt: it has none.
  Result<std::optional<Checkpoint>> newest(const std::string& project_id) const;
  // The same if it is not older than kOfferDays: worth telling those who begin.
  static constexpr std::int64_t kOfferDays = 7;
  Result<std::optional<Checkpoint>> offer(const std::string& project_id) const;
  // By its id, or at least 4 characters that it alone begins with; with its texts. kNotFound; kInvalid: several begin
  // so.
  Result<Checkpoint> find(std::string_view id) const;

  struct Resumed {
    ConversationInfo conversation;  // the fork
    ResumeLevel asked = ResumeLevel::kFull, level = ResumeLevel::kFull;
    std::uint64_t tokens = 0, full_tokens = 0;  // of the view, estimated; and of the one at level full
    std::string note{};                         // why the level is another one, or no model wrote the text; or empty
  };
  // `found` is from find(). kNotFound: its conversation is gone; kInvalid: the level does not exist for it; kConflict:
  // something was erased from the conversation while the text was made; kCancelled: nothing was forked.
  Result<Resumed> resume(const Checkpoint& found, ResumeLevel level, const CancelToken& cancel);

 private:
  struct Source;
  struct Candidate;
  Result<Source> source_of(const Checkpoint& found) const;
  // The view at that level.
  Result<Candidate> candidate(const Source& source, const Checkpoint& found, ResumeLevel level,
                              const CancelToken& cancel);
  Result<Candidate> choose(const Source& source, const Checkpoint& found, ResumeLevel level, const CancelToken& cancel);
  // kConflict: something was erased from the conversation since the source was read.
  Result<void> check_not_erased(const Source& source) const;
  void keep(const Source& source, const Checkpoint& found, ResumeLevel level, const CheckpointTexts::Written& text);
  Result<ConversationInfo> fork(const Source& source, const Checkpoint& found, const Candidate& chosen);
  Result<Checkpoint> row(const std::string& key) const;

  const CheckpointParts parts_;
};

// The text that stands for messages where no model is asked: the last summary among them, then the user's texts and the
// last answer, shortened.
std::string extract_of(const Rows& rows, std::uint32_t count);

}  // namespace agentd
