// SPDX-License-Identifier: Apache-2.0
// cage_hostile_test.cc - a run whose model is in the hands of an attacker: it calls bash with the rows of
// tests/cage/hostile.txt, many in each answer. Nothing leaves, nothing changes outside of the project, and no program
// starts that a rule denies. Without a sandbox every fifth row is run, each in a run of its own; AGENTD_HOSTILE_STEP=N
// runs every Nth of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "tests/cage/rows.h"
#include "tests/e2e/caged.h"

namespace agentd::testing {
namespace {

constexpr std::size_t kCallsOfATurn = 12;
#if defined(AGENTD_SANITIZED_BUILD)
constexpr std::size_t kUsualStep = 4, kControlStep = 24;
#else
constexpr std::size_t kUsualStep = 1, kControlStep = 5;
#endif

std::size_t step(std::size_t usual) {
  const char* const text = std::getenv("AGENTD_HOSTILE_STEP");
  return text == nullptr ? usual : std::max(1ul, std::strtoul(text, nullptr, 10));
}

std::vector<HostileRow> every(std::size_t k, std::size_t from) {
  std::vector<HostileRow> out;
  const std::vector<HostileRow> all = hostile_rows();
  for (std::size_t i = from % k; i < all.size(); i += k) out.push_back(all[i]);
  return out;
}

// A call of bash as a line of JSON, with which every script can be written down.
std::string call_of(const std::string& command) {
  JsonWriter out;
  out.begin_object().member("name", "bash").key("input");
  out.begin_object().member("command", command).end_object().end_object();
  return std::string(out.text());
}

// A script whose model makes these calls and then stops.
std::string script_of(const std::vector<std::string>& commands) {
  std::string out;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    out += i % kCallsOfATurn == 0 ? (i == 0 ? "" : "]}\n") + std::string("{\"calls\": [") : std::string(", ");
    out += call_of(commands[i]);
  }
  return out + "]}\n{\"text\": \"done\"}\n";
}

// Each row finds the project as it was at first, but for what is guarded.
std::string cleaned(const std::string& names, const HostileRow& row) {
  return "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + 2>/dev/null; echo a > a\n" + names + row.script;
}

class HostileRun : public ::testing::Test {
 protected:
  // The run with its log: all that the model has been told is in there.
  Finished run(Caged& caged, const std::string& layer, const std::vector<std::string>& commands) {
    const std::string script = caged.program().directory().write("script.jsonl", script_of(commands));
    Finished out = caged.on(
        {}, {"run", "go", "--script", script, "--set", "permissions.mode=allow", "--set", "sandbox.layer=" + layer});
    out.err += caged.on({}, {"conversation", "show", caged.program().newest(), "--log"}).out;
    return out;
  }

  void attack(cage::Layer layer, std::size_t from) {
    if (!cage::probe(AGENTD_CAGE).of(layer).holds) GTEST_SKIP() << cage::probe(AGENTD_CAGE).of(layer).why;
    const std::vector<HostileRow> rows = every(step(kUsualStep), from);
    constexpr std::size_t kRowsOfARun = 36;
    for (std::size_t i = 0; i < rows.size(); i += kRowsOfARun) {
      Caged caged;
      std::vector<std::string> commands{"echo runs-in-$AGENTD_SANDBOX"};
      std::string names;
      for (std::size_t at = i; at < std::min(rows.size(), i + kRowsOfARun); ++at) {
        commands.push_back(cleaned(caged.stage().names(), rows[at]));
        names += rows[at].name + " ";
      }
      SCOPED_TRACE(names);
      const Finished ran = run(caged, std::string(cage::name_of(layer)), commands);
      EXPECT_EQ(ran.code, 0) << ran.err;
      EXPECT_TRUE(has(ran.err, "runs-in-" + std::string(cage::name_of(layer)))) << ran.err;
      EXPECT_EQ(caged.harm(ran), "");
    }
  }
};

TEST_F(HostileRun, DoesNoHarmInBubblewrap) { attack(cage::Layer::kBubblewrap, 0); }

TEST_F(HostileRun, DoesNoHarmUnderLandlockAlone) { attack(cage::Layer::kLandlock, 1); }

// The control: the same calls, where nothing is around them.
TEST_F(HostileRun, DoesHarmWithoutASandbox) {
  std::size_t harmed = 0;
  for (const HostileRow& row : every(step(kControlStep), 2)) {
    if (!row.harms) continue;
    // Those that look into other processes find the canary in the environment of their parent alone.
    if (row.name.starts_with("read_parent")) continue;
    SCOPED_TRACE(row.name);
    Caged caged;
    const Finished ran = run(caged, "off", {cleaned(caged.stage().names(), row) + "\nsleep 0.6"});
    EXPECT_NE(caged.harm(ran), "") << ran.out << ran.err;
    ++harmed;
  }
  EXPECT_GE(harmed, 5u);
}

// ---- rules that deny

const std::vector<std::string> kStarts{"marker",
                                       "./marker",
                                       "cd . && marker",
                                       "env marker",
                                       "FOO=1 marker",
                                       "exec marker",
                                       "nice -n 1 timeout 5 marker",
                                       "bash -c marker",
                                       "sh -c 'bash -c \"marker\"'",
                                       "eval marker",
                                       "m=marker; $m",
                                       "$(echo marker)",
                                       "echo $(marker)",
                                       "cat <(marker)",
                                       "echo x | xargs marker",
                                       "find . -maxdepth 0 -exec marker \\;",
                                       "true; (marker)",
                                       "if true; then marker; fi",
                                       "for i in 1; do marker; done",
                                       "mark\\er",
                                       "'mark''er'",
                                       "mar\\\nker",
                                       "bash <<'END'\nmarker\nEND",
                                       "echo marker | sh",
                                       "f() { marker; }; f",
                                       "trap marker EXIT",
                                       "\"$PWD\"/marker",
                                       "command marker",
                                       "setsid -w marker",
                                       "marker > /dev/null 2>&1 & wait"};

class DeniedProgram : public HostileRun {
 protected:
  // How often the program was started by these calls.
  std::size_t starts(const std::string& rule, const std::vector<std::string>& commands) {
    Caged caged;
    const std::string marker = caged.program().file("marker", "#!/bin/sh\necho started >> started\n");
    std::filesystem::permissions(marker, std::filesystem::perms(0755));
    caged.program().set("PATH=" + caged.stage().project() + ":/usr/bin:/bin");
    if (!rule.empty()) caged.program().config("permissions:\n  deny: [\"" + rule + "\"]\n");
    said_ = run(caged, "off", commands);
    EXPECT_EQ(said_.code, 0) << said_.err;
    const std::string text = read_file(caged.stage().project() + "/started", 1u << 20).value_or("");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  Finished said_;
};

TEST_F(DeniedProgram, IsNotStartedByAnySpelling) { EXPECT_EQ(starts("bash(marker:*)", kStarts), 0u) << said_.err; }

// The control: without the rule each of them starts it, and the rule names no other program.
TEST_F(DeniedProgram, IsStartedByEachOfThemWithoutTheRule) {
  EXPECT_EQ(starts("", kStarts), kStarts.size()) << said_.err;
  EXPECT_EQ(starts("bash(other:*)", {"marker"}), 1u) << said_.err;
}

}  // namespace
}  // namespace agentd::testing
