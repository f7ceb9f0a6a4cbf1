// SPDX-License-Identifier: Apache-2.0
// `agentd hooks ...`: what there is, what may run, trying, importing and beginning hooks.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDeleteAll =
    R"({"event":"before_tool_call","tool":{"name":"bash","call_id":"c1","input":{"command":"rm -rf /"}}})";
constexpr const char* kListFiles =
    R"({"event":"before_tool_call","tool":{"name":"bash","call_id":"c1","input":{"command":"ls"}}})";

class Hooks : public ::testing::Test {
 protected:
  std::string user(const std::string& name) const { return program_.home() + "/hooks/" + name; }
  std::string project(const std::string& name) const { return program_.project() + "/.agent/hooks/" + name; }
  std::string mark() const { return program_.directory().file("mark"); }
  bool marked() const { return fs::exists(mark()); }

  static void put(const std::string& path, const std::string& text, unsigned mode = 0755) {
    ASSERT_TRUE(make_directories(fs::path(path).parent_path().string()));
    ASSERT_TRUE(write_file_atomically(path, text, mode));
  }
  // Leaves the mark when it is asked.
  std::string marker(const std::string& event, const std::string& answer = {}) const {
    return "#!/bin/sh\ncase $1 in hook) echo " + event + ";; run) cat >/dev/null; touch " + mark() + "\n" +
           (answer.empty() ? "" : "echo '" + answer + "'\n") + ";; esac\n";
  }
  Finished talk(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"run", "hello", "--script", program_.script("- text: a\n")});
    return program_.run(more);
  }
  // The line of `hooks list --json` with that name.
  JsonDocument line(const std::string& name) {
    const Finished list = program_.run({"hooks", "list", "--json"});
    EXPECT_EQ(list.code, 0) << list.err;
    for (JsonDocument& each : json_lines(list.out))
      if (each.root()["name"].string_or("") == name) return std::move(each);
    ADD_FAILURE() << name << " is not listed:\n" << list.out;
    return std::move(*JsonDocument::parse("{}"));
  }
  std::string state(const std::string& name) { return std::string(line(name).root()["state"].string_or("?")); }

  Program program_;
};

// ---- list

TEST_F(Hooks, ListShowsKindEventsTrustAndState) {
  put(user("greeter"), marker("user_message_send"));
  put(user("stop.yaml"), "on: agent_stop\nwhen: context.percent > 90\ndo: compact\npriority: 7\n", 0644);
  put(project("lint"), marker("turn_end"));
  const JsonDocument yaml = line("stop");
  EXPECT_EQ(yaml.root()["kind"].string_or(""), "yaml");
  EXPECT_EQ(yaml.root()["events"].at(0).string_or(""), "agent_stop");
  EXPECT_EQ(yaml.root()["priority"].int_or(0), 7);
  EXPECT_EQ(yaml.root()["source"].string_or(""), "user");
  EXPECT_EQ(yaml.root()["trust"].string_or(""), "new");
  EXPECT_EQ(yaml.root()["state"].string_or(""), "on");
  const JsonDocument waits = line("project/lint");
  EXPECT_EQ(waits.root()["kind"].string_or(""), "executable");
  EXPECT_EQ(waits.root()["state"].string_or(""), "waits");
  EXPECT_TRUE(has(std::string(waits.root()["why_not"].string_or("")), "agentd hooks trust project/lint"));
  const Finished text = program_.run({"hooks", "list"});
  EXPECT_TRUE(has(text.out, "NAME")) << text.out;
  EXPECT_TRUE(has(text.out, "workspace_tools")) << text.out;
  EXPECT_TRUE(has(text.out, "you have not trusted it yet")) << text.out;
}

TEST_F(Hooks, ListRunsAndRecordsNothing) {
  put(user("greeter"), "#!/bin/sh\ntouch " + mark() + "\necho user_message_send\n");
  EXPECT_EQ(state("greeter"), "on");
  program_.run({"--plugins"});
  EXPECT_FALSE(marked());
  // Doctor asks what a run would ask, and records nothing.
  program_.run({"doctor"});
  EXPECT_TRUE(marked());
  EXPECT_FALSE(fs::exists(program_.home() + "/trust.json"));
  fs::remove(mark());
  talk();  // this does both
  EXPECT_TRUE(marked());
  EXPECT_TRUE(fs::exists(program_.home() + "/trust.json"));
  EXPECT_EQ(line("greeter").root()["events"].at(0).string_or(""), "user_message_send");
}

TEST_F(Hooks, ListTellsWhatCannotBeUsed) {
  put(user("broken.yaml"), "on: agent_stp\ndo: compact\n", 0644);
  put(user("open"), marker("turn_end"));
  ASSERT_EQ(::chmod(user("open").c_str(), 0777), 0);
  EXPECT_EQ(state("broken"), "broken");
  const JsonDocument open = line("open");
  EXPECT_EQ(open.root()["state"].string_or(""), "broken");
  EXPECT_TRUE(has(std::string(open.root()["why_not"].string_or("")), "chmod go-w"));
}

TEST_F(Hooks, AHookThatTheConfigurationSwitchesOffIsListedAsOff) {
  put(user("a.yaml"), "on: agent_stop\ndo: none\n", 0644);
  put(user("b.yaml"), "on: agent_stop\ndo: none\n", 0644);
  program_.config("hooks: {a: {enabled: false}, disable: [b]}\n");
  EXPECT_EQ(state("a"), "off");
  EXPECT_EQ(state("b"), "off");
}

// ---- trust

TEST_F(Hooks, AProjectsHookRunsOnlyAfterItWasTrusted) {
  put(project("greeter"), marker("user_message_send"));
  const Finished before = talk();
  EXPECT_EQ(before.code, 0) << before.err;
  EXPECT_FALSE(marked());
  EXPECT_TRUE(has(before.err, "agentd hooks trust project/greeter")) << before.err;
  const Finished trust = program_.run({"hooks", "trust", "project/greeter", "--yes"});
  ASSERT_EQ(trust.code, 0) << trust.err;
  EXPECT_TRUE(has(trust.out, "sha256:")) << trust.out;
  EXPECT_TRUE(has(trust.out, "trusted project/greeter, called at user_message_send"));
  EXPECT_EQ(talk().code, 0);
  EXPECT_TRUE(marked());
}

TEST_F(Hooks, OfAProjectsUntrustedYamlNothingIsParsed) {
  put(project("x.yaml"), "on: [nonsense\n", 0644);
  const JsonDocument waits = line("project/x");
  EXPECT_EQ(waits.root()["state"].string_or(""), "waits");
  EXPECT_FALSE(has(std::string(waits.root()["why_not"].string_or("")), ":1:"));
  // Who is asked to trust it is told.
  const Finished trust = program_.run({"hooks", "trust", "project/x", "--yes"});
  EXPECT_EQ(trust.code, 1);
  EXPECT_TRUE(has(trust.err, "x.yaml:")) << trust.err;
}

TEST_F(Hooks, TrustIsForBytesAndAChangeWaitsAgain) {
  put(user("greeter"), marker("user_message_send"));
  talk();
  ASSERT_TRUE(marked());
  EXPECT_EQ(line("greeter").root()["trust"].string_or(""), "trusted");
  fs::remove(mark());
  put(user("greeter"), marker("user_message_send") + "# changed\n");
  const Finished changed = talk();
  EXPECT_FALSE(marked());
  EXPECT_TRUE(
      has(changed.err, " does not run, since its bytes changed after it was trusted; 'agentd hooks trust greeter' "))
      << changed.err;
  EXPECT_EQ(line("greeter").root()["trust"].string_or(""), "changed");
  const Finished trust = program_.run({"hooks", "trust", "greeter", "--yes"});
  EXPECT_EQ(trust.code, 0) << trust.err;
  EXPECT_TRUE(has(trust.out, "before:")) << trust.out;
  talk();
  EXPECT_TRUE(marked());
}

TEST_F(Hooks, ForAuthorsAChangeRunsAtOnce) {
  put(user("greeter"), marker("user_message_send"));
  talk();
  put(user("greeter"), marker("user_message_send") + "# changed\n");
  program_.config("hooks: {dev: true}\n");
  fs::remove(mark());
  talk();
  EXPECT_TRUE(marked());
}

TEST_F(Hooks, TrustAsksOnATerminal) {
  put(project("greeter"), marker("user_message_send"));
  const Finished no = program_.on_terminal({"hooks", "trust", "project/greeter"}, {{"Trust it? [y/N] ", "n\n"}});
  EXPECT_EQ(no.code, 1);
  EXPECT_TRUE(has(no.out, "was not trusted")) << no.out;
  EXPECT_EQ(state("project/greeter"), "waits");
  EXPECT_FALSE(marked());
  const Finished yes = program_.on_terminal({"hooks", "trust", "--all"}, {{"Trust it? [y/N] ", "y\n"}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_EQ(state("project/greeter"), "on");
}

TEST_F(Hooks, TrustWithoutAnybodyToAskWantsAYes) {
  put(project("greeter"), marker("user_message_send"));
  const Finished ran = program_.run({"hooks", "trust", "project/greeter"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(has(ran.err, "--yes")) << ran.err;
  EXPECT_EQ(program_.run({"hooks", "trust"}).code, 2);
  EXPECT_EQ(program_.run({"hooks", "trust", "--all", "x"}).code, 2);
}

TEST_F(Hooks, TrustOfAnUnknownNameNamesTheNearest) {
  put(user("greeter"), marker("user_message_send"));
  const Finished ran = program_.run({"hooks", "trust", "greter", "--yes"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_TRUE(has(ran.err, "did you mean 'greeter'?")) << ran.err;
}

TEST_F(Hooks, AProjectsHookIsSuggestedByItsOwnName) {
  put(project("lint"), marker("turn_end"));
  const Finished ran = program_.run({"hooks", "trust", "lint", "--yes"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_TRUE(has(ran.err, "did you mean 'project/lint'?")) << ran.err;
}

TEST_F(Hooks, SettingsThatAreUsedInPlaceAreListedAndTrustedByTheirPath) {
  const auto settings = [](const std::string& command) {
    return R"({"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":")" + command + R"("}]}]}})";
  };
  const std::string file = program_.directory().file("settings.json");
  const auto write = [&](const std::string& command) {
    ASSERT_TRUE(write_file_atomically(file, settings(command), 0600));
  };
  write("true");
  program_.config("hooks: {adapt: [\"claude:" + file + "\"]}\n");
  talk();
  const auto listed = [&] {
    for (JsonDocument& each : json_lines(program_.run({"hooks", "list", "--json"}).out))
      if (each.root()["path"].string_or("") == file)
        return std::string(each.root()["kind"].string_or("")) + " " + std::string(each.root()["trust"].string_or("")) +
               " " + std::string(each.root()["state"].string_or(""));
    return std::string("nothing");
  };
  EXPECT_EQ(listed(), "claude trusted on");
  write("false");
  EXPECT_EQ(listed(), "claude changed waits");
  const Finished trust = program_.run({"hooks", "trust", file, "--yes"});
  EXPECT_EQ(trust.code, 0) << trust.err;
  EXPECT_TRUE(has(trust.out, "/bash -c false")) << trust.out;
  EXPECT_EQ(listed(), "claude trusted on");
}

TEST_F(Hooks, TrustTakesPathsAndSaysWhatRuns) {
  put(project("x.yaml"), "on: before_tool_call\ncommand: ./check.sh --strict\n", 0644);
  const Finished ran = program_.run({"hooks", "trust", ".agent/hooks/x.yaml", "--yes"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "/bin/sh -c ./check.sh --strict")) << ran.out;
  EXPECT_TRUE(has(ran.out, "before_tool_call")) << ran.out;
}

TEST_F(Hooks, AProgramThatIsNoHookIsNotTrusted) {
  put(project("noise"), "#!/bin/sh\necho hello world\n");
  const Finished ran = program_.run({"hooks", "trust", "project/noise", "--yes"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(has(ran.err, "is not a hook")) << ran.err;
  EXPECT_EQ(state("project/noise"), "waits");
}

TEST_F(Hooks, UntrustForgets) {
  put(project("greeter"), marker("user_message_send"));
  program_.run({"hooks", "trust", "project/greeter", "--yes"});
  ASSERT_EQ(state("project/greeter"), "on");
  const Finished gone = program_.run({"hooks", "untrust", "project/greeter"});
  EXPECT_EQ(gone.code, 0) << gone.err;
  EXPECT_EQ(state("project/greeter"), "waits");
  const Finished again = program_.run({"hooks", "untrust", "project/greeter"});
  EXPECT_EQ(again.code, 4);
  EXPECT_TRUE(has(again.err, "nothing is trusted yet")) << again.err;
}

// The record of a bundled guard that one trial enabled is all that later runs miss.
TEST_F(Hooks, UntrustEndsTheWarningOfABundledGuardThatNothingEnables) {
  ASSERT_EQ(talk({"--set", "hooks.guardrail.enabled=true"}).code, 0);
  const Finished missed = talk();
  EXPECT_TRUE(has(missed.err,
                  "the guard guardrail is off, since nothing enables it, and no other guard replaces it; enable it, or "
                  "forget it with 'agentd hooks untrust guardrail'"))
      << missed.err;
  const Finished gone = program_.on_terminal({"hooks", "untrust", "guardrail"}, {});
  EXPECT_EQ(gone.code, 0) << gone.out;
  EXPECT_TRUE(has(gone.out, "guardrail comes with agentd or the system")) << gone.out;
  EXPECT_FALSE(has(gone.out, "your own hooks directory")) << gone.out;
  EXPECT_FALSE(has(talk().err, "guardrail"));
}

TEST_F(Hooks, TrustNamesTheProjectByItsDirectory) {
  put(project("greeter"), marker("user_message_send"));
  const Finished trust = program_.run({"hooks", "trust", "project/greeter", "--yes"});
  EXPECT_TRUE(has(trust.out, "  project: " + program_.project() + "\n")) << trust.out;
}

TEST_F(Hooks, AFileWithoutAHookThatAgentdCanRunIsSaidToHaveNone) {
  const std::string file = program_.directory().file("settings.json");
  put(file, R"({"hooks":{"Nonsense":[{"hooks":[{"type":"command","command":"true"}]}]}})", 0600);
  program_.config("hooks: {adapt: [\"claude:" + file + "\"]}\n");
  const Finished ran = talk();
  EXPECT_TRUE(has(ran.err, ") has no hook that agentd can run")) << ran.err;
  EXPECT_FALSE(has(ran.err, "runs from now on")) << ran.err;
}

TEST_F(Hooks, AnUnknownServiceInAGrantStopsTheRun) {
  program_.config("hooks:\n  workspace_tools:\n    grant: [agentd.workspace/1, stor]\n");
  program_.set("ANTHROPIC_API_KEY=x");
  const Finished ran = talk();
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_TRUE(has(ran.err,
                  "config.yaml:3: hooks.workspace_tools.grant: no service is called 'stor': did you mean "
                  "'store'? The names are compactor, thread_factory, store, "))
      << ran.err;
  EXPECT_EQ(talk({"--no-hooks"}).code, 2);
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "no service is called 'stor'"));
  program_.config("hooks: {workspace_tools: {grant: [agentd.workspace/1, agentd.process/1, threads, network]}}\n");
  EXPECT_EQ(talk().code, 0);
}

// As after `mkdir -p ~/.agent/hooks` with umask 002.
TEST_F(Hooks, AHomeThatOthersMayWriteIsToldOnceWithWhatItDenies) {
  put(user("greeter"), marker("user_message_send"));
  ASSERT_EQ(::chmod(program_.home().c_str(), 0775), 0);
  const std::string script = program_.script("- calls: [{name: bash, input: {command: \"true\"}}]\n- text: done\n");
  const Finished ran = program_.run({"run", "go", "--allow", "bash", "--script", script});
  const std::size_t told = ran.err.find("is group-writable");
  ASSERT_NE(told, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("is group-writable", told + 1), std::string::npos) << ran.err;
  EXPECT_TRUE(has(ran.err,
                  "warning: tool calls are denied, since a hook that may be a guard was not loaded because of the line "
                  "above; do what that line says, and start agentd again"))
      << ran.err;
  EXPECT_TRUE(has(ran.err, "a hook that may be a guard was not loaded; do what the warning at agentd's start says"))
      << ran.err;
  EXPECT_FALSE(has(ran.err, "the guard 'trust'")) << ran.err;
  EXPECT_FALSE(marked());
}

TEST_F(Hooks, ATrustStoreOfGarbageIsToldAndNoHookOfTheUserRuns) {
  put(user("greeter"), marker("user_message_send"));
  put(program_.home() + "/trust.json", "garbage", 0600);
  program_.set("ANTHROPIC_API_KEY=x");
  const Finished doctor = program_.run({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_TRUE(has(doctor.out, "trust.json is not a trust store")) << doctor.out;
  const Finished ran = talk();
  EXPECT_FALSE(marked());
  EXPECT_TRUE(has(ran.err, "trust.json")) << ran.err;
}

// ---- guards

TEST_F(Hooks, AGuardThatIsMissingMakesTheDoctorLoud) {
  program_.set("ANTHROPIC_API_KEY=x");
  ASSERT_EQ(program_.run({"doctor"}).code, 0);
  program_.config("hooks: {guards: [watchman]}\n");
  const Finished doctor = program_.run({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_TRUE(has(doctor.out, "guard watchman")) << doctor.out;
  EXPECT_EQ(state("watchman"), "missing");
}

TEST_F(Hooks, AGuardThatWasThereIsMissedUntilItIsUntrusted) {
  program_.set("ANTHROPIC_API_KEY=x");
  put(user("watch.yaml"), "on: before_tool_call\nguard: true\nmatcher: nothing\ndo: block\n", 0644);
  talk();
  fs::remove(user("watch.yaml"));
  EXPECT_EQ(program_.run({"doctor"}).code, 1);
  const JsonDocument missing = line("watch");
  EXPECT_EQ(missing.root()["state"].string_or(""), "missing");
  EXPECT_TRUE(missing.root()["blocks"].bool_or(false));
  EXPECT_EQ(missing.root()["events"].at(0).string_or(""), "before_tool_call");
  EXPECT_EQ(program_.run({"hooks", "untrust", "watch"}).code, 0);
  EXPECT_EQ(program_.run({"doctor"}).code, 0);
}

TEST_F(Hooks, TheDoctorWarnsOfHooksThatWait) {
  program_.set("ANTHROPIC_API_KEY=x");
  put(project("lint"), marker("turn_end"));
  const Finished doctor = program_.run({"doctor"});
  EXPECT_EQ(doctor.code, 0);  // nothing that is needed is broken
  EXPECT_TRUE(has(doctor.out, "warn    project/lint: you have not trusted it yet")) << doctor.out;
}

// ---- contract

TEST_F(Hooks, ContractPrintsAllEventsOrOne) {
  const Finished all = program_.run({"hooks", "contract"});
  EXPECT_EQ(all.code, 0);
  EXPECT_TRUE(has(all.out, "before_tool_call") && has(all.out, "session_end")) << all.out;
  const Finished one = program_.run({"hooks", "contract", "before_tool_call", "--json"});
  EXPECT_EQ(one.code, 0);
  EXPECT_TRUE(JsonDocument::parse(one.out)) << one.out;
  const Finished unknown = program_.run({"hooks", "contract", "before_tol_call"});
  EXPECT_EQ(unknown.code, 4);
  EXPECT_TRUE(has(unknown.err, "did you mean 'before_tool_call'?")) << unknown.err;
}

// ---- test and run

TEST_F(Hooks, TestShowsWhatWentInWhatCameOutAndTheVerdict) {
  put(user("guard"), marker("before_tool_call", R"({"action":"block","reason":"not here"})"));
  const Finished ran = program_.run({"hooks", "test", "guard", "--payload", "-"}, kListFiles);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "guard · before_tool_call · ")) << ran.out;
  EXPECT_TRUE(has(ran.out, "\"command\":\"ls\"")) << ran.out;
  EXPECT_TRUE(has(ran.out, "answer:  {\"action\":\"block\",\"reason\":\"not here\"}")) << ran.out;
  EXPECT_TRUE(has(ran.out, "verdict: block: not here")) << ran.out;
  EXPECT_TRUE(has(ran.out, "would be blocked: not here")) << ran.out;
  EXPECT_FALSE(fs::exists(program_.home() + "/trust.json"));
}

TEST_F(Hooks, TestTakesAMadeUpEventWhenNoneIsGiven) {
  put(user("guard"), marker("before_tool_call"));
  const Finished ran = program_.run({"hooks", "test", "guard"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(marked());
  EXPECT_TRUE(has(ran.out, "no answer")) << ran.out;
}

TEST_F(Hooks, TestSaysWhyAHookIsNotAsked) {
  put(user("guard.yaml"), "on: before_tool_call\nmatcher: write_file\ndo: block\n", 0644);
  const Finished ran = program_.run({"hooks", "test", "guard", "--payload", "-"}, kListFiles);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "skipped")) << ran.out;
  EXPECT_TRUE(has(ran.out, "its matcher 'write_file' does not match 'bash'")) << ran.out;
}

// As in a run: those behind a slow one have the same time.
TEST_F(Hooks, ReplayGivesEachHookItsWholeTime) {
  const std::string slow = "#!/bin/sh\nif [ \"$1\" = hook ]; then echo before_tool_call; exit; fi\nsleep 0.7\n";
  for (const char* const name : {"slow_a", "slow_b"}) put(user(name), slow);
  program_.config("hooks:\n  deadline_ms: 1000\n");
  const std::string script = program_.script("- calls: [{name: bash, input: {command: \"echo one\"}}]\n- text: done\n");
  ASSERT_EQ(program_.run({"run", "go", "--allow", "bash", "--script", script}).code, 0);
  const Finished replay = program_.run({"hooks", "replay", "--event", "before_tool_call"});
  EXPECT_EQ(replay.code, 0) << replay.err;
  EXPECT_TRUE(has(replay.out, "failed at 0")) << replay.out;
}

TEST_F(Hooks, ReplayCountsEachEventThatAnAnswerWouldChange) {
  const std::string script = program_.script("- text: done\n");
  ASSERT_EQ(program_.run({"run", "go", "--script", script}).code, 0);
  put(user("stamp"), marker("user_message_send", R"({"additional_context":"x"})"));
  const Finished replay = program_.run({"hooks", "replay"});
  EXPECT_TRUE(has(replay.out, "would be applied")) << replay.out;
  EXPECT_TRUE(has(replay.out, "blocked 0 of 1 events, changed 1 and failed at 0")) << replay.out;
}

TEST_F(Hooks, TestPrintsJsonLines) {
  put(user("guard"), marker("before_tool_call", R"({"action":"block","reason":"r"})"));
  const Finished ran = program_.run({"hooks", "test", "guard", "--payload", "-", "--json"}, kListFiles);
  const auto lines = json_lines(ran.out);
  ASSERT_EQ(lines.size(), 2u) << ran.out;
  EXPECT_EQ(lines[0].root()["hook"].string_or(""), "guard");
  EXPECT_EQ(lines[0].root()["verdict"].at(0)["action"].string_or(""), "block");
  EXPECT_TRUE(lines[1].root()["outcome"]["blocked"].bool_or(false));
}

TEST_F(Hooks, TestRunsNoOtherHook) {
  put(user("other"), marker("before_tool_call"));
  put(user("guard.yaml"), "on: before_tool_call\ndo: block\n", 0644);
  const Finished ran = program_.run({"hooks", "test", "guard", "--payload", "-"}, kListFiles);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(marked());
  EXPECT_FALSE(has(ran.out, "other")) << ran.out;
}

TEST_F(Hooks, TestDoesNotRunWhatWaitsForTrust) {
  put(project("guard"), marker("before_tool_call"));
  for (const char* name : {"project/guard", ".agent/hooks/guard"}) {
    const Finished ran = program_.run({"hooks", "test", name});
    EXPECT_EQ(ran.code, 1);
    EXPECT_TRUE(has(ran.err, "you have not trusted it yet")) << ran.err;
  }
  EXPECT_FALSE(marked());
}

TEST_F(Hooks, TestRefusesWhatItCannotAsk) {
  put(user("guard"), marker("before_tool_call"));
  const Finished other = program_.run({"hooks", "test", "guard", "--event", "agent_stop"});
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(has(other.err, "it subscribes to before_tool_call")) << other.err;
  EXPECT_EQ(program_.run({"hooks", "test", "guard", "--event", "nonsense"}).code, 2);
  EXPECT_EQ(program_.run({"hooks", "test", "guard", "--payload", "-"}, "{\"event\":").code, 2);
  EXPECT_EQ(program_.run({"hooks", "test", "guard", "--payload", "none.json"}).code, 4);
  EXPECT_EQ(program_.run({"hooks", "test", "gard"}).code, 4);
}

TEST_F(Hooks, TestShowsAFailureAndFailsItself) {
  put(user("guard"),
      "#!/bin/sh\n[ $1 = hook ] && echo before_tool_call && exit 0\n"
      "echo oops >&2; exit 9\n");
  const Finished ran = program_.run({"hooks", "test", "guard", "--payload", "-"}, kListFiles);
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(has(ran.out, "exit code 9")) << ran.out;
  EXPECT_TRUE(has(ran.out, "oops")) << ran.out;
}

TEST_F(Hooks, RunExitsWithThreeWhenItBlocks) {
  put(user("guard.yaml"),
      "on: before_tool_call\nwhen: tool.input.command contains \"rm -rf\"\n"
      "do: {action: block, reason: no}\n",
      0644);
  EXPECT_EQ(program_.run({"hooks", "run", "guard", "--payload", "-"}, kListFiles).code, 0);
  const Finished ran = program_.run({"hooks", "run", "guard", "--payload", "-"}, kDeleteAll);
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_TRUE(has(ran.out, "blocked: no")) << ran.out;
}

TEST_F(Hooks, ANativeHookIsTestedToo) {
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const Finished ran = program_.run({"hooks", "test", "refuse", "--event", "before_compaction"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "would be blocked")) << ran.out;
}

// ---- import

constexpr const char* kClaude = R"({"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[
  {"type":"command","command":"touch MARK; echo no >&2; exit 2"}]}]}})";

std::string claude_settings(const std::string& mark) {
  std::string out(kClaude);
  return out.replace(out.find("MARK"), 4, mark);
}

TEST_F(Hooks, ImportWritesYamlThatRunsAtOnce) {
  const std::string file = program_.file("settings.json", claude_settings(mark()));
  const Finished imported = program_.run({"hooks", "import", file, "--dialect", "claude"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.out, "wrote 1 hook to " + user("claude.yaml"))) << imported.out;
  EXPECT_TRUE(has(imported.out, "touch ")) << imported.out;
  const Finished list = program_.run({"hooks", "list", "--json"});
  EXPECT_TRUE(has(list.out, "\"trust\":\"trusted\"") && has(list.out, "claude")) << list.out;
  const Finished tried = program_.run({"hooks", "run", user("claude.yaml"), "--payload", "-"}, kListFiles);
  EXPECT_EQ(tried.code, 3) << tried.out << tried.err;
  EXPECT_TRUE(marked());
  EXPECT_TRUE(has(tried.out, "\"tool_name\":\"Bash\"")) << tried.out;
}

// Elsewhere the scripts that they name by the project's directory are not there.
TEST_F(Hooks, ImportOfAProjectsSettingsStaysInTheProject) {
  fs::create_directories(program_.project() + "/.claude");
  const std::string file = program_.file(".claude/settings.json", claude_settings(mark()));
  const std::string written = program_.project() + "/.agent/hooks/claude.yaml";
  const std::vector<std::string> call{"run",
                                      "x",
                                      "--no-save",
                                      "--allow",
                                      "bash",
                                      "--script",
                                      program_.script("- calls: [{name: bash, input: {command: ls}}]\n- text: done\n")};
  const Finished imported = program_.run({"hooks", "import", file});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.out, "wrote 1 hook to " + written)) << imported.out;
  EXPECT_TRUE(has(imported.out, "They now run in " + program_.project())) << imported.out;
  EXPECT_FALSE(fs::exists(user("claude.yaml")));
  const Finished list = program_.run({"hooks", "list", "--json"});
  EXPECT_TRUE(has(list.out, "\"name\":\"project/claude.PreToolUse.1\"") && has(list.out, "\"trust\":\"trusted\""))
      << list.out;
  const Finished here = program_.run(call);
  EXPECT_EQ(here.code, 0) << here.err;
  EXPECT_TRUE(marked()) << here.err;
  fs::remove(mark());
  // From another directory it is that project's all the same, and it acts there alone.
  fs::remove(written);
  const std::string elsewhere = program_.directory().file("elsewhere");
  fs::create_directories(elsewhere);
  program_.set_project(elsewhere);
  EXPECT_EQ(program_.run({"hooks", "import", file}).code, 0);
  EXPECT_TRUE(fs::exists(written));
  EXPECT_EQ(program_.run(call).code, 0);
  EXPECT_FALSE(marked());
  // The user's own are everybody's, also when the home directory is a git work tree.
  fs::create_directories(program_.directory().file("home/.git"));
  program_.set("HOME=" + program_.home());
  const std::string own = program_.home() + "/.claude/settings.json";
  fs::create_directories(fs::path(own).parent_path());
  ASSERT_TRUE(write_file_atomically(own, claude_settings(mark()), 0600));
  const Finished users = program_.run({"hooks", "import", own});
  EXPECT_EQ(users.code, 0) << users.err;
  EXPECT_TRUE(fs::exists(user("claude.yaml"))) << users.out;
  EXPECT_EQ(program_.run(call).code, 0);
  EXPECT_TRUE(marked());
}

TEST_F(Hooks, ImportReplacesNothingUnlessForced) {
  const std::string file = program_.file("settings.json", claude_settings(mark()));
  put(user("claude.yaml"), "# mine\n", 0644);
  const Finished refused = program_.run({"hooks", "import", file, "--dialect", "claude"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(has(refused.err, "--force")) << refused.err;
  EXPECT_EQ(read_file(user("claude.yaml"), 100).value_or(""), "# mine\n");
  EXPECT_EQ(program_.run({"hooks", "import", file, "--dialect", "claude", "--force"}).code, 0);
}

TEST_F(Hooks, ImportsDryRunWritesNothing) {
  const std::string file = program_.file("settings.json", claude_settings(mark()));
  const Finished ran = program_.run({"hooks", "import", file, "--dialect", "claude", "--dry-run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "hooks:")) << ran.out;
  EXPECT_FALSE(fs::exists(program_.home() + "/hooks"));
  EXPECT_FALSE(fs::exists(program_.home() + "/trust.json"));
}

TEST_F(Hooks, ImportRefusesWhatItCannotRead) {
  EXPECT_EQ(program_.run({"hooks", "import", "none.json"}).code, 4);
  const std::string odd = program_.file("odd.txt", "hello");
  const Finished ran = program_.run({"hooks", "import", odd});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(has(ran.err, "--dialect")) << ran.err;
  EXPECT_EQ(program_.run({"hooks", "import", odd, "--dialect", "claude"}).code, 2);
  EXPECT_EQ(program_.run({"hooks", "import", odd, "--dialect", "word"}).code, 2);
}

// ---- new

// Refuses the one command and says nothing to the other.
void expect_guards(Program& program, const std::string& hook) {
  const Finished bad = program.run({"hooks", "test", hook, "--payload", "-"}, kDeleteAll);
  EXPECT_EQ(bad.code, 0) << bad.err;
  EXPECT_TRUE(has(bad.out, "would be blocked: not the root directory")) << bad.out << bad.err;
  const Finished good = program.run({"hooks", "test", hook, "--payload", "-"}, kListFiles);
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_TRUE(has(good.out, "nothing would change")) << good.out;
}

TEST_F(Hooks, NewScriptsWorkAsTheyAre) {
  for (const auto& [language, file] :
       {std::pair<std::string, std::string>{"bash", "one"}, {"python", "two"}, {"yaml", "three"}}) {
    const Finished made = program_.run({"hooks", "new", file, "--lang", language});
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string name = language == "yaml" ? file + ".yaml" : file;
    const std::string path = program_.project() + "/" + name;
    EXPECT_TRUE(has(made.out, "wrote " + path)) << made.out;
    EXPECT_TRUE(has(made.out, "agentd hooks test")) << made.out;
    EXPECT_EQ(::access(path.c_str(), X_OK) == 0, language != "yaml");
    expect_guards(program_, "./" + name);
  }
}

TEST_F(Hooks, NewScriptsWorkForEveryEvent) {
  const Finished contract = program_.run({"hooks", "contract", "--json"});
  const auto json = JsonDocument::parse(contract.out);
  ASSERT_TRUE(json);
  int events = 0;
  for (std::size_t i = 0; i < json->root()["events"].size(); ++i) {
    const JsonView each = json->root()["events"].at(i);
    const std::string event(each.is_string() ? each.string_or("") : each["event"].string_or(""));
    ASSERT_NE(event, "") << contract.out.substr(0, 400);
    ++events;
    for (const std::string language : {"bash", "python", "yaml"}) {
      const std::string name = language + "-" + event;
      const Finished made = program_.run({"hooks", "new", name, "--lang", language, "--event", event});
      ASSERT_EQ(made.code, 0) << made.err;
      const Finished tried = program_.run({"hooks", "test", name + (language == "yaml" ? ".yaml" : "")});
      EXPECT_EQ(tried.code, 0) << name << "\n" << tried.out << tried.err;
    }
  }
  EXPECT_GE(events, 20);
}

int shell(const std::string& command) {
  return std::system(("PATH=/usr/bin:/bin; (" + command + ") >/dev/null 2>&1").c_str());
}

TEST_F(Hooks, NewNativeHooksBuildWithWhatTheyBring) {
  for (const std::string language : {"c", "c++"}) {
    const std::string name = language == "c" ? "plain" : "classy";
    const Finished made = program_.run({"hooks", "new", name, "--lang", language});
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string directory = program_.project() + "/" + name;
    ASSERT_EQ(shell("cmake -S " + directory + " -B " + directory + "/build && cmake --build " + directory + "/build"),
              0)
        << directory;
    expect_guards(program_, name + "/build/" + name + ".so");
  }
}

// The commands that `hooks new` prints make a hook that runs, with an umask that lets the group write.
TEST_F(Hooks, NextStepsOfNewWorkWithAnyUmask) {
  program_.set_home(program_.directory().file("fresh"));
  for (const std::string language : {"bash", "yaml"}) {
    const Finished made = program_.run({"hooks", "new", language, "--lang", language});
    const std::size_t begin = made.out.find("  mkdir -p ");
    ASSERT_NE(begin, std::string::npos) << made.out;
    const std::string line = made.out.substr(begin, made.out.find('\n', begin) - begin);
    EXPECT_EQ(shell("umask 002 && cd " + program_.project() + " && " + line + "\n"), 0) << line;
    EXPECT_EQ(state(language), "on") << line;
  }
}

TEST_F(Hooks, NewCSourcesCompileForOtherEvents) {
  for (const std::string event : {"agent_stop", "session_start", "context_threshold"}) {
    const std::string c = "c_" + event, cpp = "cpp_" + event;
    ASSERT_EQ(program_.run({"hooks", "new", c, "--lang", "c", "--event", event}).code, 0);
    ASSERT_EQ(program_.run({"hooks", "new", cpp, "--lang", "c++", "--event", event}).code, 0);
    const std::string in = "cd " + program_.project() + " && ";
    EXPECT_EQ(shell(in + "cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I" + c + "/plugin-api/include " + c + "/" +
                    c + ".c"),
              0)
        << c;
    EXPECT_EQ(shell(in + "c++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I" + cpp + "/plugin-api/include -I" +
                    cpp + "/plugin-api/cpp " + cpp + "/" + cpp + ".cpp"),
              0)
        << cpp;
  }
}

TEST_F(Hooks, NewReplacesNothingAndWantsAName) {
  ASSERT_EQ(program_.run({"hooks", "new", "one", "--lang", "bash"}).code, 0);
  const Finished again = program_.run({"hooks", "new", "one", "--lang", "python"});
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(has(again.err, "already exists")) << again.err;
  EXPECT_EQ(program_.run({"hooks", "new", "../one", "--lang", "bash"}).code, 2);
  EXPECT_EQ(program_.run({"hooks", "new", "two"}).code, 2);
  EXPECT_EQ(program_.run({"hooks", "new", "two", "--lang", "cobol"}).code, 2);
  const Finished event = program_.run({"hooks", "new", "two", "--lang", "c", "--event", "agent_stp"});
  EXPECT_EQ(event.code, 2);
  EXPECT_TRUE(has(event.err, "did you mean 'agent_stop'?")) << event.err;
}

// ---- safe mode

TEST_F(Hooks, SafeModeLoadsNoHookAndSaysSo) {
  put(user("greeter"), marker("user_message_send"));
  const std::string audit = program_.directory().file("audit.jsonl");
  program_.config("hooks: {audit_log: {enabled: true, config: {path: " + audit + "}}}\n");
  const Finished safe = talk({"--safe-mode", "--trace-hooks"});
  EXPECT_EQ(safe.code, 0) << safe.err;
  EXPECT_FALSE(marked());
  EXPECT_FALSE(fs::exists(audit));
  EXPECT_FALSE(fs::exists(program_.home() + "/trust.json"));
  EXPECT_TRUE(has(safe.err, "safe mode is on: no hook, plugin, tool or project recipe is loaded")) << safe.err;
  EXPECT_FALSE(has(safe.err, "guards are off")) << safe.err;
  const Finished usual = talk();
  EXPECT_EQ(usual.code, 0) << usual.err;
  EXPECT_FALSE(has(usual.err, "safe mode")) << usual.err;
  EXPECT_TRUE(marked());
  EXPECT_TRUE(fs::exists(audit));
}

TEST_F(Hooks, WithoutHooksNoGuardIsMissedAndWhichAreOffIsTold) {
  program_.config("hooks: {guards: [watchman]}\n");
  EXPECT_TRUE(has(talk().err, "watchman"));
  const std::string off = "these guards are off, and nothing replaces them: watchman";
  for (const char* const option : {"--no-hooks", "--safe-mode"}) {
    EXPECT_TRUE(has(talk({option}).err, off)) << option;
    EXPECT_FALSE(has(talk({option}).err, "the guard 'watchman' blocks")) << option;
  }
}

TEST_F(Hooks, TrustUntrustImportAndNewSpeakJsonToo) {
  const std::string hooks = program_.home() + "/hooks";
  const Finished made = program_.run({"hooks", "new", "mine", "--lang", "bash", "--dir", hooks, "--json"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(has(made.out, "\"hook\":")) << made.out;
  const Finished trusted = program_.run({"hooks", "trust", hooks + "/mine", "--yes", "--json"});
  EXPECT_EQ(trusted.code, 0) << trusted.err;
  EXPECT_TRUE(trusted.out.starts_with("{\"trusted\":\"mine\"")) << trusted.out;
  const Finished forgot = program_.run({"hooks", "untrust", "mine", "--json"});
  EXPECT_TRUE(forgot.out.starts_with("{\"forgot\":\"mine\"")) << forgot.out << forgot.err;
  const std::string settings = program_.directory().file("settings.json");
  ASSERT_TRUE(write_file_atomically(
      settings,
      R"({"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"},{"type":"prompt","prompt":"?"}]}]}})",
      0600));
  const Finished imported = program_.run({"hooks", "import", settings, "--dialect", "claude", "--json"});
  EXPECT_EQ(imported.code, 0) << imported.err;
  const auto json = JsonDocument::parse(imported.out);
  ASSERT_TRUE(json) << imported.out;
  EXPECT_EQ(json->root()["hooks"].size(), 1u);
  EXPECT_EQ(json->root()["not_carried_over"].size(), 1u) << imported.out;
  // The name is the one that `hooks list` shows.
  const std::string name(json->root()["hooks"].at(0)["name"].string_or("?"));
  EXPECT_TRUE(has(program_.run({"hooks", "list", "--json"}).out, name)) << name;
}

}  // namespace
}  // namespace agentd::testing
