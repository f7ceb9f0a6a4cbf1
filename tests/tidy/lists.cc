// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/lists.h"

namespace tidy {
namespace {

namespace fs = std::filesystem;

// A CMakeLists.txt, or a script that one runs.
bool is_named_in(const fs::path& folder, const fs::path& source) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != "CMakeLists.txt" && entry.path().extension() != ".sh") continue;
    const std::string text = text_of(entry.path());
    if (text.find(source.filename().string()) != std::string::npos ||
        text.find(source.stem().string()) != std::string::npos || text.find("GLOB") != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace

Findings unregistered_tests(const fs::path& root) {
  Findings found;
  const auto wanted = [](const fs::path& path) { return path.extension() == ".cc" || path.extension() == ".cpp"; };
  for (const fs::path& path : files_of(root, wanted)) {
    if (!shown(root, path).starts_with("tests/")) continue;
    bool named = false;
    for (fs::path at = path.parent_path(); !named && at != root; at = at.parent_path()) named = is_named_in(at, path);
    if (!named) found.push_back(shown(root, path) + ":1: no CMakeLists.txt names this file");
  }
  return found;
}

Findings unlisted_folders(const fs::path& root) {
  Findings found;
  for (const char* top : {"core", "plugins", "providers", "tests", "bench"}) {
    if (!fs::is_directory(root / top)) continue;
    const std::string readme = "\n" + text_of(root / top / "README.md");
    for (const auto& entry : fs::directory_iterator(root / top)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && readme.find("\n- `" + name + "/`") == std::string::npos)
        found.push_back(std::string(top) + "/README.md:1: no line for " + name + "/");
    }
  }
  return found;
}

}  // namespace tidy
