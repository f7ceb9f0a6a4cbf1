// SPDX-License-Identifier: Apache-2.0
// What becomes of trust and of guards when native hooks change while agentd runs.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/host/hook_host.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

class HookReload : public ::testing::Test {
 protected:
  void put(const std::string& module, const std::string& as) {
    const std::string fresh = fixture_.path(".fresh");
    std::filesystem::copy_file(std::string(AGENTD_COUNTERS) + "/" + module + ".so", fresh,
                               std::filesystem::copy_options::overwrite_existing);
    ::chmod(fresh.c_str(), 0644);
    std::filesystem::rename(fresh, fixture_.path(as + ".so"));
  }
  void load(bool dev = false) {
    HookHostOptions options;
    options.native = fixture_.options;
    options.native.isolation = Isolation::kInProcess;
    options.trust_file = fixture_.temp.file("trust.json");
    options.project_root = fixture_.temp.path();
    options.consent.dev = dev;
    host_ = std::make_unique<HookHost>(
        options, ExternalEnvironment{fixture_.tokens,
                                     fixture_.services,
                                     fixture_.clock,
                                     fixture_.log,
                                     []() -> HttpClient& { std::abort(); },
                                     [](const std::string&) { return std::optional<std::string>(); },
                                     {},
                                     fixture_.temp.path(),
                                     fixture_.temp.file("transcripts")});
    host_->load_all();
    publish();
  }
  void publish() { fixture_.dispatcher.publish(host_->subscriptions()); }
  HookHost::Reloaded reload() {
    auto out = host_->reload_changed();
    if (out.changed) publish();
    return out;
  }
  // As `agentd hooks trust` does, in another process.
  void trust(const std::string& name) {
    auto store = TrustStore::open(fixture_.temp.file("trust.json"), ::geteuid(), fixture_.clock);
    ASSERT_TRUE(store);
    TrustEntry entry;
    entry.name = name;
    entry.path = std::filesystem::canonical(fixture_.path(name + ".so")).string();
    entry.digest = hex(sha256(fixture_.temp.read("hooks/" + name + ".so")));
    ASSERT_TRUE(store->record(entry));
  }
  std::string version() const {
    const auto all = host_->natives().plugins();
    return all.empty() ? "" : all[0]->identity().version;
  }

  HostFixture fixture_{AGENTD_COUNTERS};
  std::unique_ptr<HookHost> host_;
};

TEST_F(HookReload, ChangedBytesWaitForTrustAndRunWhenItIsGiven) {
  put("counter_1", "counter");
  load();
  put("counter_2", "counter");
  const auto found = reload();
  EXPECT_FALSE(found.changed);
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_NE(found.warnings[0].find("agentd hooks trust counter"), std::string::npos) << found.warnings[0];
  EXPECT_NE(found.warnings[0].find("the version loaded before continues"), std::string::npos);
  EXPECT_TRUE(reload().warnings.empty());
  EXPECT_EQ(version(), "1.0.1");
  trust("counter");
  EXPECT_TRUE(reload().changed);
  EXPECT_EQ(version(), "1.0.2");
  EXPECT_EQ(host_->kind_of("counter"), "native");
}

TEST_F(HookReload, DeveloperNeedsNoTrustForHisOwnDirectory) {
  put("counter_1", "counter");
  load(true);
  put("counter_2", "counter");
  const auto found = reload();
  EXPECT_TRUE(found.changed);
  EXPECT_TRUE(found.warnings.empty());
  EXPECT_EQ(version(), "1.0.2");
}

TEST_F(HookReload, GuardWhoseFileIsGoneBlocksUntilItIsBack) {
  put("guard", "guard");
  load();
  EXPECT_EQ(fixture_.before_tool_call("bash"), nullptr);
  std::filesystem::remove(fixture_.path("guard.so"));
  auto found = reload();
  EXPECT_TRUE(found.changed);
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_NE(found.warnings[0].find("the guard 'guard' is unavailable, so its events are blocked"), std::string::npos);
  const auto blocked = fixture_.before_tool_call("bash");
  ASSERT_TRUE(blocked && blocked->blocked);
  EXPECT_TRUE(reload().warnings.empty());
  put("guard", "guard");
  found = reload();
  EXPECT_TRUE(found.changed);
  EXPECT_TRUE(found.warnings.empty());
  EXPECT_EQ(fixture_.before_tool_call("bash"), nullptr);
}

TEST_F(HookReload, OrdinaryHookWhoseFileIsGoneIsNotMissed) {
  put("counter_1", "counter");
  load();
  std::filesystem::remove(fixture_.path("counter.so"));
  const auto found = reload();
  EXPECT_TRUE(found.changed);
  EXPECT_TRUE(found.warnings.empty());
  EXPECT_EQ(fixture_.before_tool_call("bash"), nullptr);
}

TEST_F(HookReload, GuardThatIsReplacedByGarbageGoesOnGuarding) {
  put("guard", "guard");
  load(true);
  fixture_.put("guard.so", "no module");
  const auto found = reload();
  EXPECT_FALSE(found.changed);
  EXPECT_EQ(found.warnings.size(), 1u);
  EXPECT_EQ(host_->natives().plugins().size(), 1u);
  EXPECT_EQ(fixture_.before_tool_call("bash"), nullptr);
}

TEST_F(HookReload, NewFileOfTheUserIsRecordedAndTold) {
  load();
  put("counter_1", "counter");
  const auto found = reload();
  EXPECT_TRUE(found.changed);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_NE(found.notes[0].find("new hook counter"), std::string::npos);
  EXPECT_FALSE(reload().changed);
}

}  // namespace
}  // namespace agentd
