// SPDX-License-Identifier: Apache-2.0
// Modules of every compiler and of every release, in the built program: in its process and in a
// worker.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "tests/abi/replay.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

// Every .so below the directory.
std::vector<std::string> modules_below(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(directory, none))
    if (entry.path().extension() == ".so") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string text_of(const std::string& path) { return read_file(path, 1u << 20).value_or(""); }

std::string beside(const std::string& module, const std::string& extension) {
  return fs::path(module).replace_extension(extension).string();
}

std::string existing(const std::string& path) { return fs::exists(path) ? path : ""; }

// The scenario of a module: that of its own name, or of the part before the first '_'.
std::string script_of(const std::string& module) {
  const std::string own = beside(module, ".yaml");
  if (fs::exists(own)) return own;
  const std::string stem = fs::path(module).stem().string();
  return (fs::path(module).parent_path() / (stem.substr(0, stem.find('_')) + ".yaml")).string();
}

struct Case {
  std::string module, isolation;
};

std::vector<Case> cases(const std::string& directory) {
  std::vector<Case> out;
  for (const std::string& module : modules_below(directory))
    for (const char* isolation : {"in-process", "process"}) out.push_back({module, isolation});
  return out;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string out = fs::path(info.param.module).parent_path().filename().string() + "_" +
                    fs::path(info.param.module).stem().string() + "_" + info.param.isolation;
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return out;
}

// ---- old binaries

class Corpus : public ::testing::TestWithParam<Case> {};

TEST_P(Corpus, DoesWhatItDidWhenItWasReleased) {
  const Case& each = GetParam();
  const std::string expected = beside(each.module, ".txt");
  const std::string seen =
      replay({each.module, script_of(each.module), each.isolation, existing(beside(each.module, ".hook.json"))});
  if (std::getenv("AGENTD_CORPUS_RECORD") != nullptr && !fs::exists(expected)) {
    ASSERT_TRUE(write_file_atomically(expected, seen, 0644));
    GTEST_SKIP() << "recorded " << expected;
  }
  EXPECT_EQ(seen, text_of(expected));
}

INSTANTIATE_TEST_SUITE_P(Releases, Corpus, ::testing::ValuesIn(cases(AGENTD_CORPUS)), name_of);

TEST(CorpusOfReleases, HasNotLostAModule) { EXPECT_GE(modules_below(AGENTD_CORPUS).size(), 6u); }

TEST(CorpusOfReleases, ModulesAreSmall) {
  for (const std::string& module : modules_below(AGENTD_CORPUS)) EXPECT_LE(fs::file_size(module), 40'000u) << module;
}

// Every file of a release stands in its list, and is what it was.
TEST(CorpusOfReleases, IsNeverRewritten) {
  std::size_t releases = 0;
  for (const auto& release : fs::directory_iterator(AGENTD_CORPUS)) {
    if (!release.is_directory()) continue;
    ++releases;
    const std::string list = text_of((release.path() / "SHA256SUMS").string());
    EXPECT_FALSE(list.empty()) << release.path();
    std::size_t files = 0;
    for (const auto& file : fs::directory_iterator(release.path())) {
      const std::string name = file.path().filename().string();
      if (name == "SHA256SUMS") continue;
      ++files;
      const std::string line = hex(sha256(text_of(file.path().string()))) + "  " + name + "\n";
      EXPECT_NE(list.find(line), std::string::npos) << file.path() << " is not what was released";
    }
    EXPECT_EQ(static_cast<std::size_t>(std::count(list.begin(), list.end(), '\n')), files) << release.path();
  }
  EXPECT_GE(releases, 1u);
}

// ---- today's template, by every compiler (hello.sh makes them)

class Compilers : public ::testing::TestWithParam<Case> {};

TEST_P(Compilers, MakeAHookThatActs) {
  const Case& each = GetParam();
  const std::string seen =
      replay({each.module, std::string(AGENTD_CORPUS) + "/1.0/hello.yaml", each.isolation,
              each.module.find("_tcc") == std::string::npos ? "" : AGENTD_TEMPLATE "/hello.hook.json"});
  EXPECT_EQ(seen, text_of(std::string(AGENTD_CORPUS) + "/1.0/hello_c.txt"));
}

std::vector<Case> made_by_compilers() {
  std::vector<Case> out;
  for (Case& each : cases(AGENTD_MADE))
    if (fs::path(each.module).filename().string().starts_with("hello_")) out.push_back(std::move(each));
  return out;
}

INSTANTIATE_TEST_SUITE_P(Made, Compilers, ::testing::ValuesIn(made_by_compilers()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Compilers);

TEST(CompilersOfHello, MadeTheirModules) { EXPECT_GE(made_by_compilers().size(), 2u * 5u); }

}  // namespace
}  // namespace agentd::testing
