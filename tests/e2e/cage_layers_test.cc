// SPDX-License-Identifier: Apache-2.0
// cage_layers_test.cc - a sandbox that cannot be made is never silent: the built program on machines that lack a layer,
// or have an older one. The kernel refuses (tests/cage/without.cc); the program has no switch for it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tests/cage/rows.h"
#include "tests/e2e/caged.h"

namespace agentd::testing {
namespace {

struct Lack {
  std::string name;
  std::vector<std::string> options;
  std::string bubblewrap, landlock;  // a part of the reason why it does not hold; empty = it holds
  std::string cure;                  // a part of what is advised
  std::string stands_in = {};        // a script in place of bubblewrap

  std::string used() const { return bubblewrap.empty() ? "bubblewrap" : landlock.empty() ? "landlock" : ""; }
};

void PrintTo(const Lack& lack, std::ostream* out) { *out << lack.name; }

const Lack kLacks[] = {
    {"namespaces_refused", {"--user-namespaces"}, "bwrap: ", "", "→"},
    {"namespaces_at_their_limit",
     {"--user-namespace-limit"},
     "user namespaces are disabled (user.max_user_namespaces is 0)",
     "",
     "sudo sysctl user.max_user_namespaces=10000"},
    {"a_container", {"--container"}, "bwrap: ", "", "→"},
    {"an_old_kernel", {"--landlock"}, "", "this kernel has no Landlock", "use Linux 5.13 or newer"},
    {"off_at_boot", {"--landlock-at-boot"}, "", "Landlock is disabled at boot", "the kernel's parameter lsm="},
    {"landlock_refused", {"--landlock-by-filter"}, "", "a filter around this process refuses", "a runtime whose"},
    {"neither",
     {"--user-namespace-limit", "--landlock"},
     "user.max_user_namespaces is 0",
     "this kernel has no Landlock",
     "use Linux 5.13"},
    {"an_old_container", {"--container", "--landlock-by-filter"}, "bwrap: ", "a filter around this", "a runtime whose"},
    {"no_seccomp", {"--seccomp"}, "seccomp cannot be used", "this kernel has no seccomp", "CONFIG_SECCOMP_FILTER"},
    {"seccomp_refused",
     {"--seccomp-by-filter"},
     "seccomp cannot be used",
     "seccomp cannot be used",
     "--security-opt seccomp=unconfined"},
    {"no_bubblewrap", {"--bubblewrap", "/dev/null"}, "it is not installed", "", "install the package bubblewrap"},
    {"an_old_bubblewrap",
     {},
     "Unknown option --as-pid-1",
     "",
     "→",
     "echo 'bwrap: Unknown option --as-pid-1' >&2; exit 1"},
    {"a_bubblewrap_that_does_nothing", {}, "makes no sandbox", "", "install the package bubblewrap again", "exit 0"},
    {"a_bubblewrap_that_closes_nothing",
     {},
     "makes no sandbox",
     "",
     "install the package bubblewrap again",
     "while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\""},
};

// The line of the text that has this part, and the ones up to the next of that indentation.
std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (has(line, part)) return line;
  return {};
}

class MissingLayer : public ::testing::TestWithParam<Lack> {
 protected:
  void SetUp() override {
    const cage::Layers& layers = cage::probe(AGENTD_CAGE);
    for (const cage::Layer layer : {cage::Layer::kBubblewrap, cage::Layer::kLandlock})
      if (!layers.of(layer).holds) GTEST_SKIP() << cage::name_of(layer) << ": " << layers.of(layer).why;
    lacks_ = GetParam().options;
    if (!GetParam().stands_in.empty()) {
      const std::string fake = caged_.program().directory().write("bwrap", "#!/bin/sh\n" + GetParam().stands_in + "\n");
      std::filesystem::permissions(fake, std::filesystem::perms(0755));
      lacks_ = {"--bubblewrap", fake};
    }
    if (cannot_be_played(caged_.on(lacks_, {"--version"}))) GTEST_SKIP() << "this kernel cannot play that machine";
  }

  Caged caged_;
  std::vector<std::string> lacks_;
};

TEST_P(MissingLayer, DoctorNamesTheReasonTheCureAndWhatIsUsed) {
  const Finished ran = caged_.on(lacks_, {"doctor"});
  const std::string said = ran.out.substr(std::min(ran.out.find("\nSandbox"), ran.out.size()));
  for (const auto& [name, why] :
       {std::pair{"bubblewrap: ", GetParam().bubblewrap}, std::pair{"landlock: ", GetParam().landlock}}) {
    const std::string line = line_with(said, name);
    EXPECT_TRUE(has(line, why)) << said;
    EXPECT_EQ(has(line, "  ok "), why.empty()) << said;
    EXPECT_EQ(has(line, "used for commands"), GetParam().used() + ": " == name) << said;
  }
  EXPECT_TRUE(has(said, GetParam().cure)) << said;
  EXPECT_EQ(has(said, "BROKEN  commands are not run"), GetParam().used().empty()) << said;
  EXPECT_EQ(has(said, "commands may write in the workspace roots"), !GetParam().used().empty()) << said;
}

TEST_P(MissingLayer, CommandsRunInTheOtherOneOrNotAtAll) {
  const std::string script = "echo ran > ran; echo $AGENTD_SANDBOX; cat ~/.ssh/id_ed25519; echo x > $OUT/made";
  const Finished ran = caged_.command(lacks_, "auto", script);
  EXPECT_EQ(caged_.harm(ran), "");
  EXPECT_EQ(exists(caged_.stage().project() + "/ran"), !GetParam().used().empty()) << ran.out << ran.err;
  if (!GetParam().used().empty()) {
    EXPECT_TRUE(ran.out.starts_with(GetParam().used() + "\n")) << ran.out << ran.err;
    return;
  }
  EXPECT_EQ(ran.code, 125);
  EXPECT_TRUE(has(ran.err, "no sandbox can be made")) << ran.err;
  EXPECT_TRUE(has(ran.err, GetParam().bubblewrap) && has(ran.err, GetParam().landlock)) << ran.err;
  EXPECT_TRUE(has(ran.err, GetParam().cure)) << ran.err;
}

// A layer that the settings name is not replaced by another.
TEST_P(MissingLayer, ANamedLayerIsThatOneOrNone) {
  for (const auto& [layer, why] : {std::pair{std::string("bubblewrap"), GetParam().bubblewrap},
                                   std::pair{std::string("landlock"), GetParam().landlock}}) {
    const Finished ran = caged_.command(lacks_, layer, "echo $AGENTD_SANDBOX");
    EXPECT_EQ(ran.code, why.empty() ? 0 : 125) << ran.out << ran.err;
    EXPECT_EQ(ran.out, why.empty() ? layer + "\n" : "");
    EXPECT_TRUE(has(ran.err, why)) << ran.err;
  }
}

TEST_P(MissingLayer, TheModelIsToldSoAndTheUserMaySwitchItOff) {
  if (lacks_.size() > 0 && lacks_[0] == "--user-namespace-limit" && ::geteuid() != 0)
    GTEST_SKIP() << "in that namespace files of root are nobody's, and agentd trusts no such place";
  const bool runs = !GetParam().used().empty();
  const std::string call = "- calls: [{name: bash, input: {command: 'echo ran > ran && echo it-has-run'}}]\n";
  const auto words = [&](const std::string& expected) {
    const std::string script =
        caged_.program().script(call + "- text: done\n  expect: {contains: '" + expected + "'}\n");
    return std::vector<std::string>{"run", "go", "--allow", "bash", "--script", script};
  };
  const Finished ran = caged_.on(lacks_, words(runs ? "it-has-run" : "no sandbox can be made"));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(exists(caged_.stage().project() + "/ran"), runs);
  EXPECT_FALSE(has(ran.err, "without a sandbox")) << ran.err;

  caged_.program().config("sandbox:\n  layer: off\n");
  for (int i = 0; i < 2; ++i) {
    const Finished off = caged_.on(lacks_, words("it-has-run"));
    EXPECT_EQ(off.code, 0) << off.out << off.err;
    EXPECT_TRUE(has(off.err, "commands of tools run without a sandbox")) << off.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, MissingLayer, ::testing::ValuesIn(kLacks),
                         [](const auto& each) { return each.param.name; });

// ---- the helper

// agentd in a directory of its own, beside a helper of this text; empty = without one.
Finished with_helper(Caged& caged, const std::string& helper, const std::string& words) {
  const TempDir place;
  if (!helper.empty()) {
    std::filesystem::permissions(place.write("agentd-cage", helper), std::filesystem::perms(0755));
  }
  caged.program().start_by(
      {"/bin/bash", "-c", "cp \"$0\" " + place.path() + "/agentd && " + place.path() + "/agentd " + words});
  Finished out = caged.program().run({});
  caged.program().start_by({});
  return out;
}

TEST(Helper, WithoutItOrWithAnotherNoCommandRuns) {
  for (const auto& [helper, why] :
       {std::pair{"", "its program agentd-cage is missing"}, std::pair{"#!/bin/sh\nexit 0\n", "but runs nothing"},
        std::pair{"#!/bin/sh\necho it is broken >&2\nexit 1\n", "it fails: it is broken"}}) {
    SCOPED_TRACE(why);
    Caged caged;
    const Finished ran = with_helper(caged, helper, "sandbox run -- sh -c 'echo ran > ran'");
    EXPECT_EQ(ran.code, 125) << ran.out << ran.err;
    EXPECT_TRUE(has(ran.err, why)) << ran.err;
    EXPECT_FALSE(exists(caged.stage().project() + "/ran"));
    EXPECT_TRUE(has(with_helper(caged, helper, "doctor").out, "BROKEN  commands are not run"));
  }
}

// What people do all day, where containers leave Landlock alone.
TEST(Container, DailyWorkGoesOn) {
  if (!cage::probe(AGENTD_CAGE).landlock.holds) GTEST_SKIP() << cage::probe(AGENTD_CAGE).landlock.why;
  Caged caged;
  const Finished ran =
      caged.command({"--container"}, "auto",
                    "echo $AGENTD_SANDBOX && echo b > a && git commit -qam two && git log --oneline | wc -l && chmod "
                    "700 a && printf 'all: "
                    "b c\\nb c:\\n\\tcp a $@\\n' > Makefile && make -s -j2 && ls && python3 -c 'print(6 * 7)'");
  EXPECT_EQ(ran.out, "landlock\n2\nMakefile\na\nb\nc\n42\n") << ran.err;
  EXPECT_EQ(caged.harm(ran), "");
}

// ---- older versions of Landlock

// One of each kind: what they reach is guarded by different versions, or by none.
const std::vector<std::string> kEssential{"read_ssh",
                                          "read_outside",
                                          "read_hardlink_ssh",
                                          "write_outside",
                                          "write_truncate",
                                          "write_truncate_call",
                                          "write_open_trunc_readonly",
                                          "write_mv_in",
                                          "write_hardlink",
                                          "write_rename_exchange",
                                          "meta_chmod",
                                          "meta_futimens_readable",
                                          "net_tcp",
                                          "net_udp",
                                          "net_fastopen",
                                          "net_unix_stream",
                                          "net_abstract",
                                          "exec_outside",
                                          "guard_mcp_json",
                                          "git_hooks_pre-commit"};

class OlderLandlock : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
#if defined(AGENTD_SANITIZED_BUILD)
    GTEST_SKIP() << "the leak detector does not work under ptrace";
#endif
    if (GetParam() > 0) lacks_ = {"--landlock-abi", std::to_string(GetParam())};
    if (GetParam() == 0) lacks_ = {"--landlock"};
    if (cannot_be_played(Caged().on(lacks_, {"--version"}))) GTEST_SKIP() << "this kernel is older itself";
  }
  void attack(const std::string& layer, const std::vector<std::string>& names) {
    Caged caged;
    if (const Finished tried = caged.command(lacks_, layer, "true"); tried.code == 125) GTEST_SKIP() << tried.err;
    for (const HostileRow& row : hostile_rows(names)) {
      SCOPED_TRACE(row.name);
      ASSERT_EQ(caged.harm(caged.command(lacks_, layer, row.script)), "");
    }
  }

  std::vector<std::string> lacks_;
};

TEST_P(OlderLandlock, HoldsAlone) {
  if (GetParam() > 0) return attack("landlock", kEssential);
  EXPECT_EQ(Caged().command(lacks_, "landlock", "true").code, 125) << "without any, there is no such sandbox";
}

// Inside of bubblewrap it is one of two walls: the other one holds without it.
TEST_P(OlderLandlock, HoldsInBubblewrap) {
  std::vector<std::string> names = kEssential;
  names.insert(names.end(), {"kill_9", "kill_pidfd"});
  attack("bubblewrap", names);
}

// Signals are guarded from version 6 on; before it doctor says that they are not.
TEST_P(OlderLandlock, SaysWhatItDoesNotGuard) {
  Caged caged;
  const std::string said = line_with(caged.on(lacks_, {"doctor"}).out, "landlock: ");
  if (GetParam() == 0) {
    EXPECT_TRUE(has(said, "this kernel has no Landlock")) << said;
    return;
  }
  EXPECT_TRUE(has(said, "Landlock version " + std::to_string(GetParam()))) << said;
  EXPECT_EQ(has(said, "can send signals to your other processes"), GetParam() < 6) << said;
  const Finished ran = caged.command(lacks_, "landlock", hostile_rows({"kill_9"}).at(0).script);
  if (ran.code == 125) GTEST_SKIP() << ran.err;
  std::string harm = caged.harm(ran);
  // The victim ends when it is scheduled next.
  for (int i = 0; i < 1'000 && GetParam() < 6 && harm.empty(); ++i) {
    ::usleep(10'000);
    harm = caged.harm(ran);
  }
  EXPECT_EQ(harm, GetParam() < 6 ? "the victim has ended" : "");
}

INSTANTIATE_TEST_SUITE_P(Versions, OlderLandlock, ::testing::Range(0, 8),
                         [](const auto& each) { return "abi_" + std::to_string(each.param); });

// The control: each of these rows does harm where nothing guards.
TEST(OlderLandlockControl, TheRowsDoHarmWithoutASandbox) {
  for (const HostileRow& row : hostile_rows(kEssential)) {
    SCOPED_TRACE(row.name);
    Caged caged;
    EXPECT_NE(caged.harm(caged.command({}, "off", row.script)), "");
  }
}

}  // namespace
}  // namespace agentd::testing
