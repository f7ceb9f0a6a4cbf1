// SPDX-License-Identifier: Apache-2.0
// docs/guide/sandbox.md, run: its settings are taken, its commands do what it says.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/cage/layers.h"
#include "tests/e2e/guide_page.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class GuideSandbox : public ::testing::Test {
 protected:
  GuideSandbox() {
    program_.file("Makefile", "all: one two\none two:\n\techo made > $@\n");
    program_.directory().write("letter", "to nobody\n");  // of the home, in which the project is
  }
  // A line of the page as somebody types it.
  Finished type(const std::string& line) {
    program_.start_by({"/bin/bash", "-c", "PATH=${0%/*}:$PATH; " + line});
    const Finished out = program_.run({});
    program_.start_by({});
    return out;
  }

  Program program_;
};

TEST_F(GuideSandbox, ItsSettingsAreTaken) {
  std::size_t settings = 0;
  AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
  AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/helper", "#!/bin/sh\necho agent_stop\n", 0700));
  for (const Block& block : blocks_of_page(AGENTD_SANDBOX_GUIDE, "yaml")) {
    ++settings;
    program_.config(block.text);
    const Finished ran = type("agentd doctor");
    EXPECT_FALSE(has(ran.out + ran.err, "unknown")) << block.text << ran.out << ran.err;
    EXPECT_FALSE(has(ran.out + ran.err, "config.yaml:")) << block.text << ran.out << ran.err;
    EXPECT_TRUE(has(ran.out, "\nSandbox")) << ran.out << ran.err;
  }
  EXPECT_GE(settings, 1u);
}

TEST_F(GuideSandbox, ItsCommandsDoWhatItSays) {
  const cage::Layers& layers = cage::probe(AGENTD_CAGE);
  if (!layers.best()) GTEST_SKIP() << layers.landlock.why;
  std::string said;
  std::size_t commands = 0;
  for (const Block& block : blocks_of_page(AGENTD_SANDBOX_GUIDE, "sh"))
    for (const std::string& line : lines_of(block.text)) {
      if (!line.starts_with("agentd ")) continue;
      if (has(line, "--layer landlock") && !layers.landlock.holds) continue;
      SCOPED_TRACE(line);
      ++commands;
      const Finished ran = type(line);
      EXPECT_TRUE(ran.code != 2 || !has(ran.err, "agentd: ")) << "wrong usage: " << ran.err;
      EXPECT_NE(ran.code, 125) << ran.err;
      EXPECT_FALSE(has(ran.out, "letter")) << "the home can be listed: " << ran.out;
      said += line + "\n" + ran.out;
    }
  EXPECT_GE(commands, 3u);
  EXPECT_TRUE(exists(program_.project() + "/one") && exists(program_.project() + "/two")) << said;
  EXPECT_TRUE(has(said, "/.ssh: nothing: ")) << said;
}

// The control of the above: the listing of a home that is not closed has the letter.
TEST_F(GuideSandbox, WithoutASandboxTheHomeIsListed) {
  EXPECT_TRUE(has(type("agentd sandbox run --layer off -- bash -c 'ls ~'").out, "letter"));
}

// What the page says of commands without a block of their own.
TEST_F(GuideSandbox, DoctorSaysWhichLayerIsUsed) {
  const cage::Layers& layers = cage::probe(AGENTD_CAGE);
  const Finished ran = type("agentd doctor");
  EXPECT_EQ(has(ran.out, ", used for commands"), layers.best().has_value()) << ran.out;
}

}  // namespace
}  // namespace agentd::testing
