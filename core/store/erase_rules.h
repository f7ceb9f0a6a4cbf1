// SPDX-License-Identifier: Apache-2.0
#pragma once
// erase_rules.h - the rules of erasing that all stores share: the batches without the payloads, the records that say
// what takes their place, and the index that results.
//
// Threading: pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/log_rules.h"

namespace agentd {

// An erasure that is read and hashed: everything that one transaction has to write.
struct PreparedErase {
  std::vector<std::pair<std::uint64_t, std::string>> batches;  // those that change: first sequence, encoded
  PreparedAppend append;  // erase records, then those that were passed; no records when only attached texts go
  std::string appended;   // the batch of `append`, encoded
  std::map<Digest, std::uint64_t> dropped;  // mentions of blobs that end, and how many
  LogHead head;
  ConversationInfo info;
  EraseReport report;
};

// See Store::erase. `request` must outlive the result.
Result<PreparedErase> prepare_erase(const BatchSource& source, const Ulid& conversation, const LogHead& head,
                                    const EraseRequest& request, std::int64_t time_ms);

// A receipt without its answer, its note and its payload; `json` as it is stored. nullopt: it may stay. `payload_of`
// reads a kept payload; nullopt = it is gone.
struct ErasedReceipt {
  std::string json;
  std::optional<Digest> payload;  // whose mention ends
};
using PayloadOf = std::function<std::optional<std::string>(const Digest&)>;
std::optional<ErasedReceipt> erase_receipt(std::string_view json, const EraseRequest& request,
                                           const PayloadOf& payload_of);

}  // namespace agentd
