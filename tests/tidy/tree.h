// SPDX-License-Identifier: Apache-2.0
#pragma once
// tree.h - what every rule of the house reads: the files of a tree, their lines, and findings about them.
//
// The rules take the root of a tree, so that a test can show that each of them finds what breaks it.
//
// Threading: pure functions over the files.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tidy {

// One finding, "path:line: sentence".
using Findings = std::vector<std::string>;

using Wanted = bool (*)(const std::filesystem::path&);
bool is_code(const std::filesystem::path& path);
bool is_header(const std::filesystem::path& path);

std::vector<std::string> lines_of(const std::filesystem::path& path);
std::string text_of(const std::filesystem::path& path);
// The path below the root, as findings show it.
std::string shown(const std::filesystem::path& root, const std::filesystem::path& path);
// Every file of the project's own folders, in order.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& root, Wanted wanted);
// A finding for each line that `complaint` answers with a sentence.
Findings each_line(const std::filesystem::path& root, Wanted wanted,
                   const std::function<std::string(const std::string& line)>& complaint);

// What a line includes, with '<' or '"' before it; empty for other lines.
std::string included_by(const std::string& line);
// A path from the root into the project, as "core/base/file.h".
bool is_ours(const std::string& path);

}  // namespace tidy
