// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/message_keys.h"

#include <utility>

#include "core/base/bytes.h"

namespace agentd {
namespace {

// Control characters are U+0000 to U+001F and U+007F to U+009F.
bool has_control(std::string_view key) {
  if (has_control_character(key)) return true;
  for (std::size_t at = key.find('\xC2'); at != std::string_view::npos; at = key.find('\xC2', at + 1))
    if (at + 1 < key.size() && static_cast<unsigned char>(key[at + 1]) < 0xA0) return true;
  return false;
}

}  // namespace

Result<void> check_message_key(std::string_view key) {
  if (key.size() > kMessageKeyBytesMax)
    return Error{Code::kInvalid, "the key of a message has " + with_commas(key.size()) + " bytes: use at most " +
                                     std::to_string(kMessageKeyBytesMax)};
  if (!is_utf8(key) || has_control(key))
    return Error{Code::kInvalid, "the key of a message, '" + one_line(to_utf8(key), 200) +
                                     "', is not UTF-8 text without control characters: choose another one"};
  return {};
}

Result<void> MessageKeys::note(const StoredRecord& record) {
  if (record.record.type != RecordType::kUserMessage) return {};
  AGENTD_TRY(MessageRecord message, read_message(record.record));
  if (message.key.empty() || !seqs_.emplace(message.key, record.seq).second) return {};
  keys_.emplace(record.seq, std::move(message.key));
  if (keys_.size() <= kKept) return {};
  seqs_.erase(keys_.begin()->second);
  keys_.erase(keys_.begin());
  return {};
}

std::uint64_t MessageKeys::seq_of(std::string_view key) const {
  const auto found = seqs_.find(key);
  return found == seqs_.end() ? 0 : found->second;
}

}  // namespace agentd
