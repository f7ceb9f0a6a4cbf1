// SPDX-License-Identifier: Apache-2.0
#pragma once
// erasure.h - a record's payload without a text that must not stay: what an erase record holds.
//
// The result is read as what it was: roles, call ids and names stay, so that a view of any revision is still what a
// provider accepts. Bytes that a provider has signed are dropped where the text that they vouch for has changed.
//
// Threading: pure functions.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/record.h"

namespace agentd {

// Stands in place of an erased text.
inline constexpr std::string_view kErasedText = "[erased]";

// The text without what must go; nullopt: it may stay as it is.
using ReplaceText = std::function<std::optional<std::string>(std::string_view text)>;

// The payload with each text replaced that `replace` wants to: of messages and the keys by which clients name them,
// tool inputs and results, reasons, errors, titles, questions, and checkpoints with their names. nullopt: none is.
// Directories, ids, other names and digests are never changed, and neither is an erase record: the caller knows what
// its record says now. kCorrupt: the payload is unreadable.
Result<std::optional<std::string>> replace_texts(const Record& record, const ReplaceText& replace);

// The payload without any text, image or document; the key of a message stays. nullopt: it has none.
Result<std::optional<std::string>> without_texts(const Record& record);

// All texts of the record that replace_texts() would pass.
Result<std::vector<std::string>> texts_of(const Record& record);

// The text with `from` replaced everywhere; nullopt: it is not there.
std::optional<std::string> replaced_in(std::string_view text, std::string_view from, std::string_view to);
// The text as it may stand in a file: as it is, and as one or two layers of JSON strings have it.
std::vector<std::string> written_forms(std::string_view text);

}  // namespace agentd
