// SPDX-License-Identifier: Apache-2.0
#pragma once
// message_keys.h - the keys by which clients name their messages, so that one that is sent again is known.
//
// Threading: values; MessageKeys is thread-compatible.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/conversation/record.h"

namespace agentd {

inline constexpr std::size_t kMessageKeyBytesMax = 128;

// kInvalid: more than kMessageKeyBytesMax bytes, no UTF-8, or a control character. An empty key is none.
Result<void> check_message_key(std::string_view key);

// The newest keys of one conversation, with the sequences of their records.
class MessageKeys {
 public:
  static constexpr std::size_t kKept = 1'000;

  // Takes the key of a user_message; other records have none. The first record with a key counts. kCorrupt: the record
  // cannot be read. REQUIRES: records come in order of sequence.
  Result<void> note(const StoredRecord& record);
  // 0: the key is not among the newest kKept.
  std::uint64_t seq_of(std::string_view key) const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> seqs_;
  std::map<std::uint64_t, std::string> keys_;  // by sequence
};

}  // namespace agentd
