// SPDX-License-Identifier: Apache-2.0
#pragma once
// declarative_source.h - reads a YAML file of hooks: values by type, mistakes with their place (private to
// declarative.cc and declarative_answer.cc).
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/codec/yaml.h"

namespace agentd {

struct DeclarativeSource {
  std::string_view text, path;

  // kInvalid "FILE:LINE:COLUMN: what", at a member's key, at its value, at a byte of its text.
  Error at_key(const YamlNode& node, const std::string& what) const;
  Error at_value(const YamlNode& node, const std::string& what) const;
  Error at_byte(const YamlNode& node, std::size_t offset, const std::string& what) const;
  // "unknown key 'x' in 'y': did you mean 'z'?"; `in` may be empty.
  Error unknown_key(const YamlNode& node, std::string_view key, std::string_view in,
                    const std::vector<std::string>& known) const;

  // `key` is for messages. An empty text is a text; a key without a value is a mistake.
  Result<std::string> text_of(const YamlNode& node, std::string_view key) const;
  Result<bool> boolean_of(const YamlNode& node, std::string_view key) const;
  Result<std::int64_t> whole_of(const YamlNode& node, std::string_view key, std::int64_t low, std::int64_t high) const;
  // Returns one of the words; otherwise the message suggests the nearest one.
  Result<std::string> word_of(const YamlNode& node, std::string_view key, const std::vector<std::string>& words) const;
  // Returns at least one text; `alone`: a single text is a list of one.
  Result<std::vector<std::string>> texts_of(const YamlNode& node, std::string_view key, bool alone) const;
  Result<void> must_be_mapping(const YamlNode& node, std::string_view key) const;
  // The members of a mapping of texts, in order.
  Result<std::vector<std::pair<std::string, std::string>>> pairs_of(const YamlNode& node, std::string_view key) const;
};

}  // namespace agentd
