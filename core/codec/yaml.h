// SPDX-License-Identifier: Apache-2.0
#pragma once
// yaml.h - YAML as a small tree with line numbers, and front matter; the only user of yaml-cpp.
//
// Threading: values.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace agentd {

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  // Defined where the class is complete, because its members hold nodes.
  YamlNode();
  ~YamlNode();
  YamlNode(const YamlNode&);
  YamlNode(YamlNode&&) noexcept;
  YamlNode& operator=(const YamlNode&);
  YamlNode& operator=(YamlNode&&) noexcept;

  Kind kind = Kind::kNull;
  std::string scalar;
  bool quoted = false;  // "5" and '5' are text, 5 is a number
  std::vector<YamlNode> items;
  std::vector<std::pair<std::string, YamlNode>> members;  // in the order of the file
  int line = 0;                                           // 1-based; for a member, the line of its key
  int column = 0;                                         // 1-based
  int value_line = 0, value_column = 0;                   // the start of the value itself, 1-based

  const YamlNode* find(std::string_view key) const;
  // The tree as JSON; plain scalars that look like numbers, booleans or null become those.
  std::string json() const;
};

// Parses one document. kInvalid: "name:line:column: what". An alias counts as much as the value it stands for; a tree
// of more than 100,000 nodes or 64 levels is refused.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view name);

// The front matter between two lines of "---" at the top, and the body after it.
struct FrontMatter {
  YamlNode head;  // kNull when there is none
  std::string body;
};
Result<FrontMatter> parse_front_matter(std::string_view text, std::string_view name);

}  // namespace agentd
