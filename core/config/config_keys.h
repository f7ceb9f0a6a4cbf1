// SPDX-License-Identifier: Apache-2.0
#pragma once
// config_keys.h - the table of configuration keys, used for reading, checking, `config show`, `config explain`,
// completion and docs/reference/config.md.
//
// Threading: immutable data.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentd {

enum class ValueType {
  kText,
  kVariable,  // the name of an environment variable
  kBool,
  kWhole,     // from `low` to `high`
  kFraction,  // from `low` to `high`
  kChoice,    // one of `choices`
  kList,      // of texts
  kAny,       // any YAML; kept as JSON
};

struct KeySpec {
  // Dotted. A part "*" stands for a name that the user gives: hooks.*.enabled.
  std::string_view name;
  ValueType type = ValueType::kText;
  std::string_view standard;   // the default as text; lists with commas
  std::string_view help;       // one sentence
  std::string_view choices{};  // "a|b"
  double low = 0, high = 0;
  bool accumulates = false;  // a list to which every layer adds
  // The provider's own environment variable; every setting of ours overrides it.
  std::string_view provider_variable{};
};

std::span<const KeySpec> config_keys();

// The spec of a dotted key; "*" matches any name. Null when there is none.
const KeySpec* find_key(std::string_view name);
// The part that matches the "*" of its spec: "guard.1" in "hooks.guard.1.shadow"; empty without one.
std::string_view free_part(std::string_view name);

// "AGENTD_COMPACTION_COMPACT_AT"; empty for keys with a free part.
std::string environment_name(const KeySpec& key);
inline constexpr std::string_view kOwnPrefix = "AGENTD_";
// Variables AGENTD_... that are not keys: read elsewhere, or passed to hooks and commands, which may start agentd
// themselves.
std::span<const std::string_view> other_variables();
// The names on the path to a key; a hook's name is one part, including its dots.
std::vector<std::string> key_parts(std::string_view name);

std::vector<std::string> split(std::string_view text, char separator);
// "a whole number from 1 to 10".
std::string type_text(const KeySpec& key);

}  // namespace agentd
