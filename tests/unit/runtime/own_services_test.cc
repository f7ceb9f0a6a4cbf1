// SPDX-License-Identifier: Apache-2.0
// The services that agentd itself offers: checkpoints, remarks on a session, and the model that distils.
#include "core/runtime/own_services.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "core/agent/checkpoints.h"
#include "core/codec/json.h"
#include "core/scrub/secrets.h"
#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::TestCall;

class OwnServices : public AgentTest {
 protected:
  OwnServices() {
    options_.lifecycle = true;
    on(AGENTD_EVENT_TURN_START, "handle", [&](const TestCall& call) {
      handle_ = call.raw.conversation;
      return AGENTD_OK;
    });
  }
  ServiceRegistry& registry() {
    if (registry_) return *registry_;
    if (!services_) services_ = make_services(runtime_parts(), runtime_settings());
    ServiceRegistryOptions options;
    options.project_of = [this](agentd_conv handle) { return project_of(*services_, handle); };
    registry_.emplace(clock_, log_, std::move(options));
    offer_own_services(*registry_, {*services_, runtime_parts(), options_});
    return *registry_;
  }
  ServiceAnswer ask(std::string_view interface, std::string_view operation, const std::string& input,
                    agentd_conv conversation = 0, std::string_view project = {}) {
    ServiceRequest request;
    request.interface_id = interface;
    request.operation = operation;
    request.input_json = input;
    request.conversation = conversation;
    request.project_id = project;
    return registry().call(request);
  }
  // The member of a good answer.
  std::string member(const ServiceAnswer& answer, std::string_view name) {
    EXPECT_TRUE(answer) << answer.error().message;
    if (!answer) return {};
    const auto parsed = JsonDocument::parse(*answer);
    EXPECT_TRUE(parsed);
    const JsonView found = parsed->root()[name];
    return found.is_string() ? std::string(found.string_or("")) : found.text();
  }
  Checkpoint found(const std::string& id) {
    auto out = Checkpoints({store_, clock_, ids_, estimator_, models_}).find(id);
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : Checkpoint{};
  }
  // A session in which one thing was said.
  void talk() {
    open();
    model_.say("one");
    ASSERT_TRUE(run("first"));
  }

  agentd_conv handle_ = 0;
  std::optional<ServiceRegistry> registry_;
};

// ---- checkpoints

TEST_F(OwnServices, AToolSavesACheckpointOfTheSessionThatItWorksIn) {
  tools_.offer("save");
  permissions_.allow = {{"save", {}, "save"}};
  std::string id;
  bool stored_when_answered = true;
  tools_.handler = [&](const ToolCall&) -> Result<ToolOutcome> {
    const ServiceAnswer saved =
        ask(kCheckpointService, "save", R"({"name":"in the middle","summary":"half done"})", handle_);
    id = member(saved, "id");
    stored_when_answered = Checkpoints({store_, clock_, ids_, estimator_, models_}).find(id).has_value();
    ToolOutcome out;
    out.content = "saved";
    return out;
  };
  open();
  model_.ask_tools({{"save", "{}"}}).say("done");
  model_.during = [&](const ModelRequest&) {
    if (id.empty()) return;
    EXPECT_EQ(found(id).record.name, "in the middle") << "the model has its result: it is stored";
  };
  ASSERT_TRUE(run("work"));
  EXPECT_FALSE(stored_when_answered) << "the control: it came with the session's own commit";
  const Checkpoint saved = found(id);
  EXPECT_EQ(saved.record.conversation_id, session_->conversation_id());
  EXPECT_EQ(saved.record.why, kManualCheckpoint);
  ASSERT_EQ(saved.record.texts.size(), 1u);
  EXPECT_EQ(saved.record.texts[0].text, "half done");
  EXPECT_LT(saved.record.revision, saved.seq);
  EXPECT_TRUE(store_.verify(this->id()));
}

TEST_F(OwnServices, AnIdleSessionIsSavedAtOnce) {
  talk();
  const std::string id = member(ask(kCheckpointService, "save", "{}", handle_), "id");
  EXPECT_EQ(found(id).record.conversation_id, session_->conversation_id());
  model_.say("two");
  ASSERT_TRUE(run("second")) << "the session takes up what was added";
}

TEST_F(OwnServices, AHookOfTheEndCanSaveOne) {
  std::string id;
  on(AGENTD_EVENT_SESSION_END, "end", [&](const TestCall& call) {
    id = member(ask(kCheckpointService, "save", "{}", call.raw.conversation), "id");
    return AGENTD_OK;
  });
  talk();
  session_->end("exit");
  EXPECT_EQ(found(id).record.conversation_id, session_->conversation_id());
}

TEST_F(OwnServices, NothingIsSavedOfASessionThatCannotBeResumed) {
  ServiceAnswer early = std::string();
  on(AGENTD_EVENT_SESSION_START, "start", [&](const TestCall& call) {
    early = ask(kCheckpointService, "save", "{}", call.raw.conversation);
    return AGENTD_OK;
  });
  talk();
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("nothing was said"), std::string::npos) << early.error().message;
  session_.reset();
  agent_.reset();
  options_.saves = false;
  talk();
  const ServiceAnswer unsaved = ask(kCheckpointService, "save", "{}", handle_);
  ASSERT_FALSE(unsaved);
  EXPECT_NE(unsaved.error().message.find("not saved"), std::string::npos) << unsaved.error().message;
  const ServiceAnswer nobodys = ask(kCheckpointService, "save", "{}");
  ASSERT_FALSE(nobodys);
  EXPECT_EQ(nobodys.error().status, AGENTD_E_ARG);
}

TEST_F(OwnServices, ListShowAndResumeStayInTheProject) {
  talk();
  const std::string id = member(ask(kCheckpointService, "save", R"({"name":"a place"})", handle_), "id");
  const ServiceAnswer listed = ask(kCheckpointService, "list", "{}", handle_);
  EXPECT_NE(member(listed, "message").find(id), std::string::npos);
  EXPECT_NE(member(listed, "message").find("\n> a place"), std::string::npos) << "a name is quoted";
  EXPECT_NE(member(listed, "checkpoints").find(id), std::string::npos);
  EXPECT_NE(member(ask(kCheckpointService, "show", R"({"id":")" + id + R"("})", handle_), "checkpoint").find(id),
            std::string::npos);
  const std::string resume = R"({"id":")" + id + R"(","level":"full"})";
  const ServiceAnswer resumed = ask(kCheckpointService, "resume", resume, handle_);
  EXPECT_NE(member(resumed, "conversation_id"), session_->conversation_id());
  EXPECT_EQ(member(resumed, "level"), "full");
  EXPECT_EQ(member(ask(kCheckpointService, "list", "{}", 0, "other"), "checkpoints"), "[]");
  const ServiceAnswer foreign = ask(kCheckpointService, "resume", resume, 0, "other");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().status, AGENTD_E_NOT_FOUND);
}

TEST_F(OwnServices, WrongInputsAreRefused) {
  talk();
  for (const auto& [operation, input] : {std::pair{"save", R"({"percent":101})"},
                                         {"list", R"({"limit":0})"},
                                         {"resume", R"({"id":"x"})"},
                                         {"save", "[]"}})
    EXPECT_FALSE(ask(kCheckpointService, operation, input, handle_)) << operation << input;
}

TEST_F(OwnServices, ACallerWithoutAProjectSeesTheCheckpointsOfAll) {
  const auto save = [&](std::string_view project) {
    return ask(kCheckpointService, "save", R"({"session_id":"s","surface":"claude-code","percent":70})", 0, project);
  };
  ASSERT_TRUE(save("u/p"));
  ASSERT_TRUE(save("u/q"));
  const auto listed = [&](std::string_view project) {
    const ServiceAnswer answer = ask(kCheckpointService, "list", "{}", 0, project);
    const auto document = JsonDocument::parse(answer ? *answer : "{}");
    return document->root()["checkpoints"].size();
  };
  EXPECT_EQ(listed({}), 2u);
  EXPECT_EQ(listed("u/p"), 1u);
  EXPECT_EQ(listed("u/r"), 0u);
}

// ---- sessions elsewhere

TEST_F(OwnServices, ASessionElsewhereIsOneConversationThatHoldsItsCheckpointsAlone) {
  const auto save = [&](const std::string& more, std::string_view project = "u/p") {
    return ask(kCheckpointService, "save", R"({"session_id":"s1","surface":"claude-code")" + more + "}", 0, project);
  };
  const ServiceAnswer first = save(R"(,"percent":70)"), second = save(R"(,"summary":"The parser works.")");
  const std::string conversation = member(first, "conversation_id");
  EXPECT_EQ(member(second, "conversation_id"), conversation) << "the same id finds it again";
  EXPECT_NE(member(save("", "other"), "conversation_id"), conversation) << "the control";
  EXPECT_EQ(member(ask(kSessionService, "open", R"({"session_id":"s1","surface":"claude-code"})", 0, "u/p"),
                   "conversation_id"),
            conversation);
  const auto info = store_.info(*Ulid::parse(conversation));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->messages, 0u);
  EXPECT_EQ(info->project_id, "u/p");
  EXPECT_EQ(
      member(ask(kSessionService, "open", R"({"session_id":"s1","surface":"claude-code"})", 0, "u/p"), "revision"),
      std::to_string(info->revision));
  EXPECT_EQ(info->title, "claude-code session s1");
  const Checkpoint at = found(member(first, "id"));
  EXPECT_EQ(at.record.why, kForeignCheckpoint);
  ASSERT_EQ(at.record.texts.size(), 1u);
  EXPECT_NE(at.record.texts[0].text.find("70 %"), std::string::npos);
  // It has the level summary alone.
  const std::string id = member(second, "id");
  const ServiceAnswer full = ask(kCheckpointService, "resume", R"({"id":")" + id + R"(","level":"full"})", 0, "u/p");
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message.find("messages are not here"), std::string::npos);
  const ServiceAnswer resumed = ask(kCheckpointService, "resume", R"({"id":")" + id + R"("})", 0, "u/p");
  EXPECT_EQ(member(resumed, "level"), "summary");
  open(*Ulid::parse(member(resumed, "conversation_id")));
  model_.say("well");
  ASSERT_TRUE(run("go on"));
  EXPECT_NE(model_.requests.back().all_text().find("The parser works."), std::string::npos);
}

TEST_F(OwnServices, ADeletedSessionElsewhereIsMadeAgain) {
  const std::string input = R"({"session_id":"s1"})";
  const std::string first = member(ask(kCheckpointService, "save", input, 0, "u/p"), "conversation_id");
  ASSERT_TRUE(store_.remove(*Ulid::parse(first)));
  const std::string second = member(ask(kCheckpointService, "save", input, 0, "u/p"), "conversation_id");
  EXPECT_NE(second, first);
  EXPECT_EQ(member(ask(kCheckpointService, "save", input, 0, "u/p"), "conversation_id"), second);
}

TEST_F(OwnServices, SecretsInATextFromElsewhereAreReplaced) {
  auto secrets = Secrets::make({}, []() -> Result<std::string> { return new_secrets_key(); });
  ASSERT_TRUE(secrets);
  secrets_ = secrets->get();
  const std::string key = "ghp_" + std::string("16C7e42F292c6912E7710c838347Ae178B4a");
  const ServiceAnswer saved =
      ask(kCheckpointService, "save", R"({"session_id":"s1","summary":"The token is )" + key + R"(."})", 0, "u/p");
  const Checkpoint checkpoint = found(member(saved, "id"));
  ASSERT_EQ(checkpoint.record.texts.size(), 1u);
  EXPECT_EQ(checkpoint.record.texts[0].text.find(key), std::string::npos);
  EXPECT_NE(checkpoint.record.texts[0].text.find("The token is "), std::string::npos);
}

// ---- remarks

TEST_F(OwnServices, ANoteReachesTheSessionsEndAndTakesAnEarlierOnesPlace) {
  std::string ended;
  on(AGENTD_EVENT_SESSION_END, "end", [&](const TestCall& call) {
    const auto& payload = call.payload<agentd_session_end>();
    ended = std::to_string(payload.outcome) + "/" + std::string(view_of(payload.task)) + "/" +
            std::string(view_of(payload.approach)) + "/" + std::string(view_of(payload.notes)) + "/" +
            std::to_string(payload.tags.count);
    return AGENTD_OK;
  });
  talk();
  ASSERT_TRUE(
      ask(kSessionService, "note", R"({"task":"a","approach":"b","notes":"old","outcome":"failure"})", handle_));
  ASSERT_TRUE(
      ask(kSessionService, "note", R"({"task":"t","approach":"x","outcome":"partial","tags":["k","l"]})", handle_));
  EXPECT_FALSE(ask(kSessionService, "note", R"({"outcome":"maybe"})", handle_));
  EXPECT_FALSE(ask(kSessionService, "note", R"({"task":"t"})"));
  session_->end("exit");
  EXPECT_EQ(ended, std::to_string(AGENTD_OUTCOME_PARTIAL) + "/t/x//2");
}

// ---- the model that distils

TEST(DistillerModel, IsOfTheConversationsOwnVendor) {
  const ModelTable models = *ModelTable::parse(
      R"({"models":[{"pattern":"m-","provider":"fake","window":10000,"max_output":2000,"summary_model":"cheap"}]})");
  ModelSettings settings;
  EXPECT_EQ(distiller_model(models, settings, "", "fake", "m-1", 0), "fake/cheap");
  EXPECT_EQ(distiller_model(models, settings, "", "fake", "fake/m-1", 0), "fake/cheap");
  EXPECT_EQ(distiller_model(models, settings, "", "fake", "unknown", 0), "fake/unknown");
  EXPECT_EQ(distiller_model(models, settings, "", "resold", "m-1", 0), "resold/m-1") << "its cheap one may be another";
  settings.summary_model = "fake/chosen";
  EXPECT_EQ(distiller_model(models, settings, "fake", "fake", "m-1", 0), "fake/chosen");
  settings.summary_model = "other/chosen";
  EXPECT_EQ(distiller_model(models, settings, "other", "fake", "m-1", 0), "fake/cheap") << "never another vendor's";
}

TEST_F(OwnServices, TheDistillerNamesAModel) {
  EXPECT_EQ(member(ask(kDistillerService, "model", R"({"provider":"fake","model":"m-1"})"), "model"), "fake/cheap");
  EXPECT_FALSE(ask(kDistillerService, "model", R"({"provider":"fake"})"));
}

}  // namespace
}  // namespace agentd
