// SPDX-License-Identifier: Apache-2.0
#pragma once
// scalar_place.h - finds a byte of a YAML text value in its file (private to declarative.cc).
//
// yaml-cpp reports only where a value begins; quotes, escapes, folding and the indentation of blocks make the file
// differ from the value.
//
// Threading: pure functions.

#include <cstddef>
#include <string_view>

#include "core/codec/yaml.h"

namespace agentd {

struct TextPlace {
  int line = 0, column = 0;  // 1-based, in bytes
};

// The place of byte `offset` of `node.scalar`. REQUIRES: `node` is a scalar of `file_text`.
TextPlace place_in_scalar(std::string_view file_text, const YamlNode& node, std::size_t offset);

}  // namespace agentd
