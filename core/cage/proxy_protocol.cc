// SPDX-License-Identifier: Apache-2.0
#include "core/cage/proxy_protocol.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

#include "core/base/bytes.h"

namespace agentd::cage {
namespace {

Error bad_request(std::string_view what) { return {Code::kInvalid, "a proxy request " + std::string(what)}; }

// A name's end in the root zone means the same host.
std::string host_of(std::string_view text) {
  std::string out = ascii_lower(text);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

// The whole text, and not what is in front of a NUL.
bool is_ipv6(const std::string& text) {
  std::array<unsigned char, 16> out{};
  return text.find('\0') == std::string::npos && ::inet_pton(AF_INET6, text.c_str(), out.data()) == 1;
}

// A name, an address of version 4, or one of version 6 without a zone.
bool is_requested_host(const std::string& text) {
  if (text.find(':') != std::string::npos) return is_ipv6(text);
  return !text.empty() && text.size() <= 253 && text[0] != '.' && text.find("..") == std::string::npos &&
         std::all_of(text.begin(), text.end(), [](unsigned char each) {
           return (each < 0x80 && std::isalnum(each) != 0) || each == '-' || each == '.' || each == '_';
         });
}

// "host", "host:port", "[address]:port".
Result<NetworkRequest> parse_host(std::string_view text, std::uint16_t port) {
  std::string_view host = text, number;
  const bool bracketed = text.starts_with('[');
  if (bracketed) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_request("has no host");
    host = text.substr(1, end - 1);
    number = text.substr(end + 1);
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    number = text.substr(colon);
  }
  NetworkRequest out{host_of(host), port};
  if (!number.empty()) {
    const auto [end, failed] = std::from_chars(number.data() + 1, number.data() + number.size(), out.port);
    if (number.front() != ':' || failed != std::errc() || end != number.data() + number.size())
      return bad_request("has no port");
  }
  if (!is_requested_host(out.host) || bracketed != (out.host.find(':') != std::string::npos))
    return bad_request("has no host");
  if (out.port == 0) return bad_request("has no port");
  return out;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char each) {
    return each > 0x20 && each < 0x7f &&
           std::string_view("\"(),/:;<=>?@[\\]{}").find(static_cast<char>(each)) == std::string_view::npos;
  });
}

// Headers between a client and its proxy are not the host's; its name comes from the address.
bool is_for_proxy(std::string_view name) {
  return name.starts_with("proxy-") || name == "connection" || name == "keep-alive" || name == "host";
}

// The headers for the host. What two readers could understand in two ways is refused: folded lines, names with blanks,
// two lengths (RFC 9112, sections 5.1, 5.2 and 6.3).
Result<std::string> headers_for_host(std::string_view headers) {
  std::string out;
  int lengths = 0;
  while (!headers.empty()) {
    const std::size_t end = std::min(headers.find("\r\n"), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + 2, headers.size()));
    const std::string name = ascii_lower(line.substr(0, line.find(':')));
    if (line.find(':') == std::string_view::npos || !is_token(name)) return bad_request("has a header that is none");
    if (name == "content-length" || name == "transfer-encoding") ++lengths;
    if (!is_for_proxy(name)) out.append(line).append("\r\n");
  }
  if (lengths > 1) return bad_request("has two lengths");
  return out;
}

// The request as the host gets it: one for each connection, so that the next cannot mean another host.
Result<std::optional<Opening>> parse_request(std::string_view method, std::string_view target, std::string_view version,
                                             std::string_view headers, std::string_view rest) {
  constexpr std::string_view kScheme = "http://";
  if (ascii_lower(target.substr(0, kScheme.size())) != kScheme) return bad_request("has no whole address");
  target.remove_prefix(kScheme.size());
  const std::size_t slash = std::min(target.find_first_of("/?"), target.size());
  const std::string_view host = target.substr(0, slash);
  AGENTD_TRY(NetworkRequest to, parse_host(host, 80));
  AGENTD_TRY(const std::string kept, headers_for_host(headers));
  const std::string path(target.substr(slash));
  std::string forward =
      std::string(method) + " " + (path.starts_with('/') ? "" : "/") + path + " " + std::string(version) + "\r\n";
  forward.append("Host: ").append(host).append("\r\n").append(kept);
  forward.append("Connection: close\r\n\r\n").append(rest);
  return std::optional<Opening>({Opening::Kind::kRequest, std::move(to), std::move(forward)});
}

// Lines end with CR and LF, and have no other control character but a tab.
bool has_plain_lines(std::string_view head) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    const auto each = static_cast<unsigned char>(head[i]);
    if (each == '\r' && i + 1 < head.size() && head[i + 1] == '\n')
      ++i;
    else if ((each < 0x20 && each != '\t') || each == 0x7f)
      return false;
  }
  return true;
}

}  // namespace

Result<std::optional<Opening>> parse_http(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (text.size() > kHeadMax) return bad_request("is too long");
    return std::optional<Opening>();
  }
  if (end > kHeadMax) return bad_request("is too long");
  const std::string_view head = text.substr(0, end), rest = text.substr(end + 4);
  if (!has_plain_lines(head)) return bad_request("has a character that none may have");
  const std::size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = head.substr(0, line_end), headers = head.substr(std::min(line_end + 2, head.size()));
  const std::size_t first = line.find(' '), second = line.rfind(' ');
  if (first == std::string_view::npos || first == second) return bad_request("is not HTTP/1");
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad_request("is not HTTP/1");
  if (!is_token(method) || target.find(' ') != std::string_view::npos) return bad_request("is not HTTP/1");
  if (method != "CONNECT") return parse_request(method, target, version, headers, rest);
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
  if (text[0] != kVersion || text[1] != kConnect) return bad_request("of SOCKS is not for a connection");
  const char kind = text[3];
  const std::size_t begin = kind == kName ? 5 : 4;
  const std::size_t bytes = kind == kIpv4   ? 4
                            : kind == kIpv6 ? 16
                            : kind == kName ? static_cast<unsigned char>(text[4])
                                            : 0;
  if (bytes == 0) return bad_request("of SOCKS has no host");
  if (text.size() < begin + bytes + 2) return std::optional<Opening>();
  NetworkRequest to;
  if (kind == kName) {
    to.host = host_of(text.substr(begin, bytes));
  } else {
    std::array<char, INET6_ADDRSTRLEN> shown{};
    (void)::inet_ntop(kind == kIpv4 ? AF_INET : AF_INET6, text.data() + begin, shown.data(), shown.size());
    to.host = shown.data();
  }
  const auto high = static_cast<unsigned char>(text[begin + bytes]);
  const auto low = static_cast<unsigned char>(text[begin + bytes + 1]);
  to.port = static_cast<std::uint16_t>(high << 8 | low);
  if (!is_requested_host(to.host) || to.port == 0) return bad_request("of SOCKS has no host");
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
