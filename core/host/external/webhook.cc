// SPDX-License-Identifier: Apache-2.0
#include "core/host/external/webhook.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/bytes.h"
#include "core/net/url.h"

namespace agentd {
namespace {

// Shorter values stand in honest answers too.
constexpr std::size_t kSecretBytesMin = 8;

using Header = std::pair<std::string, std::string>;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The name of localhost needs no look: libcurl never asks a server for it.
bool is_this_machine(const HttpUrl& url) {
  in_addr four{};
  if (::inet_pton(AF_INET, url.host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return url.host == "localhost" || url.host == "::1";
}

struct HostRule {
  std::string host, port;  // no port = each
};

// "example.com:8443", "[::1]:8080", "::1".
HostRule host_rule(std::string_view text) {
  const bool bracket = !text.empty() && text.front() == '[';
  const std::size_t close = bracket ? text.find(']') : std::string_view::npos;
  const std::size_t colon = text.find(':', close == std::string_view::npos ? 0 : close);
  const bool six = !bracket && colon != text.rfind(':');
  HostRule out{lower_case(text), {}};
  if (!six && colon != std::string_view::npos) {
    out.port = std::string(text.substr(colon + 1));
    out.host.resize(colon);
  }
  if (close != std::string_view::npos) out.host = out.host.substr(1, close - 1);
  return out;
}

bool allows(std::string_view text, const HttpUrl& url) {
  const HostRule rule = host_rule(text);
  const std::string_view standard = url.secure ? "443" : "80";
  if (!rule.port.empty() && rule.port != (url.port.empty() ? standard : url.port)) return false;
  if (rule.host.substr(0, 2) != "*.") return !rule.host.empty() && rule.host == url.host;
  const std::string_view below = std::string_view(rule.host).substr(1);  // ".example.com"
  const std::string_view host = url.host;
  return below.size() > 1 && host.size() > below.size() &&
         host.substr(host.size() - below.size()) == below;
}

bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_name_byte(c) || kMarks.find(c) != std::string_view::npos;
  });
}

struct Piece {
  std::string_view text;
  bool is_variable = false;
};

std::size_t name_end(std::string_view value, std::size_t at) {
  while (at < value.size() && is_name_byte(value[at])) ++at;
  return at;
}

// `bare`: $NAME is a variable too, as claude reads it.
Result<std::vector<Piece>> pieces_of(std::string_view value, bool bare) {
  std::vector<Piece> out;
  std::size_t plain = 0;
  for (std::size_t at = value.find('$'); at != std::string_view::npos; at = value.find('$', at)) {
    const bool braces = at + 1 < value.size() && value[at + 1] == '{';
    const std::size_t begin = at + (braces ? 2 : 1), end = name_end(value, begin);
    const bool named = end > begin && (value[begin] < '0' || value[begin] > '9');
    if (braces && (!named || end == value.size() || value[end] != '}'))
      return Error{Code::kInvalid, "'${' must be followed by the name of a variable and '}'"};
    if (!braces && !(bare && named)) {
      ++at;
      continue;
    }
    out.push_back({value.substr(plain, at - plain), false});
    out.push_back({value.substr(begin, end - begin), true});
    plain = at = end + (braces ? 1 : 0);
  }
  out.push_back({value.substr(plain), false});
  return out;
}

// One request and what became of it.
class Call {
 public:
  Call(const HookDefinition& hook, const VariableLookup& variable)
      : hook_(hook), variable_(variable) {}

  Result<void> prepare(HttpRequest& request) {
    request.url = hook_.url;
    bool typed = false;
    for (const auto& [name, value] : hook_.headers) {
      AGENTD_TRY_VOID(check_webhook_header(name, value));
      AGENTD_TRY(std::string meant, expanded(name, value));
      typed = typed || lower_case(name) == "content-type";
      request.headers.emplace_back(name, std::move(meant));
    }
    if (!typed) request.headers.emplace_back("content-type", "application/json");
    request.headers.emplace_back("accept", "application/json");
    request.headers.emplace_back("user-agent", "agentd");
    return {};
  }

  bool take(const HttpResponse& so_far, std::string_view bytes) {
    status_ = so_far.status;
    if (!succeeded()) return false;  // nobody reads what stands behind such a status
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
    if (status_ >= 300 && status_ < 400)
      out.err += ": redirects are not followed; set 'url' to the final address";
    return out;
  }

 private:
  bool succeeded() const { return status_ >= 200 && status_ < 300; }

  Result<std::string> expanded(const std::string& name, std::string_view value) {
    const std::string header = "the header '" + one_line(name, 60) + "' ";
    auto pieces = pieces_of(value, hook_.dialect == Dialect::kClaude);
    if (!pieces) return Error{Code::kInvalid, header + "is not usable: " + pieces.error().message};
    std::string out;
    for (const Piece& piece : *pieces) {
      if (!piece.is_variable) {
        out += piece.text;
        continue;
      }
      const std::string wanted(piece.text);
      const auto& allowed = hook_.allowed_environment;
      if (std::find(allowed.begin(), allowed.end(), wanted) == allowed.end())
        return Error{Code::kDenied,
                     header + "asks for " + wanted + ", which is not in allowed_environment"};
      const std::optional<std::string> found = variable_ ? variable_(wanted) : std::nullopt;
      if (!found)
        return Error{Code::kInvalid,
                     header + "needs the environment variable " + wanted + ", which is not set"};
      if (found->find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
        return Error{Code::kInvalid, header + "cannot carry the environment variable " + wanted +
                                         ": it holds a line end or a zero byte"};
      if (found->size() >= kSecretBytesMin) secrets_.push_back({wanted, *found});
      out += *found;
    }
    return out;
  }

  // A server may send back what it got; from there it would go into sentences
  // and logs.
  std::string without_secrets(std::string text) const {
    for (const auto& [name, value] : secrets_) {
      const std::string instead = "[" + name + "]";
      for (std::size_t at = text.find(value); at != std::string::npos;
           at = text.find(value, at + instead.size()))
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

RawAnswer not_started(const Error& error) {
  RawAnswer out;
  out.end = RawAnswer::End::kNotStarted;
  out.problem = error.message;
  return out;
}

}  // namespace

Result<void> check_webhook_url(std::string_view url, const WebhookRules& rules) {
  AGENTD_TRY(const HttpUrl parsed, parse_http_url(url));
  if (is_this_machine(parsed)) return {};
  for (const std::string& rule : rules.allowed_hosts)
    if (allows(rule, parsed)) return {};
  return Error{Code::kDenied, "a webhook may not reach " + one_line(parsed.place(), 100) +
                                  ": it is not this machine; to allow it, add '" +
                                  one_line(parsed.host, 100) + "' to hooks.allow_hosts"};
}

Result<std::vector<std::string>> variables_in(std::string_view value) {
  AGENTD_TRY(const std::vector<Piece> pieces, pieces_of(value, false));
  std::vector<std::string> names;
  for (const Piece& piece : pieces)
    if (piece.is_variable) names.emplace_back(piece.text);
  return names;
}

Result<void> check_webhook_header(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 6> kFraming{"host",    "connection", "content-length",
                                                     "upgrade", "expect",     "transfer-encoding"};
  const std::string shown = "the header '" + one_line(name, 60) + "' ";
  if (!is_token(name)) return Error{Code::kInvalid, shown + "has a name that no header may have"};
  if (std::find(kFraming.begin(), kFraming.end(), lower_case(name)) != kFraming.end())
    return Error{Code::kInvalid, shown + "belongs to the connection and cannot be set"};
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
    return Error{Code::kInvalid, shown + "holds a line end or a zero byte"};
  return {};
}

RawAnswer post_webhook(const HookDefinition& hook, std::string_view body, HttpClient& client,
                       const WebhookRules& rules, const VariableLookup& variable,
                       const CancelToken& cancel, Deadline deadline, const Clock& clock) {
  if (const auto allowed = check_webhook_url(hook.url, rules); !allowed)
    return not_started(allowed.error());
  Call call(hook, variable);
  HttpRequest request;
  request.body = body;
  if (const auto ready = call.prepare(request); !ready) return not_started(ready.error());
  if (hook.timeout)
    deadline.at_ns = std::min(deadline.at_ns, Deadline::after(clock, *hook.timeout).at_ns);
  const auto response = client.send(
      request,
      [&](const HttpResponse& so_far, std::string_view bytes) { return call.take(so_far, bytes); },
      cancel, deadline);
  const auto url = parse_http_url(hook.url);
  return call.answer(response, deadline.passed(clock), url ? url->place() : "");
}

}  // namespace agentd
