// SPDX-License-Identifier: Apache-2.0
#pragma once
// limits.h - how much one plugin may have its host keep, wherever the plugin runs.
//
// Threading: constants.

#include <cstddef>

namespace agentd {

constexpr std::size_t kFieldKeysMax = 4096;       // paths of agentd.field/1
constexpr std::size_t kFieldPathBytesMax = 1024;  // of one
constexpr std::size_t kPluginToolsMax = 256;      // tools at a time
constexpr std::size_t kToolTextsMax = 1 << 20;    // bytes of one tool: descriptions and schemas

}  // namespace agentd
