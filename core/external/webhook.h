// SPDX-License-Identifier: Apache-2.0
#pragma once
// webhook.h - a hook at a URL: one POST, and its answer read like a program's.
//
// A hook sees the user's and the model's text, so it may send it only to this machine or to hosts that the user's own
// configuration names (hooks.allow_hosts). Secrets go into headers as ${NAME}, for names that the definition lists;
// their values never come back in messages or answers.
//
// Threading: pure functions; post_webhook() blocks its caller.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/dialects/definition.h"
#include "core/dialects/dialect.h"
#include "core/dialects/webhook_rules.h"
#include "core/net/http.h"

namespace agentd {

// Looks up a variable of the environment; absent if it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

inline constexpr std::size_t kWebhookBodyMax = 1u << 20;  // of an answer

// POSTs `body` as application/json within the earlier of `deadline` and the hook's own timeout.
//   2xx              kExited, code 0, `out` is the body, cut at kWebhookBodyMax with out_over_cap (204: empty)
//   other status     kExited, code 1, `err` is "HTTP 503 from ..."; redirects (3xx) are not followed
//   no answer        kNotStarted with `problem`: refused, unreachable, a malformed answer, an unusable header
//   out of time      kTimedOut
//   cancelled        kCancelled
// REQUIRES: hook.runs is kWebhook.
RawAnswer post_webhook(const HookDefinition& hook, std::string_view body, HttpClient& client, const WebhookRules& rules,
                       const VariableLookup& variable, const CancelToken& cancel, Deadline deadline,
                       const Clock& clock);

}  // namespace agentd
