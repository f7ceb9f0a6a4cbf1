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

// A plugin has its space under its id, which holds no white space (manifest.cc).
// A swap fails only when another one has succeeded.
constexpr int kSwapsMax = 100'000;
// Models of one day that have a row; the others share one without a name.
constexpr std::size_t kModelsMax = 200;
constexpr std::uint32_t kDaysMax = 4'000;

std::string write_day(const DayAccount& day) {
  JsonWriter out;
  out.begin_object();
  out.member("reserved_tokens", day.reserved.tokens).member("reserved_nano_usd", day.reserved.nano_usd);
  out.key("spent").begin_array();
  for (const Spending& one : day.spent) {
    out.begin_object().member("provider", one.provider).member("model", one.model);
    out.member("requests", one.requests);
    write_usage_json(out, one.usage);
    out.end_object();
  }
  out.end_array().end_object();
  return std::string(out.text());
}

// Every figure is a whole number that is not negative.
bool has_good_figures(JsonView object) {
  for (std::size_t i = 0; i < object.size(); ++i)
    if (!object.at(i).is_string() && !object.at(i).is_array() &&
        (object.at(i).uint_or(0) != object.at(i).uint_or(1)))
      return false;
  return true;
}

// Nothing when the row is damaged.
std::optional<DayAccount> read_day(const std::string& date, std::string_view json) {
  const auto document = JsonDocument::parse(json);
  if (!document || !document->root()["spent"].is_array()) return std::nullopt;
  const JsonView root = document->root();
  if (!has_good_figures(root)) return std::nullopt;
  DayAccount out{date, {root["reserved_tokens"].uint_or(0), root["reserved_nano_usd"].uint_or(0)}};
  const JsonView spent = root["spent"];
  for (std::size_t i = 0; i < spent.size(); ++i) {
    const JsonView one = spent.at(i);
    if (!one["model"].is_string() || !has_good_figures(one)) return std::nullopt;
    out.spent.push_back({std::string(one["provider"].string_or({})), std::string(one["model"].string_or({})),
                         one["requests"].uint_or(0), read_usage_json(one)});
  }
  return out;
}

// The row of a model, or the one of all that there is no room for.
Spending& row_of(DayAccount& day, const std::string& provider, const std::string& model) {
  for (Spending& one : day.spent)
    if (one.provider == provider && one.model == model) return one;
  const bool full = day.spent.size() >= kModelsMax && !(provider.empty() && model.empty());
  return full ? row_of(day, {}, {}) : day.spent.emplace_back(Spending{provider, model});
}

void book(DayAccount& day, const Spending& spent) {
  Spending& row = row_of(day, spent.provider, spent.model);
  row.requests = saturating_add(row.requests, spent.requests);
  row.usage += spent.usage;
}

// The rest of a limit; without a limit it has no end.
std::uint64_t left_of(std::uint64_t limit, std::uint64_t gone) {
  return limit == 0 ? UINT64_MAX : saturating_subtract(limit, gone);
}

// Brings the row up to what is known to be spent.
void bring_up(DayAccount& day, Amount known) {
  const Amount gone = day.total();
  const Amount missing{saturating_subtract(known.tokens, gone.tokens),
                       saturating_subtract(known.nano_usd, gone.nano_usd)};
  if (missing.tokens == 0 && missing.nano_usd == 0) return;
  book(day, {{}, {}, 0, Usage{.input = missing.tokens, .cost_nano_usd = missing.nano_usd}});
}

}  // namespace

const LedgerKind kDays{"agentd spending", "today's", " since midnight (UTC)", ", or go on tomorrow",
                       "budget.day_usd", "budget.day_tokens"};
const LedgerKind kConversations{"agentd spending of conversations", "the conversation's", "", "",
                                "budget.conversation_usd", "budget.conversation_tokens"};

std::string date_of(std::int64_t wall_ms) {
  using namespace std::chrono;
  const year_month_day day{floor<days>(sys_time<milliseconds>(milliseconds(wall_ms)))};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                static_cast<unsigned>(day.day()));
  return text;
}

Amount DayAccount::total() const {
  Amount out = reserved;
  for (const Spending& one : spent) {
    out.tokens = saturating_add(out.tokens, one.usage.total());
    out.nano_usd = saturating_add(out.nano_usd, one.usage.cost_nano_usd);
  }
  return out;
}

Result<Ledger::Row> Ledger::read(const std::string& date) const {
  auto stored = store_.get_key(kind_.space, date);
  if (!stored) {
    if (stored.error().code == Code::kNotFound) return Row{{date}, 0};
    return stored.error();
  }
  auto day = read_day(date, stored->value);
  if (!day) return damaged(date);
  return Row{std::move(*day), stored->version};
}

Error Ledger::damaged(const std::string& date) const {
  return {Code::kCorrupt, "the account of " + date + " in the store is damaged, and " + std::string(kind_.whose) +
                              " limit cannot hold: take " + std::string(kind_.usd_key) + " and " +
                              std::string(kind_.tokens_key) + " out of the configuration to go on without"};
}

Result<void> Ledger::forget(const std::string& date) {
  KeyOp remove;
  remove.key = date;
  remove.kind = KeyOp::Kind::kErase;
  if (auto done = store_.commit_keys(kind_.space, {&remove, 1}); !done) return done.error();
  return {};
}

Result<void> Ledger::write(const Row& row) {
  KeyOp put;
  put.key = row.day.date;
  put.value = write_day(row.day);
  put.expect = row.version == 0 ? KeyOp::kAbsent : row.version;
  auto done = store_.commit_keys(kind_.space, {&put, 1});
  if (!done) return done.error();
  return {};
}

Result<Amount> Ledger::reserve(const std::string& date, Amount least, Amount most, Amount known) {
  for (int swap = 0; swap < kSwapsMax; ++swap) {
    AGENTD_TRY(Row row, read(date));
    bring_up(row.day, known);
    const Amount gone = row.day.total();
    const Amount left{left_of(limits_.tokens, gone.tokens), left_of(limits_.nano_usd, gone.nano_usd)};
    const Amount spent{saturating_subtract(gone.tokens, row.day.reserved.tokens),
                       saturating_subtract(gone.nano_usd, row.day.reserved.nano_usd)};
    const bool others = left_of(limits_.tokens, spent.tokens) >= least.tokens &&
                        left_of(limits_.nano_usd, spent.nano_usd) >= least.nano_usd;
    const auto refusal = [&](const std::string& limit, const std::string& so_far, const std::string& next,
                             std::string_view key) {
      return Error{others ? Code::kBusy : Code::kDenied,
                   std::string(kind_.whose) + " budget of " + limit + " does not cover the next request: " + so_far +
                       " is spent or reserved" + std::string(kind_.since) + ", and it may take " + next + "; raise " +
                       std::string(key) + std::string(kind_.otherwise)};
    };
    if (left.nano_usd < least.nano_usd)
      return refusal(money_text(limits_.nano_usd), money_text(gone.nano_usd), enough_text(least.nano_usd),
                     kind_.usd_key);
    if (left.tokens < least.tokens)
      return refusal(with_commas(limits_.tokens) + " tokens", with_commas(gone.tokens), with_commas(least.tokens),
                     kind_.tokens_key);
    const Amount granted{std::min(most.tokens, left.tokens), std::min(most.nano_usd, left.nano_usd)};
    row.day.reserved.tokens = saturating_add(row.day.reserved.tokens, granted.tokens);
    row.day.reserved.nano_usd = saturating_add(row.day.reserved.nano_usd, granted.nano_usd);
    const auto done = write(row);
    if (done) return granted;
    if (done.error().code != Code::kConflict) return done.error();
  }
  return Error{Code::kUnavailable, "the account of " + date + " is changed all the time"};
}

Result<void> Ledger::settle(const std::string& date, Amount reserved, std::span<const Spending> spent) {
  for (int swap = 0; swap < kSwapsMax; ++swap) {
    AGENTD_TRY(Row row, read(date));
    row.day.reserved.tokens = saturating_subtract(row.day.reserved.tokens, reserved.tokens);
    row.day.reserved.nano_usd = saturating_subtract(row.day.reserved.nano_usd, reserved.nano_usd);
    for (const Spending& one : spent) book(row.day, one);
    const auto done = write(row);
    if (done) return {};
    if (done.error().code != Code::kConflict) return done.error();
  }
  return Error{Code::kUnavailable, "the account of " + date + " is changed all the time"};
}

Result<Days> Ledger::days(std::string_view first) const {
  AGENTD_TRY(const std::vector<StoredKey> keys, store_.scan_keys(kind_.space, "", "", kDaysMax));
  Days out;
  for (const StoredKey& key : keys) {
    if (key.key < first) continue;
    if (auto day = read_day(key.key, key.value))
      out.readable.push_back(std::move(*day));
    else
      out.damaged.push_back(key.key);
  }
  return out;
}

}  // namespace agentd
