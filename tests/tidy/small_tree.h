// SPDX-License-Identifier: Apache-2.0
#pragma once
// small_tree.h - a small tree that keeps every rule, which a test breaks in one place.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/tidy/tree.h"

namespace tidy {

// This tree.
inline const std::filesystem::path kRoot = AGENTD_SOURCE_DIR;

inline std::string joined(const Findings& findings) {
  std::string out;
  for (const std::string& each : findings) out += each + "\n";
  return out;
}

class Tree : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tidy.XXXXXX").string();
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
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void code(const std::string& name, const std::string& text) {
    put(name, "// SPDX-License-Identifier: Apache-2.0\n" + text);
  }
  std::filesystem::path root_;
};

}  // namespace tidy
