// SPDX-License-Identifier: Apache-2.0
#include "core/cage/proxy_protocol.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

namespace agentd::cage {
namespace {

Error wrong(std::string_view what) { return {Code::kInvalid, "a proxy request " + std::string(what)}; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& each : out) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  while (out.ends_with('.')) out.pop_back();
  return out;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '-' || each == '.' || each == '_' || each == ':';
  });
}

// "host", "host:port", "[address]:port".
Result<NetworkRequest> parse_host(std::string_view text, std::uint16_t port) {
  std::string_view host = text, number;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong("has no host");
    host = text.substr(1, end - 1);
    number = text.substr(end + 1);
  } else if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    number = text.substr(colon);
  }
  NetworkRequest out{lower(host), port};
  if (!number.empty()) {
    const auto [end, failed] = std::from_chars(number.data() + 1, number.data() + number.size(), out.port);
    if (number.front() != ':' || failed != std::errc() || end != number.data() + number.size())
      return wrong("has no port");
  }
  if (!is_name(out.host) || out.port == 0) return wrong("has no host");
  return out;
}

// Headers between a client and its proxy are not the host's.
bool is_for_proxy(std::string_view line) {
  const std::string name = lower(line.substr(0, line.find(':')));
  return name.starts_with("proxy-") || name == "connection" || name == "keep-alive";
}

// The request as the host gets it: one for each connection, so that the next cannot mean another host.
Result<std::optional<Opening>> parse_request(std::string_view method, std::string_view target, std::string_view version,
                                             std::string_view headers, std::string_view rest) {
  constexpr std::string_view kScheme = "http://";
  if (lower(target.substr(0, kScheme.size())) != kScheme) return wrong("has no whole address");
  target.remove_prefix(kScheme.size());
  const std::size_t slash = std::min(target.find_first_of("/?"), target.size());
  std::string_view host = target.substr(0, slash);
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  AGENTD_TRY(NetworkRequest to, parse_host(host, 80));
  const std::string path(target.substr(slash));
  std::string forward =
      std::string(method) + " " + (path.starts_with('/') ? "" : "/") + path + " " + std::string(version) + "\r\n";
  while (!headers.empty()) {
    const std::size_t end = std::min(headers.find("\r\n"), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + 2, headers.size()));
    if (!line.empty() && !is_for_proxy(line)) forward.append(line).append("\r\n");
  }
  forward.append("Connection: close\r\n\r\n").append(rest);
  return std::optional<Opening>({Opening::Kind::kRequest, std::move(to), std::move(forward)});
}

}  // namespace

Result<std::optional<Opening>> parse_http(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (text.size() > kHeadMax) return wrong("is too long");
    return std::optional<Opening>();
  }
  const std::string_view head = text.substr(0, end), rest = text.substr(end + 4);
  const std::size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = head.substr(0, line_end);
  const std::size_t first = line.find(' '), second = line.rfind(' ');
  if (first == std::string_view::npos || first == second || !line.substr(second + 1).starts_with("HTTP/1."))
    return wrong("is not HTTP/1");
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, second - first - 1);
  if (method != "CONNECT")
    return parse_request(method, target, line.substr(second + 1), head.substr(std::min(line_end + 2, head.size())),
                         rest);
  AGENTD_TRY(NetworkRequest to, parse_host(target, 0));
  return std::optional<Opening>({Opening::Kind::kConnect, std::move(to), std::string(rest)});
}

std::size_t socks_greeting_bytes(std::string_view text) {
  if (text.size() < 2) return 0;
  const std::size_t bytes = 2 + static_cast<unsigned char>(text[1]);
  return text.size() >= bytes ? bytes : 0;
}

Result<std::optional<Opening>> parse_socks(std::string_view text) {
  constexpr char kVersion = 5, kConnect = 1, kIpv4 = 1, kName = 3, kIpv6 = 4;
  if (text.size() < 5) return std::optional<Opening>();
  if (text[0] != kVersion || text[1] != kConnect) return wrong("of SOCKS is not for a connection");
  const char kind = text[3];
  const std::size_t begin = kind == kName ? 5 : 4;
  const std::size_t bytes = kind == kIpv4   ? 4
                            : kind == kIpv6 ? 16
                            : kind == kName ? static_cast<unsigned char>(text[4])
                                            : 0;
  if (bytes == 0) return wrong("of SOCKS has no host");
  if (text.size() < begin + bytes + 2) return std::optional<Opening>();
  NetworkRequest to;
  if (kind == kName) {
    to.host = lower(text.substr(begin, bytes));
  } else {
    std::array<char, INET6_ADDRSTRLEN> shown{};
    (void)::inet_ntop(kind == kIpv4 ? AF_INET : AF_INET6, text.data() + begin, shown.data(), shown.size());
    to.host = shown.data();
  }
  const auto high = static_cast<unsigned char>(text[begin + bytes]);
  const auto low = static_cast<unsigned char>(text[begin + bytes + 1]);
  to.port = static_cast<std::uint16_t>(high << 8 | low);
  if (!is_name(to.host) || to.port == 0) return wrong("of SOCKS has no host");
  return std::optional<Opening>({Opening::Kind::kSocks, std::move(to), std::string(text.substr(begin + bytes + 2))});
}

std::string answer_to(Opening::Kind kind, Outcome outcome, const std::string& reason) {
  if (kind == Opening::Kind::kSocks) {
    const char code = outcome == Outcome::kConnected ? 0 : outcome == Outcome::kRefused ? 2 : 4;
    return std::string({5, code, 0, 1, 0, 0, 0, 0, 0, 0});
  }
  if (outcome == Outcome::kConnected)
    return kind == Opening::Kind::kConnect ? "HTTP/1.1 200 Connection established\r\n\r\n" : "";
  const std::string status = outcome == Outcome::kRefused ? "403 Forbidden" : "502 Bad Gateway";
  const std::string body = "agentd: " + reason + "\n";
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

}  // namespace agentd::cage
