// SPDX-License-Identifier: Apache-2.0
#pragma once
// paths.h - paths as texts. Nothing here looks at the file system: links are not followed.
//
// Threading: pure functions.

#include <string>
#include <string_view>

namespace agentd {

// Absolute, without ".", ".." and "//", and without a slash at its end; a relative path begins at
// `folder`. "/" for nothing at all.
std::string lexical_path(std::string_view path, std::string_view folder);
// "~" and "~/..." in `home`; everything else, and all of it when `home` is empty, as it is.
std::string with_home(std::string_view path, std::string_view home);

}  // namespace agentd
