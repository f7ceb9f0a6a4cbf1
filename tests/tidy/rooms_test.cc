// SPDX-License-Identifier: Apache-2.0
// Rooms include what their row names, and the pages show the table.
#include "tests/tidy/rooms.h"

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

namespace fs = std::filesystem;

class RoomsTree : public Tree {
 protected:
  Rooms rooms() const { return Rooms::read(root_ / "cmake/rooms.txt"); }
  Findings layers() const { return layer_breaks(root_, rooms()); }
};

TEST_F(RoomsTree, ThatKeepsTheRulesHasNoFindings) {
  for (const Findings& findings : {layers(), idle_rows(root_, rooms()), room_cycles(rooms())})
    EXPECT_EQ(joined(findings), "");
}

// A file with one include that breaks the layers.
struct BadInclude {
  const char* file;
  const char* include;
  const char* sentence;
};
class Include : public RoomsTree, public ::testing::WithParamInterface<BadInclude> {};

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

TEST_F(RoomsTree, WithARowThatNamesWhatNothingIncludesIsFound) {
  put("cmake/rooms.txt", "core/base | - | a\ncore/agent | base model | c\n");
  EXPECT_EQ(idle_rows(root_, rooms()), Findings{"cmake/rooms.txt: nothing in core/agent includes model"});
}

TEST_F(RoomsTree, WithRoomsInACircleIsFound) {
  put("cmake/rooms.txt", "core/a | b | a\ncore/b | c | b\ncore/c | a | c\ncore/d | a | d\n");
  EXPECT_EQ(room_cycles(rooms()).size(), 3u) << joined(room_cycles(rooms()));
}

TEST_F(RoomsTree, ShowsItsRoomsInItsPages) {
  put("cmake/rooms.txt", "core/base | - | what all need\nplugins/x | base codec | a plugin\n");
  EXPECT_EQ(layers_page(rooms()), "core/base                -\nplugins/x                base codec\n");
  EXPECT_EQ(readme_page(rooms(), "plugins"), "- `x/` a plugin\n");
}

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

}  // namespace
}  // namespace tidy
