// SPDX-License-Identifier: Apache-2.0
// The services as the plugins of a project have them: keys, conversations and threads of others are not there.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::TestCall;

class ProjectServicesTest : public AgentTest {
 protected:
  // A conversation of that project, with a message and its answer, which stays open.
  std::string talk(const std::string& project) {
    session_.reset();
    agent_.reset();
    services_.reset();
    options_.project_id = project;
    open();
    model_.say("an answer");
    EXPECT_TRUE(run("hello"));
    return session_->conversation_id();
  }
  std::unique_ptr<Services> of(const std::string& project) { return services_of_project(*services_, project); }
  static ServiceCaller caller(agentd_conv conversation = 0) {
    ServiceCaller out;
    out.plugin_id = "org.test.p";
    out.conversation = conversation;
    return out;
  }
  static Result<std::uint64_t> put(Services& services, const std::string& value) {
    const PluginKeyOp op{AGENTD_KV_PUT, "k", value, AGENTD_KV_ANY};
    return services.commit(caller(), {&op, 1});
  }
  static std::string value_in(Services& services) {
    const auto found = services.get(caller(), "k");
    return found ? found->value : "";
  }
  static agentd_conv_query query(std::string_view project = {}) {
    agentd_conv_query out{};
    out.size = sizeof(out);
    out.project_id = to_abi(project);
    return out;
  }
};

TEST_F(ProjectServicesTest, KeysOfOneIdAreApartInEachProjectAndInTheUsersOwn) {
  talk("a");
  ASSERT_TRUE(put(services(), "the user's"));
  EXPECT_EQ(value_in(*of("a")), "");
  ASSERT_TRUE(put(*of("a"), "a's"));
  ASSERT_TRUE(put(*of("/a/path/" + std::string(1000, 'x')), "b's"));
  EXPECT_EQ(value_in(services()), "the user's");
  EXPECT_EQ(value_in(*of("a")), "a's");
  EXPECT_EQ(value_in(*of("/a/path/" + std::string(1000, 'x'))), "b's");
  EXPECT_EQ(of("a")->scan(caller(), "", "", 0)->size(), 1u);
}

TEST_F(ProjectServicesTest, ListHasTheProjectsConversationsAlone) {
  talk("b");
  const std::string own = talk("a");
  ASSERT_EQ(services().conversations(query())->size(), 2u);
  const auto found = of("a")->conversations(query());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().id, own);
  EXPECT_EQ(of("a")->conversations(query("a"))->size(), 1u);
  EXPECT_TRUE(of("a")->conversations(query("b"))->empty());
}

TEST_F(ProjectServicesTest, MessagesOfAnotherProjectAreNotFound) {
  const std::string foreign = talk("b"), own = talk("a");
  const auto services_of_a = of("a");
  ASSERT_EQ(services().messages(foreign, AGENTD_SCOPE_LOG, 0, 0, 100)->size(), 2u);
  EXPECT_EQ(services_of_a->messages(own, AGENTD_SCOPE_LOG, 0, 0, 100)->size(), 2u);
  EXPECT_EQ(services_of_a->messages(foreign, AGENTD_SCOPE_LOG, 0, 0, 100).error().code, Code::kNotFound);
  EXPECT_EQ(services_of_a->messages(foreign, AGENTD_SCOPE_VIEW, 0, 0, 100).error().code, Code::kNotFound);
  const std::uint64_t seq = (*services().messages(own, AGENTD_SCOPE_LOG, 0, 0, 1))[0].seq;
  const std::string block = ":" + std::to_string(seq) + ":0";
  ASSERT_EQ(services().read_blob(foreign + block, 0, 0).value_or(""), "hello");
  EXPECT_EQ(services_of_a->read_blob(own + block, 0, 0).value_or(""), "hello");
  EXPECT_EQ(services_of_a->read_blob(foreign + block, 0, 0).error().code, Code::kNotFound);
}

TEST_F(ProjectServicesTest, ChangesSkipOtherProjectsToTheEndOfTheFeed) {
  talk("b");
  const std::string own = talk("a");
  const auto services_of_a = of("a");
  const auto first = services_of_a->changes(0, 1);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->changed.size(), 1u);
  EXPECT_EQ(first->changed[0].id, own);
  EXPECT_TRUE(services_of_a->changes(first->next, 1)->changed.empty());
  EXPECT_TRUE(of("c")->changes(0, 1)->changed.empty());
}

TEST_F(ProjectServicesTest, ConversationOfAnotherProjectIsNotCompacted) {
  Result<CompactAnswer> foreign = Error{}, own = Error{};
  on(AGENTD_EVENT_AGENT_STOP, "asks", [&](const TestCall& call) {
    const agentd_conv here = call.raw.conversation;
    foreign = of("b")->compact(caller(here), {here, 0, 0, {nullptr, 0, 0}}, {});
    own = of("a")->compact(caller(here), {here, 0, 0, {nullptr, 0, 0}}, {});
    return AGENTD_OK;
  });
  options_.project_id = "a";
  open();
  model_.say("one").say("a summary");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(foreign.error().code, Code::kNotFound);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->summary, "a summary");
  EXPECT_EQ(of("b")->request_compaction(caller(), session_->conversation_id(), {}).error().code, Code::kNotFound);
  EXPECT_TRUE(of("a")->request_compaction(caller(), session_->conversation_id(), {}));
}

TEST_F(ProjectServicesTest, ThreadBelongsToTheProjectThatOpenedIt) {
  talk("a");
  const auto services_of_a = of("a");
  const auto theirs = services().open_thread(caller(), {});
  const auto own = services_of_a->open_thread(caller(), {});
  ASSERT_TRUE(theirs && own);
  EXPECT_EQ(services_of_a->send(caller(), *theirs, "hi").error().code, Code::kNotFound);
  EXPECT_EQ(services_of_a->close_thread("org.test.p", *theirs).error().code, Code::kNotFound);
  model_.say("hi");
  EXPECT_TRUE(services_of_a->send(caller(), *own, "hi"));
  EXPECT_TRUE(services_of_a->close_thread("org.test.p", *own));
  EXPECT_EQ(services_of_a->thread_usage(caller(), *own).error().code, Code::kNotFound);
  EXPECT_TRUE(services().close_thread("org.test.p", *theirs));
}

}  // namespace
}  // namespace agentd
