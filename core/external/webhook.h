// SPDX-License-Identifier: Apache-2.0
#pragma once
// webhook.h - a hook behind a URL: one POST, and its answer read like a
// program's.
//
// A hook sees what the user and the model write, so it may send that only to
// this machine or to hosts that the user's own configuration names
// (hooks.allow_hosts). Secrets go into headers by ${NAME}, for names that the
// definition lists; none of their values comes back in a sentence or an answer.
//
// Threading: pure functions; post_webhook() blocks its caller.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/dialects/definition.h"
#include "core/dialects/dialect.h"
#include "core/dialects/webhook_rules.h"
#include "core/net/http.h"

namespace agentd {

// A variable of the environment; absent when it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

inline constexpr std::size_t kWebhookBodyMax = 1u << 20;  // of an answer

// POSTs `body` as application/json within the earlier of `deadline` and the
// hook's own timeout.
//   2xx                     kExited, code 0, `out` the body (empty for 204: no
//   opinion), cut at
//                           kWebhookBodyMax with out_over_cap
//   another status, 3xx too kExited, code 1, `err` "HTTP 503 from ..."
//   refused, unreachable, a broken answer, a header that cannot be made:
//   kNotStarted with `problem` the time is over        kTimedOut; cancelled:
//   kCancelled
// REQUIRES: hook.runs is kWebhook.
RawAnswer post_webhook(const HookDefinition& hook, std::string_view body, HttpClient& client, const WebhookRules& rules,
                       const VariableLookup& variable, const CancelToken& cancel, Deadline deadline,
                       const Clock& clock);

}  // namespace agentd
