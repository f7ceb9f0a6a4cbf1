// SPDX-License-Identifier: Apache-2.0
#pragma once
// erasing.h - takes a text out of a conversation and of everything that was made of it: forks, the parents and
// subagents, summaries, titles, open questions, receipts of hooks, attached prompts.
//
// Two steps: a plan, which only reads and can be shown, and the erasure, which is one commit for each conversation.
// Three ways to say what goes: sequences, exact texts, or secrets that somebody has found.
//
// Threading: functions over a thread-safe store.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace agentd {

// A text that goes, and what takes its place.
struct ErasedText {
  std::string text, instead;
};

struct EraseQuery {
  Ulid conversation;
  // Either sequences, whose texts go as a whole,
  std::vector<SeqRange> ranges;
  // or texts, which go wherever they stand,
  std::vector<ErasedText> texts;
  // or what this finds in a text.
  std::function<Result<std::vector<ErasedText>>(std::string_view text)> find;
};

// The shortest text that is looked for by itself: a shorter one would be found in everything.
inline constexpr std::size_t kErasedTextMin = 4;
// Copies of a text that goes as a whole are looked for from this length on.
inline constexpr std::size_t kErasedCopyMin = 32;

struct PlannedRecord {
  std::uint64_t seq = 0;
  std::string kind;     // "tool_result"
  std::string why;      // "named", "copy", "summary", "checkpoint", "title", "question", "erasure"
  std::string payload;  // what takes its place
};
struct PlannedPart {
  Ulid conversation;
  std::string relation;  // "", fork, subagent, parent: to the conversation of the query
  std::uint64_t revision = 0;
  std::vector<PlannedRecord> records;
  std::vector<Digest> attached;     // prompts and tool schemas that hold the text
  std::vector<Record> append;       // that end a question whose call is erased
  std::vector<std::uint32_t> runs;  // of the erased records
  std::set<Digest> payloads;        // of receipts that go by themselves
  std::uint64_t receipts = 0;       // that lose answer, note and payload
};
struct ErasePlan {
  std::vector<PlannedPart> parts;  // only those with something to erase; the named conversation is the first
  std::vector<Ulid> looked_at;     // the conversation and all of its relatives
  std::vector<ErasedText> texts;   // that go, as far as they are known: for files and keys
  std::vector<std::string> said;   // by sequence: the texts of the named records, of any length
  bool whole = false;              // by sequence
  std::size_t too_short = 0;       // finds that are shorter than kErasedTextMin
  std::vector<Ulid> damaged{};     // conversations that could not be looked through
  bool empty() const { return parts.empty(); }
};

// Looks through records, attached texts and receipts, each by itself. kNotFound: no such conversation; kInvalid: a
// sequence that the log does not have, or without a text; kCorrupt. The plan is empty where sequences were erased
// before, and nothing else has their texts.
Result<ErasePlan> plan_erase(const Store& store, const EraseQuery& query);
// The receipts that keep what hooks had removed (removed_texts.h), of that conversation or of all; kCorrupt.
Result<ErasePlan> plan_erase_removed(const Store& store, const std::optional<Ulid>& conversation);

// Told of what is erased, before the log changes, so that a command that is killed can be given again: whoever has made
// something of these records forgets it, and returns how much that was.
struct EraseListener {
  std::string name;  // "memories"
  std::function<Result<std::uint64_t>(const Ulid& conversation, std::span<const std::uint64_t> seqs)> forget;
};

struct ErasedPart {
  Ulid conversation;
  EraseReport report;
};
struct ErasedAll {
  std::vector<ErasedPart> parts;
  std::vector<std::pair<std::string, std::uint64_t>> forgotten;  // by each listener
  std::vector<std::string> failed;                               // listeners that could not, each a sentence
};

// The leases of all conversations of the plan. kBusy names the one that is in use.
Result<std::vector<std::unique_ptr<Lease>>> lease_all(Store& store, const ErasePlan& plan);
// REQUIRES: the leases are held. An error leaves each conversation as it was or erased; `done` has those that are.
Result<void> carry_out(Store& store, const ErasePlan& plan, std::span<const EraseListener> listeners, ErasedAll& done);

// A key of a plugin that holds one of the texts, or whose name does. Core's own rows are not among them.
struct KeyWithText {
  std::string space, key;
};
Result<std::vector<KeyWithText>> keys_with(const Store& store, std::span<const ErasedText> texts);

}  // namespace agentd
