// SPDX-License-Identifier: Apache-2.0
#pragma once
// schema_node.h - a parsed JSON Schema: one node for each schema in it. Inside this room: schema_reader.h makes nodes,
// schema_checker.h checks values against them.
//
// Threading: immutable once read.

#include <rapidjson/document.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/codec/json_compare.h"
#include "core/codec/regex.h"

namespace agentd {

// Views and values point into SchemaNodes::document.
struct SchemaNode {
  static constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  using Names = std::vector<std::string_view>;

  // The allowed number of characters, elements or members.
  struct Count {
    std::uint64_t least = 0, most = kAny;
  };
  struct Bound {
    long double limit = 0;
    bool upper = false, open = false;  // open: the limit itself is not allowed
    std::string_view keyword;
  };
  struct Pattern {
    Regex expression;
    const SchemaNode* schema = nullptr;
  };
  struct Dependent {
    std::string_view name, keyword;
    Names names;                         // either these
    const SchemaNode* schema = nullptr;  // or this
  };

  const rapidjson::Value* source = nullptr;  // an object or a boolean
  std::string name;                          // its key in the schema around it
  bool is_reference = false;                 // `reference` is its only rule

  const SchemaNode* reference = nullptr;
  unsigned types = 0;                        // bits of kTypeNames; 0 = any
  const rapidjson::Value* values = nullptr;  // enum
  const rapidjson::Value* value = nullptr;   // const

  std::vector<Bound> bounds;
  std::optional<Decimal> unit;  // multipleOf

  Count characters;
  std::optional<Regex> pattern;

  Count elements;
  bool unique = false;
  std::vector<const SchemaNode*> first;  // prefixItems, or items as a list
  const SchemaNode* rest = nullptr;      // items, or additionalItems after a list
  const SchemaNode* contained = nullptr;
  Count contains{1, kAny};

  Count members;
  Names required;
  std::unordered_map<std::string_view, const SchemaNode*> properties;
  std::vector<Pattern> patterns;
  const SchemaNode* additional = nullptr;
  const SchemaNode* names = nullptr;
  std::vector<Dependent> dependents;

  std::vector<const SchemaNode*> all, any, one;
  const SchemaNode *none = nullptr, *condition = nullptr, *then = nullptr, *otherwise = nullptr;
};

// A text of a schema or a value for a message: untrusted text must not move the cursor or fill the page.
std::string shown_in_message(std::string_view text);

constexpr std::string_view kTypeNames[] = {"null", "boolean", "object", "array", "number", "integer", "string"};

struct SchemaNodes {
  rapidjson::Document document;
  std::deque<SchemaNode> nodes;  // the first is the whole schema
};

}  // namespace agentd
