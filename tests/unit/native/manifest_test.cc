// SPDX-License-Identifier: Apache-2.0
#include "core/native/manifest.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd {
namespace {

const HostOffer kOffer{{"agentd.compactor", "agentd.tools/1"}, {"agentd.workspace/1"}};

std::string with(const std::string& abi, const std::string& more = "") {
  return R"({"id":"org.example.x","version":"1.2.0","abi":")" + abi + "\"" + more + "}";
}

std::string verdict(const std::string& json) {
  const auto manifest = parse_manifest(json);
  return manifest ? obstacle_of(*manifest, kOffer) : manifest.error().message;
}

TEST(Manifest, EveryKeyIsRead) {
  const auto read = parse_manifest(
      with("1.0", R"(,"events":["agent_stop"],"requires":["compactor"],"wants":["store"],)"
                  R"("drafts":["agentd.workspace/1"],"concurrency":"serial","capabilities":["gate"],)"
                  R"("isolation":"process","license":"MIT","config_schema":{"type":"object"},"future":7)"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->id, "org.example.x");
  EXPECT_EQ(read->version, "1.2.0");
  EXPECT_EQ(read->abi_major, 1u);
  EXPECT_EQ(read->events, std::vector<std::string>{"agent_stop"});
  EXPECT_EQ(read->required, std::vector<std::string>{"agentd.compactor"});
  EXPECT_EQ(read->concurrency, "serial");
  EXPECT_EQ(read->isolation, "process");
  EXPECT_EQ(read->license, "MIT");
  EXPECT_EQ(read->config_schema, R"({"type":"object"})");
  EXPECT_TRUE(read->asks_for("agentd.store"));
  EXPECT_TRUE(read->asks_for("agentd.workspace/1"));
  EXPECT_FALSE(read->asks_for("agentd.process/1"));
  EXPECT_TRUE(read->has_capability("gate"));
}

TEST(Manifest, ServicesHaveOneNameHoweverTheyAreSpelled) {
  EXPECT_EQ(canonical_service("compactor"), "agentd.compactor");
  EXPECT_EQ(canonical_service("agentd.compactor"), "agentd.compactor");
  EXPECT_EQ(canonical_service("thread_factory"), "agentd.threads");
  EXPECT_EQ(grant_name("agentd.threads"), "thread_factory");
  EXPECT_EQ(grant_name("agentd.workspace/1"), "agentd.workspace/1");
  EXPECT_EQ(canonical_service("store"), "agentd.store");
  EXPECT_EQ(canonical_service("agentd.tools/1"), "agentd.tools/1");
}

TEST(Manifest, WrongOnesNameTheKey) {
  EXPECT_NE(verdict("[]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(verdict("{").find("bad JSON"), std::string::npos);
  EXPECT_NE(verdict("{}").find("id must be"), std::string::npos);
  EXPECT_NE(verdict(R"({"id":7,"version":"1","abi":"1.0"})").find("id must be"), std::string::npos);
  EXPECT_NE(verdict(R"({"id":"a b","version":"1","abi":"1.0"})").find("id must be"), std::string::npos);
  EXPECT_NE(verdict(R"({"id":"x","abi":"1.0"})").find("version must be"), std::string::npos);
  EXPECT_NE(verdict(with("1")).find("abi must be"), std::string::npos);
  EXPECT_NE(verdict(with("1.x")).find("abi must be"), std::string::npos);
  EXPECT_NE(verdict(with("99999999999.0")).find("abi must be"), std::string::npos);
  EXPECT_NE(verdict(with("1.0", R"(,"events":"x")")).find("events must be"), std::string::npos);
  EXPECT_NE(verdict(with("1.0", R"(,"wants":[1])")).find("wants must be"), std::string::npos);
}

TEST(Manifest, AVersionOfLineBreaksIsNone) {
  const auto found = parse_manifest(R"({"id":"org.example.x","version":"\n\n","abi":"1.0"})");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "bad manifest: version must be a text");
}

TEST(Manifest, DeepNestingIsRefusedBeforeItIsRead) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_NE(verdict(with("1.0", ",\"config_schema\":" + deep)).find("nested too deeply"), std::string::npos);
}

TEST(Manifest, TextForPeopleHasNoControlCharacters) {
  const auto read = parse_manifest(R"({"id":"x","version":"1\u001b[31m","abi":"1.0"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version.find('\x1b'), std::string::npos);
}

TEST(Verdict, IsOkForWhatThisHostCanServe) {
  EXPECT_EQ(verdict(with("1.0", R"(,"requires":["compactor"],"wants":["agentd.nothing/1"])")), "");
  EXPECT_EQ(verdict(with("1.0", R"(,"requires":["agentd.workspace/1"],"drafts":["agentd.workspace/1"])")), "");
}

TEST(Verdict, NamesBothAbisWhenTheHookIsNewer) {
  EXPECT_EQ(verdict(with("1.7")), "needs a newer agentd (abi 1.7, this one has 1.1)");
  EXPECT_EQ(verdict(with("2.0")), "needs a newer agentd (abi 2.0, this one has 1.1)");
}

TEST(Verdict, TellsTheHookOfAGoneAbiToBeRebuilt) {
  EXPECT_EQ(verdict(with("0.9")),
            "is built for an ABI that is no longer supported (abi 0.9, this agentd has 1.1): rebuild it");
}

TEST(Verdict, NamesTheServiceThatNobodyOffers) {
  EXPECT_EQ(verdict(with("1.0", R"(,"requires":["agentd.time/1"])")),
            "asks for the unknown service agentd.time/1: update agentd");
  EXPECT_EQ(verdict(with("1.0", R"(,"requires":["agentd.tolls/1"])")),
            "asks for the unknown service agentd.tolls/1: did you mean agentd.tools/1? If not, update agentd");
}

TEST(Verdict, DraftsMustBeListedAsSuch) {
  EXPECT_NE(verdict(with("1.0", R"(,"requires":["agentd.workspace/1"])")).find("under drafts"), std::string::npos);
}

TEST(Manifest, UnknownCapabilitiesAreNamedWithThoseThatThereAre) {
  const auto said = [](const std::string& list) {
    const auto manifest = parse_manifest(R"({"id":"org.x","version":"1","abi":"1.0","capabilities":[)" + list + "]}");
    EXPECT_TRUE(manifest) << list;
    return manifest ? capability_warning(*manifest) : "";
  };
  EXPECT_EQ(said(R"("gate","redact","network","processes","files:read","files:write")"), "");
  EXPECT_EQ(said(R"("netwrok","gate")"),
            "asks for the unknown capability 'netwrok', which opens nothing; known are gate, redact, network, "
            "processes, files:read, files:write");
  EXPECT_EQ(said(R"("a","files")").substr(0, 44), "asks for the unknown capabilities 'a', 'file");
}

}  // namespace
}  // namespace agentd
