// SPDX-License-Identifier: Apache-2.0
#include "core/cage/network.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/base/bytes.h"

namespace agentd::cage {
namespace {

constexpr std::size_t kHostMax = 253;

bool is_rule_host(std::string_view text) {
  return !text.empty() && text.size() <= kHostMax && std::all_of(text.begin(), text.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '-' || each == '.' || each == '_' || each == ':';
  });
}

bool is_web(std::uint16_t port) { return port == 80 || port == 443; }

Error no_host(const std::string& text) {
  return {Code::kInvalid, "sandbox.network: '" + text +
                              "' is no host: write example.org, *.example.org, or with a port "
                              "example.org:8080"};
}

}  // namespace

Result<NetworkRules> NetworkRules::parse(const std::vector<std::string>& texts) {
  NetworkRules out;
  for (const std::string& text : texts) {
    Rule rule;
    std::string host = ascii_lower(text);
    if (host == "all")
      return Error{Code::kInvalid,
                   "sandbox.network: 'all' means every host and stands alone: write [all], or name the hosts"};
    std::string port;
    if (host.starts_with('[')) {
      const std::size_t end = host.find(']');
      if (end == std::string::npos) return no_host(text);
      if (end + 1 < host.size() && host[end + 1] != ':') return no_host(text);
      port = end + 1 < host.size() ? host.substr(end + 2) : "";
      host = host.substr(1, end - 1);
    } else if (const std::size_t colon = host.find(':'); colon != std::string::npos && host.rfind(':') == colon) {
      port = host.substr(colon + 1);
      host.resize(colon);
      if (port.empty()) return no_host(text);
    }
    if (!port.empty()) {
      const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), rule.port);
      if (failed != std::errc() || end != port.data() + port.size() || rule.port == 0) return no_host(text);
    }
    rule.below = host == "*" || host.starts_with("*.");
    if (rule.below) host.erase(0, host == "*" ? 1 : 2);
    if (!(rule.below && host.empty()) && !is_rule_host(host)) return no_host(text);
    rule.host = std::move(host);
    out.rules_.push_back(std::move(rule));
  }
  return out;
}

bool NetworkRules::fits(const Rule& rule, std::uint16_t port) {
  return rule.port == 0 ? is_web(port) : rule.port == port;
}

bool NetworkRules::allows(const NetworkRequest& request) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    if (!fits(rule, request.port)) return false;
    if (!rule.below) return rule.host == request.host;
    return rule.host.empty() || request.host.ends_with("." + rule.host);
  });
}

bool NetworkRules::names(const NetworkRequest& request) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return fits(rule, request.port) && !rule.below && rule.host == request.host;
  });
}

bool NetworkRules::name_this_machine() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const Rule& rule) {
    return !rule.below && (rule.host == "localhost" || rule.host == "::1" || rule.host.starts_with("127."));
  });
}

std::string rule_for(const NetworkRequest& request) {
  const bool bare = request.host.find(':') != std::string::npos;
  const std::string host = bare ? "'[" + request.host + "]" : request.host;
  const std::string port = is_web(request.port) ? "" : ":" + std::to_string(request.port);
  return host + port + (bare ? "'" : "");
}

}  // namespace agentd::cage
