// SPDX-License-Identifier: Apache-2.0
#pragma once
// distill.h - makes memories of a session: at its end without a model, and later better ones with a model's help.
//
// The ids of what is made follow from the conversation, its revision and a number, and the times from the session's
// end, so that making it again after a kill gives the same rows.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/session_memory/memory.h"
#include "plugins/session_memory/session_log.h"

namespace session_memory {

// A session that ends, with the fields that were given for it.
struct EndedSession {
  std::string conversation, project;
  std::uint64_t from = 0, revision = 0;  // log sequences, inclusive: what is distilled
  std::int64_t ended_ms = 0;
  std::optional<Outcome> outcome;  // none = unknown: the log is read instead
  std::string task, approach, notes;
  std::vector<std::string> tags;

  bool is_typed() const { return outcome.has_value() && !(task.empty() && approach.empty() && notes.empty()); }
};

// The id of the `number`th row that this part of the conversation gives: a ULID of the conversation's time.
std::string derived_id(std::string_view conversation, std::uint64_t revision, std::uint64_t number);

// Step one. `log` is the conversation from its start, since a text may have been printed long before it was said; what
// is distilled begins at session.from. With typed fields: success gives a pattern, failure an anti-pattern, partial
// both; notes are kept. Without them, with less confidence: commands that failed and then passed or never did, the
// user's corrections, and the files that were changed. At most 8.
std::vector<Memory> distil(const EndedSession& session, const SessionLog& log);

// Step two: what the model is asked. Of the log it gets what session.from begins, without any output of tools.
std::string refinement_system();
std::string refinement_prompt(const EndedSession& session, const SessionLog& log, const std::vector<Memory>& drafts);

// The model's memories, and the drafts that they replace as superseded by them. kInvalid: the answer is not the JSON
// that was asked for. Sentences that only tools' output brought are left out.
agentd::Result<std::vector<Memory>> refined(std::string_view answer, const EndedSession& session, const SessionLog& log,
                                            const std::vector<Memory>& drafts);

// A subject of a text: its most frequent telling words, at most three.
std::string subject_of(std::string_view text);

}  // namespace session_memory
