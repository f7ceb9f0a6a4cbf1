// SPDX-License-Identifier: Apache-2.0
#include "core/cage/reach.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

namespace agentd::cage {
namespace {

struct Net4 {
  std::uint32_t net;
  int bits;
  Reach reach;
};

// The first that contains the address decides.
constexpr Net4 kNets4[] = {
    {0x00000000, 8, Reach::kOwn},       // this network
    {0x7f000000, 8, Reach::kOwn},       // loopback
    {0xa9fe0000, 16, Reach::kOwn},      // link-local: 169.254.169.254 of most clouds
    {0xa83f8110, 32, Reach::kOwn},      // 168.63.129.16: Azure
    {0xc00000c0, 32, Reach::kOwn},      // 192.0.0.192: Oracle
    {0x646464c8, 32, Reach::kOwn},      // 100.100.100.200: Alibaba
    {0xe0000000, 3, Reach::kOwn},       // multicast, reserved, broadcast
    {0x0a000000, 8, Reach::kPrivate},   // 10.0.0.0
    {0x64400000, 10, Reach::kPrivate},  // 100.64.0.0: of a provider
    {0xac100000, 12, Reach::kPrivate},  // 172.16.0.0
    {0xc0000000, 24, Reach::kPrivate},  // 192.0.0.0: of protocols
    {0xc0000200, 24, Reach::kPrivate},  // 192.0.2.0: of documents
    {0xc0586300, 24, Reach::kPrivate},  // 192.88.99.0: relays of 6to4
    {0xc0a80000, 16, Reach::kPrivate},  // 192.168.0.0
    {0xc6120000, 15, Reach::kPrivate},  // 198.18.0.0: of benchmarks
    {0xc6336400, 24, Reach::kPrivate},  // 198.51.100.0: of documents
    {0xcb007100, 24, Reach::kPrivate},  // 203.0.113.0: of documents
};

Reach reach_of_4(std::uint32_t at) {
  for (const auto& [net, bits, reach] : kNets4)
    if (at >> (32 - bits) == net >> (32 - bits)) return reach;
  return Reach::kPublic;
}

using Bytes = std::array<std::uint8_t, 16>;

struct Net6 {
  Bytes net;
  int bits;
  Reach reach;
};

constexpr Net6 kNets6[] = {
    {{0xfe, 0x80}, 10, Reach::kOwn},                                                               // link-local
    {{0xff}, 8, Reach::kOwn},                                                                      // multicast
    {{0xfd, 0x00, 0x0e, 0xc2}, 32, Reach::kOwn},                                                   // Amazon
    {{0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, Reach::kOwn},        // Google
    {{0xfd, 0x00, 0x00, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe}, 128, Reach::kOwn},  // Oracle
    {{0xfc}, 7, Reach::kPrivate},                                                                  // unique local
    {{0xfe, 0xc0}, 10, Reach::kPrivate},                                                           // site-local
    {{0x01, 0x00}, 64, Reach::kPrivate},                                                           // discarded
    {{0x20, 0x01, 0x0d, 0xb8}, 32, Reach::kPrivate},                                               // of documents
    {{0x3f, 0xff}, 20, Reach::kPrivate},                                                           // of documents
    {{0x5f, 0x00}, 16, Reach::kPrivate},                                                           // of routers
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, Reach::kPrivate},                                   // translated
};

bool is_in_net(const Bytes& at, const Bytes& net, int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (!std::equal(at.begin(), at.begin() + whole, net.begin())) return false;
  return bits % 8 == 0 || at[whole] >> (8 - bits % 8) == net[whole] >> (8 - bits % 8);
}

// Where an address of version 4 is in one of version 6.
struct Carrier {
  Bytes net;
  int bits;
  std::size_t at;
  bool inverted = false;
};

constexpr Carrier kCarriers[] = {
    {{}, 96, 12},                                          // compatible; and "::" and "::1"
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12},  // mapped
    {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 96, 12},  // translated without state
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},                    // translated
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, 12},        // by one of this network's
    {{0x20, 0x02}, 16, 2},                                 // 6to4
    {{0x20, 0x01, 0x00, 0x00}, 32, 4},                     // Teredo: its server
    {{0x20, 0x01, 0x00, 0x00}, 32, 12, true},              // Teredo: its client
};

std::uint32_t word(const Bytes& at, std::size_t from) {
  return std::uint32_t{at[from]} << 24 | std::uint32_t{at[from + 1]} << 16 | std::uint32_t{at[from + 2]} << 8 |
         std::uint32_t{at[from + 3]};
}

Reach reach_of_6(const Bytes& at) {
  Reach out = Reach::kPublic;
  for (const auto& [net, bits, reach] : kNets6)
    if (is_in_net(at, net, bits)) out = std::max(out, reach);
  for (const auto& [net, bits, from, inverted] : kCarriers)
    if (is_in_net(at, net, bits)) out = std::max(out, reach_of_4(inverted ? ~word(at, from) : word(at, from)));
  // ISATAP: in any network, by the second half; the bit of a global one is free.
  constexpr std::uint32_t kIsatap = 0x00005efe, kGlobal = 0x02000000;
  if ((word(at, 8) & ~kGlobal) == kIsatap) out = std::max(out, reach_of_4(word(at, 12)));
  return out;
}

}  // namespace

Reach reach_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    return reach_of_4(ntohl(in.sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return Reach::kOwn;
  sockaddr_in6 in{};
  std::memcpy(&in, address, sizeof in);
  Bytes bytes{};
  std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
  return reach_of_6(bytes);
}

bool is_of_this_machine(const sockaddr* address) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(all, &::freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != address->sa_family) continue;
    const auto* const own = reinterpret_cast<const char*>(each->ifa_addr);
    const auto* const other = reinterpret_cast<const char*>(address);
    const bool four = address->sa_family == AF_INET;
    const std::size_t at = four ? offsetof(sockaddr_in, sin_addr) : offsetof(sockaddr_in6, sin6_addr);
    if ((four || address->sa_family == AF_INET6) && std::memcmp(own + at, other + at, four ? 4 : 16) == 0) return true;
  }
  return false;
}

}  // namespace agentd::cage
