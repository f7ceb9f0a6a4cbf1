// SPDX-License-Identifier: Apache-2.0
// services_isolation_test.cc - compactor, thread factory, store, tools, fields, tasks and log answer a hook in a
// worker as they answer it in the process, by the built program.
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/e2e/traces.h"

namespace agentd::testing {
namespace {

constexpr const char* kServicesScript =
    "- calls: [{name: later}]\n"
    "- calls: [{name: probe, input: {path: a b, list: [1, {x: \"\\u00e9\"}]}}]\n"
    "- calls: [{name: another}]\n"
    "- text: all done\n"
    "- {for: summary, text: \"Of its own: the user asked the hook to ask for everything.\"}\n"
    "- {for: summary, text: \"Of a range: the user asked the hook to ask for everything.\"}\n"
    "- {for: summary, text: \"Of the whole: the user asked the hook to ask for everything.\"}\n"
    "- {for: summary, text: \"On request: the user asked the hook to ask for everything.\"}\n"
    "- {for: thread, text: I am, usage: {input: 5, output: 1}, expect: {contains: From a task}}\n"
    "- {for: thread, text: two, usage: {input: 10, output: 1}, expect: {contains: [You are brief, one and one]}}\n"
    "- {for: thread, text: four, usage: {input: 20, output: 1}, expect: {contains: [one and one, two and two]}}\n"
    "- {for: thread, error: {kind: invalid_request, message: no}}\n";

struct Asked {
  int code = -1;
  std::string out, err, log, diagnostics;
};

Asked ask(const std::string& isolation, const std::string& config = "{who: me}") {
  Program program;
  program.drop_hook(AGENTD_SERVICES_HOOK);
  program.config("hooks:\n  services: {isolation: " + isolation + ", config: " + config + "}\nlog: {level: info}\n");
  Asked out;
  const Finished ran =
      program.run({"run", "ask for everything", "--allow", "*", "--script", program.script(kServicesScript)});
  out.code = ran.code;
  out.out = ran.out;
  out.err = ran.err;
  const Finished shown = program.run({"conversation", "show", program.newest(), "--log"});
  out.log = without_place(without_measures(without_chance(shown.out)), program);
  if (auto written = read_file(program.home() + "/agentd.log", 1u << 20)) out.diagnostics = *written;
  return out;
}

class Services : public ::testing::TestWithParam<const char*> {};

TEST_P(Services, AnswerAHookWhereverItRuns) {
  const Asked asked = ask(GetParam());
  EXPECT_EQ(asked.code, 0) << asked.err;
  for (const char* const line : {"argument: ok é not found",
                                 "input: ok the same",
                                 "reader: ok a b é",
                                 "config: ok {\\\"who\\\":\\\"me\\\"}",
                                 "get before: not found",
                                 "put: ok",
                                 "put again: conflict",
                                 "get: ok one its version",
                                 "get long: ok the same",
                                 "commit: ok",
                                 "commit none: conflict not found",
                                 "scan: ok b,long,",
                                 "get erased: not found",
                                 "conversations: ok 1",
                                 "conversations by title: ok 0",
                                 "changes: ok 1 ok 0",
                                 "view: ok 4 [ask for everything]",
                                 "log: ok 4 [ask for everything]",
                                 "count: ok 3",
                                 "prompt: ok with",
                                 "compact own: ok Of its own",
                                 "compact range: ok Of a range",
                                 "open: ok",
                                 "send: ok two",
                                 "send: ok four",
                                 "send that fails: input or output failed",
                                 "usage: ok 30 2",
                                 "send after close: not found",
                                 "poor send: too big",
                                 "add: ok",
                                 "add again: conflict",
                                 "remove: ok",
                                 "remove again: not found",
                                 "another was called",
                                 "put from a scope: ok",
                                 "get from a scope: ok done",
                                 "send from a task: ok I am",
                                 "field: ok probe not found",
                                 "json: ok has it",
                                 "On request: the user"})
    EXPECT_NE(asked.log.find(line), std::string::npos) << line << "\n" << asked.log;
  for (const char* const line : {"compact: ok Of the whole", "request: ok", "compact in compaction: busy"})
    EXPECT_NE(asked.err.find(line), std::string::npos) << line << "\n" << asked.err;
  for (const char* const line : {"services was created", "the probe has asked"})
    EXPECT_NE(asked.diagnostics.find(line), std::string::npos) << line << "\n" << asked.diagnostics;
}

INSTANTIATE_TEST_SUITE_P(Isolation, Services, ::testing::Values("in-process", "process", "process-per-conversation"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase(name, '-');
                           return name;
                         });

// Each thread has a budget of its own; all that one call of a plugin opens have one together.
TEST_P(Services, EndALoopOfThreadsAtTheBudgetOfTheCall) {
  Program program;
  program.drop_hook(AGENTD_SPENDER_HOOK);
  program.config("hooks:\n  spender: {isolation: " + std::string(GetParam()) +
                 "}\nbudget: {hook_call_tokens: 250000}\n");
  std::string script = "- text: done\n";
  for (int i = 0; i < 40; ++i) script += "- {for: thread, text: much, usage: {input: 90000, output: 10000}}\n";
  const Finished ran = program.run({"run", "spend", "--script", program.script(script)});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("test.spender has spent 300,000 of the 250,000 tokens that a plugin may spend in one call"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("budget.hook_call_tokens"), std::string::npos) << ran.err;
}

TEST(ServicesInAWorker, LeaveTheSameLogAsInTheProcess) {
  const Asked here = ask("in-process");
  EXPECT_EQ(here.log, ask("process").log);
  EXPECT_EQ(here.log, ask("process-per-conversation").log);
  // The comparison sees a difference.
  EXPECT_NE(here.log, ask("process", "{who: you}").log);
}

}  // namespace
}  // namespace agentd::testing
