// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/instructions.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

class InstructionsTest : public ::testing::Test {
 protected:
  InstructionsTest() {
    for (const char* const each : {"repo/.git", "repo/docs", "repo/src", "repo/lib/deep", "home", "user"})
      fs::create_directories(directory_.file(each));
  }
  std::string at(const std::string& path) const { return directory_.file(path); }
  void put(const std::string& path, const std::string& text) const { directory_.write(path, text); }
  InstructionPlaces places(const std::string& cwd = "repo") const {
    return {find_project(at(cwd)), at("home"), at("user")};
  }
  Instructions read(const std::string& cwd = "repo") const { return read_instructions(places(cwd)); }
  // Paths below the directory of the test.
  Texts names(const Texts& files) const {
    Texts out;
    for (const std::string& each : files) out.push_back(each.substr(at("").size()));
    return out;
  }
  Texts near(const std::string& path, const std::string& cwd) const {
    Texts out, warnings;
    for (const PathRules& each : rules_near(places(cwd), at(path), warnings)) out.push_back(each.file);
    EXPECT_EQ(warnings, Texts{});
    return names(out);
  }
  TempDir directory_;
};

TEST_F(InstructionsTest, ComeFromTheRootDown) {
  put("home/AGENTS.md", "be kind");
  put("repo/CLAUDE.md", "root rules");
  put("repo/src/AGENTS.md", "src rules");
  put("repo/src/CLAUDE.md", "not read beside AGENTS.md");
  const Instructions all = read("repo/src");
  EXPECT_EQ(names(all.files), (Texts{"home/AGENTS.md", "repo/CLAUDE.md", "repo/src/AGENTS.md"}));
  EXPECT_EQ(all.warnings, Texts{});
  EXPECT_LT(all.text.find("root rules"), all.text.find("src rules"));
  EXPECT_EQ(all.text.find("not read"), std::string::npos);
}

TEST_F(InstructionsTest, ALinkOutOfTheProjectIsNotFollowed) {
  put("secret", "the key");
  fs::create_symlink("../secret", at("repo/AGENTS.md"));
  const Instructions all = read();
  EXPECT_EQ(all.text, "");
  ASSERT_EQ(all.warnings.size(), 1u);
  EXPECT_NE(all.warnings[0].find("AGENTS.md is ignored"), std::string::npos) << all.warnings[0];
}

TEST_F(InstructionsTest, ALinkInsideTheProjectIsFollowed) {
  put("repo/CLAUDE.md", "the rules");
  fs::create_symlink("CLAUDE.md", at("repo/AGENTS.md"));
  EXPECT_NE(read().text.find("the rules"), std::string::npos);
}

// ---- imports

TEST(ImportsOf, AreWordsThatBeginWithAnAtSign) {
  EXPECT_EQ(imports_of("@a.md\nsee @docs/b.md, and (x) @~/c.md.\nann@example.org @"),
            (Texts{"a.md", "docs/b.md", "~/c.md"}));
}

TEST(ImportsOf, DoNotStandInCode) {
  EXPECT_EQ(imports_of("```\n@a.md\n```\n@b.md\n~~~ sh\n@c.md\n```\n@d.md\n~~~~\n"), Texts{"b.md"});
  EXPECT_EQ(imports_of("`@a.md` ``x ` @b.md`` a ` @c.md\n\n@d.md ` x\n"), (Texts{"c.md", "d.md"}));
  EXPECT_EQ(imports_of("text\n\n    @a.md\n\n\t@b.md\n@c.md\n"), Texts{"c.md"});
  EXPECT_EQ(imports_of("- item\n\n    @a.md\n"), Texts{"a.md"});
  EXPECT_EQ(imports_of("```\n@a.md\n"), Texts{});
}

TEST_F(InstructionsTest, AnImportIsRelativeToItsFileAndStandsBehindIt) {
  put("repo/AGENTS.md", "first @docs/style.md last");
  put("repo/docs/style.md", "tabs @more.md");
  put("repo/docs/more.md", "and so on @../AGENTS.md");
  const Instructions all = read();
  EXPECT_EQ(names(all.files), (Texts{"repo/AGENTS.md", "repo/docs/style.md", "repo/docs/more.md"}));
  EXPECT_EQ(all.text, "Instructions from " + at("repo/AGENTS.md") +
                          ":\n\nfirst @docs/style.md last\n\nInstructions from " + at("repo/docs/style.md") +
                          ":\n\ntabs @more.md\n\nInstructions from " + at("repo/docs/more.md") +
                          ":\n\nand so on @../AGENTS.md");
  EXPECT_EQ(all.warnings, Texts{});
}

TEST_F(InstructionsTest, ImportsGoFiveFilesDeep) {
  put("repo/AGENTS.md", "@1.md");
  for (int i = 1; i <= 6; ++i)
    put("repo/" + std::to_string(i) + ".md", "level " + std::to_string(i) + " @" + std::to_string(i + 1) + ".md");
  const Instructions all = read();
  EXPECT_NE(all.text.find("level 5"), std::string::npos);
  EXPECT_EQ(all.text.find("level 6"), std::string::npos);
  EXPECT_EQ(all.warnings, Texts{at("repo/5.md") + ": the import @6.md is ignored: imports are limited to five "
                                                  "levels"});
}

TEST_F(InstructionsTest, ARepositoryImportsNothingFromOutside) {
  put("user/notes.md", "private");
  put("outside.md", "private");
  fs::create_symlink(at("outside.md"), at("repo/link.md"));
  put("repo/AGENTS.md", "@~/notes.md @../outside.md @" + at("outside.md") + " @link.md @ann @missing.md");
  const Instructions all = read();
  EXPECT_EQ(all.text.find("private"), std::string::npos) << all.text;
  ASSERT_EQ(all.warnings.size(), 5u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NE(all.warnings[i].find("it is outside " + at("repo")), std::string::npos) << all.warnings[i];
  EXPECT_NE(all.warnings[3].find("link.md is ignored"), std::string::npos) << all.warnings[3];
  EXPECT_EQ(all.warnings[4], at("repo/AGENTS.md") + ": the import @missing.md is ignored: the file does not exist");
}

TEST_F(InstructionsTest, TheUsersOwnFileImportsFromAnywhereButNoKeysAndNothingOnwards) {
  put("user/notes.md", "mine @sub.md @../secret.md");
  put("user/sub.md", "also mine");
  put("secret.md", "a secret");
  put("home/credentials", "sk-key");
  put("home/AGENTS.md", "@~/notes.md @credentials");
  const Instructions all = read();
  EXPECT_EQ(names(all.files), (Texts{"home/AGENTS.md", "user/notes.md", "user/sub.md"}));
  EXPECT_EQ(all.text.find("sk-key"), std::string::npos);
  EXPECT_EQ(all.text.find("a secret"), std::string::npos);
  ASSERT_EQ(all.warnings.size(), 2u);
  EXPECT_NE(all.warnings[0].find("@../secret.md is ignored: it is outside " + at("user")), std::string::npos);
  EXPECT_NE(all.warnings[1].find("belongs to agentd itself"), std::string::npos) << all.warnings[1];
}

// ---- directories below

TEST_F(InstructionsTest, OfAPathAreThoseOfTheDirectoriesAboveItThatAreNotKnownYet) {
  put("repo/AGENTS.md", "root");
  put("repo/lib/AGENTS.md", "lib @extra.md");
  put("repo/lib/extra.md", "extra");
  put("repo/lib/deep/CLAUDE.md", "deep");
  put("repo/src/AGENTS.md", "src");
  put("AGENTS.md", "outside");
  EXPECT_EQ(near("repo/lib/deep/x.c", "repo"), (Texts{"repo/lib/AGENTS.md", "repo/lib/deep/CLAUDE.md"}));
  EXPECT_EQ(near("repo/lib/deep", "repo/src"), (Texts{"repo/lib/AGENTS.md", "repo/lib/deep/CLAUDE.md"}));
  EXPECT_EQ(near("repo/lib", "repo/lib"), Texts{});
  EXPECT_EQ(near("repo/x", "repo/src"), Texts{});
  EXPECT_EQ(near("x", "repo"), Texts{});
  Texts warnings;
  EXPECT_EQ(rules_near(places(), at("repo/lib/x"), warnings)[0].text, "Instructions from " + at("repo/lib/AGENTS.md") +
                                                                          ":\n\nlib @extra.md\n\nInstructions from " +
                                                                          at("repo/lib/extra.md") + ":\n\nextra");
}

}  // namespace
}  // namespace agentd
