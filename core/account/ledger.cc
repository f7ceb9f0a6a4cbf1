// SPDX-License-Identifier: Apache-2.0
#include "core/account/ledger.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/saturating.h"
#include "core/codec/json.h"
#include "core/tokens/prices.h"

namespace agentd {
namespace {

// A plugin's space is named by its id, which has no white space (manifest.cc). A swap fails only when another one
// succeeded.
constexpr int kSwapsMax = 100'000;
// Models that a row names; the others share an entry without a name.
constexpr std::size_t kModelsMax = 200;
constexpr std::uint32_t kRowsMax = 4'000;

std::string write_row(const LedgerRow& row) {
  JsonWriter out;
  out.begin_object();
  out.member("reserved_tokens", row.reserved.tokens).member("reserved_nano_usd", row.reserved.nano_usd);
  out.key("spent").begin_array();
  for (const Spending& one : row.spent) {
    out.begin_object().member("provider", one.provider).member("model", one.model);
    out.member("requests", one.requests);
    write_usage_json(out, one.usage);
    out.end_object();
  }
  out.end_array().end_object();
  return std::string(out.text());
}

// True if every figure is a whole number of at least 0.
bool has_good_figures(JsonView object) {
  for (std::size_t i = 0; i < object.size(); ++i)
    if (!object.at(i).is_string() && !object.at(i).is_array() && (object.at(i).uint_or(0) != object.at(i).uint_or(1)))
      return false;
  return true;
}

// Nothing when the row is damaged.
std::optional<LedgerRow> read_row(const std::string& key, std::string_view json) {
  const auto document = JsonDocument::parse(json);
  if (!document || !document->root()["spent"].is_array()) return std::nullopt;
  const JsonView root = document->root();
  if (!has_good_figures(root)) return std::nullopt;
  LedgerRow out{key, {root["reserved_tokens"].uint_or(0), root["reserved_nano_usd"].uint_or(0)}};
  const JsonView spent = root["spent"];
  for (std::size_t i = 0; i < spent.size(); ++i) {
    const JsonView one = spent.at(i);
    if (!one["model"].is_string() || !has_good_figures(one)) return std::nullopt;
    out.spent.push_back({std::string(one["provider"].string_or({})), std::string(one["model"].string_or({})),
                         one["requests"].uint_or(0), read_usage_json(one)});
  }
  return out;
}

// The entry of a model, or the shared one when the row is full.
Spending& entry_of(LedgerRow& row, const std::string& provider, const std::string& model) {
  for (Spending& one : row.spent)
    if (one.provider == provider && one.model == model) return one;
  const bool full = row.spent.size() >= kModelsMax && !(provider.empty() && model.empty());
  return full ? entry_of(row, {}, {}) : row.spent.emplace_back(Spending{provider, model});
}

void book(LedgerRow& row, const Spending& spent) {
  Spending& entry = entry_of(row, spent.provider, spent.model);
  entry.requests = saturating_add(entry.requests, spent.requests);
  entry.usage += spent.usage;
}

// The rest of a limit; unlimited without one.
std::uint64_t left_of(std::uint64_t limit, std::uint64_t gone) {
  return limit == 0 ? UINT64_MAX : saturating_subtract(limit, gone);
}

// Raises the row to the known spending.
void bring_up(LedgerRow& row, Amount known) {
  const Amount gone = row.total();
  const Amount missing{saturating_subtract(known.tokens, gone.tokens),
                       saturating_subtract(known.nano_usd, gone.nano_usd)};
  if (missing.tokens == 0 && missing.nano_usd == 0) return;
  book(row, {{}, {}, 0, Usage{.input = missing.tokens, .cost_nano_usd = missing.nano_usd}});
}

}  // namespace

const LedgerKind kDays{"agentd spending",        "today's",        " since midnight (UTC)",
                       ", or continue tomorrow", "budget.day_usd", "budget.day_tokens"};
const LedgerKind kConversations{"agentd spending of conversations", "the conversation's",        "", "",
                                "budget.conversation_usd",          "budget.conversation_tokens"};

std::string date_of(std::int64_t wall_ms) {
  using namespace std::chrono;
  const year_month_day day{floor<days>(sys_time<milliseconds>(milliseconds(wall_ms)))};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                static_cast<unsigned>(day.day()));
  return text;
}

Amount LedgerRow::total() const {
  Amount out = reserved;
  for (const Spending& one : spent) {
    out.tokens = saturating_add(out.tokens, one.usage.total());
    out.nano_usd = saturating_add(out.nano_usd, one.usage.cost_nano_usd);
  }
  return out;
}

Result<Ledger::Stored> Ledger::read(const std::string& key) const {
  auto value = store_.get_key(kind_.space, key);
  if (!value) {
    if (value.error().code == Code::kNotFound) return Stored{{key}, 0};
    return value.error();
  }
  auto row = read_row(key, value->value);
  if (!row) return damaged(key);
  return Stored{std::move(*row), value->version};
}

Error Ledger::damaged(const std::string& key) const {
  return {Code::kCorrupt, "the account of " + key + " in the store is damaged, and " + std::string(kind_.whose) +
                              " limit cannot be enforced: remove " + std::string(kind_.usd_key) + " and " +
                              std::string(kind_.tokens_key) + " from the configuration to continue without it"};
}

Result<void> Ledger::forget(const std::string& key) {
  KeyOp remove;
  remove.key = key;
  remove.kind = KeyOp::Kind::kErase;
  if (auto done = store_.commit_keys(kind_.space, {&remove, 1}); !done) return done.error();
  return {};
}

Result<void> Ledger::write(const Stored& stored) {
  KeyOp put;
  put.key = stored.row.key;
  put.value = write_row(stored.row);
  put.expect = stored.version == 0 ? KeyOp::kAbsent : stored.version;
  auto done = store_.commit_keys(kind_.space, {&put, 1});
  if (!done) return done.error();
  return {};
}

Result<Amount> Ledger::reserve(const std::string& key, Amount least, Amount most, Amount known) {
  for (int swap = 0; swap < kSwapsMax; ++swap) {
    AGENTD_TRY(Stored stored, read(key));
    bring_up(stored.row, known);
    const Amount gone = stored.row.total();
    const Amount left{left_of(limits_.tokens, gone.tokens), left_of(limits_.nano_usd, gone.nano_usd)};
    const Amount spent{saturating_subtract(gone.tokens, stored.row.reserved.tokens),
                       saturating_subtract(gone.nano_usd, stored.row.reserved.nano_usd)};
    const bool others = left_of(limits_.tokens, spent.tokens) >= least.tokens &&
                        left_of(limits_.nano_usd, spent.nano_usd) >= least.nano_usd;
    const auto refusal = [&](const std::string& limit, const std::string& so_far, const std::string& next,
                             std::string_view setting) {
      return Error{others ? Code::kBusy : Code::kDenied,
                   std::string(kind_.whose) + " budget of " + limit + " does not cover the next request: " + so_far +
                       " is spent or reserved" + std::string(kind_.since) + ", and it may take " + next + "; raise " +
                       std::string(setting) + std::string(kind_.otherwise)};
    };
    if (left.nano_usd < least.nano_usd)
      return refusal(money_text(limits_.nano_usd), money_text(gone.nano_usd), enough_text(least.nano_usd),
                     kind_.usd_key);
    if (left.tokens < least.tokens)
      return refusal(with_commas(limits_.tokens) + " tokens", with_commas(gone.tokens), with_commas(least.tokens),
                     kind_.tokens_key);
    const Amount granted{std::min(most.tokens, left.tokens), std::min(most.nano_usd, left.nano_usd)};
    stored.row.reserved.tokens = saturating_add(stored.row.reserved.tokens, granted.tokens);
    stored.row.reserved.nano_usd = saturating_add(stored.row.reserved.nano_usd, granted.nano_usd);
    const auto done = write(stored);
    if (done) return granted;
    if (done.error().code != Code::kConflict) return done.error();
  }
  return Error{Code::kUnavailable, "the account of " + key + " is being changed by too many processes; try again"};
}

Result<void> Ledger::settle(const std::string& key, Amount reserved, std::span<const Spending> spent) {
  for (int swap = 0; swap < kSwapsMax; ++swap) {
    AGENTD_TRY(Stored stored, read(key));
    stored.row.reserved.tokens = saturating_subtract(stored.row.reserved.tokens, reserved.tokens);
    stored.row.reserved.nano_usd = saturating_subtract(stored.row.reserved.nano_usd, reserved.nano_usd);
    for (const Spending& one : spent) book(stored.row, one);
    const auto done = write(stored);
    if (done) return {};
    if (done.error().code != Code::kConflict) return done.error();
  }
  return Error{Code::kUnavailable, "the account of " + key + " is being changed by too many processes; try again"};
}

Result<LedgerRows> Ledger::rows(std::string_view first) const {
  AGENTD_TRY(const std::vector<StoredKey> keys, store_.scan_keys(kind_.space, "", "", kRowsMax));
  LedgerRows out;
  for (const StoredKey& key : keys) {
    if (key.key < first) continue;
    if (auto row = read_row(key.key, key.value))
      out.readable.push_back(std::move(*row));
    else
      out.damaged.push_back(key.key);
  }
  return out;
}

}  // namespace agentd
