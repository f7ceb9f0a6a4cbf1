// SPDX-License-Identifier: Apache-2.0
#include "core/codec/url.h"

#include <algorithm>
#include <charconv>

#include "core/base/bytes.h"

namespace agentd {
namespace {

Error bad_url(std::string_view url, std::string_view why) {
  // The text before an @ may be a password, and a query may have keys.
  const std::size_t at = url.find('@');
  const std::string_view rest = at == std::string_view::npos ? url : url.substr(at + 1);
  const std::string_view shown = rest.substr(0, rest.find('?'));
  return {Code::kInvalid, "'" + one_line(shown, 100) + "' is not a usable URL: " + std::string(why)};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Or none.
bool is_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return text.empty() || (error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 65'535);
}

bool take_prefix(std::string_view& text, std::string_view lower_case) {
  if (text.size() < lower_case.size()) return false;
  for (std::size_t i = 0; i < lower_case.size(); ++i)
    if (lower(text[i]) != lower_case[i]) return false;
  text.remove_prefix(lower_case.size());
  return true;
}

}  // namespace

bool HttpUrl::loopback() const {
  if (host == "localhost" || host == "::1") return true;
  return host.substr(0, 4) == "127." && host.find_first_not_of("0123456789.") == std::string::npos;
}

std::string HttpUrl::place() const {
  const bool six = host.find(':') != std::string::npos;
  const std::string name = six ? "[" + host + "]" : host;
  return port.empty() ? name : name + ":" + port;
}

Result<HttpUrl> parse_http_url(std::string_view url) {
  const bool odd = std::any_of(url.begin(), url.end(),
                               [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '\\'; });
  if (odd) return bad_url(url, "it contains a space or a control character");
  HttpUrl out;
  std::string_view rest = url;
  if (take_prefix(rest, "https://"))
    out.secure = true;
  else if (!take_prefix(rest, "http://"))
    return bad_url(url, "it must begin with https:// or http://");
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  const std::size_t bracket = authority.find(']');
  const bool six = !authority.empty() && authority.front() == '[' && bracket != std::string_view::npos;
  const std::size_t colon = authority.find(':', six ? bracket : 0);
  std::string_view host = authority.substr(0, colon);
  if (six) host = authority.substr(1, bracket - 1);
  if (host.empty()) return bad_url(url, "the host is missing");
  if (colon != std::string_view::npos) out.port = std::string(authority.substr(colon + 1));
  if (!is_port(out.port)) return bad_url(url, "its port is not a number from 1 to 65535");
  out.host.resize(host.size());
  std::transform(host.begin(), host.end(), out.host.begin(), lower);
  return out;
}

}  // namespace agentd
