// SPDX-License-Identifier: Apache-2.0
#pragma once
// bring.h - a conversation that was read from a file becomes one of this store: in one commit, or not at all.
//
// A log keeps its id, and with it its chain, unless that id is taken by another log, or a call waits for an answer in
// it: a question of elsewhere is answered by nobody here, as in a fork. The store remembers where each came from (the
// space `agentd.imports` of its keys), so that the same file is not brought twice.
//
// Threading: thread-safe, as the store is.

#include <cstdint>
#include <string>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/whole_log.h"
#include "core/transfer/log_reader.h"
#include "core/transfer/transcript.h"

namespace agentd {

struct Brought {
  enum class What : std::uint8_t {
    kNew,    // under its own id
    kOther,  // under another id; `note` says why
    kHere,   // nothing was written: it is here already
  } what = What::kNew;
  ConversationInfo info;    // of the conversation here
  std::string from;         // its id in the file, or of the session elsewhere
  std::string note{};       // a sentence for people; may be empty
  std::uint64_t newer = 0;  // kHere: records that followed here
};

// "new", "new_id", "here".
std::string_view name_of(Brought::What what);

// kInvalid: as WholeLogs::bring; kBusy: a process works in the conversation; kUnavailable.
Result<Brought> bring_log(Store& store, IdSource& ids, const Clock& clock, LogFile file);

// Where a conversation of another agent goes on.
struct ImportPlace {
  std::string project_id, cwd;
};
// A new conversation with the transcript's messages, which a run goes on with. `bytes`: SHA-256 of the file, by which
// it is known again. Errors as bring_log().
Result<Brought> bring_transcript(Store& store, IdSource& ids, const Clock& clock, ForeignTranscript transcript,
                                 const ImportPlace& place, const Digest& bytes);

// ---- parts of both

// Where a conversation came from.
struct ImportOrigin {
  std::string form;     // "agentd", "claude", "codex"
  std::string from;     // the id there
  std::string digest;   // hex; of what was read: the chain, or the bytes
  std::string version;  // of the program that wrote it; may be empty
};
// The conversation that was made of the same bytes and is still here; kNotFound.
Result<ConversationInfo> brought_before(const Store& store, const ImportOrigin& origin);
// Writes the log of a new conversation with rows that say where it came from.
Result<ConversationInfo> bring_whole(Store& store, const Clock& clock, const Ulid& id, const WholeLog& log,
                                     const ImportOrigin& origin);

}  // namespace agentd
