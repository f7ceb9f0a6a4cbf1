// SPDX-License-Identifier: Apache-2.0
// validate_test.cc - `agentd hooks validate` and `agentd hooks fuzz`: each broken module is told by its rule, and
// the good ones pass.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

const std::string kValidatedHooks = AGENTD_BROKEN_HOOKS;

// Rule to result of a --json run.
std::map<std::string, std::string> results(const Finished& ran) {
  std::map<std::string, std::string> out;
  for (const JsonDocument& line : json_lines(ran.out))
    out[std::string(line.root()["rule"].string_or(""))] = line.root()["result"].string_or("");
  return out;
}

std::string broken_rules(const Finished& ran) {
  std::string out;
  for (const auto& [rule, result] : results(ran))
    if (result == "fail" || result == "warn") out += (out.empty() ? "" : " ") + rule;
  return out;
}

struct Breaks {
  const char* module;
  const char* rule;
  const char* result = "fail";
};
void PrintTo(const Breaks& breaks, std::ostream* out) { *out << breaks.module; }

class BrokenRule : public ::testing::TestWithParam<Breaks> {};

// A sanitizer's heap tells nobody how full it is.
#if defined(AGENTD_SANITIZED_BUILD)
constexpr bool kHeapIsMeasured = false;
#else
constexpr bool kHeapIsMeasured = true;
#endif

TEST_P(BrokenRule, IsNamed) {
  const std::string rule = GetParam().rule;
  if (!kHeapIsMeasured && (rule == "A501" || rule == "A502")) return;
  Program program;
  const std::string number = GetParam().rule;
  const Finished ran = program.run({"hooks", "validate", kValidatedHooks + "/" + GetParam().module + ".so", "--rule",
                                    number, "--json", "--isolation", "in-process"});
  EXPECT_EQ(ran.code, std::string(GetParam().result) == "fail" ? 1 : 0) << ran.out << ran.err;
  EXPECT_EQ(results(ran)[number], GetParam().result) << ran.out;
}

INSTANTIATE_TEST_SUITE_P(
    Modules, BrokenRule,
    ::testing::Values(
        Breaks{"missing_symbol", "A102"}, Breaks{"breaks_102", "A102", "warn"}, Breaks{"undefined_symbol", "A201"},
        Breaks{"undefined_symbol", "A103"}, Breaks{"no_manifest", "A104"}, Breaks{"bad_manifest", "A104"},
        Breaks{"newer_abi", "A105"}, Breaks{"unknown_service", "A105"}, Breaks{"breaks_107", "A107", "warn"},
        Breaks{"breaks_108", "A108"}, Breaks{"breaks_114", "A114", "warn"}, Breaks{"dies_in_constructor", "A201"},
        Breaks{"wrong_magic", "A202"}, Breaks{"wrong_major", "A202"}, Breaks{"size_zero", "A202"},
        Breaks{"size_three", "A202"}, Breaks{"size_garbage", "A202"}, Breaks{"size_odd", "A202"},
        Breaks{"newer_tail", "A202"}, Breaks{"unknown_row", "A202"}, Breaks{"unknown_flag", "A202"},
        Breaks{"null_fn", "A202"}, Breaks{"bad_stride", "A202"}, Breaks{"bad_concurrency", "A202"},
        Breaks{"declines", "A202"}, Breaks{"breaks_203", "A203"}, Breaks{"breaks_204", "A204"},
        Breaks{"breaks_205", "A205", "warn"}, Breaks{"unknown_optional_row", "A206", "warn"},
        Breaks{"breaks_207", "A207"}, Breaks{"id_differs", "A208"}, Breaks{"breaks_208", "A208"},
        Breaks{"create_fails", "A209"}, Breaks{"create_fails_silently", "A209"}, Breaks{"create_throws", "A209"},
        Breaks{"dies_in_create", "A209"}, Breaks{"breaks_210", "A210"}, Breaks{"breaks_301", "A301"},
        Breaks{"breaks_302", "A302"}, Breaks{"breaks_303", "A303"}, Breaks{"breaks_304", "A304"},
        Breaks{"breaks_305", "A305"}, Breaks{"breaks_306", "A306"}, Breaks{"floating_point", "A307", "warn"},
        Breaks{"breaks_308", "A308"}, Breaks{"breaks_309", "A309"}, Breaks{"breaks_310", "A310"},
        Breaks{"breaks_401", "A401"}, Breaks{"breaks_402", "A402"}, Breaks{"illegal_action", "A402"},
        Breaks{"handler_throws", "A402", "warn"}, Breaks{"breaks_403", "A403"}, Breaks{"breaks_404", "A404"},
        Breaks{"breaks_405", "A405"}, Breaks{"breaks_406", "A406"}, Breaks{"breaks_407", "A407"},
        Breaks{"breaks_408", "A408"}, Breaks{"breaks_409", "A409"}, Breaks{"breaks_410", "A410"},
        Breaks{"breaks_411", "A411"}, Breaks{"breaks_412", "A412"}, Breaks{"breaks_413", "A413"},
        Breaks{"breaks_501", "A501"}, Breaks{"breaks_502", "A502"}, Breaks{"breaks_601", "A601"},
        Breaks{"breaks_602", "A602"}, Breaks{"breaks_603", "A603"}, Breaks{"breaks_604", "A604"},
        Breaks{"breaks_701", "A701"}, Breaks{"breaks_702", "A702"}),
    [](const auto& each) { return std::string(each.param.module) + "_" + each.param.rule; });

// The same module without its fault: what is found in the others is the fault.
TEST(Validate, ModuleThatBreaksNothingPasses) {
  Program program;
  for (const char* const profile : {"process", "in-process"}) {
    const Finished ran =
        program.run({"hooks", "validate", kValidatedHooks + "/breaks_0.so", "--json", "--isolation", profile});
    EXPECT_EQ(ran.code, 0) << ran.out;
    EXPECT_EQ(broken_rules(ran), "") << profile;
  }
}

// 15 ms a call: a thousand of them are more than any step of a check may take here.
TEST(Validate, ModuleThatTakesItsTimeHasNotHung) {
  Program program;
  const Finished ran =
      program.run({"hooks", "validate", AGENTD_SLOW_HOOK, "--timeout", "3000", "--isolation", "in-process"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find(", 0 failures"), std::string::npos) << ran.out;
}

TEST(Validate, ModuleThatHangsIsToldToEndSoonerWhateverTheRuleIsAbout) {
  Program program;
  const Finished ran =
      program.run({"hooks", "validate", kValidatedHooks + "/breaks_411.so", "--rule", "A411", "--timeout", "1500"});
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("it hung: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("→ let each call end sooner, or give each step more time with --timeout MS"),
            std::string::npos)
      << ran.out;
}

// ---- profiles: a hook is judged for the place where it runs

TEST(Validate, HookOfAWorkerIsNotJudgedByWhatMattersInAgentdsOwnProcess) {
  Program program;
  const std::string module = AGENTD_OWN_RUNTIME_HOOK;
  const Finished there = program.run({"hooks", "validate", module});
  EXPECT_EQ(there.code, 0) << there.out << there.err;
  EXPECT_NE(there.out.find(" rules for agentd's own process, which do not apply to a worker process\n"),
            std::string::npos)
      << there.out;
  EXPECT_NE(there.out.find("checked as a hook in a worker process; --isolation in-process checks it as one in "
                           "agentd's own process\n"),
            std::string::npos)
      << there.out;
  auto seen = results(program.run({"hooks", "validate", module, "--json"}));
  EXPECT_EQ(seen["A302"], "skipped");
  EXPECT_EQ(seen["A702"], "ok");

  const Finished here = program.run({"hooks", "validate", module, "--isolation", "in-process", "--json"});
  EXPECT_EQ(here.code, 1) << here.out << here.err;
  seen = results(here);
  for (const char* const rule : {"A301", "A302", "A303"}) EXPECT_EQ(seen[rule], "fail") << rule << "\n" << here.out;
  EXPECT_NE(here.out.find("\"profile\":\"in-process\""), std::string::npos) << here.out;
}

TEST(Validate, ProfileIsWhereTheConfigurationRunsTheHook) {
  Program program;
  const std::string by_default = program.run({"hooks", "validate", kValidatedHooks + "/good.so", "--rule", "A104"}).out;
  EXPECT_NE(by_default.find("checked as a hook in a worker process"), std::string::npos) << by_default;
  program.config("hooks: {good: {isolation: in-process}}\n");
  const std::string by_name = program.run({"hooks", "validate", kValidatedHooks + "/good.so", "--rule", "A104"}).out;
  EXPECT_NE(by_name.find("checked as a hook in agentd's own process"), std::string::npos) << by_name;
  EXPECT_EQ(program.run({"hooks", "validate", kValidatedHooks + "/good.so", "--isolation", "nowhere"}).code, 2);
}

// The control: it does work where it runs.
TEST(Validate, ModuleWithARuntimeOfItsOwnWorksInAWorker) {
  Program program;
  program.drop_hook(AGENTD_OWN_RUNTIME_HOOK);
  const std::string script = program.script("- calls: [{name: bash, input: {command: echo reached}}]\n- text: done\n");
  const Finished ran = program.run({"run", "hello", "--allow", "bash", "--script", script, "--json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("own_runtime says no"), std::string::npos) << ran.out << ran.err;
}

TEST(Validate, BundledPluginsPass) {
  for (const std::string name :
       {"workspace_tools", "auto_compact", "audit_log", "guardrail", "redact", "session_memory", "web_fetch"}) {
    Program program;
    const std::string path = program.directory().file("audit.jsonl");
    const std::string config = name == "audit_log" ? "{\"path\":\"" + path + "\"}" : "{}";
    const Finished ran =
        program.run({"hooks", "validate", std::string(AGENTD_BUNDLED) + "/" + name + ".so", "--config", config});
    EXPECT_EQ(ran.out.find("A402  it returns only actions that the event allows: it failed"), std::string::npos)
        << ran.out;
    EXPECT_NE(ran.out.find("checked as a hook in agentd's own process"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.code, 0) << name << "\n" << ran.out << ran.err;
  }
}

TEST(Validate, TemplatesPass) {
  for (const std::string name : {"hello_c", "hello_cpp"}) {
    Program program;
    const Finished ran = program.run({"hooks", "validate", kValidatedHooks + "/" + name + ".so", "--json"});
    EXPECT_EQ(ran.code, 0) << name << "\n" << ran.out << ran.err;
  }
}

TEST(Validate, SaysWhatToDoOneLineForEachRule) {
  Program program;
  const Finished ran = program.run(
      {"hooks", "validate", kValidatedHooks + "/breaks_301.so", "--rule", "A301", "--isolation", "in-process"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out.find("  FAIL    A301  it leaves no descriptor open: still open: "), 0u) << ran.out;
  EXPECT_NE(ran.out.find("→ close in destroy()"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("0 ok, 0 warnings, 1 failure, 0 skipped"), std::string::npos) << ran.out;
}

TEST(Validate, GroupNamesAllItsRulesAndNoOther) {
  Program program;
  const auto seen =
      results(program.run({"hooks", "validate", kValidatedHooks + "/breaks_0.so", "--rule", "a2xx", "--json"}));
  EXPECT_EQ(seen.size(), 10u);
  for (const auto& [rule, result] : seen) EXPECT_EQ(rule.substr(0, 2), "A2");
}

TEST(Validate, MistakesOfTheCallAreTold) {
  Program program;
  const std::string good = kValidatedHooks + "/breaks_0.so";
  EXPECT_EQ(program.run({"hooks", "validate", "nowhere.so"}).code, 4);
  const Finished rule = program.run({"hooks", "validate", good, "--rule", "B12"});
  EXPECT_EQ(rule.code, 2);
  EXPECT_NE(rule.err.find("unknown rule 'B12'"), std::string::npos) << rule.err;
  EXPECT_EQ(program.run({"hooks", "validate", good, "--config", "[1]"}).code, 2);
  EXPECT_EQ(program.run({"hooks", "validate", good, "--timeout", "soon"}).code, 2);
  EXPECT_EQ(program.run({"hooks", "validate"}).code, 2);
  const std::string text = program.file("x.so", "no library at all");
  const Finished none = program.run({"hooks", "validate", text, "--json"});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(results(none)["A101"], "fail") << none.out;
}

// ---- what is no module at all

void expect_no_module(Program& program, const std::string& path, const std::string& sentence) {
  const Finished json = program.run({"hooks", "validate", path, "--json"});
  EXPECT_EQ(json.code, 1) << json.out << json.err;
  auto all = results(json);
  EXPECT_GT(all.size(), 50u) << "--json has every rule";
  EXPECT_EQ(all["A101"], "fail") << path << "\n" << json.out;
  all.erase("A101");
  for (const auto& [rule, result] : all) EXPECT_EQ(result, "skipped") << path << " " << rule;
  const Finished told = program.run({"hooks", "validate", path});
  EXPECT_EQ(told.code, 1);
  EXPECT_EQ(told.out.find("  FAIL    A101  it is a shared library of this machine: it " + sentence + "\n"), 0u)
      << path << "\n"
      << told.out;
  EXPECT_NE(told.out.find("  skipped " + std::to_string(all.size()) + " rules not checked, because A101 failed\n"),
            std::string::npos)
      << told.out;
  EXPECT_EQ(std::count(told.out.begin(), told.out.end(), '\n'), 4) << told.out;
}

TEST(Validate, WhatIsNoLibraryIsOneSentenceAndNothingElseIsJudged) {
  Program program;
  auto whole = read_file(kValidatedHooks + "/good.so", 64u << 20);
  ASSERT_TRUE(whole);
  expect_no_module(program, program.file("half.so", whole->substr(0, 5'000)), "is truncated: copy the file again");
  expect_no_module(program, program.file("head.so", whole->substr(0, 40)), "is truncated: copy the file again");
  expect_no_module(program, program.file("empty.so", ""), "is empty: copy the file again");
  expect_no_module(program, program.file("text.so", "no library at all"), "is not a shared library despite its name");
  std::string fixed = *whole;
  fixed[16] = 2;  // ET_EXEC
  expect_no_module(program, program.file("fixed.so", fixed),
                   "is an ELF file but not a shared library: link it with -shared");
  expect_no_module(program, std::filesystem::read_symlink("/proc/self/exe"),
                   "is a program, not a shared library: link it with -shared, or check it as an executable "
                   "hook with 'agentd hooks test'");
  std::string foreign = *whole;
  foreign[18] = 22;  // EM_S390
  EXPECT_EQ(results(program.run({"hooks", "validate", program.file("foreign.so", foreign), "--json"}))["A101"], "fail");
}

TEST(Validate, RuleThatCannotBeJudgedSaysWhyNot) {
  Program program;
  const Finished ran = program.run({"hooks", "validate", program.file("x.so", "text"), "--rule", "A4"});
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.out.find("FAIL    A101"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("  skipped 14 rules not checked, because A101 failed"), std::string::npos) << ran.out;
  const Finished create = program.run({"hooks", "validate", kValidatedHooks + "/create_fails.so", "--rule", "A401"});
  EXPECT_EQ(create.code, 1) << create.out;
  EXPECT_NE(create.out.find("FAIL    A209"), std::string::npos) << create.out;
}

TEST(Validate, DirectoryAndMissingFileAreOneSentence) {
  Program program;
  const Finished directory = program.run({"hooks", "validate", program.project()});
  EXPECT_EQ(directory.code, 1);
  EXPECT_EQ(directory.err, "agentd: " + program.project() + " is not a regular file\n");
  const Finished none = program.run({"hooks", "validate", program.project() + "/none.so"});
  EXPECT_EQ(none.code, 4);
  EXPECT_EQ(std::count(none.err.begin(), none.err.end(), '\n'), 1) << none.err;
}

TEST(Validate, LeavesNothingInTheTemporaryDirectory) {
  Program program;
  const std::string temporary = program.directory().file("tmp");
  ASSERT_TRUE(make_directories(temporary));
  program.set("TMPDIR=" + temporary);
  EXPECT_EQ(program.run({"hooks", "validate", kValidatedHooks + "/breaks_401.so", "--rule", "A4"}).code, 1);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

// The directory of a validation that has begun; empty when none comes.
std::string directory_in(const std::string& temporary) {
  for (int i = 0; i < 10'000; ++i) {
    for (const auto& each : std::filesystem::directory_iterator(temporary))
      if (std::filesystem::exists(each.path() / "work")) return each.path().string();
    ::usleep(1'000);
  }
  return {};
}

TEST(Validate, WhatAKilledOneLeftGoesWithTheNextAndALiveOneKeepsItsOwn) {
  Program program;
  const std::string temporary = program.directory().file("tmp");
  ASSERT_TRUE(make_directories(temporary));
  program.set("TMPDIR=" + temporary);
  Running validation = program.start({"hooks", "validate", kValidatedHooks + "/breaks_0.so"});
  const std::string left = directory_in(temporary);
  ASSERT_FALSE(left.empty());
  validation.signal(SIGSTOP);
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  const auto validate_another = [&] {
    std::filesystem::last_write_time(left, long_ago);
    EXPECT_EQ(program.run({"hooks", "validate", kValidatedHooks + "/good.so", "--rule", "A104"}).code, 0);
  };
  validate_another();
  EXPECT_TRUE(std::filesystem::exists(left)) << "it lives";
  validation.signal(SIGKILL);
  (void)validation.wait();
  // A process that it had made may take a moment to end.
  for (int i = 0; i < 100 && std::filesystem::exists(left); ++i) validate_another();
  EXPECT_TRUE(std::filesystem::is_empty(temporary)) << left;
}

// ---- fuzz

std::string seed_in(const std::string& out) {
  const std::size_t at = out.find("seed ");
  return at == std::string::npos ? "" : out.substr(at + 5, out.find(':', at) - at - 5);
}

TEST(Fuzz, FindsAPlantedCrashAndReplaysItByteForByte) {
  Program program;
  const std::string module = kValidatedHooks + "/breaks_900.so";
  const Finished found = program.run({"hooks", "fuzz", module, "--seed", "1", "--runs", "60"});
  EXPECT_EQ(found.code, 1) << found.out << found.err;
  EXPECT_NE(found.out.find(": crash: "), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("SIGABRT"), std::string::npos) << found.out;
  const std::string seed = seed_in(found.out);
  const Finished first = program.run({"hooks", "fuzz", module, "--replay", seed});
  const Finished second = program.run({"hooks", "fuzz", module, "--replay", seed});
  EXPECT_EQ(first.code, 1);
  EXPECT_NE(first.out.find("seed " + seed + ": crash: "), std::string::npos) << first.out;
  EXPECT_EQ(first.out, second.out);
}

TEST(Fuzz, FindsAPlantedDifferenceBetweenProcessAndWorker) {
  Program program;
  const Finished found =
      program.run({"hooks", "fuzz", kValidatedHooks + "/breaks_701.so", "--seed", "1", "--runs", "4"});
  EXPECT_EQ(found.code, 1) << found.out << found.err;
  EXPECT_NE(found.out.find(": difference: in this process fire before_tool_call: "), std::string::npos) << found.out;
}

TEST(Fuzz, FindsIllegalAnswersAndMemoryThatIsKept) {
  Program program;
  EXPECT_NE(program.run({"hooks", "fuzz", kValidatedHooks + "/breaks_402.so", "--seed", "1", "--runs", "3"})
                .out.find(": illegal: "),
            std::string::npos);
  if (!kHeapIsMeasured) return;
  EXPECT_NE(program.run({"hooks", "fuzz", kValidatedHooks + "/breaks_502.so", "--seed", "1", "--runs", "40"})
                .out.find(": memory: "),
            std::string::npos);
}

TEST(Fuzz, EndsInGoodOrderWhenOneWishToEndComesAsTwoSignals) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    Program program;
    const std::string temporary = program.directory().file("tmp");
    ASSERT_TRUE(make_directories(temporary));
    program.set("TMPDIR=" + temporary);
    Running fuzz = program.start({"hooks", "fuzz", kValidatedHooks + "/good.so", "--seed", "1", "--time", "600"});
    ASSERT_FALSE(directory_in(temporary).empty());
    ::usleep(1'000'000);  // so that it plays, on a busy machine too
    fuzz.signal(SIGTERM);
    ::usleep(500);
    fuzz.signal(SIGTERM);
    const Finished ended = fuzz.wait();
    EXPECT_EQ(ended.code, 128 + SIGTERM);
    EXPECT_NE(ended.out.find(" plays from seed 1, "), std::string::npos) << ended.out << ended.err;
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
  }
}

// All but what ThreadSanitizer keeps there for itself while a program starts.
std::vector<std::string> left_in(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(directory, failed))
    if (!each.path().filename().string().starts_with("tsan.")) out.push_back(each.path().string());
  return out;
}

TEST(Fuzz, LeavesNothingWhenItIsEndedInItsFirstMoments) {
  for (const char* const command : {"fuzz", "validate"})
    for (int attempt = 0; attempt < 6; ++attempt) {
      Program program;
      const std::string temporary = program.directory().file("tmp");
      ASSERT_TRUE(make_directories(temporary));
      program.set("TMPDIR=" + temporary);
      Running running = program.start({"hooks", command, kValidatedHooks + "/good.so"});
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (left_in(temporary).empty() && std::chrono::steady_clock::now() < end) continue;
      running.signal(SIGTERM);
      EXPECT_EQ(running.wait().code, 128 + SIGTERM) << command;
      EXPECT_EQ(left_in(temporary), std::vector<std::string>()) << command;
    }
}

TEST(Fuzz, FindsNothingInAGoodModule) {
  Program program;
  const Finished ran = program.run({"hooks", "fuzz", kValidatedHooks + "/breaks_0.so", "--seed", "1", "--runs", "20"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("20 plays from seed 1, nothing found"), std::string::npos) << ran.out;
}

TEST(Fuzz, MistakesOfTheCallAreTold) {
  Program program;
  const std::string good = kValidatedHooks + "/breaks_0.so";
  EXPECT_EQ(program.run({"hooks", "fuzz", "nowhere.so"}).code, 4);
  EXPECT_EQ(program.run({"hooks", "fuzz", good, "--seed", "x"}).code, 2);
  EXPECT_EQ(program.run({"hooks", "fuzz", good, "--replay", "1", "--runs", "3"}).code, 2);
  const Finished broken = program.run({"hooks", "fuzz", kValidatedHooks + "/create_fails.so"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.err.find("could not start: "), std::string::npos) << broken.err;
}

}  // namespace
}  // namespace agentd::testing
