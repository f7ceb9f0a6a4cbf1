// SPDX-License-Identifier: Apache-2.0
// bundled_isolation_test.cc - each bundled hook answers in a worker as it answers in the process: the same run
// twice, and everything that it leaves behind compared.
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/e2e/traces.h"

namespace agentd::testing {
namespace {

struct Traces {
  int code = -1;
  std::string out, log, view, file;
};

// One run with one bundled hook on, where `isolation` says.
Traces run_with(const std::string& hook, const std::string& isolation, const std::string& config,
                const std::string& script) {
  Program program;
  const std::string file = program.project() + "/left.jsonl";
  std::string settings = config;
  for (std::size_t at = settings.find("FILE"); at != std::string::npos; at = settings.find("FILE"))
    settings.replace(at, 4, file);
  // The hook redact has something to do, and placeholders of two homes differ.
  program.config("secrets: {scrub: false}\nhooks:\n  " + hook + ": {enabled: true, isolation: " + isolation + settings +
                 "}\n");
  const Finished ran =
      program.run({"run", "the key is sk-ant-api03-" + std::string(95, 'a') + "AA", "--allow", "*",
                   // Full enough at the end for a hook, and for nobody else.
                   "--set", "context_window=16000", "--disable-auto-compact", "--script", program.script(script)});
  Traces out;
  out.code = ran.code;
  out.out = ran.out;
  out.log = without_measures(without_chance(program.run({"conversation", "show", program.newest(), "--log"}).out));
  out.view = without_chance(program.run({"conversation", "show", program.newest()}).out);
  // "# · 2026-01-31 09:05 · 9 messages": the minute may have passed.
  constexpr std::string_view kBefore = "# \u00b7 ", kMinute = "2026-01-31 09:05";
  if (const std::size_t at = out.view.find(kBefore); at != std::string::npos)
    out.view.erase(at + kBefore.size(), kMinute.size());
  // The place differs from run to run.
  if (auto left = read_file(file, 1u << 20)) out.file = without_measures(without_chance(*left));
  for (std::string* text : {&out.log, &out.view, &out.file, &out.out}) *text = without_place(*text, program);
  return out;
}

constexpr const char* kScript =
    "- calls: [{name: bash, input: {command: \"echo AKIAIOSFODNN7EXAMPLQ; echo two; seq 1 6000\"}}]\n"
    "- calls: [{name: bash, input: {command: \"cat ~/.ssh/id_rsa\"}}, {name: write, input: {path: a.txt, content: "
    "hello}}]\n"
    "- calls: [{name: read, input: {path: a.txt}}]\n"
    "- text: all done\n"
    "- for: summary\n"
    "  text: \"The user asked for two commands and a file; all of it is done, and a.txt says hello.\"\n";

struct Bundled {
  const char* name;
  const char* config;
  const char* leaves;  // what the log shows when the hook has acted
};
void PrintTo(const Bundled& hook, std::ostream* out) { *out << hook.name; }

class BundledIsolation : public ::testing::TestWithParam<Bundled> {};

TEST_P(BundledIsolation, LeavesTheSameBehindInAWorker) {
  const Bundled& hook = GetParam();
  const Traces here = run_with(hook.name, "in-process", hook.config, kScript);
  const Traces there = run_with(hook.name, "process", hook.config, kScript);
  EXPECT_EQ(here.code, there.code);
  EXPECT_EQ(here.out, there.out);
  EXPECT_EQ(here.view, there.view);
  EXPECT_EQ(here.log, there.log);
  EXPECT_EQ(here.file, there.file);
  // The hook did something, or equal traces would say nothing.
  EXPECT_NE((here.log + here.file).find(hook.leaves), std::string::npos) << here.log;
}

INSTANTIATE_TEST_SUITE_P(
    Hooks, BundledIsolation,
    ::testing::Values(Bundled{"auto_compact", "", "boundary"},
                      Bundled{"audit_log", ", sandbox: off, config: {path: FILE}", "after_tool_call"},
                      Bundled{"guardrail", "", "requires a person's decision"}, Bundled{"redact", "", "[redacted:"},
                      Bundled{"workspace_tools", "", "hello"}),
    [](const auto& each) { return std::string(each.param.name); });

// The comparison sees a difference: the same hook with another configuration.
TEST(BundledIsolationControl, AnotherAnswerIsSeen) {
  const Traces on = run_with("redact", "in-process", "", kScript);
  const Traces off = run_with("redact", "in-process", ", config: {targets: [response]}", kScript);
  EXPECT_NE(on.log, off.log);
}

}  // namespace
}  // namespace agentd::testing
