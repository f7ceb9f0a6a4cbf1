// SPDX-License-Identifier: Apache-2.0
#include "core/external/webhook.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/url.h"

namespace agentd {
namespace {

// Shorter values also occur in legitimate answers.
constexpr std::size_t kSecretBytesMin = 8;

using Header = std::pair<std::string, std::string>;

// Header names are case-insensitive.
bool is_content_type(std::string_view name) {
  constexpr std::string_view kName = "content-type";
  const auto same = [](char c, char wanted) {
    return (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) == wanted;
  };
  return std::equal(name.begin(), name.end(), kName.begin(), kName.end(), same);
}

// One request and its result.
class Call {
 public:
  Call(const HookDefinition& hook, const VariableLookup& variable) : hook_(hook), variable_(variable) {}

  Result<void> prepare(HttpRequest& request) {
    request.url = hook_.url;
    bool typed = false;
    for (const auto& [name, value] : hook_.headers) {
      AGENTD_TRY_VOID(check_webhook_header(name, value));
      AGENTD_TRY(std::string meant, expanded(name, value));
      typed = typed || is_content_type(name);
      request.headers.emplace_back(name, std::move(meant));
    }
    if (!typed) request.headers.emplace_back("content-type", "application/json");
    request.headers.emplace_back("accept", "application/json");
    request.headers.emplace_back("user-agent", "agentd");
    return {};
  }

  bool take(const HttpResponse& so_far, std::string_view bytes) {
    status_ = so_far.status;
    if (!succeeded()) return false;  // such an answer's body is not used
    const std::size_t room = kWebhookBodyMax - body_.size();
    body_ += bytes.substr(0, room);
    over_cap_ = bytes.size() > room;
    return !over_cap_;
  }

  RawAnswer answer(const Result<HttpResponse>& response, bool late, const std::string& place) {
    if (response) status_ = response->status;
    const bool answered = response || over_cap_ || (status_ != 0 && !succeeded());
    if (!answered) return failure(response.error(), late);
    RawAnswer out;
    out.http_status = status_;
    out.out_over_cap = over_cap_;
    if (succeeded()) {
      out.out = without_secrets(std::move(body_));
      return out;
    }
    out.code = 1;
    out.err = "HTTP " + std::to_string(status_) + " from " + place;
    if (status_ >= 300 && status_ < 400) out.err += ": redirects are not followed; set 'url' to the final address";
    return out;
  }

 private:
  bool succeeded() const { return status_ >= 200 && status_ < 300; }

  Result<std::string> expanded(const std::string& name, std::string_view value) {
    const std::string header = "the header '" + one_line(name, 60) + "' ";
    auto pieces = header_pieces(value, traits_of(hook_.dialect).bare_variables);
    if (!pieces) return Error{Code::kInvalid, header + "is not usable: " + pieces.error().message};
    std::string out;
    for (const HeaderPiece& piece : *pieces) {
      if (!piece.is_variable) {
        out += piece.text;
        continue;
      }
      const std::string wanted(piece.text);
      const auto& allowed = hook_.allowed_environment;
      if (std::find(allowed.begin(), allowed.end(), wanted) == allowed.end())
        return Error{Code::kDenied, header + "asks for " + wanted + ", which is not in allowed_environment"};
      const std::optional<std::string> found = variable_ ? variable_(wanted) : std::nullopt;
      if (!found)
        return Error{Code::kInvalid, header + "needs the environment variable " + wanted + ", which is not set"};
      if (found->find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
        return Error{Code::kInvalid,
                     header + "cannot carry the environment variable " + wanted + ": it has a line end or a zero byte"};
      if (found->size() >= kSecretBytesMin) secrets_.emplace_back(wanted, *found);
      out += *found;
    }
    return out;
  }

  // Removes secrets from text that may reach messages and logs: a server may echo its request.
  std::string without_secrets(std::string text) const {
    for (const auto& [name, value] : secrets_) {
      const std::string instead = "[" + name + "]";
      for (std::size_t at = text.find(value); at != std::string::npos; at = text.find(value, at + instead.size()))
        text.replace(at, value.size(), instead);
    }
    return text;
  }

  RawAnswer failure(const Error& error, bool late) const {
    RawAnswer out;
    out.end = error.code == Code::kCancelled ? RawAnswer::End::kCancelled
              : late                         ? RawAnswer::End::kTimedOut
                                             : RawAnswer::End::kNotStarted;
    if (out.end == RawAnswer::End::kNotStarted) out.problem = without_secrets(error.message);
    return out;
  }

  const HookDefinition& hook_;
  const VariableLookup& variable_;
  std::vector<Header> secrets_;  // name and value
  int status_ = 0;
  std::string body_;
  bool over_cap_ = false;
};

RawAnswer not_sent(const Error& error) {
  RawAnswer out;
  out.end = RawAnswer::End::kNotStarted;
  out.problem = error.message;
  return out;
}

}  // namespace

RawAnswer post_webhook(const HookDefinition& hook, std::string_view body, HttpClient& client, const WebhookRules& rules,
                       const VariableLookup& variable, const CancelToken& cancel, Deadline deadline,
                       const Clock& clock) {
  if (const auto allowed = check_webhook_url(hook.url, rules); !allowed) return not_sent(allowed.error());
  Call call(hook, variable);
  HttpRequest request;
  request.body = body;
  if (const auto ready = call.prepare(request); !ready) return not_sent(ready.error());
  if (hook.timeout) deadline.at_ns = std::min(deadline.at_ns, Deadline::after(clock, *hook.timeout).at_ns);
  const auto response = client.send(
      request, [&](const HttpResponse& so_far, std::string_view bytes) { return call.take(so_far, bytes); }, cancel,
      deadline);
  const auto url = parse_http_url(hook.url);
  return call.answer(response, deadline.passed(clock), url ? url->place() : "");
}

}  // namespace agentd
