// SPDX-License-Identifier: Apache-2.0
#include "plugins/web_fetch/hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace web_fetch {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonView;
using agentd::Result;

constexpr std::size_t kPatternsMax = 1'000;
constexpr unsigned kBitsOfFour = 96;  // before the IPv4 address

struct Range {
  const char* network;
  unsigned bits;
};
constexpr Range kSpecialFour[] = {{"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
                                  {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
                                  {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
                                  {"203.0.113.0", 24}, {"224.0.0.0", 4},    {"240.0.0.0", 4}};
// Within 2000::/3, the only public part of IPv6: Teredo and others, documentation, 6to4, SRv6.
constexpr Range kSpecialSix[] = {{"2001::", 23}, {"2001:db8::", 32}, {"2002::", 16}, {"3fff::", 20}};

bool starts_with(const Address& address, const Address& network, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (std::memcmp(address.data(), network.data(), whole) != 0) return false;
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const unsigned mask = 0xFFu << (8 - rest) & 0xFFu;
  return (address[whole] & mask) == (network[whole] & mask);
}

bool is_four(const Address& address) {
  Address mapped{};
  mapped[10] = mapped[11] = 0xFF;
  return starts_with(address, mapped, kBitsOfFour);
}

template <std::size_t N>
bool in_any(const Address& address, const Range (&ranges)[N], unsigned offset) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const Range& range) {
    Address network{};
    return address_of(range.network, network) && starts_with(address, network, offset + range.bits);
  });
}

void put_four(const void* bytes, Address& out) {
  out = {};
  out[10] = out[11] = 0xFF;
  std::memcpy(&out[12], bytes, 4);
}

std::string bare(std::string_view host) {
  std::string out(host);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  while (out.ends_with('.')) out.pop_back();
  return out;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

}  // namespace

bool address_of(const sockaddr& from, Address& out) {
  if (from.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &from, sizeof four);
    put_four(&four.sin_addr, out);
    return true;
  }
  if (from.sa_family != AF_INET6) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, &from, sizeof six);
  std::memcpy(out.data(), &six.sin6_addr, out.size());
  return true;
}

bool address_of(std::string_view text, Address& out) {
  const std::string copy(text);
  in_addr four{};
  if (::inet_pton(AF_INET, copy.c_str(), &four) == 1) {
    put_four(&four, out);
    return true;
  }
  return ::inet_pton(AF_INET6, copy.c_str(), out.data()) == 1;
}

bool is_public(const Address& address) {
  if (is_four(address)) return !in_any(address, kSpecialFour, kBitsOfFour);
  if ((address[0] & 0xE0u) != 0x20u) return false;
  return !in_any(address, kSpecialSix, 0);
}

bool HostRules::Pattern::has(const Address& address) const {
  return name.empty() && starts_with(address, network, bits);
}

bool HostRules::Pattern::matches(const std::string& host) const {
  if (name == "*") return true;
  Address address{};
  if (name.empty()) return address_of(host, address) && has(address);
  return below ? host.size() > name.size() + 1 && host.ends_with("." + name) : host == name;
}

Result<HostRules::Pattern> HostRules::pattern_of(std::string_view text) {
  Pattern out;
  const std::size_t slash = text.find('/');
  if (address_of(text.substr(0, slash), out.network)) {
    const unsigned most = text.find(':') == std::string_view::npos ? 32 : 128;
    out.bits = most;
    if (slash != std::string_view::npos) {
      const std::string_view bits = text.substr(slash + 1);
      const auto [end, failed] = std::from_chars(bits.data(), bits.data() + bits.size(), out.bits);
      if (failed != std::errc() || end != bits.data() + bits.size() || out.bits > most)
        return Error{Code::kInvalid, "its network's length must be a number from 0 to " + std::to_string(most)};
    }
    if (most == 32) out.bits += kBitsOfFour;
    return out;
  }
  out.name = bare(text);
  if (out.name == "*") return out;
  out.below = out.name.starts_with("*.");
  if (out.below) out.name.erase(0, 2);
  if (!is_name(out.name))
    return Error{Code::kInvalid,
                 "it must be a host such as example.org, *.example.org for all below it, or a network "
                 "such as 10.1.0.0/16; no URL and no port"};
  return out;
}

Result<HostRules::Patterns> HostRules::patterns_of(JsonView list, std::string_view key) {
  Patterns out;
  if (!list.exists() || list.is_null()) return out;
  if (!list.is_array() || list.size() > kPatternsMax)
    return Error{Code::kInvalid,
                 std::string(key) + " must be a list of at most " + std::to_string(kPatternsMax) + " hosts"};
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto made = pattern_of(list.at(i).string_or({}));
    if (!made) return made.error().with_context(std::string(key) + "[" + std::to_string(i) + "]");
    out.push_back(std::move(*made));
  }
  return out;
}

bool HostRules::any(const Patterns& patterns, const std::string& host) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& each) { return each.matches(host); });
}

Result<HostRules> HostRules::make(JsonView config) {
  if (config.exists() && !config.is_null() && !config.is_object())
    return Error{Code::kInvalid, "the config must be an object with allow, deny and private"};
  for (std::size_t i = 0; config.is_object() && i < config.size(); ++i)
    if (const std::string_view key = config.key_at(i);
        key != "allow" && key != "deny" && key != "private" && key != "network")
      return Error{Code::kInvalid,
                   "unknown key \"" + std::string(key) + "\": the keys are allow, deny, private and network"};
  HostRules out;
  AGENTD_TRY(out.allow_, patterns_of(config["allow"], "allow"));
  AGENTD_TRY(out.deny_, patterns_of(config["deny"], "deny"));
  AGENTD_TRY(out.private_, patterns_of(config["private"], "private"));
  return out;
}

Result<void> HostRules::check(const std::string& host) const {
  const std::string name = bare(host);
  if (any(deny_, name)) return Error{Code::kDenied, "the host " + name + " is denied by hooks.web_fetch.config.deny"};
  if (!allow_.empty() && !any(allow_, name) && !any(private_, name))
    return Error{Code::kDenied, "the host " + name + " is not one of hooks.web_fetch.config.allow"};
  return {};
}

bool HostRules::is_private(const std::string& host) const { return any(private_, bare(host)); }

Result<void> HostRules::check_for_proxy(const std::string& host) const {
  const std::string name = bare(host);
  const Error refused{Code::kDenied, "the host " + name +
                                         " is not fetched from through the proxy: it is of this machine or a private "
                                         "network; the user can name it in hooks.web_fetch.config.private"};
  Address address{};
  in_addr odd{};
  bool is_address = address_of(name, address);
  if (!is_address && ::inet_aton(name.c_str(), &odd) != 0) {
    put_four(&odd, address);
    is_address = true;
  }
  if (is_address && std::any_of(deny_.begin(), deny_.end(), [&](const Pattern& each) { return each.has(address); }))
    return Error{Code::kDenied, "the host " + name + " is denied by hooks.web_fetch.config.deny"};
  if (is_address && !is_public(address)) return refused;
  if (is_address) return {};
  if (name.find('.') == std::string::npos || name.find(':') != std::string::npos) return refused;
  for (const char* const end : {".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".home.arpa",
                                ".corp", ".private", ".in-addr.arpa", ".ip6.arpa"})
    if (name.ends_with(end)) return refused;
  return {};
}

bool HostRules::may_connect(const std::string& host, const sockaddr& address) const {
  Address bytes{};
  if (!address_of(address, bytes)) return false;
  const auto has = [&](const Pattern& each) { return each.has(bytes); };
  if (std::any_of(deny_.begin(), deny_.end(), has)) return false;
  return is_public(bytes) || any(private_, bare(host)) || std::any_of(private_.begin(), private_.end(), has);
}

}  // namespace web_fetch
