// SPDX-License-Identifier: Apache-2.0
#include "core/services/registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/thread.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

constexpr std::string_view kMemory = "agentd.memory/1", kScrubber = "agentd.scrubber/1";

// A provider whose answers are functions of the test.
class Shop final : public ServiceProvider {
 public:
  using Answer = std::function<ServiceAnswer(const ServiceRequest&)>;
  Shop& sells(std::string_view interface, std::string operation, Answer answer, Milliseconds timeout = {}) {
    rows_.push_back({std::string(interface), std::move(operation), 0, timeout, nullptr, answers_.size()});
    answers_.push_back(std::move(answer));
    return *this;
  }
  const void* service_instance() const override { return this; }
  std::vector<OfferedService> services() const override { return rows_; }
  ServiceAnswer call_service(const OfferedService& service, const ServiceRequest& request) override {
    return answers_[service.tag](request);
  }

 private:
  std::vector<OfferedService> rows_;
  std::vector<Answer> answers_;
};

Shop::Answer says(std::string json) {
  return [json = std::move(json)](const ServiceRequest&) -> ServiceAnswer { return json; };
}

ServicePlace place(const std::string& name, std::uint32_t rank = 2) {
  return {"org.test." + name, name, rank, {}, false};
}

ServiceRequest request(std::string_view interface, std::string_view operation, std::string_view input = "{}") {
  ServiceRequest out;
  out.interface_id = interface;
  out.operation = operation;
  out.input_json = input;
  return out;
}

class Registry : public ::testing::Test {
 protected:
  ServiceAnswer search(std::string_view input = "{}") { return registry_.call(request(kMemory, "search", input)); }
  // A shop with one operation of agentd.memory/1.
  std::shared_ptr<Shop> memory(const std::string& answer) {
    auto out = std::make_shared<Shop>();
    out->sells(kMemory, "search", says(answer));
    return out;
  }

  SystemClock clock_;
  testing::RecordingLog log_;
  ServiceRegistry registry_{clock_, log_, {{{"chosen", "b"}}, [](agentd_conv conv) {
                                             return conv == 0 ? std::string() : "project" + std::to_string(conv);
                                           }}};
};

TEST_F(Registry, CallsTheProviderOfAnInterface) {
  registry_.add(memory("[1]"), place("a"));
  const ServiceAnswer got = search();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, "[1]");
  EXPECT_TRUE(registry_.offers(kMemory, "search"));
}

TEST_F(Registry, NamesTheInterfaceThatNobodyOffers) {
  const ServiceAnswer got = search();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().status, AGENTD_E_UNSUPPORTED);
  EXPECT_EQ(got.error().message,
            "agentd.memory/1 is unsupported here, since no plugin offers it: enable one that does (agentd --plugins)");
  EXPECT_FALSE(registry_.offers(kMemory, "search"));
}

TEST_F(Registry, DoesNotDivideAnInterfaceAmongProviders) {
  registry_.add(memory("1"), place("a"));
  auto other = std::make_shared<Shop>();
  other->sells(kMemory, "record", says("2"));
  registry_.add(other, place("b"));
  const ServiceAnswer got = registry_.call(request(kMemory, "record"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().status, AGENTD_E_UNSUPPORTED);
  EXPECT_NE(got.error().message.find("org.test.a offers agentd.memory/1 without that operation"), std::string::npos)
      << got.error().message;
}

TEST_F(Registry, UsesTheFirstByOrderAndTellsOfAConflictOnce) {
  registry_.add(memory("\"late\""), place("b"));
  EXPECT_TRUE(registry_.take_conflicts().empty());
  registry_.add(memory("\"early\""), place("a"));
  EXPECT_EQ(*search(), "\"early\"");
  registry_.add(memory("\"system\""), place("z", 0));
  EXPECT_EQ(*search(), "\"system\"");
  const std::vector<std::string> told = registry_.take_conflicts();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0],
            "org.test.z and org.test.a and org.test.b offer agentd.memory/1, and org.test.z is used as the "
            "first: set services.memory to the one that you want");
  EXPECT_TRUE(registry_.take_conflicts().empty());
  EXPECT_EQ(registry_.conflicts().size(), 1u);
  EXPECT_TRUE(log_.has("3 services") || log_.has("2 services"));
}

TEST_F(Registry, UsesTheProviderThatTheSettingsName) {
  auto a = std::make_shared<Shop>(), b = std::make_shared<Shop>();
  a->sells("agentd.chosen/1", "x", says("1"));
  b->sells("agentd.chosen/1", "x", says("2"));
  registry_.add(a, place("a"));
  const ServiceAnswer missing = registry_.call(request("agentd.chosen/1", "x"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("services.chosen names b, which does not offer it"), std::string::npos)
      << missing.error().message;
  registry_.add(b, place("b"));
  EXPECT_EQ(*registry_.call(request("agentd.chosen/1", "x")), "2");
  EXPECT_TRUE(registry_.conflicts().empty());
}

TEST_F(Registry, UsesAProjectsPluginOnlyWhereItIsNamed) {
  auto shop = std::make_shared<Shop>();
  shop->sells("agentd.chosen/1", "x", says("1")).sells(kMemory, "search", says("2"));
  registry_.add(shop, {"org.test.b", "b", 1, "project7", true});
  EXPECT_FALSE(search());
  ServiceRequest asked = request("agentd.chosen/1", "x");
  EXPECT_FALSE(registry_.call(asked));
  asked.conversation = 7;
  EXPECT_EQ(*registry_.call(asked), "1");
  asked.conversation = 8;
  EXPECT_FALSE(registry_.call(asked));
}

TEST_F(Registry, TellsTheProviderTheProjectOfTheConversation) {
  auto shop = std::make_shared<Shop>();
  shop->sells(kMemory, "search", [](const ServiceRequest& asked) -> ServiceAnswer {
    return "\"" + std::string(asked.project_id) + " " + std::string(asked.caller) + "\"";
  });
  registry_.add(shop, place("a"));
  ServiceRequest asked = request(kMemory, "search");
  asked.conversation = 3;
  EXPECT_EQ(*registry_.call(asked), "\"project3 core\"");
  EXPECT_EQ(*search(), "\" core\"");
}

TEST_F(Registry, ChecksInputAndResult) {
  std::atomic<int> calls{0};
  std::string result;
  auto shop = std::make_shared<Shop>();
  shop->sells(kMemory, "search", [&](const ServiceRequest&) -> ServiceAnswer {
    ++calls;
    return result;
  });
  registry_.add(shop, place("a"));
  EXPECT_EQ(search("{").error().status, AGENTD_E_ARG);
  EXPECT_EQ(search("").error().status, AGENTD_E_ARG);
  EXPECT_EQ(search("\"" + std::string(kServiceJsonMax, 'x') + "\"").error().status, AGENTD_E_TOO_BIG);
  EXPECT_EQ(calls, 0);
  result = "no JSON";
  EXPECT_EQ(search().error().status, AGENTD_E_INTERNAL);
  EXPECT_NE(search().error().message.find("by org.test.a is not JSON"), std::string::npos) << search().error().message;
  result = "\"" + std::string(kServiceJsonMax, 'x') + "\"";
  EXPECT_EQ(search().error().status, AGENTD_E_TOO_BIG);
  result = "\"" + std::string(kServiceJsonMax - 2, 'x') + "\"";
  EXPECT_EQ(*search("\"" + std::string(kServiceJsonMax - 2, 'y') + "\""), result);
}

TEST_F(Registry, GivesAnOperationTheShorterOfItsTimeAndTheCallers) {
  std::uint64_t deadline = 0;
  auto shop = std::make_shared<Shop>();
  const auto look = [&](const ServiceRequest& asked) -> ServiceAnswer {
    deadline = asked.deadline.at_ns;
    return std::string("null");
  };
  shop->sells(kMemory, "search", look).sells(kMemory, "quick", look, Milliseconds(1'000));
  registry_.add(shop, place("a"));
  const std::uint64_t before = clock_.monotonic_ns();
  ASSERT_TRUE(search());
  EXPECT_GE(deadline, before + 30'000'000'000u);
  ServiceRequest asked = request(kMemory, "quick");
  ASSERT_TRUE(registry_.call(asked));
  EXPECT_LT(deadline, before + 30'000'000'000u);
  asked.deadline.at_ns = clock_.monotonic_ns() + 500'000'000u;
  ASSERT_TRUE(registry_.call(asked));
  EXPECT_EQ(deadline, asked.deadline.at_ns);
}

TEST_F(Registry, DoesNotCallWithoutTimeOrAfterACancel) {
  std::atomic<int> calls{0};
  auto shop = std::make_shared<Shop>();
  shop->sells(kMemory, "search", [&](const ServiceRequest&) -> ServiceAnswer {
    ++calls;
    return std::string("1");
  });
  registry_.add(shop, place("a"));
  ServiceRequest late = request(kMemory, "search");
  late.deadline.at_ns = 1;
  EXPECT_EQ(registry_.call(late).error().status, AGENTD_E_DEADLINE);
  ServiceRequest cancelled = request(kMemory, "search");
  cancelled.cancel.cancel(AGENTD_CANCEL_USER);
  EXPECT_EQ(registry_.call(cancelled).error().status, AGENTD_E_CANCELLED);
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(search());
  EXPECT_EQ(calls, 1);
}

TEST_F(Registry, PassesOnTheErrorOfTheProvider) {
  auto shop = std::make_shared<Shop>();
  shop->sells(kMemory, "search", [](const ServiceRequest&) -> ServiceAnswer {
    return ServiceError{AGENTD_E_NOT_FOUND, "org.test.a: nothing there"};
  });
  registry_.add(shop, place("a"));
  EXPECT_EQ(search().error().status, AGENTD_E_NOT_FOUND);
  EXPECT_EQ(search().error().message, "org.test.a: nothing there");
}

// ---- circles

TEST_F(Registry, RefusesACallOfAnInstanceToItself) {
  auto shop = memory("1");
  registry_.add(shop, place("a"));
  ServiceRequest asked = request(kMemory, "search");
  asked.caller = "org.test.a";
  asked.from = shop.get();
  const ServiceAnswer got = registry_.call(asked);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().status, AGENTD_E_BUSY);
  const int other = 0;
  asked.from = &other;
  EXPECT_TRUE(registry_.call(asked));
}

TEST_F(Registry, RefusesACircleOfThreeAtOnceAndNotTheNextCall) {
  auto a = std::make_shared<Shop>(), b = std::make_shared<Shop>(), c = std::make_shared<Shop>();
  const auto asks = [this](const Shop* from, std::string_view interface) {
    return [this, from, interface](const ServiceRequest&) {
      ServiceRequest next = request(interface, "go");
      next.from = from;
      next.caller = "someone";
      return registry_.call(next);
    };
  };
  a->sells("a/1", "go", asks(a.get(), "b/1"));
  b->sells("b/1", "go", asks(b.get(), "c/1"));
  bool closes = true;
  c->sells("c/1", "go", [&](const ServiceRequest& asked) -> ServiceAnswer {
    return closes ? asks(c.get(), "a/1")(asked) : std::string("\"end\"");
  });
  registry_.add(a, place("a"));
  registry_.add(b, place("b"));
  registry_.add(c, place("c"));
  EXPECT_EQ(registry_.call(request("a/1", "go")).error().status, AGENTD_E_BUSY);
  closes = false;
  EXPECT_EQ(*registry_.call(request("a/1", "go")), "\"end\"");
}

TEST_F(Registry, RefusesTheSecondOfTwoThreadsThatWouldWaitForEachOther) {
  auto a = std::make_shared<Shop>(), b = std::make_shared<Shop>();
  std::atomic<bool> inside{false}, tried{false};
  a->sells("a/1", "go", says("1"));
  b->sells("b/1", "go", [&](const ServiceRequest&) -> ServiceAnswer {
    inside = true;
    inside.notify_all();
    tried.wait(false);
    return std::string("2");
  });
  registry_.add(a, place("a"));
  registry_.add(b, place("b"));
  ServiceAnswer first = std::string();
  {
    const Thread thread([&] {
      ServiceRequest asked = request("b/1", "go");
      asked.from = a.get();
      first = registry_.call(asked);
    });
    inside.wait(false);
    ServiceRequest asked = request("a/1", "go");
    asked.from = b.get();
    EXPECT_EQ(registry_.call(asked).error().status, AGENTD_E_BUSY);
    // Others may wait for the same instance.
    const int other = 0;
    asked.from = &other;
    EXPECT_TRUE(registry_.call(asked));
    tried = true;
    tried.notify_all();
  }
  EXPECT_EQ(*first, "2");
}

// ---- agentd's own, and offers that add up

TEST_F(Registry, CallsABuiltinBeforeAnyPlugin) {
  registry_.offer_builtin(std::string(kMemory), "search", [](const ServiceRequest& asked) -> Result<std::string> {
    if (asked.input_json == "0") return Error{Code::kConflict, "changed meanwhile"};
    return std::string("\"core\"");
  });
  EXPECT_EQ(*search(), "\"core\"");
  EXPECT_EQ(search("0").error().status, AGENTD_E_CONFLICT);
  registry_.add(memory("\"plugin\""), place("a", 0));
  EXPECT_EQ(*search(), "\"core\"");
  EXPECT_EQ(registry_.conflicts().size(), 1u);
}

TEST_F(Registry, CallsAllScrubbers) {
  registry_.offer_builtin(std::string(kScrubber), "scrub",
                          [](const ServiceRequest&) -> Result<std::string> { return std::string("1"); });
  auto a = std::make_shared<Shop>(), b = std::make_shared<Shop>();
  a->sells(kScrubber, "scrub", says("2"));
  b->sells(kScrubber, "scrub", [](const ServiceRequest&) -> ServiceAnswer {
    return ServiceError{AGENTD_E_IO, "broken"};
  });
  registry_.add(b, place("b"));
  registry_.add(a, place("a"));
  const auto all = registry_.call_all(request(kScrubber, "scrub"));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].provider, "core");
  EXPECT_EQ(*all[1].answer, "2");
  EXPECT_EQ(all[2].answer.error().message, "broken");
  EXPECT_TRUE(registry_.conflicts().empty());
  EXPECT_EQ(*registry_.call(request(kScrubber, "scrub")), "1");
  ServiceError refused;
  EXPECT_TRUE(registry_.call_all(request(kScrubber, "scrub", "{"), &refused).empty());
  EXPECT_EQ(refused.status, AGENTD_E_ARG);
}

TEST_F(Registry, ListsWhoOffersWhat) {
  registry_.add(memory("1"), place("a"));
  registry_.add(memory("2"), place("b"));
  const auto all = registry_.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].provider, "org.test.a");
  EXPECT_TRUE(all[0].used);
  EXPECT_FALSE(all[1].used);
  EXPECT_EQ(all[1].operations, std::vector<std::string>{"search"});
}

// ---- changes

TEST_F(Registry, KeepsARemovedProviderUntilItsCallEnds) {
  auto shop = std::make_shared<Shop>();
  const std::weak_ptr<Shop> watched = shop;
  bool alive = false;
  shop->sells(kMemory, "search", [&](const ServiceRequest&) -> ServiceAnswer {
    registry_.remove(*watched.lock());
    alive = !watched.expired();
    return std::string("1");
  });
  registry_.add(std::move(shop), place("a"));
  EXPECT_EQ(*search(), "1");
  EXPECT_TRUE(alive);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(search().error().status, AGENTD_E_UNSUPPORTED);
}

TEST_F(Registry, ReplacesAProviderInItsPlace) {
  const auto old = memory("1");
  registry_.add(old, place("a"));
  registry_.add(memory("2"), place("a"), old.get());
  EXPECT_EQ(*search(), "2");
  EXPECT_EQ(registry_.all().size(), 1u);
  EXPECT_TRUE(registry_.conflicts().empty());
}

// ---- parts

TEST(ServiceGate, WaitsForCallsAndThenRefusesThem) {
  SystemClock clock;
  ServiceGate gate;
  {
    const ServiceGate::Use use(gate);
    EXPECT_TRUE(use);
    EXPECT_FALSE(gate.close(clock, Milliseconds(1)));
    EXPECT_FALSE(ServiceGate::Use(gate));
  }
  EXPECT_TRUE(gate.close(clock, Milliseconds(1)));
}

TEST(ServiceNames, HaveAVersion) {
  EXPECT_EQ(service_name_problem("agentd.memory/1", "search"), "");
  EXPECT_EQ(service_name_problem("org.example.a-b_c/12", "x.y"), "");
  for (const std::string_view wrong :
       {"", "/1", "agentd.memory", "agentd.memory/", "agentd.memory/x", "a b/1", "a/1/x"})
    EXPECT_NE(service_name_problem(wrong, "search"), "") << wrong;
  EXPECT_NE(service_name_problem("agentd.memory/1", ""), "");
  EXPECT_NE(service_name_problem("agentd.memory/1", std::string(65, 'x')), "");
}

TEST(ServiceNames, AreKeysOfTheSettings) {
  EXPECT_EQ(service_key("agentd.memory/1"), "memory");
  EXPECT_EQ(service_key("org.example.time/2"), "org.example.time");
}

}  // namespace
}  // namespace agentd
