// SPDX-License-Identifier: Apache-2.0
#include "plugins/web_fetch/fetch.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/url.h"
#include "plugins/web_fetch/page.h"

namespace web_fetch {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::HttpResponse;
using agentd::HttpUrl;
using agentd::Result;

constexpr int kRedirectsMax = 5;
constexpr std::size_t kUrlBytesMax = 8'000;
constexpr std::uint64_t kTextBytesMax = 2u << 20;
constexpr std::uint64_t kImageBytesMax = (5u << 20) / 4 * 3;  // 5 MiB as base64, which every vendor accepts
constexpr std::uint64_t kDocumentBytesMax = 10u << 20;
constexpr agentd::Milliseconds kSilence{15'000};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string type_of(const HttpResponse& response) {
  const std::string_view whole = response.header("content-type");
  return agentd::ascii_lower(trimmed(whole.substr(0, whole.find(';'))));
}

std::string charset_of(const HttpResponse& response) {
  const std::string whole = agentd::ascii_lower(response.header("content-type"));
  const std::size_t at = whole.find("charset=");
  if (at == std::string::npos) return {};
  std::string out(trimmed(std::string_view(whole).substr(at + 8, whole.find(';', at) - at - 8)));
  std::erase(out, '"');
  const bool plain = std::all_of(out.begin(), out.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
  });
  return plain && out.size() <= 40 ? out : std::string();
}

Result<HttpUrl> checked(std::string_view url, const HostRules& rules) {
  if (url.size() > kUrlBytesMax) return Error{Code::kInvalid, "the URL is too long"};
  AGENTD_TRY(HttpUrl parsed, agentd::parse_http_url(url));
  const std::size_t begin = url.find("://") + 3;
  if (url.substr(begin, url.find_first_of("/?#", begin) - begin).find('@') != std::string_view::npos)
    return Error{Code::kInvalid, "a URL with a user name or a password is not fetched"};
  AGENTD_TRY_VOID(rules.check(parsed.host));
  return parsed;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// One request. What its body is longer than that is not kept.
Result<Fetched> get(agentd::HttpClient& client, const HostRules& rules, const HttpUrl& parsed, const std::string& url,
                    agentd::Deadline deadline, const std::function<bool()>& stop, bool by_proxy) {
  agentd::HttpRequest request;
  request.method = "GET";
  request.url = url;
  request.headers = {{"User-Agent", "agentd-web-fetch/1"},
                     {"Accept", "text/html, text/markdown, text/plain, application/json, */*;q=0.5"}};
  request.idle_timeout = kSilence;
  request.only_by_proxy = by_proxy && !rules.is_private(parsed.host);
  if (request.only_by_proxy)
    AGENTD_TRY_VOID(rules.check_for_proxy(parsed.host));
  else
    request.may_connect = [&](const sockaddr& address) { return rules.may_connect(parsed.host, address); };
  Fetched out;
  HttpResponse head;
  const auto take = [&](const HttpResponse& so_far, std::string_view bytes) {
    if (stop()) return false;
    if (head.status == 0) head = so_far;
    const std::uint64_t room = bytes_max_of(type_of(so_far)) - out.body.size();
    out.cut = bytes.size() > room;
    out.body += bytes.substr(0, std::min<std::uint64_t>(room, bytes.size()));
    return !out.cut;
  };
  auto sent = client.send(request, take, agentd::CancelToken(), deadline);
  if (!sent && !out.cut) return sent.error();
  if (sent) head = std::move(*sent);
  out.url = url;
  out.status = head.status;
  out.type = type_of(head);
  out.charset = charset_of(head);
  if (is_redirect(head.status)) out.to = resolved_url(url, head.header("location"));
  return out;
}

}  // namespace

std::uint64_t bytes_max_of(std::string_view type) {
  if (type.starts_with("image/")) return kImageBytesMax;
  return type == "application/pdf" ? kDocumentBytesMax : kTextBytesMax;
}

Result<Fetched> fetch(agentd::HttpClient& client, const HostRules& rules, std::string url, agentd::Deadline deadline,
                      const std::function<bool()>& stop, bool by_proxy) {
  url = url.substr(0, url.find('#'));
  for (int redirects = 0; redirects <= kRedirectsMax; ++redirects) {
    AGENTD_TRY(const HttpUrl parsed, checked(url, rules));
    AGENTD_TRY(Fetched got, get(client, rules, parsed, url, deadline, stop, by_proxy));
    if (got.to.empty()) return got;
    const auto next = agentd::parse_http_url(got.to);
    if (!next) return next.error().with_context(parsed.place() + " redirects to another place");
    if (next->host != parsed.host || next->port != parsed.port || (parsed.secure && !next->secure)) return got;
    url = got.to;
  }
  return Error{Code::kUnavailable, "the page redirects more than " + std::to_string(kRedirectsMax) + " times"};
}

}  // namespace web_fetch
