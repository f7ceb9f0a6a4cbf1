// SPDX-License-Identifier: Apache-2.0
#pragma once
// key_rows.h - the rows of keys: each space with its counter and its keys, and how many bytes they have.
//
// Threading: inside the caller's transaction.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/store/lmdb/env.h"
#include "core/store/lmdb/tables.h"
#include "core/store/store.h"

namespace agentd {

// As the functions of Store with these names.
Result<std::vector<std::string>> key_spaces_in(const Txn& txn, const Tables& tables);
Result<StoredKey> key_in(const Txn& txn, const Tables& tables, std::string_view space, std::string_view key);
Result<std::vector<StoredKey>> keys_in(const Txn& txn, const Tables& tables, std::string_view space,
                                       std::string_view prefix, std::string_view after, std::uint32_t limit);
// The new version of the space.
Result<std::uint64_t> commit_keys_in(Txn& txn, const Tables& tables, std::string_view space,
                                     std::span<const KeyOp> ops);

}  // namespace agentd
