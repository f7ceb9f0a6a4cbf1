// SPDX-License-Identifier: Apache-2.0
#pragma once
// input.h - a tool's input: one JSON object, checked key by key before use.
//
// Every refusal names the key and what it must be, since a model reads it.
//
// Threading: immutable once made.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"

namespace workspace_tools {

struct Key {
  enum class Type { kText, kFilledText, kInteger, kBoolean, kChoice, kList };
  std::string_view name;
  Type type = Type::kText;
  bool required = false;
  std::int64_t least = 0, most = 0;  // kInteger
  std::string_view choices{};        // kChoice: "a, b, c"
};

class Input {
 public:
  // kInvalid with a message. A null equals an absent key.
  static agentd::Result<Input> parse(std::string_view json, std::span<const Key> keys);
  // The same check of an object inside the input, such as an element of a list. The message lacks its place.
  static agentd::Result<void> check(agentd::JsonView object, std::span<const Key> keys);

  bool has(std::string_view key) const;
  std::string_view text(std::string_view key, std::string_view otherwise = {}) const;
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  bool boolean(std::string_view key) const;
  // The elements of a kList; of any type. Empty if it is absent.
  agentd::JsonView list(std::string_view key) const;

 private:
  explicit Input(agentd::JsonDocument document) : document_(std::move(document)) {}
  agentd::JsonDocument document_;
};

}  // namespace workspace_tools
