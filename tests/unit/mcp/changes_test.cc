// SPDX-License-Identifier: Apache-2.0
// What a client is told of changes, and what it is not told.
#include "core/mcp/changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/support/runtime_test.h"

namespace agentd::mcp {
namespace {

constexpr std::string_view kUpdated = "notifications/resources/updated";
constexpr std::string_view kResources = "notifications/resources/list_changed";
constexpr std::string_view kPrompts = "notifications/prompts/list_changed";
constexpr std::string_view kAcknowledged = "notifications/subscriptions/acknowledged";

// Keeps what it hears.
class Ear final : public Answerer {
 public:
  void notify(std::string_view method, std::string_view params) override {
    const MutexLock lock(mutex_);
    heard_.emplace_back(std::string(method), std::string(params));
  }
  bool has_left() const override { return left_; }
  void answer(std::string result) override { notify("answer", result); }
  void refuse(const Fault& fault) override { notify("fault", fault.rpc.message); }
  void drop() override { notify("dropped", {}); }
  bool can_notify() const override { return can_notify_; }

  void leave() { left_ = true; }
  void hear_nothing() { can_notify_ = false; }
  std::size_t count(std::string_view method, std::string_view part = {}) const {
    const MutexLock lock(mutex_);
    return static_cast<std::size_t>(std::count_if(heard_.begin(), heard_.end(), [&](const auto& each) {
      return each.first == method && each.second.find(part) != std::string::npos;
    }));
  }
  std::string first() const {
    const MutexLock lock(mutex_);
    return heard_.empty() ? std::string() : heard_.front().first + " " + heard_.front().second;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::pair<std::string, std::string>> heard_ GUARDED_BY(mutex_);
  std::atomic<bool> left_{false}, can_notify_{true};
};

class Told : public testing::RuntimeTest<ManualClock> {
 protected:
  void SetUp() override {
    begin_runtime("- text: x\n");
    Caller place;
    place.cwd = temp_.file("a");
    place.project = "ours";
    means_.emplace(Means{*runtime_, [this](const std::string& cwd) { return workplace_at(cwd); },
                         [](const std::function<void()>& work) { return work(), true; }, "1"});
    client_ = std::make_shared<Client>(*means_, place, Client::Ids::kOfOneConnection);
    changes_.emplace(*means_);
  }
  void TearDown() override {
    changes_.reset();
    client_.reset();
  }

  Result<std::shared_ptr<Workplace>, RunError> workplace_at(const std::string& cwd) {
    const MutexLock lock(mutex_);
    ++looks_;
    if (workplace_) return workplace_;
    AGENTD_TRY(auto made, Workplace::find(*runtime_, cwd, {}, [](const std::string&) {}));
    workplace_ = std::move(made);
    return workplace_;
  }

  // A conversation of that project with one message.
  Ulid converse(const std::string& project = "ours") {
    const Ulid id = runtime_->agent_parts().ids.next();
    const Record records[] = {write_genesis({id.text(), project, "/", "p", "m", {}, 0, {}}), said("hello")};
    EXPECT_TRUE(runtime_->store().append(id, 0, records));
    return id;
  }
  static Record said(const std::string& text) {
    MessageRecord message;
    message.message = Message::of_text(Role::kUser, text);
    return write_message(message);
  }
  void add(const Ulid& to, const Record& record) {
    const auto info = runtime_->store().info(to);
    ASSERT_TRUE(info);
    const auto done = runtime_->store().append(to, info->revision, {&record, 1});
    ASSERT_TRUE(done) << done.error().message;
  }

  static std::string address(const Ulid& id) { return "agentd://conversation/" + id.text(); }
  static JsonDocument params(const std::string& uri) {
    return std::move(*JsonDocument::parse(R"({"uri":")" + uri + "\"}"));
  }
  std::optional<Fault> subscribe(const std::string& uri) { return changes_->subscribe(client_, params(uri).root()); }
  std::optional<Fault> unsubscribe(const std::string& uri) {
    return changes_->unsubscribe(client_, params(uri).root());
  }
  std::shared_ptr<Ear> hear() {
    auto out = std::make_shared<Ear>();
    EXPECT_TRUE(changes_->hear(client_, out));
    return out;
  }
  struct Listening {
    std::shared_ptr<Ear> ear = std::make_shared<Ear>();
    CancelToken cancel;
    std::optional<Fault> fault;
  };
  Listening listen(const std::string& wish, const std::string& id = "\"s1\"") {
    Listening out;
    const auto number = client_->begin(*RpcId::read(JsonDocument::parse(id)->root()), out.cancel);
    const auto params = JsonDocument::parse("{\"notifications\":" + wish + "}");
    out.fault = changes_->listen(client_, params->root(),
                                 {*RpcId::read(JsonDocument::parse(id)->root()), out.ear, out.cancel, *number});
    if (out.fault) client_->done(*number);
    return out;
  }

  // Lets seconds pass until it holds.
  bool comes(const std::function<bool()>& holds) {
    for (int i = 0; i < 2'000 && !holds(); ++i) {
      clock_.advance(Milliseconds(1'000));
      SystemClock().pause(Milliseconds(5));
    }
    return holds();
  }

  int looks() {
    const MutexLock lock(mutex_);
    return looks_;
  }

  Mutex mutex_;
  int looks_ GUARDED_BY(mutex_) = 0;  // at the project
  std::shared_ptr<Workplace> workplace_;
  std::optional<Means> means_;
  std::shared_ptr<Client> client_;
  std::optional<Changes> changes_;
};

// ---- resources

TEST_F(Told, OfAConversationThatItHasSubscribedToUntilItUnsubscribes) {
  const Ulid ours = converse(), other = converse(), unheard = converse();
  const auto ear = hear();
  ASSERT_FALSE(subscribe(address(ours)));
  ASSERT_FALSE(subscribe(address(other) + "/json"));
  add(unheard, said("more"));
  add(ours, said("more"));
  ASSERT_TRUE(comes([&] { return ear->count(kUpdated, address(ours)) == 1; }));
  EXPECT_EQ(ear->count(kUpdated, "_meta"), 0u);
  ASSERT_FALSE(unsubscribe(address(ours)));
  add(ours, said("more"));
  add(other, said("more"));
  // By then a look has seen both.
  ASSERT_TRUE(comes([&] { return ear->count(kUpdated, address(other) + "/json") == 1; }));
  EXPECT_EQ(ear->count(kUpdated), 2u);
  EXPECT_EQ(ear->count(kUpdated, address(unheard)), 0u);
}

TEST_F(Told, ThatAConversationHasGone) {
  const Ulid ours = converse();
  const auto ear = hear();
  ASSERT_FALSE(subscribe(address(ours)));
  ASSERT_TRUE(runtime_->store().remove(ours));
  EXPECT_TRUE(comes([&] { return ear->count(kUpdated, address(ours)) == 1; }));
}

TEST_F(Told, OfACheckpointWhenSomethingWasAppendedForIt) {
  const Ulid ours = converse();
  ServiceRequest request;
  request.interface_id = "agentd.checkpoint/1";
  request.operation = "save";
  const std::string input = R"({"conversation_id":")" + ours.text() + R"(","name":"here"})";
  request.input_json = input;
  const auto saved = runtime_->registry().call(request);
  ASSERT_TRUE(saved) << saved.error().message;
  const std::string id(JsonDocument::parse(*saved)->root()["id"].string_or(""));
  const std::string uri = "agentd://checkpoint/" + id;
  const auto ear = hear();
  ASSERT_FALSE(subscribe(uri));
  ASSERT_FALSE(subscribe(address(ours)));
  // What the conversation goes on with is not the checkpoint's.
  add(ours, said("more"));
  ASSERT_TRUE(comes([&] { return ear->count(kUpdated, address(ours)) == 1; }));
  EXPECT_EQ(ear->count(kUpdated, uri), 0u);
  CheckpointRecord texts;
  texts.id = id;
  texts.conversation_id = ours.text();
  texts.revision = 2;
  texts.texts.push_back({"summary", "in short", ""});
  add(ours, write_checkpoint(texts));
  EXPECT_TRUE(comes([&] { return ear->count(kUpdated, uri) == 1; }));
}

TEST_F(Told, NothingOfWhatIsNoResource) {
  const auto ear = hear();
  for (const std::string uri :
       {"", "test://x", "file:///etc/passwd", "agentd://conversation/01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "agentd://conversation/x", "agentd://checkpoint/01ARZ3NDEKTSV4RRFFQ69G5FAV"}) {
    const auto fault = subscribe(uri);
    ASSERT_TRUE(fault) << uri;
    EXPECT_EQ(fault->rpc.code, uri.empty() ? kRpcBadParams : kRpcNotFound) << uri;
    EXPECT_TRUE(unsubscribe(uri)) << uri;
  }
}

TEST_F(Told, OfAsManyResourcesAsThereIsALimitTo) {
  const auto ear = hear();
  for (std::size_t i = 0; i < Changes::kAddressesMax; ++i) ASSERT_FALSE(subscribe(address(converse())));
  const Ulid last = converse();
  const auto fault = subscribe(address(last));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rpc.code, kRpcBadParams);
  EXPECT_NE(fault->rpc.message.find("256"), std::string::npos) << fault->rpc.message;
}

// ---- lists

TEST_F(Told, OfAListThatItHas) {
  converse();
  const auto ear = hear();
  changes_->watch(client_, List::kResources);
  converse("theirs");
  const Ulid ours = converse();
  ASSERT_TRUE(comes([&] { return ear->count(kResources) == 1; }));
  EXPECT_EQ(ear->count(kPrompts), 0u);
  // The messages of a conversation are not the list.
  ASSERT_FALSE(subscribe(address(ours)));
  add(ours, said("more"));
  ASSERT_TRUE(comes([&] { return ear->count(kUpdated) == 1; }));
  EXPECT_EQ(ear->count(kResources), 1u);
  ASSERT_TRUE(runtime_->store().remove(ours));
  EXPECT_TRUE(comes([&] { return ear->count(kResources) == 2; }));
}

TEST_F(Told, OfANewRecipe) {
  make_directory("home/recipes");
  const auto ear = hear();
  changes_->watch(client_, List::kPrompts);
  changes_->watch(client_, List::kResources);
  converse();
  ASSERT_TRUE(comes([&] { return ear->count(kResources) == 1; }));
  EXPECT_EQ(ear->count(kPrompts), 0u);
  temp_.write("home/recipes/new.md", "---\ndescription: A prompt\n---\nDo it.\n");
  EXPECT_TRUE(comes([&] { return ear->count(kPrompts) == 1; }));
}

// ---- who is told

TEST_F(Told, LaterWhatHasChangedWhileNobodyHeard) {
  const Ulid ours = converse();
  ASSERT_FALSE(subscribe(address(ours)));
  EXPECT_FALSE(changes_->is_heard(*client_));
  add(ours, said("more"));
  const auto ear = hear();
  ASSERT_TRUE(comes([&] { return ear->count(kUpdated) == 1; }));
  EXPECT_TRUE(changes_->is_heard(*client_));
  EXPECT_FALSE(changes_->hear(client_, std::make_shared<Ear>())) << "one at a time";
  ear->leave();
  EXPECT_FALSE(changes_->is_heard(*client_));
  add(ours, said("more"));
  const auto next = hear();
  ASSERT_TRUE(comes([&] { return next->count(kUpdated) == 1; }));
  EXPECT_EQ(ear->count(kUpdated), 1u);
  changes_->forget(*client_);
  EXPECT_FALSE(changes_->is_heard(*client_));
  EXPECT_EQ(next.use_count(), 1) << "its stream is closed";
}

TEST_F(Told, AndNothingIsLookedAtForWhomNobodyHears) {
  changes_->watch(client_, List::kPrompts);
  const int before = looks();
  int seconds = 0;
  (void)comes([&] { return ++seconds > 50; });
  EXPECT_EQ(looks(), before);
  const auto ear = hear();
  ASSERT_TRUE(comes([&] { return looks() > before; }));
  changes_->forget(*client_);
  const int heard = (changes_->end(), looks());
  (void)comes([&] { return ++seconds > 100; });
  EXPECT_EQ(looks(), heard);
}

TEST_F(Told, AClientThatHasEndedIsForgotten) {
  changes_->watch(client_, List::kPrompts);
  const auto ear = hear();
  EXPECT_EQ(ear.use_count(), 2);
  client_.reset();
  changes_->keep_alive();
  EXPECT_EQ(ear.use_count(), 1);
}

// ---- requests that stay open

TEST_F(Told, ByTheRequestThatListens) {
  const Ulid ours = converse();
  const auto one = listen(R"({"resourcesListChanged":true,"toolsListChanged":false})");
  const auto two = listen(R"({"resourceSubscriptions":[")" + address(ours) + "\"]}", "7");
  ASSERT_FALSE(one.fault);
  EXPECT_EQ(one.ear->first(), std::string(kAcknowledged) +
                                  R"( {"notifications":{"resourcesListChanged":true},)"
                                  R"("_meta":{"io.modelcontextprotocol/subscriptionId":"s1"}})");
  EXPECT_TRUE(two.ear->first().find(R"({"resourceSubscriptions":[")" + address(ours)) != std::string::npos)
      << two.ear->first();
  add(ours, said("more"));
  converse();
  ASSERT_TRUE(
      comes([&] { return one.ear->count(kResources, R"("io.modelcontextprotocol/subscriptionId":"s1")") == 1; }));
  ASSERT_TRUE(comes([&] { return two.ear->count(kUpdated, R"("io.modelcontextprotocol/subscriptionId":7)") == 1; }));
  EXPECT_EQ(one.ear->count(kUpdated), 0u);
  EXPECT_EQ(two.ear->count(kResources), 0u);
  EXPECT_FALSE(client_->is_idle());
  // One that is cancelled hears nothing more, and has no answer; the other one has one when all ends.
  one.cancel.cancel(AGENTD_CANCEL_USER);
  ASSERT_TRUE(comes([&] { return one.ear->count("dropped") == 1; }));
  changes_->end();
  EXPECT_EQ(one.ear->count("answer"), 0u);
  EXPECT_EQ(two.ear->count("answer", R"("io.modelcontextprotocol/subscriptionId":7)"), 1u);
  EXPECT_TRUE(client_->is_idle());
}

TEST_F(Told, NothingByARequestThatWantsNothing) {
  const auto none = listen("{}");
  ASSERT_FALSE(none.fault);
  EXPECT_EQ(none.ear->count(kAcknowledged, R"({"notifications":{},)"), 1u);
  EXPECT_EQ(none.ear->count("answer"), 1u);
  EXPECT_TRUE(client_->is_idle());
}

TEST_F(Told, WhyARequestCannotListen) {
  for (const char* const wrong : {"7", "null", R"({"resourceSubscriptions":"x"})", R"({"resourceSubscriptions":[7]})",
                                  R"({"resourceSubscriptions":["test://x"]})"}) {
    const auto refused = listen(wrong);
    ASSERT_TRUE(refused.fault) << wrong;
    EXPECT_EQ(refused.fault->rpc.code, kRpcBadParams) << wrong;
    EXPECT_EQ(refused.ear->first(), "") << wrong;
  }
  changes_->end();
  const auto late = listen(R"({"toolsListChanged":true})");
  ASSERT_TRUE(late.fault);
  EXPECT_EQ(late.fault->status, 503u);
}

}  // namespace
}  // namespace agentd::mcp
