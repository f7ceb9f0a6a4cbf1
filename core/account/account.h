// SPDX-License-Identifier: Apache-2.0
#pragma once
// account.h - the provider as a run sees it: each answer's cost is known, and no request is sent that the limits of the
// run, the conversation or the day do not cover.
//
// A run, its subagents, its summaries and its hooks' threads share one account. Before a request its highest possible
// cost is reserved: the counted prompt and a quarter more, at the highest rate for a prompt, and the longest answer.
// With less left the answer is shortened to it; when not even a short answer is covered, nothing is sent
// (ModelErrorKind::kLimit). After the answer its real cost replaces the reservation.
//
// Reservations of other runs on the day end with their answers: a request for which they leave no room waits half a
// minute before it is refused.
//
// An interrupted answer costs what its provider had reported, and for the rest agentd's count of what was sent and
// received. A model without a price is never called under a money limit.
//
// With a day limit each request is booked in the ledger when it is settled. Without one requests are booked once a
// minute and by flush(), so that none waits for the disk.
//
// Threading: thread-safe.

#include <map>
#include <string>
#include <utility>

#include "core/account/ledger.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/model/provider.h"
#include "core/tokens/tokens.h"

namespace agentd {

// The parts of an account; everything outlives it.
struct AccountParts {
  ModelProvider& provider;
  const ModelTable& models;
  const TokenEstimator& estimator;
  const Clock& clock;
  Log& log;
  Ledger* ledger = nullptr;         // of days; null: spending is not booked, and days have no limit
  Ledger* conversations = nullptr;  // null: conversations have no limit
};

// The most that one account may spend.
struct AccountLimits {
  Limits run{};                // of the complete run
  std::string conversation{};  // its id, the key of its row in the ledger of conversations
  Amount before{};             // the conversation's spending by its log
};

// Shortens the request's answer, thinking included, to `output` tokens.
void bound_answer(ModelRequest& request, std::uint64_t output);

class Account final : public ModelProvider {
 public:
  // `retries`: for all requests together.
  explicit Account(const AccountParts& parts, AccountLimits limits, std::uint32_t retries = RetryBudget::kUsual)
      : parts_(parts), limits_(std::move(limits)), retries_(retries) {}
  ~Account() override;

  std::string_view name() const override { return parts_.provider.name(); }
  std::string_view api() const override { return parts_.provider.api(); }
  Origin origin_of(std::string_view model) const override { return parts_.provider.origin_of(model); }
  // The answer's usage has its cost, and `spent` is the booked amount. An error after the start of an answer has a
  // usage as well.
  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override;

  // The retries that the run may still make; providers and turns take from them.
  RetryBudget& retries() { return retries_; }
  // A run goes on that has spent this much already: it counts against the limits, and is booked.
  void begin_with(const Usage& spent);
  // The usage of all requests so far.
  Usage spent() const;
  // Books all pending spending.
  void flush();
  // The tokens that a request sends: as it says, or by the estimator's count.
  std::uint64_t prompt_of(const ModelRequest& request) const;

 private:
  // The tokens and rates of a request, from which the cost of an answer of any length follows.
  struct Bill;
  // The reservation of one request.
  struct Grant {
    std::uint64_t output = 0;  // tokens that the answer may have
    Amount run{}, conversation{}, day{};
    bool in_conversation = false;  // something of it is reserved
    std::string date;              // of `day`; empty = nothing was reserved
  };
  Result<Grant> reserve(const Bill& bill, ModelSink& sink, const CancelToken& cancel);
  bool limits_conversation() const { return parts_.conversations != nullptr && parts_.conversations->limits().any(); }
  Result<Amount> reserve_in_day(const std::string& date, Amount least, Amount most, ModelSink& sink,
                                const CancelToken& cancel);
  Result<Amount> reserve_in_run(const Bill& bill, std::uint64_t output);
  void settle(const Grant& grant, const Origin& from, const Usage* usage, bool metered);
  Usage priced(Usage usage, const std::optional<Prices>& prices) const;
  // A report whose missing figures are filled in from what was sent and received.
  Usage completed(Usage usage, const ModelRequest& request, const Message& answer) const;
  // Removes and returns the pending spending, and restarts the minute until the next booking.
  std::map<std::string, std::vector<Spending>> take_unbooked();
  void book(const std::map<std::string, std::vector<Spending>>& days);

  const AccountParts parts_;
  const AccountLimits limits_;
  RetryBudget retries_;
  mutable Mutex mutex_;
  Usage spent_ GUARDED_BY(mutex_){};
  Amount reserved_ GUARDED_BY(mutex_){};
  std::map<std::string, std::vector<Spending>> unbooked_ GUARDED_BY(mutex_);  // by date
  std::uint64_t booked_ns_ GUARDED_BY(mutex_) = 0;                            // when the ledger was last written
};

}  // namespace agentd
