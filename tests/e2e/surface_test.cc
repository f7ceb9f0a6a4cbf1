// SPDX-License-Identifier: Apache-2.0
// Version, plugins, doctor, help, and the program on a terminal.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

TEST(Surface, VersionIsOneLine) {
  Program program;
  const Finished ran = program.run({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "agentd " AGENTD_VERSION_TEXT "\n");
  EXPECT_EQ(ran.err, "");
}

TEST(Surface, PluginsTellsIdVersionAbiEventsAndVerdict) {
  Program program;
  program.drop_hook(AGENTD_REFUSE_HOOK);
  const Finished ran = program.run({"--plugins"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("refuse  test.refuse 1.2.3  abi 1."), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("events:"), std::string::npos);
  EXPECT_NE(ran.out.find("before_compaction"), std::string::npos);
  EXPECT_NE(ran.out.find("verdict: ok"), std::string::npos);
  EXPECT_NE(ran.out.find("workspace_tools"), std::string::npos);
}

TEST(Surface, PluginsRunsNoByteOfAPlugin) {
  Program program;
  program.drop_hook(AGENTD_NOISY_HOOK);
  const std::string mark = program.directory().file("noisy");
  program.set("NOISY_MARK=" + mark);
  const Finished ran = program.run({"--plugins=json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto list = JsonDocument::parse(ran.out);
  ASSERT_TRUE(list) << list.error().message;
  bool found = false;
  for (std::size_t i = 0; i < list->root().size(); ++i)
    found = found || list->root().at(i)["id"].string_or("") == "test.noisy";
  EXPECT_TRUE(found) << ran.out;
  struct stat info {};
  EXPECT_NE(::stat(mark.c_str(), &info), 0) << "a constructor ran";
  // The module does leave its mark when it is loaded, so that the test above can fail. A worker would not know
  // where: it has an environment of its own.
  program.config("hooks: {noisy: {isolation: in-process}}\n");
  program.run({"run", "x", "--script", program.script("- text: a\n")});
  EXPECT_EQ(::stat(mark.c_str(), &info), 0);
}

TEST(Surface, AFileOfGarbageInTheHooksDirectoryGetsAVerdictAndTheRunGoesOn) {
  Program program;
  ASSERT_TRUE(make_directories(program.home() + "/hooks"));
  ASSERT_TRUE(write_file_atomically(program.home() + "/hooks/junk.so", "no module", 0600));
  EXPECT_NE(program.run({"--plugins"}).out.find("junk"), std::string::npos);
  const Finished ran = program.run({"run", "x", "--script", program.script("- text: a\n")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("junk.so"), std::string::npos) << ran.err;
}

TEST(Surface, ADroppedHookReplacesTheBundledOneOfItsName) {
  Program program;
  program.config("hooks: {workspace_tools: {grant: [agentd.workspace/1, agentd.process/1]}}\n");
  program.drop_hook(AGENTD_BUNDLED_TOOLS);
  const Finished plugins = program.run({"--plugins"});
  EXPECT_NE(plugins.out.find("replaced by another hook of this name"), std::string::npos) << plugins.out;
  const Finished ran = program.run({"run", "--result-only", "x", "--script", program.script("- text: a\n")});
  EXPECT_EQ(ran.code, 0);
  // The first sight of its bytes is told, once.
  EXPECT_TRUE(ran.err.starts_with("warning: new hook workspace_tools (")) << ran.err;
  const Finished again = program.run({"run", "--result-only", "x", "--script", program.script("- text: a\n")});
  EXPECT_EQ(again.err, "");
}

TEST(Surface, TheFirstUseOfAHookSaysWhatItMayDo) {
  Program program;
  program.drop_hook(AGENTD_REFUSE_HOOK);
  const std::string hooks = program.home() + "/hooks/";
  ASSERT_TRUE(write_file_atomically(hooks + "quiet.yaml", "on: agent_stop\ndo: {system_message: hello}\n", 0600));
  ASSERT_TRUE(write_file_atomically(hooks + "gate.yaml", "on: before_tool_call\nguard: true\ncommand: cat\n", 0600));
  ASSERT_TRUE(write_file_atomically(hooks + "far.yaml",
                                    "on: [turn_start, turn_end]\nurl: \"http://127.0.0.1:9/secret\"\n", 0600));
  const Finished ran = program.run({"run", "x", "--no-tools", "--script", program.script("- text: a\n")});
  const auto said = [&](const std::string& name) {
    const std::size_t at = ran.err.find("warning: new hook " + name + " (");
    const std::size_t colon = ran.err.find(") runs ", at);
    return at == std::string::npos ? ran.err : ran.err.substr(colon + 2, ran.err.find('\n', at) - colon - 2);
  };
  EXPECT_EQ(said("refuse"),
            "runs from now on at user_message_send, before_compaction: native, in a process of its own "
            "in a sandbox");
  EXPECT_EQ(said("quiet"), "runs from now on at agent_stop: yaml, runs nothing");
  EXPECT_EQ(said("gate"),
            "runs from now on at before_tool_call: yaml, runs programs with your rights; it is a guard: if it fails, "
            "the event is blocked");
  EXPECT_EQ(said("far"), "runs from now on at turn_start, turn_end: webhook, sends its input to 127.0.0.1:9");
}

TEST(Surface, TheFirstUseOfAModuleNamesItsIsolationAndItsServices) {
  Program program;
  program.drop_hook(AGENTD_SERVICES_HOOK);
  const std::string script = program.script("- text: a\n");
  const Finished apart = program.run({"run", "x", "--script", script});
  EXPECT_TRUE(has(apart.err,
                  " runs from now on at before_tool_call, agent_stop, before_compaction and offers the tools probe, "
                  "later: native, in a process of its own in a sandbox that may use agentd.compactor, agentd.threads, "
                  "agentd.store"))
      << apart.err;
  program.run({"hooks", "untrust", "services"});
  program.config("hooks: {services: {isolation: in-process}}\n");
  const Finished within = program.run({"run", "x", "--script", script});
  EXPECT_TRUE(has(within.err, ": native, in agentd's own process with your rights")) << within.err;
}

TEST(Surface, AConfigurationThatCannotBeReadEndsEveryRunWithItsPlace) {
  Program program;
  const std::string file = program.home() + "/config.yaml";
  for (const auto& [text, told] :
       {std::pair<std::string, std::string>{"model: \"unterminated\n", ":1:8: the string that begins here has no"},
        {"effort: high\nmodel: \"a\xff\"\n", ":2:10: not valid UTF-8"},
        {"mcpServers: {x: {command: y}}\n", ":1:1: 'mcpServers' is how other agents name servers"}}) {
    program.config(text);
    for (const auto& words : {std::vector<std::string>{"run", "x", "--script", program.script("- text: a\n")},
                              std::vector<std::string>{"hooks", "list"}}) {
      const Finished ran = program.run(words);
      EXPECT_EQ(ran.code, 2) << text;
      EXPECT_TRUE(has(ran.err, file + told)) << ran.err;
      EXPECT_EQ(ran.out, "");
    }
  }
}

// What bash offers for the words, the last of which is being typed; `program` is the one that is asked.
std::string offered(Program& program, const std::string& words) {
  const std::string script = program.directory().file("agentd.bash"), tools = program.directory().file("bin");
  EXPECT_TRUE(make_directories(tools));
  EXPECT_TRUE(write_file_atomically(script, program.run({"completion", "bash"}).out, 0600));
  ::symlink(AGENTD_BINARY, (tools + "/agentd").c_str());
  const std::string command = "cd '" + program.project() + "'; AGENTD_HOME='" + program.home() + "' PATH='" + tools +
                              ":/usr/bin:/bin' bash --norc -c \"source '" + script + "'; COMP_WORDS=(" + words +
                              "); COMP_CWORD=\\$((\\${#COMP_WORDS[@]}-1)); _agentd; echo \\\"\\${COMPREPLY[*]}\\\"\"";
  std::string out;
  FILE* const pipe = ::popen(command.c_str(), "r");
  for (char part[256]; std::fgets(part, sizeof part, pipe) != nullptr;) out += part;
  ::pclose(pipe);
  return out;
}

TEST(Surface, CompletionsKnowConversationsRecipesModelsAndHooks) {
  Program program;
  ASSERT_EQ(program.run({"run", "a question", "--script", program.script("- text: a\n")}).code, 0);
  const std::string id = program.newest();
  EXPECT_EQ(offered(program, "agentd conversation show ''"), id + "\n");
  EXPECT_EQ(offered(program, "agentd run --resume " + id.substr(0, 5)), id + "\n");
  EXPECT_EQ(offered(program, "agentd run -r comp"), "compact compact-brief\n");
  EXPECT_EQ(offered(program, "agentd models claude-haiku-5-5"), "claude-haiku-5-5\n");
  EXPECT_EQ(offered(program, "agentd hooks test guard"), "guardrail\n");
  EXPECT_EQ(program.run({"completion", "conversations"}).out, id + "\ta question\n");
}

TEST(Surface, CompletionsOfferNoNameThatAShellWouldExpand) {
  Program program;
  ASSERT_TRUE(make_directories(program.home() + "/hooks"));
  for (const char* const name : {"plain", "$(touch mark)", "`touch mark`", "a b", "-x"})
    ASSERT_TRUE(write_file_atomically(program.home() + "/hooks/" + name + ".yaml",
                                      "on: agent_stop\ndo: {system_message: hello}\n", 0600));
  const std::string names = program.run({"completion", "hooks"}).out;
  EXPECT_TRUE(names.starts_with("plain\n")) << names;
  EXPECT_EQ(names.find_first_of("$` "), std::string::npos) << names;
  EXPECT_FALSE(has(names, "-x\n")) << names;
  EXPECT_TRUE(offered(program, "agentd hooks test p") == "plain\n");
  EXPECT_FALSE(exists(program.project() + "/mark"));
}

TEST(Surface, TheListOfHooksFitsAndJsonHasItAll) {
  Program program;
  const std::string list = program.run({"hooks", "list"}).out;
  EXPECT_TRUE(has(list, "audit_log")) << list;
  for (std::size_t at = 0, end = 0; (end = list.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(end - at, 122u) << list.substr(at, end - at);  // "…" is three bytes
  const std::string json = program.run({"hooks", "list", "--json"}).out;
  EXPECT_TRUE(has(json, "\"subagent_stop\",\"agent_error\",\"notification\"]")) << json;
}

TEST(Surface, ABundledHookRunsOnceItIsEnabled) {
  Program program;
  const std::string log = program.directory().file("audit.jsonl");
  const std::string script = program.script("- text: a\n");
  ASSERT_EQ(program.run({"run", "x", "--trace-hooks", "--script", script}).err.find("hook audit_log"),
            std::string::npos);
  program.config("hooks: {audit_log: {enabled: true, config: {path: " + log + "}}}\n");
  const Finished ran = program.run({"run", "x", "--trace-hooks", "--script", script});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("hook audit_log · session_start"), std::string::npos) << ran.err;
}

TEST(Surface, DoctorSaysWhatIsMissingAndNeverShowsTheKey) {
  Program program;
  const Finished without = program.run({"doctor"});
  EXPECT_EQ(without.code, 1);
  EXPECT_NE(without.out.find("ANTHROPIC_API_KEY is not set"), std::string::npos) << without.out;
  program.set("ANTHROPIC_API_KEY=sk-secret-456");
  const Finished with = program.run({"doctor"});
  EXPECT_EQ(with.code, 0) << with.out;
  EXPECT_NE(with.out.find("ANTHROPIC_API_KEY is set"), std::string::npos);
  EXPECT_EQ(with.out.find("sk-secret-456"), std::string::npos);
  EXPECT_NE(with.out.find("bubblewrap: "), std::string::npos);
}

TEST(Surface, ALogThatCannotBeWrittenIsToldOnceAndByDoctor) {
  Program program;
  program.set("ANTHROPIC_API_KEY=x");
  const std::string file = program.file("plain", "") + "/agentd.log";
  program.config("log: {file: " + file + "}\n");
  const std::string sentence = "logging is off: " + file +
                               " cannot be written (Not a directory); set log.file to "
                               "another path, or log.level to off";
  // A hook that fails is worth an entry.
  ASSERT_TRUE(make_directories(program.home() + "/hooks"));
  ASSERT_TRUE(write_file_atomically(program.home() + "/hooks/bad.yaml", "on: agent_stop\ncommand: \"exit 1\"\n", 0600));
  for (const auto& words : {std::vector<std::string>{"run", "x", "--script", program.script("- text: a\n")},
                            std::vector<std::string>{"doctor"}}) {
    const Finished ran = program.run(words);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    const std::string told = ran.out + ran.err;
    EXPECT_TRUE(has(told, sentence)) << told;
    EXPECT_EQ(told.find("logging is off"), told.rfind("logging is off")) << told;
  }
  program.config("log: {file: /dev/full}\n");
  const Finished full = program.run({"run", "x", "--script", program.script("- text: a\n")});
  EXPECT_EQ(full.code, 0) << full.err;
  EXPECT_TRUE(has(full.err, "warning: log entries are lost: ")) << full.err;
  program.config("log: {level: off}\n");
  EXPECT_TRUE(has(program.run({"doctor"}).out, "nothing is logged: log.level is off"));
}

TEST(Surface, WhatAHookWritesIsVisibleInTheLog) {
  Program program;
  ASSERT_TRUE(make_directories(program.home() + "/hooks"));
  ASSERT_TRUE(write_file_atomically(
      program.home() + "/hooks/bad.yaml",
      "on: agent_stop\ncommand: \"printf '\\\\302\\\\2332J \\\\342\\\\200\\\\256evil' >&2; exit 1\"\n", 0600));
  ASSERT_EQ(program.run({"run", "x", "--script", program.script("- text: a\n")}).code, 0);
  const std::string log = read_file(program.home() + "/agentd.log", 1u << 20).value_or("");
  EXPECT_TRUE(has(log, "\\x9b2J \\u{202e}evil")) << log;
  EXPECT_FALSE(has(log, "\xC2\x9B") || has(log, "\xE2\x80\xAE")) << log;
}

TEST(Surface, DoctorFindsAHooksDirectoryThatOthersMayWrite) {
  Program program;
  program.set("ANTHROPIC_API_KEY=x");
  ASSERT_TRUE(make_directories(program.home() + "/hooks"));
  ASSERT_EQ(::chmod((program.home() + "/hooks").c_str(), 0777), 0);
  const Finished ran = program.run({"doctor"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("chmod go-w"), std::string::npos) << ran.out;
}

TEST(Surface, AHooksDirectoryOfTheConfigurationThatDoesNotExistIsToldByItsKey) {
  Program program;
  program.set("ANTHROPIC_API_KEY=x");
  const std::string missing = program.directory().file("guards");
  program.config("hooks: {dirs: [" + missing + "]}\n");
  const std::string sentence = "config.yaml:1: hooks.dirs: " + missing + " does not exist, so none of its hooks run";
  const std::vector<std::string> run{"run", "x", "--script", program.script("- text: a\n")};
  for (const auto& words : {run, {"doctor"}, {"hooks", "list"}}) {
    const Finished told = program.run(words);
    EXPECT_EQ(told.code, 0) << told.err;
    const std::string text = told.out + told.err;
    EXPECT_NE(text.find(sentence), std::string::npos) << text;
    EXPECT_EQ(text.find(missing), text.rfind(missing)) << text;
  }
  ASSERT_TRUE(make_directories(missing));
  const Finished there = program.run(run);
  EXPECT_EQ(there.err.find("does not exist"), std::string::npos) << there.err;
  EXPECT_EQ(program.run({"doctor"}).out.find("hooks.dirs"), std::string::npos);
}

TEST(Surface, DoctorReportsAProblemOfTheConfigurationAndGoesOn) {
  Program program;
  program.config("modle: x\n");
  const Finished ran = program.run({"doctor"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("did you mean 'model'?"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("Sandbox"), std::string::npos);
}

// ---- on a terminal

TEST(Terminal, ChatTalksShowsTheGaugeAndEndsAtEndOfInput) {
  Program program;
  const Finished ran = program.on_terminal({"chat", "--script", program.script("- text: Good day.\n- text: Bye.\n")},
                                           {{" % > ", "hello\n"},
                                            {"Good day.", ""},
                                            {" % > ", "/status\n"},
                                            {"conversation ", ""},
                                            {" % > ", "bye\n"},
                                            {"Bye.", ""},
                                            {" % > ", "\x04"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST(Terminal, ChatKnowsItsCommands) {
  Program program;
  const Finished ran = program.on_terminal(
      {"chat", "--script", program.script("- text: one\n- text: two\n- {for: summary, text: in short}\n")},
      {{" % > ", "/hlep\n"},
       {"did you mean '/help'?", ""},
       {" % > ", "hello\n"},
       {"one", ""},
       {" % > ", "/compact heed the rest\n"},
       {"Reduced from 2 messages to 1", ""},
       {" % > ", "/clear\n"},
       {"Started a new conversation", ""},
       {" % > ", "/exit\n"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST(Chat, ACommandWithWordsThatItDoesNotTakeIsRefused) {
  Program program;
  for (const std::string command : {"/clear", "/exit", "/quit", "/undo", "/status", "/recipes"}) {
    const Finished ran = program.run({"chat", "--script", program.script("- text: one\n")}, command + " now\n");
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_EQ(ran.out, "") << command;
    EXPECT_EQ(ran.err, "agentd: " + command + " takes no words, so nothing was done: enter " + command + " alone\n");
  }
}

TEST(Chat, StatusHasTheModelAndCountsTheToolsBeforeTheFirstMessage) {
  Program program;
  const auto used = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"chat", "--script", program.script("- text: one\n")};
    words.insert(words.end(), more.begin(), more.end());
    const Finished ran = program.run(words, "/status\n");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(has(ran.out, "\nmodel ") && has(ran.out, " of scripted\n")) << ran.out;
    const std::size_t at = ran.out.find("context ");
    std::string number = at == std::string::npos ? "0" : ran.out.substr(at + 8, ran.out.find(' ', at + 8) - at - 8);
    std::erase(number, ',');
    return std::stoul(number);
  };
  const unsigned long bare = used({"--no-tools"}), whole = used({});
  EXPECT_GT(bare, 0u);
  EXPECT_GT(whole, bare + 500);
}

TEST(Terminal, ATwiceInterruptedPromptEndsTheChat) {
  Program program;
  const Finished ran = program.on_terminal({"chat", "--script", program.script("- text: one\n")},
                                           {{" % > ", "\x03"}, {" % > ", "\x03"}}, std::chrono::milliseconds(150));
  EXPECT_EQ(ran.code, 130) << ran.out;
}

TEST(Terminal, AToolIsAllowedOnceByY) {
  Program program;
  const Finished ran = program.on_terminal(
      {"run", "look", "--script",
       program.script("- calls: [{name: bash, input: {command: 'echo reached > made.txt'}}]\n- text: done\n")},
      {{"Allow?", "y\n"}, {"done", ""}});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("command: echo reached > made.txt"), std::string::npos) << ran.out;
  struct stat info {};
  EXPECT_EQ(::stat((program.project() + "/made.txt").c_str(), &info), 0);
}

TEST(Terminal, TheReasonOfANoReachesTheModel) {
  Program program;
  const Finished ran =
      program.on_terminal({"run", "look", "--script",
                           program.script("- calls: [{name: bash, input: {command: 'touch made.txt'}}]\n"
                                          "- text: understood\n  expect: {contains: use another directory}\n")},
                          {{"Allow?", "n use another directory\n"}, {"understood", ""}});
  EXPECT_EQ(ran.code, 0) << ran.out;
  struct stat info {};
  EXPECT_NE(::stat((program.project() + "/made.txt").c_str(), &info), 0);
}

TEST(Terminal, ACallThatTakesItsTimeShowsItAndAPipeDoesNot) {
  Program program;
  const std::vector<std::string> words{
      "run",  "look",     "--allow",
      "bash", "--script", program.script("- calls: [{name: bash, input: {command: 'sleep 2.5'}}]\n- text: done\n")};
  const Finished shown = program.on_terminal(words, {{"done", ""}});
  const std::size_t call = shown.out.find("sleep 2.5"), second = shown.out.find(" · 1 s");
  const std::size_t result = shown.out.find(" · ok");
  ASSERT_NE(call, std::string::npos) << shown.out;
  EXPECT_LT(call, second) << shown.out;
  EXPECT_LT(second, result) << shown.out;
  const Finished piped = program.run(words);
  EXPECT_TRUE(has(piped.err, "• bash sleep 2.5 · ok · ")) << piped.err;
  EXPECT_FALSE(has(piped.err, "\x1b")) << piped.err;
}

TEST(Terminal, ACallThatWasAllowedShowsItsTime) {
  Program program;
  const Finished ran =
      program.on_terminal({"run", "look", "--script",
                           program.script("- calls: [{name: bash, input: {command: 'sleep 2.5'}}]\n- text: done\n")},
                          {{"Allow?", "y\n"}, {"done", ""}});
  const std::size_t question = ran.out.find("Allow?"), second = ran.out.find("bash 1 s");
  ASSERT_NE(second, std::string::npos) << ran.out;
  EXPECT_LT(question, second) << ran.out;
}

TEST(Terminal, AlwaysAsksOnlyOnce) {
  Program program;
  const Finished ran = program.on_terminal(
      {"run", "look", "--script",
       program.script("- calls: [{name: bash, input: {command: 'echo 1'}}]\n"
                      "- calls: [{name: bash, input: {command: 'timeout 5 echo 1'}}]\n- text: done\n")},
      {{"Allow?", "a\n"}, {"done", ""}});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_EQ(ran.out.find("Allow?"), ran.out.rfind("Allow?"));
}

}  // namespace
}  // namespace agentd::testing
