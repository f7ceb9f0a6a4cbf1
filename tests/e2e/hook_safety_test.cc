// SPDX-License-Identifier: Apache-2.0
// hook_safety_test.cc - hooks that end the program are set aside, released and told of; globs that let hooks in.
#include <agentd/hook_abi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

const std::string kHooks = AGENTD_BROKEN_HOOKS;

class HookSafety : public ::testing::Test {
 protected:
  void drop(const std::string& module) { program_.drop_hook(kHooks + "/" + module + ".so"); }
  Finished talk(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"run", "hello", "--script", program_.script("- text: a\n")});
    return program_.run(more);
  }
  std::string state(const std::string& name) {
    const Finished list = program_.run({"hooks", "list", "--json"});
    for (const JsonDocument& line : json_lines(list.out))
      if (line.root()["name"].string_or("") == name) return std::string(line.root()["state"].string_or(""));
    return "not listed";
  }
  Program program_;
};

TEST_F(HookSafety, ModuleThatEndsTheProgramIsSetAsideToldAndReleased) {
  program_.config("hooks: {isolation: in-process}\n");
  drop("dies_in_create");
  EXPECT_EQ(talk().code, 128 + SIGSEGV);
  EXPECT_EQ(state("dies_in_create"), "set aside");
  const Finished next = talk();
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_TRUE(has(next.err, "dies_in_create.so is quarantined since ")) << next.err;
  EXPECT_TRUE(has(next.err, "run 'agentd hooks release dies_in_create'")) << next.err;
  EXPECT_TRUE(has(program_.run({"--plugins"}).out, "is quarantined since ")) << "--plugins";
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "is quarantined since ")) << "doctor";

  const Finished released = program_.run({"hooks", "release", "dies_in_create"});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_TRUE(has(released.out, "released dies_in_create (")) << released.out;
  EXPECT_EQ(state("dies_in_create"), "on");
  EXPECT_EQ(talk().code, 128 + SIGSEGV) << "the release did not last";
}

TEST_F(HookSafety, OtherBytesStartAfresh) {
  program_.config("hooks: {isolation: in-process, dev: true}\n");
  drop("dies_in_create");
  EXPECT_EQ(talk().code, 128 + SIGSEGV);
  std::filesystem::copy_file(kHooks + "/good.so", program_.home() + "/hooks/dies_in_create.so",
                             std::filesystem::copy_options::overwrite_existing);
  const Finished mended = talk();
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_FALSE(has(mended.err, "is quarantined since")) << mended.err;
  EXPECT_EQ(state("dies_in_create"), "on");
}

TEST_F(HookSafety, ReleaseOfWhatIsNotSetAsideSaysWhatIs) {
  const Finished none = program_.run({"hooks", "release", "lint"});
  EXPECT_EQ(none.code, 4);
  EXPECT_TRUE(has(none.err, "no hook 'lint' is quarantined: nothing is\n")) << none.err;
}

TEST_F(HookSafety, VerifyTellsACrashAsAVerdictAndLoadsTheOthers) {
  drop("dies_in_constructor");
  drop("good");
  drop("undefined_symbol");
  const Finished looked = program_.run({"--plugins"});
  EXPECT_FALSE(has(looked.out, "SIGABRT")) << "--plugins has run it";
  const Finished verified = program_.run({"--plugins=verify"});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_TRUE(has(verified.out, "dies_in_constructor.so was ended by signal 6 (SIGABRT) while it was loaded"))
      << verified.out;
  EXPECT_TRUE(has(verified.out, "cannot be loaded: undefined symbol: agentd_test_nobody_has_this")) << verified.out;
  EXPECT_TRUE(has(verified.out, "good  org.agentd.test.good 1.0.0")) << verified.out;
  EXPECT_TRUE(has(verified.out, "verdict: ok")) << verified.out;
}

// ---- nosy.c ends its process when it sees anything of the user, in any of its functions

const char kSecret[] = "ANTHROPIC_API_KEY=sk-of-the-user-7319", kOther[] = "DATABASE_URL=db://of-the-user-7319";

void expect_nothing_seen(const Finished& ran, const std::string& command) {
  EXPECT_EQ(ran.code, 0) << command << "\n" << ran.out << ran.err;
  EXPECT_FALSE(has(ran.out + ran.err, "nosy saw")) << command << "\n" << ran.out << ran.err;
  EXPECT_FALSE(has(ran.out + ran.err, "SIGABRT")) << command << "\n" << ran.out << ran.err;
}

TEST_F(HookSafety, WhatLooksAtAModuleShowsNoneOfItsFunctionsAnythingOfTheUser) {
  program_.set(kSecret);
  program_.set(kOther);
  program_.drop_hook(AGENTD_NOSY_HOOK);
  const Finished verified = program_.run({"--plugins=verify"});
  EXPECT_TRUE(has(verified.out, "nosy  test.nosy 1.0.0")) << verified.out;
  expect_nothing_seen(verified, "--plugins=verify");
  for (const char* const profile : {"process", "in-process"}) {
    const Finished validated = program_.run({"hooks", "validate", AGENTD_NOSY_HOOK, "--isolation", profile});
    expect_nothing_seen(validated, std::string("validate --isolation ") + profile);
    EXPECT_TRUE(has(validated.out, "ok      A701")) << validated.out;
    EXPECT_TRUE(has(validated.out, "ok      A702")) << validated.out;
  }
  const Finished fuzzed = program_.run({"hooks", "fuzz", AGENTD_NOSY_HOOK, "--seed", "1", "--runs", "5"});
  expect_nothing_seen(fuzzed, "fuzz");
  EXPECT_TRUE(has(fuzzed.out, "5 plays from seed 1, nothing found")) << fuzzed.out;
}

// The control: the same module in a program without the cage.
TEST_F(HookSafety, TheSameModuleSeesAllOfItWithoutTheCageInEveryFunction) {
  const std::string heard = program_.directory().file("heard");
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const int fd = ::open(heard.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(fd, STDERR_FILENO);
    if (::chdir(program_.project().c_str()) != 0) ::_exit(2);
    ::putenv(const_cast<char*>(kSecret));
    ::setenv("NOSY_GOES_ON", "1", 1);
    void* const module = ::dlopen(AGENTD_NOSY_HOOK, RTLD_NOW | RTLD_LOCAL);
    void* const symbol = module == nullptr ? nullptr : ::dlsym(module, AGENTD_ENTRY_SYMBOL);
    if (symbol == nullptr) ::_exit(3);
    const auto entry = reinterpret_cast<agentd_status (*)(agentd_negotiate*)>(symbol);
    agentd_negotiate io{};
    io.size = sizeof io;
    io.host_abi_max = AGENTD_ABI_NEWEST;
    if (entry(&io) != AGENTD_OK) ::_exit(4);
    void* self = nullptr;
    (void)io.plugin->create(nullptr, &self);
    (void)static_cast<const agentd_hook*>(io.plugin->hooks.first)->fn(self, nullptr);
    (void)io.plugin->save_state(self, nullptr);
    (void)io.plugin->load_state(self, nullptr);
    (void)io.plugin->destroy(self, nullptr);
    ::dlclose(module);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const std::string text = *read_file(heard, 1u << 20);
  for (const char* const where : {"its constructor", "its entry", "create()", "its hook", "save_state()",
                                  "load_state()", "destroy()", "its destructor"})
    EXPECT_TRUE(has(text, "the network, writable files, processes in " + std::string(where) + "\n")) << text;
  for (const char* const what : {
         "saw the key, ", "HOME, ",
#if !defined(AGENTD_SANITIZED_BUILD)
             "the secret in memory, ",
#endif
             "files, "
       })
    EXPECT_TRUE(has(text, what)) << text;
  ::unlink("/tmp/agentd-nosy-was-here");
}

TEST_F(HookSafety, WhatWaitsForTrustIsNotRunByWhoeverLooksAtIt) {
  const std::string hooks = program_.project() + "/.agent/hooks";
  std::filesystem::create_directories(hooks);
  const std::string module = hooks + "/nosy.so";
  std::filesystem::copy_file(AGENTD_NOSY_HOOK, module);
  for (const char* const command : {"validate", "fuzz"}) {
    const Finished refused = program_.run({"hooks", command, module});
    EXPECT_EQ(refused.code, 3) << refused.out;
    EXPECT_TRUE(has(refused.err,
                    "does not run, since you have not trusted it yet; 'agentd hooks trust project/nosy' trusts it"))
        << refused.err;
  }
}

TEST_F(HookSafety, TwoModulesOfOneIdAndABadConfigurationShowWhereNothingRuns) {
  drop("good");
  std::filesystem::copy_file(kHooks + "/good.so", program_.home() + "/hooks/other.so");
  ::chmod((program_.home() + "/hooks/other.so").c_str(), 0600);
  drop("handler_throws");
  program_.config("hooks: {handler_throws: {config: [1]}}\n");
  const std::string out = program_.run({"--plugins"}).out;
  EXPECT_TRUE(has(out, "other.so has the same id org.agentd.test.good as ")) << out;
  EXPECT_TRUE(has(out, "hooks.handler_throws.config must be a mapping")) << out;
}

TEST_F(HookSafety, OnlyWhatIsAllowedIsLoadedAndDisableBeatsIt) {
  drop("good");
  drop("handler_throws");
  program_.config("hooks: {allow: [\"go*\"]}\n");
  EXPECT_EQ(state("good"), "on");
  EXPECT_EQ(state("handler_throws"), "off");
  EXPECT_EQ(state("workspace_tools"), "on") << "the bundled tools need no entry";
  const std::string list = program_.run({"hooks", "list", "--json"}).out;
  std::map<std::string, std::string> from;
  for (const JsonDocument& line : json_lines(list))
    from[std::string(line.root()["name"].string_or(""))] = line.root()["source"].string_or("");
  EXPECT_EQ(from["audit_log"], "system") << list;
  EXPECT_EQ(from["handler_throws"], "user") << list;
  program_.config("hooks: {allow: [\"*\"], disable: [\"go*\", workspace_tools]}\n");
  EXPECT_EQ(state("good"), "off");
  EXPECT_EQ(state("handler_throws"), "on");
  EXPECT_EQ(state("workspace_tools"), "off");
}

}  // namespace
}  // namespace agentd::testing
