// SPDX-License-Identifier: Apache-2.0
#include "plugins/web_fetch/hosts.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace web_fetch {
namespace {

bool of_the_internet(const char* text) {
  Address address{};
  EXPECT_TRUE(address_of(text, address)) << text;
  return is_public(address);
}

sockaddr_storage socket_address(const char* text) {
  sockaddr_storage out{};
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET, text, &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    std::memcpy(&out, &four, sizeof four);
  } else if (::inet_pton(AF_INET6, text, &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    std::memcpy(&out, &six, sizeof six);
  }
  return out;
}

HostRules rules(const char* json) {
  auto config = agentd::JsonDocument::parse(json);
  EXPECT_TRUE(config);
  auto made = HostRules::make(config->root());
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::move(*made) : HostRules();
}

bool connects(const HostRules& rules, const char* host, const char* address) {
  const sockaddr_storage at = socket_address(address);
  return rules.may_connect(host, reinterpret_cast<const sockaddr&>(at));
}

TEST(Addresses, OfThePublicInternetAreKnown) {
  for (const char* const text : {"8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "192.167.0.1",
                                 "223.255.255.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8"})
    EXPECT_TRUE(of_the_internet(text)) << text;
}

TEST(Addresses, OfThisMachineAndOfPrivateNetworksAreNotPublic) {
  for (const char* const text : {"0.0.0.0",
                                 "0.1.2.3",
                                 "10.0.0.1",
                                 "100.64.0.1",
                                 "127.0.0.1",
                                 "127.255.0.1",
                                 "169.254.169.254",
                                 "172.16.0.1",
                                 "172.31.255.255",
                                 "192.0.0.8",
                                 "192.0.2.1",
                                 "192.168.1.1",
                                 "198.18.0.1",
                                 "198.51.100.1",
                                 "203.0.113.1",
                                 "224.0.0.1",
                                 "240.0.0.1",
                                 "255.255.255.255",
                                 "::",
                                 "::1",
                                 "fe80::1",
                                 "fc00::1",
                                 "fd12:3456::1",
                                 "ff02::1",
                                 "2001:db8::1",
                                 "2002:7f00:1::",
                                 "2001::1",
                                 "::ffff:127.0.0.1",
                                 "::ffff:10.0.0.1",
                                 "64:ff9b::7f00:1",
                                 "::127.0.0.1",
                                 "100::1"})
    EXPECT_FALSE(of_the_internet(text)) << text;
}

TEST(HostRules, AllowEveryPublicHostWithoutAConfig) {
  const HostRules all = rules("{}");
  EXPECT_TRUE(all.check("example.org"));
  EXPECT_TRUE(connects(all, "example.org", "93.184.216.34"));
  // A name that resolves to an address of this machine, whoever owns the name.
  EXPECT_FALSE(connects(all, "example.org", "127.0.0.1"));
  EXPECT_FALSE(connects(all, "169.254.169.254", "169.254.169.254"));
  EXPECT_FALSE(connects(all, "example.org", "fe80::1"));
}

TEST(HostRules, KnowHostsAndAllBelowThem) {
  const HostRules some = rules(R"({"allow":["Example.org.","*.docs.example.net"],"deny":["old.docs.example.net"]})");
  EXPECT_TRUE(some.check("example.org"));
  EXPECT_TRUE(some.check("EXAMPLE.ORG."));
  EXPECT_TRUE(some.check("a.b.docs.example.net"));
  for (const char* const host : {"www.example.org", "docs.example.net", "xdocs.example.net", "old.docs.example.net",
                                 "example.org.evil.net", "notexample.org", ""})
    EXPECT_FALSE(some.check(host)) << host;
  EXPECT_EQ(some.check("evil.net").error().message, "the host evil.net is not one of hooks.web_fetch.config.allow");
  EXPECT_EQ(rules(R"({"deny":["*"]})").check("example.org").error().message,
            "the host example.org is denied by hooks.web_fetch.config.deny");
}

TEST(HostRules, NamePrivateHostsAndNetworks) {
  const HostRules own = rules(R"({"private":["wiki.corp","10.1.0.0/16","::1"]})");
  EXPECT_TRUE(connects(own, "wiki.corp", "192.168.7.7"));
  EXPECT_TRUE(connects(own, "any.name", "10.1.2.3"));
  EXPECT_TRUE(connects(own, "localhost", "::1"));
  EXPECT_FALSE(connects(own, "any.name", "10.2.0.1"));
  EXPECT_FALSE(connects(own, "localhost", "127.0.0.1"));
  const HostRules denied = rules(R"({"private":["*"],"deny":["10.0.0.0/8"]})");
  EXPECT_FALSE(connects(denied, "any.name", "10.1.2.3")) << "by the address that a name has";
  EXPECT_FALSE(denied.check("10.1.2.3"));
  EXPECT_TRUE(connects(denied, "any.name", "192.168.0.1"));
}

TEST(HostRules, RefuseAConfigThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "must be an object"},
      {R"({"hosts":[]})", "unknown key \"hosts\": the keys are allow, deny, private and network"},
      {R"({"allow":"example.org"})", "allow must be a list"},
      {R"({"allow":["ok.org",7]})", "allow[1]: it must be a host such as"},
      {R"({"deny":["https://example.org/"]})", "deny[0]: it must be a host such as"},
      {R"({"deny":["example.org:80"]})", "no URL and no port"},
      {R"({"deny":["*.*.org"]})", "it must be a host"},
      {R"({"private":["10.0.0.0/33"]})", "private[0]: its network's length must be a number from 0 to 32"},
      {R"({"private":["10.0.0.0/x"]})", "from 0 to 32"},
      {R"({"private":["fe80::/129"]})", "from 0 to 128"}};
  for (const auto& [json, sentence] : cases) {
    const auto config = agentd::JsonDocument::parse(json);
    ASSERT_TRUE(config);
    const auto made = HostRules::make(config->root());
    ASSERT_FALSE(made) << json;
    EXPECT_NE(made.error().message.find(sentence), std::string::npos) << json << ": " << made.error().message;
  }
}

TEST(Hosts, AProxyIsAskedForNoPrivateHost) {
  const auto config = agentd::JsonDocument::parse(R"({"deny":["93.184.216.0/24"]})");
  const auto rules = HostRules::make(config->root());
  ASSERT_TRUE(rules);
  for (const char* const host : {"example.org", "EXAMPLE.org.", "a.localhost.example", "8.8.8.8", "2606:4700::1111"})
    EXPECT_TRUE(rules->check_for_proxy(host)) << host;
  for (const char* const host : {"10.0.0.1", "127.0.0.1", "127.1", "0x7f.0.0.1", "2130706433", "017700000001", "::1",
                                 "::ffff:10.0.0.1%x", "169.254.169.254", "localhost", "localhost.", "a.localhost",
                                 "wiki", "x.internal.", "X.LOCAL", "1.0.0.127.in-addr.arpa", "93.184.216.34"})
    EXPECT_FALSE(rules->check_for_proxy(host)) << host;
}

}  // namespace
}  // namespace web_fetch
