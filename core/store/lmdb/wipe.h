// SPDX-License-Identifier: Apache-2.0
#pragma once
// wipe.h - overwrites what LMDB's file holds besides the content of the store.
//
// LMDB never overwrites a page that a transaction or a reader may still use: it writes changed pages elsewhere, and
// what was deleted stays in the file until the page is needed again. Bytes of deleted rows also stay between the rows
// of a page in use. Both are overwritten in place, while nobody can write: free pages that no state in use has, and
// bytes that belong to no row. The buffers of each process, whose bytes would get between the rows of a page that is
// written later, are cleaned before its next commit (Env::alone).
//
// A page is free for good when neither meta page, nor a reader, leads to a state that has it (Env::Quiet). So a commit
// comes first, which makes the older meta page that of the newest change, and the work is done twice, because the pages
// that the second commit lets go were cleaned as pages in use before.
//
// Threading: thread-safe, as Env.

#include "core/base/clock.h"
#include "core/store/lmdb/env.h"
#include "core/store/lmdb/tables.h"
#include "core/store/store.h"

namespace agentd {

// See Store::wipe. Waits up to two seconds for readers of older states to end. kCorrupt: the file is damaged; nothing
// of it was overwritten.
Result<WipeReport> wipe_unused(Env& env, const Tables& tables, const Clock& clock);

}  // namespace agentd
