// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/retirement.h"

#include <charconv>
#include <chrono>

#include "core/tokens/spelling.h"

namespace agentd {
namespace {

constexpr int kSuccessorsMax = 8;  // an end for tables whose models follow each other in a circle

std::optional<std::chrono::sys_days> parse_date(std::string_view text) {
  bool digits = true;
  const auto number = [&](std::size_t at, std::size_t length) {
    unsigned out = 0;
    const char* const end = text.data() + at + length;
    const auto [stop, error] = std::from_chars(text.data() + at, end, out);
    digits = digits && error == std::errc() && stop == end;
    return out;
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(0, 4))),
                                         std::chrono::month(number(5, 2)), std::chrono::day(number(8, 2))};
  if (!digits || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

}  // namespace

bool is_date(std::string_view text) { return parse_date(text).has_value(); }

std::optional<std::int64_t> days_until_retired(const ModelInfo& model, std::int64_t wall_ms) {
  const auto gone = parse_date(model.retires);
  if (!gone) return std::nullopt;
  const auto today = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(wall_ms)));
  return (*gone - today).count();
}

bool is_retired(const ModelInfo& model, std::int64_t wall_ms) {
  const auto days = days_until_retired(model, wall_ms);
  return days && *days <= 0;
}

std::string in_service(const ModelTable& table, std::string model, std::int64_t wall_ms) {
  for (int i = 0; i < kSuccessorsMax; ++i) {
    const ModelInfo info = table.find(model);
    if (info.pattern.empty() || !is_retired(info, wall_ms)) break;
    std::string next = spelt_alike(info, model, info.successor);
    if (next.empty()) break;
    model = std::move(next);
  }
  return model;
}

std::string default_in_service(const ModelTable& table, const std::string& provider, std::int64_t wall_ms) {
  return in_service(table, table.default_of(provider), wall_ms);
}

std::string summariser_in_service(const ModelTable& table, const ModelInfo& model, std::int64_t wall_ms) {
  return model.summary_model_is_the_users ? model.summary_model : in_service(table, model.summary_model, wall_ms);
}

}  // namespace agentd
