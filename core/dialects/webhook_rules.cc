// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/webhook_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "core/codec/url.h"

namespace agentd {
namespace {

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "localhost" needs no lookup: libcurl never asks a server for it.
bool is_this_machine(const HttpUrl& url) {
  in_addr four{};
  if (::inet_pton(AF_INET, url.host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return url.host == "localhost" || url.host == "::1";
}

struct HostRule {
  std::string host, port;  // empty port = any
};

// "example.com:8443", "[::1]:8080", "::1".
HostRule host_rule(std::string_view text) {
  const bool bracket = !text.empty() && text.front() == '[';
  const std::size_t close = bracket ? text.find(']') : std::string_view::npos;
  const std::size_t colon = text.find(':', close == std::string_view::npos ? 0 : close);
  const bool six = !bracket && colon != text.rfind(':');
  HostRule out{ascii_lower(text), {}};
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
  return below.size() > 1 && host.size() > below.size() && host.substr(host.size() - below.size()) == below;
}

bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_word_byte(c) || kMarks.find(c) != std::string_view::npos;
  });
}

std::size_t name_end(std::string_view value, std::size_t at) {
  while (at < value.size() && is_word_byte(value[at])) ++at;
  return at;
}

}  // namespace

Result<std::vector<HeaderPiece>> header_pieces(std::string_view value, bool bare) {
  std::vector<HeaderPiece> out;
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

Result<void> check_webhook_url(std::string_view url, const WebhookRules& rules) {
  AGENTD_TRY(const HttpUrl parsed, parse_http_url(url));
  if (is_this_machine(parsed)) return {};
  for (const std::string& rule : rules.allowed_hosts)
    if (allows(rule, parsed)) return {};
  return Error{Code::kDenied, "a webhook may not reach " + one_line(parsed.place(), 100) +
                                  ": it is not on this machine; to allow it, add '" + one_line(parsed.host, 100) +
                                  "' to hooks.allow_hosts"};
}

Result<std::vector<std::string>> variables_in(std::string_view value) {
  AGENTD_TRY(const std::vector<HeaderPiece> pieces, header_pieces(value, false));
  std::vector<std::string> names;
  for (const HeaderPiece& piece : pieces)
    if (piece.is_variable) names.emplace_back(piece.text);
  return names;
}

Result<void> check_webhook_header(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 6> kFraming{"host",    "connection", "content-length",
                                                     "upgrade", "expect",     "transfer-encoding"};
  const std::string shown = "the header '" + one_line(name, 60) + "' ";
  if (!is_token(name)) return Error{Code::kInvalid, shown + "has an invalid name"};
  if (std::find(kFraming.begin(), kFraming.end(), ascii_lower(name)) != kFraming.end())
    return Error{Code::kInvalid, shown + "belongs to the connection and cannot be set"};
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
    return Error{Code::kInvalid, shown + "has a line end or a zero byte"};
  return {};
}

}  // namespace agentd
