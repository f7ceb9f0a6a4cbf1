// SPDX-License-Identifier: Apache-2.0
#pragma once
// scaffold.h - generates a working hook: a few files to start from.
//
// Native ones include the headers, so that only a compiler is needed.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hooks/event.h"

namespace agentd::app {

struct ScaffoldFile {
  std::string path;  // below the directory that the user names
  std::string text;
  bool executable = false;
};

struct Scaffold {
  std::vector<ScaffoldFile> files;
  std::string built;               // the file for the hooks directory, below the same directory
  std::vector<std::string> steps;  // commands that build it, below the same directory
};

// `language` is one of c++, c, bash, python, yaml; `name` may have letters, digits, "_" and "-", at most
// 64, and begins with a letter. kInvalid otherwise.
Result<Scaffold> make_scaffold(std::string_view name, std::string_view language, const EventTraits& event);

}  // namespace agentd::app
