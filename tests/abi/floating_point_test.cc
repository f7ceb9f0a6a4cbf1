// SPDX-License-Identifier: Apache-2.0
// A module that was built with -Ofast turns denormals off for whoever loads it, unless the host
// takes care.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "core/bridge/module.h"

#if defined(__SSE__)
#include <xmmintrin.h>

namespace agentd {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fast_modules() {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(AGENTD_MADE, none))
    if (entry.path().filename().string().starts_with("hello_fast_")) out.push_back(entry.path().string());
  return out;
}

// The test after this one is worth nothing if no compiler does that any more.
TEST(FloatingPoint, ABareLoadOfAnOfastModuleChangesTheModes) {
  const unsigned before = _mm_getcsr();
  unsigned changed = 0;
  for (const std::string& path : fast_modules()) {
    const std::string copy = path + ".copy";
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    ASSERT_NE(::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
    if ((_mm_getcsr() & 0x8040u) != (before & 0x8040u)) ++changed;
    _mm_setcsr(before);
    fs::remove(copy);
  }
  if (changed == 0) GTEST_SKIP() << "these compilers leave the modes alone";
  EXPECT_GT(changed, 0u);
}

TEST(FloatingPoint, TheHostKeepsItsModes) {
  const std::vector<std::string> modules = fast_modules();
  EXPECT_GE(modules.size(), 2u);
  const unsigned before = _mm_getcsr();
  for (const std::string& path : modules) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto module = open_module(std::move(fd), path);
    ASSERT_TRUE(module) << path << (module ? "" : module.error().message);
    EXPECT_EQ(_mm_getcsr(), before) << path;
    const auto record = read_plugin(*module);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->id, "org.example.hello");
    EXPECT_EQ(_mm_getcsr(), before) << path;
  }
}

}  // namespace
}  // namespace agentd
#endif
