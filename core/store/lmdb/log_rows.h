// SPDX-License-Identifier: Apache-2.0
#pragma once
// log_rows.h - the rows of one conversation's log.
//
// Threading: inside the caller's transaction.

#include <cstdint>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/lmdb/env.h"
#include "core/store/lmdb/tables.h"

namespace agentd {

// True if something was erased from the conversation since it had that revision.
Result<bool> is_erased_after(const Txn& txn, const Tables& tables, const Ulid& conversation, std::uint64_t revision);

}  // namespace agentd
