// SPDX-License-Identifier: Apache-2.0
// client_link_test.cc - the daemon's end of a command: questions and held events that nobody answers.
#include "core/serve/client_link.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/base/clock.h"
#include "core/serve/client_wire.h"
#include "core/serve/clients.h"

namespace agentd::serve {
namespace {

const SystemClock kLinkClock;
const Elicitation kForm{"played", "Who are you?", R"({"type":"object"})", {}, "meet"};

// Keeps what is sent.
class KeptStream final : public HttpStream {
 public:
  explicit KeptStream(std::function<void(const std::string&)> on_send) : on_send_(std::move(on_send)) {}
  bool send(std::string bytes) override {
    on_send_(bytes);
    return true;
  }
  void close() override {}

 private:
  const std::function<void(const std::string&)> on_send_;
};

PermissionAnswer ask(ClientLink& link) {
  Tool tool;
  tool.name = "bash";
  const ClientLink::Listening listening(&link);
  return link.ask({0, "conversation", "/tmp", {}}, tool, {"call_1", "bash", ToolInput()}, {});
}

ClientWishes wishes(bool detached = false) { return {"/tmp", {}, {}, true, detached}; }

// The link, whose every frame makes `react` happen on another thread.
class Reacting {
 public:
  Reacting(ClientLink& link, std::string frame, std::function<void()> react) {
    link.connect(std::make_shared<KeptStream>([this, frame, react](const std::string& bytes) {
      if (bytes.find("event: " + frame) != std::string::npos) reacts_ = std::thread(react);
    }));
  }
  ~Reacting() {
    if (reacts_.joinable()) reacts_.join();
  }

 private:
  std::thread reacts_;
};

TEST(ClientLink, AnAnswerEndsTheQuestion) {
  ClientLink link(kLinkClock, "ID", wishes());
  const std::string yes = R"({"allowed":true,"given":true})";
  EXPECT_FALSE(link.answer(yes)) << "nothing is asked";
  const Reacting person(link, std::string(kQuestionFrame), [&] { (void)link.answer(yes); });
  EXPECT_TRUE(ask(link).allowed);
}

TEST(ClientLink, AFormIsFilledByThePersonAlone) {
  const auto filled = [&](ClientLink& link, const std::string& answer) {
    const Reacting person(link, std::string(kFormFrame), [&] { (void)link.answer(answer); });
    const ClientLink::Listening listening(&link);
    return link.elicit(kForm, CancelToken(), Deadline());
  };
  ClientLink link(kLinkClock, "ID", wishes());
  const ElicitationAnswer given = filled(link, R"({"filled":0,"values":{"name":"Ada"}})");
  EXPECT_EQ(given.kind, ElicitationAnswer::Kind::kAccepted);
  EXPECT_EQ(given.values_json, R"({"name":"Ada"})");
  EXPECT_EQ(filled(link, R"({"filled":1})").kind, ElicitationAnswer::Kind::kDeclined);
  EXPECT_EQ(filled(link, R"({"allowed":true,"given":true})").kind, ElicitationAnswer::Kind::kCancelled);
  EXPECT_EQ(link.elicit(kForm, CancelToken(), Deadline()).kind, ElicitationAnswer::Kind::kDeclined) << "another's run";
  ClientWishes alone = wishes();
  alone.answers = false;
  ClientLink absent(kLinkClock, "ID", alone);
  const ClientLink::Listening listening(&absent);
  EXPECT_EQ(absent.elicit(kForm, CancelToken(), Deadline()).kind, ElicitationAnswer::Kind::kDeclined);
}

TEST(ClientLink, AFormIsWithdrawnWithItsCall) {
  ClientLink link(kLinkClock, "ID", wishes());
  std::string sent;
  const CancelToken cancel;
  link.connect(std::make_shared<KeptStream>([&](const std::string& bytes) {
    sent += bytes;
    cancel.cancel(AGENTD_CANCEL_USER);
  }));
  const ClientLink::Listening listening(&link);
  EXPECT_EQ(link.elicit(kForm, cancel, Deadline()).kind, ElicitationAnswer::Kind::kCancelled);
  EXPECT_NE(sent.find("event: withdrawn"), std::string::npos) << sent;
}

TEST(ClientLink, OneQuestionIsAskedAfterTheOther) {
  ClientLink link(kLinkClock, "ID", wishes());
  std::atomic<int> questions = 0, forms = 0;
  link.connect(std::make_shared<KeptStream>([&](const std::string& bytes) {
    questions += bytes.find("event: question") != std::string::npos ? 1 : 0;
    forms += bytes.find("event: form") != std::string::npos ? 1 : 0;
  }));
  const auto wait_for = [](const std::atomic<int>& count) {
    while (count == 0) std::this_thread::yield();
  };
  bool allowed = false;
  ElicitationAnswer filled;
  const ClientLink::Listening listening(&link);
  std::thread asking([&] { allowed = ask(link).allowed; });
  wait_for(questions);
  std::thread calling([&] { filled = link.elicit(kForm, CancelToken(), Deadline()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(forms, 0);
  EXPECT_TRUE(link.answer(R"({"allowed":true})"));
  wait_for(forms);
  EXPECT_TRUE(link.answer(R"({"filled":0,"values":{"name":"Ada"}})"));
  asking.join();
  calling.join();
  EXPECT_TRUE(allowed);
  EXPECT_EQ(filled.values_json, R"({"name":"Ada"})");
}

TEST(ClientLink, AQuestionEndsWithItsClientAndWithItsCall) {
  {
    ClientLink link(kLinkClock, "ID", wishes());
    const Reacting leaves(link, std::string(kQuestionFrame), [&] { link.leave(); });
    EXPECT_FALSE(ask(link).allowed);
  }
  ClientLink link(kLinkClock, "ID", wishes());
  link.begin_call();
  const Reacting cancels(link, std::string(kQuestionFrame), [&] { link.cancel_call(); });
  EXPECT_FALSE(ask(link).allowed);
  EXPECT_TRUE(link.is_cancelled());
}

TEST(ClientLink, NobodyIsAskedAboutARunThatIsNotTheClients) {
  ClientLink link(kLinkClock, "ID", wishes());
  std::string sent;
  link.connect(std::make_shared<KeptStream>([&](const std::string& bytes) { sent += bytes; }));
  EXPECT_FALSE(link.is_present());
  Tool tool;
  const PermissionAnswer answer = link.ask({0, "conversation", "/tmp", {}}, tool, {"call_1", "bash", ToolInput()}, {});
  EXPECT_FALSE(answer.allowed);
  EXPECT_FALSE(answer.given);
  EXPECT_EQ(sent, "");
  const ClientLink::Listening listening(&link);
  EXPECT_TRUE(link.is_present());
}

TEST(ClientLink, AToolCallWaitsUntilItsEventWasShown) {
  ClientLink link(kLinkClock, "ID", wishes());
  bool shown = false;
  const Reacting shows(link, std::string(kHeldFrame), [&] {
    shown = true;
    link.go_on();
  });
  const ClientLink::Listening listening(&link);
  link.on_event(RunEvent(told::ToolCalled{"call_1", "bash", "{}"}));
  EXPECT_TRUE(shown);
}

TEST(ClientLink, NothingIsHeldForADetachedCommandAndNothingToldWithoutACall) {
  ClientLink link(kLinkClock, "ID", wishes(true));
  std::string sent;
  link.connect(std::make_shared<KeptStream>([&](const std::string& bytes) { sent += bytes; }));
  link.on_event(RunEvent(told::ToolCalled{"call_1", "bash", "{}"}));
  EXPECT_EQ(sent, "");
  const ClientLink::Listening listening(&link);
  link.on_event(RunEvent(told::ToolCalled{"call_1", "bash", "{}"}));
  EXPECT_NE(sent.find("event: told"), std::string::npos) << sent;
}

TEST(ClientLink, TheEndOfAllCancelsEveryCall) {
  Clients clients(kLinkClock);
  const auto link = clients.add(wishes());
  EXPECT_FALSE(link->is_cancelled());
  clients.end_all();
  EXPECT_TRUE(link->is_cancelled());
  EXPECT_FALSE(clients.find(link->id()).link);
}

// A request as the daemon reads it.
TEST(ClientWire, KeepsTheRequestWithItsPictures) {
  RunRequest request{"what is it?"};
  request.key = "k";
  request.output_schema = "{}";
  Block picture;
  picture.kind = BlockKind::kImage;
  picture.name = "image/png";
  picture.opaque = "aGVsbG8=";
  Block plan;
  plan.kind = BlockKind::kDocument;
  plan.name = "application/pdf";
  plan.text = "plan.pdf";
  plan.opaque = "cGxhbg==";
  request.media = {picture, plan};
  JsonWriter out;
  write_run_request(out, request);
  const auto document = JsonDocument::parse(out.text());
  ASSERT_TRUE(document);
  const RunRequest read = read_run_request(document->root());
  EXPECT_EQ(read.text, request.text);
  EXPECT_EQ(read.key, "k");
  EXPECT_EQ(read.output_schema, "{}");
  EXPECT_EQ(read.media, request.media);
}

TEST(ClientWire, KeepsWhatAChatAsksFor) {
  const auto round = [](const auto& write, const auto& value) {
    JsonWriter out;
    write(out, value);
    return JsonDocument::parse(out.text()).value();
  };
  const ChatStatus status{"anthropic", "big", {{7, "sleep 600", {}}, {8, "true", "exit"}}};
  const ChatStatus same = read_chat_status(round(write_chat_status, status).root());
  EXPECT_EQ(same.provider + same.model, "anthropicbig");
  ASSERT_EQ(same.commands.size(), 2u);
  EXPECT_EQ(same.commands[0].handle, 7u);
  EXPECT_EQ(same.commands[0].ended, "");
  EXPECT_EQ(same.commands[1].ended, "exit");
  const auto recipes = read_recipes(round(write_recipes, std::vector<ListedRecipe>{{"poem", "a poem"}}).root());
  ASSERT_EQ(recipes.size(), 1u);
  EXPECT_EQ(recipes[0].name + recipes[0].about, "poema poem");
  const OfferedCheckpoint offer = read_offer(round(write_offer, OfferedCheckpoint{"ID", "first", 17}).root());
  EXPECT_EQ(offer.id + offer.title, "IDfirst");
  EXPECT_EQ(offer.created_ms, 17);
  const RecipeValues values{{"topic", "tea"}, {"tone", ""}};
  EXPECT_EQ(read_values(round(write_values, values).root()), values);
}

}  // namespace
}  // namespace agentd::serve
