// SPDX-License-Identifier: Apache-2.0
// reach_test.cc - where addresses lead: the edges of each network, and each disguise of an address of version 4.
#include "core/cage/reach.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string>

namespace agentd::cage {
namespace {

Reach reach(const std::string& text) {
  sockaddr_in in{};
  sockaddr_in6 in6{};
  in.sin_family = AF_INET;
  in6.sin6_family = AF_INET6;
  if (::inet_pton(AF_INET, text.c_str(), &in.sin_addr) == 1) return reach_of(reinterpret_cast<const sockaddr*>(&in));
  EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &in6.sin6_addr), 1) << text;
  return reach_of(reinterpret_cast<const sockaddr*>(&in6));
}

TEST(Reach, KnowsWhatIsThisMachineItsLinkAndItsCloud) {
  for (const char* const text : {"0.0.0.0",
                                 "0.255.255.255",
                                 "127.0.0.1",
                                 "127.255.255.255",
                                 "169.254.0.0",
                                 "169.254.169.254",
                                 "169.254.255.255",
                                 "168.63.129.16",
                                 "192.0.0.192",
                                 "100.100.100.200",
                                 "224.0.0.1",
                                 "240.0.0.1",
                                 "255.255.255.255",
                                 "::",
                                 "::1",
                                 "fe80::1",
                                 "febf:ffff::1",
                                 "ff02::1",
                                 "fd00:ec2::254",
                                 "fd00:ec2::23",
                                 "fd20:ce::254",
                                 "fd00:c1::a9fe:a9fe"})
    EXPECT_EQ(reach(text), Reach::kOwn) << text;
}

TEST(Reach, KnowsPrivateNetworks) {
  for (const char* const text : {"10.0.0.0",
                                 "10.255.255.255",
                                 "172.16.0.0",
                                 "172.31.255.255",
                                 "192.168.0.1",
                                 "100.64.0.0",
                                 "100.127.255.255",
                                 "100.100.100.201",
                                 "192.0.0.1",
                                 "192.0.2.1",
                                 "192.88.99.1",
                                 "198.18.0.1",
                                 "198.19.255.255",
                                 "198.51.100.1",
                                 "203.0.113.1",
                                 "fc00::1",
                                 "fdff::1",
                                 "fec0::1",
                                 "100::1",
                                 "2001:db8::1",
                                 "3fff:fff::1",
                                 "5f00::1",
                                 "64:ff9b:1::808:808",
                                 "fd20:ce::253"})
    EXPECT_EQ(reach(text), Reach::kPrivate) << text;
}

// The control: each is next to one of the others.
TEST(Reach, LetsTheRestBePublic) {
  for (const char* const text :
       {"1.0.0.0",         "126.255.255.255", "128.0.0.1",  "169.253.255.255", "169.255.0.0",     "168.63.129.15",
        "168.63.129.17",   "192.0.1.0",       "192.0.3.0",  "192.88.98.255",   "223.255.255.255", "9.255.255.255",
        "11.0.0.0",        "172.15.255.255",  "172.32.0.0", "100.63.255.255",  "100.128.0.0",     "192.167.255.255",
        "192.169.0.0",     "198.17.255.255",  "198.20.0.0", "203.0.112.255",   "203.0.114.0",     "2001:db9::1",
        "2606:4700::1111", "fbff::1",         "2000::1",    "3fff:1000::1",    "64:ff9a::1"})
    EXPECT_EQ(reach(text), Reach::kPublic) << text;
}

TEST(Reach, SeesAnAddressOfVersion4InOneOfVersion6) {
  struct Row {
    const char *own, *closed, *open;
  };
  for (const Row& row : {
           Row{"::127.0.0.1", "::10.0.0.1", "::8.8.8.8"},
           Row{"::ffff:169.254.169.254", "::ffff:192.168.1.1", "::ffff:8.8.8.8"},
           Row{"::ffff:0:168.63.129.16", "::ffff:0:10.0.0.1", "::ffff:0:8.8.8.8"},
           Row{"64:ff9b::169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8"},
           Row{"64:ff9b:1::169.254.169.254", "64:ff9b:1::10.0.0.1", "64:ff9b::8.8.4.4"},
           Row{"2002:7f00:1::1", "2002:a00:1::1", "2002:808:808::1"},
           Row{"2002:a9fe:a9fe::", "2002:c0a8:101::", "2002:808:404::"},
           // Teredo: the server, then the client, whose bits are inverted (169.254.169.254, 10.0.0.1, 8.8.8.8).
           Row{"2001:0:7f00:1::f7f7:f7f7", "2001:0:a00:1::f7f7:f7f7", "2001:0:808:808::f7f7:f7f7"},
           Row{"2001:0:808:808::5601:5601", "2001:0:808:808::f5ff:fffe", "2001:0:808:404::f7f7:f7f7"},
           // ISATAP.
           Row{"2606:4700::5efe:127.0.0.1", "2606:4700::5efe:10.0.0.1", "2606:4700::5efe:8.8.8.8"},
           Row{"2606:4700::200:5efe:127.0.0.1", "2606:4700::200:5efe:10.0.0.1", "2606:4700::200:5efe:8.8.8.8"},
       }) {
    EXPECT_EQ(reach(row.own), Reach::kOwn) << row.own;
    EXPECT_EQ(reach(row.closed), Reach::kPrivate) << row.closed;
    EXPECT_EQ(reach(row.open), Reach::kPublic) << row.open;
  }
}

TEST(Reach, TakesAnotherFamilyForThisMachine) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  EXPECT_EQ(reach_of(reinterpret_cast<const sockaddr*>(&local)), Reach::kOwn);
}

}  // namespace
}  // namespace agentd::cage
