// SPDX-License-Identifier: Apache-2.0
#pragma once
// undo.h - cancels the last boundary that counts: one record, no model, no hook. Private to this room.
//
// Threading: the session's thread.

#include "core/agent/session/parts.h"

namespace agentd {

// As Session::undo() promises it.
Result<UndoReport, RunError> undo_compaction(const SessionParts& session, bool force, const CancelToken& cancel);

}  // namespace agentd
