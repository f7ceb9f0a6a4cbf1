// SPDX-License-Identifier: Apache-2.0
// services_test.cc - agentd.provide/1 and agentd.services/1 of one plugin instance.
#include <agentd/ext/draft/provide.h>
#include <agentd/ext/draft/services.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "core/bridge/plugin_context.h"
#include "tests/support/hook_fakes.h"

namespace agentd {
namespace {

constexpr std::string_view kNotes = "org.test.notes/1";

agentd_status AGENTD_CALL answer(void*, const agentd_call* call) noexcept {
  const auto* const asked = static_cast<const agentd_service_call*>(call->payload);
  agentd_act_text act{};
  act.h = {sizeof act, AGENTD_ACT_SERVICE_RESULT, 0};
  const std::string text = "\"" + std::to_string(asked->tag) + " " + std::string(view_of(asked->caller)) + "\"";
  act.text = to_abi(std::string_view(text));
  return call->core->emit(call->core, call->token, &act.h);
}

class ServiceTables : public ::testing::Test {
 protected:
  ServiceTables() { grants_.interfaces = {AGENTD_PROVIDE_ID, AGENTD_SERVICES_ID, AGENTD_JSON_ID}; }
  PluginContext& context() {
    if (!context_) {
      context_ = std::make_unique<PluginContext>(PluginIdentity{"org.test.p", "1.0.0", "p", "00"}, grants_, tokens_,
                                                 services_, clock_, log_);
      context_->call_services_of(has_registry_ ? &registry_ : nullptr);
    }
    return *context_;
  }
  // Runs `fn` as a control call, whose error's text is then in failure_.
  void in_create(const std::function<void(const agentd_call&)>& fn) {
    const auto done = context().control(AGENTD_EVENT_CREATE, nullptr, Deadline(), [&](const agentd_call* call) {
      fn(*call);
      return AGENTD_E_INTERNAL;
    });
    failure_ = done ? "" : done.error().message;
  }
  template <typename Table>
  const Table* query(const char* id) {
    return static_cast<const Table*>(
        context().core()->query(context().core(), to_abi(std::string_view(id)), sizeof(Table)));
  }
  static agentd_service_row row(std::string_view operation) {
    agentd_service_row out{};
    out.size = sizeof out;
    out.interface_id = to_abi(kNotes);
    out.operation = to_abi(operation);
    out.timeout_ms = 700;
    out.fn = answer;
    out.tag = 31;
    return out;
  }

  SystemClock clock_;
  NullLog log_;
  TokenTable tokens_;
  RefusingServices services_{{Code::kUnavailable, "no such service in this test"}};
  ServiceRegistry registry_{clock_, log_};
  Grants grants_;
  bool has_registry_ = true;
  std::string failure_;
  std::unique_ptr<PluginContext> context_;  // uses the members above
};

TEST_F(ServiceTables, NeedAGrant) {
  EXPECT_NE(query<agentd_provide>(AGENTD_PROVIDE_ID), nullptr);
  EXPECT_NE(query<agentd_registry>(AGENTD_SERVICES_ID), nullptr);
  context_ = nullptr;
  grants_.interfaces.clear();
  EXPECT_EQ(query<agentd_provide>(AGENTD_PROVIDE_ID), nullptr);
  EXPECT_EQ(query<agentd_registry>(AGENTD_SERVICES_ID), nullptr);
}

TEST_F(ServiceTables, HaveNoRegistryWhereThereIsNone) {
  has_registry_ = false;
  EXPECT_EQ(query<agentd_registry>(AGENTD_SERVICES_ID), nullptr);
  EXPECT_NE(query<agentd_provide>(AGENTD_PROVIDE_ID), nullptr);
}

TEST_F(ServiceTables, TakeRowsAndGiveThemBack) {
  const auto* const provide = query<agentd_provide>(AGENTD_PROVIDE_ID);
  in_create([&](const agentd_call& call) {
    const agentd_service_row add = row("add");
    EXPECT_EQ(provide->add(provide, call.token, &add), AGENTD_OK);
    EXPECT_EQ(provide->add(provide, call.token, &add), AGENTD_E_CONFLICT);
  });
  ASSERT_EQ(context().provided().size(), 1u);
  EXPECT_EQ(context().provided()[0].timeout, Milliseconds(700));
  EXPECT_EQ(provide->remove(provide, 0, to_abi(kNotes), to_abi(std::string_view("list"))), AGENTD_E_NOT_FOUND);
  EXPECT_EQ(provide->remove(provide, 0, to_abi(kNotes), to_abi(std::string_view("add"))), AGENTD_OK);
  EXPECT_TRUE(context().provided().empty());
}

TEST_F(ServiceTables, RefuseMalformedRowsWithASentence) {
  const auto* const provide = query<agentd_provide>(AGENTD_PROVIDE_ID);
  const auto refused = [&](agentd_service_row wrong) {
    agentd_status status = AGENTD_OK;
    in_create([&](const agentd_call& call) { status = provide->add(provide, call.token, &wrong); });
    EXPECT_NE(failure_.find("p: "), std::string::npos);
    EXPECT_EQ(failure_.find("returned the status"), std::string::npos) << "there is no sentence";
    return status;
  };
  agentd_service_row wrong = row("add");
  wrong.size = 12;
  EXPECT_EQ(refused(wrong), AGENTD_E_ARG);
  wrong = row("add");
  wrong.fn = nullptr;
  EXPECT_EQ(refused(wrong), AGENTD_E_ARG);
  wrong = row("");
  EXPECT_EQ(refused(wrong), AGENTD_E_ARG);
  wrong = row("add");
  wrong.interface_id = to_abi(std::string_view("org.test.notes"));
  EXPECT_EQ(refused(wrong), AGENTD_E_ARG);
  wrong = row("add");
  wrong.operation = {nullptr, 3};
  EXPECT_EQ(refused(wrong), AGENTD_E_ARG);
  EXPECT_TRUE(context().provided().empty());
}

TEST_F(ServiceTables, TakeNoMoreRowsThanTheLimit) {
  const auto* const provide = query<agentd_provide>(AGENTD_PROVIDE_ID);
  in_create([&](const agentd_call& call) {
    for (unsigned i = 0; i < AGENTD_SERVICE_ROWS_MAX; ++i) {
      const std::string name = "n" + std::to_string(i);
      const agentd_service_row next = row(name);
      ASSERT_EQ(provide->add(provide, call.token, &next), AGENTD_OK) << i;
    }
    const agentd_service_row more = row("more");
    EXPECT_EQ(provide->add(provide, call.token, &more), AGENTD_E_TOO_BIG);
  });
}

TEST_F(ServiceTables, HandACallToTheRowsFunction) {
  ServiceRequest request;
  request.interface_id = kNotes;
  request.operation = "add";
  request.input_json = "{}";
  const ServiceAnswer got = context().call_service({std::string(kNotes), "add", 0, {}, answer, 31}, nullptr, request);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, "\"31 core\"");
}

TEST_F(ServiceTables, AreTheOnlyPlaceForAServicesResult) {
  agentd_act_text act{};
  act.h = {sizeof act, AGENTD_ACT_SERVICE_RESULT, 0};
  act.text = to_abi(std::string_view("1"));
  in_create([&](const agentd_call& call) {
    EXPECT_EQ(call.core->emit(call.core, call.token, &act.h), AGENTD_E_UNSUPPORTED);
  });
}

TEST_F(ServiceTables, GiveTheInputAsTheCallsJson) {
  static const agentd_json* json = nullptr;
  json = query<agentd_json>(AGENTD_JSON_ID);
  const agentd_fn look = [](void*, const agentd_call* call) noexcept -> agentd_status {
    agentd_str text{};
    const agentd_status status = json->payload(json, call->token, &text);
    if (status != AGENTD_OK) return status;
    agentd_act_text act{};
    act.h = {sizeof act, AGENTD_ACT_SERVICE_RESULT, 0};
    act.text = text;
    return call->core->emit(call->core, call->token, &act.h);
  };
  ServiceRequest request;
  request.input_json = R"({"q":"tabs"})";
  const ServiceAnswer got = context().call_service({std::string(kNotes), "add", 0, {}, look, 0}, nullptr, request);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, request.input_json);
}

// Also where no conversation tells it, as in create().
TEST_F(ServiceTables, CallForTheProjectWhosePluginItIs) {
  std::string project = "none";
  registry_.offer_builtin(std::string(kNotes), "where", [&](const ServiceRequest& asked) -> Result<std::string> {
    project = asked.project_id;
    return std::string("0");
  });
  const auto call_in = [&](const char* own) {
    context_ = nullptr;
    context().call_services_of(&registry_, own);
    const auto* const registry = query<agentd_registry>(AGENTD_SERVICES_ID);
    in_create([&](const agentd_call& call) {
      agentd_str out{};
      EXPECT_EQ(registry->call(registry, call.token, to_abi(kNotes), to_abi(std::string_view("where")),
                               to_abi(std::string_view("{}")), &out),
                AGENTD_OK);
    });
    return project;
  };
  EXPECT_EQ(call_in("mine"), "mine");
  EXPECT_EQ(call_in(""), "") << "the control";
}

TEST_F(ServiceTables, CallTheRegistryAsThePlugin) {
  registry_.offer_builtin(std::string(kNotes), "who", [](const ServiceRequest& asked) -> Result<std::string> {
    return "\"" + std::string(asked.caller) + "\"";
  });
  const auto* const registry = query<agentd_registry>(AGENTD_SERVICES_ID);
  const auto ask = [&](std::string_view operation, std::string_view input, agentd_str* out) {
    agentd_status status = AGENTD_OK;
    in_create([&](const agentd_call& call) {
      status = registry->call(registry, call.token, to_abi(kNotes), to_abi(operation), to_abi(input), out);
      if (status != AGENTD_OK) return;
      EXPECT_EQ(view_of(*out), "\"org.test.p\"");
    });
    return status;
  };
  agentd_str out{};
  EXPECT_EQ(ask("who", "{}", &out), AGENTD_OK);
  EXPECT_EQ(ask("who", "{", &out), AGENTD_E_ARG);
  EXPECT_NE(failure_.find("is not JSON"), std::string::npos) << failure_;
  EXPECT_EQ(ask("what", "{}", &out), AGENTD_E_UNSUPPORTED);
  EXPECT_EQ(ask("who", "{}", nullptr), AGENTD_E_ARG);
  EXPECT_EQ(registry->call(registry, 12345, to_abi(kNotes), to_abi(kNotes), to_abi(kNotes), &out), AGENTD_E_NOT_FOUND);
}

}  // namespace
}  // namespace agentd
