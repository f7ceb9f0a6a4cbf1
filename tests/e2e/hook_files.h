// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_files.h - files of a hooks directory, and what the program says of them.
//
// Threading: thread-compatible.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {

inline constexpr const char* kYaml = "on: agent_stop\ndo: {system_message: hello}\n";
inline constexpr const char* kScript = "#!/bin/sh\n[ \"$1\" = hook ] && echo agent_stop\nexit 0\n";

inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++out;
  return out;
}

class HookFiles : public ::testing::Test {
 protected:
  HookFiles() {
    EXPECT_TRUE(make_directories(program_.home() + "/hooks"));
    ::chmod(program_.home().c_str(), 0700);
  }
  std::string put(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const std::string path = program_.home() + "/hooks/" + name;
    EXPECT_TRUE(write_file_atomically(path, text, 0600));
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  Finished run() { return program_.run({"run", "x", "--no-save", "--script", program_.script("- text: done\n")}); }
  // What `hooks list --json` says of the file; empty = it is not listed.
  std::string listed(const std::string& path) {
    for (const JsonDocument& line : json_lines(program_.run({"hooks", "list", "--json"}).out))
      if (line.root()["path"].string_or("") == path)
        return std::string(line.root()["state"].string_or("")) + ": " +
               std::string(line.root()["why_not"].string_or(""));
    return {};
  }
  // A run, the list, doctor and `hooks validate` say of it that it does not run, why, and what to
  // do.
  void is_told(const std::string& path, const std::string& remedy) {
    const std::string sentence = path + " does not run: ";
    const Finished ran = run();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(count(ran.err, sentence), 1u) << ran.err;
    EXPECT_TRUE(has(ran.err, remedy)) << ran.err;
    EXPECT_TRUE(has(listed(path), "broken: " + sentence)) << listed(path);
    EXPECT_TRUE(has(listed(path), remedy)) << listed(path);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"doctor"}, {"hooks", "list"}, {"--plugins"}}) {
      const Finished said = program_.run(words);
      EXPECT_EQ(count(said.out, sentence), 1u) << words[0] << said.out << said.err;
      EXPECT_TRUE(has(said.out, remedy)) << words[0] << said.out;
    }
    const Finished judged = program_.run({"hooks", "validate", path});
    EXPECT_EQ(judged.code, 1) << judged.out << judged.err;
    EXPECT_TRUE(has(judged.out + judged.err, sentence)) << judged.out << judged.err;
    EXPECT_TRUE(has(judged.out + judged.err, remedy)) << judged.out << judged.err;
    ::unlink(path.c_str());
  }
  void is_not_told(const std::string& path) {
    const Finished ran = run();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_FALSE(has(ran.err, path)) << ran.err;
    EXPECT_EQ(listed(path), "");
    EXPECT_FALSE(has(program_.run({"doctor"}).out, path));
  }

  Program program_;
};

}  // namespace agentd::testing
