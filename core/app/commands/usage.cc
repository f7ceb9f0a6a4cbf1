// SPDX-License-Identifier: Apache-2.0
// usage.cc - agentd usage: requests, tokens and cost by day and by model.
#include <algorithm>
#include <charconv>
#include <optional>

#include "core/account/ledger.h"
#include "core/agent/events.h"
#include "core/app/app.h"
#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/tokens/prices.h"

namespace agentd::app {
namespace {

constexpr std::uint64_t kDaysUsual = 30, kDaysMax = 4'000;
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::size_t kShownSpendingBytes = 80;

enum class Grouping { kDayAndModel, kDay, kModel };

// One line of the answer.
struct SpentLine {
  std::string date;  // empty = all days
  Spending spent{};  // no model = all models
};

bool is_same(const SpentLine& line, const SpentLine& other) {
  return line.date == other.date && line.spent.provider == other.spent.provider &&
         line.spent.model == other.spent.model;
}

void add_to(std::vector<SpentLine>& lines, SpentLine one) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const SpentLine& line) { return is_same(line, one); });
  if (found == lines.end()) return lines.push_back(std::move(one));
  found->spent.requests += one.spent.requests;
  found->spent.usage += one.spent.usage;
}

std::vector<SpentLine> lines_of(const std::vector<LedgerRow>& days, Grouping by) {
  std::vector<SpentLine> out;
  for (const LedgerRow& day : days)
    for (Spending spent : day.spent) {
      if (by == Grouping::kDay) spent.provider = spent.model = "";
      add_to(out, {by == Grouping::kModel ? std::string() : day.key, std::move(spent)});
    }
  return out;
}

std::string model_text(const Spending& spent) {
  if (spent.model.empty()) return "(others)";
  return neutral_line(spent.provider + "/" + spent.model, kShownSpendingBytes);
}

void print_json(Output& out, const SpentLine& line) {
  JsonWriter json;
  json.begin_object().optional("date", line.date).optional("provider", line.spent.provider);
  json.optional("model", line.spent.model).member("requests", line.spent.requests);
  write_usage_figures(json, line.spent.usage);
  json.end_object();
  out.print(std::string(json.text()) + "\n");
}

std::string money_cell(const Usage& usage) {
  const std::string text = cost_text(usage);
  return text.empty() ? "$0.00" : text;
}

void print_text(Output& out, const std::vector<SpentLine>& lines, Grouping by) {
  std::vector<Column> columns;
  if (by != Grouping::kModel) columns.push_back({"DAY"});
  if (by != Grouping::kDay) columns.push_back({"MODEL"});
  for (const std::string_view name : {"REQUESTS", "INPUT", "FROM CACHE", "OUTPUT", "COST"})
    columns.push_back({name, true});
  std::vector<std::vector<std::string>> rows;
  Usage all;
  for (const SpentLine& line : lines) {
    const Usage& usage = line.spent.usage;
    all += usage;
    auto& row = rows.emplace_back();
    if (by != Grouping::kModel) row.push_back(line.date);
    if (by != Grouping::kDay) row.push_back(model_text(line.spent));
    row.insert(row.end(), {with_commas(line.spent.requests), with_commas(usage.input + usage.cache_write),
                           with_commas(usage.cache_read), with_commas(usage.output), money_cell(usage)});
  }
  out.print(table_text(columns, rows, out.columns()));
  out.print("\ntotal: " + money_cell(all) + "\n");
}

void print_today(Output& out, const Config& config, const std::vector<LedgerRow>& days, const std::string& today) {
  const auto found = std::find_if(days.begin(), days.end(), [&](const LedgerRow& day) { return day.key == today; });
  const Amount gone = found == days.end() ? Amount{} : found->total();
  const Amount reserved = found == days.end() ? Amount{} : found->reserved;
  const double usd = config.fraction("budget.day_usd");
  if (usd > 0)
    out.print("today (UTC): " + money_text(gone.nano_usd) + " of " +
              money_text(static_cast<std::uint64_t>(usd * 1e9 + 0.5)) + ", budget.day_usd" +
              (reserved.nano_usd == 0
                   ? ""
                   : "; " + money_text(reserved.nano_usd) + " of it is reserved for unfinished requests") +
              "\n");
  if (const std::uint64_t tokens = config.whole("budget.day_tokens"); tokens != 0)
    out.print("today (UTC): " + with_commas(gone.tokens) + " of " + with_commas(tokens) +
              " tokens, budget.day_tokens\n");
}

// Reports the damaged days and returns the exit code.
int told_of_damage(App& app, const std::vector<std::string>& dates) {
  if (dates.empty()) return kExitOk;
  std::string named = dates.front();
  for (std::size_t i = 1; i < dates.size(); ++i) named += ", " + dates[i];
  return app.fail(kExitStore, "the spending of " + neutral_line(named, kShownSpendingBytes) +
                                  " is damaged in the store and not included in these sums");
}

std::optional<std::uint64_t> days_wanted(const Arguments& arguments) {
  if (!arguments.has("days")) return kDaysUsual;
  const std::string text = arguments.value("days");
  std::uint64_t out = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || stop != text.data() + text.size() || out == 0 || out > kDaysMax) return std::nullopt;
  return out;
}

}  // namespace

int usage_command(App& app, const Arguments& arguments) {
  const std::string grouping = arguments.has("by") ? arguments.value("by") : "";
  if (!grouping.empty() && grouping != "day" && grouping != "model")
    return app.fail(kExitUsage, "--by takes day or model, not '" + one_line(grouping, kShownSpendingBytes) + "'");
  const Grouping by = grouping == "day"     ? Grouping::kDay
                      : grouping == "model" ? Grouping::kModel
                                            : Grouping::kDayAndModel;
  const std::optional<std::uint64_t> wanted = days_wanted(arguments);
  if (!wanted)
    return app.fail(kExitUsage, "--days takes a whole number from 1 to " + with_commas(kDaysMax) + ", not '" +
                                    one_line(arguments.value("days"), kShownSpendingBytes) + "'");
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  const auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  const std::int64_t now = app.clock().wall_ms();
  Result<LedgerRows> days = LedgerRows{};
  if (*store != nullptr)
    days = Ledger(**store, {}).rows(date_of(now - static_cast<std::int64_t>(*wanted - 1) * kDayMs));
  if (!days) return app.fail(store_exit(days.error()), days.error().message);
  const std::vector<SpentLine> lines = lines_of(days->readable, by);
  if (arguments.has("json")) {
    for (const SpentLine& line : lines) print_json(app.out(), line);
    return told_of_damage(app, days->damaged);
  }
  if (!lines.empty())
    print_text(app.out(), lines, by);
  else if (days->damaged.empty())
    app.out().print("no requests in the last " + std::to_string(*wanted) + " days\n");
  print_today(app.out(), *config, days->readable, date_of(now));
  return told_of_damage(app, days->damaged);
}

}  // namespace agentd::app
