// SPDX-License-Identifier: Apache-2.0
// The tree keeps its rules, and each rule finds a tree that breaks it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "tests/tidy/rules.h"

namespace tidy {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = AGENTD_SOURCE_DIR;

std::string joined(const Findings& findings) {
  std::string out;
  for (const std::string& each : findings) out += each + "\n";
  return out;
}

// A small tree that a test breaks in one place.
class Tree : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tidy.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    put("cmake/rooms.txt",
        "# Comment | is | none\ncore/base | - | a\ncore/codec | base | c\ncore/model | base | b\n"
        "core/agent | base | c\ncore/app | agent providers_one | d\nproviders/one | codec | it\n"
        "plugins/x | codec | it\n");
    code("core/base/a.h", "#pragma once\n#include <string>\n");
    code("core/model/m.cc", "#include <agentd/hook_abi.h>\n#include \"core/base/a.h\"\n");
    code("core/agent/a.cc", "#include \"core/base/a.h\"\n#include \"core/agent/b.h\"\n");
    code("core/app/main.cc", "#include \"core/agent/b.h\"\n#include \"providers/one/p.h\"\n");
    code("core/codec/c.cc", "#include \"core/base/a.h\"\n");
    code("providers/one/p.cc", "#include \"core/codec/json.h\"\n#include \"providers/one/p.h\"\n");
    code("plugins/x/x.cc", "#include \"core/codec/json.h\"\n#include \"plugins/x/y.h\"\n");
    code("plugin-api/include/agentd/a.h", "#include <stdint.h>\n#include \"b.h\"\n");
    code("plugin-api/cpp/agentd/a.hpp", "#pragma once\n#include <string>\n#include <agentd/a.h>\n");
    code("tests/unit/base/a_test.cc", "#include \"core/agent/b.h\"\n");
    put("tests/unit/base/CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\nx(a_test.cc)\n");
    put("core/README.md", "- `base/` a\n- `codec/` c\n- `model/` b\n- `agent/` c\n- `app/` d\n");
    for (const char* line : {"providers:one", "plugins:x", "tests:unit"}) {
      const std::string text(line);
      const std::size_t colon = text.find(':');
      put(text.substr(0, colon) + "/README.md", "- `" + text.substr(colon + 1) + "/` it\n");
    }
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void code(const std::string& name, const std::string& text) {
    put(name, "// SPDX-License-Identifier: Apache-2.0\n" + text);
  }
  Rooms rooms() const { return Rooms::read(root_ / "cmake/rooms.txt"); }
  Findings layers() const { return layer_breaks(root_, rooms()); }
  fs::path root_;
};

TEST_F(Tree, ThatKeepsTheRulesHasNoFindings) {
  for (const Findings& findings :
       {layers(), idle_rows(root_, rooms()), room_cycles(rooms()), missing_licenses(root_), missing_guards(root_),
        long_files(root_), long_lines(root_), leftovers(root_), unregistered_tests(root_), unlisted_folders(root_)})
    EXPECT_EQ(joined(findings), "");
}

// A file with one include that breaks the layers.
struct BadInclude {
  const char* file;
  const char* include;
  const char* sentence;
};
class Include : public Tree, public ::testing::WithParamInterface<BadInclude> {};

TEST_P(Include, OfAnotherLayerIsFound) {
  code(GetParam().file, std::string("#include ") + GetParam().include + "\n");
  const Findings findings = layers();
  ASSERT_EQ(findings.size(), 1u) << joined(findings);
  EXPECT_EQ(findings[0], std::string(GetParam().file) + ":2: " + GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(
    Bad, Include,
    ::testing::Values(
        BadInclude{"core/base/bad.cc", "\"core/agent/b.h\"", "base may not include core/agent/b.h"},
        BadInclude{"core/codec/bad.h", "<core/model/m.h>", "codec may not include core/model/m.h"},
        BadInclude{"core/agent/bad.cc", "\"providers/one/p.h\"", "agent may not include providers/one/p.h"},
        BadInclude{"core/agent/bad.cc", "\"core/app/a.h\"", "agent may not include core/app/a.h"},
        BadInclude{"core/agent/bad.cc", "\"plugins/x/y.h\"", "agent may not include plugins/x/y.h"},
        BadInclude{"core/agent/bad.cc", "\"tests/x.h\"", "agent may not include tests/x.h"},
        BadInclude{"core/agent/bad.cc", "\"b.h\"", "write the path from the root: b.h"},
        BadInclude{"core/unknown/bad.cc", "\"core/base/a.h\"", "cmake/rooms.txt has no row for unknown"},
        BadInclude{"plugins/x/bad.cc", "\"core/model/m.h\"", "plugins_x may not include core/model/m.h"},
        BadInclude{"plugins/x/bad.cc", "\"plugins/z/z.h\"", "plugins_x may not include plugins/z/z.h"},
        BadInclude{"plugins/x/bad.cc", "\"core/base/a.h\"", "plugins_x may not include core/base/a.h"},
        BadInclude{"providers/one/bad.cc", "\"core/agent/b.h\"", "providers_one may not include core/agent/b.h"},
        BadInclude{"plugin-api/cpp/agentd/bad.hpp", "\"core/base/a.h\"", "plugin-api may not include core/base/a.h"},
        BadInclude{"plugin-api/include/agentd/bad.h", "<string.h>",
                   "the C headers include stddef.h and stdint.h only, not string.h"},
        BadInclude{"core/agent/bad.cc", "<rapidjson/document.h>", "rapidjson/document.h is wrapped by core/codec/"},
        BadInclude{"core/model/bad.cc", "<regex>",
                   "<regex> is slow to compile and to run: use RE2 or write the few lines"}));

TEST_F(Tree, WithARowThatNamesWhatNothingIncludesIsFound) {
  put("cmake/rooms.txt", "core/base | - | a\ncore/agent | base model | c\n");
  EXPECT_EQ(idle_rows(root_, rooms()), Findings{"cmake/rooms.txt: nothing in core/agent includes model"});
}

TEST_F(Tree, WithRoomsInACircleIsFound) {
  put("cmake/rooms.txt", "core/a | b | a\ncore/b | c | b\ncore/c | a | c\ncore/d | a | d\n");
  EXPECT_EQ(room_cycles(rooms()).size(), 3u) << joined(room_cycles(rooms()));
}

TEST_F(Tree, ShowsItsRoomsInItsPages) {
  put("cmake/rooms.txt", "core/base | - | what all need\nplugins/x | base codec | a plugin\n");
  EXPECT_EQ(layers_page(rooms()), "core/base                -\nplugins/x                base codec\n");
  EXPECT_EQ(readme_page(rooms(), "plugins"), "- `x/` a plugin\n");
}

TEST_F(Tree, WithAFileWithoutALicenseIsFound) {
  put("core/base/bad.cc", "int x;\n");
  EXPECT_EQ(missing_licenses(root_).size(), 1u);
}

TEST_F(Tree, WithAHeaderWithoutAGuardIsFound) {
  code("core/base/bad.h", "int x;\n");
  EXPECT_EQ(missing_guards(root_).size(), 1u);
}

TEST_F(Tree, WithALongFileIsFound) {
  code("core/base/bad.cc", std::string(1'000, '\n'));
  EXPECT_EQ(long_files(root_).size(), 1u);
}

TEST_F(Tree, WithALongLineIsFoundByItsColumns) {
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  code("core/base/good.cc", "// " + umlauts.substr(0, 194) + "\n");
  EXPECT_EQ(joined(long_lines(root_)), "");
  code("core/base/bad.cc", std::string(101, '/') + "\n");
  EXPECT_EQ(long_lines(root_), Findings{"core/base/bad.cc:2: 101 columns"});
}

TEST_F(Tree, WithANoteToOneselfIsFound) {
  code("core/base/bad.cc", std::string("// FIX") + "ME later\n");
  EXPECT_EQ(leftovers(root_).size(), 1u);
}

TEST_F(Tree, WithATestThatIsNotBuiltIsFound) {
  code("tests/unit/base/forgotten_test.cc", "");
  EXPECT_EQ(unregistered_tests(root_).size(), 1u);
}

TEST_F(Tree, WithAFolderThatItsReadmeDoesNotNameIsFound) {
  fs::create_directories(root_ / "core/extra");
  EXPECT_EQ(unlisted_folders(root_), Findings{"core/README.md:1: no line for extra/"});
}

// ---- this tree

TEST(ThisTree, KeepsItsLayers) {
  const Rooms rooms = Rooms::read(kRoot / "cmake/rooms.txt");
  EXPECT_TRUE(rooms.may("agent", "base")) << "the table was read";
  EXPECT_FALSE(rooms.may("base", "agent"));
  EXPECT_EQ(joined(layer_breaks(kRoot, rooms)), "");
  EXPECT_EQ(joined(idle_rows(kRoot, rooms)), "");
  EXPECT_EQ(joined(room_cycles(rooms)), "");
}

// The part of a page that is made from the table; AGENTD_UPDATE_DOCS writes it there.
void expect_page(const fs::path& path, const std::string& before, const std::string& after, const std::string& wanted) {
  std::ifstream in(path);
  std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t begin = text.find(before) + before.size();
  const std::size_t end = after.empty() ? text.size() : text.find(after, begin);
  ASSERT_NE(text.find(before), std::string::npos) << path;
  ASSERT_NE(end, std::string::npos) << path;
  if (std::getenv("AGENTD_UPDATE_DOCS") != nullptr)
    std::ofstream(path) << text.replace(begin, end - begin, wanted);
  else
    EXPECT_EQ(text.substr(begin, end - begin), wanted) << path << ": write it with AGENTD_UPDATE_DOCS=1";
}

TEST(ThisTree, ShowsItsRoomsInItsPages) {
  const Rooms rooms = Rooms::read(kRoot / "cmake/rooms.txt");
  expect_page(kRoot / "ARCHITECTURE.md", "plugin-api               -\n", "```", layers_page(rooms));
  for (const std::string top : {"core", "plugins", "providers"})
    expect_page(kRoot / top / "README.md", "", "", readme_page(rooms, top));
}

TEST(ThisTree, HasALicenseInEveryFile) { EXPECT_EQ(joined(missing_licenses(kRoot)), ""); }
TEST(ThisTree, GuardsItsHeaders) { EXPECT_EQ(joined(missing_guards(kRoot)), ""); }
TEST(ThisTree, HasNoFileOfMoreThanAThousandLines) { EXPECT_EQ(joined(long_files(kRoot)), ""); }
TEST(ThisTree, HasNoNotesToOneself) { EXPECT_EQ(joined(leftovers(kRoot)), ""); }
TEST(ThisTree, BuildsAllOfItsTests) { EXPECT_EQ(joined(unregistered_tests(kRoot)), ""); }
TEST(ThisTree, NamesItsFoldersInItsReadmes) { EXPECT_EQ(joined(unlisted_folders(kRoot)), ""); }

// A warning: clang-format leaves long texts alone. One line for each file.
TEST(ThisTree, ListsItsLongLines) {
  std::map<std::string, int> files;
  for (const std::string& each : long_lines(kRoot)) ++files[each.substr(0, each.find(':'))];
  for (const auto& [file, lines] : files)
    std::cout << "warning: " << file << ": " << lines << " lines of more than 100 columns\n";
}

}  // namespace
}  // namespace tidy
