// SPDX-License-Identifier: Apache-2.0
#include "core/account/account.h"

#include <algorithm>
#include <charconv>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "core/base/saturating.h"
#include "core/conversation/rows.h"
#include "core/model/reported_usage.h"
#include "core/tokens/prices.h"

namespace agentd {
namespace {

// A quarter over the count. The model's deviation from the estimator is learned from its reports (calibration.h); the
// margin is for prompts unlike those before.
constexpr std::uint64_t kPromptMargin = 4;
constexpr std::uint64_t kShortAnswer = 1'024;        // tokens; a limit cuts no answer shorter
constexpr std::uint64_t kThinkingBudgetMin = 1'024;  // the least that a provider accepts
constexpr std::uint64_t kPicoPerNano = 1'000;
constexpr std::uint64_t kBookEveryNs = 60'000'000'000;

// Waits for the reservations of others on the day.
constexpr Milliseconds kWaits[] = {Milliseconds(500),   Milliseconds(1'000), Milliseconds(2'000),
                                   Milliseconds(4'000), Milliseconds(8'000), Milliseconds(16'000)};

// The highest observed cost of a document page: 3,000 tokens of text, and its picture (Anthropic's guide to PDF
// support, 2026).
constexpr std::uint64_t kPageTokens = 4'600;

// The pages that a PDF declares; 0 = its page tree is compressed.
std::uint64_t pages_of(std::string_view pdf) {
  std::uint64_t most = 0, single = 0;
  const auto after_blanks = [&](std::size_t at) {
    return pdf.substr(std::min(pdf.find_first_not_of(" \t\r\n", at), pdf.size()));
  };
  for (std::size_t at = 0; (at = pdf.find("/Count", at)) != std::string_view::npos; at += 6) {
    const std::string_view rest = after_blanks(at + 6);
    std::uint64_t count = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), count).ec == std::errc()) most = std::max(most, count);
  }
  for (std::size_t at = 0; (at = pdf.find("/Type", at)) != std::string_view::npos; at += 5) {
    const std::string_view rest = after_blanks(at + 5);
    if (rest.starts_with("/Page") && !rest.starts_with("/Pages")) ++single;
  }
  return std::max(most, single);
}

// The highest possible tokens of a request's documents; UINT64_MAX = unknown.
std::uint64_t most_of_documents(const ModelRequest& request) {
  std::uint64_t tokens = 0;
  for (const agentd_message& row : request.messages)
    for (std::uint32_t i = 0; i < row.blocks.count; ++i) {
      const agentd_block& block = blocks_of(row)[i];
      if (block.kind != AGENTD_BLOCK_DOCUMENT) continue;
      const std::uint64_t pages = pages_of(from_base64(view_of(block.opaque)));
      tokens = pages == 0 ? UINT64_MAX : saturating_add(tokens, saturating_multiply(pages, kPageTokens));
    }
  return tokens;
}

ModelError limit_error(std::string message) {
  ModelError error;
  error.kind = ModelErrorKind::kLimit;
  error.message = std::move(message);
  return error;
}

}  // namespace

void bound_answer(ModelRequest& request, std::uint64_t output) {
  Thinking& thinking = request.thinking;
  const std::uint64_t whole = request.max_output_tokens + thinking.room;
  if (output >= whole) return;
  const std::uint64_t room = thinking.room * output / std::max<std::uint64_t>(whole, 1);
  thinking.room = room;
  request.max_output_tokens = output - room;
  if (thinking.mode != Thinking::Mode::kBudget) return;
  thinking.budget_tokens = std::min(thinking.budget_tokens, room);
  if (thinking.budget_tokens >= kThinkingBudgetMin) return;
  thinking = Thinking{};
  request.max_output_tokens = output;
}

struct Account::Bill {
  std::uint64_t prompt = 0;  // tokens, at most
  std::uint64_t output = 0;  // requested tokens
  std::uint64_t input_rate = 0, output_rate = 0;

  Amount with(std::uint64_t answer) const {
    return {saturating_add(prompt, answer), saturating_add(cost_of(prompt, input_rate), cost_of(answer, output_rate))};
  }
  std::uint64_t least() const { return std::min(output, kShortAnswer); }
  // The longest answer that an amount covers.
  std::uint64_t covered_by(const Amount& amount) const {
    const std::uint64_t by_tokens = saturating_subtract(amount.tokens, prompt);
    const std::uint64_t nano = saturating_subtract(amount.nano_usd, cost_of(prompt, input_rate));
    const std::uint64_t by_money =
        output_rate == 0 ? UINT64_MAX : saturating_multiply(nano, kPicoPerNano) / output_rate;
    return std::min({output, by_tokens, by_money});
  }
};

Account::~Account() { flush(); }

void Account::begin_with(const Usage& spent) {
  const MutexLock lock(mutex_);
  spent_ += spent;
}

Usage Account::spent() const {
  const MutexLock lock(mutex_);
  return spent_;
}

std::uint64_t Account::prompt_of(const ModelRequest& request) const {
  std::uint64_t tokens = request.prompt_tokens;
  if (tokens == 0) {
    tokens =
        saturating_add(parts_.estimator.count_text(request.system), parts_.estimator.count_text(request.closing_text));
    for (const ToolSpec& tool : request.tools)
      tokens += parts_.estimator.count_text(tool.description) + parts_.estimator.count_text(tool.input_schema_json);
    for (const agentd_message& row : request.messages) tokens = saturating_add(tokens, parts_.estimator.count_row(row));
  }
  return tokens;
}

namespace {

// The rest of a run's limit of which `gone` is spent or reserved. kDenied: it is less than `least`.
Result<Amount> left_of_run(const Limits& limits, Amount gone, Amount least) {
  const auto refusal = [&](const std::string& limit, const std::string& so_far, const std::string& next,
                           std::string_view key) {
    return Error{Code::kDenied, "the run's budget of " + limit + " does not cover the next request: " + so_far +
                                    " is spent or reserved, and it may take " + next + "; raise " + std::string(key)};
  };
  Amount left{UINT64_MAX, UINT64_MAX};
  if (limits.nano_usd != 0) left.nano_usd = saturating_subtract(limits.nano_usd, gone.nano_usd);
  if (limits.tokens != 0) left.tokens = saturating_subtract(limits.tokens, gone.tokens);
  if (left.nano_usd < least.nano_usd)
    return refusal(money_text(limits.nano_usd), money_text(gone.nano_usd), enough_text(least.nano_usd),
                   "budget.run_usd (--max-cost)");
  if (left.tokens < least.tokens)
    return refusal(with_commas(limits.tokens) + " tokens", with_commas(gone.tokens), with_commas(least.tokens),
                   "budget.run_tokens (--max-run-tokens)");
  return left;
}

}  // namespace

Result<Amount> Account::reserve_in_run(const Bill& bill, std::uint64_t output) {
  const MutexLock lock(mutex_);
  const Amount gone{saturating_add(spent_.total(), reserved_.tokens),
                    saturating_add(spent_.cost_nano_usd, reserved_.nano_usd)};
  const Amount least = bill.with(std::min(bill.least(), output));
  AGENTD_TRY(const Amount left, left_of_run(limits_.run, gone, least));
  const Amount most = bill.with(std::min(output, bill.covered_by(left)));
  reserved_.tokens = saturating_add(reserved_.tokens, most.tokens);
  reserved_.nano_usd = saturating_add(reserved_.nano_usd, most.nano_usd);
  return most;
}

Result<Amount> Account::reserve_in_day(const std::string& date, Amount least, Amount most, ModelSink& sink,
                                       const CancelToken& cancel) {
  for (const Milliseconds wait : kWaits) {
    auto granted = parts_.ledger->reserve(date, least, most);
    if (granted || granted.error().code != Code::kBusy) return granted;
    sink.on_wait(wait, limit_error(granted.error().message));
    if (!parts_.clock.sleep(wait, cancel)) return Error{Code::kCancelled, "interrupted"};
  }
  return parts_.ledger->reserve(date, least, most);
}

Result<Account::Grant> Account::reserve(const Bill& bill, ModelSink& sink, const CancelToken& cancel) {
  Grant out;
  out.output = bill.output;
  if (limits_.run.any()) {
    AGENTD_TRY(out.run, reserve_in_run(bill, out.output));
    out.output = bill.covered_by(out.run);
  }
  if (limits_conversation()) {
    auto granted = parts_.conversations->reserve(limits_.conversation, bill.with(std::min(bill.least(), out.output)),
                                                 bill.with(out.output), limits_.before);
    if (!granted) {
      settle(out, {}, nullptr, false);
      // The others are subagents or killed runs, so waiting would not help.
      if (granted.error().code == Code::kBusy) return Error{Code::kDenied, granted.error().message};
      return granted.error();
    }
    out.conversation = *granted;
    out.in_conversation = true;
    out.output = std::min(out.output, bill.covered_by(*granted));
  }
  if (parts_.ledger == nullptr || !parts_.ledger->limits().any()) return out;
  const std::string today = date_of(parts_.clock.wall_ms());
  auto day = reserve_in_day(today, bill.with(std::min(bill.least(), out.output)), bill.with(out.output), sink, cancel);
  if (!day) {
    settle(out, {}, nullptr, false);
    return day.error();
  }
  out.day = *day;
  out.date = today;
  out.output = std::min(out.output, bill.covered_by(*day));
  return out;
}

Usage Account::priced(Usage usage, const std::optional<Prices>& prices) const {
  if (usage.cost_nano_usd != 0) return usage;  // the provider reported it
  if (prices)
    usage.cost_nano_usd = cost_of(*prices, usage);
  else
    usage.unpriced = 1;
  return usage;
}

Usage Account::completed(Usage usage, const ModelRequest& request, const Message& answer) const {
  if (usage.prompt_tokens() == 0) usage.input = prompt_of(request);
  std::uint64_t received = 0;
  for (const Block& block : answer.blocks)
    received += parts_.estimator.count_text(block.text) + parts_.estimator.count_text(block.json);
  usage.output = std::max(usage.output, received);
  return usage;
}

std::map<std::string, std::vector<Spending>> Account::take_unbooked() {
  const MutexLock lock(mutex_);
  booked_ns_ = parts_.clock.monotonic_ns();
  return std::exchange(unbooked_, {});
}

void Account::book(const std::map<std::string, std::vector<Spending>>& days) {
  for (const auto& [date, spent] : days)
    if (auto done = parts_.ledger->settle(date, {}, spent); !done)
      parts_.log.write(LogLevel::kError, "account",
                       "the spending of " + date + " could not be booked: " + done.error().message);
}

void Account::flush() {
  if (parts_.ledger != nullptr) book(take_unbooked());
}

void Account::settle(const Grant& grant, const Origin& from, const Usage* usage, bool metered) {
  const std::string date = grant.date.empty() ? date_of(parts_.clock.wall_ms()) : grant.date;
  std::vector<Spending> spent;
  if (usage != nullptr && metered) spent.push_back({from.provider, from.model, 1, *usage});
  if (grant.in_conversation) {
    std::vector<Spending> all;
    if (usage != nullptr) all.push_back({from.provider, from.model, 1, *usage});
    if (auto done = parts_.conversations->settle(limits_.conversation, grant.conversation, all); !done)
      parts_.log.write(LogLevel::kError, "account",
                       "the cost of a request of the conversation could not be booked: " + done.error().message);
  }
  bool due = false;
  {
    const MutexLock lock(mutex_);
    reserved_.tokens = saturating_subtract(reserved_.tokens, grant.run.tokens);
    reserved_.nano_usd = saturating_subtract(reserved_.nano_usd, grant.run.nano_usd);
    if (usage != nullptr) spent_ += *usage;
    if (parts_.ledger == nullptr) return;
    if (grant.date.empty()) {
      const std::uint64_t now = parts_.clock.monotonic_ns();
      if (booked_ns_ == 0) booked_ns_ = now;
      for (Spending& one : spent) unbooked_[date].push_back(std::move(one));
      due = now - booked_ns_ >= kBookEveryNs;
    }
  }
  if (due) return flush();
  if (grant.date.empty()) return;
  if (auto done = parts_.ledger->settle(date, grant.day, spent); !done)
    parts_.log.write(LogLevel::kError, "account", "the cost of a request could not be booked: " + done.error().message);
}

ModelResult Account::complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                              Deadline deadline) {
  const Origin from = parts_.provider.origin_of(request.model);
  const bool metered = parts_.models.find(from.model).metered;
  const std::optional<Prices> prices = metered ? parts_.models.prices_of(from.provider, from.model) : Prices{};
  const bool day_has_limits = parts_.ledger != nullptr && parts_.ledger->limits().any();
  const bool day_limits_money = day_has_limits && parts_.ledger->limits().nano_usd != 0;
  const bool limits_money = limits_.run.nano_usd != 0 || day_limits_money ||
                            (limits_conversation() && parts_.conversations->limits().nano_usd != 0);
  if (limits_money && !prices)
    return limit_error("no price is known for " + one_line(from.provider + "/" + from.model, 120) +
                       ", so a money budget cannot be enforced: set its prices in models.yaml, or use "
                       "budget.run_tokens or another token budget instead");
  ModelRequest bounded = request;
  bounded.retries = &retries_;
  Grant grant;
  if (limits_.run.any() || limits_conversation() || day_has_limits) {
    Bill bill;
    const std::uint64_t prompt = prompt_of(request);
    bill.prompt = saturating_add(prompt, prompt / kPromptMargin);
    // A prompt beyond the window is refused and costs nothing.
    if (const std::uint64_t documents = most_of_documents(request); documents != 0)
      bill.prompt = std::max(bill.prompt,
                             std::min(saturating_add(bill.prompt, documents), parts_.models.find(from.model).window));
    bill.output = request.max_output_tokens + request.thinking.room;
    if (prices) {
      const Rates& rates = prices->rates_of(bill.prompt);
      bill.input_rate = rates.dearest_input();
      bill.output_rate = rates.output;
    }
    auto granted = reserve(bill, sink, cancel);
    if (!granted) {
      ModelError error = limit_error(granted.error().message);
      const Code code = granted.error().code;
      if (code == Code::kCancelled) error.kind = ModelErrorKind::kCancelled;
      const bool limit = code == Code::kDenied || code == Code::kBusy;
      if (!limit && code != Code::kCancelled) error.kind = ModelErrorKind::kLedger;
      return error;
    }
    grant = std::move(*granted);
    bound_answer(bounded, grant.output);
  }
  ModelResult answer = parts_.provider.complete(bounded, sink, cancel, deadline);
  if (!answer) {
    ModelError error = answer.error();
    if (error.usage && !is_possible(*error.usage)) error.usage = Usage{};
    if (error.usage) error.usage = priced(completed(*error.usage, request, error.partial), prices);
    settle(grant, from, error.usage ? &*error.usage : nullptr, metered);
    return error;
  }
  const std::string odd = drop_impossible_usage(from.provider, *answer);
  if (!odd.empty()) answer->note += (answer->note.empty() ? "" : "; ") + odd;
  const Usage said = answer->usage.value_or(Usage{});
  const bool reported = answer->usage && said.prompt_tokens() != 0;
  // A report of the prompt alone is incomplete.
  const bool whole = reported && (said.output != 0 || answer->message.blocks.empty());
  answer->spent = priced(whole || !metered ? said : completed(said, request, answer->message), prices);
  if (reported) answer->usage = answer->spent;
  settle(grant, from, &answer->spent, metered);
  const std::uint64_t wished = request.max_output_tokens + request.thinking.room;
  if (bounded.max_output_tokens + bounded.thinking.room < wished) answer->bounded_to = grant.output;
  return answer;
}

}  // namespace agentd
