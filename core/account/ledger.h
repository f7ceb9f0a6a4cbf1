// SPDX-License-Identifier: Apache-2.0
#pragma once
// ledger.h - the spending of each day, and of each conversation under a limit, by model: one row of the store for all
// processes.
//
// A day is a UTC day, as vendors bill. A row holds the spending and the reservations of running requests. It changes by
// compare-and-swap, so that all sessions in all processes together cannot exceed its limit. The reservation of a killed
// process stays until the day is over or the conversation is deleted: the cost of its request is unknown, and cannot
// have been more.
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

// The total of the requests to one model.
struct Spending {
  std::string provider, model;
  std::uint64_t requests = 0;
  Usage usage{};
};

struct LedgerRow {
  std::string key;                // the date, YYYY-MM-DD, or the conversation's id
  Amount reserved{};              // for running requests, and for those of killed processes
  std::vector<Spending> spent{};  // by provider and model, in the order of their first request

  Amount total() const;  // spent and reserved
};

// Some rows of a ledger, by key.
struct LedgerRows {
  std::vector<LedgerRow> readable{};
  std::vector<std::string> damaged{};  // keys whose row cannot be read
};

// The UTC day, YYYY-MM-DD.
std::string date_of(std::int64_t wall_ms);

// One kind of rows: where they are stored, and the words for them in messages.
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

  // Reserves as much as the row has left, between `least` and `most`. `known`: spending known from elsewhere; a row
  // with less is raised to it. kDenied, with a sentence: less than `least` is left. kBusy: enough is left, but others
  // have reserved it. kUnavailable, kCorrupt: the store failed or the row is unreadable; nothing is reserved.
  Result<Amount> reserve(const std::string& key, Amount least, Amount most, Amount known = {});
  // Releases the reservation of the row and books the spending instead.
  Result<void> settle(const std::string& key, Amount reserved, std::span<const Spending> spent);
  // Removes the row; succeeds when it is missing.
  Result<void> forget(const std::string& key);
  // The rows from `first` on.
  Result<LedgerRows> rows(std::string_view first) const;

 private:
  struct Stored {
    LedgerRow row{};
    std::uint64_t version = 0;  // 0 = it does not exist yet
  };
  Result<Stored> read(const std::string& key) const;
  // kConflict: another process changed the row since it was read.
  Result<void> write(const Stored& stored);
  Error damaged(const std::string& key) const;

  Store& store_;
  const Limits limits_;
  const LedgerKind& kind_;
};

}  // namespace agentd
