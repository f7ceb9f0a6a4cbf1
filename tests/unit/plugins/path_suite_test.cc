// SPDX-License-Identifier: Apache-2.0
// Paths that try to leave the workspace, given to every tool that takes one, and links that flip while the tools run.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "core/conversation/tool_input.h"
#include "tests/unit/plugins/plugin_fixture.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

// What nothing may show: the content, and the name, of files outside of the workspace, and a key of agentd.
const std::string kCanary = "outside-content-7341", kCanaryName = "outside-name-7341", kKey = "hidden-key-7341";

class Tree : public ::testing::Test {
 protected:
  Tree() : host_(load_plugin("workspace_tools")) {
    base_ = folder_.path;
    root_ = base_ + "/work";
    for (const char* const name : {"work/a.txt", "work/inside/b.txt", "work/inside/deep/c.txt"})
      folder_.put(name, "inside\n");
    for (const char* const name : {"secret.txt", "work-evil/secret.txt", "outside/file.txt", "outside/deep/secret.txt"})
      folder_.put(name, kCanary + "\n");
    folder_.put(kCanaryName + ".txt", "x");
    folder_.put("outside/" + kCanaryName + ".txt", "x");
    folder_.put("work/.agent/config.yaml", "deny\n");
    folder_.put("work/.agent/keys", kKey + "\n");
    link("../secret.txt", "file_out");
    link(base_ + "/secret.txt", "file_absolute");
    link("..", "up");
    link("up", "chain");
    link("/", "slash");
    link("/proc/self/root", "magic");
    link("/proc/self/cwd", "cwd");
    link("../outside", "folder_out");
    link("../../outside", "inside/folder_out");
    link("loop", "loop");
    link("inside", "alias");
    link(".agent", "agent");
    link("../.agent/config.yaml", "inside/settings");
    link(".agent/keys", "keys");
    services_.emplace(host_, root_, std::vector<std::string>{root_ + "/.agent"},
                      std::vector<std::string>{root_ + "/.agent/keys"});
    EXPECT_EQ(host_.create("{}").status, AGENTD_OK);
    host_.turn_start();
  }
  ~Tree() override { EXPECT_EQ(host_.breaches(), std::vector<std::string>{}); }

  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, root_ + "/" + name);
  }
  static std::string quoted(std::string_view text) {
    JsonWriter out;
    return std::string(out.string(text).text());
  }
  // What stays as it is: everything outside of the workspace, and agentd's own files in it.
  std::map<std::string, std::string> protected_files() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(base_)) {
      const std::string name = entry.path().lexically_relative(base_).string();
      if (name.starts_with("work/") && !name.starts_with("work/.agent")) continue;
      out[name] = entry.is_regular_file() ? folder_.get(name) : "(other)";
    }
    return out;
  }
  // Calls the tool and looks at all that it says.
  void call(std::string_view tool, const std::string& input, const std::string& path) {
    const outcome got = host_.invoke(tool, input);
    const std::string said = got.output() + got.error;
    for (const std::string& secret : {kCanary, kCanaryName, kKey})
      EXPECT_EQ(said.find(secret), std::string::npos)
          << tool << " with " << ::testing::PrintToString(path) << ": " << said;
  }
  static std::vector<std::pair<std::string, std::string>> inputs_of(const std::string& path) {
    const std::string begin = R"({"path":)" + quoted(path);
    return {{"read_file", begin + "}"},
            {"edit_file", begin + R"(,"old_string":)" + quoted(kCanary) + R"(,"new_string":"changed"})"},
            {"edit_file", begin + R"(,"old_string":"deny","new_string":"allow"})"},
            {"edit_file", begin + R"(,"edits":[{"old_string":"x","new_string":"changed"}]})"},
            {"write_file", begin + R"(,"content":"changed"})"},
            {"glob", begin + R"(,"pattern":"**/*","include_ignored":true,"limit":1000})"},
            {"grep", begin + R"(,"pattern":"7341|deny","output_mode":"content","include_ignored":true})"},
            {"glob", R"({"pattern":)" + quoted(path) + "}"},
            {"grep", R"({"pattern":"7341","glob":)" + quoted(path) + "}"}};
  }

  TempFolder folder_;
  std::string base_, root_;
  fake_host host_;
  std::optional<RealServices> services_;
};

// ---- the paths

void add_climbs(std::set<std::string>& out, const std::string& target) {
  for (const char* const up :
       {"../", "..//", "./../", ".././", "inside/../../", "inside/deep/../../../", "alias/../../", "a.txt/../../",
        "missing/../../", ".agent/../../", "//../", "inside//..//..//"})
    out.insert(up + target);
  std::string climb;
  for (int i = 0; i < 12; ++i) out.insert((climb += "../") + target);
}

void add_encodings(std::set<std::string>& out, const std::string& target) {
  for (const char* const dots : {"%2e%2e/",
                                 "%2e%2e%2f",
                                 "..%2f",
                                 "..%5c",
                                 "%252e%252e%252f",
                                 "..%c0%af",
                                 "..%00/",
                                 "..\\",
                                 "..\\/",
                                 "\\..\\",
                                 ".\xE2\x80\x8B./",
                                 "..\xE2\x80\x8B/",
                                 "\xEF\xBC\x8E\xEF\xBC\x8E/",
                                 "\xE2\x80\xA5/",
                                 "..\xE2\x88\x95",
                                 "..\xE2\x81\x84",
                                 "..\xEF\xBC\x8F",
                                 "\xE2\x80\xAE../",
                                 "..\xC2\xA0/",
                                 ".. /",
                                 " ../",
                                 "../ ",
                                 "\t../",
                                 "../\n",
                                 "...//",
                                 "..;/",
                                 "..%01/",
                                 "\xCC\x88../",
                                 "..\xCC\xB8/",
                                 "file:../",
                                 "file://../",
                                 "@../",
                                 "~/../",
                                 "$HOME/../",
                                 "${PWD}/../",
                                 "`..`/",
                                 "$(pwd)/../",
                                 "*/../",
                                 "?/../",
                                 "[.][.]/",
                                 "{..,.}/",
                                 "..\x7F/",
                                 ".\x01./"})
    out.insert(dots + target);
  // Bytes that are no UTF-8: a tool never gets them, but the workspace is asked with them.
  for (const char* const dots : {"\xC0\xAE\xC0\xAE/", "..\xC0\xAF", "\xE0\x80\xAE\xE0\x80\xAE/", "..\xFF/", "\xFE../"})
    out.insert(dots + target);
}

void add_nuls(std::set<std::string>& out, const std::string& target) {
  for (const std::string& path : {"a.txt\0/../../"s, "\0../"s, "..\0/"s, "../\0"s, "inside\0/../../"s})
    out.insert(path + target);
  out.insert("../" + target + "\0"s);
  out.insert("../" + target + "\0.txt"s);
}

void add_absolute(std::set<std::string>& out, const std::string& base, const std::string& root,
                  const std::string& target) {
  const std::string file = base + "/" + target;
  for (const std::string& path : {file,
                                  "/" + file,
                                  "//" + file,
                                  "/." + file,
                                  "/.." + file,
                                  "/../.." + file,
                                  "/proc/self/root" + file,
                                  "/proc/thread-self/root" + file,
                                  "/proc/" + std::to_string(::getpid()) + "/root" + file,
                                  "/proc/self/cwd/.." + file,
                                  "/proc/self/task/../root" + file,
                                  "/dev/fd/../../proc/self/root" + file,
                                  root + "/../" + target,
                                  root + "/./../" + target,
                                  root + "//../" + target,
                                  root + "/inside/../../" + target,
                                  root + "/alias/../../" + target,
                                  root + "/up/" + target,
                                  root + "/magic" + file,
                                  root + "/slash" + file,
                                  root + "/../work/../" + target,
                                  base + "/work-evil/../" + target,
                                  base + "/./work/../" + target,
                                  base + "/outside/../" + target})
    out.insert(path);
}

void add_links(std::set<std::string>& out, const std::string& base, const std::string& target) {
  for (const std::string& path : {"up/"s,
                                  "chain/"s,
                                  "up//"s,
                                  "up/./"s,
                                  "./up/"s,
                                  "inside/../up/"s,
                                  "chain/../"s,
                                  "up/work/../"s,
                                  "up/work/up/"s,
                                  "slash" + base + "/",
                                  "magic" + base + "/",
                                  "slash/.." + base + "/",
                                  "magic/proc/self/root" + base + "/",
                                  "cwd/../"s,
                                  "loop/../../"s,
                                  "folder_out/../"s,
                                  "inside/folder_out/../"s,
                                  "alias/folder_out/../"s,
                                  "alias/../../"s,
                                  "agent/../../"s})
    out.insert(path + target);
}

void add_own(std::set<std::string>& out, const std::string& root) {
  for (const char* const name : {"config.yaml", "keys", "new.yaml", "hooks/evil.so", ""})
    for (const std::string& folder :
         {".agent/"s, "./.agent/"s, ".agent//"s, ".agent/./"s, "inside/../.agent/"s, "agent/"s, "./agent//"s,
          "alias/../agent/"s, ".AGENT/"s, ".Agent/"s, root + "/.agent/", root + "/agent/",
          "/proc/self/root" + root + "/.agent/", root + "/inside/../.agent/"})
      out.insert(folder + name);
  for (const char* const path : {"inside/settings", "alias/settings", "keys", "keys/", "./keys", ".agent", "agent"})
    out.insert(path);
}

void add_others(std::set<std::string>& out, const std::string& base, const std::string& root) {
  for (const std::string& path : {""s,
                                  "."s,
                                  ".."s,
                                  "/"s,
                                  "//"s,
                                  "../"s,
                                  "../."s,
                                  "./.."s,
                                  "..."s,
                                  "up"s,
                                  "chain"s,
                                  "slash"s,
                                  "magic"s,
                                  "cwd"s,
                                  "loop"s,
                                  "loop/x"s,
                                  "file_out"s,
                                  "file_out/"s,
                                  "./file_out"s,
                                  "file_absolute"s,
                                  "inside/../file_out"s,
                                  "folder_out"s,
                                  "folder_out/"s,
                                  "folder_out/file.txt"s,
                                  "folder_out/new/file.txt"s,
                                  "alias/folder_out/file.txt"s,
                                  "inside/folder_out/file.txt"s,
                                  root,
                                  root + "/",
                                  root + "/..",
                                  base,
                                  root + "-evil",
                                  root + "-evil/secret.txt",
                                  root + "/../work-evil/secret.txt",
                                  root + "/a.txt/",
                                  root + "/a.txt/.",
                                  "a.txt/"s,
                                  "a.txt/.."s,
                                  "a.txt/../a.txt"s,
                                  "/etc/passwd"s,
                                  "/etc/passwd/"s,
                                  "/dev/null"s,
                                  "/dev/stdin"s,
                                  "/dev/fd/0"s,
                                  "/proc/self/mem"s,
                                  "/proc/self/environ"s,
                                  "/proc/self/fd/0"s,
                                  "/proc/self/fd"s,
                                  "/proc/1/root/etc/passwd"s,
                                  "-"s,
                                  "--"s,
                                  "~"s,
                                  "~root"s,
                                  "~/x"s,
                                  "CON"s,
                                  "a.txt::$DATA"s,
                                  "\\\\server\\share"s,
                                  "C:\\x"s})
    out.insert(path);
  out.insert(std::string(256, 'a'));
  out.insert(std::string(5'000, 'a'));
  out.insert(std::string(300, '/') + base.substr(1) + "/secret.txt");
  for (const char* const step : {"./", "inside/../", "alias/../", "a/../"}) {
    std::string path;
    while (path.size() < 3'900) path += step;
    out.insert(path + "../secret.txt");
    out.insert(path + path + "../secret.txt");
  }
}

std::vector<std::string> all_paths(const std::string& base, const std::string& root) {
  std::set<std::string> out;
  for (const char* const target : {"secret.txt", "outside/file.txt"}) {
    add_climbs(out, target);
    add_encodings(out, target);
    add_nuls(out, target);
    add_absolute(out, base, root, target);
    add_links(out, base, target);
  }
  add_own(out, root);
  add_others(out, base, root);
  return {out.begin(), out.end()};
}

TEST_F(Tree, IsLeftByNoPathWithAnyTool) {
  const std::vector<std::string> paths = all_paths(base_, root_);
  EXPECT_GE(paths.size(), 300u);
  const auto before = protected_files();
  const std::vector<std::string> keys{"path"}, roots{root_};
  const InputPaths resolve{keys, root_, root_, base_, roots};
  std::size_t refused = 0;
  for (const std::string& path : paths)
    for (const auto& [tool, input] : inputs_of(path)) {
      call(tool, input, path);  // as a plugin may be called without agentd's own care
      const auto made = ToolInput::make(input, resolve);
      if (made) call(tool, made->text(), path);
      refused += made ? 0u : 1u;
    }
  EXPECT_EQ(protected_files(), before);
  EXPECT_EQ(refused, 0u) << "the inputs themselves are sound";
}

TEST_F(Tree, IsLeftByNoPathOfTheWorkspaceItself) {
  auto workspace = open_workspace({root_}, {root_ + "/.agent"}, {root_ + "/.agent/keys"});
  ASSERT_TRUE(workspace);
  const auto before = protected_files();
  for (const std::string& path : all_paths(base_, root_)) {
    const auto read = (*workspace)->read(path, 0, 0, nullptr);
    if (read) {
      for (const std::string& secret : {kCanary, kKey})
        EXPECT_EQ(read->find(secret), std::string::npos) << ::testing::PrintToString(path);
    }
    const auto listed = (*workspace)->list(path, 0, 0);
    if (listed) {
      for (const FileEntry& entry : listed->entries)
        EXPECT_EQ(entry.path.find(kCanaryName), std::string::npos) << ::testing::PrintToString(path);
    }
    (void)(*workspace)->replace(path, kCanary + "\n", "changed");
    (void)(*workspace)->replace(path, "deny\n", "allow");
    (void)(*workspace)->write(path, "changed");
  }
  EXPECT_EQ(protected_files(), before);
}

// Negative control: whoever opens the same paths without care is led out by many of them.
TEST_F(Tree, WouldBeLeftByManyOfThePaths) {
  const fs::path here = fs::current_path();
  fs::current_path(root_);
  std::size_t outside = 0, own = 0;
  for (const std::string& path : all_paths(base_, root_)) {
    if (path.starts_with("/dev/") || path.starts_with("/proc/self/fd")) continue;  // may wait for a terminal
    std::ifstream in(path.front() == '/' ? path : root_ + "/" + path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    outside += text.str().find(kCanary) != std::string::npos ? 1u : 0u;
    own += text.str().find(kKey) != std::string::npos ? 1u : 0u;
  }
  EXPECT_GE(outside, 60u);
  EXPECT_GE(own, 10u);
  fs::current_path(here);
}

// ---- what changes while a tool looks

// Flips "spot" between a folder of the workspace and one outside, as a link, and "swap" as the folder itself, which
// changes places with a link.
class Flipper {
 public:
  Flipper(const std::string& root, bool swaps) : root_(root), swaps_(swaps), thread_([this] { run(); }) {}
  ~Flipper() {
    stop_ = true;
    thread_.join();
  }
  int flips() const { return flips_; }

 private:
  void run() {
    const std::string beside = root_ + "/spot.new";
    for (bool out = true; !stop_; out = !out) {
      ::unlink(beside.c_str());
      if (::symlink(out ? "../outside" : "real", beside.c_str()) == 0)
        ::rename(beside.c_str(), (root_ + "/spot").c_str());
      if (swaps_) exchange(root_);
      ++flips_;
    }
  }

 public:
  static bool exchange(const std::string& root) {
    return ::syscall(SYS_renameat2, AT_FDCWD, (root + "/swap").c_str(), AT_FDCWD, (root + "/swap.link").c_str(),
                     RENAME_EXCHANGE) == 0;
  }

 private:
  const std::string root_;
  const bool swaps_;
  std::atomic<bool> stop_{false};
  std::atomic<int> flips_{0};
  std::thread thread_;
};

class Race : public Tree {
 protected:
  Race() {
    for (const char* const name : {"work/real/file.txt", "work/swap/file.txt"}) folder_.put(name, "inside\n");
    link("real", "spot");
    link("../outside", "swap.link");
    swaps_ = Flipper::exchange(root_) && Flipper::exchange(root_);  // a file system may not know how
  }
  // Calls `each` with either path until the links have flipped often and `done` says that both sides were seen.
  void race(const std::function<void(const std::string& folder)>& each, const std::function<bool()>& done) {
    const auto before = protected_files();
    {
      const Flipper flipper(root_, swaps_);
      for (int round = 0; round < 500 || ((flipper.flips() < 1'000 || !done()) && round < 200'000); ++round)
        each(round % 2 == 0 || !swaps_ ? "spot" : "swap");
      EXPECT_GE(flipper.flips(), 1'000);
    }
    EXPECT_TRUE(done()) << "one side was never seen";
    EXPECT_EQ(protected_files(), before);
  }
  // Runs the tool on both folders.
  void race_tool(const std::string& tool, const std::function<std::string(const std::string& folder)>& input) {
    int good = 0, bad = 0;
    race(
        [&](const std::string& folder) {
          const outcome got = host_.invoke(tool, input(folder));
          ++(got.tool_failed() ? bad : good);
          for (const std::string& secret : {kCanary, kCanaryName})
            ASSERT_EQ(got.output().find(secret), std::string::npos) << got.output();
        },
        [&] { return good > 0 && bad > 0; });
  }

  bool swaps_ = false;
};

TEST_F(Race, ReadFileNeverReadsOutside) {
  race_tool("read_file", [](const std::string& folder) { return R"({"path":")" + folder + R"(/file.txt"})"; });
}

TEST_F(Race, WriteFileNeverWritesOutside) {
  race_tool("write_file",
            [](const std::string& folder) { return R"({"path":")" + folder + R"(/new.txt","content":"mine"})"; });
}

TEST_F(Race, GlobNeverListsOutside) {
  race_tool("glob", [](const std::string& folder) { return R"({"pattern":"**/*","path":")" + folder + R"("})"; });
}

TEST_F(Race, GrepNeverSearchesOutside) {
  race_tool("grep", [](const std::string& folder) {
    return R"({"pattern":"inside|7341","output_mode":"content","path":")" + folder + R"("})";
  });
}

// From the root, the walk itself meets a folder that has become a link.
TEST_F(Race, SearchesOfEverythingStayInside) {
  race(
      [&](const std::string&) {
        call("glob", R"({"pattern":"**/*","limit":1000})", ".");
        call("grep", R"({"pattern":"7341","output_mode":"content"})", ".");
      },
      [] { return true; });
}

// Both files have the same text, so that an edit fits either.
TEST_F(Race, EditFileNeverChangesOutside) {
  for (const char* const name : {"work/real/file.txt", "work/swap/file.txt", "outside/file.txt"})
    folder_.put(name, "same\n");
  int good = 0, bad = 0;
  race(
      [&](const std::string& folder) {
        const std::string path = R"({"path":")" + folder + R"(/file.txt")";
        host_.invoke("write_file", path + R"(,"content":"same\n"})");
        host_.invoke("read_file", path + "}");
        const outcome got = host_.invoke("edit_file", path + R"(,"old_string":"same","new_string":"mine"})");
        ++(got.tool_failed() ? bad : good);
      },
      [&] { return good > 0 && bad > 0; });
}

// Negative control: whoever checks first and opens then is led out.
TEST_F(Race, IsLostByACheckBeforeTheOpening) {
  int outside = 0;
  race(
      [&](const std::string& folder) {
        std::error_code failed;
        const std::string file = root_ + "/" + folder + "/file.txt";
        if (!fs::canonical(file, failed).string().starts_with(root_ + "/") || failed) return;
        std::ifstream in(file);
        std::string word;
        in >> word;
        outside += word == kCanary ? 1 : 0;
      },
      [&] { return outside > 0; });
}

}  // namespace
}  // namespace agentd::testing
