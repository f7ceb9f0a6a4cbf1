// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/commands.h"

#include <gtest/gtest.h>

#include "core/codec/json.h"

namespace agentd {
namespace {

std::string why(const std::string& command) {
  JsonWriter json;
  json.begin_object().member("command", command).end_object();
  return why_command_refused({"git *", "make"}, json.text());
}

TEST(AllowedCommands, OneSimpleCommandIsCovered) {
  for (const char* const command :
       {"git status", "  git status  ", "make", R"~(git commit -m "fix: a; b & (c) > d # e")~",
        R"~(git commit -m 'it costs $(5) `x`')~", R"(git log --format="%h $")", "git diff -- 'a b.txt'",
        R"(git log --grep=a\;b)", "git show HEAD@{1}", "git show v1#2", R"(git commit -m "a\"b")", "git log $BRANCH",
        "git commit -m 'a\nb'"})
    EXPECT_EQ(why(command), "") << command;
}

TEST(AllowedCommands, WhatCarriesAnotherOneAlongIsNot) {
  for (const char* const command : {"git status; rm x",
                                    "git status && rm x",
                                    "git status || rm x",
                                    "git status | sh",
                                    "git status & rm x",
                                    "git status\nrm x",
                                    "git log $(rm x)",
                                    "git log `rm x`",
                                    R"~(git log "$(rm x)")~",
                                    R"(git log "`rm x`")",
                                    "git log > /etc/x",
                                    "git log < x",
                                    "git diff <(rm x)",
                                    "git log ${x@P}",
                                    R"(git log "${x@P}")",
                                    "git log $[x]",
                                    R"(git log $'\'' ; rm x #')",
                                    R"(git log $"x")",
                                    "git log # '\nrm x #'",
                                    "git log #",
                                    "git log 'a",
                                    "git log \"a",
                                    "git (rm)",
                                    "git log \r rm x"})
    EXPECT_NE(why(command), "") << command;
}

TEST(AllowedCommands, AnotherCommandIsNot) {
  for (const char* const command : {"", " ", "gitk", "make all", "sudo git status", "GIT_DIR=x git log"})
    EXPECT_NE(why(command), "") << command;
}

TEST(AllowedCommands, NoneAreCoveredByAnEmptyList) {
  const std::string refused = why_command_refused({}, R"({"command":"ls"})");
  EXPECT_NE(refused.find("it allows none"), std::string::npos) << refused;
}

TEST(AllowedCommands, InputWithoutACommandIsRefused) {
  for (const char* const input : {"", "[]", "{}", R"({"command":1})", R"({"command":null})"})
    EXPECT_EQ(why_command_refused({"*"}, input), "its input has no command") << input;
}

TEST(AllowedCommands, ZeroByteIsRefused) { EXPECT_NE(why(std::string("git status\0rm x", 15)), ""); }

}  // namespace
}  // namespace agentd
