// SPDX-License-Identifier: Apache-2.0
#include "core/config/mcp_address.h"

#include <algorithm>

#include "core/codec/url.h"
#include "core/config/secret_words.h"

namespace agentd {
namespace {

constexpr std::string_view kScheme = "://";

// A part of a path or a query: "NAME=VALUE", or a text.
std::string shown_part(std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view value = equals == std::string_view::npos ? part : part.substr(equals + 1);
  const bool named = equals != std::string_view::npos && is_secret_name(part.substr(0, equals));
  if (value.empty() || !(named || looks_secret(value))) return std::string(part);
  return std::string(part.substr(0, part.size() - value.size())) + without_literals(value);
}

// The beginning of the host with its port and, before an '@', the user.
std::size_t authority_begin(std::string_view url) {
  const std::size_t scheme = url.find(kScheme);
  return scheme == std::string_view::npos ? 0 : scheme + kScheme.size();
}

}  // namespace

Result<void> check_mcp_url(std::string_view url) {
  const std::size_t begin = authority_begin(url), variable = url.find("${");
  std::string judged(url);
  if (variable != std::string_view::npos) {
    if (variable < begin || begin == 0) return {};  // its scheme, or all of it
    const bool of_host = variable < std::min(url.find_first_of("/?#", begin), url.size());
    judged = std::string(url.substr(0, of_host ? begin : variable)) + (of_host ? "localhost" : "");
  }
  AGENTD_TRY(const HttpUrl parts, parse_http_url(judged));
  if (parts.secure || parts.loopback()) return {};
  return Error{Code::kInvalid, "must be https, or http on this machine"};
}

std::string shown_mcp_url(std::string_view url) {
  const std::size_t begin = authority_begin(url);
  const std::size_t path = std::min(find_outside_variables(url, "/?#", begin), url.size());
  const std::string_view authority = url.substr(begin, path - begin);
  std::string out(url.substr(0, begin));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) out += without_literals(authority.substr(0, at));
  out += authority.substr(at == std::string_view::npos ? 0 : at);
  for (std::size_t from = path; from < url.size();) {
    out += url[from++];
    const std::size_t end = std::min(find_outside_variables(url, "/?&#;", from), url.size());
    out += shown_part(url.substr(from, end - from));
    from = end;
  }
  return out;
}

}  // namespace agentd
