// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <thread>

#include "tests/unit/plugins/plugin_fixture.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

class AuditLog : public ::testing::Test {
 protected:
  AuditLog() : host_(load_plugin("audit_log")) {}
  ~AuditLog() override { EXPECT_EQ(host_.breaches(), std::vector<std::string>{}); }

  void create(const std::string& more = "") {
    const outcome got = host_.create(R"({"path":")" + file_ + "\"" + more + "}");
    ASSERT_EQ(got.status, AGENTD_OK) << got.error;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  static JsonDocument parsed(const std::string& line) {
    auto document = JsonDocument::parse(line);
    EXPECT_TRUE(document) << line;
    return std::move(*document);
  }

  TempFolder folder_;
  const std::string file_ = folder_.path + "/logs/audit.jsonl";
  fake_host host_;
};

TEST_F(AuditLog, WritesOneLineForEveryEvent) {
  create();
  std::vector<std::string> fired;
#define AGENTD_FIRE(NAME, name, id, record)       \
  if (std::string_view(#name) != "model_delta") { \
    EXPECT_EQ(host_.name({}).status, AGENTD_OK);  \
    fired.push_back(#name);                       \
  }
  AGENTD_EVENT_LIST(AGENTD_FIRE)
#undef AGENTD_FIRE
  std::vector<std::string> written;
  for (const std::string& line : lines()) written.emplace_back(parsed(line).root()["event"].string_or(""));
  EXPECT_EQ(written, fired);
}

TEST_F(AuditLog, OnlyObserves) {
  create();
  const agentd_list rows = host_.plugin()->hooks;
  EXPECT_EQ(rows.count, 22u);
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const auto& row = static_cast<const agentd_hook*>(rows.first)[i];
    EXPECT_NE(row.flags & AGENTD_HOOK_OBSERVES, 0);
    EXPECT_EQ(row.wants, 0u) << "the history is not asked for";
  }
}

TEST_F(AuditLog, SaysWhenWhatAndWhere) {
  create();
  host_.before_tool_call({.name = "bash", .input_json = R"({"command":"ls"})"});
  ASSERT_EQ(lines().size(), 1u);
  const JsonDocument document = parsed(lines()[0]);
  EXPECT_EQ(document.root().key_at(0), "time");
  EXPECT_EQ(document.root()["time"].string_or("").size(), 24u);
  EXPECT_EQ(document.root()["conv_id"].string_or(""), host_.conversation.id);
  EXPECT_EQ(document.root()["tool"]["name"].string_or(""), "bash");
  EXPECT_EQ(document.root()["tool"]["call_id"].string_or(""), "call_1");
}

TEST_F(AuditLog, LeavesTextsAndInputsOutUnlessAsked) {
  create();
  host_.user_message_send({.text = "canary-in-message"});
  host_.before_tool_call({.name = "bash", .input_json = R"({"name":"canary-in-input"})"});
  host_.extra_values = {{"something_new", "canary-in-new-field"},
                        {"odd", R"({"name":"canary-in-object"})", false},
                        {"list", R"(["canary-in-list"])", false}};
  host_.turn_start();
  for (const std::string& line : lines()) EXPECT_EQ(line.find("canary"), std::string::npos) << line;
  EXPECT_EQ(parsed(lines()[0]).root()["message"]["bytes"].int_or(0), 17);
}

TEST_F(AuditLog, CopiesTextsAndInputsWhenAsked) {
  create(R"(,"bodies":true)");
  host_.user_message_send({.text = "canary-in-message"});
  host_.before_tool_call({.name = "bash", .input_json = R"({"command":"canary-in-input"})"});
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_EQ(parsed(lines()[0]).root()["message"].string_or(""), "canary-in-message");
  EXPECT_EQ(parsed(lines()[1]).root()["tool"]["input"]["command"].string_or(""), "canary-in-input");
}

TEST_F(AuditLog, ShortensALongLineAndKeepsItValid) {
  create(R"(,"bodies":true,"max_bytes":2048)");
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "ä\"\\\n";
  host_.user_message_send({.text = text});
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_LE(lines()[0].size(), 2048u);
  const JsonDocument document = parsed(lines()[0]);
  EXPECT_TRUE(document.root()["shortened"].bool_or(false));
  EXPECT_NE(document.root()["message"].string_or("").find("bytes left out"), std::string_view::npos);
}

TEST_F(AuditLog, NeverWritesALineThatIsTooLongWhateverThePayload) {
  create(R"(,"bodies":true,"max_bytes":1024)");
  for (int i = 0; i < 500; ++i) host_.extra_values.push_back({"key" + std::to_string(i), "value"});
  host_.turn_start();
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_LE(lines()[0].size(), 1024u);
  EXPECT_EQ(parsed(lines()[0]).root()["event"].string_or(""), "turn_start");
}

TEST_F(AuditLog, KeepsToTheEventsThatWereAskedFor) {
  create(R"(,"events":["agent_stop","model_delta"])");
  host_.turn_start();
  host_.model_delta();
  host_.agent_stop();
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_EQ(parsed(lines()[1]).root()["event"].string_or(""), "agent_stop");
}

TEST_F(AuditLog, MakesAFileThatOnlyItsOwnerReads) {
  create();
  host_.turn_start();
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(AuditLog, AppendsToWhatIsThere) {
  folder_.put("logs/audit.jsonl", "{\"old\":1}\n");
  create();
  host_.turn_start();
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_EQ(lines()[0], "{\"old\":1}");
}

TEST_F(AuditLog, FollowsAFileThatWasMovedAway) {
  create();
  host_.turn_start();
  fs::rename(file_, file_ + ".1");
  host_.turn_end();
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(parsed(lines()[0]).root()["event"].string_or(""), "turn_end");
}

TEST_F(AuditLog, NeverFailsARunAndSaysSoOnce) {
  folder_.put("logs", "a file where a folder should be");
  create();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host_.turn_start().status, AGENTD_OK);
  ASSERT_EQ(host_.log.size(), 1u);
  EXPECT_EQ(host_.log[0].level, AGENTD_LEVEL_ERROR);
  EXPECT_NE(host_.log[0].text.find("is missing events"), std::string::npos);
  fs::remove(folder_.path + "/logs");
  EXPECT_EQ(host_.turn_start().status, AGENTD_OK);
  EXPECT_EQ(host_.log.size(), 2u) << "that it works again is said, too";
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(AuditLog, RefusesToWriteThroughALinkOrIntoAFifo) {
  fs::create_directories(folder_.path + "/logs");
  folder_.put("victim", "");
  fs::create_symlink(folder_.path + "/victim", file_);
  create();
  EXPECT_EQ(host_.turn_start().status, AGENTD_OK);
  EXPECT_EQ(folder_.get("victim"), "");
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(host_.turn_start().status, AGENTD_OK) << "and it does not hang";
}

TEST_F(AuditLog, SurvivesAFullDisk) {
  ASSERT_EQ(host_.create(R"({"path":"/dev/full"})").status, AGENTD_OK);
  EXPECT_EQ(host_.turn_start().status, AGENTD_OK);
  EXPECT_EQ(host_.log.size(), 1u);
}

TEST_F(AuditLog, KeepsLinesWholeWhenManyWriteAtOnce) {
  create();
  fake_host other(load_plugin("audit_log"));
  ASSERT_EQ(other.create(R"({"path":")" + file_ + "\"}").status, AGENTD_OK);
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) other.turn_end();
  });
  for (int i = 0; i < 300; ++i) host_.turn_start();
  writer.join();
  EXPECT_EQ(lines().size(), 600u);
  for (const std::string& line : lines()) ASSERT_TRUE(JsonDocument::parse(line)) << line;
}

TEST_F(AuditLog, RefusesAConfigThatMakesNoSense) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"path":"relative.jsonl"})", "absolute path"},
      {R"({"path":7})", "absolute path"},
      {R"({"path":"/tmp/"})", "absolute path"},
      {R"({"events":["agent_stop","no_such"]})", "\"no_such\" is not the name of an event"},
      {R"({"events":[]})", "list of event names"},
      {R"({"events":"agent_stop"})", "list of event names"},
      {R"({"bodies":"yes"})", "true or false"},
      {R"({"max_bytes":10})", "from 1024 to 1048576"},
      {R"({"max_bytes":9999999})", "from 1024 to 1048576"},
      {R"({"file":"/x"})", "unknown key file"},
      {R"(["/x"])", "must be an object"},
      {R"({)", "not valid JSON"}};
  for (const auto& [config, sentence] : cases) {
    const outcome got = host_.create(config);
    EXPECT_EQ(got.status, AGENTD_E_ARG) << config;
    EXPECT_NE(got.error.find(sentence), std::string::npos) << config << ": " << got.error;
  }
}

TEST_F(AuditLog, WritesIntoTheHomeOfAgentdByDefault) {
  ::setenv("AGENTD_HOME", folder_.path.c_str(), 1);
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  ::unsetenv("AGENTD_HOME");
  host_.turn_start();
  EXPECT_TRUE(fs::exists(folder_.path + "/audit.jsonl"));
}

TEST_F(AuditLog, ExpandsTheHomeOfTheUser) {
  const char* before = std::getenv("HOME");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("HOME", folder_.path.c_str(), 1);
  ASSERT_EQ(host_.create(R"({"path":"~/mine.jsonl"})").status, AGENTD_OK);
  ::setenv("HOME", saved.c_str(), 1);
  host_.turn_start();
  EXPECT_TRUE(fs::exists(folder_.path + "/mine.jsonl"));
}

}  // namespace
}  // namespace agentd::testing
