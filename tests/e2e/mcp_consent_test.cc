// SPDX-License-Identifier: Apache-2.0
// mcp_consent_test.cc - consent to MCP servers: what is shown before it, what a no keeps, and what holds a server back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/e2e/mcp_stage.h"

namespace agentd::testing {
namespace {

constexpr const char* kStart = "Start it with these rights? [y/N] ";
constexpr const char* kOffer = "Offer these tools to the model? [y/N] ";

class McpConsent : public McpClient {
 protected:
  void place(const std::string& members) const {
    (void)program_.file(".mcp.json", R"({"mcpServers":{"played":{)" + members + "}}}");
  }
  Finished answer(const std::vector<std::pair<std::string, std::string>>& dialogue) {
    return program_.on_terminal({"mcp", "trust", "played"}, dialogue, std::chrono::milliseconds(400));
  }
  std::string listed() { return program_.run({"mcp", "list"}).out; }
};

TEST_F(McpConsent, ToolsThatAreRefusedAreHeldBack) {
  place(server());
  const Finished refused = answer({{kStart, "y\n"}, {kOffer, "n\n"}});
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_TRUE(has(
      refused.out,
      "not trusted: 1 tool of played is held back until you agree; 'agentd mcp untrust played' keeps it from starting"))
      << refused.out;

  EXPECT_TRUE(has(listed(), "on, 1 tool held back: agentd mcp trust played")) << listed();
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_FALSE(has(results().at(0), "hello")) << results().at(0);
  const Finished agreed = answer({{kOffer, "y\n"}});
  EXPECT_EQ(agreed.code, 0) << agreed.out;
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_TRUE(has(results().at(0), "hello")) << "the negative control: " << results().at(0);
}

TEST_F(McpConsent, ToolsOfANewServerOfTheUsersThatAreRefusedAreHeldBack) {
  configure();
  EXPECT_EQ(answer({{kOffer, "n\n"}}).code, 1);
  EXPECT_TRUE(has(listed(), "1 tool held back")) << listed();
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_FALSE(has(results().at(0), "hello")) << results().at(0);
}

TEST_F(McpConsent, AQuestionThatIsNotAnsweredAgreesToNothing) {
  place(server());
  EXPECT_NE(answer({{kStart, "y\n"}, {kOffer, Program::kTerminate}}).code, 0);
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_FALSE(has(results().at(0), "hello")) << results().at(0);
}

TEST_F(McpConsent, AServerWhoseToolsCannotBeShownIsNotTrusted) {
  const std::string late = R"("command":"sh","args":["-c","test -e go || exit 1; exec python3 \"$@\"","x",)"
                           R"(")" AGENTD_MCP_SERVER R"(",")" +
                           program_.directory().file("tools.json") + R"("],"sandbox":false)";
  place(late);
  const Finished failed = program_.run({"mcp", "trust", "played", "--yes"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_TRUE(has(failed.err, "not trusted, since its tools could not be shown: the MCP server played did not start"))
      << failed.err;
  EXPECT_TRUE(has(listed(), "not trusted")) << listed();
  (void)program_.file("go", "");
  const Finished ran = call({"echo"}, allowed());
  EXPECT_TRUE(has(ran.err, "you have not trusted it yet")) << ran.err;
  EXPECT_FALSE(has(results().at(0), "hello")) << results().at(0);
  EXPECT_EQ(program_.run({"mcp", "trust", "played", "--yes"}).code, 0);
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_TRUE(has(results().at(0), "hello")) << "the negative control: " << results().at(0);
  place(R"("url":"http://example.org/mcp")");
  EXPECT_EQ(program_.run({"mcp", "trust", "played", "--yes"}).code, 2);
  place(R"("url":"${ADDRESS_OF_NONE}")");
  EXPECT_EQ(program_.run({"mcp", "trust", "played", "--yes"}).code, 2);
  EXPECT_TRUE(has(listed(), "not trusted")) << listed();
}

TEST_F(McpConsent, AConsentWithoutToolsAgreesToNone) {
  place(server());
  ASSERT_EQ(program_.run({"mcp", "trust", "played", "--yes"}).code, 0);
  std::ifstream file(program_.home() + "/mcp_trust.json");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t at = text.find("\"tools\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 7, "\"other\"");
  std::ofstream(program_.home() + "/mcp_trust.json") << text;
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_FALSE(has(results().at(0), "hello")) << results().at(0);
}

TEST_F(McpConsent, VariablesThatLeaveAreShown) {
  program_.set("SOME_KEY=sekret1");
  place(R"("url":"http://127.0.0.1:1/?token=sekret2${SOME_KEY}","headers":{"X-Client":"agentd ${SOME_KEY}",)"
        R"("Authorization":"Bearer ${SOME_KEY}","X-B":"sekret3"})");
  const Finished trust = program_.run({"mcp", "trust", "played", "--yes"}),
                 shown = program_.run({"mcp", "show", "played"});
  for (const std::string& text : {trust.out, shown.out}) {
    EXPECT_TRUE(has(text, "X-Client: *** ${SOME_KEY}")) << text;
    EXPECT_TRUE(has(text, "Authorization: Bearer ${SOME_KEY}")) << text;
    EXPECT_TRUE(has(text, "http://127.0.0.1:1/?token=***${SOME_KEY}")) << text;
    EXPECT_TRUE(has(text, "X-B: ***")) << text;
    EXPECT_FALSE(has(text, "sekret")) << text;
  }
}

TEST_F(McpConsent, TheCommandIsShownAsItIs) {
  place(R"("command":"false","args":["-c","# harmless\nevil\there","a\u200b\udb40\udc41","--token=abc",")" +
        std::string(5000, 'x') + R"(END"],"env":{"A":"b\u00adc","KEY":"open"})");
  const Finished trust = program_.run({"mcp", "trust", "played", "--yes"});
  EXPECT_TRUE(has(trust.out, R"(false -c $'# harmless\nevil\there' $'a\u200b\U000e0041' '--token=abc' )")) << trust.out;
  EXPECT_TRUE(has(trust.out, "xxxEND")) << "all of it";
  EXPECT_TRUE(has(trust.out, R"(A=$'b\u00adc')")) << trust.out;
  EXPECT_TRUE(has(trust.out, "KEY=open")) << trust.out;
}

TEST_F(McpConsent, DescriptionsHideNothing) {
  tools({"{\"name\":\"echo\",\"description\":\"Says\\udb40\\udc41\\u200b " + std::string(5000, 'x') +
         "END\",\"inputSchema\":{\"type\":\"object\",\"title\":\"\\u3164\"}}"});
  place(server());
  const Finished trust = program_.run({"mcp", "trust", "played", "--yes"});
  EXPECT_EQ(trust.code, 0) << trust.err;
  EXPECT_TRUE(has(trust.out, R"(Says\u{e0041}\u{200b} xxx)") && has(trust.out, "xxxEND")) << trust.out;
  EXPECT_FALSE(has(trust.out, "\u3164")) << trust.out;
  const Finished shown = program_.run({"mcp", "show", "--tools", "played"});
  EXPECT_TRUE(has(shown.out, R"(Says\u{e0041}\u{200b} xxx)")) << shown.out;
}

TEST_F(McpConsent, AScriptThatHasChangedHoldsTheServerBack) {
  (void)program_.file("srv.sh", "exec python3 \"$@\"\n");
  place(R"("command":"sh","args":["srv.sh",")" AGENTD_MCP_SERVER R"(",")" + program_.directory().file("tools.json") +
        R"("],"sandbox":false)");
  const Finished trust = program_.run({"mcp", "trust", "played", "--yes"});
  EXPECT_EQ(trust.code, 0) << trust.err;
  EXPECT_TRUE(has(trust.out, "file:        srv.sh, sha256 ")) << trust.out;
  EXPECT_TRUE(has(trust.out, "Consent is to this text and these files, not to what they load.")) << trust.out;
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_TRUE(has(results().at(0), "hello")) << results().at(0);
  (void)program_.file("srv.sh", "touch planted; exec python3 \"$@\"\n");
  const Finished changed = call({"echo"}, allowed());
  EXPECT_TRUE(has(changed.err, "srv.sh, which its command names, has changed since you trusted it")) << changed.err;
  EXPECT_FALSE(has(results().at(0), "hello")) << results().at(0);
  EXPECT_NE(::access((program_.project() + "/planted").c_str(), F_OK), 0);
  EXPECT_EQ(program_.run({"mcp", "trust", "played", "--yes"}).code, 0);
  EXPECT_EQ(call({"echo"}, allowed()).code, 0);
  EXPECT_TRUE(has(results().at(0), "hello")) << results().at(0);
}

}  // namespace
}  // namespace agentd::testing
