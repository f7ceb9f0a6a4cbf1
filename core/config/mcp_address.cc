// SPDX-License-Identifier: Apache-2.0
#include "core/config/mcp_address.h"

#include <algorithm>
#include <cctype>

#include "core/base/bytes.h"
#include "core/codec/url.h"

namespace agentd {
namespace {

constexpr std::size_t kMixedMin = 16, kHexMin = 24;
constexpr std::string_view kHidden = "***", kScheme = "://";
constexpr std::string_view kSecretNames[] = {"token", "key", "secret", "pass", "pwd", "auth", "cred", "sig", "jwt"};
// Vendors' keys begin so. Source: their documentation.
constexpr std::string_view kSecretBegins[] = {"sk-", "pk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xox"};

bool is_secret_name(std::string_view name) {
  const std::string low = ascii_lower(name);
  return std::any_of(std::begin(kSecretNames), std::end(kSecretNames),
                     [&](std::string_view each) { return low.find(each) != std::string::npos; });
}

bool has(std::string_view text, int (*kind)(int)) {
  return std::any_of(text.begin(), text.end(), [&](unsigned char c) { return kind(c) != 0; });
}

// A word of letters in both cases with digits, or a long number of hexadecimal digits, was made by a machine.
bool looks_secret(std::string_view text) {
  const auto begins = [&](std::string_view each) { return text.starts_with(each); };
  if (std::any_of(std::begin(kSecretBegins), std::end(kSecretBegins), begins)) return true;
  const bool hexadecimal =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0 || c == '-'; });
  if (!has(text, std::isdigit)) return false;
  if (hexadecimal && text.size() >= kHexMin) return true;
  return text.size() >= kMixedMin && has(text, std::isupper) && has(text, std::islower);
}

// A part of a path or a query: "NAME=VALUE", or a text.
std::string shown_part(std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view value = equals == std::string_view::npos ? part : part.substr(equals + 1);
  const bool named = equals != std::string_view::npos && is_secret_name(part.substr(0, equals));
  if (value.empty() || is_only_variables(value) || !(named || looks_secret(value))) return std::string(part);
  return std::string(part.substr(0, part.size() - value.size())) + std::string(kHidden);
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
  const std::size_t path = std::min(url.find_first_of("/?#", begin), url.size());
  const std::string_view authority = url.substr(begin, path - begin);
  std::string out(url.substr(0, begin));
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos || is_only_variables(authority.substr(0, at)))
    out += authority;
  else
    out.append(kHidden).append(authority.substr(at));
  for (std::size_t from = path; from < url.size();) {
    out += url[from++];
    const std::size_t end = std::min(url.find_first_of("/?&#;", from), url.size());
    out += shown_part(url.substr(from, end - from));
    from = end;
  }
  return out;
}

bool is_only_variables(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    if (text.front() == ':') {
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find('}');
    if (!text.starts_with("${") || end == std::string_view::npos) return false;
    if (text.substr(0, end).find(":-") != std::string_view::npos) return false;  // its TEXT may be one
    text.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace agentd
