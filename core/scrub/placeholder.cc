// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/placeholder.h"

#include <algorithm>

#include "core/base/hash.h"

namespace agentd {
namespace {

constexpr std::size_t kNumberDigits = 8, kCheckDigits = 4;

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

}  // namespace

bool is_rule_id(std::string_view id) {
  return !id.empty() && id.size() <= kRuleIdBytesMax && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

std::optional<PlaceholderForm> placeholder_form_at(std::string_view text, std::size_t at) {
  const std::string_view here = text.substr(at, kPlaceholderBytesMax);
  if (!here.starts_with(kPlaceholderOpen)) return std::nullopt;
  const std::size_t colon = here.find(':', kPlaceholderOpen.size());
  if (colon == std::string_view::npos) return std::nullopt;
  const std::size_t end = colon + 1 + kNumberDigits + 1 + kCheckDigits;
  if (end >= here.size() || here[end] != ']' || here[colon + 1 + kNumberDigits] != '-') return std::nullopt;
  PlaceholderForm out;
  out.text = here.substr(0, end + 1);
  out.rule = here.substr(kPlaceholderOpen.size(), colon - kPlaceholderOpen.size());
  out.number = here.substr(colon + 1, kNumberDigits);
  out.check = here.substr(end - kCheckDigits, kCheckDigits);
  if (!is_rule_id(out.rule) || !is_hex(out.number) || !is_hex(out.check)) return std::nullopt;
  return out;
}

std::string Placeholders::make(std::string_view rule, std::string_view secret) const {
  const std::string number = hex(hmac_sha256(key_, "secret:" + std::string(secret))).substr(0, kNumberDigits);
  return std::string(kPlaceholderOpen) + std::string(rule) + ":" + number + "-" + check_of(rule, number) + "]";
}

bool Placeholders::is_own(const PlaceholderForm& form) const { return check_of(form.rule, form.number) == form.check; }

std::string Placeholders::check_of(std::string_view rule, std::string_view number) const {
  const std::string what = "placeholder:" + std::string(rule) + ":" + std::string(number);
  return hex(hmac_sha256(key_, what)).substr(0, kCheckDigits);
}

}  // namespace agentd
