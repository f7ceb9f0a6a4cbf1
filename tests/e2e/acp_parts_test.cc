// SPDX-License-Identifier: Apache-2.0
// acp_parts_test.cc - what an editor does for its agent: texts that are not saved, terminals, forms.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "core/base/file.h"
#include "tests/e2e/acp_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

std::string bash_call(const std::string& command, const std::string& more = {}) {
  return "- calls: [{name: bash, input: {command: '" + command + "'" + more + "}}]\n";
}

class AcpParts : public ::testing::Test {
 protected:
  AcpParts() { settings("acp: {client_files: true}\n"); }
  void settings(const std::string& more) {
    program_.config("sandbox: {layer: 'off'}\npermissions: {mode: allow}\n" + more);
  }
  std::unique_ptr<AcpClient> open(const std::string& script, std::string_view abilities) {
    auto out = std::make_unique<AcpClient>(program_, std::vector<std::string>{"--script", program_.script(script)});
    out->initialize(abilities);
    return out;
  }
  std::string file(const std::string& name) const { return program_.project() + "/" + name; }
  std::string text(const std::string& name) const { return read_file(file(name), 100'000).value_or("none"); }
  void save(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file_atomically(file(name), text, 0600));
  }

  Program program_;
};

// ---- texts that are not saved

constexpr std::string_view kFiles = R"(,"fs":{"readTextFile":true,"writeTextFile":true})";

// The texts of an editor that are not saved.
class Buffers {
 public:
  explicit Buffers(AcpClient& editor) {
    editor.on_request([this](const RpcMessage& asked) { return answer(asked); });
  }
  std::map<std::string, std::string> texts;
  std::vector<std::string> read, written;  // paths

 private:
  std::string answer(const RpcMessage& asked) {
    const std::string path(asked.params()["path"].string_or(""));
    JsonWriter out;
    if (asked.method == "fs/read_text_file") {
      read.push_back(path);
      out.begin_object().member("content", texts[path]).end_object();
    } else if (asked.method == "fs/write_text_file") {
      written.push_back(path);
      texts[path] = asked.params()["content"].string_or("");
      return "{}";
    } else {
      return AcpClient::choose("allow");
    }
    return std::string(out.text());
  }
};

std::string unsaved(const std::string& path) { return R"({"agentd/unsaved":[")" + path + "\"]}"; }

constexpr std::string_view kRead = "- calls: [{name: read_file, input: {path: a.txt}}]\n";
constexpr std::string_view kEdit =
    "- calls: [{name: edit_file, input: {path: a.txt, old_string: draft, new_string: better}}]\n";

TEST_F(AcpParts, ATextThatIsNotSavedIsReadAndChangedWithTheEditor) {
  save("a.txt", "saved\n");
  const auto editor = open(
      std::string(kRead) + std::string(kEdit) + "- text: done\n  expect: {contains: [draft]}\n- text: again\n", kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "draft\n";
  const std::string session = editor->new_session();
  EXPECT_EQ(editor->stop(editor->begin_prompt(session, "change it", unsaved(file("a.txt")))), "end_turn");
  EXPECT_EQ(buffers.texts[file("a.txt")], "better\n");
  EXPECT_EQ(text("a.txt"), "better\n");
  EXPECT_EQ(buffers.written, std::vector<std::string>{file("a.txt")});
}

TEST_F(AcpParts, AFileOfWhichNothingIsSaidIsReadByAgentdAlone) {
  save("a.txt", "saved\n");
  const auto editor = open(std::string(kRead) + "- text: done\n  expect: {contains: [saved]}\n", kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "draft\n";
  EXPECT_EQ(editor->prompt(editor->new_session(), "read it"), "end_turn");
  EXPECT_TRUE(buffers.read.empty());
}

TEST_F(AcpParts, TheSettingKeepsTheEditorOut) {
  settings("");
  save("a.txt", "saved\n");
  const auto editor = open(std::string(kRead) + "- text: done\n  expect: {contains: [saved]}\n", kFiles);
  Buffers buffers(*editor);
  EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "read it", unsaved(file("a.txt")))), "end_turn");
  EXPECT_TRUE(buffers.read.empty());
}

TEST_F(AcpParts, ATextThatThePersonHasSentIsAskedForAgain) {
  save("a b.txt", "saved\n");
  const auto editor =
      open("- calls: [{name: read_file, input: {path: a b.txt}}]\n- text: done\n  expect: {contains: [the newest]}\n",
           kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a b.txt")] = "the newest\n";
  const std::string session = editor->new_session();
  const int id = editor->begin("session/prompt", R"({"sessionId":")" + session +
                                                     R"(","prompt":[{"type":"resource","resource":{"uri":"file://)" +
                                                     program_.project() + R"(/a%20b.txt","text":"older"}}]})");
  EXPECT_EQ(editor->stop(id), "end_turn");
  EXPECT_FALSE(buffers.read.empty());
}

// A line end of the file is no other text.
TEST_F(AcpParts, ASavedTextIsTheFilesOwn) {
  save("a.txt", "one\r\ntwo\r\n");
  const auto editor = open(
      std::string(kRead) + "- calls: [{name: edit_file, input: {path: a.txt, old_string: two, new_string: three}}]\n" +
          "- text: done\n",
      kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "one\ntwo\n";
  EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "change it", unsaved(file("a.txt")))), "end_turn");
  EXPECT_EQ(text("a.txt"), "one\r\nthree\r\n");
  EXPECT_TRUE(buffers.written.empty());
}

TEST_F(AcpParts, ATextThatThePersonIsTypingIsNotOverwritten) {
  save("a.txt", "saved\n");
  const auto editor = open(
      "- calls: [{name: write_file, input: {path: a.txt, content: lost}}]\n"
      "- text: done\n  expect: {contains: [read it again]}\n",
      kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "draft\n";
  EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "change it", unsaved(file("a.txt")))), "end_turn");
  EXPECT_EQ(buffers.texts[file("a.txt")], "draft\n");
  EXPECT_EQ(text("a.txt"), "saved\n");
}

// The editor reads with all rights of its person.
TEST_F(AcpParts, TheEditorIsNotAskedWhileACommandRunsNorForAnythingElse) {
  save("a.txt", "saved\n");
  ASSERT_EQ(::symlink("/etc/hostname", file("out.txt").c_str()), 0);
  const auto editor =
      open(bash_call("sleep 60", ", background: true") + std::string(kRead) +
               "- calls: [{name: read_file, input: {path: out.txt}}]\n- text: done\n  expect: {contains: [saved]}\n",
           kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "draft\n";
  EXPECT_EQ(editor->stop(editor->begin_prompt(
                editor->new_session(), "read it",
                R"({"agentd/unsaved":[")" + file("a.txt") + R"(",")" + file("out.txt") + R"(","/etc/hostname"]})")),
            "end_turn");
  EXPECT_TRUE(buffers.read.empty());
}

TEST_F(AcpParts, AnEditorThatOnlyReadsIsToldThatItsTextIsOlder) {
  save("a.txt", "saved\n");
  const auto editor =
      open(std::string(kRead) + std::string(kEdit) + "- text: done\n", R"(,"fs":{"readTextFile":true})");
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "draft\n";
  EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "change it", unsaved(file("a.txt")))), "end_turn");
  EXPECT_EQ(text("a.txt"), "better\n");
  EXPECT_TRUE(has(editor->said("notice"), "a.txt was changed on the disk")) << editor->said("notice");
}

TEST_F(AcpParts, AnotherSessionsCommandKeepsTheEditorOutToo) {
  save("a.txt", "saved\n");
  const auto editor = open(bash_call("sleep 60", ", background: true") + "- text: begun\n" + std::string(kRead) +
                               "- text: done\n  expect: {contains: [saved]}\n",
                           kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "draft\n";
  EXPECT_EQ(editor->prompt(editor->new_session(), "begin"), "end_turn");
  EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "read it", unsaved(file("a.txt")))), "end_turn");
  EXPECT_TRUE(buffers.read.empty());
  EXPECT_TRUE(has(editor->said("notice"), "the saved text of")) << editor->said("notice");
}

// A text that may be there is not overwritten by one that the model has not read it for.
TEST_F(AcpParts, AFileThatCannotBeAskedForIsNotOverwrittenUnread) {
  for (const bool runs : {true, false}) {
    save("a.txt", "saved\n");
    const auto editor = open((runs ? bash_call("sleep 60", ", background: true") : std::string()) +
                                 "- calls: [{name: write_file, input: {path: a.txt, content: lost}}]\n"
                                 "- text: done\n  expect: {contains: [read it again]}\n",
                             kFiles);
    if (!runs) editor->on_request([](const RpcMessage&) { return R"({"content":7})"; });
    EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "write", unsaved(file("a.txt")))), "end_turn");
    EXPECT_EQ(text("a.txt"), "saved\n");
  }
}

TEST_F(AcpParts, AnEditedTextKeepsTheLineEndsAndTheMarkOfItsFile) {
  save("a.txt", "\xEF\xBB\xBFone\r\ntwo\r\n");
  const auto editor = open(std::string(kRead) + std::string(kEdit) + "- text: done\n", kFiles);
  Buffers buffers(*editor);
  buffers.texts[file("a.txt")] = "one\ndraft\n";
  EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "change it", unsaved(file("a.txt")))), "end_turn");
  EXPECT_EQ(text("a.txt"), "\xEF\xBB\xBFone\r\nbetter\r\n");
  EXPECT_EQ(buffers.texts[file("a.txt")], "one\nbetter\n");
}

TEST_F(AcpParts, AProjectBehindALinkIsAskedForAsTheEditorNamesIt) {
  save("a.txt", "saved\n");
  const std::string link = program_.directory().file("link");
  ASSERT_EQ(::symlink(program_.project().c_str(), link.c_str()), 0);
  const auto editor = open(std::string(kRead) + "- text: done\n  expect: {contains: [draft]}\n", kFiles);
  Buffers buffers(*editor);
  buffers.texts[link + "/a.txt"] = "draft\n";
  EXPECT_EQ(editor->stop(editor->begin_prompt(editor->new_session(), "read it", unsaved(link + "/a.txt"))), "end_turn");
}

TEST_F(AcpParts, CancelEndsAQuestionAboutAText) {
  save("a.txt", "saved\n");
  const auto editor = open(std::string(kRead) + "- text: never\n", kFiles);
  bool asked = false;
  editor->on_request([&](const RpcMessage&) {
    asked = true;
    return "";
  });
  const std::string session = editor->new_session();
  const int id = editor->begin_prompt(session, "read it", unsaved(file("a.txt")));
  EXPECT_TRUE(editor->until([&] { return asked; }));
  editor->cancel(session);
  EXPECT_EQ(editor->stop(id), "cancelled");
}

// ---- terminals

constexpr std::string_view kTerminals = R"(,"terminal":true)";

// The terminals of an editor: real processes.
class Terminals {
 public:
  Terminals(AcpClient& editor, std::string directory) : editor_(editor), directory_(std::move(directory)) {
    editor.on_request([this](const RpcMessage& asked) { return answer(asked); });
    editor.on_idle([this] { look(); });
  }
  ~Terminals() {
    editor_.on_idle({});
    editor_.on_request([](const RpcMessage&) { return ""; });
    for (auto& [id, each] : open_) kill(each);
  }
  std::vector<std::string> commands, released;

 private:
  struct Open {
    pid_t pid = -1;
    std::string file;
    std::string exit;  // JSON; empty: it runs
    std::optional<RpcId> waits;
  };

  static void kill(const Open& one) {
    if (one.exit.empty()) ::kill(-one.pid, SIGKILL);
  }

  // Like the editors, which read lists of words and variables.
  std::string create(JsonView params) {
    std::vector<std::string> words{std::string(params["command"].string_or(""))};
    for (std::size_t i = 0; i < params["args"].size(); ++i) words.emplace_back(params["args"].at(i).string_or(""));
    commands.push_back(words.back());
    const std::string id = "terminal-" + std::to_string(open_.size() + 1), cwd(params["cwd"].string_or("/"));
    Open one;
    one.file = directory_ + "/" + id;
    std::vector<char*> argv;
    for (std::string& each : words) argv.push_back(each.data());
    argv.push_back(nullptr);
    one.pid = ::fork();
    if (one.pid == 0) {
      ::setsid();
      const int out = ::open(one.file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(out, 1);
      ::dup2(out, 2);
      if (::chdir(cwd.c_str()) == 0) ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    open_[id] = one;
    return R"({"terminalId":")" + id + "\"}";
  }

  void look() {
    for (auto& [id, each] : open_) {
      int status = 0;
      if (each.exit.empty() && ::waitpid(each.pid, &status, WNOHANG) == each.pid)
        each.exit = WIFEXITED(status) ? R"({"exitCode":)" + std::to_string(WEXITSTATUS(status)) + R"(,"signal":null})"
                                      : R"({"exitCode":null,"signal":"SIGKILL"})";
      if (!each.exit.empty() && each.waits) editor_.answer(*std::exchange(each.waits, std::nullopt), each.exit);
    }
  }

  std::string answer(const RpcMessage& asked) {
    if (asked.method == "session/request_permission") return AcpClient::choose("allow");
    if (asked.method == "terminal/create") return create(asked.params());
    const std::string id(asked.params()["terminalId"].string_or(""));
    EXPECT_TRUE(open_.contains(id)) << asked.method;
    Open& one = open_[id];
    look();
    if (asked.method == "terminal/wait_for_exit") {
      one.waits = asked.id;
      return {};
    }
    if (asked.method == "terminal/output") {
      JsonWriter out;
      out.begin_object().member("output", read_file(one.file, 100u << 20).value_or("")).member("truncated", false);
      if (!one.exit.empty()) out.key("exitStatus").raw(one.exit);
      out.end_object();
      return std::string(out.text());
    }
    if (asked.method == "terminal/release") released.push_back(id);
    kill(one);
    return "{}";
  }

  AcpClient& editor_;
  const std::string directory_;
  std::map<std::string, Open> open_;
};

class AcpTerminals : public AcpParts {
 protected:
  AcpTerminals() { settings("acp: {client_terminals: true}\n"); }
  const TempDir directory_;
};

TEST_F(AcpTerminals, ACommandRunsInATerminalThatItsCallShows) {
  const auto editor = open(bash_call("echo to a terminal; touch made; exit 3") +
                               "- text: done\n  expect: {contains: [to a terminal, exit code 3]}\n",
                           kTerminals);
  Terminals terminals(*editor, directory_.path());
  EXPECT_EQ(editor->prompt(editor->new_session(), "run it"), "end_turn");
  EXPECT_EQ(text("made"), "");
  EXPECT_EQ(terminals.commands, std::vector<std::string>{"echo to a terminal; touch made; exit 3"});
  EXPECT_EQ(terminals.released, std::vector<std::string>{"terminal-1"});
  std::size_t shown = 0;
  for (const RpcMessage& each : editor->updates()) {
    const JsonView update = each.params()["update"];
    if (update["content"].is_array() && update["content"].at(0)["terminalId"].string_or("") == "terminal-1") ++shown;
  }
  EXPECT_EQ(shown, 2u);  // when it begins, and with its end
}

TEST_F(AcpTerminals, TheSettingIsAskedForSinceNoSandboxIsAroundThem) {
  settings("");
  const auto editor =
      open(bash_call("echo by agentd") + "- text: done\n  expect: {contains: [by agentd]}\n", kTerminals);
  Terminals terminals(*editor, directory_.path());
  EXPECT_EQ(editor->prompt(editor->new_session(), "run it"), "end_turn");
  EXPECT_TRUE(terminals.commands.empty());
}

TEST_F(AcpTerminals, AnEditorWithoutTerminalsGetsNone) {
  const auto editor = open(bash_call("echo by agentd") + "- text: done\n  expect: {contains: [by agentd]}\n", "");
  EXPECT_EQ(editor->prompt(editor->new_session(), "run it"), "end_turn");
}

TEST_F(AcpTerminals, CancelAndTimeEndACommand) {
  const auto editor = open(bash_call("echo begun; sleep 600", ", timeout_ms: 300") +
                               "- text: late\n  expect: {contains: [ended after 300 ms]}\n" +
                               bash_call("touch arrived; sleep 600") + "- text: never\n",
                           kTerminals);
  Terminals terminals(*editor, directory_.path());
  const std::string session = editor->new_session();
  EXPECT_EQ(editor->prompt(session, "run it"), "end_turn");
  const int id = editor->begin_prompt(session, "run it again");
  EXPECT_TRUE(editor->until([&] { return exists(file("arrived")); }));
  editor->cancel(session);
  EXPECT_EQ(editor->stop(id), "cancelled");
  EXPECT_EQ(terminals.released.size(), 2u);
}

TEST_F(AcpTerminals, ABackgroundCommandIsReadAndEnded) {
  const auto editor =
      open(bash_call("echo one; until test -e go; do sleep 0.02; done; echo two; sleep 600", ", background: true") +
               "- text: begun\n  expect: {contains: [one]}\n" +
               "- calls: [{name: bash_output, input: {id: 1, wait_ms: 5000}}]\n" +
               "- calls: [{name: kill_shell, input: {id: 1}}]\n" + "- text: done\n  expect: {contains: [two, ended]}\n",
           kTerminals);
  Terminals terminals(*editor, directory_.path());
  const std::string session = editor->new_session();
  EXPECT_EQ(editor->prompt(session, "run it"), "end_turn");
  save("go", "");
  EXPECT_EQ(editor->prompt(session, "and now"), "end_turn");
  EXPECT_EQ(terminals.released.size(), 1u);
}

TEST_F(AcpTerminals, ASessionEndsItsCommands) {
  const auto editor = open(bash_call("sleep 600", ", background: true") + "- text: done\n", kTerminals);
  Terminals terminals(*editor, directory_.path());
  const std::string session = editor->new_session();
  EXPECT_EQ(editor->prompt(session, "run it"), "end_turn");
  EXPECT_EQ(editor->call("session/close", R"({"sessionId":")" + session + "\"}").kind, RpcMessage::Kind::kResult);
  EXPECT_TRUE(editor->until([&] { return terminals.released.size() == 1; }));
}

TEST_F(AcpTerminals, AnEditorThatRefusesATerminalFailsTheCall) {
  const auto editor = open(
      bash_call("echo never") + "- text: done\n  expect: {contains: [opened a terminal without an id]}\n", kTerminals);
  editor->on_request([](const RpcMessage&) { return "{}"; });
  EXPECT_EQ(editor->prompt(editor->new_session(), "run it"), "end_turn");
}

// The model was told that it does not run.
TEST_F(AcpTerminals, ATerminalThatIsOpenedTooLateIsEnded) {
  const auto editor = open(bash_call("echo late") + "- text: never\n", kTerminals);
  std::optional<RpcId> create;
  std::vector<std::string> ended;
  editor->on_request([&](const RpcMessage& asked) -> std::string {
    if (asked.method == "terminal/create") {
      create = asked.id;
      return "";
    }
    ended.push_back(asked.method + " " + std::string(asked.params()["terminalId"].string_or("")));
    return "{}";
  });
  const std::string session = editor->new_session();
  const int id = editor->begin_prompt(session, "run it");
  ASSERT_TRUE(editor->until([&] { return create.has_value(); }));
  editor->cancel(session);
  EXPECT_EQ(editor->stop(id), "cancelled");
  EXPECT_TRUE(ended.empty());
  editor->answer(*create, R"({"terminalId":"t"})");
  EXPECT_TRUE(editor->until([&] { return ended.size() == 2; }));
  EXPECT_EQ(ended, (std::vector<std::string>{"terminal/kill t", "terminal/release t"}));
}

TEST_F(AcpTerminals, AnExitThatIsNoneIsNoSuccess) {
  struct Case {
    const char *exit, *said;
  };
  for (const Case& each : {Case{R"({"exitCode":1099511627776})", "exit code -1"},
                           Case{R"({"exitCode":0,"signal":"SIGKILL"})", "ended by signal 9"},
                           Case{R"({"exitCode":-1})", "exit code -1"}, Case{R"({})", "exit code -1"}}) {
    const auto editor =
        open(bash_call("echo odd") + "- text: done\n  expect: {contains: ['" + each.said + "']}\n", kTerminals);
    editor->on_request([&](const RpcMessage& asked) -> std::string {
      if (asked.method == "terminal/create") return R"({"terminalId":"t"})";
      if (asked.method == "terminal/wait_for_exit") return each.exit;
      return R"({"output":"x","truncated":false})";
    });
    EXPECT_EQ(editor->prompt(editor->new_session(), "run it"), "end_turn") << each.exit;
  }
}

// ---- forms

constexpr std::string_view kForms = R"(,"elicitation":{"form":{}})";

class AcpForms : public AcpParts {
 protected:
  AcpForms() {
    EXPECT_TRUE(make_directories(program_.home() + "/recipes"));
    EXPECT_TRUE(write_file_atomically(program_.home() + "/recipes/greet.md",
                                      "---\nname: greet\ndescription: greets somebody\narguments:\n"
                                      "  who: {description: whom to greet, required: true}\n"
                                      "  how: {default: warmly}\n---\nGreet {{.who}} {{.how}}.\n",
                                      0600));
  }
};

TEST_F(AcpForms, AMissingArgumentIsAskedFor) {
  const auto editor = open("- text: hello\n  expect: {contains: [Greet Ada warmly.]}\n", kForms);
  std::string form;
  editor->on_request([&](const RpcMessage& asked) {
    EXPECT_EQ(asked.method, "elicitation/create");
    form = asked.params().text();
    return R"({"action":"accept","content":{"who":"Ada","other":"ignored"}})";
  });
  EXPECT_EQ(editor->prompt(editor->new_session(), "/greet"), "end_turn");
  EXPECT_TRUE(has(form, R"("message":"/greet needs arguments")")) << form;
  EXPECT_TRUE(has(form, R"("who":{"type":"string","title":"who","description":"whom to greet"})")) << form;
  EXPECT_TRUE(has(form, R"("how":{"type":"string","title":"how","default":"warmly"})")) << form;
  EXPECT_TRUE(has(form, R"("required":["who"])")) << form;
}

TEST_F(AcpForms, APersonWhoGivesNoneRunsNothing) {
  for (const char* const no : {R"({"action":"decline"})", R"({"action":"cancel"})", R"({"action":"accept"})",
                               R"({"action":"_mine","content":{"who":"Ada"}})"}) {
    const auto editor = open("- text: never\n", kForms);
    editor->on_request([&](const RpcMessage&) { return no; });
    EXPECT_EQ(editor->prompt(editor->new_session(), "/greet"), "end_turn");
    EXPECT_EQ(editor->said("agent_message_chunk"), "/greet was not run: the form with its arguments was not filled in.")
        << no;
  }
}

TEST_F(AcpForms, CancelEndsAForm) {
  const auto editor = open("- text: never\n", kForms);
  bool asked = false;
  editor->on_request([&](const RpcMessage&) {
    asked = true;
    return "";
  });
  const std::string session = editor->new_session();
  const int id = editor->begin_prompt(session, "/greet");
  EXPECT_TRUE(editor->until([&] { return asked; }));
  editor->cancel(session);
  EXPECT_EQ(editor->stop(id), "cancelled");
}

TEST_F(AcpForms, AnEditorWithoutFormsIsToldWhatIsMissing) {
  const auto editor = open("- text: never\n", "");
  const std::string stop = editor->prompt(editor->new_session(), "/greet");
  EXPECT_TRUE(has(stop, "who")) << stop;
  EXPECT_TRUE(editor->requests().empty());
}

// ---- MCP servers of the editor

class AcpServers : public AcpParts {
 protected:
  // A session with the played server, whose tool asks for a name: its id.
  std::string session_with(AcpClient& editor, const std::string& name = "My server") const {
    program_.directory().write("tools.json", R"({"tools":[{"name":"meet","description":"","inputSchema":)"
                                             R"({"type":"object"},"does":{"ask":"Who are you?"}}]})");
    const RpcMessage made = editor.call(
        "session/new", R"({"cwd":")" + program_.project() + R"(","mcpServers":[{"name":")" + name +
                           R"(","command":"python3","args":[")" AGENTD_MCP_SERVER R"(",")" +
                           program_.directory().file("tools.json") + R"("],"env":[{"name":"A","value":"b"}]}]})");
    return std::string(made.result()["sessionId"].string_or("fault " + made.fault.message));
  }
  static constexpr const char* kCalls = "- calls: [{name: mcp__My-server__meet, input: {}}]\n- text: done\n";
};

TEST_F(AcpServers, AServerOfTheEditorBringsToolsAndAsksByAForm) {
  program_.config("mcp: {editor_sandbox: false}\npermissions: {allow: [mcp__My-server]}\n");
  const auto editor = open(
      std::string(kCalls) + "  expect: {contains: [Ada]}\n" + kCalls + "  expect: {contains: [there is no tool]}\n",
      kForms);
  std::string form;
  editor->on_request([&](const RpcMessage& asked) {
    EXPECT_EQ(asked.method, "elicitation/create");
    form = asked.params().text();
    return R"({"action":"accept","content":{"name":"Ada"}})";
  });
  const std::string session = session_with(*editor);
  EXPECT_EQ(editor->prompt(session, "go"), "end_turn") << session;
  EXPECT_TRUE(has(form, "The MCP server My-server asks during a call of its tool meet: Who are you?")) << form;
  // A session that has named none has none of it.
  const std::string other = editor->new_session();
  EXPECT_EQ(editor->prompt(other, "go"), "end_turn");
  EXPECT_EQ(editor->requests().size(), 1u);
}

TEST_F(AcpServers, WithoutFormsItsQuestionIsDeclined) {
  program_.config("mcp: {editor_sandbox: false}\npermissions: {allow: [mcp__My-server]}\n");
  const auto editor = open(std::string(kCalls) + "  expect: {contains: [decline]}\n", "");
  EXPECT_EQ(editor->prompt(session_with(*editor), "go"), "end_turn");
}

TEST_F(AcpServers, AServerOfTheEditorRunsInTheSandbox) {
  program_.config("permissions: {allow: [mcp__My-server]}\n");
  const auto editor = open(std::string(kCalls) + "  expect: {contains: [it runs in the sandbox]}\n", kForms);
  EXPECT_EQ(editor->prompt(session_with(*editor), "go"), "end_turn");
  EXPECT_TRUE(editor->requests().empty());
  const std::string told = editor->said("notice");
  EXPECT_TRUE(has(told, "it runs in the sandbox")) << told;
}

TEST_F(AcpServers, AServerThatCannotBeReadIsRefused) {
  const auto editor = open("- text: never\n", "");
  const auto said = [&](const std::string& servers) {
    const RpcMessage made =
        editor->call("session/new", R"({"cwd":")" + program_.project() + R"(","mcpServers":)" + servers + "}");
    return made.fault.message;
  };
  EXPECT_EQ(said(R"([{"command":"x"}])"), "'mcpServers': a server must have a name");
  EXPECT_EQ(said(R"([{"name":"a"}])"), "'mcpServers': a: a server must have a command or a url");
  EXPECT_EQ(said(R"([{"name":"a b","command":"x"},{"name":"a-b","command":"y"}])"),
            "'mcpServers': more than one server has the name a-b");
  EXPECT_TRUE(has(said(R"([{"type":"sse","name":"a","url":"https://x","headers":[]}])"), "transport of 2024"));
  EXPECT_EQ(said(R"([{"name":"a","command":"x","env":{"A":"b"}}])"),
            "'mcpServers': a: env must be a list of names and values");
}

}  // namespace
}  // namespace agentd::testing
