// SPDX-License-Identifier: Apache-2.0
#pragma once
// ledger.h - what each day, and each conversation under a limit, has cost, by model: a row of the store for all
// processes.
//
// A day is one of UTC, as vendors bill. A row holds what was spent and what is reserved for requests that are under
// way; it changes by compare-and-swap, so that any number of sessions in any number of processes cannot spend more
// than its limit together. What a process had reserved when it was killed stays reserved, until the day is over or the
// conversation is deleted: what its request has cost is not known, and it cannot have been more.
//
// Threading: thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/message.h"
#include "core/store/store.h"

namespace agentd {

// Tokens, and 10^-9 US dollars.
struct Amount {
  std::uint64_t tokens = 0;
  std::uint64_t nano_usd = 0;
};

// The most that may be spent; 0 = no limit.
struct Limits {
  std::uint64_t tokens = 0;
  std::uint64_t nano_usd = 0;
  bool any() const { return tokens != 0 || nano_usd != 0; }
};

// What requests to one model have come to.
struct Spending {
  std::string provider, model;
  std::uint64_t requests = 0;
  Usage usage{};
};

struct LedgerRow {
  std::string key;                // the date, YYYY-MM-DD, or the conversation's id
  Amount reserved{};              // for requests under way, and for those whose process was killed
  std::vector<Spending> spent{};  // by provider and model, in the order of their first request

  Amount total() const;  // spent and reserved
};

// Some rows of a ledger, by key.
struct LedgerRows {
  std::vector<LedgerRow> readable{};
  std::vector<std::string> damaged{};  // keys whose row cannot be read
};

// The day of UTC, YYYY-MM-DD.
std::string date_of(std::int64_t wall_ms);

// Rows of one kind: where they stand, and how they are spoken of.
struct LedgerKind {
  std::string_view space;      // of the store's keys
  std::string_view whose;      // "today's"
  std::string_view since;      // " since midnight (UTC)"
  std::string_view otherwise;  // ", or go on tomorrow"
  std::string_view usd_key, tokens_key;
};
extern const LedgerKind kDays, kConversations;

class Ledger {
 public:
  // The store outlives this. `limits`: of each row.
  Ledger(Store& store, Limits limits, const LedgerKind& kind = kDays) : store_(store), limits_(limits), kind_(kind) {}

  const Limits& limits() const { return limits_; }

  // Sets aside between `least` and `most` of what the row has left, as much as it has. `known`: what is known to be
  // spent; a row that says less is brought up to it. kDenied, with a sentence: less than `least` is left; kBusy: it
  // would be, but others have reserved it. kUnavailable, kCorrupt: the store failed, or holds a row that cannot be
  // read; nothing is reserved.
  Result<Amount> reserve(const std::string& key, Amount least, Amount most, Amount known = {});
  // Gives back what was reserved of the row, and books what was spent instead.
  Result<void> settle(const std::string& key, Amount reserved, std::span<const Spending> spent);
  // Takes the row out; fine when there is none.
  Result<void> forget(const std::string& key);
  // The rows from `first` on.
  Result<LedgerRows> rows(std::string_view first) const;

 private:
  struct Stored {
    LedgerRow row{};
    std::uint64_t version = 0;  // 0 = there is none yet
  };
  Result<Stored> read(const std::string& key) const;
  // kConflict: somebody else has changed it since it was read.
  Result<void> write(const Stored& stored);
  Error damaged(const std::string& key) const;

  Store& store_;
  const Limits limits_;
  const LedgerKind& kind_;
};

}  // namespace agentd
