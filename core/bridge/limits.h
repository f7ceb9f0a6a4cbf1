// SPDX-License-Identifier: Apache-2.0
#pragma once
// limits.h - what one plugin may make its host keep, wherever the plugin runs.
//
// Threading: constants.

#include <cstddef>

namespace agentd {

constexpr std::size_t kFieldKeysMax = 4096;       // paths of agentd.field/1
constexpr std::size_t kFieldPathBytesMax = 1024;  // per path
constexpr std::size_t kPluginToolsMax = 256;      // tools at a time
constexpr std::size_t kToolTextsMax = 1 << 20;    // bytes of one tool's descriptions and schemas

}  // namespace agentd
