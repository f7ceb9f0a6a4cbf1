// SPDX-License-Identifier: Apache-2.0
#include "core/config/secret_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kMixedMin = 16, kHexMin = 24;
constexpr std::string_view kHidden = "***", kStays = " \t:";
constexpr std::string_view kSecretNames[] = {"token", "key", "secret", "pass", "pwd", "auth", "cred", "sig", "jwt"};
// Vendors' keys begin so. Source: their documentation.
constexpr std::string_view kSecretBegins[] = {"sk-",    "sk_", "pk-",  "ghp_", "gho_", "ghs_", "ghu_", "github_pat_",
                                              "glpat-", "xox", "AKIA", "AIza", "eyJ",  "hf_",  "npm_", "lin_api_"};
constexpr std::string_view kSchemes[] = {"bearer ", "basic ", "token "};

bool has(std::string_view text, int (*kind)(int)) {
  return std::any_of(text.begin(), text.end(), [&](unsigned char c) { return kind(c) != 0; });
}

// The length of the variable at the beginning of the text; 0 = there is none.
std::size_t variable_length(std::string_view text) {
  const std::size_t end = text.find('}');
  if (!text.starts_with("${") || end == std::string_view::npos) return 0;
  const std::string_view inside = text.substr(2, end - 2), name = inside.substr(0, inside.find(":-"));
  const bool fits =
      !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return fits ? end + 1 : 0;
}

std::string shown_variable(std::string_view variable) {
  const std::size_t otherwise = variable.find(":-");
  if (otherwise == std::string_view::npos || otherwise + 3 == variable.size()) return std::string(variable);
  return std::string(variable.substr(0, otherwise + 2)) + std::string(kHidden) + "}";
}

std::string shown_literal(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kStays);
  if (begin == std::string_view::npos) return std::string(text);
  const std::size_t end = text.find_last_not_of(kStays) + 1;
  return std::string(text.substr(0, begin)) + std::string(kHidden) + std::string(text.substr(end));
}

std::size_t scheme_length(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::string low = ascii_lower(text.substr(begin, 10));
  for (const std::string_view scheme : kSchemes)
    if (low.starts_with(scheme)) return begin + scheme.size();
  return 0;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::string low = ascii_lower(name);
  return std::any_of(std::begin(kSecretNames), std::end(kSecretNames),
                     [&](std::string_view each) { return low.find(each) != std::string::npos; });
}

bool looks_secret(std::string_view text) {
  const auto begins = [&](std::string_view each) { return text.starts_with(each); };
  if (std::any_of(std::begin(kSecretBegins), std::end(kSecretBegins), begins)) return true;
  const bool hexadecimal =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0 || c == '-'; });
  if (!has(text, std::isdigit)) return false;
  if (hexadecimal && text.size() >= kHexMin) return true;
  return text.size() >= kMixedMin && has(text, std::isupper) && has(text, std::islower);
}

std::string without_literals(std::string_view text) {
  const std::size_t scheme = scheme_length(text);
  std::string out(text.substr(0, scheme));
  for (std::size_t at = scheme, literal = scheme;;) {
    const std::size_t variable = at < text.size() ? variable_length(text.substr(at)) : 0;
    if (variable > 0 || at == text.size()) {
      out += shown_literal(text.substr(literal, at - literal));
      out += shown_variable(text.substr(at, variable));
      literal = at + variable;
    }
    if (at == text.size()) return out;
    at += std::max<std::size_t>(variable, 1);
  }
}

std::size_t find_outside_variables(std::string_view text, std::string_view characters, std::size_t from) {
  for (std::size_t at = from; at < text.size();) {
    const std::size_t variable = variable_length(text.substr(at));
    if (variable == 0 && characters.find(text[at]) != std::string_view::npos) return at;
    at += std::max<std::size_t>(variable, 1);
  }
  return std::string_view::npos;
}

}  // namespace agentd
