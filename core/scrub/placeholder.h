// SPDX-License-Identifier: Apache-2.0
#pragma once
// placeholder.h - the text that stands for a secret: "[secret:aws-access-key:1a2b3c4d-5e6f]".
//
// The kind is the rule that found it. The eight digits are of a keyed sum over the secret: the same secret has the same
// placeholder wherever the key is the same, and without the key nobody learns from it whether a guess is right. The
// four digits are of a keyed sum over kind and number, by which a placeholder of ours is told from a text that looks
// like one. All of it is ASCII that JSON, Markdown and a quoted word of a shell leave as it is.
//
// Threading: values and pure functions.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agentd {

inline constexpr std::string_view kPlaceholderOpen = "[secret:";
inline constexpr std::size_t kRuleIdBytesMax = 64;
// The size of the longest placeholder.
inline constexpr std::size_t kPlaceholderBytesMax = kPlaceholderOpen.size() + kRuleIdBytesMax + 15;

// Letters, digits, "-", "_" and ".", at most kRuleIdBytesMax of them.
bool is_rule_id(std::string_view id);

// A text in the form of a placeholder, made by this store or not.
struct PlaceholderForm {
  std::string_view text;  // all of it
  std::string_view rule, number, check;
};
// At that byte of the text; nothing if there is none.
std::optional<PlaceholderForm> placeholder_form_at(std::string_view text, std::size_t at);

class Placeholders {
 public:
  explicit Placeholders(std::string key) : key_(std::move(key)) {}

  std::string make(std::string_view rule, std::string_view secret) const;
  // True if the check is this key's. A text that was not made with the key passes once in 65,536.
  bool is_own(const PlaceholderForm& form) const;

 private:
  std::string check_of(std::string_view rule, std::string_view number) const;
  const std::string key_;
};

}  // namespace agentd
