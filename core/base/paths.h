// SPDX-License-Identifier: Apache-2.0
#pragma once
// paths.h - paths as texts. Nothing here looks at the file system, so links are not followed.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd {

// The absolute path without ".", ".." and "//" and without a slash at its end; a relative path begins at `folder`. "/"
// for an empty path.
std::string lexical_path(std::string_view path, std::string_view folder);
// Replaces the leading "~" of "~" and "~/..." by `home`; any other path, and every path when `home` is empty, is
// returned unchanged.
std::string with_home(std::string_view path, std::string_view home);

}  // namespace agentd
