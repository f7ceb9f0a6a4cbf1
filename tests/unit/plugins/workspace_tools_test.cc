// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/unit/plugins/tools_fixture.h"
#include "tests/unit/scrub/canaries.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

bool is_alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return false;
  const char state = line[line.rfind(')') + 2];
  return state != 'Z' && state != 'X';
}

// ---- the plugin

TEST_F(Tools, AreContributedWithSchemasThatAreJson) {
  std::vector<std::string> names;
  for (const contributed_tool& tool : host_.tools()) {
    names.push_back(tool.name);
    const auto schema = JsonDocument::parse(tool.input_schema);
    ASSERT_TRUE(schema) << tool.name << ": " << schema.error().message;
    EXPECT_EQ(schema->root()["type"].string_or(""), "object");
    EXPECT_FALSE(schema->root()["additionalProperties"].bool_or(true));
    for (std::size_t i = 0; i < schema->root()["required"].size(); ++i)
      EXPECT_TRUE(schema->root()["properties"][schema->root()["required"].at(i).string_or("")].exists());
    EXPECT_GT(tool.description.size(), 100u);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"bash", "bash_output", "kill_shell", "read_file", "write_file",
                                             "edit_file", "glob", "grep", "todo_write"}));
}

TEST_F(Tools, ThatOnlyReadSaySo) {
  for (const contributed_tool& tool : host_.tools()) {
    const bool reads = tool.name == "read_file" || tool.name == "glob" || tool.name == "grep" ||
                       tool.name == "todo_write" || tool.name == "bash_output";
    EXPECT_EQ((tool.flags & AGENTD_TOOL_READ_ONLY) != 0, reads) << tool.name;
    EXPECT_EQ((tool.flags & AGENTD_TOOL_DESTRUCTIVE) != 0, !reads) << tool.name;
  }
}

// As when a user may have no more processes; a limit on files holds for root as well.
TEST_F(Tools, SayWhatToDoWhenNoCommandCanBeStarted) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(STDERR_FILENO);
  ASSERT_GE(next, 0);
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string said = bad("bash", R"({"command":"true"})");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(said,
            "the command could not be run: the system is out of processes, memory or open files for agentd. Wait until "
            "others have ended, or ask for higher limits ('ulimit -a' shows them)");
  EXPECT_EQ(good("bash", R"({"command":"echo well"})"), "well\n");
}

TEST_F(Tools, SayThatTheWorkspaceDirectoryIsGone) {
  folder_.put("a.txt", "alpha\n");
  const std::string file = folder_.path + "/a.txt";
  good("read_file", R"({"path":")" + file + R"("})");
  fs::remove_all(folder_.path);
  const std::string gone = "the workspace directory " + folder_.path +
                           " no longer exists: ask the user to restore it and to start agentd again there";
  EXPECT_EQ(bad("bash", R"({"command":"true"})"), gone);
  EXPECT_EQ(bad("read_file", R"({"path":"a.txt"})"), gone);
  EXPECT_EQ(bad("read_file", R"({"path":")" + file + R"("})"), gone);
  EXPECT_EQ(bad("write_file", R"({"path":")" + file + R"(","content":"x"})"), gone);
  EXPECT_EQ(bad("edit_file", edit(file, "alpha", "beta")), gone);
  EXPECT_EQ(bad("glob", R"({"pattern":"*","path":")" + folder_.path + R"("})"), gone);
  EXPECT_EQ(bad("grep", R"({"pattern":"a","path":")" + folder_.path + R"("})"), gone);
}

TEST_F(Tools, SayThatACommandIsTooLong) {
  EXPECT_EQ(bad("bash", R"({"command":")" + std::string(200'000, 'x') + R"("})"),
            "the command is too long: write it to a file and run that");
}

TEST(ToolsPlugin, OffersOnlyWhatItWasGranted) {
  TempFolder folder;
  fake_host host(load_plugin("workspace_tools"));
  RealServices services(host, folder.path);
  host.deny(AGENTD_PROCESS_ID);
  ASSERT_EQ(host.create().status, AGENTD_OK);
  EXPECT_EQ(host.tool("bash"), nullptr);
  EXPECT_NE(host.tool("read_file"), nullptr);
  host.deny(AGENTD_WORKSPACE_ID);
  const outcome got = host.create();
  EXPECT_EQ(got.status, AGENTD_E_DENIED);
  EXPECT_NE(got.error.find("neither is granted"), std::string::npos);
}

TEST(ToolsPlugin, SaysThatItNeedsTheToolsInterface) {
  TempFolder folder;
  fake_host host(load_plugin("workspace_tools"));
  RealServices services(host, folder.path);
  host.deny(AGENTD_TOOLS_ID);
  EXPECT_EQ(host.create().status, AGENTD_E_DENIED);
}

TEST_F(Tools, RefuseInputThatIsWrongAndNameTheKey) {
  folder_.put("a.txt", "x\n");
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"bash", R"({})", "\"command\" is missing"},
      {"bash", R"({"command":""})", "\"command\" must be a non-empty text"},
      {"bash", R"({"command":7})", "\"command\" must be a non-empty text"},
      {"bash", R"({"command":"ls","timeout_ms":0})", "\"timeout_ms\" must be a whole number from 1 to 600000"},
      {"bash", R"({"command":"ls","timeout_ms":1.5})", "\"timeout_ms\" must be a whole number"},
      {"bash", R"({"command":"ls","timeout_ms":"9"})", "\"timeout_ms\" must be a whole number"},
      {"bash", R"({"command":"ls","timeout_ms":700000})", "\"timeout_ms\" must be a whole number"},
      {"bash", R"({"cmd":"ls"})", "unknown key \"cmd\": the keys are command, timeout_ms, description, background"},
      {"bash", R"({"command":"ls\u0000"})", "must not contain a NUL"},
      {"bash", R"(["ls"])", "must be a JSON object"},
      {"bash", R"({"command":)", "not valid JSON"},
      {"read_file", R"({"file_path":"a.txt"})", "unknown key \"file_path\": the keys are path, offset, limit"},
      {"read_file", R"({"path":"a.txt","offset":0})", "\"offset\" must be a whole number from 1"},
      {"read_file", R"({"path":"a.txt","limit":2001})", "\"limit\" must be a whole number from 1 to 2000"},
      {"write_file", R"({"path":"b.txt"})", "\"content\" is missing"},
      {"write_file", R"({"path":"b.txt","content":null})", "\"content\" is missing"},
      {"edit_file", R"({"path":"a.txt","old_string":"","new_string":"y"})", "\"old_string\" must be a non-empty text"},
      {"edit_file", R"({"path":"a.txt","old_string":"x","new_string":"x"})", "nothing to change"},
      {"edit_file", R"({"path":"a.txt","old_string":"x","new_string":"y","replace_all":"no"})",
       "\"replace_all\" must be true or false"},
      {"glob", R"({"pattern":"/etc/*"})", "relative to the folder"},
      {"grep", R"({"pattern":"x","output_mode":"lines"})", "\"output_mode\" must be one of files, content, count"},
      {"grep", R"({"pattern":"x","context":51})", "\"context\" must be a whole number from 0 to 50"},
      {"grep", R"({"pattern":"(x"})", "not a valid RE2 expression: missing )"}};
  for (const auto& [tool, input, sentence] : cases) {
    const std::string text = bad(tool, input);
    EXPECT_NE(text.find(sentence), std::string::npos) << tool << input << ": " << text;
  }
  EXPECT_FALSE(fs::exists(folder_.path + "/b.txt"));
}

// ---- bash

TEST_F(Tools, BashReturnsTheOutput) {
  EXPECT_EQ(good("bash", R"({"command":"echo one; echo two >&2","description":"two words"})"), "one\ntwo\n");
  EXPECT_EQ(good("bash", R"({"command":"true"})"), "(no output)");
  EXPECT_EQ(good("bash", R"({"command":"pwd"})"), folder_.path + "\n");
}

TEST_F(Tools, BashIsBash) { EXPECT_EQ(good("bash", R"({"command":"[[ ab == a* ]] && echo yes"})"), "yes\n"); }

TEST_F(Tools, BashReportsAFailure) {
  const outcome got = host_.invoke("bash", R"({"command":"printf partial; exit 3"})");
  EXPECT_TRUE(got.tool_failed());
  EXPECT_EQ(got.output(), "partial\n[exit code 3]");
  const auto* end = got.find(AGENTD_ACT_TOOL_RESULT);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(JsonDocument::parse(end->structured_json)->root()["exit_code"].int_or(0), 3);
  EXPECT_NE(bad("bash", R"({"command":"no-such-command-here"})").find("a command was not found"), std::string::npos);
  EXPECT_NE(bad("bash", R"({"command":"kill -9 $$"})").find("ended by signal 9 (SIGKILL)"), std::string::npos);
  EXPECT_NE(bad("bash", R"({"command":"bash -c 'kill -SEGV $$'; exit $?"})")
                .find("[exit code 139: as of a program that SIGSEGV has ended]"),
            std::string::npos);
  EXPECT_NE(bad("bash", R"({"command":"exit 200"})").find("[exit code 200]"), std::string::npos)
      << "no signal has the number";
}

TEST_F(Tools, BashEndsACommandAtItsTimeout) {
  const std::string text = bad("bash", R"({"command":"echo begun; sleep 600","timeout_ms":1000})");
  EXPECT_TRUE(text.starts_with("begun\n")) << text;
  EXPECT_NE(text.find("ended after 1000 ms"), std::string::npos) << text;
}

TEST_F(Tools, BashKeepsHeadAndTailOfALongOutput) {
  const std::string text = good("bash", R"({"command":"echo HEAD; seq 100000; echo TAIL"})");
  EXPECT_LT(text.size(), 31'000u);
  EXPECT_TRUE(text.starts_with("HEAD\n"));
  EXPECT_TRUE(text.ends_with("TAIL\n"));
  EXPECT_NE(text.find("bytes left out"), std::string::npos);
}

TEST_F(Tools, BashSaysWhereALongOutputIs) {
  services_.spill_directory = folder_.path + "/spill";
  const std::string text = good("bash", R"({"command":"echo HEAD; seq 100000; echo TAIL"})");
  const std::string file = folder_.path + "/spill/1.out";
  EXPECT_TRUE(text.ends_with("TAIL\n[588905 bytes in all; the complete output is in " + file +
                             ", which read_file reads by offset and limit]"))
      << text.substr(text.size() - 300);
  EXPECT_EQ(good("read_file", R"({"path":")" + file + R"(","offset":50000,"limit":1})").substr(0, 12), " 50000\t49999");
  EXPECT_EQ(good("bash", R"({"command":"echo short"})"), "short\n") << "nothing was left out";
}

// ---- background commands

TEST_F(Tools, BashRunsACommandInTheBackground) {
  const std::string text =
      good("bash", R"({"command":"echo up; while ! test -e go; do sleep 0.01; done; echo went","background":true})");
  EXPECT_EQ(text, "up\n[command 1 runs]\n[its id is 1: bash_output reads what it writes, kill_shell ends it]");
  EXPECT_EQ(good("bash_output", R"({"id":1})"), "[command 1 runs, no new output]");
  folder_.put("go", "");
  std::string rest;
  while (rest.find("has ended") == std::string::npos) rest += good("bash_output", R"({"id":1,"wait_ms":60000})") + "\n";
  EXPECT_NE(rest.find("went\n"), std::string::npos) << rest;
  EXPECT_NE(rest.find("[command 1 has ended: exit code 0"), std::string::npos) << rest;
  EXPECT_EQ(good("bash_output", R"({"id":1,"from_start":true})"), "up\nwent\n[command 1 has ended: exit code 0]");
}

TEST_F(Tools, BashSaysThatABackgroundCommandEndedAtOnce) {
  EXPECT_EQ(bad("bash", R"({"command":"echo no port >&2; exit 3","background":true})"),
            "no port\n[command 1 has ended: exit code 3]");
}

TEST_F(Tools, KillShellEndsABackgroundCommandWithAllThatItStarted) {
  good("bash", R"({"command":"sleep 600 & echo $! >pid; echo up; wait","background":true})");
  const pid_t child = static_cast<pid_t>(std::stoi(folder_.get("pid")));
  const std::string text = good("kill_shell", R"({"id":1})");
  EXPECT_NE(text.find("[command 1 has ended: it was ended by request"), std::string::npos) << text;
  EXPECT_FALSE(is_alive(child));
  EXPECT_NE(good("kill_shell", R"({"id":1})").find("has ended"), std::string::npos) << "again is fine";
  EXPECT_EQ(bad("kill_shell", R"({"id":2})"), "command 2 does not exist");
}

TEST_F(Tools, BashOutputListsTheCommandsOfTheSession) {
  EXPECT_EQ(good("bash_output", "{}"), "the session has no background commands");
  good("bash", R"({"command":"sleep 600","background":true})");
  bad("bash", R"({"command":"exit 4","background":true})");
  EXPECT_EQ(good("bash_output", "{}"),
            "command 1 runs, 0 bytes written: bash -c sleep 600\n"
            "command 2 has ended: exit code 4, 0 bytes written: bash -c exit 4\n");
  EXPECT_EQ(bad("bash_output", R"({"id":7})"), "command 7 does not exist");
}

TEST_F(Tools, BashOutputSaysThatThereIsMore) {
  bad("bash", R"({"command":"seq 20000; exit 1","background":true})");
  const std::string text = good("bash_output", R"({"id":1,"from_start":true})");
  EXPECT_NE(text.find("more bytes: call bash_output again]"), std::string::npos) << text.substr(text.size() - 200);
  std::string all;
  for (std::string piece; piece.find("no new output") == std::string::npos;)
    all += piece = good("bash_output", R"({"id":1})");
  EXPECT_NE(all.find("\n20000\n"), std::string::npos);
}

TEST_F(Tools, BashEndsABackgroundCommandAtItsTimeout) {
  good("bash", R"({"command":"sleep 600","background":true,"timeout_ms":5000})");
  std::string text;
  while (text.find("has ended") == std::string::npos) text = good("bash_output", R"({"id":1,"wait_ms":60000})");
  EXPECT_EQ(text, "[command 1 has ended: its timeout_ms was over, no new output]");
}

TEST_F(Tools, BashMakesItsOutputValidText) {
  EXPECT_EQ(good("bash", R"({"command":"printf 'a\\377b'"})"),
            "a\xEF\xBF\xBD"
            "b");
}

TEST_F(Tools, BashEndsWithTheCallWhenItIsCancelled) {
  services_.cancel.cancel(AGENTD_CANCEL_USER);
  EXPECT_EQ(host_.invoke("bash", R"({"command":"echo x"})").status, AGENTD_E_CANCELLED);
}

// ---- read_file

TEST_F(Tools, ReadFileNumbersTheLines) {
  folder_.put("a.txt", "one\ntwo\r\n\nlast");
  EXPECT_EQ(good("read_file", R"({"path":"a.txt"})"), "     1\tone\n     2\ttwo\n     3\t\n     4\tlast\n");
}

TEST_F(Tools, ReadFileReadsAPart) {
  std::string text;
  for (int i = 1; i <= 10; ++i) text += "line " + std::to_string(i) + "\n";
  folder_.put("a.txt", text);
  EXPECT_EQ(good("read_file", R"({"path":"a.txt","offset":4,"limit":2})"),
            "     4\tline 4\n     5\tline 5\n[5 more lines of 10 lines: continue with offset 6]\n");
  EXPECT_EQ(good("read_file", R"({"path":"a.txt","offset":10})"), "    10\tline 10\n");
  EXPECT_NE(bad("read_file", R"({"path":"a.txt","offset":11})").find("has 10 lines"), std::string::npos);
}

TEST_F(Tools, ReadFileStopsAfterTwoThousandLines) {
  std::string text;
  for (int i = 1; i <= 2'500; ++i) text += "x\n";
  folder_.put("a.txt", text);
  const std::string got = good("read_file", R"({"path":"a.txt"})");
  EXPECT_NE(got.find("  2000\tx\n[500 more lines of 2,500 lines: continue with offset 2001]\n"), std::string::npos);
}

TEST_F(Tools, ReadFileBoundsWhatItReturns) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += std::string(500, 'x') + "\n";
  folder_.put("wide.txt", text);
  EXPECT_LT(good("read_file", R"({"path":"wide.txt"})").size(), 101'000u);
  folder_.put("line.txt", std::string(50'000, 'y'));
  const std::string line = good("read_file", R"({"path":"line.txt"})");
  EXPECT_LT(line.size(), 2'100u);
  EXPECT_NE(line.find("the line has 50000 bytes"), std::string::npos);
}

TEST_F(Tools, ReadFileSaysWhatIsNoText) {
  folder_.put("binary", std::string("ELF\0\1\2", 6));
  folder_.put("empty", "");
  fs::create_directories(folder_.path + "/folder");
  EXPECT_NE(bad("read_file", R"({"path":"binary"})").find("is a binary file of 6 bytes"), std::string::npos);
  EXPECT_EQ(good("read_file", R"({"path":"empty"})"), "(the file is empty)");
  EXPECT_NE(bad("read_file", R"({"path":"folder"})").find("is a directory"), std::string::npos);
  EXPECT_EQ(bad("read_file", R"({"path":"missing"})"), "missing does not exist");
  EXPECT_NE(bad("read_file", R"({"path":"../outside"})").find("outside of the workspace"), std::string::npos);
  EXPECT_NE(bad("read_file", R"({"path":"/etc/passwd"})").find("outside of the workspace"), std::string::npos);
}

TEST_F(Tools, ReadFileRefusesWhatIsTooBig) {
  folder_.put("big", "x");
  fs::resize_file(folder_.path + "/big", (16u << 20) + 1);
  EXPECT_NE(bad("read_file", R"({"path":"big"})").find("16,777,217 bytes"), std::string::npos);
}

// ---- write_file

TEST_F(Tools, WriteFileMakesAFileWithItsFolders) {
  EXPECT_EQ(good("write_file", R"({"path":"new/folder/a.txt","content":"one\ntwo\n"})"),
            "made new/folder/a.txt: 8 bytes, 2 lines");
  EXPECT_EQ(folder_.get("new/folder/a.txt"), "one\ntwo\n");
}

TEST_F(Tools, WriteFileReplacesAFileAndKeepsItsMode) {
  folder_.put("run.sh", "old");
  ::chmod((folder_.path + "/run.sh").c_str(), 0755);
  EXPECT_TRUE(good("write_file", R"({"path":"run.sh","content":""})").starts_with("replaced run.sh: 0 bytes"));
  EXPECT_EQ(folder_.get("run.sh"), "");
  EXPECT_EQ(static_cast<unsigned>(fs::status(folder_.path + "/run.sh").permissions()), 0755u);
}

TEST_F(Tools, WriteFileStaysInTheWorkspace) {
  EXPECT_NE(bad("write_file", R"({"path":"../x","content":"x"})").find("outside"), std::string::npos);
  fs::create_directories(folder_.path + "/folder");
  EXPECT_NE(bad("write_file", R"({"path":"folder","content":"x"})").find("is a directory"), std::string::npos);
}

// ---- edit_file

TEST_F(Tools, EditFileChangesOnePlaceAndShowsIt) {
  folder_.put("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  good("read_file", R"({"path":"a.txt"})");
  EXPECT_EQ(good("edit_file", edit("a.txt", "5\n", "five\nand a half\n")),
            "replaced 1 place in a.txt\n     2\t2\n     3\t3\n     4\t4\n     5\tfive\n     6\tand "
            "a half\n"
            "     7\t6\n     8\t7\n     9\t8\n    10\t9\n");
  EXPECT_EQ(folder_.get("a.txt"), "1\n2\n3\n4\nfive\nand a half\n6\n7\n8\n9\n");
}

TEST_F(Tools, EditFileWantsTheFileReadFirst) {
  folder_.put("a.txt", "one");
  EXPECT_TRUE(bad("edit_file", edit("a.txt", "one", "two")).starts_with("read the file first"));
  EXPECT_EQ(folder_.get("a.txt"), "one");
}

TEST_F(Tools, EditFileKnowsAFileByAnyOfItsSpellings) {
  folder_.put("dir/a.txt", "one");
  good("read_file", R"({"path":")" + folder_.path + R"(/dir/a.txt"})");
  good("edit_file", edit("./dir/../dir//a.txt", "one", "two"));
  EXPECT_EQ(folder_.get("dir/a.txt"), "two");
}

TEST_F(Tools, EditFileRefusesAFileThatHasChangedSince) {
  folder_.put("a.txt", "one");
  good("read_file", R"({"path":"a.txt"})");
  folder_.put("a.txt", "one changed");
  EXPECT_NE(bad("edit_file", edit("a.txt", "one", "two")).find("has changed since it was read"), std::string::npos);
  good("read_file", R"({"path":"a.txt"})");
  good("edit_file", edit("a.txt", "one", "two"));
  EXPECT_EQ(folder_.get("a.txt"), "two changed");
}

TEST_F(Tools, EditFileGoesOnAfterItsOwnEditsAndWrites) {
  good("write_file", R"({"path":"a.txt","content":"one"})");
  good("edit_file", edit("a.txt", "one", "two"));
  good("edit_file", edit("a.txt", "two", "three"));
  EXPECT_EQ(folder_.get("a.txt"), "three");
}

TEST_F(Tools, EditFileForgetsWhatWasReadBeforeACompaction) {
  folder_.put("a.txt", "one");
  good("read_file", R"({"path":"a.txt"})");
  host_.after_compaction();
  EXPECT_TRUE(bad("edit_file", edit("a.txt", "one", "two")).starts_with("read the file first"));
}

TEST_F(Tools, EditFileSaysHowOftenTheTextIsThere) {
  folder_.put("a.txt", "x = 1\nx = 1\nx = 1\n");
  good("read_file", R"({"path":"a.txt"})");
  EXPECT_NE(bad("edit_file", edit("a.txt", "x = 1", "y")).find("is 3 times in a.txt"), std::string::npos);
  EXPECT_TRUE(good("edit_file", edit("a.txt", "x", "y", true)).starts_with("replaced 3 places"));
  EXPECT_EQ(folder_.get("a.txt"), "y = 1\ny = 1\ny = 1\n");
}

TEST_F(Tools, EditFileSaysThatTheTextIsNotThere) {
  folder_.put("a.txt", "    indented\n");
  good("read_file", R"({"path":"a.txt"})");
  EXPECT_NE(bad("edit_file", edit("a.txt", "absent", "y")).find("is not in a.txt: copy it exactly"), std::string::npos);
  EXPECT_NE(bad("edit_file", edit("a.txt", "\tindented", "y")).find("copy the indentation"), std::string::npos);
}

TEST_F(Tools, EditFileKeepsTheLineEndsOfTheFile) {
  folder_.put("dos.txt", "one\r\ntwo\r\nthree\r\n");
  good("read_file", R"({"path":"dos.txt"})");
  good("edit_file", edit("dos.txt", "one\ntwo\n", "1\n2\n"));
  EXPECT_EQ(folder_.get("dos.txt"), "1\r\n2\r\nthree\r\n");
}

TEST_F(Tools, EditFileInsertsWhatLooksLikeAPatternAsItIs) {
  folder_.put("a.txt", "value");
  good("read_file", R"({"path":"a.txt"})");
  good("edit_file", edit("a.txt", "value", "$1 \\0 & value"));
  EXPECT_EQ(folder_.get("a.txt"), "$1 \\0 & value");
}

// ---- files with secrets

// A key of many lines and a password, and what the tools show in their place.
class SecretFiles : public Tools {
 protected:
  void SetUp() override {
    Tools::SetUp();
    auto made = Secrets::make({}, [] { return Result<std::string>(std::string(32, 'k')); });
    ASSERT_TRUE(made);
    secrets_ = std::move(*made);
    services_.secrets = secrets_.get();
    folder_.put("app.conf", file("8080"));
  }
  std::string file(const std::string& port) const {
    return "port: " + port + "\nkey: |\n" + key_ + "\npassword: hunter2Zq9x\nlast: 1\n";
  }
  // The placeholder that the tools show for it.
  std::string mark_of(const std::string& rule) {
    const std::string text = good("read_file", R"({"path":"app.conf"})");
    const std::size_t at = text.find("[secret:" + rule + ":");
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? "" : text.substr(at, text.find(']', at) + 1 - at);
  }

  const std::string key_ = "-----BEGIN PRIVATE KEY-----\n" + Canaries(9).key_lines(12) + "-----END PRIVATE KEY-----";
  std::unique_ptr<Secrets> secrets_;
};

TEST_F(SecretFiles, AreShownWithPlaceholdersWhateverPartIsRead) {
  for (const char* const input : {R"({"path":"app.conf"})", R"({"path":"app.conf","offset":2,"limit":3})"}) {
    const std::string text = good("read_file", input);
    EXPECT_EQ(text.find(key_.substr(40, 20)), std::string::npos) << text;
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
    EXPECT_NE(text.find("[secret:private-key:"), std::string::npos) << text;
  }
}

// A line from the middle of a key says nothing of itself.
TEST_F(SecretFiles, ShowNoLineOfAKeyToGrep) {
  const std::string middle = key_.substr(key_.find('\n', 200) + 1, 64);
  const std::string input = R"({"output_mode":"content","context":2,"pattern":)";
  EXPECT_EQ(good("grep", input + quoted("\\Q" + middle.substr(0, 20) + "\\E") + "}"), "(no match)\n");
  const std::string around = good("grep", input + R"("password|port"})");
  EXPECT_NE(around.find("port: 8080"), std::string::npos) << around;
  EXPECT_NE(around.find("[secret:private-key:"), std::string::npos) << around;
  EXPECT_EQ(around.find(middle), std::string::npos) << around;
}

TEST_F(SecretFiles, KeepTheirBytesUnderWhatAnEditLeaves) {
  const std::string key = mark_of("private-key"), password = mark_of("generic-secret");
  const std::string shown = good("edit_file", edit("app.conf", "port: 8080", "port: 9090"));
  EXPECT_EQ(folder_.get("app.conf"), file("9090"));
  EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown;
  // Text that has placeholders itself, twice in a row.
  good("edit_file", edit("app.conf", key + "\npassword: " + password, key + "\nuser: me\npassword: " + password));
  good("edit_file", edit("app.conf", "user: me\n", ""));
  EXPECT_EQ(folder_.get("app.conf"), file("9090"));
  good("edit_file", edit("app.conf", "password: " + password + "\n", ""));
  EXPECT_EQ(folder_.get("app.conf").find("hunter2"), std::string::npos);
  EXPECT_NE(folder_.get("app.conf").find(key_), std::string::npos);
}

TEST_F(SecretFiles, AreNotChangedByAPlaceholderThatStandsForNothingInThem) {
  (void)mark_of("private-key");
  const std::string other = secrets_->pass(Canaries(10).make("ghp_{a36}").secret).text;
  EXPECT_TRUE(bad("edit_file", edit("app.conf", "last: 1", "last: " + other))
                  .starts_with("nothing was changed: each [secret:...] in new_string must be one that app.conf shows"));
  // A password is known by its name: without that it would be shown.
  const std::string password = mark_of("generic-secret");
  bad("edit_file", edit("app.conf", "password: " + password, "note " + password));
  EXPECT_EQ(folder_.get("app.conf"), file("8080"));
}

TEST_F(SecretFiles, ThatTheModelHasWrittenItselfAreWrittenAgain) {
  good("write_file", R"({"path":"own.conf","content":)" + quoted(file("1")) + "}");
  good("write_file", R"({"path":"own.conf","content":)" + quoted(file("2")) + "}");
  EXPECT_EQ(folder_.get("own.conf"), file("2"));
  good("edit_file", edit("own.conf", "port: 2", "port: 3"));
  EXPECT_EQ(folder_.get("own.conf"), file("3"));
  folder_.put("own.conf", file("4"));
  bad("write_file", R"({"path":"own.conf","content":"x"})");
  EXPECT_EQ(folder_.get("own.conf"), file("4"));
}

// ---- glob

TEST_F(Tools, GlobFindsFilesNewestFirst) {
  folder_.put("old.cc", "");
  folder_.put("src/new.cc", "");
  folder_.put("src/deep/middle.cc", "");
  folder_.put("src/other.h", "");
  set_time(folder_.path + "/old.cc", 1'000);
  set_time(folder_.path + "/src/deep/middle.cc", 2'000);
  set_time(folder_.path + "/src/new.cc", 3'000);
  EXPECT_EQ(good("glob", R"({"pattern":"**/*.cc"})"), "src/new.cc\nsrc/deep/middle.cc\nold.cc\n");
  EXPECT_EQ(good("glob", R"({"pattern":"*.cc"})"), "old.cc\n");
  EXPECT_EQ(good("glob", R"({"pattern":"src/*.{cc,h}","path":"."})").size(),
            std::string("src/new.cc\nsrc/other.h\n").size());
  EXPECT_EQ(good("glob", R"({"pattern":"*.h","path":"src"})"), "src/other.h\n");
  EXPECT_EQ(good("glob", R"({"pattern":"*.h","path":")" + folder_.path + R"(/src"})"), folder_.path + "/src/other.h\n");
  EXPECT_EQ(good("glob", R"({"pattern":"*.rs"})"), "(no file matches)\n");
}

TEST_F(Tools, GlobReturnsAHundredAndSaysThatThereAreMore) {
  for (int i = 0; i < 130; ++i) folder_.put("f" + std::to_string(i), "");
  const std::string text = good("glob", R"({"pattern":"f*"})");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 101);
  EXPECT_NE(text.find("[30 more files: narrow the pattern"), std::string::npos);
}

TEST_F(Tools, GlobLeavesOutWhatNobodyWantsToSee) {
  for (const char* name :
       {"keep.txt", ".git/x.txt", "node_modules/m/x.txt", "cmake-out/x.txt", "cmake-out/CMakeCache.txt",
        "target/CACHEDIR.TAG", "target/x.txt", "ignored/x.txt", "notes.log.txt", "sub/only.txt", "sub/kept.log.txt",
        ".hidden/x.txt", "sub/anchored.txt", "anchored.txt"})
    folder_.put(name, "needle");
  folder_.put(".gitignore", "# comment\nignored/\n*.log.txt\n/anchored.txt\n");
  folder_.put("sub/.gitignore", "only.txt\n!kept.log.txt\n");
  const std::string text = good("glob", R"({"pattern":"**/*.txt"})");
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::string>{".hidden/x.txt", "keep.txt", "sub/anchored.txt", "sub/kept.log.txt"}));
  EXPECT_EQ(good("glob", R"({"pattern":"*.txt","path":"cmake-out"})"), "cmake-out/CMakeCache.txt\ncmake-out/x.txt\n")
      << "a folder that is named is searched";
  EXPECT_EQ(good("glob", R"({"pattern":"*.txt","path":"sub"})").find("only"), std::string::npos);
}

TEST_F(Tools, GlobSaysWhatIsNoFolder) {
  folder_.put("a.txt", "");
  EXPECT_EQ(bad("glob", R"({"pattern":"*","path":"missing"})"), "missing does not exist");
  EXPECT_EQ(bad("glob", R"({"pattern":"*","path":"a.txt"})"), "a.txt is not a directory");
  EXPECT_NE(bad("glob", R"({"pattern":"*","path":".."})").find("outside"), std::string::npos);
}

TEST_F(Tools, GlobDoesNotFollowLinksInCircles) {
  folder_.put("a.txt", "");
  fs::create_directory_symlink(".", folder_.path + "/loop");
  EXPECT_EQ(good("glob", R"({"pattern":"**/*.txt"})"), "a.txt\n");
}

// ---- grep

TEST_F(Tools, GrepListsFilesNewestFirst) {
  folder_.put("a.txt", "needle\n");
  folder_.put("b/c.txt", "a needle here\n");
  folder_.put("d.txt", "nothing\n");
  set_time(folder_.path + "/a.txt", 1'000);
  EXPECT_EQ(good("grep", R"({"pattern":"needle"})"), "b/c.txt\na.txt\n");
  EXPECT_EQ(good("grep", R"({"pattern":"absent"})"), "(no match)\n");
}

TEST_F(Tools, GrepShowsLinesWithTheirContext) {
  folder_.put("a.txt", "1\nneedle 2\n3\n4\n5\n6\nneedle 7\n8 needle\n9\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"content"})"),
            "a.txt:2:needle 2\na.txt:7:needle 7\na.txt:8:8 needle\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"content","context":1})"),
            "a.txt-1-1\na.txt:2:needle 2\na.txt-3-3\n--\na.txt-6-6\na.txt:7:needle 7\na.txt:8:8 "
            "needle\na.txt-9-9\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"content","context":50})"),
            "a.txt-1-1\na.txt:2:needle 2\na.txt-3-3\na.txt-4-4\na.txt-5-5\na.txt-6-6\na.txt:7:needle 7\n"
            "a.txt:8:8 needle\na.txt-9-9\n");
}

TEST_F(Tools, GrepCountsLines) {
  folder_.put("a.txt", "x x x\ny\nx\n");
  folder_.put("b.txt", "y\n");
  EXPECT_EQ(good("grep", R"({"pattern":"x","output_mode":"count"})"), "a.txt:2\n");
}

TEST_F(Tools, GrepTakesAnExpressionLineByLine) {
  folder_.put("a.txt", "int main() {\n}\nINT x;\nlong int\n");
  EXPECT_EQ(good("grep", R"({"pattern":"^int","output_mode":"content"})"), "a.txt:1:int main() {\n");
  EXPECT_EQ(good("grep", R"({"pattern":"int$","output_mode":"content"})"), "a.txt:4:long int\n");
  EXPECT_EQ(good("grep", R"({"pattern":"^int","ignore_case":true,"output_mode":"count"})"), "a.txt:2\n");
  EXPECT_EQ(good("grep", R"({"pattern":"\\{\\s*\\}"})"), "(no match)\n")
      << "a match does not go over the end of its line";
  EXPECT_EQ(good("grep", R"({"pattern":"z*","output_mode":"count"})"), "a.txt:4\n") << "an empty match is one per line";
}

TEST_F(Tools, GrepIsNarrowedByPathAndGlob) {
  folder_.put("src/a.cc", "needle");
  folder_.put("src/a.h", "needle");
  folder_.put("b.cc", "needle");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","path":"src","glob":"*.cc"})"), "src/a.cc\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","glob":"src/*.h"})"), "src/a.h\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","path":"src/a.h","output_mode":"content"})"), "src/a.h:1:needle\n");
  EXPECT_EQ(bad("grep", R"({"pattern":"needle","path":"missing"})"), "missing does not exist");
}

TEST_F(Tools, GrepStopsAtItsLimit) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "needle\n";
  folder_.put("a.txt", text);
  const std::string got = good("grep", R"({"pattern":"needle","output_mode":"content","limit":3})");
  EXPECT_EQ(got,
            "a.txt:1:needle\na.txt:2:needle\na.txt:3:needle\n[there are more: stopped after 3 results: narrow the "
            "search or raise limit]\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"count","limit":1})"), "a.txt:50\n")
      << "all that there is";
  folder_.put("b.txt", "needle\n");
  EXPECT_TRUE(good("grep", R"({"pattern":"needle","output_mode":"count","limit":1})")
                  .starts_with("a.txt:50\n[there are more: stopped after 1 results"));
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"content","limit":51})").find("there are more"),
            std::string::npos);
}

TEST_F(Tools, GrepPassesOverBinaryAndHugeFiles) {
  folder_.put("binary", std::string("\0needle\n", 8));
  folder_.put("big.txt", "needle\n");
  fs::resize_file(folder_.path + "/big.txt", (16u << 20) + 1);
  EXPECT_EQ(good("grep", R"({"pattern":"needle"})"), "(no match)\n[1 file over 16 MiB not searched]\n");
}

TEST_F(Tools, GrepBoundsItsOutput) {
  std::string text;
  for (int i = 0; i < 3'000; ++i) text += "needle " + std::string(100, 'x') + "\n";
  folder_.put("a.txt", text);
  const std::string got = good("grep", R"({"pattern":"needle","output_mode":"content","limit":5000})");
  EXPECT_LT(got.size(), 31'000u);
  EXPECT_TRUE(got.starts_with("a.txt:1:"));
  EXPECT_NE(got.find("a.txt:3000:"), std::string::npos);
}

TEST_F(Tools, SearchesEndWhenTheyAreCancelled) {
  folder_.put("a.txt", "needle");
  host_.cancel_reason = AGENTD_CANCEL_USER;
  EXPECT_EQ(host_.invoke("grep", R"({"pattern":"needle"})").status, AGENTD_E_CANCELLED);
  EXPECT_EQ(host_.invoke("glob", R"({"pattern":"*"})").status, AGENTD_E_CANCELLED);
}

}  // namespace
}  // namespace agentd::testing
