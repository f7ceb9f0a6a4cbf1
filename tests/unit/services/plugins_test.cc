// SPDX-License-Identifier: Apache-2.0
// plugins_test.cc - services that loaded modules offer and call, in this process and in workers.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/thread.h"
#include "core/services/registry.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

constexpr std::string_view kA = "org.agentd.test.a/1", kB = "org.agentd.test.b/1";

class TradedServices : public ::testing::TestWithParam<Isolation> {
 protected:
  TradedServices() {
    fixture_.options.isolation = GetParam();
    fixture_.options.worker.program = AGENTD_HOOK_WORKER;
    fixture_.options.home = fixture_.temp.file("home");
  }
  // Takes the snapshot and the plugins down before the registry.
  void TearDown() override {
    fixture_.dispatcher.publish({});
    fixture_.host.reset();
  }
  void grant(const std::string& name, std::set<std::string> what = {AGENTD_PROVIDE_ID, AGENTD_SERVICES_ID}) {
    fixture_.options.plugins[name].grants = std::move(what);
  }
  void install(const std::string& name) {
    fixture_.install(name);
    grant(name);
  }
  PluginHost& load() {
    registry_.emplace(fixture_.clock, fixture_.log, chosen_);
    fixture_.options.registry = &*registry_;
    PluginHost& host = fixture_.load();
    EXPECT_TRUE(host.problems().empty()) << host.problems()[0].message;
    return host;
  }
  ServiceAnswer call(std::string_view interface, std::string_view operation, std::string_view input = "{}",
                     Milliseconds time = Milliseconds(60'000), const CancelToken& cancel = {}) {
    ServiceRequest asked;
    asked.interface_id = interface;
    asked.operation = operation;
    asked.input_json = input;
    asked.project_id = "here";
    asked.cancel = cancel;
    asked.deadline = Deadline::after(fixture_.clock, time);
    return registry_->call(asked);
  }
  static std::string text(const ServiceAnswer& answer) {
    return answer ? *answer : std::to_string(answer.error().status) + " " + answer.error().message;
  }

  HostFixture fixture_{AGENTD_TRADERS};
  ServiceRegistryOptions chosen_;
  std::optional<ServiceRegistry> registry_;
};

TEST_P(TradedServices, AnswerTheCore) {
  install("a");
  load();
  EXPECT_EQ(text(call(kA, "echo", R"({"x":[1]})")), R"({"x":[1]})");
  EXPECT_EQ(text(call(kA, "tell")), "\"a 77 core here 0\"");
  EXPECT_EQ(text(call(kA, "nothing")), "null");
  const std::string longest = "\"" + std::string(kServiceJsonMax - 2, 'x') + "\"";
  EXPECT_EQ(text(call(kA, "echo", longest)), longest);
}

TEST_P(TradedServices, FailWithTheirStatusAndSentence) {
  install("a");
  load();
  EXPECT_EQ(text(call(kA, "fail")), std::to_string(AGENTD_E_NOT_FOUND) + " org.agentd.test.a: nothing there");
  EXPECT_EQ(call(kA, "garbage").error().status, AGENTD_E_INTERNAL);
  EXPECT_EQ(call(kA, "absent").error().status, AGENTD_E_UNSUPPORTED);
  EXPECT_EQ(call("org.agentd.test.c/1", "echo").error().status, AGENTD_E_UNSUPPORTED);
  EXPECT_EQ(text(call(kA, "echo", "1")), "1");
}

TEST_P(TradedServices, CallEachOther) {
  install("a");
  install("b");
  load();
  EXPECT_EQ(text(call(kA, "ask", R"({"of":"org.agentd.test.b/1","do":"echo","with":[7]})")), "[7]");
  EXPECT_EQ(text(call(kA, "ask", R"({"of":"org.agentd.test.b/1","do":"tell","with":0})")),
            "\"b 77 org.agentd.test.a here 0\"");
  EXPECT_EQ(text(call(kA, "ask", R"({"of":"org.agentd.test.b/1","do":"fail","with":0})")),
            std::to_string(AGENTD_E_NOT_FOUND));
  EXPECT_EQ(text(call(kA, "ask", R"({"of":"agentd.distiller/1","do":"x","with":0})")),
            std::to_string(AGENTD_E_UNSUPPORTED));
}

TEST_P(TradedServices, AreBusyWhereACallWouldWaitForItself) {
  install("a");
  install("b");
  load();
  const std::string busy = std::to_string(AGENTD_E_BUSY);
  EXPECT_EQ(text(call(kA, "ask", R"({"of":"org.agentd.test.a/1","do":"echo","with":0})")), busy);
  EXPECT_EQ(text(call(kA, "ask",
                      R"({"of":"org.agentd.test.b/1","do":"ask","with":)"
                      R"({"of":"org.agentd.test.a/1","do":"echo","with":0}})")),
            busy);
  // Nothing of the circle is left.
  EXPECT_EQ(text(call(kB, "ask", R"({"of":"org.agentd.test.a/1","do":"echo","with":5})")), "5");
}

TEST_P(TradedServices, EndAtTheDeadline) {
  install("a");
  load();
  EXPECT_EQ(call(kA, "wait", "{}", Milliseconds(200)).error().status, AGENTD_E_DEADLINE);
  EXPECT_EQ(text(call(kA, "echo", "1")), "1");
}

TEST_P(TradedServices, EndWhenTheCallerIsCancelled) {
  install("a");
  load();
  const std::string said = fixture_.temp.file("said");
  const CancelToken cancel;
  ServiceAnswer got = std::string();
  {
    // A worker may not make the file: the call is then cancelled before or while it runs.
    const std::string file = GetParam() == Isolation::kInProcess ? said : "";
    const Thread thread([&] { got = call(kA, "wait", "{\"said\":\"" + file + "\"}", Milliseconds(60'000), cancel); });
    while (!file.empty() && !std::filesystem::exists(said)) std::this_thread::yield();
    cancel.cancel(AGENTD_CANCEL_USER);
  }
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().status, AGENTD_E_CANCELLED);
}

TEST_P(TradedServices, CountTheWaitForTheirTurnAgainstTheCallersDeadline) {
  install("a");
  load();
  const CancelToken cancel;
  ServiceAnswer first = std::string();
  std::optional<ServiceAnswer> second;
  {
    const Thread thread([&] { first = call(kA, "wait", "{}", Milliseconds(60'000), cancel); });
    // As soon as the first one has the instance, another one waits until its own deadline.
    do second = call(kA, "echo", "1", Milliseconds(50));
    while (*second);
    cancel.cancel(AGENTD_CANCEL_USER);
  }
  EXPECT_EQ(second->error().status, AGENTD_E_DEADLINE);
  EXPECT_EQ(first.error().status, AGENTD_E_CANCELLED);
}

// In this process a crash would end the test.
class CrashedServices : public TradedServices {};

TEST_P(CrashedServices, FailAndComeBack) {
  install("a");
  load();
  EXPECT_FALSE(call(kA, "crash"));
  EXPECT_EQ(text(call(kA, "echo", "1")), "1");
}

TEST_P(TradedServices, AreToldToConflictAndTheFirstOneIsUsed) {
  install("a");
  install("b");
  load();
  EXPECT_EQ(text(call("agentd.memory/1", "search")), "\"a 78 core here 0\"");
  ASSERT_EQ(registry_->conflicts().size(), 1u);
  EXPECT_NE(registry_->conflicts()[0].find("services.memory"), std::string::npos);
}

TEST_P(TradedServices, AreThoseOfThePluginThatTheSettingsName) {
  chosen_.chosen["memory"] = "org.agentd.test.b";
  install("a");
  install("b");
  load();
  EXPECT_EQ(text(call("agentd.memory/1", "search")), "\"b 78 core here 0\"");
  EXPECT_TRUE(registry_->conflicts().empty());
}

TEST_P(TradedServices, EndWithTheHost) {
  install("a");
  load();
  EXPECT_TRUE(registry_->offers(kA, "echo"));
  fixture_.host->shutdown();
  EXPECT_FALSE(registry_->offers(kA, "echo"));
}

TEST_P(TradedServices, OfAProjectAreOfferedOnlyIfTheSettingsNameIt) {
  fixture_.options.directories[0].precedence = Precedence::kProject;
  install("a");
  grant("project/a");
  load();
  EXPECT_EQ(call(kA, "echo").error().status, AGENTD_E_UNSUPPORTED);
}

TEST_P(TradedServices, OfAProjectAreCalledForThatProject) {
  const std::string ask = R"({"of":"org.agentd.test.b/1","do":"tell","with":0})";
  chosen_.chosen = {{"org.agentd.test.a", "project/a"}, {"org.agentd.test.b", "project/b"}};
  fixture_.options.directories[0].precedence = Precedence::kProject;
  fixture_.options.project_id = "here";
  install("a");
  install("b");
  grant("project/a");
  grant("project/b");
  load();
  EXPECT_EQ(text(call(kA, "ask", ask)), "\"b 77 org.agentd.test.a here 0\"");
}

TEST_P(TradedServices, NeedAGrant) {
  fixture_.install("a");
  registry_.emplace(fixture_.clock, fixture_.log, chosen_);
  fixture_.options.registry = &*registry_;
  PluginHost& host = fixture_.load();
  EXPECT_TRUE(host.plugins().empty());
  ASSERT_EQ(host.problems().size(), 1u);
  EXPECT_NE(host.problems()[0].message.find("agentd.provide/1"), std::string::npos) << host.problems()[0].message;
  EXPECT_EQ(call(kA, "echo").error().status, AGENTD_E_UNSUPPORTED);
}

INSTANTIATE_TEST_SUITE_P(InWorkers, CrashedServices, ::testing::Values(Isolation::kProcess));
INSTANTIATE_TEST_SUITE_P(Everywhere, TradedServices, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         [](const auto& one) {
                           return one.param == Isolation::kInProcess ? std::string("InProcess")
                                                                     : std::string("InWorkers");
                         });

}  // namespace
}  // namespace agentd
