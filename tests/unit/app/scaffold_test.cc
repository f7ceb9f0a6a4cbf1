// SPDX-License-Identifier: Apache-2.0
#include "core/app/scaffold.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/declarative/declarative.h"

namespace agentd::app {
namespace {

const EventTraits& event(std::string_view name) { return *find_event(name); }

const ScaffoldFile* find(const Scaffold& scaffold, const std::string& path) {
  for (const ScaffoldFile& file : scaffold.files)
    if (file.path == path) return &file;
  return nullptr;
}

std::string source_file(const std::string& path) {
  std::ifstream in(std::string(AGENTD_SOURCE_DIR) + "/" + path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(Scaffold, NativeOnesCarryTheHeadersByteForByte) {
  const auto made = make_scaffold("x", "c++", event("agent_stop"));
  ASSERT_TRUE(made);
  int headers = 0;
  for (const ScaffoldFile& file : made->files) {
    const std::string prefix = "x/plugin-api/";
    if (file.path.rfind(prefix, 0) != 0) continue;
    EXPECT_EQ(file.text, source_file("plugin-api/" + file.path.substr(prefix.size()))) << file.path;
    ++headers;
  }
  EXPECT_GE(headers, 15);
  EXPECT_NE(find(*made, "x/plugin-api/template/hook.map"), nullptr);
}

TEST(Scaffold, WhatIsWrittenInCNeedsNoHeaderOfCpp) {
  const auto made = make_scaffold("x", "c", event("agent_stop"));
  ASSERT_TRUE(made);
  EXPECT_EQ(find(*made, "x/plugin-api/cpp/agentd/hook.hpp"), nullptr);
  ASSERT_NE(find(*made, "x/CMakeLists.txt"), nullptr);
  EXPECT_EQ(find(*made, "x/CMakeLists.txt")->text.find("CXX"), std::string::npos);
}

TEST(Scaffold, NothingOfTheTemplatesOwnNameIsLeft) {
  for (const char* language : {"c", "c++"}) {
    const auto made = make_scaffold("my-guard_2", language, event("session_start"));
    ASSERT_TRUE(made);
    for (const ScaffoldFile& file : made->files) {
      if (file.path.find("plugin-api") != std::string::npos) continue;
      EXPECT_EQ(file.text.find("hello"), std::string::npos) << file.text;
      EXPECT_EQ(file.text.find("Hello"), std::string::npos) << file.text;
    }
  }
}

TEST(Scaffold, YamlOfEveryEventReads) {
  for (const EventTraits& each : all_events()) {
    const auto made = make_scaffold("x", "yaml", each);
    ASSERT_TRUE(made);
    const auto hooks = read_declarative(made->files[0].text, "x.yaml", "x", Precedence::kUser);
    ASSERT_TRUE(hooks) << hooks.error().message << "\n" << made->files[0].text;
    ASSERT_EQ(hooks->size(), 1u);
    EXPECT_EQ((*hooks)[0].event, each.id);
  }
}

TEST(Scaffold, LinesStayBelowAHundredColumns) {
  for (const EventTraits& each : all_events())
    for (const char* language : {"c", "c++", "bash", "python", "yaml"}) {
      const auto made = make_scaffold("a_name_of_some_length", language, each);
      ASSERT_TRUE(made);
      std::istringstream in(made->files[0].text);
      for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 100u) << line;
    }
}

TEST(Scaffold, OnlyScriptsAreExecutable) {
  for (const auto& [language, executable] :
       {std::pair<const char*, bool>{"bash", true}, {"python", true}, {"yaml", false}, {"c", false}})
    EXPECT_EQ(make_scaffold("x", language, event("turn_end"))->files[0].executable, executable) << language;
}

TEST(Scaffold, NamesThatCannotBeFilesOrIdsAreRefused) {
  for (const char* name : {"", "../x", "a/b", "-x", "1x", "x y", "x\n", "x\"", "ä", "."})
    EXPECT_FALSE(make_scaffold(name, "bash", event("turn_end"))) << name;
  EXPECT_FALSE(make_scaffold(std::string(65, 'x'), "bash", event("turn_end")));
  EXPECT_TRUE(make_scaffold(std::string(64, 'x'), "bash", event("turn_end")));
  EXPECT_FALSE(make_scaffold("x", "perl", event("turn_end")));
}

}  // namespace
}  // namespace agentd::app
