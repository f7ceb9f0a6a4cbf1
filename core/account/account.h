// SPDX-License-Identifier: Apache-2.0
#pragma once
// account.h - the provider as a run sees it: what an answer costs is known, and no request is sent that
// the run's limits or the day's do not cover.
//
// One account is drawn from by the run, its subagents, its summaries and its hooks' threads. Before a
// request the most that it can cost is set aside: the prompt as it was counted and a quarter more, at the
// dearest rate that a prompt can have, and the longest answer. Where less is left the answer is bounded by
// what is left; where not even a short one is covered, nothing is sent (ModelErrorKind::kLimit). After the
// answer what it has cost takes the place of what was set aside.
//
// Reservations of other runs on the day end with their answers: a request that they leave no room for waits half a
// minute before it is refused.
//
// An answer that broke off has cost what its provider had reported, and for the rest what was sent and
// received, as it is counted here. A model without a price is never asked under a limit of money.
//
// With a limit of the day each request is booked in the ledger when it is settled. Without one they are
// booked once a minute and by flush(), so that no request waits for the disk.
//
// Threading: thread-safe.

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/account/ledger.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/sleeper.h"
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
  Sleeper& sleeper;
  Ledger* ledger = nullptr;         // of days; null: what is spent is booked nowhere, and no day has a limit
  Ledger* conversations = nullptr;  // null: no conversation has a limit
};

// The most that one account may spend.
struct AccountLimits {
  Limits run{};                // all of it
  std::string conversation{};  // its id, the key of its row in the ledger of conversations
  Amount before{};             // the spending of the conversation that its log knows of
};

class Account final : public ModelProvider {
 public:
  // `retries`: of all requests together.
  explicit Account(const AccountParts& parts, AccountLimits limits, std::uint32_t retries = RetryBudget::kUsual)
      : parts_(parts), limits_(std::move(limits)), retries_(retries) {}
  ~Account() override;

  std::string_view name() const override { return parts_.provider.name(); }
  std::string_view api() const override { return parts_.provider.api(); }
  Origin origin_of(std::string_view model) const override { return parts_.provider.origin_of(model); }
  // The answer's usage has its cost, and `spent` is what was booked. An error of an answer that had begun
  // has a usage as well.
  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override;

  // The attempts after the first that the run may still make; providers and turns take from them.
  RetryBudget& retries() { return retries_; }
  // Everything that was asked for so far.
  Usage spent() const;
  // Books what is not booked yet.
  void flush();

 private:
  // The tokens and rates of a request, from which the cost of an answer of any length follows.
  struct Bill;
  // The reservation of one request.
  struct Grant {
    std::uint64_t output = 0;  // tokens that the answer may have
    Amount run{}, conversation{}, day{};
    bool in_conversation = false;  // something is reserved of it
    std::string date;              // of `day`; empty = nothing was
  };
  Result<Grant> reserve(const Bill& bill, ModelSink& sink, const CancelToken& cancel);
  bool limits_conversation() const { return parts_.conversations != nullptr && parts_.conversations->limits().any(); }
  Result<Amount> reserve_in_day(const std::string& date, Amount least, Amount most, ModelSink& sink,
                                const CancelToken& cancel);
  Result<Amount> reserve_in_run(const Bill& bill, std::uint64_t output);
  void settle(const Grant& grant, const Origin& from, const Usage* usage, bool metered);
  Usage priced(Usage usage, const std::optional<Prices>& prices) const;
  // A report with the missing figures filled in from what was sent and received.
  Usage completed(Usage usage, const ModelRequest& request, const Message& answer) const;
  std::uint64_t prompt_of(const ModelRequest& request) const;
  // Takes out the spending that is not booked yet, and restarts the minute until the next booking.
  std::map<std::string, std::vector<Spending>> take_unbooked();
  void book(const std::map<std::string, std::vector<Spending>>& days);

  const AccountParts parts_;
  const AccountLimits limits_;
  RetryBudget retries_;
  mutable std::mutex mutex_;
  Usage spent_{};                                          // guarded by mutex_
  Amount reserved_{};                                      // guarded by mutex_
  std::map<std::string, std::vector<Spending>> unbooked_;  // by date; guarded by mutex_
  std::uint64_t booked_ns_ = 0;                            // when the ledger was written last; guarded by mutex_
};

}  // namespace agentd
